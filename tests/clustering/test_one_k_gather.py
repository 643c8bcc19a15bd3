"""Bisecting one-k-gather: worked examples, and a recursive oracle in plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.clustering import BisectingKGather, BisectingOneKGather
from recveil.clustering.base import number_by_lowest_member
from recveil.clustering.level_gather import _bisecting_one_k_gather


def gather(X, levels, k, n_bisections=10, seed=0):
    """Group the rows as they stand, unscaled, so that whole numbers stay whole."""
    rows = np.asarray(X, dtype=np.float32).reshape(len(X), -1)
    may_leave = np.asarray(levels) == 1
    rng = np.random.default_rng(seed)
    labels = _bisecting_one_k_gather(rows, may_leave, k, n_bisections, rng)
    return number_by_lowest_member(labels).tolist()


def test_who_spreads_the_group_leaves_it():
    # The centroid is 2, σ² = (4 + 1 + 9) / 3 = 4.67, and 5 is 3 away: 9 >= 4.67.
    assert gather([0, 1, 5], [2, 2, 1], 2) == [0, 0, 1]


def test_who_is_closer_than_sigma_stays():
    # The centroid is 3, σ² = (9 + 1 + 4) / 3 = 4.67; the one of level 1 is 1 away.
    assert gather([0, 4, 5], [2, 1, 2], 2) == [0, 0, 0]


def test_who_minds_never_leaves():
    # The centroid is 2, σ² = 4.67: 5 is most distant, but minds; 1 is but 1 away and stays.
    assert gather([0, 1, 5], [2, 1, 2], 2) == [0, 0, 0]
    # 0 is 2 away, 4 < 4.67, and stays too.
    assert gather([0, 1, 5], [1, 2, 2], 2) == [0, 0, 0]


def test_sigma_is_computed_again_after_each_removal():
    # Of five, the centroid is 3.8 and σ² = 92.8 / 5 = 18.56: 12 leaves, with 67.24. Of the four
    # that stay, the centroid is 1.75 and σ² = 8.75 / 4 = 2.19: 4 leaves, with 5.06 (less than the
    # old σ²). Three are left, which is k.
    assert gather([0, 1, 2, 4, 12], [3, 3, 3, 1, 1], 3) == [0, 0, 0, 1, 2]


def test_k_of_them_always_stay():
    # As above, though four would like to leave.
    assert gather([0, 1, 2, 4, 12], [3, 1, 1, 1, 1], 3) == [0, 0, 0, 1, 2]


def test_a_short_side_that_does_not_mind_is_not_filled():
    # The centroid is 18.33, so 100 is alone. Of the five others, with the centroid 2, step 7B
    # parts 0 and its closest, 1, from the rest.
    assert gather([0, 1, 2, 3, 4, 100], [2, 2, 2, 2, 2, 1], 2) == [0, 0, 1, 1, 1, 2]
    # If 100 minds, 100 takes 4, and four are left.
    assert gather([0, 1, 2, 3, 4, 100], [2, 2, 2, 2, 2, 2], 2) == [0, 0, 1, 1, 2, 2]


def test_a_group_that_does_not_mind_falls_apart():
    # Step 7B: the centroid is 5.5, 0 and 11 are most distant, 0 comes first and takes 1.
    assert gather([0, 1, 10, 11], [1, 1, 2, 2], 2) == [0, 1, 2, 2]


def test_equal_rows_leave():
    # All distances and σ are 0.
    assert gather([7, 7, 7], [2, 1, 1], 2) == [0, 1, 0]


def test_without_users_of_level_k_all_are_alone():
    assert gather(range(30), [1] * 30, 5) == list(range(30))
    labels = BisectingOneKGather(5).fit([[3.0], [4.0]], levels=[1, 1]).labels_
    assert labels.tolist() == [0, 1]


def leave_one_out(X, rows, may_leave, k):
    alone = []
    while len(rows) > k:
        distances = np.sqrt(((X[rows] - X[rows].mean(axis=0)) ** 2).sum(axis=1))
        of_level_one = np.where(may_leave[rows], distances, -1)
        farthest = of_level_one.argmax()
        if of_level_one[farthest] < np.sqrt(np.mean(distances**2)):
            break
        alone.append(rows[farthest : farthest + 1])
        rows = np.delete(rows, farthest)
    return [rows, *alone]


def sse(X):
    return ((X - X.mean(axis=0)) ** 2).sum()


def closest(X, rows, point, k):
    return np.argsort(((X[rows] - point) ** 2).sum(axis=1), kind="stable")[:k]


def recursive_one_k_gather(X, rows, may_leave, k, n_bisections, rng):
    """The thesis's Algorithm 2 and its two functions; returns the groups."""
    n = len(rows)
    if may_leave[rows].all():
        return [rows[i : i + 1] for i in range(n)]
    if n < 2 * k:
        return leave_one_out(X, rows, may_leave, k)
    centroid = X[rows].mean(axis=0)
    if n < 3 * k:
        distant = ((X[rows] - centroid) ** 2).sum(axis=1).argmax()
        left = np.isin(np.arange(n), closest(X, rows, X[rows[distant]], k))
    else:
        bisections = []
        for _ in range(n_bisections):
            c_left = X[rows[int(rng.random() * n)]]
            c_right = centroid - (c_left - centroid)
            to_left = ((X[rows] - c_left) ** 2).sum(axis=1)
            to_right = ((X[rows] - c_right) ** 2).sum(axis=1)
            bisections.append(to_left <= to_right)
        left = min(bisections, key=lambda left: sse(X[rows[left]]) + sse(X[rows[~left]]))
        short = left if left.sum() <= n / 2 else ~left
        if short.sum() < k and not may_leave[rows[short]].all():
            others = rows[~short]
            taken = others[closest(X, others, X[rows[short]].mean(axis=0), k - short.sum())]
            left = short | np.isin(rows, taken)
    if not left[0]:  # as in recveil: the side of the first row comes first
        left = ~left
    return [
        group
        for side in (rows[left], rows[~left])
        for group in recursive_one_k_gather(X, side, may_leave, k, n_bisections, rng)
    ]


