"""Fitting people: which crowd, drawn by which rule, would have had the noisy moments?

People have tastes: a few numbers each, drawn from a normal distribution, the first of which says
how much they rate. Somebody rates an item with a probability whose log-odds are an offset of the
person, an offset of the item, and the product of both tastes. Items' offsets and tastes are fitted
so that a crowd drawn so has the moments that were measured. All of it looks at noisy sums alone.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import get_num_threads, prange
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import eigsh

from recveil.methods.synthetic.noisy_sums import LEAST_NOISE
from recveil.release.synthetic_form import MOST_DIRECTIONS
from recveil.runtime.compiled import compiled
from recveil.runtime.linear_algebra import one_thread
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import pool

Numbers = NDArray[np.float64]

# One direction of taste for so many people: more would be chance.
_PEOPLE_A_DIRECTION = 45
# The longest directions of more items than that are found one after the other.
_DIRECTIONS_AT_ONCE = 3_000


@brief
class Told(NamedTuple):
    """What was measured with noise of some items and of the people, in the terms of the fit.

    Attributes
    ----------
    moments : ndarray of float64, shape (n_items, n_items)
        Symmetric; the diagonal is not used.
    moments_noise : float
        Standard deviation of the noise of each entry off the diagonal.
    popularity : ndarray of float64, shape (n_items,)
        Sum over people of 1 over the root of their number of ratings, of those who rated the item.
    popularity_noise : float
    weights : ndarray of float64, shape (n_items, 2)
        What the item counts for in somebody's taste when they rated it, on average, and the mean
        of its square.
    activity : ndarray of float64, shape (n_activities,)
        Numbers of ratings that people have, on all items, equally likely.
    share : float
        The share of all ratings that are on these items.
    n_people : float
    """

    moments: Numbers
    moments_noise: float
    popularity: Numbers
    popularity_noise: float
    weights: Numbers
    activity: Numbers
    share: float
    n_people: float

    @property
    def usual(self) -> Numbers:
        """What each item is of a usual person's taste; its products are what popularity tells."""
        share = self.popularity / max(self.n_people, 1.0)
        return np.asarray(share * self.weights[:, 0] / np.sqrt(self.weights[:, 1].mean()))


@brief
class Directions(NamedTuple):
    """Directions that stand out, the longest last.

    Attributes
    ----------
    squares : ndarray of float64, shape (n_directions,)
        Their eigenvalues, as they were before the noise came (Gavish and Donoho 2017).
    vectors : ndarray of float64, shape (n_items, n_directions)
    """

    squares: Numbers
    vectors: Numbers


def directions(told: Told) -> Directions:
    """Return what of the moments is longer than noise is, popularity taken away.

    Noise alone has eigenvalues up to ``2 noise sqrt(n_items)`` (Wigner). One that stands out of it
    has become longer by the noise, and is made shorter again.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> taste = np.where(np.arange(60) < 30, 0.1, -0.1)
    >>> noise = np.triu(rng.normal(size=(60, 60)) * 0.05, 1)
    >>> moments = 50 * np.outer(taste, taste) + noise + noise.T
    >>> told = Told(moments, 0.05, np.zeros(60), 1.0, np.ones((60, 2)), np.ones(1), 1.0, 900.0)
    >>> found = directions(told)
    >>> found.squares.round(), bool(abs(found.vectors[:, -1] @ taste) > 0.75)
    (array([30.]), True)
    """
    left = told.moments - told.n_people * np.outer(told.usual, told.usual)
    np.fill_diagonal(left, 0)
    n = len(left)
    most = min(MOST_DIRECTIONS, n - 1, int(told.n_people / _PEOPLE_A_DIRECTION))
    if most < 1:
        return Directions(np.empty(0), np.empty((n, 0)))
    if n <= _DIRECTIONS_AT_ONCE:
        values, vectors = linalg.eigh(left, subset_by_index=(n - most, n - 1), overwrite_a=True)
    else:
        start = np.random.default_rng(0).normal(size=n)
        values, vectors = eigsh(left, most, which="LA", v0=start, tol=1e-3)
    edge = 2 * told.moments_noise * np.sqrt(n)
    out = values > edge
    return Directions(np.sqrt(values[out] ** 2 - edge**2), vectors[:, out])


# The crowd that stands for everybody while items are fitted.
_CROWD = 2_000
_ROUNDS, _STEP = 120, 0.05
# Adam's memories of slopes and of their squares (Kingma and Ba 2015).
_OF_SLOPES, _OF_SQUARES = 0.9, 0.99
# How much an item's taste is held near 0: as much as one that was seen once with this spread.
_PRIOR_SPREAD = 0.8
# A person rates at most this share of the items that are told.
_MOST_RATED = 0.7
# Of more items than that, so many are compared with all others at a time.
_AT_ONCE, _AT_A_TIME = 1_800, 600
_FAR = 1.5
# Products of matrices with more steps are worked out in so many parts, each by one thread.
_LITTLE, _PARTS = 1 << 24, 8

