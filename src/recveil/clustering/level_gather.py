"""Bisecting k-gather with a minimum group size per row."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.clustering.base import Grouping, RandomState, at_least, squared_distances
from recveil.clustering.bisecting_k_gather import (
    best_bisection,
    bisecting_k_gather,
    centroid_of,
    fill_short_side,
    most_distant_and_closest,
    move_to_front,
    random_bisections,
    sse_between,
)
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count


class LevelGrouping(Grouping):
    """A clusterer in which every row is in a group at least as large as its level.

    Source: Chen 2012 (thesis), section 5.1, Definition 1. Subclasses store their parameters and
    implement `_group_by_levels`.
    """

    def __init__(
        self, min_size: int = 5, n_bisections: int = 10, random_state: RandomState = None
    ) -> None:
        self.min_size = min_size
        self.n_bisections = n_bisections
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, levels: ArrayLike | None = None) -> Self:
        """Group the rows of X by `levels`, their groups' least sizes (default: `min_size`)."""
        if levels is None:
            return super().fit(X, y)
        rows = self._checked_rows(X)
        row_levels = checked_levels(levels, len(rows))
        return self._fit_rows(
            rows, lambda fitting, rng: self._group_by_levels(fitting, row_levels, rng)
        )

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        return self._group_by_levels(X, np.full(len(X), self.min_size, dtype=np.int64), rng)

    @abstractmethod
    def _group_by_levels(
        self, X: NDArray[np.float32], levels: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[Any]:
        """Return any distinct numbers for the groups, each as large as its highest level."""


def checked_levels(levels: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Return levels as int64, shape (n_rows,), or raise a RecveilError that names the first bad."""
    array = np.asarray(levels)
    if array.shape != (n_rows,):
        raise RecveilError(
            f"levels: expected one for each of "
            f"{describe_count(n_rows, 'row')}, got shape {array.shape}",
            code="argument.shape",
        )
    if array.dtype.kind not in "iu":
        raise RecveilError(
            f"levels: expected whole numbers, got {array.dtype}; round or convert",
            code="argument.type",
        )
    for bad, wish in ((array < 1, "1 or more"), (array > n_rows, "")):
        if bad.any():
            row = int(np.argmax(bad))
            if wish:
                raise RecveilError(
                    f"levels: row {row} has {array[row]}; expected {wish}", code="level.value"
                )
            raise RecveilError(
                f"levels: row {row} asks for a group of {array[row]}, but there are {n_rows} "
                f"rows; lower it, or add users",
                code="level.value",
            )
    return array.astype(np.int64)


class BisectingOneKGather(LevelGrouping):
    """Bisecting one-k-gather (BOKG): rows of level 1 leave the groups that they spread.

    Chen 2012 (thesis), section 5.3. Levels are 1 ("no privacy concern") and c, which is
    `min_size`. It differs from `BisectingKGather` in three places:

    - Rows that are all of level 1 become groups of one each (CHECK_ALL_ONE).
    - So a short side is filled from its sibling only if a row of level c is on it (step 6A).
    - When n < 2c rows are left (LEAVE_ONE_OUT), the row of level 1 that is most distant from the
      centroid leaves if its distance is at least σ, the root mean square of the distances of all
      n; then centroid and σ are computed again, and so on, until c rows are left, or none leaves.

    Rows that are equal to their centroid leave too: their distance is 0, and so is σ.

    *Guarantee*: every row of level c is in a group of at least c and fewer than 2c rows. Groups
    are cut as by `BisectingKGather`, and rows leave only while more than c are left. A row of
    level 1 is in such a group too, or alone. Without rows of level c, fewer than c rows are
    accepted.

    Time and memory are those of `BisectingKGather`, plus O(n c) for the rows that leave.

    Parameters
    ----------
    min_size : int, default 5
        The level c, and the level of all rows if `fit` is given none.
    n_bisections : int, default 10
        How many random bisections are tried for each cut.
    random_state : int, RandomState, Generator or None
        Draws the bisections. The same seed gives the same groups.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row; a row outside all groups has one of its own.
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

    def _group_by_levels(
        self, X: NDArray[np.float32], levels: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[Any]:
        at_least("n_bisections", self.n_bisections, 1)
        unknown = (levels != 1) & (levels != self.min_size)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise RecveilError(
                f"levels: row {row} has {levels[row]}; expected 1 or min_size={self.min_size}; "
                f"the grouping level-gather takes any levels",
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
    """Mark the rows that stay together; the others become groups of one."""
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


# A part of the rows is gathered level by level once it is below this many times its highest level.
# Above, the groups at its edges, which are all that a cut can spoil, hardly count.
_SMALL = 64
# Data without extremes are cut to the end long before. It bounds the recursion for the others.
_MOST_CUTS = 64


class LevelGather(LevelGrouping):
    """Group rows that each have a minimum group size.

    Customized k-anonymity with any levels, which the thesis leaves as future work (Chen 2012,
    section 8.4). Some rows, with the highest level L among them, can be gathered in two ways:

    - *Level by level*: from the highest to the lowest, the rows of a level l are grouped by
      bisecting k-gather with k = l. If there are fewer than l, the rows of lower levels that are
      closest to their centroid fill the group up to l. If there are too few of those, each row
      joins the closest of the groups that are large enough for it. Rows of level 1 form groups
      of one, unless they were needed to fill a group.
    - *In two*: of `n_bisections` random bisections, that with the lowest sum of squared distances
      (SSE) parts the rows, among those that leave on each side as many rows as the highest level
      there; then each side is gathered by itself, in its better way.

    All rows, and every part of fewer than 64 L rows, are gathered in both ways, and the one with
    the lower SSE is kept. Where many rows share a level, the first wins; where a level is rare,
    the second, because each of its rows finds closer company among its neighbours.

    *Guarantee*: if l is the highest level in a group, the group has at least l and fewer than 2l
    rows. So every row sits in a group at least as large as its own level, and with all levels
    equal to k, every group has k to 2k - 1 rows. Each way keeps this for all its groups:
    bisecting k-gather by its own guarantee; a filled group has l rows exactly; a group that grows
    to 2l by those who join is bisected again; and parting leaves each side as many rows as it
    needs, so that the argument applies there.

    It is no promise of the lowest SSE, and rows of level 1 that fill a group are not published as
    they are although they would not mind.

    Time is O(n log n) for data without extremes, as for `BisectingKGather`, about three times as
    much. Rare levels add O(n) for each that is filled up: at most √(2n) of them, since their
    groups do not overlap. Memory is linear.

    Parameters
    ----------
    min_size : int, default 5
        The level of all rows if `fit` is given none.
    n_bisections : int, default 10
        How many random bisections are tried for each cut.
    random_state : int, RandomState, Generator or None
        Draws the bisections. The same seed gives the same groups.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [5.0], [9.5], [8.8]]
    >>> LevelGather(random_state=0).fit(X, levels=[2, 3, 1, 3, 1, 2, 1]).labels_
    array([0, 1, 0, 1, 2, 1, 3])
    """

    def _group_by_levels(
        self, X: NDArray[np.float32], levels: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[Any]:
        at_least("n_bisections", self.n_bisections, 1)
        labels = np.empty(len(X), dtype=np.int64)
        _gather(X, levels, np.arange(len(X)), self.n_bisections, rng, 0, labels)
        return labels


# In what follows, a group is known by the position of one of its members.


@compiled()
def _gather(
    X: NDArray[Any],
    levels: NDArray[Any],
    rows: NDArray[Any],
    n_bisections: int,
    rng: np.random.Generator,
    n_cuts: int,
    labels: NDArray[Any],
) -> float:
    """Label the rows, after n_cuts cuts on the way to them; return their SSE."""
    highest = levels[rows].max()
    if highest == 1:
        labels[rows] = rows
        return 0.0
    can_part = False
    if n_cuts < _MOST_CUTS:
        can_part, side = _best_fitting_bisection(X, levels, rows, n_bisections, rng)
    by_level, sse = rows, np.inf
    if not can_part or n_cuts == 0 or len(rows) < _SMALL * highest:
        by_level = rows[_gather_level_by_level(X[rows], levels[rows], n_bisections, rng)]
        sse = _sse(X, rows, by_level)
    if can_part:
        if not side[0]:  # a bisection and its mirror image lead to the same groups
            side = ~side
        in_two = 0.0
        for part in (rows[side], rows[~side]):
            in_two += _gather(X, levels, part, n_bisections, rng, n_cuts + 1, labels)
        if in_two < sse:
            return in_two
    labels[rows] = by_level
    return sse


@compiled()
def _best_fitting_bisection(
    X: NDArray[Any],
    levels: NDArray[Any],
    rows: NDArray[Any],
    n_bisections: int,
    rng: np.random.Generator,
) -> tuple[bool, NDArray[Any]]:
    """Return whether a random bisection leaves each side enough rows, and mark the best's left."""
    n = len(rows)
    is_left, sums = random_bisections(X, rows, n_bisections, rng)
    best, most_between = -1, -1.0
    for b in range(n_bisections):
        n_left, left_needs, right_needs = 0, 1, 1
        for i in range(n):
            if is_left[b, i]:
                n_left += 1
                left_needs = max(left_needs, levels[rows[i]])
            else:
                right_needs = max(right_needs, levels[rows[i]])
        if n_left >= left_needs and n - n_left >= right_needs:
            between = sse_between(sums[b], n_left, n)
            if between > most_between:
                best, most_between = b, between
    return best >= 0, is_left[max(best, 0)]


@compiled()
def _gather_level_by_level(
    X: NDArray[Any], levels: NDArray[Any], n_bisections: int, rng: np.random.Generator
) -> NDArray[Any]:
    """Return the group of each row of X."""
    group = np.full(len(X), -1)
    order = np.argsort(-levels, kind="mergesort")
    n_free, n_waiting = len(X), 0
    end = 0
    while end < len(order):
        start, level = end, levels[order[end]]
        end = _end_of_run(levels, order, start)
        members = order[start:end]
        members = members[group[members] < 0]  # the others fill groups of higher levels
        n_free -= len(members)
        n_missing = level - len(members)
        if n_missing <= 0:
            numbers = bisecting_k_gather(X[members], level, n_bisections, rng)
            group[members] = members[_first_of_each(numbers)]
        elif len(members) > 0 and n_missing <= n_free:
            fillers = order[end:]
            fillers = _closest(X, fillers[group[fillers] < 0], members, n_missing)
            group[members] = members[0]
            group[fillers] = members[0]
            n_free -= n_missing
        else:
            n_waiting += len(members)
    if n_waiting > 0:
        _join(X, levels, group)
        _bisect_large(X, levels, group, n_bisections, rng)
    return group


@compiled()
def _end_of_run(values: NDArray[Any], order: NDArray[Any], start: int) -> int:
    """Return up to where `values`, taken in the order, stay what they are at the start."""
    end = start + 1
    while end < len(order) and values[order[end]] == values[order[start]]:
        end += 1
    return end


@compiled()
def _first_of_each(numbers: NDArray[Any]) -> NDArray[Any]:
    """Replace the number of each group by the position of its first member."""
    first = np.full(numbers.max() + 1, -1)
    for i in range(len(numbers)):
        if first[numbers[i]] < 0:
            first[numbers[i]] = i
    return first[numbers]


@compiled()
def _closest(
    X: NDArray[Any], candidates: NDArray[Any], members: NDArray[Any], count: int
) -> NDArray[Any]:
    all_members = np.ones(len(members), dtype=np.bool_)
    distances = squared_distances(X, candidates, centroid_of(X, members, all_members))
    return candidates[np.argsort(distances, kind="mergesort")[:count]]


@compiled()
def _join(X: NDArray[Any], levels: NDArray[Any], group: NDArray[Any]) -> None:
    """Let each row without a group (-1) join the closest one that is large enough for it."""
    sizes = np.zeros(len(X), dtype=np.int64)
    for i in range(len(X)):
        if group[i] >= 0:
            sizes[group[i]] += 1
    lowest = levels[group < 0].min()
    order = np.argsort(group, kind="mergesort")
    waiting = order[: np.sum(group < 0)]
    closest = np.full(len(waiting), -1)
    nearest = np.full(len(waiting), np.inf)
    end = len(waiting)
    while end < len(order):
        start, candidate = end, group[order[end]]
        end += sizes[candidate]
        if sizes[candidate] < lowest:
            continue
        members = order[start:end]
        centroid = centroid_of(X, members, np.ones(len(members), dtype=np.bool_))
        distances = squared_distances(X, waiting, centroid)
        for i in range(len(waiting)):
            if sizes[candidate] >= levels[waiting[i]] and distances[i] < nearest[i]:
                closest[i], nearest[i] = candidate, distances[i]
    group[waiting] = closest


@compiled()
def _bisect_large(
    X: NDArray[Any],
    levels: NDArray[Any],
    group: NDArray[Any],
    n_bisections: int,
    rng: np.random.Generator,
) -> None:
    """Bisect the groups that are at least twice as large as their highest level."""
    order = np.argsort(group, kind="mergesort")
    unsettled = [(0, len(order))][:0]
    end = 0
    while end < len(order):
        start, end = end, _end_of_run(group, order, end)
        unsettled.append((start, end))
    while unsettled:
        start, end = unsettled.pop()
        members = order[start:end].copy()
        highest = levels[members].max()
        if len(members) < 2 * highest:
            continue
        numbers = bisecting_k_gather(X[members], highest, n_bisections, rng)
        group[members] = members[_first_of_each(numbers)]
        in_parts = np.argsort(numbers, kind="mergesort")
        order[start:end] = members[in_parts]
        for at in range(1, len(members) + 1):
            if at == len(members) or numbers[in_parts[at]] != numbers[in_parts[at - 1]]:
                unsettled.append((start, int(end - len(members) + at)))
                start = end - len(members) + at


@compiled()
def _sse(X: NDArray[Any], rows: NDArray[Any], group: NDArray[Any]) -> float:
    """Return the sum of the squared distances of the rows to their groups' centroids."""
    order = np.argsort(group, kind="mergesort")
    total = 0.0
    end = 0
    while end < len(order):
        start, end = end, _end_of_run(group, order, end)
        members = rows[order[start:end]]
        centroid = centroid_of(X, members, np.ones(len(members), dtype=np.bool_))
        total += squared_distances(X, members, centroid).sum()
    return total
