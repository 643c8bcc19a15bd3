"""Bisecting k-gather: worked examples, and a recursive oracle in plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.clustering import BisectingKGather
from recveil.clustering.base import number_by_lowest_member
from recveil.clustering.bisecting_k_gather import (
    bisecting_k_gather,
    draw_left_centres,
    mark_lowest,
    random_bisections,
)


def gather(X, k, n_bisections=10, seed=0):
    """Group the rows as they stand, unscaled, so that whole numbers stay whole."""
    rows = np.asarray(X, dtype=np.float32).reshape(len(X), -1)
    labels = bisecting_k_gather(rows, k, n_bisections, np.random.default_rng(seed))
    return number_by_lowest_member(labels).tolist()


def test_up_to_2k_rows_stay_together():
    assert gather([1, 2, 3, 4, 5], 3) == [0] * 5


def test_up_to_3k_rows_part_around_the_most_distant():
    # The centroid is 4. The most distant is 10, and 7 is closest to it; the rest stays together.
    assert gather([1, 2, 10, 0, 7], 2) == [0, 0, 1, 0, 1]


def test_a_bisection_through_the_centroid():
    # In one dimension, every bisection cuts at the centroid, here 16.
    assert gather([0, 30, 1, 31, 2, 32], 2) == [0, 1, 0, 1, 0, 1]


def test_a_short_side_takes_the_closest_of_its_sibling():
    # The centroid is 18.33, so 100 is alone and takes 4. Four rows remain, 2k <= 4 < 3k, with the
    # centroid 1.5: 0 and 3 are equally distant, 0 comes first, and 1 is closest to it.
    assert gather([0, 1, 2, 3, 4, 100], 2) == [0, 0, 1, 1, 2, 2]


def test_the_bisection_with_the_lowest_sse_is_kept():
    # The centroid is (1/3, 0). Drawing a row at x = ±10 parts the two at -10 from the rest, with
    # an SSE of 0 + 99; drawing (1, ±3) gives three and three, with an SSE of 60 + 86.7. The former
    # is kept. Of the four, with the centroid (5.5, 0), (1, 3) is most distant, (1, -3) its closest.
    X = [[-10, 0], [10, 0], [1, 3], [-10, 0], [10, 0], [1, -3]]
    assert gather(X, 2, n_bisections=20) == [0, 1, 2, 0, 1, 2]


def test_rows_in_columns_of_their_own_part_one_at_a_time():
    # The worst case of the thesis's Lemma 2: (e_i - c) (e_j - c) = -1/12, so that a row's bisection
    # parts off the row alone, which takes its two nearest: 12 rows, 9 and 6, which step 7B halves.
    left, _ = random_bisections(
        np.eye(12, dtype=np.float32), np.arange(12), 5, np.random.default_rng(0)
    )
    assert left.sum(axis=1).tolist() == [1] * 5
    assert np.bincount(gather(np.eye(12), 3)).tolist() == [3] * 4


def test_equal_rows_are_halved_in_order():
    # 7 >= 3k: 3 and 4 rows. Three stay (k = 2: 2k = 4); four part by step 7B in order.
    assert gather([5] * 7, 2) == [0, 0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("seed", range(20))
def test_rows_at_the_centroid_part_the_others_all_the_same(seed):
    # 36 of 40 rows are the centroid 0, and lie on no side: ten draws hit nothing else in one case
    # of three. Any cut between -1, 0 and 1 leaves each with company of its own: the SSE is 0.
    X = np.zeros(40)
    X[[3, 17]], X[[8, 30]] = 1, -1
    labels = np.array(gather(X, 2, seed=seed))
    assert sum(sse(X[labels == group]) for group in range(labels.max() + 1)) == 0


def test_the_most_distant_row_stands_in_if_only_the_centroid_is_drawn():
    # The centroid is 0. With one draw it is hit four times of six; then the row most distant from
    # it is c_L: the first of the two at 3 and -3. Else it is that row, or -3, whose cut is
    # {0, 0, 0, 0, -3} and {3}; a short side takes a 0.
    X = np.array([[0], [0], [3], [0], [-3], [0]], dtype=np.float32)
    rows, centroid = np.arange(6), np.zeros(1)
    offsets = {
        float(draw_left_centres(X, rows, centroid, 1, np.random.default_rng(seed))[0, 0])
        for seed in range(40)
    }
    assert offsets == {3, -3}
    only_zeros = np.zeros((6, 1), dtype=np.float32)
    drawn = draw_left_centres(only_zeros, rows, centroid, 3, np.random.default_rng(0))
    assert drawn.tolist() == [[0], [0], [0]]


def test_many_equal_rows_need_no_deep_recursion():
    labels = BisectingKGather(1, n_bisections=1).fit(np.zeros((5000, 1))).labels_
    assert labels.tolist() == list(range(5000))


def test_ties_go_to_the_lowest_index():
    marked = mark_lowest(np.array([2.0, 1.0, 2.0, 3.0, 2.0, 0.0]), 4)
    assert np.flatnonzero(marked).tolist() == [0, 1, 2, 5]


def closest(X, rows, point, k):
    return np.argsort(((X[rows] - point) ** 2).sum(axis=1), kind="stable")[:k]


def sse(X):
    return ((X - X.mean(axis=0)) ** 2).sum()


def recursive_k_gather(X, rows, k, n_bisections, rng):
    """The thesis's Algorithm 1, word by word; returns the groups."""
    n = len(rows)
    if n < 2 * k:
        return [rows]
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
        if min(left.sum(), n - left.sum()) < k:
            short = left if left.sum() < k else ~left
            others = rows[~short]
            taken = others[closest(X, others, X[rows[short]].mean(axis=0), k - short.sum())]
            left = short | np.isin(rows, taken)
    if not left[0]:  # as in recveil: the side of the first row comes first
        left = ~left
    return [
        group
        for side in (rows[left], rows[~left])
        for group in recursive_k_gather(X, side, k, n_bisections, rng)
    ]


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 60),
    k=st.integers(1, 6),
    d=st.integers(1, 4),
    n_bisections=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
def test_the_groups_are_those_of_the_recursive_oracle(n, k, d, n_bisections, seed):
    rows = np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)
    if seed % 2:  # an outlier or two make sides short
        rows[: n // 20 + 1] *= 100
    groups = recursive_k_gather(
        rows.astype(np.float64), np.arange(n), k, n_bisections, np.random.default_rng(seed)
    )
    expected = np.empty(n, dtype=np.int64)
    for number, members in enumerate(groups):
        expected[members] = number
    assert gather(rows, k, n_bisections, seed) == number_by_lowest_member(expected).tolist()


def test_the_number_of_bisections_starts_at_one():
    with raises("argument.value") as caught:
        BisectingKGather(1, n_bisections=0).fit(np.zeros((3, 1)))
    assert "n_bisections" in str(caught.value)
