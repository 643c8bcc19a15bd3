"""Bisecting k-gather: cut the rows in two, again and again, until no group could be cut further."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.compiled import compiled
from recveil.group.base import Grouping, RandomState, at_least


class BisectingKGather(Grouping):
    """Bisecting k-gather (BKG): halve the rows through their centroid, then halve the halves.

    Chen 2012 (thesis), section 3.2, k being `min_size`. What is done with n rows:

    - n < 2k: they are a group.
    - 2k <= n < 3k (step 7B): the row most distant from the centroid and the k - 1 rows closest to
      it are cut off; the rest stays together.
    - n >= 3k (steps 1 to 6): `n_bisections` times, a random row c_L and its mirror image c_R
      through the centroid draw the rows to two sides. The bisection with the lowest sum of
      squared distances to each side's centroid is kept; a side of fewer than k rows takes what it
      lacks from the other, the closest to its centroid.

    A row is on the left if its projection on c_L - centroid is not negative. This is the thesis's
    comparison of distances, ``|x - c_L| <= |x - c_R|``, because c_L and c_R lie opposite each
    other, equally far from the centroid. If one side is empty (all rows equal), the rows are
    halved in the order of their index.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. Every cut
    leaves at least k rows on each side (step 7B cuts k from at least 2k; a filled side has k, its
    sibling at least 2k), and whatever has 2k or more rows is cut.

    Time is O(n log n) for data without extremes (each cut of n rows takes n * `n_bisections`
    projections); if every cut parts off k rows only, it is O(n² / k). Memory is linear.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    n_bisections : int, default 10
        How many random bisections are tried for each cut.
    random_state : int, RandomState, Generator or None
        Draws the bisections. The same seed gives the same groups.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row.
    n_groups_ : int
        How many groups there are.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> BisectingKGather(min_size=2, random_state=0).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    def __init__(
        self, min_size: int = 5, n_bisections: int = 10, random_state: RandomState = None
    ) -> None:
        self.min_size = min_size
        self.n_bisections = n_bisections
        self.random_state = random_state

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        at_least("n_bisections", self.n_bisections, 1)
        return _bisecting_k_gather(X, self.min_size, self.n_bisections, rng)


# The kernels are plain loops: numba compiles whole-array operations several times slower.


@compiled()
def _bisecting_k_gather(
    X: NDArray[Any], k: int, n_bisections: int, rng: np.random.Generator
) -> NDArray[Any]:
    labels = np.empty(len(X), dtype=np.int64)
    order = np.arange(len(X))
    n_groups = 0
    # Slices of `order`; a stack, because extreme data would go too deep for a recursion.
    uncut = [(0, len(X))]
    while uncut:
        start, end = uncut.pop()
        rows = order[start:end]
        if len(rows) < 2 * k:
            labels[rows] = n_groups
            n_groups += 1
            continue
        if len(rows) < 3 * k:
            side = _most_distant_and_closest(X, rows, k)
        else:
            side = _fill_short_side(X, rows, _best_bisection(X, rows, n_bisections, rng), k)
        if not side[0]:  # a bisection and its mirror image lead to the same groups
            side = ~side
        middle = start + _move_to_front(rows, side)
        uncut.append((middle, end))
        uncut.append((start, middle))
    return labels


@compiled()
def _most_distant_and_closest(X: NDArray[Any], rows: NDArray[Any], k: int) -> NDArray[Any]:
    """Mark, for step 7B, the row most distant from the centroid and the k - 1 closest to it."""
    everyone = np.ones(len(rows), dtype=np.bool_)
    most_distant = np.argmax(_squared_distances(X, rows, _centroid(X, rows, everyone)))
    distances = _squared_distances(X, rows, X[rows[most_distant]].astype(np.float64))
    distances[most_distant] = -1  # ahead of its duplicates
    return _mark_lowest(distances, k)


@compiled()
def _fill_short_side(
    X: NDArray[Any], rows: NDArray[Any], side: NDArray[Any], k: int
) -> NDArray[Any]:
    """Return, for step 6, the side; or else the short one, with the closest rows added."""
    size = side.sum()
    if min(size, len(rows) - size) >= k:
        return side
    short = side if size < k else ~side
    distances = _squared_distances(X, rows, _centroid(X, rows, short))
    distances[short] = -1  # its own members come first
    return _mark_lowest(distances, k)


