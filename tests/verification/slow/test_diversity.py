from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from recveil.verification.diversity import check_diversity

tables = st.tuples(st.integers(0, 9), st.integers(0, 7)).flatmap(
    lambda shape: st.one_of(
        arrays(bool, shape),
        arrays(bool, shape, elements=st.sampled_from([True, True, True, False])),
    )
)


def count_sets(table: np.ndarray, b: int, weights: np.ndarray | None = None) -> dict:
    """In how many groups each set of b items stands: one set after the other."""
    weights = np.ones(len(table), int) if weights is None else weights
    counts = {
        items: int(weights[table[:, items].all(axis=1)].sum())
        for items in combinations(range(table.shape[1]), b)
    }
    return {items: count for items, count in counts.items() if count}


def assert_agrees(found, counts: dict, least: int) -> None:
    below = [items for items, count in counts.items() if count < least]
    assert (found.sets, found.below) == (len(counts), len(below))
    assert found.smallest == min(counts.values(), default=None)
    assert found.holds is (not below)
    if below:
        assert counts[found.example] == found.smallest
    else:
        assert found.example is None


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
