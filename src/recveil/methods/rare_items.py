"""Handle rare items, so that they disclose no user and take little time.

A predicted value that is learned from one user's rating equals that rating. So items with few
raters are dropped, or predicted as one pooled item. A long tail also has more items than users have
ratings. Sampling each class by each of them takes time proportional to users times items; dealing
them by item count takes time proportional to the ratings.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings, RatingScale
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.specs.sparse import MOST_COMMON


def pooled_items(ratings: Ratings, least: int) -> NDArray[np.int32]:
    """Return the items to predict as one, in ascending order.

    These are all items with fewer than `least` raters, and the next one if fewer users than that
    rated any of these.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2, 3, 1, 2, 3], list("aaabbc"), [3, 4, 3, 1, 5, 2])
    >>> pooled_items(ratings, 2)  # user 3's rating of c is pooled with those of b
    array([1, 2], dtype=int32)
    """
    rated = np.flatnonzero(ratings.support).astype(np.int32)
    by_support = rated[np.argsort(ratings.support[rated], kind="stable")]
    n_rare = int((ratings.support[rated] < least).sum())
    if not n_rare:
        return by_support[:0]
    is_rare = np.isin(ratings.indices, by_support[:n_rare])
    n_raters = sorted_unique(np.repeat(np.arange(ratings.n_users), ratings.activity)[is_rare]).size
    return np.sort(by_support[: n_rare + (n_raters < least)])


def labelled_as(ratings: Ratings, least: int) -> NDArray[np.int32]:
    """Return the item as which each item is predicted, shape (n_items,).

    The first item of `pooled_items` represents all of them; every other item represents itself.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2, 3, 1, 2, 3], list("aaabbc"), [3, 4, 3, 1, 5, 2])
    >>> labelled_as(ratings, 2)
    array([0, 1, 1], dtype=int32)
    """
    target_of = np.arange(ratings.n_items, dtype=np.int32)
    pool = pooled_items(ratings, least)
    target_of[pool] = pool[:1]
    return target_of


def merge_items(ratings: Ratings, target_of: NDArray[np.int32]) -> Ratings:
    """Return ratings with pooled items merged into one, without dates, on a continuous scale.

    A user who rated several merged items gives the pooled item the mean of these ratings. So each
    user has one rating among all raters of it: for the pool of `labelled_as` a share of at most
    1/least, however many of its items they rated. (A pool has at least `least` raters if there are
    as many users: it ends with an item that has so many, if all before it have fewer together.)

    Parameters
    ----------
    ratings : Ratings
    target_of : ndarray of int32, shape (n_items,)
        From `labelled_as`.
    """
    if (target_of == np.arange(ratings.n_items)).all():
        return ratings
    users, items = ratings.user_positions().astype(np.int64), target_of[ratings.indices]
    cells, cell_of = np.unique(users * ratings.n_items + items, return_inverse=True)
    values = np.bincount(cell_of, ratings.values) / np.bincount(cell_of)
    users, items = np.divmod(cells, ratings.n_items)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(users, minlength=ratings.n_users))])
    scale = RatingScale(ratings.scale.low, ratings.scale.high, None)  # means are between its steps
    return Ratings(ratings.users, ratings.items, indptr, items, values, None, scale)


def split_items(
    support: NDArray[Any], least: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Split the published items into common and rare ones, each in ascending order.

    Parameters
    ----------
    support : ndarray of int, shape (n_items,)
        Item counts.
    least : int
        Items with fewer raters are in neither part: one of them in a row would reveal that a user
        rated it.

    Returns
    -------
    common : ndarray of int32
        The `MOST_COMMON` items with the largest counts; ties go to earlier items.
    rare : ndarray of int32
        All others with at least `least` raters.

    Examples
    --------
    >>> common, rare = split_items(np.array([3, 0, 1]))
    >>> common, rare
    (array([0, 2], dtype=int32), array([], dtype=int32))
    """
    rated = np.flatnonzero(support >= least).astype(np.int32)
    by_support = rated[np.argsort(-support[rated].astype(np.int64), kind="stable")]
    return np.sort(by_support[:MOST_COMMON]), np.sort(by_support[MOST_COMMON:])


def activity_on(ratings: Ratings, kinds: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Count the items of each kind that each user rated, shape (n_users, n_kinds)."""
    counts = np.empty((ratings.n_users, len(kinds)), np.int64)
    for kind, items in enumerate(kinds):
        is_of = np.zeros(ratings.n_items, bool)
        is_of[items] = True
        np.add.reduceat(is_of[ratings.indices], ratings.indptr[:-1], out=counts[:, kind])
    return counts


def deal_rare(
    support: NDArray[Any],
    lengths: NDArray[np.float64],
    sizes: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sample the rows of each rare item, by item count and row length alone.

    A row with twice the rare length contains each item with twice the probability, whatever the
    embeddings of its users.

    Parameters
    ----------
    support : ndarray of int, shape (n_rare,)
        Expected count of each item, at least one.
    lengths : ndarray of float64, shape (n_classes,)
        Expected number of rare items in each row, up to a factor.
    sizes : ndarray of int64, shape (n_classes,)
        Users per row.
    rng : Generator
        Draws the start of each item's count.

    Returns
    -------
    rows : ndarray of int64, shape (n_drawn,)
    items : ndarray of int64, shape (n_drawn,)
        Positions in `support`, ascending; no pair of a row and an item occurs twice.

    Notes
    -----
    Source: systematic sampling (Madow and Madow 1944), over classes, item by item. All items share
    the sums of `lengths`, so that each draw is one search among them.
    """
    if not support.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    reached = np.cumsum(lengths)
    # Distance in `lengths` between samples of an item.
    apart = float(lengths @ sizes) / support
    start = rng.random(support.size)
    drawn = np.maximum(np.ceil(reached[-1] / apart - start), 0).astype(np.int64)
    items = np.repeat(np.arange(support.size), drawn)
    nth = np.arange(items.size) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    rows = np.searchsorted(reached, (start[items] + nth) * apart[items], side="right")
    rows = np.minimum(rows, lengths.size - 1)  # rounding may lead one beyond the last row
    # An item with more raters than its rows have users would be in one row twice.
    again = np.zeros(items.size, bool)
    again[1:] = (items[1:] == items[:-1]) & (rows[1:] == rows[:-1])
    return rows[~again], items[~again]
