"""Measures of a grouping: distances within groups, and group sizes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from recveil.clustering.base import squared_distances
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count


class GroupSizes(NamedTuple):
    """How large groups are.

    Attributes
    ----------
    smallest, largest : int
        Numbers of rows.
    mean : float
        Rows a group.
    counts : dict of int to int
        How many groups there are of each size, in ascending order of the size.
    """

    smallest: int
    largest: int
    mean: float
    counts: dict[int, int]


def armse(X: ArrayLike, labels: ArrayLike) -> float:
    """Return the mean over groups of the RMS distance of the members to their centroid.

    Source: Chen 2012 (thesis), section 4.2.1. Every group counts the same, whatever its size.

    Parameters
    ----------
    X : array-like of float, shape (n, d)
    labels : array-like, shape (n,)
        The group of each row: numbers or anything else that can be sorted.

    Returns
    -------
    float
        In the unit of X; 0 if all members of each group are equal. Summed in float64.

    Raises
    ------
    RecveilError
        If there is not one label a row.
    ValueError
        If X is not a finite matrix of numbers.

    Examples
    --------
    The first group has the centroid 1 and an RMS distance of 1, the second has 0.

    >>> armse([[0.0], [2.0], [9.0], [9.0]], [0, 0, 1, 1])
    0.5
    """
    errors, sizes = _squared_errors(X, labels)
    return float(np.sqrt(errors / sizes).mean())


def sse(X: ArrayLike, labels: ArrayLike) -> float:
    """Return the sum of the squared distances of all rows to their group's centroid.

    Parameters
    ----------
    X : array-like of float, shape (n, d)
    labels : array-like, shape (n,)
        The group of each row: numbers or anything else that can be sorted.

    Returns
    -------
    float
        In the squared unit of X. Summed in float64.

    Raises
    ------
    RecveilError
        If there is not one label a row.
    ValueError
        If X is not a finite matrix of numbers.

    Examples
    --------
    >>> sse([[0.0], [2.0], [9.0], [9.0]], [0, 0, 1, 1])
    2.0
    """
    errors, _ = _squared_errors(X, labels)
    return float(errors.sum())


def sse_ratio(X: ArrayLike, labels: ArrayLike) -> float:
    """Return SSE / SST, the share of the sum of squares that is within groups.

    This is what microaggregation calls the loss of information. SST is the SSE of all rows as one
    group.

    Parameters
    ----------
    X : array-like of float, shape (n, d)
    labels : array-like, shape (n,)
        The group of each row: numbers or anything else that can be sorted.

    Returns
    -------
    float
        0 if the members of each group are equal, also if all rows are; 1 if all centroids are.

    Raises
    ------
    RecveilError
        If there is not one label a row.
    ValueError
        If X is not a finite matrix of numbers.

    Examples
    --------
    All four have the centroid 5, so that SST is 25 + 9 + 16 + 16 = 66.

    >>> sse_ratio([[0.0], [2.0], [9.0], [9.0]], [0, 0, 1, 1]) == 2 / 66
    True
    """
    within = sse(X, labels)
    total = sse(X, np.zeros(len(np.asarray(labels)), dtype=np.int64))
    # Rounding may leave a little more within the groups than there is in all.
    return min(within / total, 1.0) if total > 0 else 0.0


def maximum_radius(X: ArrayLike, labels: ArrayLike) -> float:
    """Return the largest radius of a group, the objective of k-gather.

    Source: Chen 2012 (thesis), section 5.1, Definition 1, after Aggarwal et al. 2006. The radius is
    the distance of the farthest member from the center, which is the row of X that makes it
    smallest; it need not be a member.

    Parameters
    ----------
    X : array-like of float, shape (n, d)
    labels : array-like, shape (n,)
        The group of each row: numbers or anything else that can be sorted.

    Returns
    -------
    float
        In the unit of X; 0 if all members of each group are equal. Takes O(n²) time.

    Raises
    ------
    RecveilError
        If there is not one label a row.
    ValueError
        If X is not a finite matrix of numbers.

    Examples
    --------
    The first group has the center 2 and the radius 2, the second has 0.

    >>> maximum_radius([[0.0], [2.0], [4.0], [9.0], [9.0]], [0, 0, 0, 1, 1])
    2.0
    """
    rows, groups = _checked(X, labels)
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return float(np.sqrt(_squared_radii(rows, group, len(sizes)).max()))


def group_sizes(labels: ArrayLike) -> GroupSizes:
    """Return the smallest, largest and mean size of the groups, and how many have each size.

    Parameters
    ----------
    labels : array-like, shape (n,)
        The group of each row: numbers or anything else that can be sorted.

    Raises
    ------
    RecveilError
        If there is no label, or if labels are not one-dimensional.

    Examples
    --------
    >>> group_sizes([0, 0, 1, 1, 2, 2, 2])
    GroupSizes(smallest=2, largest=3, mean=2.3333333333333335, counts={2: 2, 3: 1})
    """
    groups = np.asarray(labels)
    if groups.ndim != 1 or groups.size == 0:
        raise RecveilError(
            f"labels: expected one for each row, at least one, got shape {groups.shape}",
            code="argument.shape",
        )
    sizes = np.unique(groups, return_counts=True)[1]
    size, count = np.unique(sizes, return_counts=True)
    counts = dict(zip(size.tolist(), count.tolist(), strict=True))
    return GroupSizes(int(size[0]), int(size[-1]), groups.size / sizes.size, counts)


def _checked(X: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows and their labels, one for each."""
    rows: NDArray[Any] = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    groups = np.asarray(labels)
    if groups.shape != (len(rows),):
        raise RecveilError(
            f"labels: expected one for each of the "
            f"{describe_count(len(rows), 'row')} of X, got an array of shape {groups.shape}",
            code="argument.shape",
        )
    return rows, groups


def _squared_errors(
    X: ArrayLike, labels: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return each group's sum of squared distances to its centroid, and its size."""
    rows, groups = _checked(X, labels)
    _, first, group, sizes = np.unique(
        groups, return_index=True, return_inverse=True, return_counts=True
    )
    return _sum_squared_errors(rows, group, first, sizes), sizes


@compiled()
def _sum_squared_errors(
    X: NDArray[Any], group: NDArray[Any], first: NDArray[Any], sizes: NDArray[Any]
) -> NDArray[Any]:
    """Add up per group; everything is measured from its first row, so that equal rows give 0."""
    offset = np.zeros((len(sizes), X.shape[1]))  # of the centroid from the first row
    for i in range(len(X)):
        g = group[i]
        for j in range(X.shape[1]):
            offset[g, j] += (np.float64(X[i, j]) - X[first[g], j]) / sizes[g]
    errors = np.zeros(len(sizes))
    for i in range(len(X)):
        g = group[i]
        for j in range(X.shape[1]):
            errors[g] += (np.float64(X[i, j]) - X[first[g], j] - offset[g, j]) ** 2
    return errors


@compiled()
def _squared_radii(X: NDArray[Any], group: NDArray[Any], n_groups: int) -> NDArray[Any]:
    """Return each group's squared distance of the farthest member from the best row of all."""
    radii = np.full(n_groups, np.inf)
    every_row = np.arange(len(X))
    for center in range(len(X)):
        farthest = np.zeros(n_groups)
        distances = squared_distances(X, every_row, X[center].astype(np.float64))
        for i in range(len(X)):
            farthest[group[i]] = max(farthest[group[i]], distances[i])
        radii = np.minimum(radii, farthest)
    return radii