@settings(deadline=None, max_examples=80)
@given(
    n=st.integers(1, 60),
    k=st.integers(2, 6),
    d=st.integers(1, 4),
    share=st.sampled_from([0.1, 0.5, 0.9]),
    n_bisections=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
def test_the_groups_are_those_of_the_recursive_oracle(n, k, d, share, n_bisections, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d), dtype=np.float32)
    if seed % 2:  # an outlier or two make sides short
        rows[: n // 20 + 1] *= 100
    may_leave = rng.random(n) < share if n >= k else np.ones(n, dtype=bool)
    groups = recursive_one_k_gather(
        rows.astype(float), np.arange(n), may_leave, k, n_bisections, np.random.default_rng(seed)
    )
    expected = np.empty(n, dtype=np.int64)
    for number, members in enumerate(groups):
        expected[members] = number
    found = gather(rows, np.where(may_leave, 1, k), k, n_bisections, seed)
    assert found == number_by_lowest_member(expected).tolist()


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 60), k=st.integers(1, 8), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_users_of_level_k_have_company_and_no_other_is_in_between(n, k, share, seed):
    k = min(k, n)
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, 2)).astype(float)  # many equal rows
    levels = np.where(rng.random(n) < share, 1, k)
    grouping = BisectingOneKGather(k, random_state=seed)
    labels = grouping.fit(X, levels=levels).labels_
    sizes = np.bincount(labels)
    assert (sizes[labels] >= levels).all()
    assert all(size == 1 or k <= size < 2 * k for size in sizes)
    assert grouping.n_groups_ == sizes.size
    assert (grouping.fit_predict(X, levels=levels) == labels).all()


@pytest.mark.parametrize("k", [1, 4])
def test_without_levels_it_is_bisecting_k_gather(k):
    X = np.random.default_rng(0).normal(size=(200, 3))
    expected = BisectingKGather(k, random_state=3).fit(X).labels_
    assert (BisectingOneKGather(k, random_state=3).fit(X).labels_ == expected).all()


def test_other_levels_are_refused():
    with raises("level.value") as caught:
        BisectingOneKGather(2).fit(np.zeros((4, 1)), levels=[1, 2, 3, 1])
    assert "row 2 has 3" in str(caught.value)


def test_a_level_needs_as_many_rows():
    with raises("level.value") as caught:
        BisectingOneKGather(5).fit(np.zeros((3, 1)), levels=[1, 5, 1])
    assert "row 1 asks for a group of 5" in str(caught.value)
    with raises("table.too-few-users") as caught:
        BisectingOneKGather(5).fit(np.zeros((3, 1)))
    assert "3 rows" in str(caught.value)


def test_the_number_of_bisections_starts_at_one():
    with raises("argument.value") as caught:
        BisectingOneKGather(1, n_bisections=0).fit(np.zeros((3, 1)))
    assert "n_bisections" in str(caught.value)
