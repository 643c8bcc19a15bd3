"""Handle rare items, so that they disclose no user and take little time.

A predicted value that is learned from one user's rating equals that rating. So items with few
raters are dropped, or predicted as one pooled item. A long tail has more items than users have
ratings: dealing them by item count takes time in proportion to the ratings.
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
    """Return as which item each is predicted: itself, or the first of the `pooled_items`."""
    target_of = np.arange(ratings.n_items, dtype=np.int32)
    pool = pooled_items(ratings, least)
    target_of[pool] = pool[:1]
    return target_of


def merge_items(ratings: Ratings, target_of: NDArray[np.int32]) -> Ratings:
    """Return ratings with pooled items merged into one, without dates, on a continuous scale.

    A user's ratings of merged items become their mean, so each user is at most 1/least of the pool.
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
    """Split the published items into the `MOST_COMMON` with the largest counts and rare ones.

    Both parts are ascending; ties go to earlier items. Items with fewer than `least` raters are in
    neither part: one of them in a row would reveal that a user rated it.
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
    """Sample pairs of a row and a rare item, each once, by item count and row length alone.

    `support` has the expected count of each rare item, at least one, `lengths` the expected number
    of rare items in each row, up to a factor, `sizes` the users per row. Source: systematic
    sampling (Madow and Madow 1944), item by item, in the shared sums of `lengths`.
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
