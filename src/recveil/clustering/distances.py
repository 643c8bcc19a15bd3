"""Kernels for distances from a point, and for the lowest values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.runtime.compiled import compiled


# A sum of squares may be added up in any order, the same for every row: this lets the compiler use
# vector instructions.
@compiled(fastmath={"reassoc", "contract"})
def squared_distances(X: NDArray[Any], rows: NDArray[Any], point: NDArray[Any]) -> NDArray[Any]:
    """Return the squared Euclidean distances of some rows of X from a point.

    Parameters
    ----------
    X : ndarray of float, shape (n, d)
    rows : ndarray of int64, shape (m,)
    point : ndarray of float, shape (d,)

    Returns
    -------
    ndarray of float64, shape (m,)
        Summed in float64, whatever the type of X. Equal rows have equal distances, to the bit.

    Examples
    --------
    >>> X = np.array([[0, 0], [3, 4], [6, 8]], dtype=np.float32)
    >>> squared_distances(X, np.array([1, 2]), np.zeros(2))
    array([ 25., 100.])
    """
    distances = np.empty(len(rows))
    for i in range(len(rows)):
        row = rows[i]
        distance = 0.0
        for j in range(len(point)):
            difference = np.float64(X[row, j]) - point[j]
            # Not ** 2: numba compiles a power once a process, with the options of whichever kernel
            # came first, and so the last bit would depend on what ran before.
            distance += difference * difference
        distances[i] = distance
    return distances


@compiled()
def lowest(values: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the places of the k lowest values; of equal ones, those that come first.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
    k : int
        Precondition: 1 <= k <= n.

    Returns
    -------
    ndarray of int64, shape (k,)
        In ascending order of the values.

    Examples
    --------
    >>> lowest(np.array([2.0, 1.0, 2.0, 0.0]), 3)
    array([3, 1, 0])
    """
    places = np.empty(k, dtype=np.int64)  # an insertion sort that forgets all beyond k
    for i in range(len(values)):
        if i >= k and values[i] >= values[places[k - 1]]:
            continue
        at = min(i, k - 1)
        while at > 0 and values[places[at - 1]] > values[i]:
            places[at] = places[at - 1]
            at -= 1
        places[at] = i
    return places
