import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from error_assertions import raises
from recveil.verification import diversity
from recveil.verification.diversity import check_diversity
from recveil.verification.equivalence_classes import Supports
from shared.verification_diversity import assert_agrees, count_sets, tables


def test_three_groups_by_hand():
    # Groups {0, 1, 2}, {0, 1, 2}, {0, 1, 3}. Items: 0 and 1 in three, 2 in two, 3 in one.
    # Pairs: 01 in three, 02 and 12 in two, 03 and 13 in one; 23 in none, so it does not count.
    # Triples: 012 in two, 013 in one.
    table = [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1]]
    assert check_diversity(table, 1, 2) == (1, 2, False, 1, 4, 1, (3,))
    assert check_diversity(table, 2, 2) == (2, 2, False, 1, 5, 2, (0, 3))
    assert check_diversity(table, 3, 2) == (3, 2, False, 1, 2, 1, (0, 1, 3))
    assert check_diversity(table, 3, 1).holds


@settings(deadline=None)
@given(data=st.data(), b=st.integers(1, 5), least=st.sampled_from([1, 3, 900]))
def test_a_row_may_stand_for_many_groups(data, b, least):
    table = data.draw(tables)
    # Enough for columns of several pieces of bits.
    weights = data.draw(arrays(np.int64, len(table), elements=st.sampled_from([1, 2, 60, 2500])))
    found = check_diversity(csr_array(table), b, least, n_groups=weights)
    assert_agrees(found, count_sets(table, b, weights), least)


@pytest.mark.parametrize("density", [0.02, 0.3, 0.97])
def test_columns_of_bits_and_rows_agree(density):
    # 40 items of 300 groups: sparse items go through rows, frequent ones through bits.
    table = np.random.default_rng(1).random((300, 40)) < density
    for b in (2, 3, 4)[: 3 if density < 0.9 else 2]:
        counts = count_sets(table, b)
        for least in (2, 8, 280):
            assert_agrees(check_diversity(table, b, least), counts, least)


@pytest.mark.parametrize("b", [1, 2, 3])
def test_without_sets_it_holds(b):
    for table in (np.zeros((3, 4)), np.zeros((0, 4)), np.zeros((3, 0))):
        assert check_diversity(table, b, 2) == (b, 2, True, None, 0, 0, None)
    if b > 1:
        assert check_diversity(np.eye(3), b, 2).sets == 0


def test_more_groups_than_there_are_cannot_be_reached():
    found = check_diversity(np.ones((3, 4)), 2, 4)
    assert (found.holds, found.smallest, found.below) == (False, 3, 6)


def test_stored_zeros_and_repeated_entries_are_entries():
    table = csr_array(([0, 0, 0], [1, 0, 1], [0, 3]), shape=(1, 2))
    assert check_diversity(table, 2, 1).sets == 1
    assert table.indices.tolist() == [1, 0, 1]  # the caller's matrix stays as it is


def test_too_many_triples_are_refused(monkeypatch):
    monkeypatch.setattr(diversity, "MOST_STEPS", 10)
    table = np.random.default_rng(0).random((50, 30)) < 0.5
    with raises("table.too-large", 3, "30 items", "50 groups"):
        check_diversity(table, 3, 2)
    assert check_diversity(np.ones((50, 30)), 3, 2).holds  # needs no counting


def test_too_many_larger_sets_are_refused_with_the_number_of_steps():
    # Fifty rows of about 500 of 1000 items: 50 * 500 ** 5 / 5! = 1.3e13 sets of five, and 50 *
    # 500 ** 3 / 3! = 1e9 selections of rows at 1e5 steps.
    table = np.random.default_rng(0).random((50, 1000)) < 0.5
    with raises("table.too-large", 5, "1,000 items", "50 groups", "1e+14 steps"):
        check_diversity(table, 5, 2)
    assert check_diversity(np.ones((50, 1000)), 6, 2).sets == math.comb(1000, 6)
    with raises("table.too-large", 9, "1,000 items"):  # the number of sets has 22 digits
        check_diversity(np.ones((50, 1000)), 9, 2)


@pytest.mark.parametrize(
    ("b", "least", "weights", "name", "code"),
    [
        (0, 2, None, "b (--b) is 0", "option.value"),
        (4.0, 2, None, "b (--b) is 4.0", "option.value"),
        (True, 2, None, "b (--b) is True", "option.value"),
        (1, 0, None, "l (--l) is 0", "option.value"),
        (1, 2.5, None, "l (--l) is 2.5", "option.value"),
        (1, 2, [1], "n_groups", "argument.value"),
        (1, 2, [1, 0], "n_groups", "argument.value"),
    ],
)
def test_senseless_parameters_are_refused(b, least, weights, name, code):
    with raises(code) as error:
        check_diversity(np.ones((2, 2)), b, least, n_groups=weights)
    assert str(error.value).startswith(name)


class TestSupports:
    def test_equal_classes_count_once_and_equal_rows_together(self):
        supports = Supports()
        # Class a twice; b has a's items with other labels; c's items come in another order.
        supports.add([b"a", b"b"], [0, 2, 4], [0, 3, 0, 3])
        supports.add([b"a", b"c", b"d"], [0, 2, 4, 5], [0, 3, 3, 0, 1])
        rows = supports.rows(5)
        assert (rows.indptr.tolist(), rows.indices.tolist(), rows.n_items) == (
            [0, 2, 3],
            [0, 3, 1],
            5,
        )
        assert supports.n_groups.tolist() == [3, 1]

    def test_nothing_collected_is_no_row(self):
        supports = Supports()
        rows = supports.rows()
        assert (rows.lengths.size, rows.n_items) == (0, 0)
        assert check_diversity(rows, 2, 3, supports.n_groups).holds
