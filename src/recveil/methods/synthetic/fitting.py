"""Fit a logistic user model to noisy moments.

Each user has an embedding drawn from a normal distribution; its first entry is the user's activity.
The log-odds that a user rates an item are a user offset, plus an item offset, plus the product of
both embeddings. Item offsets and embeddings are fitted so that a sample of such users has the
measured moments. The fit reads noisy sums only.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numba import get_num_threads, prange
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from recveil.methods.synthetic.bounded_sums import centre_of_vectors, centred_length, direction_of
from recveil.methods.synthetic.sum_queries import LEAST_NOISE
from recveil.release.method import MOST_DIRECTIONS
from recveil.runtime.compiled import compiled
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread, pool

Numbers = NDArray[np.float64]

# One direction per this many users; more would fit chance.
_USERS_PER_DIRECTION = 45
# Above this number of items, the leading directions are computed iteratively.
_DIRECTIONS_AT_ONCE = 3_000


@brief
class FitTargets(NamedTuple):
    """Noisy measurements of users and items, as the fit takes them."""

    # Symmetric; the diagonal is not used
    moments: Numbers
    # Standard deviation of the noise of each entry off the diagonal
    moments_noise: float
    # Sum of ``1 / sqrt(n)`` over the users who rated the item, of n ratings each
    popularity: Numbers
    # Standard deviation of its noise
    popularity_noise: float
    # Mean weight of a rated item in its user's vector, and the mean of the squared weight
    weights: Numbers
    # Ratings per user on all items, as equally likely quantiles
    activity: Numbers
    # The share of all ratings that are on these items
    share: float
    n_users: float
    # Public features of the items, shape (n_items, n_features); None without
    features: NDArray[np.bool_] | None = None
    # Whether popularity was taken out of users' vectors
    is_centred: bool = True

    @property
    def centre(self) -> Numbers:
        """The direction that was taken out of users' vectors; 0 if none was."""
        return centre_of_vectors(self.popularity, is_centred=self.is_centred)

    @property
    def usual(self) -> Numbers:
        """The mean user vector as measured; its outer product is what popularity explains."""
        share = self.popularity / max(self.n_users, 1.0)
        vector = share * self.weights[:, 0] / np.sqrt(self.weights[:, 1].mean())
        direction = self.centre
        along = vector @ direction
        return np.asarray((vector - along * direction) / centred_length(along)[0])


# Precision of the coefficients of features, in items of average popularity.
_RIDGE = 1.0


@brief
class FeatureRegression(NamedTuple):
    """Ridge regression on public item features, in which popular items count more.

    >>> features = np.array([[1], [1], [0], [0]], np.bool_)
    >>> regression = FeatureRegression.of(features, np.ones(4))
    >>> regression.fitted(np.array([3.0, 5.0, 1.0, 1.0])).round(1).tolist()
    [3.1, 3.1, 1.3, 1.3]
    """

    # A column of ones, and the features
    columns: Numbers
    # Maps values of items to coefficients of the columns
    solver: Numbers
    weights: Numbers

    @classmethod
    def of(cls, features: NDArray[np.bool_], weights: Numbers) -> Self:
        """Prepare the regression."""
        columns = _with_ones(features)
        weights = weights / weights.mean()
        weighted = columns.T * weights
        normal = weighted @ columns + _RIDGE * np.eye(columns.shape[1])
        return cls(columns, linalg.solve(normal, weighted, assume_a="pos"), weights)

    def fitted(self, values: Any) -> Any:
        """Return what the features predict of the items' values."""
        return self.columns @ (self.solver @ values)

    def predicted(self, features: NDArray[np.bool_], values: Any) -> Any:
        """Predict the values of other items."""
        return _with_ones(features) @ (self.solver @ values)

    def explained(self, values: Numbers) -> Numbers:
        """Return the adjusted R² of each column, from 0 to 0.95."""
        n_items, n_columns = len(values), np.linalg.matrix_rank(self.columns)
        off = values - self.weights @ values / n_items
        left = self.weights @ (values - self.fitted(values)) ** 2
        all_of_it = np.maximum(self.weights @ off**2, 1e-12)
        by_chance = (n_items - 1) / max(n_items - n_columns, 1)
        return np.asarray(np.clip(1 - left / all_of_it * by_chance, 0, _MOST_EXPLAINED))


# Singular value below which features are linearly dependent.
_DEPENDENT = 1e-2
# Features never explain embeddings entirely.
_MOST_EXPLAINED = 0.95


def _with_ones(features: NDArray[np.bool_]) -> Numbers:
    return np.column_stack([np.ones(len(features)), features.astype(np.float64)])


