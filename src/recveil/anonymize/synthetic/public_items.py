"""Public items: in which order items are asked about, and as what their ids are published.

Ids of items are told. What a table's ids look like as a whole must then not follow from one person:
a single odd id makes the ids of a table text that were whole numbers, and orders them anew.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError, describe_count, quoted
from recveil.ratings import Ratings

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def as_ids(names: list[str]) -> NDArray[Any]:
    """Return ids as they are published, ascending: whole numbers if all are written as such.

    Examples
    --------
    >>> as_ids(["10", "9"]), as_ids(["10", "9", "009"]).tolist()
    (array([ 9, 10]), ['009', '10', '9'])
    """
    if all(map(_WHOLE.fullmatch, names)):
        return np.array(sorted(map(int, names)), dtype=np.int64)
    return np.array(sorted(names), dtype=object)


def on_catalogue(ratings: Ratings, catalogue: NDArray[Any]) -> Ratings:
    """Return the same ratings on the items of a catalogue, rated or not.

    Parameters
    ----------
    ratings : Ratings
    catalogue : ndarray, shape (n_items,)
        Ids as `as_ids` returns them. They are compared as texts, so that their type is their own.

    Raises
    ------
    RecveilError
        If an item is not in the catalogue.

    Examples
    --------
    >>> ratings = Ratings.from_columns(["ann", "ann"], [9, 10], [4, 2])
    >>> on_catalogue(ratings, as_ids(["8", "9", "10", "a"])).row(0)[0]
    array([0, 2], dtype=int32)
    """
    return _moved(ratings, catalogue, places_on_catalogue(ratings.items, catalogue))


def places_on_catalogue(items: NDArray[Any], catalogue: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each item in a catalogue, or raise a RecveilError if one has none.

    Examples
    --------
    >>> places_on_catalogue(np.array([9, 10]), as_ids(["8", "9", "10"]))
    array([1, 2])
    """
    place = {name: at for at, name in enumerate(catalogue.astype(str).tolist())}
    at = np.array([place.get(name, -1) for name in items.astype(str).tolist()], np.int64)
    if n := int((at < 0).sum()):
        is_or_are = "is" if n == 1 else "are"
        raise RecveilError(
            f"catalogue (--catalogue): {describe_count(n, 'item')} of the ratings {is_or_are} not "
            f"in it, such as {quoted(str(items[np.argmin(at)]))}; name all items, or leave those "
            f"ratings out",
            code="id.unknown",
        )
    return at


def in_public_order(ratings: Ratings, most_items: int) -> Ratings:
    """Order items so that each has its place beside others whatever others there are.

    Whole numbers come first, by their value, and then all other names: as in a table that has
    whole numbers alone.

    Parameters
    ----------
    ratings : Ratings
    most_items : int
        Of somebody with more ratings, the first so many items in this order count. (Which these
        are does not depend on other people.)

    Examples
    --------
    >>> ratings = Ratings.from_columns(["ann"] * 3, ["10", "9", "b"], [4, 2, 1])
    >>> in_public_order(ratings, 2).items.tolist(), in_public_order(ratings, 2).row(0)[0]
    (['9', '10', 'b'], array([0, 1], dtype=int32))
    """
    if ratings.items.dtype == object:
        ratings = _moved(ratings, *places_in_public_order(ratings.items))
    if ratings.n_users and ratings.activity.max() > most_items:
        ratings = _first(ratings, most_items)
    return ratings


def places_in_public_order(items: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return items in public order, and the place of each of those that were given.

    Examples
    --------
    >>> places_in_public_order(np.array(["10", "9", "b"], object))
    (array(['9', '10', 'b'], dtype=object), array([1, 0, 2]))
    """
    if items.dtype != object:
        return items, np.arange(items.size)
    names = items.tolist()
    order = sorted(range(len(names)), key=lambda item: _rank(names[item]))
    at = np.empty(items.size, np.int64)
    at[order] = np.arange(items.size)
    return items[order], at


def published_order(told: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the ids of told items as they are published, and which of them comes where.

    Their type follows from the told ones alone.

    Examples
    --------
    >>> published_order(np.array(["9", "10"], object))
    (array([ 9, 10]), array([0, 1]))
    >>> published_order(np.array(["9", "10", "b"], object))[0].tolist()
    ['10', '9', 'b']
    """
    names = told.astype(str).tolist()
    ids = as_ids(names)
    place = {name: at for at, name in enumerate(ids.astype(str).tolist())}
    return ids, np.argsort([place[name] for name in names])


def _rank(name: str) -> tuple[bool, int, str]:
    is_whole = _WHOLE.fullmatch(name) is not None
    return (False, int(name), "") if is_whole else (True, 0, name)


def _moved(ratings: Ratings, items: NDArray[Any], at: NDArray[np.int64]) -> Ratings:
    """Put ratings on other items, of which each old one has its place."""
    indices, values = at[ratings.indices].astype(np.int32), ratings.values
    if (np.diff(at) < 0).any():
        order = np.lexsort((indices, ratings.user_positions()))
        indices, values = indices[order], values[order]
    return Ratings(ratings.users, items, ratings.indptr, indices, values, None, ratings.scale)


def _first(ratings: Ratings, most: int) -> Ratings:
    """Keep the first ratings of each row."""
    activity = np.minimum(ratings.activity, most)
    within = np.arange(ratings.n_ratings) - ratings.indptr[ratings.user_positions()]
    indptr = np.concatenate([[0], np.cumsum(activity)])
    indices, values = ratings.indices[within < most], ratings.values[within < most]
    return Ratings(ratings.users, ratings.items, indptr, indices, values, None, ratings.scale)
