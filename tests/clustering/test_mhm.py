"""MHM: worked examples, MDAV as an upper bound, and the optimum of one column by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.clustering import MDAV, MHM, sse
from recveil.clustering.base import number_by_lowest_member
from recveil.clustering.microaggregation import _cut_path, _path


def column(values):
    return np.asarray(values, dtype=np.float32).reshape(-1, 1)


def path_of(values, groups=None):
    groups = [0] * len(values) if groups is None else groups
    return _path(column(values), np.array(groups)).tolist()


def test_the_path_goes_to_the_nearest_row_that_is_left():
    # The centroid is 6.2; 20 is farthest. Then 8, and of 2, 0 and 1 the nearest to 8 is 2.
    assert path_of([8, 2, 0, 20, 1]) == [3, 0, 1, 4, 2]


def test_the_path_finishes_a_group_before_it_leaves():
    # 20 is in the group of 2, which goes before the nearer 8; from 2, the nearest of all is 1.
    assert path_of([8, 2, 0, 20, 1], [0, 1, 0, 1, 0]) == [3, 1, 4, 2, 0]


def test_ties_go_to_the_lowest_index():
    # 0 and 4 are equally far from the centroid, 2 twice equally near to 0.
    assert path_of([2, 0, 4, 2]) == [1, 0, 3, 2]


def test_the_cut_by_hand():
    # Groups of 2 or 3. (0, 1), (5, 6, 7) costs 0.5 + 2; (0, 1, 5), (6, 7) costs 14 + 0.5.
    labels = _cut_path(column([0, 1, 5, 6, 7]), np.arange(5), 2)
    assert number_by_lowest_member(labels).tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("path", ["mdav", "nearest"])
def test_natural_groups_of_four_and_five_are_found(path):
    # Fig. 2.7 of the thesis: groups of a fixed size cut such rows in an unnatural way.
    X = column([0, 1, 2, 3, 9, 10, 11, 12, 13])
    assert MHM(3, path).fit(X).labels_.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert np.bincount(MDAV(3).fit(X).labels_).tolist() == [3, 3, 3]


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 60), k=st.integers(1, 6), d=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_the_sum_of_squares_is_at_most_that_of_mdav(n, k, d, seed):
    X = np.random.default_rng(seed).normal(size=(max(n, k), d))
    assert sse(X, MHM(k).fit(X).labels_) <= sse(X, MDAV(k).fit(X).labels_) * (1 + 1e-5)


def lowest_sse(values, k):
    """The lowest SSE of all groupings of a column, which has consecutive values in each group."""
    values, n = np.sort(values), len(values)
    cuts = (c for m in range(n // k) for c in itertools.combinations(range(1, n), m))
    parts = (np.split(values, cut) for cut in cuts)
    return min(
        sum(((part - part.mean()) ** 2).sum() for part in split)
        for split in parts
        if min(map(len, split)) >= k
    )


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 11), k=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_one_column_is_grouped_optimally(n, k, seed):
    values = np.random.default_rng(seed).normal(size=max(n, k))
    X = values.reshape(-1, 1)
    labels = MHM(k, "nearest").fit(X).labels_
    assert sse(X, labels) == pytest.approx(lowest_sse(values, k), rel=1e-5, abs=1e-9)


def test_an_unknown_path_is_refused():
    with raises("argument.value"):
        MHM(2, "random").fit([[1.0], [2.0]])