@brief
class Directions(NamedTuple):
    """Directions of the moments above the noise; those found among features come first."""

    # Their eigenvalues, with the noise removed (Gavish and Donoho 2017)
    squares: Numbers
    vectors: Numbers


def directions(targets: FitTargets) -> Directions:
    """Return the eigenvectors of the moments above the noise, with popularity removed.

    Noise alone has eigenvalues up to ``2 noise sqrt(n_items)`` (Wigner), and chance among users
    some, too. Noise inflates the eigenvalues above this edge, so they are shrunk.
    """
    n = len(targets.moments)
    most = min(MOST_DIRECTIONS, n - 1, int(targets.n_users / _USERS_PER_DIRECTION))
    if most < 1:
        return Directions(np.empty(0), np.empty((n, 0)))
    if n <= _DIRECTIONS_AT_ONCE:
        left = _without_popularity(targets, np.float64)
        values, vectors = linalg.eigh(left, subset_by_index=(n - most, n - 1), overwrite_a=True)
    else:
        left = _without_popularity(targets, np.float32)

        def multiply(vector: Numbers) -> Numbers:
            return _product(left, vector.reshape(n, 1).astype(np.float32)).astype(np.float64)

        start = np.random.default_rng(0).normal(size=n)
        products = LinearOperator((n, n), multiply, dtype=np.float64)
        values, vectors = eigsh(products, most, which="LA", v0=start, tol=1e-3)
    edge = np.hypot(2 * targets.moments_noise * np.sqrt(n), sampling_edge(targets))
    found = _above_noise(values, vectors, edge)
    if targets.features is None:
        return found
    return _with_features(targets, targets.features, found, most)


