"""The standard algorithms of microaggregation, MDAV, MHM and k-member, in quadratic time."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.clustering.base import Grouping, RandomState, lowest, squared_distances
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError


class KMember(Grouping):
    """Greedy k-member clustering: grow a group to k rows, then go as far away as possible.

    Byun, Kamra, Bertino & Li 2007, k being `min_size`. A random row is the seed of the first
    group. A group takes the row with which its loss of information grows least, until it has k;
    the next group's seed is the row farthest from this group's seed. Fewer than k rows are left
    over at the end: in random order, each joins the group whose loss it raises least.

    For numbers, the loss is the sum of squared distances to the group's centroid. A row x adds
    ``|g| / (|g| + 1) * |x - centroid|²`` to that of a group g: so a group grows by the row nearest
    to its centroid. Of equal rows the one with the lowest index is taken, of equal groups the one
    that was formed first.

    Descriptions of the algorithm differ on whether the first group begins with the random row or
    with the row farthest from it; here it is the random row.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. There are
    floor(n / k) groups of k, and even if all the n mod k < k rows left over join the same group, it
    has at most 2k - 1.

    Time is O(n²): a distance of every row that remains for each row placed. Memory is linear.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    random_state : int, RandomState, Generator or None
        Draws the first seed and the order of those left over. The same seed gives the same groups.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> KMember(min_size=2, random_state=0).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        labels, totals = _grow_groups(X, self.min_size, int(rng.integers(len(X))))
        left_over = rng.permutation(np.flatnonzero(labels < 0))
        _join_groups(X, left_over, labels, totals, self.min_size)
        return labels


