"""Taste refining: what items are like, once more, from sums of what people's ratings say of them.

MLlib pulls factors to zero by the number of ratings alone, and takes biases for known before it
begins. Here people's biases are solved for with their factors, items' means are learned with
theirs, and what few ratings say is believed less. Executors add up; the driver moves items.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recveil.compiled import compiled
from recveil.ratings import Ratings
from recveil.spark.spread_people import SpreadPeople, Whole
from recveil.spark.taste_factors import LEAST_PULL, OWN_PULL, RatedItems, TasteFactors

# So often all items are moved; more changed little.
REFINED = 4
# An item's mean is pulled to that of all by so many ratings.
_MEAN_PULL = 2.0
# Sums are in whole steps of this size. A person's factors are below 12, by the pull on them, and so
# sums of 10 ** 11 ratings fit into 64 bits even if everybody's were.
_STEPS = float(1 << 16)


def refine_factors(people: SpreadPeople, items: RatedItems, known: TasteFactors) -> TasteFactors:
    """Move items to where people's ratings pull them, some times.

    Parameters
    ----------
    people : SpreadPeople
    items : RatedItems
    known : TasteFactors
        As learned by MLlib.

    Notes
    -----
    What falls with each move is the sum of squared errors and of the pulls on factors. People are
    at its minimum, given the items. An item's own minimum would take ``rank ** 2`` sums each; one
    step of conjugate gradients takes ``rank``, and one more for how far to go, so that it never
    goes too far (Takács, Pilászy and Tikk 2011). Sums are of whole numbers, the same in
    whatever order.
    """
    for _ in range(REFINED):
        known = _moved(people, items, known)
    return known


def _moved(people: SpreadPeople, items: RatedItems, known: TasteFactors) -> TasteFactors:
    """Move each item once: where its slope says, as far as its errors fall."""
    unit, n_items, rank = known.unit, *known.factors[:, :-1].shape
    above = (known.offset - items.mean)[:, None]
    at = np.hstack([known.factors[:, :-1], above]).astype(np.float64) / unit
    pulls = np.outer(items.support, [OWN_PULL] * rank + [0.0])
    pulls += [LEAST_PULL] * rank + [_MEAN_PULL]
    sums = people.add_up(_slopes, known) / _STEPS
    slopes = sums[:n_items] - pulls * at
    ways = _ways(slopes, sums[n_items:], items.support)
    bends = people.add_up(_bends, known, ways) / _STEPS + (pulls * ways**2).sum(axis=1)
    far = (slopes * ways).sum(axis=1) / np.maximum(bends, np.finfo(float).tiny)
    at += far[:, None] * ways
    offset = (items.mean + unit * at[:, -1]).astype(np.float32)
    return TasteFactors.of(offset, at[:, :-1], people.scale)


def _ways(
    slopes: NDArray[np.float64], squares: NDArray[np.float64], support: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return in which direction each item moves, of length 1 or 0.

    It is the way to its minimum, if those who rated it were like those who rated all others.

    Examples
    --------
    >>> _ways(np.array([[3.0, 4.0], [0.0, 0.0]]), 2 * np.eye(2), np.array([1, 1])).round(1)
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    with threadpool_limits(1, user_api="blas"):  # whatever the threads, the same bits
        spreads, axes = np.linalg.eigh(squares / max(1, support.sum()))
        usual = np.outer(support, np.maximum(spreads, 0.0) + OWN_PULL) + LEAST_PULL
        ways = slopes @ axes / usual @ axes.T
    lengths = np.linalg.norm(ways, axis=1, keepdims=True)
    return np.asarray(ways / np.where(lengths > 0, lengths, 1.0), np.float32)


def _slopes(ratings: Ratings, known: TasteFactors) -> Whole:
    """Return of each item how its errors pull it, and last how people's factors spread.

    Examples
    --------
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale(1, 5, 1)
    >>> ratings = Ratings.from_columns([1, 1], [7, 8], [5, 1], scale=scale)
    >>> known = TasteFactors.of(np.full(2, 3, np.float32), np.array([[3], [-3]]), scale)
    >>> (_slopes(ratings, known) / 2**16).round(1)
    array([[ 0.3,  0.7],
           [-0.3, -0.7],
           [ 0.4,  0.9],
           [ 0.9,  2. ]])
    """
    left = ratings.values.astype(np.float64) - known.offset[ratings.indices]
    of_people = known.of_people(ratings).astype(np.float64)
    return np.asarray(_sloped(ratings.indptr, ratings.indices, left, known.factors, of_people))


def _bends(ratings: Ratings, known: TasteFactors, ways: NDArray[np.float32]) -> Whole:
    """Return how fast the errors of each item grow along its way."""
    of_people = known.of_people(ratings).astype(np.float64)
    return np.asarray(_bent(ratings.indptr, ratings.indices, of_people, ways))


@compiled()
def _sloped(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    left: NDArray[Any],
    factors: NDArray[Any],
    of_people: NDArray[Any],
) -> NDArray[Any]:
    n_items, n = factors.shape
    sums = np.zeros((n_items + n, n), np.int64)
    own = np.ones(n)  # the last factor of a person belongs to the item's mean
    for user in range(indptr.size - 1):
        own[: n - 1] = of_people[user, : n - 1]
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            error = left[at]
            for i in range(n):
                error -= of_people[user, i] * factors[item, i]
            error /= factors[item, n - 1]
            for i in range(n):
                sums[item, i] += np.int64(np.rint(error * own[i] * _STEPS))
        times = _STEPS * (indptr[user + 1] - indptr[user])
        for i in range(n):
            for j in range(n):
                sums[n_items + i, j] += np.int64(np.rint(own[i] * own[j] * times))
    return sums


@compiled()
def _bent(
    indptr: NDArray[Any], indices: NDArray[Any], of_people: NDArray[Any], ways: NDArray[Any]
) -> NDArray[Any]:
    n_items, n = ways.shape
    sums = np.zeros(n_items, np.int64)
    for user in range(indptr.size - 1):
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            along = np.float64(ways[item, n - 1])
            for i in range(n - 1):
                along += of_people[user, i] * ways[item, i]
            sums[item] += np.int64(np.rint(along * along * _STEPS))
    return sums
