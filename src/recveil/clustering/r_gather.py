"""r-gather: groups whose largest radius is at most twice the smallest that is possible."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from recveil.clustering.base import Grouping, squared_distances
from recveil.clustering.microaggregation import mdav_of_rows
from recveil.runtime.errors import RecveilError, describe_count

# A search takes some thirty tries of up to n / k passes over all rows: minutes at this number.
MOST_ROWS = 20_000


class RGather(Grouping):
    """r-gather: a largest radius of at most twice the optimum, found by threshold and flow.

    Aggarwal, Feder, Kenthapadi, Khuller, Panigrahy, Thomas & Zhu 2006, "Achieving anonymity via
    clustering", r being `min_size`; the approximation algorithm of future work 8.2 of Chen 2012.
    A try with a distance D has two steps:

    - *Centres*: of the rows that are not marked, the one with the lowest index is a centre and
      marks all rows within D of it, until all are marked.
    - *Flow*: every centre needs r rows within D of it, and no row serves two centres. A maximum
      flow finds such rows or shows that there are none. All others join the nearest centre.

    The smallest D that works is searched by bisection.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows, and lies
    within D of a row, where D is at most twice the largest radius R of any grouping with at least
    `min_size` rows a group (`maximum_radius`; even if centres may be any points). D = 2R works:
    centres are more than 2R apart, so each is in another group of the best grouping, whose rows
    are within 2R of it. So a distance that fails is below 2R, and the bisection ends with the next
    one above such a distance.

    Aggarwal et al. allow groups of any size. Here, groups of 2r rows or more are cut by MDAV, which
    keeps them within D of the same row. The largest radius depends on the outliers, so the mean
    radius (`armse`) is often larger than that of other groupings.

    Time is O(n² / k) for each of about thirty tries, and that of the flows; at most 20,000 rows are
    taken.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    random_state : int, RandomState, Generator or None
        Not used, as nothing is drawn; here because every grouping takes one.

    Examples
    --------
    Within 1 of the first row are the first three. The fourth is the second centre, and needs the
    third row.

    >>> RGather(min_size=2).fit([[1.0], [0.0], [2.0], [3.0]]).labels_
    array([0, 0, 1, 1])
    """

    def _group(self, X: NDArray[np.float32], _rng: np.random.Generator) -> NDArray[Any]:
        if len(X) > MOST_ROWS:
            raise RecveilError(
                f"{describe_count(len(X), 'row')} are too many for r-gather; expected "
                f"{MOST_ROWS:,} at most; take another grouping, such as k-gather",
                code="table.too-large",
            )
        k = self.min_size
        groups = _gather(X, k)
        labels = np.empty_like(groups)
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            labels[rows] = rows[0] * len(X) + mdav_of_rows(X[rows], k)
        return labels


def _gather(X: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return groups of at least k rows at the smallest distance that works."""
    # Bits of numbers from 0 on have the numbers' order, so their middle is between the numbers.
    farthest = _distances_from(X, 0).max()
    fails, works = -1, int(farthest.view(np.int32))
    groups = np.zeros(len(X), dtype=np.int64)
    while works - fails > 1:
        middle = (fails + works) // 2
        found = _gather_within(X, k, np.int32(middle).view(np.float32))
        if found is None:
            fails = middle
        else:
            groups, works = found, middle
    return groups


def _gather_within(X: NDArray[np.float32], k: int, reach: np.float32) -> NDArray[np.int64] | None:
    """Return groups within a squared distance of their centres, if every centre gets k rows."""
    near: list[NDArray[np.int64]] = []
    labels, nearest = np.zeros(len(X), dtype=np.int64), np.full(len(X), np.inf)
    while (nearest > reach).any():
        distances = _distances_from(X, int(np.argmax(nearest > reach)))
        inside = np.flatnonzero(distances <= reach)
        if inside.size < k or len(near) == len(X) // k:
            return None
        closer = distances < nearest
        labels[closer], nearest[closer] = len(near), distances[closer]
        near.append(inside)
    served = _serve(near, k, len(X))
    if served is None:
        return None
    centers, rows = served
    labels[rows] = centers
    return labels


def _serve(
    near: list[NDArray[np.int64]], k: int, n_rows: int
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return pairs of a centre and a row near it, k for each centre and at most one a row."""
    n_centers, rows = len(near), np.concatenate(near)
    centers = np.repeat(np.arange(n_centers), [inside.size for inside in near])
    source, sink = n_centers + n_rows, n_centers + n_rows + 1
    starts = np.concatenate([np.full(n_centers, source), centers, n_centers + np.arange(n_rows)])
    ends = np.concatenate([np.arange(n_centers), n_centers + rows, np.full(n_rows, sink)])
    capacities = np.ones(starts.size, dtype=np.int32)
    capacities[:n_centers] = k
    graph = csr_array((capacities, (starts, ends)), shape=(sink + 1, sink + 1))
    result = maximum_flow(graph, source, sink)
    if result.flow_value < k * n_centers:
        return None
    flow = result.flow[:n_centers, n_centers:source].tocoo()
    return flow.row[flow.data > 0], flow.col[flow.data > 0]


def _distances_from(X: NDArray[np.float32], row: int) -> NDArray[np.float32]:
    """Return the squared distances of all rows from one."""
    distances: NDArray[Any] = squared_distances(X, np.arange(len(X)), X[row].astype(np.float64))
    return distances.astype(np.float32)
