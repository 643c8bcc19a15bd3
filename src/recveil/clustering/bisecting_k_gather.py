"""Bisecting k-gather: bisect groups until none can be cut further."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.clustering.base import Grouping, RandomState, at_least, lowest, squared_distances
from recveil.runtime.compiled import compiled


@compiled()
def bisecting_k_gather(
    X: NDArray[Any], k: int, n_bisections: int, rng: np.random.Generator
) -> NDArray[Any]:
    """Return for each row of X the number of its group, 0, 1, ...; see `BisectingKGather`."""
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
            side = most_distant_and_closest(X, rows, k)
        else:
            side = fill_short_side(X, rows, best_bisection(X, rows, n_bisections, rng), k)
        if not side[0]:  # a bisection and its mirror image lead to the same groups
            side = ~side
        middle = start + move_to_front(rows, side)
        uncut.append((middle, end))
        uncut.append((start, middle))
    return labels


@compiled()
def most_distant_and_closest(X: NDArray[Any], rows: NDArray[Any], k: int) -> NDArray[Any]:
    """Mark, for step 7B, the row most distant from the centroid and the k - 1 closest to it."""
    all_members = np.ones(len(rows), dtype=np.bool_)
    most_distant = np.argmax(squared_distances(X, rows, centroid_of(X, rows, all_members)))
    distances = squared_distances(X, rows, X[rows[most_distant]].astype(np.float64))
    distances[most_distant] = -1  # ahead of its duplicates
    return mark_lowest(distances, k)


@compiled()
def fill_short_side(
    X: NDArray[Any], rows: NDArray[Any], side: NDArray[Any], k: int
) -> NDArray[Any]:
    """Return, for step 6, the side; or else the short one, with the closest rows added."""
    size = side.sum()
    if min(size, len(rows) - size) >= k:
        return side
    short = side if size < k else ~side
    distances = squared_distances(X, rows, centroid_of(X, rows, short))
    distances[short] = -1  # its own members come first
    return mark_lowest(distances, k)


@compiled()
def best_bisection(
    X: NDArray[Any], rows: NDArray[Any], n_bisections: int, rng: np.random.Generator
) -> NDArray[Any]:
    """Mark, for step 4, the left side of the random bisection with the lowest SSE."""
    n = len(rows)
    is_left, sums = random_bisections(X, rows, n_bisections, rng)
    best, most_between = -1, -1.0
    for b in range(n_bisections):
        n_left = is_left[b].sum()
        if 0 < n_left < n:
            between = sse_between(sums[b], n_left, n)
            if between > most_between:
                best, most_between = b, between
    if best < 0:  # the rows are indistinguishable: halve them in the order of their index
        best = 0
        for i in range(n):
            is_left[best, i] = i < n // 2
    return is_left[best]


@compiled()
def sse_between(offsets: NDArray[Any], n_left: int, n: int) -> float:
    """Return by how much a cut of n rows lowers their SSE.

    It follows from the sum of the left side's offsets from the centroid: those of the right side
    add up to its negative.
    """
    between = 0.0
    for j in range(len(offsets)):
        between += offsets[j] ** 2
    return between * (1 / n_left + 1 / (n - n_left))


# A projection may be added up in any order: this lets the compiler use vector instructions.
@compiled(fastmath={"reassoc", "contract"})
def random_bisections(
    X: NDArray[Any], rows: NDArray[Any], n_bisections: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Repeat steps 1 to 3: mark the left sides, and sum their offsets from the centroid."""
    n, d = len(rows), X.shape[1]
    centroid = centroid_of(X, rows, np.ones(n, dtype=np.bool_))
    to_left = draw_left_centres(X, rows, centroid, n_bisections, rng)
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
def draw_left_centres(
    X: NDArray[Any],
    rows: NDArray[Any],
    centroid: NDArray[Any],
    n_bisections: int,
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Draw the rows of step 1; return their offsets from the centroid, in float32.

    A row at the centroid is its own mirror image and parts nothing. If only such rows are drawn,
    the row most distant from the centroid takes the place of the first: unless all rows are equal,
    it parts them, as their offsets add up to 0 and so some must point away from it.
    """
    d = X.shape[1]
    to_left = np.empty((n_bisections, d), dtype=np.float32)
    for b in range(n_bisections):
        row = rows[int(rng.random() * len(rows))]
        for j in range(d):
            to_left[b, j] = X[row, j] - centroid[j]
    if not np.any(to_left):
        row = rows[np.argmax(squared_distances(X, rows, centroid))]
        for j in range(d):
            to_left[0, j] = X[row, j] - centroid[j]
    return to_left


@compiled()
def move_to_front(rows: NDArray[Any], side: NDArray[Any]) -> int:
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
def centroid_of(X: NDArray[Any], rows: NDArray[Any], members: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of the rows that are marked as members, in float64."""
    total = np.zeros(X.shape[1])
    size = 0
    for i in range(len(rows)):
        if members[i]:
            size += 1
            for j in range(X.shape[1]):
                total[j] += X[rows[i], j]
    return total / size


@compiled()
def mark_lowest(values: NDArray[Any], k: int) -> NDArray[Any]:
    """Mark the k lowest values; of equal ones, those that come first."""
    marked = np.zeros(len(values), dtype=np.bool_)
    marked[lowest(values, k)] = True
    return marked


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
    comparison of distances, ``|x - c_L| <= |x - c_R|``, because c_L and c_R are opposite each
    other at the same distance from the centroid. Two cases the thesis does not mention: a row
    exactly at the centroid is its own mirror image and parts nothing, so if all `n_bisections`
    draws hit such rows, the row most distant from the centroid is taken as well; and rows that are
    all equal are halved in the order of their index.

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
        return bisecting_k_gather(X, self.min_size, self.n_bisections, rng)
