"""MDAV, the standard algorithm of microaggregation, in quadratic time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.clustering.base import Grouping, RandomState
from recveil.clustering.distances import lowest, squared_distances
from recveil.runtime.compiled import compiled


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

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row.
    n_groups_ : int
        How many groups there are.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> MDAV(min_size=2).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    def __init__(self, min_size: int = 5, random_state: RandomState = None) -> None:
        self.min_size = min_size
        self.random_state = random_state

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
