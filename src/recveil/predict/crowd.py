"""Crowd: the users as a neighbour looks at them, by what they rated and by who rated it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.compiled import compiled
from recveil.ratings import Ratings

# Deviations lie on a grid of this share of the scale's range, about a millionth. So the rounding
# noise of a mean is 0, and sums of weighted deviations are exact, in whatever order they are taken.
_GRID = 2.0**-20

# How the biases are learned: the usual values for ratings from 1 to 5, with passes to spare.
_USER_PULL, _ITEM_PULL, _BIAS_PASSES = 10, 25, 10


@brief
class Crowd(NamedTuple):
    """Deviations of ratings from a baseline, in rows by user and in lists by item.

    Deviations are shares of the scale's range, so that the same numbers serve every scale; eq. 3
    of k-coRating divides by the range anyway.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_users + 1,)
        The ratings of user u stand at ``indptr[u]:indptr[u + 1]``.
    items : ndarray of int32, shape (n_ratings,)
        Positions of the rated items, ascending in each row.
    deviations : ndarray of float32, shape (n_ratings,)
        ``(rating - baseline) / range``; the baseline is the mean of its user, or more.
    starts : ndarray of int64, shape (n_items + 1,)
        The ratings of item i stand at ``starts[i]:starts[i + 1]`` of the next two.
    raters : ndarray of int32, shape (n_ratings,)
        Positions of the users who rated the item, ascending for each item.
    opinions : ndarray of float32, shape (n_ratings,)
        Their deviations.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    deviations: NDArray[np.float32]
    starts: NDArray[np.int64]
    raters: NDArray[np.int32]
    opinions: NDArray[np.float32]


@brief
class Offsets(NamedTuple):
    """What is predicted before anybody is asked: ``of_users[u] + of_items[i]``, in rating points.

    Attributes
    ----------
    of_users : ndarray of float64, shape (n_users,)
    of_items : ndarray of float64, shape (n_items,)
    """

    of_users: NDArray[np.float64]
    of_items: NDArray[np.float64]


def user_means(ratings: Ratings) -> Offsets:
    """Take each user's mean rating, and nothing for the item.

    Whoever has no ratings gets the mean of all; without any rating, that is the scale's low end.

    Examples
    --------
    >>> user_means(Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 2, 1])).of_users
    array([3.5, 1. ])
    """
    sums = np.bincount(ratings.user_positions(), ratings.values, minlength=ratings.n_users)
    means = sums / np.maximum(ratings.activity, 1)
    return Offsets(
        np.where(ratings.activity > 0, means, _overall(ratings)), np.zeros(ratings.n_items)
    )


def biases(ratings: Ratings) -> Offsets:
    """Take how much each user and each item lie above the mean of all ratings.

    Both are pulled towards zero, as if users had ten and items 25 ratings more that equal what is
    predicted for them; of a few passes, each mends one side with the other held fixed.

    Examples
    --------
    >>> found = biases(Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 2, 1]))
    >>> bool(found.of_users[0] > found.of_users[1])
    True
    """
    users, mean = ratings.user_positions(), _overall(ratings)
    of_users, of_items = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
    above = ratings.values - np.float64(mean)
    for _ in range(_BIAS_PASSES):
        left = np.bincount(ratings.indices, above - of_users[users], ratings.n_items)
        of_items = left / (ratings.support + _ITEM_PULL)
        left = np.bincount(users, above - of_items[ratings.indices], ratings.n_users)
        of_users = left / (ratings.activity + _USER_PULL)
    return Offsets(mean + of_users, of_items)


def _overall(ratings: Ratings) -> float:
    return float(ratings.values.mean(dtype=np.float64)) if ratings.n_ratings else ratings.scale.low


def gather(ratings: Ratings, baseline: Offsets) -> Crowd:
    """List by how much all ratings deviate from the baseline.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2])
    >>> crowd = gather(ratings, user_means(ratings))
    >>> crowd.deviations, crowd.raters[crowd.starts[0] : crowd.starts[1]]
    (array([ 0.5, -0.5,  0. ], dtype=float32), array([0, 1], dtype=int32))
    """
    apart = ratings.values - np.repeat(baseline.of_users, ratings.activity)
    apart -= baseline.of_items[ratings.indices]
    apart /= ratings.scale.range or 1.0
    on_grid = (np.rint(apart / _GRID) * _GRID).astype(np.float32)
    indptr, items = ratings.indptr, ratings.indices
    starts, raters, opinions = _list_by_item(indptr, items, on_grid, ratings.n_items)
    return Crowd(indptr, items, on_grid, starts, raters, opinions)


@compiled()
def _list_by_item(
    indptr: NDArray[Any], items: NDArray[Any], deviations: NDArray[Any], n_items: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Turn rows by user into lists by item (a counting sort)."""
    starts = np.zeros(n_items + 1, np.int64)
    for item in items:
        starts[item + 1] += 1
    for item in range(n_items):
        starts[item + 1] += starts[item]
    following = starts[:-1].copy()
    raters, opinions = np.empty(items.size, np.int32), np.empty(items.size, np.float32)
    for user in range(indptr.size - 1):
        for at in range(indptr[user], indptr[user + 1]):
            place = following[items[at]]
            following[items[at]] += 1
            raters[place], opinions[place] = user, deviations[at]
    return starts, raters, opinions
