"""The standard algorithms of microaggregation, MDAV and k-member, in quadratic time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.clustering.base import Grouping, lowest, squared_distances
from recveil.runtime.compiled import compiled


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
        return _mdav(X, self.min_size)


@compiled()
def _mdav(X: NDArray[Any], k: int) -> NDArray[Any]:
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
