"""Bounded vectors that measure how far a user's ratings follow the fitted embeddings.

Choices determine the embedding directions. Each user contributes one vector of length at most 1
that measures whether ratings follow them too. Along each direction it has two numbers: whether the
user rates higher what their choices lean to, and whether half of their ratings agrees with the
other half. Everything but the user's own ratings is known from noisy sums.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numba import prange
from numpy.typing import NDArray

from recveil.methods.synthetic.bounded_sums import SURELY_BOUNDED, moved
from recveil.ratings import Ratings
from recveil.release.synthetic_form import MOST_DIRECTIONS
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

# A user with this many ratings has weight 1/2, since few ratings carry little information.
_HALF_COUNTS = 20
# Shorter vectors count as 0.
_NOTHING = 1e-12
# Number of partial sums, one thread each.
_PARTS = 8

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]


@brief
class EmbeddingMap(NamedTuple):
    """Public item features for the query on embeddings."""

    # Item embeddings, centered over interactions
    directions: Numbers
    # Variance of these embeddings over interactions
    damping: Numbers
    # Mean ratings, scaled to -1 to 1
    means: Numbers
    # The half, 0 or 1, in which the item's ratings count; -1 for items without an embedding
    half: Whole

    @classmethod
    def of(cls, item_embeddings: NDArray[np.floating], popularity: Numbers, means: Numbers) -> Self:
        """Prepare items whose directions are uncorrelated, as `turned` makes them.

        Parameters
        ----------
        item_embeddings : ndarray of float, shape (n_items, n_directions)
        popularity : ndarray of float64, shape (n_items,)
            Relative frequency of each item.
        means : ndarray of float64, shape (n_items,)
            Mean ratings, scaled to -1 to 1.
        """
        met = _shares(popularity)
        has_embedding = np.any(item_embeddings, axis=1)
        # One thread, so that the last bit of a sum does not depend on the machine.
        with one_thread():
            off = np.where(has_embedding[:, None], item_embeddings - met @ item_embeddings, 0.0)
            damping = met @ off**2
        half = np.empty(met.size, np.int64)
        half[np.argsort(-popularity, kind="stable")] = np.arange(met.size) % 2
        return cls(off, damping, means, np.where(has_embedding, half, -1))


def turned(item_embeddings: NDArray[np.floating], popularity: Numbers) -> NDArray[np.float32]:
    """Rotate embeddings so that directions are uncorrelated over interactions.

    Users' embeddings are isotropic, so the rotated model samples the same users.

    Examples
    --------
    >>> turned(np.array([[3.0, 3.0], [-3.0, -3.0]]), np.ones(2)).round().tolist()
    [[0.0, 4.0], [0.0, -4.0]]
    """
    met = _shares(popularity)
    with one_thread():
        off = item_embeddings - met @ item_embeddings
        _, vectors = np.linalg.eigh((off * met[:, None]).T @ off)
        # Fix the sign: the positive numbers of each vector outweigh.
        vectors = vectors * np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
        return np.asarray(item_embeddings @ vectors, np.float32)


def _shares(popularity: Numbers) -> Numbers:
    known = np.maximum(popularity, 0)
    return known / known.sum() if known.any() else np.full(known.size, 1 / max(known.size, 1))


def embedding_moments(ratings: Ratings, released: Whole, items: EmbeddingMap, grid: float) -> Whole:
    """Sum every user's vector, in steps of a grid, shape (2, `MOST_DIRECTIONS`).

    Parameters
    ----------
    ratings : Ratings
    released : ndarray of int64, shape (n_released,)
        Positions of the items of the map.
    items : EmbeddingMap
    grid : float
        From `sum_grid`.

    Notes
    -----
    Take a user with n ratings on these items. Let e be their deviations from the items'
    means (less their own mean), b the embeddings along a direction (less their mean), and a the
    lean of the user's choices along it. The first number is ``a sum(e b)`` over ``sqrt(sum(e²)
    sum_d(a_d² sum(b_d²)))``. By Cauchy and Schwarz ``sum(e b)² <= sum(e²) sum(b²)``, so the squares
    of these numbers sum to at most 1. The second number is ``y z`` over ``|y| |z|``, where y and z
    are ``sum(e b)`` for the items of either half, with e and b less their means there. By Cauchy
    and Schwarz the sizes of these numbers sum to at most 1, and so do their squares. Both have a
    weight of at most 1 times the root of 1/2: one vector of length at most 1. If rounding makes the
    vector longer, it is scaled down; a value that is not a number counts as 0.
    """
    place_of = np.full(ratings.n_items, -1, np.int64)
    place_of[released] = np.arange(released.size)
    at = moved(ratings.values, ratings.scale).astype(np.float32)
    sums = np.zeros((_PARTS, 2, MOST_DIRECTIONS), np.int64)
    _add_up(ratings.indptr, ratings.indices, at, place_of, *items, grid, sums)
    return np.asarray(sums.sum(axis=0))


def embedding_vectors(
    indptr: Whole, places: NDArray[np.integer], at: Numbers, items: EmbeddingMap
) -> Numbers:
    """Return the vectors of some users, shape (n_users, 2, n_directions).

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_users + 1,)
    places : ndarray of int, shape (n_ratings,)
        Position in the map of each rating's item.
    at : ndarray of float, shape (n_ratings,)
        Ratings, scaled to -1 to 1.
    items : EmbeddingMap
    """
    vectors = np.zeros((indptr.size - 1, 2, items.damping.size))
    all_items = np.arange(len(items.means))
    _each(indptr, places, at.astype(np.float32), all_items, *items, vectors)
    return vectors


@compiled(parallel=True)
def _add_up(indptr, indices, at, place_of, directions, damping, means, half, grid, sums):  # type: ignore[no-untyped-def]
    """Sum vectors in whole steps; each vector is rounded toward zero first."""
    n_users = len(indptr) - 1
    for part in prange(len(sums)):
        vector = np.zeros((2, len(damping)))
        for user in range(part, n_users, len(sums)):
            first, last = indptr[user], indptr[user + 1]
            _one(
                indices[first:last],
                at[first:last],
                place_of,
                directions,
                damping,
                means,
                half,
                vector,
            )
            for kind in range(2):
                for along in range(len(damping)):
                    sums[part, kind, along] += int(vector[kind, along] * SURELY_BOUNDED / grid)


@compiled(parallel=True)
def _each(indptr, indices, at, place_of, directions, damping, means, half, vectors):  # type: ignore[no-untyped-def]
    for user in prange(len(vectors)):
        first, last = indptr[user], indptr[user + 1]
        _one(
            indices[first:last],
            at[first:last],
            place_of,
            directions,
            damping,
            means,
            half,
            vectors[user],
        )


@compiled()
def _one(indices, at, place_of, directions, damping, means, half, vector):  # type: ignore[no-untyped-def]
    """Write one user's vector; `embedding_moments` defines it and shows its bound."""
    n_directions = len(damping)
    vector[:] = 0.0
    # For the ratings in either half: their number, and sums of e, e², b, e b and b².
    n, of_e, of_ee = np.zeros(2), np.zeros(2), np.zeros(2)
    of_b, of_eb = np.zeros((2, n_directions)), np.zeros((2, n_directions))
    of_bb = np.zeros(n_directions)
    for rating in range(len(indices)):
        place = place_of[indices[rating]]
        if place < 0 or half[place] < 0:
            continue
        side = half[place]
        off = at[rating] - means[place]
        n[side] += 1
        of_e[side] += off
        of_ee[side] += off * off
        for along in range(n_directions):
            much = directions[place, along]
            of_b[side, along] += much
            of_eb[side, along] += off * much
            of_bb[along] += much * much
    known = n[0] + n[1]
    if known < 2:
        return
    spread = max(of_ee.sum() - of_e.sum() ** 2 / known, 0.0)
    square, square_0, square_1 = 0.0, 0.0, 0.0
    for along in range(n_directions):
        met = of_b[0, along] + of_b[1, along]
        leans = met / (1 + known * damping[along])
        together = of_eb[0, along] + of_eb[1, along] - of_e.sum() * met / known
        square += leans * leans * max(of_bb[along] - met * met / known, 0.0)
        vector[0, along] = leans * together
        if n[0] > 1 and n[1] > 1:
            in_0 = of_eb[0, along] - of_e[0] * of_b[0, along] / n[0]
            in_1 = of_eb[1, along] - of_e[1] * of_b[1, along] / n[1]
            square_0 += in_0 * in_0
            square_1 += in_1 * in_1
            vector[1, along] = in_0 * in_1
    fewer = 2 * min(n[0], n[1])
    _shorten(vector[0], math.sqrt(spread * square), known / (known + _HALF_COUNTS))
    _shorten(vector[1], math.sqrt(square_0 * square_1), fewer / (fewer + _HALF_COUNTS))


@compiled()
def _shorten(numbers, length, weight):  # type: ignore[no-untyped-def]
    """Divide by a length and multiply by the root of half a weight, which bounds the result."""
    if not length > _NOTHING:  # also true for NaN
        numbers[:] = 0.0
        return
    square = 0.0
    for along in range(len(numbers)):
        numbers[along] /= length
        square += numbers[along] * numbers[along]
    if not square < np.inf:
        numbers[:] = 0.0
        return
    if square > 1:
        numbers /= math.sqrt(square)
    numbers *= weight * math.sqrt(0.5)
