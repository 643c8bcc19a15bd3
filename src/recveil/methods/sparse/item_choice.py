"""Fit the probability that users of a cluster rate each item.

For each item, the log-odds of a rating are a linear function of the cluster's mean embedding,
fitted to the item's counts per cluster. Except for the embeddings, which serve to form clusters,
the fit reads no statistic of fewer users than a cluster has.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from recveil.ratings import Ratings
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread, pool

Numbers = NDArray[np.float64]

# Dimension of a user's embedding. On MovieLens 100K, lists are clearly worse with 8, and slightly
# with 16.
RANK = 24
# Weight of a chosen item, and the share of the scale from which a rating means that the user liked
# it, which lists are evaluated by.
_OF_RATED, _LIKED_FROM = 0.4, 0.75
# A column is weighted by its item count to this power, since popular items carry less information.
_POPULARITY = -0.25
# Shrinkage of an item's slopes to 0, as a number of additional users without information.
_PULL = 3.0
# Newton's steps, none of them longer than this in log odds; and what is near enough.
_STEPS, _LONGEST, _NEAR = 12, 2.0, 1e-4
# Items that are fitted at once, and cells of groups times items that are looked at at once: they
# stay in the cache.
_TILE_ITEMS, _TILE_CELLS = 256, 1 << 17


@brief
class ClusterEmbeddings(NamedTuple):
    """Mean embeddings of clusters, and regression weights of items."""

    # Mean embeddings, in units of the standard deviation over users
    places: Numbers
    # Square root of the pooled covariance of embeddings within clusters
    within: Numbers
    # Mean and standard deviation over users of the log number of ratings on the fitted items
    activity_mean: float
    activity_spread: float
    # The fitted items
    items: NDArray[np.int32]
    # Weights of the log-odds: intercept, each embedding dimension, and activity
    slopes: Numbers

    def regressors(self, groups: NDArray[np.int64], activity: Numbers) -> Numbers:
        """Return the regressors for rows of some clusters and activities."""
        spread = (log_activity(activity) - self.activity_mean) / self.activity_spread
        return np.hstack([np.ones((groups.size, 1)), self.places[groups], spread[:, None]])

    def drawn(
        self, groups: NDArray[np.int64], activity: Numbers, rng: np.random.Generator
    ) -> Numbers:
        """Return regressors with embeddings sampled about the cluster's mean.

        Rows of a cluster differ as its users do. With equal embeddings, a model trained on the rows
        would see only the differences between clusters.
        """
        rows = self.regressors(groups, activity)
        rows[:, 1:-1] += rng.standard_normal((groups.size, len(self.within))) @ self.within
        return rows

    def _facts(self) -> dict[str, object]:
        return {"groups": len(self.places), "items": self.items.size}


def embed_users(ratings: Ratings, rank: int, seed: int) -> NDArray[np.float32]:
    """Return user embeddings from what users rated and liked, shape (n_users, at most rank).

    Each user is a row of unit length, with 1 for a liked item and less for one that was only rated;
    popular items count less. The embeddings are the rows' coordinates along their principal
    directions. Source of the decomposition: Halko, Martinsson and Tropp 2011, as in scikit-learn.
    """
    chosen = weigh_choices(ratings, ratings.support)
    rank = min(rank, *chosen.shape)
    with one_thread():  # a product split over threads rounds differently
        left, lengths, _ = randomized_svd(chosen, rank, n_iter=6, random_state=seed % 2**32)
    return np.asarray(left * lengths, np.float32)


def weigh_choices(ratings: Ratings, support: NDArray[Any]) -> sparse.csr_array:
    """Return choices as rows of unit length, less of popular items; each user has a rating.

    >>> ratings = Ratings.from_columns([1, 1], [7, 8], [5, 5])
    >>> (weigh_choices(ratings, np.array([1, 16])).toarray() ** 2).round(3)
    array([[0.5  , 0.125]])
    """
    scale = ratings.scale
    liked = ratings.values >= np.float64(scale.low + _LIKED_FROM * scale.range)
    weights = np.where(liked, 1.0, _OF_RATED)
    lengths = np.sqrt(np.add.reduceat(weights**2, ratings.indptr[:-1]))
    weights /= np.repeat(lengths, ratings.activity)
    weights *= (np.maximum(support, 1.0) ** _POPULARITY)[ratings.indices]
    return _on_ratings(ratings, weights)


def _on_ratings(ratings: Ratings, numbers: NDArray[Any]) -> sparse.csr_array:
    """Return a number for each rating as a matrix, which shares the memory of its places."""
    places = ratings.indices, ratings.indptr
    return sparse.csr_array((numbers, *places), shape=(ratings.n_users, ratings.n_items))


def learn_embeddings(
    ratings: Ratings,
    coordinates: NDArray[np.float32],
    labels: NDArray[np.int64],
    items: NDArray[np.int32],
    activity: NDArray[np.int64],
) -> ClusterEmbeddings:
    """Fit the probability of rating each item, by the mean embedding of a user's cluster.

    Only means of `coordinates` over clusters and their covariance are used. `activity` counts the
    given items that each user rated; every item has a rating.
    """
    sizes = np.bincount(labels).astype(np.float64)
    member = sparse.csr_array(
        (np.ones(labels.size), (labels, np.arange(labels.size))), shape=(sizes.size, labels.size)
    )
    apart = coordinates.std(axis=0, dtype=np.float64)
    apart[apart < 1e-9] = 1.0
    centred = (coordinates - coordinates.mean(axis=0, dtype=np.float64)) / apart
    places = (member @ centred) / sizes[:, None]
    logs = log_activity(activity)
    mean, spread = float(logs.mean()), float(logs.std()) or 1.0
    embeddings = ClusterEmbeddings(
        places=places,
        within=root_of_covariance(_covariance(centred - places[labels])),
        activity_mean=mean,
        activity_spread=spread,
        items=items,
        slopes=np.empty(0),
    )
    usual = np.exp(np.asarray(member @ logs) / sizes)
    counted = member.astype(np.int32) @ _on_ratings(ratings, np.ones(ratings.n_ratings, np.int32))
    counts = counted.tocsc()[:, items]
    known = embeddings.regressors(np.arange(sizes.size), usual)
    return embeddings._replace(slopes=fit_log_odds(known, counts, sizes))


def log_activity(activity: NDArray[Any]) -> Numbers:
    """Return log numbers of ratings; 0 counts as 1.

    >>> log_activity(np.array([0, 1]))
    array([0., 0.])
    """
    return np.log(np.maximum(activity, 1), dtype=np.float64)


def _covariance(apart: Numbers) -> Numbers:
    return np.asarray(apart.T @ apart / len(apart))


def root_of_covariance(covariance: Numbers) -> Numbers:
    """Return the symmetric root of a covariance.

    >>> root_of_covariance(np.diag([4.0])).item()
    2.0
    """
    squares, directions = np.linalg.eigh(covariance)
    return np.asarray((directions * np.sqrt(np.maximum(squares, 0))) @ directions.T)


def fit_log_odds(regressors: Numbers, counts: sparse.csc_array, sizes: Numbers) -> Numbers:
    """Fit one logistic regression per item, shape (n_items, n), to its raters per cluster.

    The first regressor is 1, and its weight is shrunk towards the item's overall log-odds; the
    others are shrunk towards 0.
    """
    n_items, n = counts.shape[1], regressors.shape[1]
    pairs = _pairs(regressors)
    raters, sums = np.asarray(counts.sum(axis=0), np.float64), counts.T @ regressors
    n_users = float(sizes.sum())

    def expected(weights: Numbers, _: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
        found, upper = _expected(regressors, pairs, sizes, weights)
        return found, square_of(upper, n)

    def fit(start: int) -> Numbers:
        tile = slice(start, start + _TILE_ITEMS)
        return fit_by_newton(raters[tile], sums[tile], n_users, expected)

    with pool(get_num_threads()) as workers, one_thread():
        return np.vstack(list(workers.map(fit, range(0, n_items, _TILE_ITEMS))))


def fit_by_newton(
    raters: Numbers,
    sums: Numbers,
    n_people: float,
    expected: Callable[[Numbers, NDArray[np.int64]], tuple[Numbers, Numbers]],
) -> Numbers:
    """Fit items by Newton's method until each converges; weights of shape (n_items, n).

    `sums`, of shape (n_items, n), are those of the regressors over the raters. `expected` takes the
    weights and positions of some items, and returns the expected sums and their derivatives.
    """
    n = sums.shape[1]
    start = np.zeros(sums.shape)
    start[:, 0] = np.log((raters + 0.5) / (n_people - raters + 0.5))
    # The first weight is hardly shrunk: it fits the item count.
    pull = np.full(n, _PULL)
    pull[0] = 1e-3
    weights = start.copy()
    left = np.arange(raters.size)
    for _ in range(_STEPS):
        found, curved = expected(weights[left], left)
        slope = sums[left] - found - pull * (weights[left] - start[left])
        curved[:, np.arange(n), np.arange(n)] += pull
        step = np.linalg.solve(curved, slope[:, :, None])[:, :, 0]
        length = np.linalg.norm(step, axis=1, keepdims=True)
        weights[left] += step * np.minimum(1, _LONGEST / np.maximum(length, 1e-12))
        left = left[length[:, 0] >= _NEAR]
        if not left.size:
            break
    return weights


def expected_raters(regressors: Numbers, sizes: Numbers, weights: Numbers) -> Numbers:
    """Return expected sums of regressors over raters, and the upper triangle of their derivatives.

    >>> expected_raters(np.ones((2, 1)), np.array([20.0, 20.0]), np.zeros((1, 1)))
    array([[20., 10.]])
    """
    pairs = _pairs(regressors)
    tiles = range(0, len(weights), _TILE_ITEMS)
    with one_thread():
        found = [
            np.hstack(_expected(regressors, pairs, sizes, weights[at : at + _TILE_ITEMS]))
            for at in tiles
        ]
    return np.vstack(found)


def _pairs(regressors: Numbers) -> NDArray[np.float32]:
    first, second = np.triu_indices(regressors.shape[1])
    # Single precision suffices for the curvature, which only sets the step.
    return (regressors[:, first] * regressors[:, second]).astype(np.float32)


def square_of(upper: Numbers, n: int) -> Numbers:
    """Return symmetric matrices by their upper halves.

    >>> square_of(np.array([[1.0, 2.0, 3.0]]), 2).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    first, second = np.triu_indices(n)
    whole = np.empty((len(upper), n, n))
    whole[:, first, second] = whole[:, second, first] = upper
    return whole


def _expected(
    regressors: Numbers, pairs: NDArray[np.float32], sizes: Numbers, weights: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the sums of `fit_by_newton`, and the upper half of their derivatives."""
    n_items, n = weights.shape
    sums, upper = np.zeros((n_items, n)), np.zeros((n_items, pairs.shape[1]))
    height = max(1, _TILE_CELLS // n_items)
    for begin in range(0, sizes.size, height):
        some = slice(begin, begin + height)
        likely = regressors[some] @ -weights.T
        np.exp(likely, out=likely)
        likely += 1
        np.reciprocal(likely, out=likely)
        counts = likely * sizes[some, None]
        sums += counts.T @ regressors[some]
        np.subtract(1, likely, out=likely)
        counts *= likely
        upper += counts.astype(np.float32).T @ pairs[some]
    return sums, upper
