"""The base class of all groupings, kernels that several of them use, and measures of a grouping."""

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import BriefParameters
from recveil.runtime.threads import one_thread

RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
GroupRows: TypeAlias = Callable[[NDArray[np.float32], np.random.Generator], NDArray[Any]]


class Grouping(BriefParameters, ClusterMixin, BaseEstimator):
    """A scikit-learn clusterer whose groups all have at least `min_size` members.

    Subclasses store their parameters and implement `_group`.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row. Groups are numbered 0, 1, ... in order of their lowest member.
    n_groups_ : int
        How many groups there are.
    """

    labels_: NDArray[np.int64]
    n_groups_: int

    def __init__(self, min_size: int = 5, random_state: RandomState = None) -> None:
        self.min_size = min_size
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Group the rows of X.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            One row a user. Distances between rows are Euclidean, so columns should share a unit.
        y : None
            Ignored; here because scikit-learn's pipelines pass it.

        Returns
        -------
        self
            With `labels_` and `n_groups_`; every group has at least `min_size` members.

        Raises
        ------
        RecveilError
            If a parameter makes no sense, or X has fewer than `min_size` rows.
        ValueError
            If X is not a finite matrix of numbers.
        """
        rows = self._checked_rows(X)
        if len(rows) < self.min_size:
            raise RecveilError(
                f"{describe_count(len(rows), 'row')} "
                f"cannot form a group of at least {self.min_size} "
                f"(n_samples={len(rows)}); lower min_size (k), or add users",
                code="table.too-few-users",
            )
        return self._fit_rows(rows, self._group)

    @abstractmethod
    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Return any distinct numbers for the groups of at least `min_size` rows."""

    def _checked_rows(self, X: ArrayLike) -> NDArray[Any]:
        """Return X as a matrix of finite numbers, once `min_size` makes sense too."""
        rows: NDArray[Any] = validate_data(self, X, dtype=[np.float64, np.float32])
        at_least("min_size", self.min_size, 1)
        return rows

    def _fit_rows(self, rows: NDArray[Any], group: GroupRows) -> Self:
        """Let a function group the rows, made fit for float32, and learn its labels."""
        state: Any = self.random_state
        if isinstance(state, np.random.RandomState):
            state = state.randint(2**32, size=4, dtype=np.uint32)
        rng = np.random.default_rng(state)
        # A product split over threads may round differently, and one bit can move a row into
        # another group: with one thread the labels depend on the data and the seed alone.
        with one_thread():
            labels = group(_fit_for_float32(rows), rng)
        self.labels_ = number_by_lowest_member(labels)
        self.n_groups_ = int(self.labels_.max()) + 1
        return self


def at_least(name: str, value: object, lowest: int) -> None:
    """Raise a RecveilError unless the parameter is a whole number and not below the lowest."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
        raise RecveilError(
            f"{name}: expected a whole number, {lowest} or more, got {value!r}",
            code="argument.value",
        )


def _fit_for_float32(X: NDArray[Any]) -> NDArray[np.float32]:
    """Scale X to at most 1, then move its mean to 0: squares neither overflow nor cancel."""
    largest = np.abs(X).max()
    scaled = X / (largest if largest > 0 else 1)
    scaled -= scaled.mean(axis=0, dtype=np.float64)
    return np.ascontiguousarray(scaled, dtype=np.float32)


def number_by_lowest_member(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Renumber groups 0, 1, ... in order of their first row: [7, 3, 7] becomes [0, 1, 0]."""
    _, lowest, group = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(lowest.size, dtype=np.int64)
    number[np.argsort(lowest)] = np.arange(lowest.size)
    return number[group]


# A sum of squares may be added up in any order, the same for every row: this lets the compiler use
# vector instructions.
@compiled(fastmath={"reassoc", "contract"})
def squared_distances(X: NDArray[Any], rows: NDArray[Any], point: NDArray[Any]) -> NDArray[Any]:
    """Return the squared Euclidean distances of some rows of X from a point, summed in float64.

    Equal rows have equal distances, to the bit.

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
    """Return the places of the k lowest of n values, ascending; of equal ones, the first.

    Precondition: 1 <= k <= n.

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