@compiled()
def _best_bisection(
    X: NDArray[Any], rows: NDArray[Any], n_bisections: int, rng: np.random.Generator
) -> NDArray[Any]:
    """Mark, for step 4, the left side of the random bisection with the lowest SSE.

    The SSE of the two sides is that of all rows less the one between the sides. The latter follows
    from the sum of the left side's offsets from the centroid: those of the right side add up to
    its negative.
    """
    n = len(rows)
    is_left, sums = _random_bisections(X, rows, n_bisections, rng)
    best, most_between = -1, -1.0
    for b in range(n_bisections):
        n_left = is_left[b].sum()
        if 0 < n_left < n:
            between = 0.0
            for j in range(X.shape[1]):
                between += sums[b, j] ** 2
            between *= 1 / n_left + 1 / (n - n_left)
            if between > most_between:
                best, most_between = b, between
    if best < 0:  # all rows are equal: halve them in the order of their index
        best = 0
        for i in range(n):
            is_left[best, i] = i < n // 2
    return is_left[best]


# A projection may be added up in any order: this lets the compiler use vector instructions.
@compiled(fastmath={"reassoc", "contract"})
def _random_bisections(
    X: NDArray[Any], rows: NDArray[Any], n_bisections: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Repeat steps 1 to 3: mark the left sides, and sum their offsets from the centroid."""
    n, d = len(rows), X.shape[1]
    centroid = _centroid(X, rows, np.ones(n, dtype=np.bool_))
    to_left = np.empty((n_bisections, d), dtype=np.float32)
    for b in range(n_bisections):
        row = rows[int(rng.random() * n)]
        for j in range(d):
            to_left[b, j] = X[row, j] - centroid[j]

    is_left = np.zeros((n_bisections, n), dtype=np.bool_)
    sums = np.zeros((n_bisections, d))
    offset = np.empty(d, dtype=np.float32)
    for i in range(n):
        for j in range(d):
            offset[j] = X[rows[i], j] - centroid[j]
        for b in range(n_bisections):
            projection = np.float32(0)
            for j in range(d):
                projection += offset[j] * to_left[b, j]
            if projection >= 0:
                is_left[b, i] = True
                for j in range(d):
                    sums[b, j] += offset[j]
    return is_left, sums


@compiled()
def _move_to_front(rows: NDArray[Any], side: NDArray[Any]) -> int:
    """Move the rows of a side to the front, keep the order on both sides, return the size."""
    others = np.empty_like(rows)
    size = 0
    for i in range(len(rows)):
        if side[i]:
            rows[size] = rows[i]
            size += 1
        else:
            others[i - size] = rows[i]
    for i in range(size, len(rows)):
        rows[i] = others[i - size]
    return size


@compiled()
def _centroid(X: NDArray[Any], rows: NDArray[Any], members: NDArray[Any]) -> NDArray[Any]:
    total = np.zeros(X.shape[1])
    size = 0
    for i in range(len(rows)):
        if members[i]:
            size += 1
            for j in range(X.shape[1]):
                total[j] += X[rows[i], j]
    return total / size


@compiled()
def _squared_distances(X: NDArray[Any], rows: NDArray[Any], point: NDArray[Any]) -> NDArray[Any]:
    distances = np.zeros(len(rows))
    for i in range(len(rows)):
        for j in range(X.shape[1]):
            distances[i] += (X[rows[i], j] - point[j]) ** 2
    return distances


@compiled()
def _mark_lowest(values: NDArray[Any], k: int) -> NDArray[Any]:
    """Mark the k lowest values; of equal ones, those that come first."""
    lowest = np.empty(k, dtype=np.int64)  # an insertion sort that forgets all beyond k
    for i in range(len(values)):
        if i >= k and values[i] >= values[lowest[k - 1]]:
            continue
        at = min(i, k - 1)
        while at > 0 and values[lowest[at - 1]] > values[i]:
            lowest[at] = lowest[at - 1]
            at -= 1
        lowest[at] = i
    marked = np.zeros(len(values), dtype=np.bool_)
    marked[lowest] = True
    return marked