Small = NDArray[np.float32]


@brief
class FittedItems(NamedTuple):
    """Items as the people who are drawn see them.

    Attributes
    ----------
    offsets : ndarray of float32, shape (n_items,)
    tastes : ndarray of float32, shape (n_items, 1 + n_directions)
        The first column goes with how much somebody rates.
    """

    offsets: Small
    tastes: Small


def fit_items(told: Told, rng: np.random.Generator) -> FittedItems:
    """Fit offsets and tastes of items to noisy moments and popularity.

    Parameters
    ----------
    told : Told
    rng : Generator
        Draws the crowd.

    Notes
    -----
    Least squares, each number weighted by its noise, with a normal prior for tastes; Adam, with
    exact slopes. The crowd's tastes are orthonormal, so that its own chance plays no part.
    """
    # Shared out among threads in another way, a sum has another last bit, and the seed says less.
    with one_thread():
        found = directions(told)
        activity, crowd = _crowd(told, found.squares.size, rng)
        items = _start(told, activity, found)
        _descend(items, _Fit(told, activity, crowd, rng))
    return items


def _descend(items: FittedItems, fit: "_Fit") -> None:
    """Make the misfit small, in place."""
    slopes = [np.zeros_like(part) for part in items]
    squares = [np.zeros_like(part) for part in items]
    for turn in range(_ROUNDS):
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
    """Return the product of two matrices, the same for any number of threads."""
    if left.size * right.shape[1] < _LITTLE:
        return np.asarray(left @ right)
    whole = np.empty((len(left), right.shape[1]), np.float32)
    edges = np.linspace(0, len(left), _PARTS + 1).astype(int)

    def multiply(first: int, last: int) -> None:
        np.matmul(left[first:last], right, out=whole[first:last])

    with pool(get_num_threads()) as workers:
        list(workers.map(multiply, edges[:-1], edges[1:]))
    return whole


def centre_of(activity: Numbers) -> tuple[float, float]:
    """Return mean and spread of the logarithm of activities; a spread of 0 counts as 1.

    Examples
    --------
    >>> centre_of(np.array([1.0, 1.0]))
    (0.0, 1.0)
    """
    logs = np.log(activity)
    return float(logs.mean()), float(logs.std()) or 1.0


def on_told(activity: Numbers, share: float, n_items: int) -> Numbers:
    """Return how many of some items people rate who have so many ratings on all."""
    return np.clip(activity * share, 1, max(1.0, _MOST_RATED * n_items))


def _crowd(told: Told, n_directions: int, rng: np.random.Generator) -> tuple[Small, Small]:
    """Return the numbers of ratings of a crowd, and its tastes, exactly spread."""
    places = (np.arange(_CROWD) + 0.5) / _CROWD
    everything = rng.permutation(np.quantile(told.activity, places))
    mean, spread = centre_of(told.activity)
    logs = (np.log(everything) - mean) / spread
    tastes = np.column_stack([logs, rng.normal(size=(_CROWD, n_directions))])
    tastes[:, 1:] -= tastes[:, 1:].mean(axis=0)
    if n_directions:
        # Each direction loses what it shares with those before it, the activity included.
        lengths = np.sqrt(_CROWD)
        tastes[:, 1:] = _orthonormal(tastes)[:, 1:] * lengths
    activity = on_told(everything, told.share, len(told.popularity))
    return activity.astype(np.float32), tastes.astype(np.float32)


def _orthonormal(tastes: Numbers) -> Numbers:
    columns = np.column_stack([np.ones(len(tastes)), tastes])
    found, upper = linalg.qr(columns, mode="economic")
    return np.asarray((found * np.sign(np.diag(upper)))[:, 1:], np.float64)


def _start(told: Told, activity: Small, found: Directions) -> FittedItems:
    """Return offsets from popularity, and tastes from what stands out of the noise."""
    n = len(told.popularity)
    mean = float(activity.mean())
    popular = np.maximum(told.popularity, 0)
    share = np.clip(mean * popular / max(popular.sum(), 1e-12), 0.03 * mean / n, 0.9)
    offsets = np.log(share / (1 - share))
    lengths = np.sqrt(found.squares / told.n_people)
    typical = np.maximum(told.popularity / told.n_people, 1e-3)
    first = np.clip(0.7 * found.vectors * lengths / typical[:, None], -_FAR, _FAR)
    tastes = np.column_stack([np.zeros(n), first])
    return FittedItems(offsets.astype(np.float32), tastes.astype(np.float32))