def _without_popularity(targets: FitTargets, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    left = np.empty(targets.moments.shape, dtype)
    usual = targets.usual
    for start in range(0, len(left), _ROWS):
        rows = slice(start, start + _ROWS)
        left[rows] = targets.moments[rows] - targets.n_users * np.outer(usual[rows], usual)
    np.fill_diagonal(left, 0)
    return left


def sampling_edge(targets: FitTargets) -> float:
    """Return about the largest eigenvalue that chance among the users gives to the moments.

    Users have vectors of length 1, with squares in proportion to popularity on average. So if they
    had no embeddings, an entry of the sum of their products would have the variance ``n_users p_i
    p_j``, for shares p of popularity.
    """
    shares = np.maximum(targets.popularity, 0)
    return float(2 * np.sqrt(targets.n_users) * np.linalg.norm(shares) / max(shares.sum(), 1e-12))


def _above_noise(values: Numbers, vectors: Numbers, edge: float) -> Directions:
    out = values > edge
    return Directions(np.sqrt(values[out] ** 2 - edge**2), vectors[:, out])


def _with_features(
    targets: FitTargets, features: NDArray[np.bool_], found: Directions, most: int
) -> Directions:
    """Add directions that are linear in F features, where noise has the edge of F items."""
    # A user's vector is about proportional to popularity, so features are multiplied by it.
    span = _with_ones(features) * np.maximum(targets.popularity, 0)[:, None]
    span, lengths, _ = linalg.svd(span, full_matrices=False)
    span = span[:, lengths > lengths[0] * _DEPENDENT]
    for known in direction_of(targets.popularity)[:, None], found.vectors:
        span -= known @ (known.T @ span)
    span, lengths, _ = linalg.svd(span, full_matrices=False)
    span = span[:, lengths > _DEPENDENT]
    if not span.size:
        return found
    values, vectors = linalg.eigh(span.T @ _without_popularity(targets, np.float64) @ span)
    edge = 2 * targets.moments_noise * np.sqrt(len(values))
    more = _above_noise(values, span @ vectors, edge)
    n_more = min(more.squares.size, most - found.squares.size)
    places = slice(more.squares.size - n_more, None)
    return Directions(
        np.concatenate([more.squares[places], found.squares]),
        np.column_stack([more.vectors[:, places], found.vectors]),
    )


# Size of the simulated sample of users, against which items are fitted.
_SAMPLE_SIZE = 2_000
_ROUNDS, _STEP = 120, 0.05
# Share of the remaining progress that they take.
_SHARE = 0.8
# Adam's decay rates of gradients and of squared gradients (Kingma and Ba 2015).
_OF_SLOPES, _OF_SQUARES = 0.9, 0.99
# Standard deviation of the normal prior of item embeddings.
_PRIOR_SPREAD = 0.8
# A user rates at most this share of the released items.
_MOST_RATED = 0.7
# Above the first number of items, gradients use batches of the second number of items.
_AT_ONCE, _AT_A_TIME = 1_800, 600
_FAR = 1.5
# Larger matrix products are split into this many parts, one thread each.
_LITTLE, _PARTS = 1 << 24, 8
# Rows that are computed at a time, so that they stay in the processor's cache.
_ROWS = 16

Small = NDArray[np.float32]


@brief
class FittedItems(NamedTuple):
    """Fitted item offsets and embeddings."""

    offsets: Small
    # The first column is multiplied by the user's activity
    item_embeddings: Small


def fit_items(targets: FitTargets, rng: np.random.Generator) -> FittedItems:
    """Fit item offsets and embeddings to noisy moments and popularity, by Adam.

    Weighted least squares with a normal prior for embeddings; features add a force towards what
    they predict. The sample's embeddings are orthonormal, so that its sampling error plays no part.
    """
    # Another split among threads would change a sum's last bit, and the seed would not repeat the
    # fit.
    with one_thread():
        found = directions(targets)
        activity, users = _simulate(targets, found.squares.size, rng)
        items = _start(targets, activity, found)
        _descend(items, _Fit(targets, activity, users, rng, items))
    return items


def _descend(items: FittedItems, fit: "_Fit") -> None:
    """Minimize the loss in place."""
    slopes = [np.zeros_like(part) for part in items]
    squares = [np.zeros_like(part) for part in items]
    for turn in track(range(_ROUNDS), "Fitting the model", share=_SHARE):
        length = _STEP * min(1.0, (_ROUNDS - turn) / (0.3 * _ROUNDS))
        for part, slope, mean, square in zip(
            items, fit.slopes(items), slopes, squares, strict=True
        ):
            mean += (1 - _OF_SLOPES) * (slope - mean)
            square += (1 - _OF_SQUARES) * (slope**2 - square)
            unbiased = mean / (1 - _OF_SLOPES ** (turn + 1))
            spread = np.sqrt(square / (1 - _OF_SQUARES ** (turn + 1)))
            part -= length * unbiased / (spread + 1e-12)


def _product(left: Small, right: Small) -> Small:
    """Return a matrix product that does not depend on the number of threads."""
    if left.size * right.shape[1] < _LITTLE:
        return np.asarray(left @ right)
    whole = np.empty((len(left), right.shape[1]), np.float32)
    edges = np.linspace(0, len(left), _PARTS + 1).astype(int)

    def multiply(first: int, last: int) -> None:
        np.matmul(left[first:last], right, out=whole[first:last])

    with pool(get_num_threads()) as workers:
        list(workers.map(multiply, edges[:-1], edges[1:]))
    return whole


def _by_rows(work: Callable[[slice], None], table: Small) -> None:
    """Compute all rows of a table, in which no row depends on another; large ones in threads."""
    if table.size < _LITTLE:
        work(slice(None))
        return
    rows = [slice(first, first + _ROWS) for first in range(0, len(table), _ROWS)]
    with pool(get_num_threads()) as workers:
        list(workers.map(work, rows))


def centre_of(activity: Numbers) -> tuple[float, float]:
    """Return the mean and standard deviation of log activities; a deviation of 0 becomes 1."""
    logs = np.log(activity)
    return float(logs.mean()), float(logs.std()) or 1.0


def scale_activity(activity: Numbers, share: float, n_items: int) -> Numbers:
    """Return the expected ratings on some items of users with so many ratings on all items."""
    return np.clip(activity * share, 1, max(1.0, _MOST_RATED * n_items))


def _simulate(
    measured: FitTargets, n_directions: int, rng: np.random.Generator
) -> tuple[Small, Small]:
    """Return the activity and embeddings of the simulated users."""
    places = (np.arange(_SAMPLE_SIZE) + 0.5) / _SAMPLE_SIZE
    everything = rng.permutation(np.quantile(measured.activity, places))
    mean, spread = centre_of(measured.activity)
    logs = (np.log(everything) - mean) / spread
    embeddings = np.column_stack([logs, rng.normal(size=(_SAMPLE_SIZE, n_directions))])
    embeddings[:, 1:] -= embeddings[:, 1:].mean(axis=0)
    if n_directions:
        # Orthogonalize each direction against the earlier ones, activity included.
        lengths = np.sqrt(_SAMPLE_SIZE)
        embeddings[:, 1:] = _orthonormal(embeddings)[:, 1:] * lengths
    activity = scale_activity(everything, measured.share, len(measured.popularity))
    return activity.astype(np.float32), embeddings.astype(np.float32)


def _orthonormal(embeddings: Numbers) -> Numbers:
    columns = np.column_stack([np.ones(len(embeddings)), embeddings])
    found, upper = linalg.qr(columns, mode="economic")
    return np.asarray((found * np.sign(np.diag(upper)))[:, 1:], np.float64)


def _start(measured: FitTargets, activity: Small, found: Directions) -> FittedItems:
    """Return offsets from popularity, and embeddings from directions above the noise."""
    n = len(measured.popularity)
    mean = float(activity.mean())
    popular = np.maximum(measured.popularity, 0)
    share = np.clip(mean * popular / max(popular.sum(), 1e-12), 0.03 * mean / n, 0.9)
    offsets = np.log(share / (1 - share))
    lengths = np.sqrt(found.squares / measured.n_users)
    typical = np.maximum(measured.popularity / measured.n_users, 1e-3)
    first = np.clip(0.7 * found.vectors * lengths / typical[:, None], -_FAR, _FAR)
    embeddings = np.column_stack([np.zeros(n), first])
    return FittedItems(offsets.astype(np.float32), embeddings.astype(np.float32))


class _Fit:
    """Gradients of the loss for a fixed sample of users."""

    def __init__(
        self,
        measured: FitTargets,
        activity: Small,
        users: Small,
        rng: np.random.Generator,
        start: FittedItems | None = None,
    ) -> None:
        self._sample, self._activity = users, activity
        noise = max(measured.moments_noise, LEAST_NOISE)
        self._weight_of_user = np.float32(measured.n_users / len(users))
        few = len(measured.moments) <= _AT_ONCE
        self._off = _off_all(measured) if few else _off_some(measured, rng)
        self._believed = np.float32(1 / noise**2)
        self._popularity = measured.popularity.astype(np.float32)
        popular_noise = max(measured.popularity_noise, LEAST_NOISE)
        self._popularity_believed = np.float32(1 / popular_noise**2)
        self._weights = measured.weights.astype(np.float32)
        self._roots = np.sqrt(np.float32(measured.share) / activity)
        self._user_offsets = np.zeros(len(users), np.float32)
        self._prior = np.float32(1 / _PRIOR_SPREAD**2)
        self._popular = measured.centre.astype(np.float32)
        self._by_features = _pull_of_features(measured, start)

    def _by_vectors(self, vectors: Small) -> Small:
        """Return the gradient by expected vectors, which are centred as the measured ones."""
        root = np.sqrt(self._weight_of_user)
        along = vectors @ self._popular
        lengths, slopes = (part.astype(np.float32) for part in centred_length(along / root))
        centred, by_lengths = np.empty_like(vectors), np.empty_like(lengths)

        def centre(rows: slice) -> None:
            np.subtract(vectors[rows], np.outer(along[rows], self._popular), out=centred[rows])
            centred[rows] /= lengths[rows, None]

        _by_rows(centre, vectors)
        by_centred = self._off(centred)

        def scale(rows: slice) -> None:
            by_lengths[rows] = -(by_centred[rows] * centred[rows]).sum(axis=1) / lengths[rows]
            by_centred[rows] /= lengths[rows, None]

        _by_rows(scale, vectors)
        by_along = by_lengths * slopes / root - by_centred @ self._popular

        def restore(rows: slice) -> None:
            by_centred[rows] += np.outer(by_along[rows], self._popular)
            by_centred[rows] *= self._believed

        _by_rows(restore, vectors)
        return by_centred

    def slopes(self, items: FittedItems) -> tuple[Small, Small]:
        """Return the gradients by offsets and by embeddings."""
        chances = _product(self._sample, items.item_embeddings.T)
        chances += items.offsets
        lengths = _to_chances(chances, self._activity, self._user_offsets, self._weights)
        vectors = np.empty_like(chances)
        scales = (np.sqrt(self._weight_of_user) / lengths)[:, None]

        def weigh(rows: slice) -> None:
            np.multiply(chances[rows], self._weights[:, 0], out=vectors[rows])
            vectors[rows] *= scales[rows]

        _by_rows(weigh, chances)
        of_users = self._by_vectors(vectors)
        off_popularity = self._weight_of_user * (self._roots @ chances) - self._popularity
        off_popularity *= self._popularity_believed * self._weight_of_user
        _back(chances, vectors, of_users, lengths, self._weights, off_popularity, self._roots)
        of_items = _product(of_users.T, self._sample) + self._prior * items.item_embeddings
        of_items += self._prior * self._by_features(items.item_embeddings)
        return of_users.sum(axis=0), of_items


def _pull_of_features(measured: FitTargets, start: FittedItems | None) -> Callable[[Small], Small]:
    """Return a force towards what features predict, added to the gradients of the fit."""
    # If they explain a share s of a direction's variance at the start, what they do not explain has
    # the variance 1 - s of the prior. Directions found among features are nearly linear in them, so
    # the force is up to 19 times the prior's. Products with activity, the first entry, have none.
    if measured.features is None or start is None:
        return np.zeros_like
    regression = FeatureRegression.of(measured.features, regression_weights(measured.popularity))
    share = regression.explained(start.item_embeddings.astype(np.float64))
    share[0] = 0.0
    strength = (share / (1 - share)).astype(np.float32)
    columns, solver = regression.columns.astype(np.float32), regression.solver.astype(np.float32)

    def pull(embeddings: Small) -> Small:
        return np.asarray(strength * (embeddings - columns @ (solver @ embeddings)))

    return pull


def regression_weights(popularity: Numbers) -> Numbers:
    """Return the weight of each item in a regression on features."""
    return np.maximum(popularity, _LEAST_WEIGHT)


_LEAST_WEIGHT = 1e-3


def _off_all(measured: FitTargets) -> Callable[[Small], Small]:
    """Return a function that multiplies embeddings by the residuals of all moments."""
    moments = measured.moments.astype(np.float32)
    np.fill_diagonal(moments, 0)

    def off(vectors: Small) -> Small:
        found = _product(vectors.T, vectors)
        found -= moments
        np.fill_diagonal(found, 0)
        return _product(vectors, found)

    return off


def _off_some(measured: FitTargets, rng: np.random.Generator) -> Callable[[Small], Small]:
    """Return an unbiased estimate of `_off_all` from batches of columns, in random order."""
    n = len(measured.moments)
    moments = measured.moments.astype(np.float32)
    np.fill_diagonal(moments, 0)
    waiting: list[NDArray[np.int64]] = []

    def off(vectors: Small) -> Small:
        if not waiting:
            waiting.extend(np.array_split(rng.permutation(n), -(-n // _AT_A_TIME)))
        some = waiting.pop()
        of_some = np.ascontiguousarray(vectors[:, some])
        found = _product(of_some.T, vectors)
        found -= moments[some]
        found[np.arange(some.size), some] = 0
        products = _product(of_some, found)
        products *= np.float32(n / some.size)
        return products

    return off


@compiled(parallel=True)
def _to_chances(odds, activity, offsets, weights):  # type: ignore[no-untyped-def]
    """Turn log-odds, in place, into probabilities that sum to `activity`; return vector lengths."""
    n_users, n_items = odds.shape
    lengths = np.empty(n_users, np.float32)
    for user in prange(n_users):
        offset = offsets[user]
        for _ in range(30):
            total, slope = 0.0, 1e-9
            for item in range(n_items):
                chance = 1 / (1 + np.exp(-(odds[user, item] + offset)))
                total += chance
                slope += chance * (1 - chance)
            step = min(2.0, max(-2.0, (total - activity[user]) / slope))
            offset -= np.float32(step)
            if abs(step) < 1e-2:  # Newton's next step would be its square
                break
        offsets[user] = offset
        square = 0.0
        for item in range(n_items):
            chance = 1 / (1 + np.exp(-(odds[user, item] + offset)))
            odds[user, item] = chance
            square += chance * weights[item, 1]
        lengths[user] = np.float32(np.sqrt(square))
    return lengths


@compiled(parallel=True)
def _back(chances, vectors, slopes, lengths, weights, popularity, roots):  # type: ignore[no-untyped-def]
    """Turn gradients by expected vectors into gradients by log-odds, in place."""
    n_users, n_items = chances.shape
    for user in prange(n_users):
        along = 0.0
        for item in range(n_items):
            along += slopes[user, item] * vectors[user, item]
        along *= 0.5 / (lengths[user] * lengths[user])
        total, spread = 0.0, 1e-12
        for item in range(n_items):
            chance = chances[user, item]
            steep = chance * (1 - chance)
            ratio = vectors[user, item] / chance if chance > 0 else 0.0
            slope = slopes[user, item] * ratio - along * weights[item, 1]
            slope = (slope + popularity[item] * roots[user]) * steep
            slopes[user, item] = slope
            total += slope
            spread += steep
        # The user's offset changes as well, so that their expected count stays the same.
        weighted = total / spread
        for item in range(n_items):
            chance = chances[user, item]
            slopes[user, item] -= weighted * chance * (1 - chance)
