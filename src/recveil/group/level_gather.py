"""Level gather: bisecting k-gather in which every row has a k of its own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.compiled import compiled
from recveil.group.bisection import (
    bisecting_k_gather,
    centroid_of,
    random_bisections,
    sse_between,
)
from recveil.group.clusterer import RandomState, at_least
from recveil.group.distances import squared_distances
from recveil.group.level_grouping import LevelGrouping

# A part of the rows is gathered level by level once it is below this many times its highest level.
# Above, the groups at its edges, which are all that a cut can spoil, hardly count.
_SMALL = 64
# Data without extremes are cut to the end long before. It bounds the recursion for the others.
_MOST_CUTS = 64


class LevelGather(LevelGrouping):
    """Gather rows, each of which says how large its group must be at least.

    Customized k-anonymity with any levels, which the thesis leaves as future work (Chen 2012,
    section 8.4). Some rows, with the highest level L among them, can be gathered in two ways:

    - *Level by level*: from the highest to the lowest, the rows of a level l are grouped by
      bisecting k-gather with k = l. If there are fewer than l, the rows of lower levels that are
      closest to their centroid fill the group up to l. If there are too few of those, each row
      joins the closest of the groups that are large enough for it. Rows of level 1 stand alone,
      unless they were needed to fill a group.
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

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row.
    n_groups_ : int
        How many groups there are.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [5.0], [9.5], [8.8]]
    >>> LevelGather(random_state=0).fit(X, levels=[2, 3, 1, 3, 1, 2, 1]).labels_
    array([0, 1, 0, 1, 2, 1, 3])
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
    """Say whether a random bisection leaves each side enough rows, and mark the best's left."""
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
    everyone = np.ones(len(members), dtype=np.bool_)
    distances = squared_distances(X, candidates, centroid_of(X, members, everyone))
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
