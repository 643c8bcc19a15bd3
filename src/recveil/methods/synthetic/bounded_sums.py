"""Exact sums of one bounded vector per user, as integers on a grid.

Each user contributes a vector of length at most 1 to each sum, so adding or removing a user moves a
sum by at most 1: its sensitivity. Every number of a vector is rounded toward zero to a grid first,
which can only shorten the vector; sums of integers are exact in any order.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from recveil.ratings import Ratings, RatingScale
from recveil.release.synthetic_form import COUNT_SHARE
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief

# Grid of vector entries, rounded toward zero; coarser if noise is very large.
FINE = 2.0**-20
# Smallest grid of `moments`, as a power of two; products have its square.
_FINEST = -15
# Largest noise of products and of sums, in doublings of the grid.
_NOISE_STEPS, _MOST_STEPS = 28, 30
# Entries are scaled by this before rounding. It exceeds the floating-point error of roots,
# quotients and a sum of up to a million squares.
SURELY_BOUNDED = 1 - 2.0**-30
# Weight of a rated item that was not liked, relative to a liked one.
RATED = 0.4
# Number of parts of the sums of products, one thread each.
_PARTS = 8
# Scales two numbers of at most 1 to a vector of length at most 1.
SPREAD_SHARE = math.sqrt(0.5)

Whole = NDArray[np.int64]


def sum_grid(sigma: float) -> float:
    """Return the grid of sums for public noise, which is fine compared with the noise."""
    if sigma <= 0:
        return FINE
    return max(FINE, 2.0 ** math.ceil(math.log2(sigma) - _MOST_STEPS))


def users_by_activity(ratings: Ratings, edges: Whole) -> Whole:
    """Count users by number of ratings, shape (n_bins,): a single 1 per user, of length 1."""
    return np.histogram(ratings.activity, edges)[0].astype(np.int64)


def item_sums(
    ratings: Ratings,
    centre: float,
    spread: float,
    grid: float = FINE,
    count_share: float = COUNT_SHARE,
) -> Whole:
    """Sum each item's popularity and rating deviations, in steps of a grid, shape (n_items, 2)."""
    # A user with n ratings contributes ``1 / sqrt(n)`` times c and ``s d``, d the deviation from
    # the centre: the squares sum to ``c² + s² mean(d²)``, with ``s² spread² = 1 - c²``. If the mean
    # of d² exceeds ``spread²``, the second numbers are scaled down, so that the sum is 1. Centre
    # and spread are public, or known from noisy sums. `ItemSums` converts to plain units.
    users, n = ratings.user_positions(), np.maximum(ratings.activity, 1)
    off = moved(ratings.values, ratings.scale) - centre
    squares = np.bincount(users, off**2, minlength=ratings.n_users) / n
    damping = np.sqrt(np.minimum(1, spread**2 / np.maximum(squares, 1e-300)))
    which = math.sqrt(count_share) / np.sqrt(n)[users]
    how = math.sqrt(1 - count_share) / spread * off * (damping / np.sqrt(n))[users]
    sums = np.zeros((ratings.n_items, 2), np.int64)
    for place, numbers in enumerate((which, how)):
        steps = np.trunc(numbers * SURELY_BOUNDED / grid).astype(np.int64)
        np.add.at(sums[:, place], ratings.indices, steps)
    return sums


def like_sums(likes: Ratings, grid: float = FINE) -> Whole:
    """Sum each item's popularity in implicit feedback, in steps of a grid, shape (n_items, 1).

    A user with n items contributes ``1 / sqrt(n)`` to each of them: the squares sum to 1.
    """
    per_user = SURELY_BOUNDED / np.sqrt(np.maximum(likes.activity, 1))
    steps = np.trunc(per_user[likes.user_positions()] / grid).astype(np.int64)
    sums = np.zeros((likes.n_items, 1), np.int64)
    np.add.at(sums[:, 0], likes.indices, steps)
    return sums


