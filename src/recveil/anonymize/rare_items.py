"""Rare items: those beyond the most popular ones, dealt to rows without a look at each cell.

A long tail has more items than people have ratings, and little to tell of each. Looking at each
class with each of them takes time that grows with people times items; dealing them by how often
they were rated takes time that grows with the ratings.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.release.sparse_words import MOST_COMMON


def split_items(support: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Split the items that anybody rated into common and rare ones, each in ascending order.

    Parameters
    ----------
    support : ndarray of int, shape (n_items,)
        How many people rated each item.

    Returns
    -------
    common : ndarray of int32
        The `MOST_COMMON` items that most people rated; the earlier ones, where as many did.
    rare : ndarray of int32
        All others that anybody rated.

    Examples
    --------
    >>> common, rare = split_items(np.array([3, 0, 1]))
    >>> common, rare
    (array([0, 2], dtype=int32), array([], dtype=int32))
    """
    rated = np.flatnonzero(support).astype(np.int32)
    by_support = rated[np.argsort(-support[rated].astype(np.int64), kind="stable")]
    return np.sort(by_support[:MOST_COMMON]), np.sort(by_support[MOST_COMMON:])


def deal_rare(
    support: NDArray[Any],
    lengths: NDArray[np.float64],
    sizes: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw which rows hold which rare items, by popularity and room alone.

    A row with room for twice as many items holds each of them twice as likely, whatever the tastes
    of its people.

    Parameters
    ----------
    support : ndarray of int, shape (n_rare,)
        How many people shall have each item on average, at least one.
    lengths : ndarray of float64, shape (n_classes,)
        How many rare items each row shall hold on average, in proportion.
    sizes : ndarray of int64, shape (n_classes,)
        How many people share each row.
    rng : Generator
        Draws where each item's count begins.

    Returns
    -------
    rows : ndarray of int64, shape (n_drawn,)
    items : ndarray of int64, shape (n_drawn,)
        Places in `support`, ascending; no pair of a row and an item comes twice.

    Notes
    -----
    Source: systematic sampling (Madow and Madow 1944), over classes, item by item. All items share
    the sums of `lengths`, so that each draw is one search among them.

    Examples
    --------
    >>> rows, items = deal_rare(  # ten people in two classes: both items fill every row
    ...     np.array([10, 10]), np.ones(2), np.array([5, 5]), np.random.default_rng(0))
    >>> rows, items
    (array([0, 1, 0, 1]), array([0, 0, 1, 1]))
    """
    if not support.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    reached = np.cumsum(lengths)
    # So much of `lengths` lies between a draw of an item and the next.
    apart = float(lengths @ sizes) / support
    start = rng.random(support.size)
    drawn = np.maximum(np.ceil(reached[-1] / apart - start), 0).astype(np.int64)
    items = np.repeat(np.arange(support.size), drawn)
    nth = np.arange(items.size) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    rows = np.searchsorted(reached, (start[items] + nth) * apart[items], side="right")
    rows = np.minimum(rows, lengths.size - 1)  # rounding may lead one beyond the last row
    # An item that more people rated than its rows have room for would stand in one row twice.
    again = np.zeros(items.size, bool)
    again[1:] = (items[1:] == items[:-1]) & (rows[1:] == rows[:-1])
    return rows[~again], items[~again]
