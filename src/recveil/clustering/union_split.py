"""Union-split clustering: unite small clusters, then split large ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.clustering.base import Grouping, squared_distances
from recveil.runtime.compiled import compiled

# Most rounds of each 2-means. Few rows settle in fewer.
_ROUNDS = 10


class UnionSplit(Grouping):
    """Union-split clustering: unite what is near until all have k, then split what has 2k or more.

    After Thompson & Yao, "The union-split algorithm and cluster-based anonymization of social
    networks" (ASIACCS 2009), k being `min_size`. They describe it for nodes of a graph; this is
    recveil's reading for rows of numbers:

    - *Union*: every row begins as a cluster of its own. As long as a cluster has fewer than k
      rows, the closest two clusters of which at least one is that small are united. Two clusters
      are as far apart as their centroids. Of equally close ones, those with the lowest first rows
      are united.
    - *Split*: a cluster of 2k or more rows is parted by 2-means with at least k rows on each side,
      and so are its parts. The first centre is the row farthest from the centroid, the second the
      row farthest from the first. Of all placings that keep the bound, each round takes the one
      with the lowest sum of squared distances to the centres, then moves the centres to the means;
      it ends when the sides no longer change, or after ten rounds.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. A union
    leaves one cluster fewer, and a small one always finds another to join, as there are k rows or
    more: so the union ends with k in each. A split leaves at least k on either side and only ends
    below 2k.

    Time is O(n²) on common data, as a union compares the new cluster with all others; O(n³) at
    worst, if every union makes all clusters look for their nearest again. Memory is linear. A few
    thousand rows take about a second.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    random_state : int, RandomState, Generator or None
        Not used, as nothing is drawn; here because every grouping takes one.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> UnionSplit(min_size=2).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    def _group(self, X: NDArray[np.float32], _rng: np.random.Generator) -> NDArray[Any]:
        labels = _unite(X, self.min_size)
        by_cluster = np.argsort(labels, kind="stable")
        unfinished = np.split(by_cluster, np.flatnonzero(np.diff(labels[by_cluster])) + 1)
        while unfinished:
            rows = unfinished.pop()
            labels[rows] = rows[0]  # no other group has this row
            if len(rows) >= 2 * self.min_size:
                side = _split(X, rows, self.min_size, _ROUNDS)
                unfinished += [rows[side], rows[~side]]
        return labels


@compiled()
def _unite(X: NDArray[Any], k: int) -> NDArray[Any]:
    """Unite clusters until each has k rows; return for each row the lowest row of its cluster."""
    labels = np.arange(len(X))  # a cluster's number is its lowest row; its rows lead there
    sizes = np.ones(len(X), dtype=np.int64)
    centroids = X.astype(np.float64)
    clusters = np.arange(len(X))
    # To each small cluster its nearest and how far that is; -1: unknown, but no nearer than this.
    nearest = np.full(len(X), -1)
    distance = np.zeros(len(X))
    while True:
        small = _closest_small(clusters, sizes, k, distance)
        if small < 0:
            break
        if nearest[small] < 0:
            _find_nearest(centroids, clusters, small, nearest, distance)
            continue
        kept, gone = min(small, nearest[small]), max(small, nearest[small])
        labels[gone] = kept
        total = sizes[kept] * centroids[kept] + sizes[gone] * centroids[gone]
        sizes[kept] += sizes[gone]
        centroids[kept] = total / sizes[kept]
        clusters = clusters[clusters != gone]
        _renew_nearest(centroids, clusters, kept, gone, nearest, distance)
    for row in range(len(X)):  # upwards, so that the row it leads to has its final label already
        labels[row] = labels[labels[row]]
    return labels


@compiled()
def _closest_small(
    clusters: NDArray[Any], sizes: NDArray[Any], k: int, distance: NDArray[Any]
) -> int:
    """Return the cluster of fewer than k rows that is nearest to another; -1 if there is none."""
    closest = -1
    for cluster in clusters:
        if sizes[cluster] < k and (closest < 0 or distance[cluster] < distance[closest]):
            closest = cluster
    return closest


@compiled()
def _find_nearest(
    centroids: NDArray[Any],
    clusters: NDArray[Any],
    cluster: int,
    nearest: NDArray[Any],
    distance: NDArray[Any],
) -> None:
    """Note the cluster's nearest; of equally near ones, the one with the lowest number."""
    distances = squared_distances(centroids, clusters, centroids[cluster])
    distances[np.searchsorted(clusters, cluster)] = np.inf
    at = np.argmin(distances)
    nearest[cluster], distance[cluster] = clusters[at], distances[at]


@compiled()
def _renew_nearest(
    centroids: NDArray[Any],
    clusters: NDArray[Any],
    kept: int,
    gone: int,
    nearest: NDArray[Any],
    distance: NDArray[Any],
) -> None:
    """Update all nearest clusters after the union of two clusters, kept < gone."""
    distances = squared_distances(centroids, clusters, centroids[kept])
    for i in range(len(clusters)):
        cluster = clusters[i]
        had_either = nearest[cluster] == kept or nearest[cluster] == gone
        ties = distances[i] == distance[cluster] and (had_either or kept < nearest[cluster])
        if distances[i] < distance[cluster] or ties:
            nearest[cluster], distance[cluster] = kept, distances[i]
        elif had_either:
            nearest[cluster] = -1
    nearest[kept], distance[kept] = -1, 0.0


@compiled()
def _split(X: NDArray[Any], rows: NDArray[Any], k: int, n_rounds: int) -> NDArray[Any]:
    """Mark one side of the rows' 2-means, such that both sides have at least k."""
    # The placing of a round is the best one within the bound: putting a row on one side instead of
    # the other costs the difference of its squared distances to the two centres, so those with the
    # lowest difference go to the first side, as many as gain by it, but k to len(rows) - k.
    n = len(rows)
    side = np.ones(n, dtype=np.bool_)
    centre = _mean(X, rows, side)
    for _ in range(2):  # the row farthest from the centroid, then the row farthest from that
        farthest = rows[np.argmax(squared_distances(X, rows, centre))]
        other, centre = centre, X[farthest].astype(np.float64)
    for _ in range(n_rounds):
        cost = squared_distances(X, rows, other) - squared_distances(X, rows, centre)
        size = min(max((cost <= 0).sum(), k), n - k)
        previous, side = side, np.zeros(n, dtype=np.bool_)
        side[np.argsort(cost, kind="mergesort")[:size]] = True
        if (side == previous).all():
            break
        other, centre = _mean(X, rows, side), _mean(X, rows, ~side)
    return side


@compiled()
def _mean(X: NDArray[Any], rows: NDArray[Any], side: NDArray[Any]) -> NDArray[Any]:
    total = np.zeros(X.shape[1])
    for row in rows[side]:
        total += X[row]
    return total / side.sum()