class _Fit:
    """The slopes of the misfit, for a crowd that stays the same."""

    def __init__(self, told: Told, activity: Small, crowd: Small, rng: np.random.Generator) -> None:
        self._crowd, self._activity = crowd, activity
        noise = max(told.moments_noise, LEAST_NOISE)
        self._stands_for = np.float32(told.n_people / len(crowd))
        few = len(told.moments) <= _AT_ONCE
        self._off = _off_all(told) if few else _off_some(told, rng)
        self._believed = np.float32(1 / noise**2)
        self._popularity = told.popularity.astype(np.float32)
        popular_noise = max(told.popularity_noise, LEAST_NOISE)
        self._popularity_believed = np.float32(1 / popular_noise**2)
        self._weights = told.weights.astype(np.float32)
        self._roots = np.sqrt(np.float32(told.share) / activity)
        self._offsets_of_people = np.zeros(len(crowd), np.float32)
        self._prior = np.float32(1 / _PRIOR_SPREAD**2)

    def slopes(self, items: FittedItems) -> tuple[Small, Small]:
        """Return how the misfit grows with offsets and tastes."""
        chances = _product(self._crowd, items.tastes.T)
        chances += items.offsets
        lengths = _to_chances(chances, self._activity, self._offsets_of_people, self._weights)
        tastes = chances * self._weights[:, 0]
        tastes *= (np.sqrt(self._stands_for) / lengths)[:, None]
        of_tastes = self._off(tastes)
        of_tastes *= self._believed
        off_popularity = self._stands_for * (self._roots @ chances) - self._popularity
        off_popularity *= self._popularity_believed * self._stands_for
        _back(chances, tastes, of_tastes, lengths, self._weights, off_popularity, self._roots)
        of_items = _product(of_tastes.T, self._crowd) + self._prior * items.tastes
        return of_tastes.sum(axis=0), of_items


def _off_all(told: Told) -> Callable[[Small], Small]:
    """Return how far all cells of a crowd's moments are off, times its tastes."""
    moments = told.moments.astype(np.float32)
    np.fill_diagonal(moments, 0)

    def off(tastes: Small) -> Small:
        found = _product(tastes.T, tastes)
        found -= moments
        np.fill_diagonal(found, 0)
        return _product(tastes, found)

    return off


def _off_some(told: Told, rng: np.random.Generator) -> Callable[[Small], Small]:
    """Return the same, guessed from the columns of some items: others each time, all in turn.

    Of many items, that takes far less work, and on average it is as far off as all cells are.
    """
    n = len(told.moments)
    moments = told.moments.astype(np.float32)
    np.fill_diagonal(moments, 0)
    waiting: list[NDArray[np.int64]] = []

    def off(tastes: Small) -> Small:
        if not waiting:
            waiting.extend(np.array_split(rng.permutation(n), -(-n // _AT_A_TIME)))
        some = waiting.pop()
        of_some = np.ascontiguousarray(tastes[:, some])
        found = _product(of_some.T, tastes)
        found -= moments[some]
        found[np.arange(some.size), some] = 0
        products = _product(of_some, found)
        products *= np.float32(n / some.size)
        return products

    return off


@compiled(parallel=True)
def _to_chances(odds, activity, offsets, weights):  # type: ignore[no-untyped-def]
    """Turn log-odds into chances in place, so that each person rates as much as they do.

    Returns the length of each person's expected taste.
    """
    n_people, n_items = odds.shape
    lengths = np.empty(n_people, np.float32)
    for person in prange(n_people):
        offset = offsets[person]
        for _ in range(30):
            total, slope = 0.0, 1e-9
            for item in range(n_items):
                chance = 1 / (1 + np.exp(-(odds[person, item] + offset)))
                total += chance
                slope += chance * (1 - chance)
            step = min(2.0, max(-2.0, (total - activity[person]) / slope))
            offset -= np.float32(step)
            if abs(step) < 1e-2:  # the next one would be its square
                break
        offsets[person] = offset
        square = 0.0
        for item in range(n_items):
            chance = 1 / (1 + np.exp(-(odds[person, item] + offset)))
            odds[person, item] = chance
            square += chance * weights[item, 1]
        lengths[person] = np.float32(np.sqrt(square))
    return lengths


@compiled(parallel=True)
def _back(chances, tastes, slopes, lengths, weights, popularity, roots):  # type: ignore[no-untyped-def]
    """Turn slopes by expected tastes into slopes by log-odds, in place."""
    n_people, n_items = chances.shape
    for person in prange(n_people):
        along = 0.0
        for item in range(n_items):
            along += slopes[person, item] * tastes[person, item]
        along *= 0.5 / (lengths[person] * lengths[person])
        total, spread = 0.0, 1e-12
        for item in range(n_items):
            chance = chances[person, item]
            steep = chance * (1 - chance)
            ratio = tastes[person, item] / chance if chance > 0 else 0.0
            slope = slopes[person, item] * ratio - along * weights[item, 1]
            slope = (slope + popularity[item] * roots[person]) * steep
            slopes[person, item] = slope
            total += slope
            spread += steep
        # The person's own offset gives way, so that they rate as much as before.
        held = total / spread
        for item in range(n_items):
            chance = chances[person, item]
            slopes[person, item] -= held * chance * (1 - chance)