@brief
class ItemSums(NamedTuple):
    """Noisy item sums in plain units."""

    # Sum of ``1 / sqrt(n)`` over the users who rated the item
    popularity: NDArray[np.float64]
    # The same sum, weighted by the deviation of ratings scaled to -1 to 1 from the centre
    off_centre: NDArray[np.float64]
    # Standard deviations of the noise of each
    popularity_noise: float
    off_noise: float

    @classmethod
    def of(
        cls,
        noisy: NDArray[np.float64],
        spread: float,
        sigma: float,
        count_share: float = COUNT_SHARE,
    ) -> "ItemSums":
        """Undo the factors of `item_sums`; sigma is the noise of each number."""
        which, how = math.sqrt(count_share), math.sqrt(1 - count_share) / spread
        return cls(noisy[:, 0] / which, noisy[:, 1] / how, sigma / which, sigma / how)


def moved(values: NDArray[np.floating], scale: RatingScale) -> NDArray[np.float64]:
    """Scale ratings linearly to -1 (the scale's low end) to 1."""
    half = scale.range / 2 or 1.0
    return np.clip((np.asarray(values, np.float64) - scale.low) / half - 1, -1, 1)


def level_sums(ratings: Ratings, levels: NDArray[np.float64], grid: float = FINE) -> Whole:
    """Sum users' shares of ratings nearest to each level, in steps of a grid, shape (n_levels,).

    A user's shares are at least 0 and sum to 1: a vector of length at most 1.
    """
    between = (levels[1:] + levels[:-1]) / 2
    level_of = np.searchsorted(between, np.asarray(ratings.values, np.float64))
    return _sum_of_shares(ratings, level_of, levels.size, grid)


def kind_sums(
    ratings: Ratings, kinds: NDArray[np.int64], n_kinds: int, grid: float = FINE
) -> Whole:
    """Sum users' shares of ratings on each kind of items, as `level_sums`, shape (n_kinds,)."""
    return _sum_of_shares(ratings, kinds[ratings.indices], n_kinds, grid)


def _sum_of_shares(ratings: Ratings, part: NDArray[np.int64], n_parts: int, grid: float) -> Whole:
    """Sum, over users, the share of their ratings in each part."""
    cell = ratings.user_positions().astype(np.int64) * n_parts + part
    counts = np.bincount(cell, minlength=ratings.n_users * n_parts)
    shares = counts.reshape(ratings.n_users, -1) / np.maximum(ratings.activity, 1)[:, None]
    return np.trunc(shares / grid).astype(np.int64).sum(axis=0)


def spread_sums(ratings: Ratings, grid: float = FINE) -> Whole:
    """Sum users' mean ratings and the squares of these, in steps of a grid, shape (2,).

    A user with mean rating m, scaled to -1 to 1, contributes `SPREAD_SHARE` times m and m².
    """
    users = ratings.user_positions()
    sums = np.bincount(users, moved(ratings.values, ratings.scale), minlength=ratings.n_users)
    means = np.clip(sums / np.maximum(ratings.activity, 1), -1, 1)
    numbers = SPREAD_SHARE * np.stack([means, means**2])
    return np.trunc(numbers * SURELY_BOUNDED / grid).astype(np.int64).sum(axis=1)


def embedding_grid(sigma: float) -> float:
    """Return the grid of `moments` for public noise, which is fine compared with the noise."""
    power = math.ceil((math.log2(sigma) - _NOISE_STEPS) / 2) if sigma > 0 else _FINEST
    return 2.0 ** max(power, _FINEST)


# A centred vector has minus one of so many multiples of popularity, up to the largest one.
_MULTIPLES, _MOST_POPULAR = 64, 4.0


