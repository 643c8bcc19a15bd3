"""Greedy k-member: worked examples, and an oracle that computes every increase of the loss."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.clustering import KMember
from recveil.clustering.base import number_by_lowest_member
from recveil.clustering.microaggregation import _grow_groups, _join_groups


def gather(X, k, first, left_over=None):
    """Group the rows as they stand, unscaled; those left over join in the given order."""
    rows = np.asarray(X, dtype=np.float32).reshape(len(X), -1)
    labels, totals = _grow_groups(rows, k, first)
    order = np.flatnonzero(labels < 0) if left_over is None else np.array(left_over, dtype=np.int64)
    _join_groups(rows, order, labels, totals, k)
    return number_by_lowest_member(labels).tolist()


def test_a_group_grows_by_the_row_nearest_to_its_centroid():
    # 0 takes 4, the nearest. Then the centroid is 2: 6 is at 4 and -5 at 7, though -5 is nearer to
    # 0. The others are left to 91, the farthest from 0.
    assert gather([0, 4, -5, 6, 90, 91], 3, first=0) == [0, 0, 1, 0, 1, 1]


def test_the_next_seed_is_the_farthest_from_the_last_seed():
    # 10 takes 11. The farthest from 10 is 25 (15; 0 is at 10), which takes 21; 0 takes 5 last.
    assert gather([10, 0, 25, 5, 11, 21], 2, first=0) == [0, 1, 2, 1, 0, 2]


def test_who_is_left_over_raises_the_loss_least():
    # {0, 1} and {20, 30} are formed; 12 is left. It would add 2/3 * 11.5² to the first and
    # 2/3 * 13² to the second.
    assert gather([0, 1, 20, 30, 12], 2, first=0) == [0, 0, 1, 1, 0]


def test_joining_a_larger_group_costs_more_at_the_same_distance():
    # {0, 1, 2} and {10, 11, 12} are formed; 4 and 6 are left, and 4 joins the first. Then 6 is
    # 6 - 1.75 = 4.25 from the first, now of four rows, and 5 from the second, of three: it would
    # add 4/5 * 18.06 = 14.45 or 3/4 * 25 = 18.75.
    assert gather([0, 1, 2, 10, 11, 12, 4, 6], 3, first=0, left_over=[6, 7])[6:] == [0, 0]
    # 6.35 instead of 6 is at 4.6 and 4.65, so nearer to the first, but 4/5 * 21.16 = 16.9 is more
    # than 3/4 * 21.62 = 16.2.
    assert gather([0, 1, 2, 10, 11, 12, 4, 6.35], 3, first=0, left_over=[6, 7])[6:] == [0, 1]


def test_of_equal_increases_the_group_formed_first_wins():
    # 6 is 5 from either centroid, 1 and 11.
    assert gather([0, 1, 2, 10, 11, 12, 6], 3, first=0) == [0, 0, 0, 1, 1, 1, 0]
    assert gather([10, 11, 12, 0, 1, 2, 6], 3, first=0) == [0, 0, 0, 1, 1, 1, 0]


def test_ties_go_to_the_lowest_index():
    # -1 and 1 are equally near to 0: -1 joins. 3 and -3 are equally far from 0: 3 is the next seed,
    # and takes 1. -3 is left over and joins the first.
    assert gather([0, -1, 3, -3, 1], 2, first=0) == [0, 0, 1, 0, 1]


def test_equal_rows_are_grouped_in_order():
    # Row 2 takes row 0; the farthest from it is row 1, and takes row 3; row 4 joins the first.
    assert gather([5] * 5, 2, first=2) == [0, 1, 0, 1, 0]


def test_the_seed_draws_the_first_row():
    X = np.random.default_rng(0).normal(size=(40, 2))
    different = {tuple(KMember(3, random_state=seed).fit(X).labels_) for seed in range(10)}
    assert len(different) > 1


@settings(deadline=None)
@given(n=st.integers(1, 40), k=st.integers(1, 10), seed=st.integers(0, 9))
def test_even_if_all_left_over_join_one_group_it_stays_below_2k(n, k, seed):
    if n < k:
        n += k
    X = np.random.default_rng(seed).normal(size=(n, 2))
    X[n - n % k :] = X[0]  # copies of a row, which all go where it is
    sizes = np.bincount(KMember(k, random_state=seed).fit(X).labels_)
    assert sizes.size == n // k
    assert k <= sizes.min() <= sizes.max() <= k + n % k < 2 * k


def loss(rows):
    return ((rows - rows.mean(axis=0)) ** 2).sum()


def slow_k_member(X, k, first, left_over):
    """The algorithm with the loss itself, instead of the formula for its increase."""
    remaining, groups, seed = list(range(len(X))), [], first
    while len(remaining) >= k:
        if groups:
            seed = max(remaining, key=lambda row: (((X[row] - X[seed]) ** 2).sum(), -row))
        group = [seed]
        remaining.remove(seed)
        while len(group) < k:
            group.append(min(remaining, key=lambda row: loss(X[[*group, row]])))
            remaining.remove(group[-1])
        groups.append(group)
    for row in left_over:
        min(groups, key=lambda group: loss(X[[*group, row]]) - loss(X[group])).append(row)
    return groups


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 40), k=st.integers(1, 6), d=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_the_groups_are_those_of_the_oracle(n, k, d, seed):
    n = max(n, k)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    first = int(rng.integers(n))
    labels, _ = _grow_groups(X, k, first)
    left_over = rng.permutation(np.flatnonzero(labels < 0))
    expected = np.empty(n, dtype=np.int64)
    for number, members in enumerate(slow_k_member(X.astype(np.float64), k, first, left_over)):
        expected[members] = number
    assert gather(X, k, first, left_over) == number_by_lowest_member(expected).tolist()
