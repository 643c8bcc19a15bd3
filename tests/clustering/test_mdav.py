"""MDAV: worked examples, an oracle in plain numpy that keeps lists of rows, and sdcMicro's."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.clustering import MDAV
from recveil.clustering.base import number_by_lowest_member
from recveil.clustering.microaggregation import mdav_of_rows

SDCMICRO = Path(__file__).parent.parent / "shared" / "sdcmicro" / "mdav.csv"


def gather(X, k):
    """Group the rows as they stand, unscaled, so that whole numbers stay whole."""
    rows = np.asarray(X, dtype=np.float32).reshape(len(X), -1)
    return number_by_lowest_member(mdav_of_rows(rows, k)).tolist()


def test_up_to_2k_rows_stay_together():
    assert gather([1, 2, 30, 4, 5], 3) == [0] * 5


def test_up_to_3k_rows_part_around_the_farthest():
    # The centroid is 4; 10 is farthest from it, and 7 nearest to 10. The rest is k to 2k - 1.
    assert gather([1, 2, 10, 0, 7], 2) == [0, 0, 1, 0, 1]


def test_3k_rows_give_a_group_at_both_ends():
    # The centroid of the seven is 10. r = 30 takes 20; s = 0, farthest from 30, takes 1. Three are
    # left, fewer than 2k: 5, 6, 8.
    assert gather([0, 5, 30, 1, 6, 20, 8], 2) == [0, 1, 2, 0, 1, 2, 1]


def test_the_second_end_is_sought_from_the_first_not_from_the_centroid():
    # The centroid is (0, 1). (-10, -2), at 100 + 9 from it, is r and takes (-8, -2). From r,
    # (8, -2) is at 324 and (0, 10) at 100 + 144: s is the former and takes (7, -2). From the
    # centroid, (0, 10) is farther, at 81 against 64 + 9.
    X = [[-10, -2], [8, -2], [0, 10], [-8, -2], [7, -2], [3, 4], [0, 1]]
    assert gather(X, 2) == [0, 1, 2, 0, 1, 2, 2]


def test_the_centroid_is_that_of_what_remains():
    # The centroid of all is 33.6. r = 100 takes 99, s = 0 takes 1. The other five have the centroid
    # 20.4: 32 is at 11.6 and 10 at 10.4, so 32 is cut off with 29. From 33.6, it would be 10.
    assert gather([0, 1, 100, 99, 10, 11, 20, 29, 32], 2) == [0, 0, 1, 1, 2, 2, 2, 3, 3]


def test_ties_go_to_the_lowest_index():
    # The centroid is 0. 3 and -3 are equally far: r is 3, which stands first, and takes the first
    # of the two 2s; s = -3 takes the first of the two -2s. The others are left over.
    assert gather([2, -2, 3, -3, 2, -2], 2) == [0, 1, 0, 1, 2, 2]


def test_equal_rows_are_grouped_in_order():
    # r is row 0 and takes row 1; s must not be row 0 or 1, so it is row 2 and takes row 3.
    assert gather([5] * 7, 2) == [0, 0, 1, 1, 2, 2, 2]


def test_an_end_comes_before_its_duplicates():
    # The centroid is 1.33; 4 is farthest, rows 1 and 4 alike: row 1 is the end, and takes row 4.
    assert gather([0, 4, 0, 0, 4, 0], 2) == [0, 1, 0, 2, 1, 2]


def test_nothing_is_drawn():
    X = np.random.default_rng(0).normal(size=(100, 3))
    labels = [MDAV(4, random_state=seed).fit(X).labels_.tolist() for seed in (0, 1, None)]
    assert labels[0] == labels[1] == labels[2]


def slow_mdav(X, k):
    """The algorithm step by step on a list of rows; returns the groups."""
    remaining, groups = list(range(len(X))), []

    def distance(row, point):
        return ((X[row] - point) ** 2).sum()

    def cut_off(end):
        others = [row for row in remaining if row != end]
        nearest = sorted(others, key=lambda row: (distance(row, X[end]), row))[: k - 1]
        groups.append([end, *nearest])
        remaining[:] = [row for row in others if row not in nearest]

    def farthest(point):
        return max(remaining, key=lambda row: (distance(row, point), -row))

    while len(remaining) >= 3 * k:
        r = farthest(X[remaining].mean(axis=0))
        cut_off(r)
        cut_off(farthest(X[r]))
    if len(remaining) >= 2 * k:
        cut_off(farthest(X[remaining].mean(axis=0)))
    return [*groups, remaining]


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 60),
    k=st.integers(1, 6),
    d=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
def test_the_groups_are_those_of_the_oracle(n, k, d, seed):
    n = max(n, k)
    rows = np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)
    if seed % 2:  # duplicates, whose ties have the same distances to the bit
        rows[n // 2 :] = rows[: n - n // 2]
    groups = slow_mdav(rows.astype(np.float64), k)
    expected = np.empty(n, dtype=np.int64)
    for number, members in enumerate(groups):
        expected[members] = number
    assert gather(rows, k) == number_by_lowest_member(expected).tolist()


@pytest.mark.parametrize(("n", "k"), [(60, 4), (61, 3), (35, 9), (30, 10)])
def test_the_means_are_those_of_sdcmicro(n, k):
    rows = np.loadtxt(SDCMICRO, delimiter=",", skiprows=1)
    rows = rows[(rows[:, :2] == (n, k)).all(axis=1), 2:]
    values, expected = rows[:, :3], rows[:, 3:]
    labels = np.array(gather(values / values.std(axis=0), k))
    means = np.array([values[labels == label].mean(axis=0) for label in labels])
    assert len(rows) == n
    assert means == pytest.approx(expected, abs=1e-9)
