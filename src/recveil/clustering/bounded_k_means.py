"""Bounded t-means, and predictive grouping, which applies it in bins of large tables."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.clustering.base import (
    Grouping,
    GroupRows,
    RandomState,
    at_least,
    number_by_lowest_member,
)
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief

Distance = Literal["euclidean", "weighted-squared"]
Centers = Literal["virtual", "users"]
Assignment = Literal["rounds", "pairwise"]
# Returns the number of each row's nearest centre, and the distance to it.
Nearest: TypeAlias = Callable[
    [NDArray[np.float32], NDArray[np.float32]], tuple[NDArray[np.int64], NDArray[Any]]
]


def nearest_centre(
    X: NDArray[np.float32], centres: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return each row's nearest centre, the first of equal ones, and the squared distance."""
    nearest = np.empty(len(X), dtype=np.int64)
    distance = np.einsum("ij,ij->i", X, X)
    half_square = np.einsum("ij,ij->i", centres, centres) / 2
    step = max(64, 2**19 // len(centres))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        # |x - c|² = |x|² - 2 (x·c - |c|²/2), so the nearest centre has the largest closeness.
        closeness = X[rows] @ centres.T
        closeness -= half_square
        nearest[rows] = closeness.argmax(axis=1)
        distance[rows] -= 2 * np.take_along_axis(closeness, nearest[rows, np.newaxis], 1)[:, 0]
    return nearest, distance


def nearest_weighted_squared(
    X: NDArray[np.float32], centres: NDArray[np.float32], value_range: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each row's nearest centre by Chang et al.'s similarity, and the distance to it.

    Their "similarity" is 0 for equal rows and 1 for opposite ones: ``1 - mean((1 - d)²)`` with d
    the difference as a share of the range (section 4.2).
    """
    nearest, distance = np.empty(len(X), np.int64), np.empty(len(X))
    _find_nearest_weighted(X, centres, 1 / value_range, nearest, distance)
    return nearest, distance


@compiled(fastmath={"reassoc", "contract"})
def _find_nearest_weighted(
    X: NDArray[Any],
    centres: NDArray[Any],
    per_unit: float,
    nearest: NDArray[Any],
    distance: NDArray[Any],
) -> None:
    for row in range(X.shape[0]):
        distance[row] = np.inf
        for centre in range(centres.shape[0]):
            alike = 0.0
            for column in range(X.shape[1]):
                share = 1 - abs(np.float64(X[row, column]) - centres[centre, column]) * per_unit
                alike += share * share
            found = 1 - alike / X.shape[1]
            if found < distance[row]:
                nearest[row], distance[row] = centre, found


def _nearest_members(
    X: NDArray[np.float32],
    labels: NDArray[np.int64],
    centres: NDArray[np.float32],
    nearest: Nearest,
) -> NDArray[np.float32]:
    """Return for each cluster its row that is nearest to the centre; of equal ones the first."""
    found = np.empty_like(centres)
    for cluster, centre in enumerate(centres):
        members = X[labels == cluster]
        found[cluster] = members[nearest(members, centre[np.newaxis])[1].argmin()]
    return found


def _total_distance(
    X: NDArray[np.float32],
    cluster_of: NDArray[np.int64],
    centres: NDArray[np.float32],
    nearest: Nearest,
) -> float:
    """Add up the distances of all rows to the centres of their clusters."""
    return float(
        sum(
            nearest(X[cluster_of == cluster], centre[np.newaxis])[1].sum()
            for cluster, centre in enumerate(centres)
        )
    )


class Steps(NamedTuple):
    """How t-means measures distances, places centres and assigns rows."""

    nearest: Nearest = nearest_centre
    has_users_as_centres: bool = False
    is_pairwise: bool = False


class _TMeansGrouping(Grouping):
    """The base class of groupings by bounded t-means, with the parameters that they share."""

    distance: Distance
    value_range: float | None
    centers: Centers
    assignment: Assignment
    steps_ = Steps()

    def _fit_rows(self, rows: NDArray[Any], group: GroupRows) -> Self:
        for name, allowed in (
            ("distance", Distance),
            ("centers", Centers),
            ("assignment", Assignment),
        ):
            if getattr(self, name) not in get_args(allowed):
                raise RecveilError(
                    f"{name} is {getattr(self, name)!r}; expected one of "
                    f"{', '.join(get_args(allowed))}",
                    code="argument.value",
                )
        nearest: Nearest = nearest_centre
        if self.distance == "weighted-squared":
            widest = float(np.ptp(rows)) if self.value_range is None else self.value_range
            if not widest >= 0:
                raise RecveilError(
                    f"value_range: expected a number, 0 or more, got {widest!r}",
                    code="argument.value",
                )
            # The rows that `_group` gets are divided by the largest number.
            unit = (widest / (np.abs(rows).max() or 1)) or 1.0
            nearest = partial(nearest_weighted_squared, value_range=float(unit))
        self.steps_ = Steps(nearest, self.centers == "users", self.assignment == "pairwise")
        return super()._fit_rows(rows, group)


class BoundedTMeans(_TMeansGrouping):
    """Bounded t-means: t clusters around virtual centres, each with a lower bound.

    After Thompson & Yao as used by Chang et al., "Predictive Anonymization", section 4.2. The
    centres start at t distinct random rows. Each round of the algorithm places the rows
    (`bounded_assignment`) and moves each centre to the mean of its members; the placement with
    the lowest sum of squared distances to the means is kept (for "weighted-squared", of these
    distances to the centres).

    *Guarantee*: every group has at least `min_size` rows, because no centre is left before
    `min_size` rows are placed at it, and t * `min_size` <= n rows suffice for that. With the
    default number of clusters, a group has at most `min_size` + n mod `min_size` rows, thus
    fewer than 2 * `min_size`: no more than the n mod `min_size` rows are left for the second
    pass.

    Time is n * t distances for each iteration, n² / `min_size` by default; the rounds of the first
    pass add some percent, or twice as much if the data have heavy tails. So it is meant for
    samples and bins, not for all users of a large table. Memory is linear. Like every t-means, it
    finds a local optimum.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    n_clusters : int, optional
        The number t of groups; floor(n / min_size) if not given.
    max_iter : int, default 10
        Most iterations; fewer if the groups no longer change.
    random_state : int, RandomState, Generator or None
        Draws the first centres. The same seed gives the same groups.
    distance : {"euclidean", "weighted-squared"}
        Distance between rows: the latter is the similarity of Chang et al., section 4.2, whose rows
        are users' padded rows; see `recveil.evaluation.weighted_squared`.
    value_range : float, optional
        For "weighted-squared", MaxDiff: the range of possible values; that of X if not given.
    centers : {"virtual", "users"}
        Centre of a cluster: the mean of its rows, or the row nearest to it (ibid., Figure 3).
    assignment : {"rounds", "pairwise"}
        How rows get to centres: see `bounded_assignment`.

    Attributes
    ----------
    n_iter_ : int
        How often the rows were placed.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> BoundedTMeans(min_size=2, random_state=0).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    n_iter_: int

    def __init__(
        self,
        min_size: int = 5,
        n_clusters: int | None = None,
        max_iter: int = 10,
        random_state: RandomState = None,
        *,
        distance: Distance = "euclidean",
        value_range: float | None = None,
        centers: Centers = "virtual",
        assignment: Assignment = "rounds",
    ) -> None:
        self.min_size = min_size
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.random_state = random_state
        self.distance = distance
        self.value_range = value_range
        self.centers = centers
        self.assignment = assignment

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        at_least("max_iter", self.max_iter, 1)
        most = len(X) // self.min_size
        if self.n_clusters is not None:
            at_least("n_clusters", self.n_clusters, 1)
            if self.n_clusters > most:
                raise RecveilError(
                    f"n_clusters: {describe_count(len(X), 'row')} form at most {most} groups of "
                    f"{self.min_size}, "
                    f"got {self.n_clusters}; lower n_clusters or min_size (k)",
                    code="argument.value",
                )
        t = most if self.n_clusters is None else self.n_clusters
        clusters = bounded_t_means(X, t, self.min_size, self.max_iter, rng, self.steps_)
        self.n_iter_ = clusters.n_iter
        return clusters.labels


@brief
class Clusters(NamedTuple):
    """Rows with their clusters, and where these have their centres."""

    labels: NDArray[np.int64]
    # The mean of each cluster's rows
    centres: NDArray[np.float32]
    # How often the rows were placed
    n_iter: int


def bounded_t_means(
    X: NDArray[np.float32],
    t: int,
    min_size: int,
    max_iter: int,
    rng: np.random.Generator,
    steps: Steps | None = None,
) -> Clusters:
    """Cluster rows into t clusters (1 <= t * min_size <= n); see `BoundedTMeans`."""
    nearest, has_users, is_pairwise = steps or Steps()
    centres = X[rng.choice(len(X), t, replace=False)]
    labels = np.full(len(X), -1)
    best, best_score = Clusters(labels, centres, 0), -np.inf
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        previous = labels
        labels = bounded_assignment(X, centres, min_size, nearest, pairwise=is_pairwise)
        if np.array_equal(labels, previous):
            break
        sizes = np.bincount(labels, minlength=t)[:, np.newaxis]
        sums = _sums(X, labels, t)
        centres = (sums / sizes).astype(np.float32)
        if has_users:
            centres = _nearest_members(X, labels, centres, nearest)
        if nearest is nearest_centre:
            # The sum of squares within clusters is that of all rows less this one between them.
            score = float((sums**2 / sizes).sum())
        else:
            score = -_total_distance(X, labels, centres, nearest)
        if score > best_score:
            best, best_score = Clusters(labels, centres, 0), score
    return best._replace(n_iter=n_iter)


def bounded_assignment(
    X: NDArray[np.float32],
    centres: NDArray[np.float32],
    min_size: int,
    nearest: Nearest | None = None,
    *,
    pairwise: bool = False,
) -> NDArray[np.int64]:
    """Assign each row to a centre, with at least `min_size` rows per centre (t * min_size <= n).

    In rounds, each row without a centre proposes to its nearest that is not full, and each centre
    accepts the nearest of them; ties go to the lowest index. The rows that are left go to their
    nearest centre. If `pairwise`, pairs are taken in ascending order of their distance, as Chang et
    al. and Thompson & Yao do. In each round some row finds a free place, so the rounds end, only
    when no place is free.
    """
    # Equal centres act as one with room for all: one by one, they would take a round each.
    as_bytes = (centres + 0).view(f"V{centres[0].nbytes}").ravel()  # -0 + 0 is 0
    kind = number_by_lowest_member(as_bytes)
    by_kind = np.argsort(kind, kind="stable")
    size = np.bincount(kind)
    start = np.cumsum(size) - size
    at, place = _place(
        X, centres[by_kind[start]], size * min_size, nearest or nearest_centre, pairwise=pairwise
    )
    return by_kind[start[at] + place // min_size]


def _place(
    X: NDArray[np.float32],
    centres: NDArray[np.float32],
    room: NDArray[np.int64],
    find_nearest: Nearest,
    *,
    pairwise: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each row's centre, and which place it got there (0 if it came in the second pass)."""
    nearest, distance = find_nearest(X, centres)
    at, place = np.full(len(X), -1), np.zeros(len(X), dtype=np.int64)
    unplaced, wanted = np.arange(len(X)), nearest
    taken = np.zeros_like(room)
    while True:
        offered = taken[wanted] + _position_in_queue(wanted, distance)
        accepted = offered < room[wanted]
        filling = offered == room[wanted] - 1
        if pairwise and filling.any():
            # Until a centre is full, each row's nearest pair is with the centre that it wants.
            accepted &= distance <= distance[filling].min()
        now = unplaced[accepted]
        at[now], place[now] = wanted[accepted], offered[accepted]
        taken += np.bincount(at[now], minlength=taken.size)
        not_full = np.flatnonzero(taken < room)
        if not not_full.size:
            return np.where(at < 0, nearest, at), place
        unplaced = unplaced[~accepted]
        choice, distance = find_nearest(X[unplaced], centres[not_full])
        wanted = not_full[choice]


def _position_in_queue(
    wanted: NDArray[np.int64], distance: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Return how many rows are ahead of each row at the centre that it wants: the nearer ones."""
    queue = np.lexsort((distance, wanted))
    centre = wanted[queue]
    n_ahead = np.empty(centre.size, dtype=np.int64)
    n_ahead[queue] = np.arange(centre.size) - np.searchsorted(centre, centre)
    return n_ahead


def _sums(X: NDArray[np.float32], labels: NDArray[np.int64], t: int) -> NDArray[np.float64]:
    """Add up the rows of each cluster, shape (t, d)."""
    n = len(X)
    member = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, t))
    return np.asarray(member.T @ X)


class PredictiveGrouping(_TMeansGrouping):
    """The groups of predictive anonymization: sample, bins around its centres, groups in bins.

    Chang et al., "Predictive Anonymization", Algorithm 1, lines 2 to 5. Bounded t-means clusters a
    random sample of s rows around t centres; every row joins the bin of its nearest centre; in
    each bin, bounded t-means forms floor(size / k) groups, k being `min_size`.

    The paper leaves three things open. The sample is half of the rows. A cluster of the sample
    has at least floor(s / 2t) rows, and at least k; t is lowered if the sample is too small for
    that. A bin of fewer than k rows is dissolved, the smallest first: its rows join the nearest
    centre that remains.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. Bins are
    dissolved until all have `min_size` rows; the last cannot lack them, as it holds all n rows.
    In the bins, the guarantee of `BoundedTMeans` holds.

    Time is O(n^1.5) if no bin is much larger than the others; memory is linear.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    sample_size : int, optional
        The number s of rows that choose the bins' centres; half of all if not given.
    n_bins : int, optional
        The number t of bins; the square root of n if not given. There may be fewer: see above.
    max_iter : int, default 10
        Most iterations of each bounded t-means.
    random_state : int, RandomState, Generator or None
        Draws the sample and the first centres. The same seed gives the same groups.
    distance : {"euclidean", "weighted-squared"}
        Distance between rows: the latter is the similarity of Chang et al., section 4.2, whose rows
        are users' padded rows; see `recveil.evaluation.weighted_squared`.
    value_range : float, optional
        For "weighted-squared", MaxDiff: the range of possible values; that of X if not given.
    centers : {"virtual", "users"}
        Centre of a cluster: the mean of its rows, or the row nearest to it (ibid., Figure 3).
    assignment : {"rounds", "pairwise"}
        How rows get to centres: see `bounded_assignment`.

    Attributes
    ----------
    n_iter_ : int
        How often the rows of the sample were placed.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> PredictiveGrouping(min_size=2, random_state=0).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    n_iter_: int

    def __init__(
        self,
        min_size: int = 5,
        sample_size: int | None = None,
        n_bins: int | None = None,
        max_iter: int = 10,
        random_state: RandomState = None,
        *,
        distance: Distance = "euclidean",
        value_range: float | None = None,
        centers: Centers = "virtual",
        assignment: Assignment = "rounds",
    ) -> None:
        self.min_size = min_size
        self.sample_size = sample_size
        self.n_bins = n_bins
        self.max_iter = max_iter
        self.random_state = random_state
        self.distance = distance
        self.value_range = value_range
        self.centers = centers
        self.assignment = assignment

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        at_least("max_iter", self.max_iter, 1)
        bins = _bins(X, self._centres(X, rng), self.min_size, self.steps_.nearest)
        labels = np.empty(len(X), dtype=np.int64)
        n_groups = 0
        by_bin = np.argsort(bins, kind="stable")
        for rows in np.split(by_bin, np.flatnonzero(np.diff(bins[by_bin])) + 1):
            t = len(rows) // self.min_size
            inner = bounded_t_means(X[rows], t, self.min_size, self.max_iter, rng, self.steps_)
            labels[rows] = n_groups + inner.labels
            n_groups += t
        return labels

    def _centres(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the centres of the bins, found on a sample, shape (t, d)."""
        n, k = len(X), self.min_size
        s = max(k, n // 2) if self.sample_size is None else self.sample_size
        at_least("sample_size", s, k)
        if s > n:
            raise RecveilError(
                f"sample_size: expected at most the "
                f"{describe_count(n, 'row')} there are, got {s}; lower sample_size",
                code="argument.value",
            )
        t = round(n**0.5) if self.n_bins is None else self.n_bins
        at_least("n_bins", t, 1)
        lower_bound = max(k, s // (2 * t))
        t = min(t, s // lower_bound)
        sample = X[np.sort(rng.choice(n, s, replace=False))]
        clusters = bounded_t_means(sample, t, lower_bound, self.max_iter, rng, self.steps_)
        self.n_iter_ = clusters.n_iter
        return clusters.centres


def _bins(
    X: NDArray[np.float32],
    centres: NDArray[np.float32],
    min_size: int,
    nearest: Nearest = nearest_centre,
) -> NDArray[np.int64]:
    bins, _ = nearest(X, centres)
    sizes = np.bincount(bins, minlength=len(centres))
    remaining = np.arange(len(centres))
    while True:
        smallest = remaining[sizes[remaining].argmin()]
        if sizes[smallest] >= min_size:
            return bins
        remaining = remaining[remaining != smallest]
        rows = np.flatnonzero(bins == smallest)
        at, _ = nearest(X[rows], centres[remaining])
        bins[rows] = remaining[at]
        sizes += np.bincount(bins[rows], minlength=sizes.size)
