"""From the columns of a table to compressed rows, and what was left out on the way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError, first_line_of
from recveil.ratings.assemble import Duplicates, Rows, find_order, settle_duplicates
from recveil.ratings.columns import Locate, find_columns, parse_days, parse_ratings
from recveil.ratings.frame import table_of
from recveil.ratings.instants import sort_keys
from recveil.ratings.labels import encode_labels
from recveil.ratings.scale import RatingScale, refuse_off_scale


@brief
class Built(NamedTuple):
    """The parts of some ratings, and how many rows are not among them.

    Attributes
    ----------
    users, items : ndarray, shape (n_users,) and (n_items,)
        Labels, ascending.
    rows : Rows
    scale : RatingScale
    duplicates_dropped : int
        Rows that are gone, because their (user, item) pair stands in another one, too.
    off_scale_dropped : int
        Rows that were dropped, because their rating is not on the given scale.
    by_time : bool
        Whether times said which of several ratings of a pair is the last one.
    """

    users: NDArray[Any]
    items: NDArray[Any]
    rows: Rows
    scale: RatingScale
    duplicates_dropped: int
    off_scale_dropped: int
    by_time: bool


def build(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    duplicates: Duplicates,
    locate: Locate,
    *,
    drop_off_scale: bool = False,
    times: bool = True,
) -> Built:
    """Turn the columns user, item, rating and time of a table into compressed rows.

    Parameters
    ----------
    columns : dict of str to pyarrow.ChunkedArray
        Emptied on the way, so that a column's memory is free before the next is read.
    scale, duplicates, drop_off_scale
        See `Ratings.from_frame`.
    locate : callable
        Turns a row's position into the place that an error names.
    times : bool
        Whether to keep the times. Without, they only tell which duplicate is the last one.

    Raises
    ------
    RecveilError
        See `Ratings.from_frame`.

    Examples
    --------
    >>> table = pa.table({"user": [1, 1, 2], "item": [5, 5, 5], "rating": [3, 4, 1]})
    >>> columns = {name: table[name] for name in table.column_names}
    >>> built = build(columns, RatingScale(1, 5, 1), "last", str)
    >>> built.rows.values, built.duplicates_dropped, built.by_time
    (array([4., 1.], dtype=float32), 1, False)
    """
    if len(columns["user"]) == 0:
        raise RecveilError("the table has no rows; expected at least one rating")
    try:
        return _build(columns, scale, duplicates, locate, drop_off_scale, times)
    except pa.ArrowException as error:
        # What no check foresaw, such as ids beyond 64 bits.
        raise RecveilError(
            f"the columns cannot be read as ratings ({first_line_of(error)}); convert them"
        ) from error


def _build(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    duplicates: Duplicates,
    locate: Locate,
    drop_off_scale: bool,
    times: bool,
) -> Built:
    if scale is not None and scale.inferred:
        scale = replace(scale, inferred=False)  # now somebody names it
    off_scale = _drop_off_scale(columns, scale, locate) if drop_off_scale else None
    locate = _skipping(off_scale, locate)
    users, user_of = encode_labels(columns.pop("user"), "user", locate)
    items, indices = encode_labels(columns.pop("item"), "item", locate)
    pa.default_memory_pool().release_unused()
    values = parse_ratings(columns.pop("rating"), locate)
    raw_times = columns.pop("time", None)
    days = parse_days(raw_times, locate) if times and raw_times is not None else None
    instants = _instants(raw_times if duplicates == "last" else None, locate)
    del raw_times
    if scale is not None:
        refuse_off_scale(values, scale, locate)
    order = find_order(user_of, indices, users.size)
    del user_of
    indices, values = order.apply(indices), order.apply(values)
    days = None if days is None else order.apply(days)
    rows = settle_duplicates(
        *(Rows(order.indptr, indices, values, days), duplicates, order.places),
        *((users, items), locate, instants),
    )
    dropped = values.size - rows.values.size
    if scale is None:
        scale = RatingScale.infer(rows.values)
    elif duplicates == "mean":
        rows = rows._replace(values=scale.round(rows.values).astype(np.float32))
    n_off_scale = 0 if off_scale is None else off_scale.size
    by_time = dropped > 0 and instants is not None
    return Built(users, items, rows, scale, dropped, n_off_scale, by_time)


def frame_columns(frame: Any, **given: str | None) -> dict[str, tuple[str, pa.ChunkedArray]]:
    """Return the columns of a data frame that hold users, items, ratings and times, if any.

    Parameters
    ----------
    frame : object with ``__arrow_c_stream__``
    **given : str or None
        Names of the columns `user`, `item`, `rating` and `time`, where the caller knows them.

    Returns
    -------
    dict of str to (str, pyarrow.ChunkedArray)
        The frame's own name of each column, and what it holds.

    Raises
    ------
    RecveilError
        If it is no data frame, is empty, or lacks a column.

    Examples
    --------
    >>> found = frame_columns(pa.table({"uid": [1], "iid": [5], "score": [3.5]}))
    >>> {role: name for role, (name, _) in found.items()}
    {'user': 'uid', 'item': 'iid', 'rating': 'score'}
    """
    table = table_of(frame, **given)
    names = find_columns(table.column_names, "the table", **given)
    found = {"user": names.user, "item": names.item, "rating": names.rating}
    if names.time is not None:
        found["time"] = names.time
    return {role: (name, table[name]) for role, name in found.items()}


def _instants(
    times: pa.ChunkedArray | None, locate: Locate
) -> Callable[[NDArray[np.int64]], NDArray[Any]] | None:
    """Return what tells the order in time of rows of the file; None if nothing does."""
    if times is None or times.null_count == len(times):
        return None
    return lambda places: sort_keys(times, places, locate)


def _drop_off_scale(
    columns: dict[str, pa.ChunkedArray], scale: RatingScale | None, locate: Locate
) -> NDArray[np.int64]:
    """Take the rows out whose rating is not on the scale; return their positions."""
    if scale is None:
        raise RecveilError(
            "drop_off_scale (--drop-off-scale) needs the scale that ratings are to be on; give it "
            "with scale (--scale), such as 1:5:1"
        )
    on_scale = scale.contains(parse_ratings(columns["rating"], locate))
    if not on_scale.any():
        raise RecveilError(
            f"none of the {on_scale.size:,} ratings is on the scale {scale}, so that "
            f"drop_off_scale (--drop-off-scale) would leave nothing; check scale (--scale)"
        )
    if not on_scale.all():
        kept = pa.array(on_scale)
        columns |= {name: column.filter(kept) for name, column in columns.items()}
    return np.flatnonzero(~on_scale)


def _skipping(dropped: NDArray[np.int64] | None, locate: Locate) -> Locate:
    """Count rows as the file does, though some of them were dropped."""
    if dropped is None or not dropped.size:
        return locate
    # The n-th dropped row has so many kept ones before it.
    kept_before = dropped - np.arange(dropped.size)
    return lambda row: locate(row + int(np.searchsorted(kept_before, row, side="right")))
