import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from recveil.verification.diversity import check_diversity
from shared.verification_diversity import assert_agrees, count_sets, tables


@settings(deadline=None, max_examples=300)
@given(table=tables, b=st.integers(1, 3), least=st.integers(1, 5))
def test_it_agrees_with_counting_one_set_after_the_other(table, b, least):
    assert_agrees(check_diversity(table, b, least), count_sets(table, b), least)


def test_full_rows_of_the_netflix_prize():
    # 17,770 choose 2 = 17,770 * 17,769 / 2 = 157,877,565 pairs, choose 3 = 935,056,191,640.
    full = csr_array(np.ones((1, 17_770), np.int8))
    pairs = check_diversity(full, 2, 96_000, n_groups=[96_000])
    triples = check_diversity(full, 3, 96_001, n_groups=[96_000])
    assert (pairs.holds, pairs.smallest, pairs.sets) == (True, 96_000, 157_877_565)
    assert (triples.holds, triples.smallest, triples.sets) == (False, 96_000, 935_056_191_640)