@compiled()
def _grow_groups(X: NDArray[Any], k: int, first: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Form all groups of k; return the labels (-1: left over) and the sum of each group's rows."""
    labels = np.full(len(X), -1, dtype=np.int64)
    totals = np.zeros((len(X) // k, X.shape[1]))
    remaining = np.arange(len(X))
    seed = first
    for group in range(len(totals)):
        if group > 0:
            from_last = squared_distances(X, remaining, X[seed].astype(np.float64))
            seed = remaining[np.argmax(from_last)]
        labels[seed] = group
        totals[group] += X[seed]
        for size in range(1, k):
            distances = squared_distances(X, remaining, totals[group] / size)
            for i in range(len(remaining)):
                if labels[remaining[i]] >= 0:
                    distances[i] = np.inf
            nearest = remaining[np.argmin(distances)]
            labels[nearest] = group
            totals[group] += X[nearest]
        remaining = remaining[labels[remaining] < 0]
    return labels, totals


@compiled()
def _join_groups(
    X: NDArray[Any], rows: NDArray[Any], labels: NDArray[Any], totals: NDArray[Any], k: int
) -> None:
    """Let each row in turn join the group of k or more whose sum of squares it raises least."""
    sizes = np.full(len(totals), k)
    every_group = np.arange(len(totals))
    centroids = totals / k
    for row in rows:
        distances = squared_distances(centroids, every_group, X[row].astype(np.float64))
        group = np.argmin(distances * sizes / (sizes + 1))
        labels[row] = group
        centroids[group] += (X[row] - centroids[group]) / (sizes[group] + 1)
        sizes[group] += 1


class MDAV(Grouping):
    """Maximum distance to average vector: groups around the two ends of what remains.

    Domingo-Ferrer & Mateo-Sanz 2002; this is MDAV-generic of Domingo-Ferrer & Torra 2005, k being
    `min_size`. What is done with the n rows that remain:

    - n >= 3k: r is the row farthest from their centroid, s the row farthest from r. The k - 1 rows
      nearest to r form a group with it; then, of the others, the k - 1 nearest to s one with it.
    - 2k <= n < 3k: r and the k - 1 rows nearest to it are a group, the rest is another.
    - n < 2k: they are a group.

    Of equally far or near rows the one with the lowest index is taken. So that r's group cannot
    swallow s where rows tie, s is looked for among those that r's group left over; without such
    ties it is the same row.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. Groups
    around an end have k. Of 3k or more rows at least k remain, of 2k to 3k - 1 the rest is k to
    2k - 1.

    Time is O(n² / k): for each two groups, three distances of every row that remains. Memory is
    linear. So it suits tens of thousands of rows, and is the yardstick for whatever is faster.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    random_state : int, RandomState, Generator or None
        Not used, as nothing is drawn; here because every grouping takes one.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> MDAV(min_size=2).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    def _group(self, X: NDArray[np.float32], _rng: np.random.Generator) -> NDArray[Any]:
        return mdav_of_rows(X, self.min_size)


@compiled()
def mdav_of_rows(X: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the number of each row's group, 0, 1, ..., in the order in which MDAV forms them."""
    labels = np.full(len(X), -1, dtype=np.int64)
    remaining = np.arange(len(X))
    total = np.zeros(X.shape[1])
    for row in remaining:
        _add(total, X[row], 1)
    n_groups = 0
    while len(remaining) >= 2 * k:
        parts_both_ends = len(remaining) >= 3 * k
        centroid = total / len(remaining)
        end = remaining[np.argmax(squared_distances(X, remaining, centroid))]
        for _ in range(2 if parts_both_ends else 1):
            distances = squared_distances(X, remaining, X[end].astype(np.float64))
            distances[np.searchsorted(remaining, end)] = -1  # ahead of its duplicates
            for place in lowest(distances, k):
                labels[remaining[place]] = n_groups
                _add(total, X[remaining[place]], -1)
            n_groups += 1
            left = labels[remaining] < 0
            remaining, distances = remaining[left], distances[left]
            end = remaining[np.argmax(distances)]
    labels[remaining] = n_groups
    return labels


@compiled()
def _add(total: NDArray[Any], row: NDArray[Any], times: int) -> None:
    for j in range(len(total)):
        total[j] += times * row[j]


PathName = Literal["mdav", "nearest"]


class MHM(Grouping):
    """Multivariate Hansen-Mukherjee: order the rows along a path, then cut it optimally.

    Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz & Sebe 2006 (Chen 2012, section 2.3.2, cites it
    as the variable-size heuristic), k being `min_size`. A shortest path in the graph of all groups
    of k to 2k - 1 consecutive rows gives the cut with the lowest sum of squared distances to the
    groups' centroids (Hansen & Mukherjee 2003).

    The path begins at the row farthest from the centroid and goes on to the nearest row that is
    left. With "mdav", it leaves a group of MDAV only when no row of it is left (our reading of the
    paper's MDAV-MHM). Of equally far or near rows the one with the lowest index is taken.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows, because
    only such groups are in the graph. No cut of the same path has a lower SSE. So the SSE is at
    most MDAV's with "mdav", whose groups are a cut of the path. With one column and "nearest", the
    path is the sorted order, and the groups are the optimum of all groupings.

    Time is O(n²), for the path; memory is linear.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    path : {"mdav", "nearest"}, default "mdav"
        Group by group of MDAV, or always to the nearest row (the paper's NPN-MHM).
    random_state : int, RandomState, Generator or None
        Not used, as nothing is drawn; here because every grouping takes one.

    Examples
    --------
    MDAV cuts three rows from each end; the natural groups have four and five.

    >>> X = [[0.0], [1.0], [2.0], [3.0], [9.0], [10.0], [11.0], [12.0], [13.0]]
    >>> MHM(min_size=3).fit(X).labels_
    array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    """

    def __init__(
        self, min_size: int = 5, path: PathName = "mdav", random_state: RandomState = None
    ) -> None:
        self.min_size = min_size
        self.path = path
        self.random_state = random_state

    def _group(self, X: NDArray[np.float32], _rng: np.random.Generator) -> NDArray[Any]:
        if self.path not in get_args(PathName):
            raise RecveilError(
                f"path {self.path!r}: expected 'mdav' or 'nearest'", code="argument.value"
            )
        k = self.min_size
        groups = mdav_of_rows(X, k) if self.path == "mdav" else np.zeros(len(X), dtype=np.int64)
        return _cut_path(X, _path(X, groups), k)


@compiled()
def _path(X: NDArray[Any], groups: NDArray[Any]) -> NDArray[Any]:
    """Order the rows, each followed by the nearest that is left of its group, or else of all."""
    order = np.empty(len(X), dtype=np.int64)
    remaining = np.arange(len(X))
    total = np.zeros(X.shape[1])
    for row in remaining:
        _add(total, X[row], 1)
    row = np.argmax(squared_distances(X, remaining, total / len(X)))
    for place in range(len(X)):
        order[place] = row
        remaining = remaining[remaining != row]
        if len(remaining) == 0:
            break
        candidates = remaining[groups[remaining] == groups[row]]
        if len(candidates) == 0:
            candidates = remaining
        distances = squared_distances(X, candidates, X[row].astype(np.float64))
        row = candidates[np.argmin(distances)]
    return order


@compiled()
def _cut_path(X: NDArray[Any], order: NDArray[Any], k: int) -> NDArray[Any]:
    """Label groups of k to 2k - 1 consecutive rows of the order so that their SSE is lowest."""
    n = len(order)
    costs = np.full(n + 1, np.inf)  # of the first rows of the order
    costs[0] = 0
    last_size = np.zeros(n + 1, dtype=np.int64)
    for end in range(k, n + 1):
        mean, errors = np.zeros(X.shape[1]), 0.0
        for size in range(1, min(2 * k, end + 1)):
            row = order[end - size]
            for j in range(X.shape[1]):
                step = X[row, j] - mean[j]
                mean[j] += step / size
                errors += step * (X[row, j] - mean[j])
            if size >= k and costs[end - size] + errors < costs[end]:
                costs[end], last_size[end] = costs[end - size] + errors, size
    labels = np.empty(n, dtype=np.int64)
    while n > 0:
        start = n - last_size[n]
        labels[order[start:n]] = n
        n = start
    return labels
