"""r-gather: worked examples, the flow, and the factor of two against all groupings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from error_assertions import raises
from recveil.clustering import RGather, maximum_radius, r_gather
from recveil.clustering.r_gather import _gather, _gather_within


def column(values):
    return np.asarray(values, dtype=np.float32).reshape(-1, 1)


def test_a_center_gets_its_rows_from_another():
    # Within 1 of the first row, 1, are the first three. 3 is a center, too, and needs 2.
    groups = _gather_within(column([1, 0, 2, 3]), 2, np.float32(1))
    assert groups.tolist() == [0, 0, 1, 1]


def test_a_distance_fails_where_two_centers_need_the_same_row():
    # Within 1: 0 has 1, and 2 has 1 again.
    assert _gather_within(column([0, 2, 1]), 2, np.float32(1)) is None


def test_the_smallest_distance_that_works_is_found():
    # Below 2, the first row has fewer than three; at 2, there are two natural groups.
    X = column([0, 1, 2, 10, 11, 12])
    assert _gather_within(X, 3, np.float32(3.99)) is None
    assert _gather(X, 3).tolist() == [0, 0, 0, 1, 1, 1]
    assert maximum_radius(X, RGather(3).fit(X).labels_) == 1


def test_nothing_is_drawn():
    X = np.random.default_rng(0).normal(size=(50, 3))
    labels = [RGather(4, random_state=seed).fit(X).labels_.tolist() for seed in (0, 1, None)]
    assert labels[0] == labels[1] == labels[2]


def lowest_radius(radius_of, n, k):
    """The lowest maximum radius of all groupings; a set of rows is a number of n bits."""
    radius = np.array([radius_of(np.flatnonzero((s >> np.arange(n)) & 1)) for s in range(1 << n)])
    best = np.full(1 << n, np.inf)
    best[0] = 0
    for rows in range(1, 1 << n):
        part = rows
        while part:
            if part & rows & -rows and part.bit_count() >= k:  # holds the first row
                best[rows] = min(best[rows], max(radius[part], best[rows ^ part]))
            part = (part - 1) & rows
    return best[-1]


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 7), k=st.integers(1, 4), d=st.integers(1, 3), seed=st.integers(0, 10_000))
def test_the_radius_is_at_most_twice_the_optimum(n, k, d, seed):
    n = max(n, k)
    X = np.random.default_rng(seed).normal(size=(n, d)).round(seed % 3)  # with ties
    distances = cdist(X, X)
    optimum = lowest_radius(lambda rows: distances[:, rows].max(axis=1, initial=0).min(), n, k)
    assert maximum_radius(X, RGather(k).fit(X).labels_) <= 2 * optimum + 1e-6


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 7), k=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_the_optimum_may_have_any_points_as_centers(n, k, seed):
    n = max(n, k)
    values = np.random.default_rng(seed).normal(size=n)
    half_range = lambda rows: np.ptp(values[rows]) / 2 if rows.size else 0  # noqa: E731
    X = values.reshape(-1, 1)
    found = maximum_radius(X, RGather(k).fit(X).labels_)
    assert found <= 2 * lowest_radius(half_range, n, k) + 1e-6


def test_more_rows_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(r_gather, "MOST_ROWS", 9)
    RGather(2).fit(np.zeros((9, 1)))
    with raises("table.too-large"):
        RGather(2).fit(np.zeros((10, 1)))


@pytest.mark.parametrize("k", [2, 5])
def test_large_groups_are_cut_within_the_same_distance(k):
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[0] = 9  # its distance from the others lets few centers take all
    fitted = RGather(k).fit(X)
    assert np.bincount(fitted.labels_).max() < 2 * k
    uncut = _gather(X.astype(np.float32), k)
    assert np.bincount(uncut).max() >= 2 * k
    assert maximum_radius(X, fitted.labels_) <= maximum_radius(X, uncut)
