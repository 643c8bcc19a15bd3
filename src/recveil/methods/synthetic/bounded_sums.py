"""Bounded vectors: sums over people of one bounded vector each, exact, as whole steps of a grid.

Each person gives one vector of length at most 1 to each sum. So whoever comes or goes with all
their ratings moves a sum by at most 1, whatever they rated: its sensitivity. Every number of a
vector is rounded toward zero to a grid before it is added: that can only shorten the vector, and
sums of whole numbers are exact, in whatever order they are taken.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from recveil.ratings import Ratings, RatingScale
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief

# Numbers of a vector are rounded toward zero to multiples of this, or of more where noise is huge.
FINE = 2.0**-20
# Tastes are rounded to multiples of a power of two from this on, and their products to its square.
_FINEST = -15
# The noise of a product is so many doublings of its grid, at most; that of a sum so many.
_NOISE_STEPS, _MOST_STEPS = 28, 30
# Numbers are made so much smaller before they are rounded: as roots, quotients and the sum of up to
# a million squares of one person are worked out, rounding errs by less.
SURELY_BOUNDED = 1 - 2.0**-30
# What an item that was rated and not liked counts beside one that was liked.
RATED = 0.4
# The sums of products are added up in so many parts, each by one thread.
_PARTS = 8
# Of the length of a person's vector, what tells which items they rated; the rest tells how.
WHICH = math.sqrt(0.3)
HOW = math.sqrt(0.7)
# Two numbers of at most 1 make a vector of at most 1 together.
SPREAD_SHARE = math.sqrt(0.5)

Whole = NDArray[np.int64]


def sum_grid(sigma: float) -> float:
    """Return the grid of sums for noise of some size, which is public: fine beside the noise.

    Examples
    --------
    >>> sum_grid(60.0) == FINE, sum_grid(4096.0) == 4 * FINE
    (True, True)
    """
    if sigma <= 0:
        return FINE
    return max(FINE, 2.0 ** math.ceil(math.log2(sigma) - _MOST_STEPS))


def users_by_activity(ratings: Ratings, edges: Whole) -> Whole:
    """Count people by how many ratings they have, shape (n_bins,).

    A person is in one bin: a vector with a single 1, of length 1.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> users_by_activity(make_ratings(30, 20, 200, seed=1), np.array([1, 5, 21])).sum()
    np.int64(30)
    """
    return np.histogram(ratings.activity, edges)[0].astype(np.int64)


def item_sums(ratings: Ratings, centre: float, spread: float, grid: float = FINE) -> Whole:
    """Add up, by item, how much it was rated and how, in steps of a grid.

    A person with n ratings gives each of their items ``1 / sqrt(n)`` times two numbers: c, and
    ``s d`` with d how far the rating is from the centre, and ``s² spread² = 1 - c²``. The squares
    of all their numbers add up to ``c² + s² mean(d²)``. Whose mean of d² is above ``spread²`` has
    their second numbers made smaller, so that the sum is 1.

    Parameters
    ----------
    ratings : Ratings
    centre, spread : float
        Of ratings moved to -1 to 1: public, or known from noisy sums.
    grid : float
        From `sum_grid`.

    Returns
    -------
    ndarray of int64, shape (n_items, 2)
        `ItemSums` says what they mean.

    Examples
    --------
    Somebody with a single rating, one spread above the centre:

    >>> one = Ratings.from_columns(["ann"], ["film"], [4], scale=RatingScale(1, 5, 1))
    >>> numbers = item_sums(one, centre=0.0, spread=0.5) * FINE
    >>> numbers.round(4).tolist(), round(float((numbers**2).sum()), 4)
    ([[0.5477, 0.8367]], 1.0)
    """
    users, n = ratings.user_positions(), np.maximum(ratings.activity, 1)
    off = moved(ratings.values, ratings.scale) - centre
    squares = np.bincount(users, off**2, minlength=ratings.n_users) / n
    held = np.sqrt(np.minimum(1, spread**2 / np.maximum(squares, 1e-300)))
    which = WHICH / np.sqrt(n)[users]
    how = HOW / spread * off * (held / np.sqrt(n))[users]
    sums = np.zeros((ratings.n_items, 2), np.int64)
    for place, numbers in enumerate((which, how)):
        steps = np.trunc(numbers * SURELY_BOUNDED / grid).astype(np.int64)
        np.add.at(sums[:, place], ratings.indices, steps)
    return sums


def like_sums(likes: Ratings, grid: float = FINE) -> Whole:
    """Add up, by item, how much it was liked, in steps of a grid, shape (n_items, 1).

    A person with n likes gives ``1 / sqrt(n)`` to each of their items: the squares add up to 1.

    Examples
    --------
    >>> two = Ratings.from_columns(["ann"] * 4 + ["ben"], [1, 2, 3, 4, 4])
    >>> (like_sums(two) * FINE).round(4).T.tolist()
    [[0.5, 0.5, 0.5, 1.5]]
    """
    of_person = SURELY_BOUNDED / np.sqrt(np.maximum(likes.activity, 1))
    steps = np.trunc(of_person[likes.user_positions()] / grid).astype(np.int64)
    sums = np.zeros((likes.n_items, 1), np.int64)
    np.add.at(sums[:, 0], likes.indices, steps)
    return sums


@brief
class ItemSums(NamedTuple):
    """What noisy item sums say, in plain units.

    Attributes
    ----------
    popularity : ndarray of float64, shape (n_items,)
        Sum of ``1 / sqrt(n)`` over the people who rated the item.
    off_centre : ndarray of float64, shape (n_items,)
        The same sum of how far their ratings are from the centre, ratings moved to -1 to 1.
    popularity_noise, off_noise : float
        Standard deviations of the noise of each.
    """

    popularity: NDArray[np.float64]
    off_centre: NDArray[np.float64]
    popularity_noise: float
    off_noise: float

    @classmethod
    def of(cls, noisy: NDArray[np.float64], spread: float, sigma: float) -> "ItemSums":
        """Undo what `item_sums` multiplied by; sigma is the noise of each number."""
        stretch = HOW / spread
        return cls(noisy[:, 0] / WHICH, noisy[:, 1] / stretch, sigma / WHICH, sigma / stretch)


def moved(values: NDArray[np.floating], scale: RatingScale) -> NDArray[np.float64]:
    """Move ratings to -1 (the scale's low end) to 1.

    Examples
    --------
    >>> moved(np.array([1.0, 3.0, 5.0]), RatingScale(1, 5, 1))
    array([-1.,  0.,  1.])
    """
    half = scale.range / 2 or 1.0
    return np.clip((np.asarray(values, np.float64) - scale.low) / half - 1, -1, 1)


def level_sums(ratings: Ratings, levels: NDArray[np.float64], grid: float = FINE) -> Whole:
    """Add up people's shares of ratings at each level, in steps of a grid, shape (n_levels,).

    A person's shares are at least 0 and add up to 1: a vector of length at most 1.

    Parameters
    ----------
    ratings : Ratings
    levels : ndarray of float64, shape (n_levels,)
        Ascending; a rating counts for the nearest.
    grid : float
        From `sum_grid`.

    Examples
    --------
    >>> two = Ratings.from_columns(["ann"] * 2, ["film", "play"], [5, 1])
    >>> (level_sums(two, np.array([1.0, 3.0, 5.0])) * FINE).tolist()
    [0.5, 0.0, 0.5]
    """
    between = (levels[1:] + levels[:-1]) / 2
    level_of = np.searchsorted(between, np.asarray(ratings.values, np.float64))
    return _sum_of_shares(ratings, level_of, levels.size, grid)


def kind_sums(
    ratings: Ratings, kinds: NDArray[np.int64], n_kinds: int, grid: float = FINE
) -> Whole:
    """Add up people's shares of ratings on each kind of items, in steps of a grid.

    As with levels, a person's shares are at least 0 and add up to 1.

    Parameters
    ----------
    ratings : Ratings
    kinds : ndarray of int64, shape (n_items,)
        The kind of each item, from 0.
    n_kinds : int
    grid : float
        From `sum_grid`.

    Returns
    -------
    ndarray of int64, shape (n_kinds,)

    Examples
    --------
    >>> two = Ratings.from_columns(["ann", "ann", "bob"], ["film", "play", "play"], [5, 1, 3])
    >>> (kind_sums(two, np.array([0, 1]), 2) * FINE).tolist()
    [0.5, 1.5]
    """
    return _sum_of_shares(ratings, kinds[ratings.indices], n_kinds, grid)


def _sum_of_shares(ratings: Ratings, part: NDArray[np.int64], n_parts: int, grid: float) -> Whole:
    """Add up, over people, which share of their ratings belongs to each part."""
    cell = ratings.user_positions().astype(np.int64) * n_parts + part
    counts = np.bincount(cell, minlength=ratings.n_users * n_parts)
    shares = counts.reshape(ratings.n_users, -1) / np.maximum(ratings.activity, 1)[:, None]
    return np.trunc(shares / grid).astype(np.int64).sum(axis=0)


def spread_sums(ratings: Ratings, grid: float = FINE) -> Whole:
    """Add up people's mean ratings, and the squares of these, in steps of a grid, shape (2,).

    With m a person's mean rating, moved to -1 to 1, they give `SPREAD_SHARE` times m and m².

    Examples
    --------
    >>> two = Ratings.from_columns(["ann", "ben"], ["film"] * 2, [5, 1])
    >>> (spread_sums(two) * FINE / SPREAD_SHARE).round(4).tolist()
    [0.0, 2.0]
    """
    users = ratings.user_positions()
    sums = np.bincount(users, moved(ratings.values, ratings.scale), minlength=ratings.n_users)
    means = np.clip(sums / np.maximum(ratings.activity, 1), -1, 1)
    numbers = SPREAD_SHARE * np.stack([means, means**2])
    return np.trunc(numbers * SURELY_BOUNDED / grid).astype(np.int64).sum(axis=1)


def embedding_grid(sigma: float) -> float:
    """Return the grid of tastes for noise of some size, which is public: fine beside the noise.

    Examples
    --------
    >>> embedding_grid(0.3) == 2.0**-14, embedding_grid(8.0) == 2.0**-12
    (True, True)
    """
    power = math.ceil((math.log2(sigma) - _NOISE_STEPS) / 2) if sigma > 0 else _FINEST
    return 2.0 ** max(power, _FINEST)


def moments(ratings: Ratings, chosen: NDArray[np.int64], liked_from: float, grid: float) -> Whole:
    """Add up the outer products of people's tastes with themselves, in steps of ``grid²``.

    A person's taste has 1 for each chosen item that they liked and `RATED` for each other one that
    they rated, divided by its length. The outer product of a vector of length 1 with itself has
    entries whose squares add up to 1.

    Parameters
    ----------
    ratings : Ratings
    chosen : ndarray of int64, shape (n_chosen,)
        Positions of items, none twice.
    liked_from : float
        Ratings of so much, or more, say that the item was liked.
    grid : float
        From `embedding_grid`.

    Returns
    -------
    ndarray of int64, shape (n_chosen, n_chosen)
        On and above the diagonal; 0 beneath it.

    Examples
    --------
    >>> one = Ratings.from_columns(["ann"] * 2, ["film", "play"], [5, 4])
    >>> grid = embedding_grid(0.3)
    >>> (moments(one, np.arange(2), 4.0, grid) * grid**2).round(3).tolist()
    [[0.5, 0.5], [0.0, 0.5]]
    """
    place_of = np.full(ratings.n_items, -1, np.int64)
    place_of[chosen] = np.arange(chosen.size)
    indptr, places, steps = _tastes(
        ratings.indptr, ratings.indices, ratings.values, place_of, np.float32(liked_from), grid
    )
    sums = np.zeros((chosen.size, chosen.size), np.int64)
    _add_products(indptr, places, steps, sums, _PARTS)
    return sums


@compiled()
def _tastes(indptr, indices, values, place_of, liked_from, grid):  # type: ignore[no-untyped-def]
    """Return everybody's taste on the chosen items, in steps of the grid, ordered by place."""
    n_users = len(indptr) - 1
    starts = np.zeros(n_users + 1, np.int64)
    places = np.empty(len(indices), np.int32)
    steps = np.empty(len(indices), np.int64)
    filled = 0
    most = int(1 / grid) ** 2
    for user in range(n_users):
        first = filled
        square = 0.0
        for at in range(indptr[user], indptr[user + 1]):
            place = place_of[indices[at]]
            if place >= 0:
                number = 1.0 if values[at] >= liked_from else RATED
                square += number * number
                places[filled] = place
                steps[filled] = 1 if number == 1.0 else 0
                filled += 1
        starts[user + 1] = filled
        order = np.argsort(places[first:filled])
        places[first:filled] = places[first:filled][order]
        steps[first:filled] = steps[first:filled][order]
        length = math.sqrt(square)
        whole = 0
        for at in range(first, filled):
            number = 1.0 if steps[at] == 1 else RATED
            steps[at] = int(number / length / grid)
            whole += steps[at] * steps[at]
        # The rounding of a division could only reach a whole step that is not there.
        while whole > most:
            for at in range(first, filled):
                if steps[at] > 0:
                    whole -= 2 * steps[at] - 1
                    steps[at] -= 1
    return starts, places[:filled], steps[:filled]


@compiled()
def _by_place(indptr, places, n_places):  # type: ignore[no-untyped-def]
    """Return where each place stands among `places`, place after place, and for whom."""
    starts = np.zeros(n_places + 1, np.int64)
    for place in places:
        starts[place + 1] += 1
    starts = np.cumsum(starts)
    filled = starts[:-1].copy()
    found, users = np.empty(len(places), np.int64), np.empty(len(places), np.int32)
    for user in range(len(indptr) - 1):
        for at in range(indptr[user], indptr[user + 1]):
            to = filled[places[at]]
            found[to], users[to] = at, user
            filled[places[at]] += 1
    return starts, found, users


@compiled(parallel=True)
def _add_products(indptr, places, steps, sums, parts):  # type: ignore[no-untyped-def]
    """Add everybody's products, row after row of the sums: one row stays in the cache.

    Rows are dealt to parts in turn, as the first ones, of popular items, take longest.
    """
    starts, found, users = _by_place(indptr, places, len(sums))
    for part in prange(parts):
        for row in range(part, len(sums), parts):
            own = sums[row]
            for at in range(starts[row], starts[row + 1]):
                left = found[at]
                step = steps[left]
                for right in range(left, indptr[users[at] + 1]):
                    own[places[right]] += step * steps[right]