@brief
class PopularDirection(NamedTuple):
    """The direction of popularity, which is taken out of users' vectors."""

    # Unit vector or 0, shape (n_chosen,), without negative numbers
    direction: NDArray[np.float64]
    # The direction times minus each multiple, in steps of a grid, shape (n_multiples, n_chosen)
    steps: Whole

    @classmethod
    def of(cls, direction: NDArray[np.float64], grid: float) -> "PopularDirection":
        """Return a direction (`centre_of_vectors`), which is public, or from noisy sums."""
        multiples = np.linspace(0, _MOST_POPULAR, _MULTIPLES)
        return cls(direction, np.rint(np.outer(-multiples, direction) / grid).astype(np.int64))


def direction_of(popularity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a unit vector without negative numbers."""
    known = np.maximum(popularity, 1e-12)
    return np.asarray(known / np.linalg.norm(known))


def centre_of_vectors(popularity: NDArray[np.float64], *, is_centred: bool) -> NDArray[np.float64]:
    """Return the direction that is taken out of users' vectors; 0 if none is."""
    return direction_of(popularity) if is_centred else np.zeros(popularity.size)


def centred_length(along: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return divisors of users' vectors across the direction of popularity, and derivatives.

    `along` are products of users' vectors, of length 1, with the direction.
    """
    across = np.sqrt(np.maximum(1 - np.square(along), 0))
    least = along / _MOST_POPULAR
    slopes = np.where(across > least, -along / np.maximum(across, least), 1 / _MOST_POPULAR)
    return np.maximum(across, least), slopes


def moments(
    ratings: Ratings,
    chosen: NDArray[np.int64],
    popular: PopularDirection,
    liked_from: float,
    grid: float,
) -> Whole:
    """Sum the outer products of users' centred vectors with themselves, in steps of ``grid²``.

    A user's vector has 1 for each chosen item that they liked and `RATED` for each other one that
    they rated. Centred, it is the part across the direction of popularity, divided by its length,
    or more if the part along is `_MOST_POPULAR` times as long: squared entries of the product sum
    to at most 1. In steps, it is a sparse vector s of the rated items plus one of few multiples m
    of minus the direction. So the sum is that of ``s sᵀ`` and, for each m, of ``n m mᵀ + m Sᵀ + S
    mᵀ``, with S the sum of s of its n users.
    """
    indptr, places, steps, multiple_of = _steps_of(ratings, chosen, popular, liked_from, grid)
    sums = np.zeros((chosen.size, chosen.size), np.int64)
    _add_products(indptr, places, steps, sums, _PARTS)
    n_users = np.bincount(multiple_of, minlength=_MULTIPLES)
    rated = np.zeros((_MULTIPLES, chosen.size), np.int64)
    np.add.at(rated, (np.repeat(multiple_of, np.diff(indptr)), places), steps)
    _add_popular(sums, popular.steps, rated, n_users)
    return sums


def centred_vectors(
    ratings: Ratings,
    chosen: NDArray[np.int64],
    popular: PopularDirection,
    liked_from: float,
    grid: float,
) -> NDArray[np.float64]:
    """Return the centred vectors whose products `moments` sums, shape (n_users, n_chosen)."""
    indptr, places, steps, multiple_of = _steps_of(ratings, chosen, popular, liked_from, grid)
    vectors = popular.steps[multiple_of]
    np.add.at(vectors, (np.repeat(np.arange(ratings.n_users), np.diff(indptr)), places), steps)
    return np.asarray(vectors * grid, np.float64)


def _steps_of(
    ratings: Ratings,
    chosen: NDArray[np.int64],
    popular: PopularDirection,
    liked_from: float,
    grid: float,
) -> tuple[Whole, NDArray[np.int32], Whole, Whole]:
    place_of = np.full(ratings.n_items, -1, np.int64)
    place_of[chosen] = np.arange(chosen.size)
    rows = ratings.indptr, ratings.indices, ratings.values
    found = _centred(*rows, place_of, np.float32(liked_from), *popular, grid)
    indptr, places, steps, multiple_of = found
    return indptr, places, steps, multiple_of


@compiled(parallel=True)
def _add_popular(sums, popular, rated, n_users):  # type: ignore[no-untyped-def]
    """Add what the multiples of popularity add to the products, in the upper triangle."""
    for row in prange(len(sums)):
        for at in range(len(popular)):
            if n_users[at] == 0:
                continue
            whole = n_users[at] * popular[at, row] + rated[at, row]
            for column in range(row, len(sums)):
                sums[row, column] += (
                    whole * popular[at, column] + popular[at, row] * rated[at, column]
                )


@compiled()
def _centred(  # type: ignore[no-untyped-def]
    indptr, indices, values, place_of, liked_from, direction, popular, grid
):
    """Return centred vectors in steps of the grid: of rated items, and which multiple."""
    n_users = len(indptr) - 1
    starts = np.zeros(n_users + 1, np.int64)
    places = np.empty(len(indices), np.int32)
    steps = np.empty(len(indices), np.int64)
    multiple_of = np.zeros(n_users, np.int64)
    each = _MOST_POPULAR / (len(popular) - 1)
    squares = np.zeros(len(popular), np.int64)
    for at in range(len(popular)):
        for step in popular[at]:
            squares[at] += step * step
    filled = 0
    most = int(1 / grid) ** 2
    for user in range(n_users):
        first = filled
        square, along = 0.0, 0.0
        for at in range(indptr[user], indptr[user + 1]):
            place = place_of[indices[at]]
            if place >= 0:
                number = 1.0 if values[at] >= liked_from else RATED
                square += number * number
                along += number * direction[place]
                places[filled] = place
                steps[filled] = 1 if number == 1.0 else 0
                filled += 1
        starts[user + 1] = filled
        if filled == first:
            continue
        order = np.argsort(places[first:filled])
        places[first:filled] = places[first:filled][order]
        steps[first:filled] = steps[first:filled][order]
        across = math.sqrt(max(square - along * along, 0.0))
        if along < _MOST_POPULAR * across:
            multiple = int(along / across / each + 0.5)
            # So that the length is 1 although the multiple was rounded.
            product = multiple * each * along
            root = product * product - square * ((multiple * each) ** 2 - 1)
            scale = (product + math.sqrt(max(root, 0.0))) / square
        else:
            multiple = len(popular) - 1
            scale = _MOST_POPULAR / along
        multiple_of[user] = multiple
        whole = squares[multiple]
        for at in range(first, filled):
            number = 1.0 if steps[at] == 1 else RATED
            steps[at] = int(number * scale / grid)
            moved = popular[multiple, places[at]]
            whole += steps[at] * (steps[at] + 2 * moved)
        whole = _shorten(places[first:filled], steps[first:filled], popular[multiple], whole, most)
        if whole > most:
            multiple_of[user] = 0
            steps[first:filled] = 0
    return starts, places[:filled], steps[:filled], multiple_of


@compiled()
def _shorten(places, steps, popular, square, most):  # type: ignore[no-untyped-def]
    """Reduce steps until a vector's square is at most so much, as rounding may require."""
    before = square + 1
    while most < square < before:
        before = square
        for at in range(len(steps)):
            number = steps[at] + popular[places[at]]
            if steps[at] > 0 and number > 0:
                square -= 2 * number - 1
                steps[at] -= 1
    return square


@compiled()
def _by_place(indptr, places, n_places):  # type: ignore[no-untyped-def]
    """Return the entries of each position among `places`, and their users."""
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
    """Add all users' products, row after row of the sums, so that one row stays in the cache."""
    starts, found, users = _by_place(indptr, places, len(sums))
    for part in prange(parts):
        for row in range(part, len(sums), parts):
            row_sums = sums[row]
            for at in range(starts[row], starts[row + 1]):
                left = found[at]
                step = steps[left]
                for right in range(left, indptr[users[at] + 1]):
                    row_sums[places[right]] += step * steps[right]
