"""Bisecting one-k-gather: bisecting k-gather in which some rows may stand alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.group.bisection import (
    best_bisection,
    centroid_of,
    fill_short_side,
    most_distant_and_closest,
    move_to_front,
)
from recveil.group.clusterer import RandomState, at_least
from recveil.group.distances import squared_distances
from recveil.group.level_grouping import LevelGrouping


class BisectingOneKGather(LevelGrouping):
    """Bisecting one-k-gather (BOKG): rows of level 1 leave the groups that they spread.

    Chen 2012 (thesis), section 5.3. Levels are 1 ("no privacy concern") and c, which is
    `min_size`. It differs from `BisectingKGather` in three places:

    - Rows that are all of level 1 stand alone, each a group of one (CHECK_ALL_ONE).
    - So a short side is filled from its sibling only if a row of level c is on it (step 6A).
    - When n < 2c rows are left (LEAVE_ONE_OUT), the row of level 1 that is most distant from the
      centroid leaves if its distance is at least σ, the root mean square of the distances of all
      n; then centroid and σ are computed again, and so on, until c rows are left, or none leaves.

    Rows that are equal to their centroid leave too: their distance is 0, and so is σ.

    *Guarantee*: every row of level c is in a group of at least c and fewer than 2c rows. Groups
    are cut as by `BisectingKGather`, and rows leave only while more than c are left. A row of
    level 1 is in such a group too, or alone. If nobody asks for c, fewer than c rows will do.

    Time and memory are those of `BisectingKGather`, plus O(n c) for the rows that leave.

    Parameters
    ----------
    min_size : int, default 5
        The level c, and everybody's if `fit` is given none.
    n_bisections : int, default 10
        How many random bisections are tried for each cut.
    random_state : int, RandomState, Generator or None
        Draws the bisections. The same seed gives the same groups.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row; a row that stands alone has one of its own.
    n_groups_ : int
        How many groups there are.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [5.0]]
    >>> gather = BisectingOneKGather(min_size=2, random_state=0)
    >>> gather.fit(X).labels_
    array([0, 1, 0, 1, 1])
    >>> gather.fit(X, levels=[2, 2, 2, 2, 1]).labels_
    array([0, 1, 0, 1, 2])
    """

    def __init__(
        self, min_size: int = 5, n_bisections: int = 10, random_state: RandomState = None
    ) -> None:
        self.min_size = min_size
        self.n_bisections = n_bisections
        self.random_state = random_state

    def _group_by_levels(
        self, X: NDArray[np.float32], levels: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[Any]:
        at_least("n_bisections", self.n_bisections, 1)
        unknown = (levels != 1) & (levels != self.min_size)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise RecveilError(
                f"levels: row {row} has {levels[row]}; expected 1 or min_size={self.min_size}; "
                f"LevelGather takes any levels",
                code="level.value",
            )
        return _bisecting_one_k_gather(X, levels == 1, self.min_size, self.n_bisections, rng)


@compiled()
def _bisecting_one_k_gather(
    X: NDArray[Any],
    may_leave: NDArray[Any],
    k: int,
    n_bisections: int,
    rng: np.random.Generator,
) -> NDArray[Any]:
    labels = np.empty(len(X), dtype=np.int64)
    order = np.arange(len(X))
    n_groups = 0
    uncut = [(0, len(X))]
    while uncut:
        start, end = uncut.pop()
        rows = order[start:end]
        if len(rows) < 2 * k or np.all(may_leave[rows]):
            stays = _leave_one_out(X, rows, may_leave[rows], k)
            for i in range(len(rows)):
                labels[rows[i]] = n_groups if stays[i] else n_groups + 1 + i
            n_groups += 1 + len(rows)
            continue
        if len(rows) < 3 * k:
            side = most_distant_and_closest(X, rows, k)
        else:
            side = best_bisection(X, rows, n_bisections, rng)
            short = side if 2 * side.sum() <= len(rows) else ~side
            if not np.all(may_leave[rows[short]]):
                side = fill_short_side(X, rows, side, k)
        if not side[0]:  # as in bisecting k-gather
            side = ~side
        middle = start + move_to_front(rows, side)
        uncut.append((middle, end))
        uncut.append((start, middle))
    return labels


@compiled()
def _leave_one_out(
    X: NDArray[Any], rows: NDArray[Any], may_leave: NDArray[Any], k: int
) -> NDArray[Any]:
    """Mark the rows that stay together; the others stand alone."""
    n = len(rows)
    stays = np.ones(n, dtype=np.bool_)
    if np.all(may_leave):
        return ~stays
    while n > k:
        distances = squared_distances(X, rows, centroid_of(X, rows, stays))
        farthest, total = -1, 0.0
        for i in range(len(rows)):
            if stays[i]:
                total += distances[i]
                if may_leave[i] and (farthest < 0 or distances[i] > distances[farthest]):
                    farthest = i
        if farthest < 0 or distances[farthest] < total / n:
            break
        stays[farthest] = False
        n -= 1
    return stays
