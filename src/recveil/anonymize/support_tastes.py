"""Support tastes: how likely somebody with the tastes of a group is to rate each item.

First people get places, by what they rated and liked. Then, for each item, the log odds that
somebody rated it are a linear function of the place of their group, fitted to how many in each
group rated it. Nothing here looks at fewer people than a group has, but the places, which serve to
form the groups.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from recveil.blas import one_thread
from recveil.brief import brief
from recveil.ratings import Ratings
from recveil.threads import pool

Numbers = NDArray[np.float64]

# How many numbers tell what somebody chooses. Eight serve lists of MovieLens 100K clearly worse,
# sixteen a little.
RANK = 24
# A rating says that somebody chose the item; one from three quarters up the scale, that they liked
# it, too, which is what lists are made of.
_OF_RATED, _LIKED_FROM = 0.4, 0.75
# Popular items say less of somebody's taste: a column counts by its raters to this power.
_POPULARITY = -0.25
# The pull of an item's slopes to none, where tastes vary by 1 from one person to another: so many
# people more who say nothing.
_PULL = 3.0
# Newton's steps, none of them longer than this in log odds; and what is near enough.
_STEPS, _LONGEST, _NEAR = 12, 2.0, 1e-4
# Items that are fitted at once, and cells of groups times items that are looked at at once: they
# stay in the cache.
_TILE_ITEMS, _TILE_CELLS = 256, 1 << 17


@brief
class GroupTastes(NamedTuple):
    """Where groups are among the tastes, and what follows for each item.

    Attributes
    ----------
    places : ndarray of float64, shape (n_groups, n_tastes)
        Mean tastes of the members, in units of how far people differ.
    within : ndarray of float64, shape (n_tastes, n_tastes)
        Normal random numbers times this vary as the tastes of people do within their groups, all
        groups taken together.
    activity_mean, activity_spread : float
        Of the logarithm of the number of ratings that counts, over people.
    items : ndarray of int32, shape (n_fitted,)
        The items that were fitted.
    slopes : ndarray of float64, shape (n_fitted, n_tastes + 2)
        Log odds of a rating: for nothing, for each taste, and for the activity.
    """

    places: Numbers
    within: Numbers
    activity_mean: float
    activity_spread: float
    items: NDArray[np.int32]
    slopes: Numbers

    def regressors(self, groups: NDArray[np.int64], activity: Numbers) -> Numbers:
        """Return what `slopes` multiplies, for rows of some groups and numbers of ratings."""
        spread = (_log(activity) - self.activity_mean) / self.activity_spread
        return np.hstack([np.ones((groups.size, 1)), self.places[groups], spread[:, None]])

    def drawn(
        self, groups: NDArray[np.int64], activity: Numbers, rng: np.random.Generator
    ) -> Numbers:
        """Return the same for rows whose tastes are drawn about their group's.

        Rows of a group differ as people of a group do. If all had the group's tastes, who learns
        from the rows would take the groups for all that there is.
        """
        rows = self.regressors(groups, activity)
        rows[:, 1:-1] += rng.standard_normal((groups.size, len(self.within))) @ self.within
        return rows

    def _facts(self) -> dict[str, object]:
        return {"groups": len(self.places), "items": self.items.size}


def place_people(ratings: Ratings, rank: int, seed: int) -> NDArray[np.float32]:
    """Place each person by what they rated and liked, shape (n_users, at most rank).

    Each person is a row of unit length: 1 for what they liked, less for what they only rated.
    Popular items count less. The places are the rows' coordinates in the directions in which they
    vary most.

    Parameters
    ----------
    ratings : Ratings
        Everybody has at least one.
    rank : int
    seed : int
        Starts the search for the directions.

    Notes
    -----
    Source of the decomposition: Halko, Martinsson and Tropp 2011, as in scikit-learn.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3], [7, 8, 7, 8, 9], [5, 5, 5, 5, 1])
    >>> places = place_people(ratings, 2, seed=0)  # users 1 and 2 chose the same
    >>> bool(np.allclose(places[0], places[1])), bool(np.allclose(places[0], places[2]))
    (True, False)
    """
    chosen = ratings.csr.astype(np.float64)
    scale = ratings.scale
    liked = chosen.data >= scale.low + _LIKED_FROM * scale.range
    chosen.data = np.where(liked, 1.0, _OF_RATED)
    lengths = np.sqrt(np.add.reduceat(chosen.data**2, ratings.indptr[:-1]))
    chosen.data /= np.repeat(lengths, ratings.activity)
    chosen.data *= np.maximum(ratings.support, 1.0)[chosen.indices] ** _POPULARITY
    rank = min(rank, *chosen.shape)
    with one_thread():  # a product split over threads rounds differently
        left, lengths, _ = randomized_svd(chosen, rank, n_iter=6, random_state=seed % 2**32)
    return np.asarray(left * lengths, np.float32)


def learn_tastes(
    ratings: Ratings,
    coordinates: NDArray[np.float32],
    labels: NDArray[np.int64],
    items: NDArray[np.int32],
    activity: NDArray[np.int64],
) -> GroupTastes:
    """Fit, for each of some items, how likely somebody is to rate it, by the place of their group.

    Parameters
    ----------
    ratings : Ratings
    coordinates : ndarray of float32, shape (n_users, n_tastes)
        Of people; only their means over groups are used, and how far people are apart.
    labels : ndarray of int64, shape (n_users,)
        The group of each person, 0 to n_groups - 1.
    items : ndarray of int32
        Ascending; each was rated by somebody.
    activity : ndarray of int64, shape (n_users,)
        How many of these items each person rated.

    Examples
    --------
    >>> users, items = [1, 1, 2, 2, 3, 3, 4, 4], [7, 9, 7, 9, 8, 9, 8, 9]
    >>> ratings = Ratings.from_columns(users, items, [5, 3] * 4)
    >>> coordinates = np.array([[1], [1], [-1], [-1]], np.float32)
    >>> labels, items = np.array([0, 0, 1, 1]), np.arange(3, dtype=np.int32)
    >>> tastes = learn_tastes(ratings, coordinates, labels, items, ratings.activity)
    >>> tastes.slopes[:, 1].round(1) + 0.0  # the first group alone rates 7, the other one 8
    array([ 0.5, -0.5,  0. ])
    """
    sizes = np.bincount(labels).astype(np.float64)
    member = sparse.csr_array(
        (np.ones(labels.size), (labels, np.arange(labels.size))), shape=(sizes.size, labels.size)
    )
    apart = coordinates.std(axis=0, dtype=np.float64)
    apart[apart < 1e-9] = 1.0
    centred = (coordinates - coordinates.mean(axis=0, dtype=np.float64)) / apart
    places = (member @ centred) / sizes[:, None]
    logs = _log(activity)
    mean, spread = float(logs.mean()), float(logs.std()) or 1.0
    tastes = GroupTastes(
        places=places,
        within=_root(centred - places[labels]),
        activity_mean=mean,
        activity_spread=spread,
        items=items,
        slopes=np.empty(0),
    )
    usual = np.exp(np.asarray(member @ logs) / sizes)
    rated = ratings.csr.astype(np.float64)
    rated.data = np.ones_like(rated.data)
    counts = (member @ rated).tocsc()[:, items]
    known = tastes.regressors(np.arange(sizes.size), usual)
    return tastes._replace(slopes=fit_log_odds(known, counts, sizes))


def _log(activity: NDArray[Any]) -> Numbers:
    """Return logarithms of numbers of ratings; who has none counts as having one."""
    return np.log(np.maximum(activity, 1), dtype=np.float64)


def _root(apart: Numbers) -> Numbers:
    """Return the symmetric root of the covariance of rows whose mean is 0."""
    squares, directions = np.linalg.eigh(apart.T @ apart / len(apart))
    return np.asarray((directions * np.sqrt(np.maximum(squares, 0))) @ directions.T)


def fit_log_odds(regressors: Numbers, counts: sparse.csc_array, sizes: Numbers) -> Numbers:
    """Fit one logistic regression an item to how many of each group rated it.

    Parameters
    ----------
    regressors : ndarray of float64, shape (n_groups, n)
        The first is 1, and its weight is pulled to the item's overall log odds; the others are
        pulled to 0.
    counts : csc_array, shape (n_groups, n_items)
        How many of each group rated each item.
    sizes : ndarray of float64, shape (n_groups,)

    Returns
    -------
    ndarray of float64, shape (n_items, n)

    Examples
    --------
    >>> counts = sparse.csc_array([[10.0], [10.0]])
    >>> fit_log_odds(np.ones((2, 1)), counts, np.array([20.0, 20.0])).round(6) + 0.0
    array([[0.]])
    """
    n_items, n = counts.shape[1], regressors.shape[1]
    first, second = np.triu_indices(n)
    # Single precision will do for the curvature: it says how to step, the slope says where to.
    pairs = (regressors[:, first] * regressors[:, second]).astype(np.float32)
    raters, sums = np.asarray(counts.sum(axis=0), np.float64), counts.T @ regressors

    def fit(start: int) -> Numbers:
        tile = slice(start, start + _TILE_ITEMS)
        return _fit_tile(regressors, pairs, sizes, raters[tile], sums[tile])

    with pool(get_num_threads()) as workers, one_thread():
        return np.vstack(list(workers.map(fit, range(0, n_items, _TILE_ITEMS))))


def _fit_tile(
    regressors: Numbers,
    pairs: NDArray[np.float32],
    sizes: Numbers,
    raters: Numbers,
    sums: Numbers,
) -> Numbers:
    """Fit some items at once by Newton's method, each until it is near enough."""
    n = regressors.shape[1]
    start = np.zeros(sums.shape)
    start[:, 0] = np.log((raters + 0.5) / (sizes.sum() - raters + 0.5))
    # The first weight is nearly free: an item is as popular as it is.
    pull = np.full(n, _PULL)
    pull[0] = 1e-3
    weights = start.copy()
    left = np.arange(raters.size)
    for _ in range(_STEPS):
        expected, curved = _expected(regressors, pairs, sizes, weights[left])
        slope = sums[left] - expected - pull * (weights[left] - start[left])
        curved[:, np.arange(n), np.arange(n)] += pull
        step = np.linalg.solve(curved, slope[:, :, None])[:, :, 0]
        length = np.linalg.norm(step, axis=1, keepdims=True)
        weights[left] += step * np.minimum(1, _LONGEST / np.maximum(length, 1e-12))
        left = left[length[:, 0] >= _NEAR]
        if not left.size:
            break
    return weights


def _expected(
    regressors: Numbers, pairs: NDArray[np.float32], sizes: Numbers, weights: Numbers
) -> tuple[Numbers, Numbers]:
    """Return what the raters that some weights expect add up to, and how that moves with them.

    Returns
    -------
    sums : ndarray of float64, shape (n_items, n)
    curved : ndarray of float64, shape (n_items, n, n)
    """
    n_items, n = weights.shape
    sums, upper = np.zeros((n_items, n)), np.zeros((n_items, pairs.shape[1]))
    height = max(1, _TILE_CELLS // n_items)
    for begin in range(0, sizes.size, height):
        some = slice(begin, begin + height)
        likely = regressors[some] @ -weights.T
        np.exp(likely, out=likely)
        likely += 1
        np.reciprocal(likely, out=likely)
        people = likely * sizes[some, None]
        sums += people.T @ regressors[some]
        np.subtract(1, likely, out=likely)
        people *= likely
        upper += people.astype(np.float32).T @ pairs[some]
    first, second = np.triu_indices(n)
    curved = np.empty((n_items, n, n))
    curved[:, first, second] = curved[:, second, first] = upper
    return sums, curved
