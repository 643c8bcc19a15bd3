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
from recveil.ratings.columns import Locate, find_columns, parse_ratings
from recveil.ratings.dates import Look, look_for_dates, one_date_each
from recveil.ratings.frame import table_of
from recveil.ratings.instants import sort_keys
from recveil.ratings.labels import encode_labels
from recveil.ratings.scale import RatingScale, refuse_off_scale
from recveil.ratings.times import Days, parse_days, times_from_format

# The first rows, in which dates are looked for where no column is called times.
_LOOKED_AT = 1_000


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
    time_problem : str
        Why the column of times holds no dates; empty if it does, or there is none.
    """

    users: NDArray[Any]
    items: NDArray[Any]
    rows: Rows
    scale: RatingScale
    duplicates_dropped: int
    off_scale_dropped: int
    by_time: bool
    time_problem: str


def build(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    duplicates: Duplicates,
    locate: Locate,
    *,
    drop_off_scale: bool = False,
    times: bool = True,
    time_format: str | None = None,
    time_is_doubtful: bool = False,
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
    time_format : str, optional
        How the times are written, for `times_from_format`.
    time_is_doubtful : bool
        Whether nobody called the column of times so: then it is left out rather than refused.

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
        how = _Times(times, time_format, time_is_doubtful)
        return _build(columns, scale, duplicates, locate, drop_off_scale, how)
    except pa.ArrowException as error:
        # What no check foresaw, such as ids beyond 64 bits.
        raise RecveilError(
            f"the columns cannot be read as ratings ({first_line_of(error)}); convert them"
        ) from error


class _Times(NamedTuple):
    """What to do with the times."""

    wanted: bool
    format: str | None
    doubtful: bool


def _build(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    duplicates: Duplicates,
    locate: Locate,
    drop_off_scale: bool,
    times: _Times,
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
    days, problem = _days(raw_times, indices, times, locate)
    if times.doubtful and problem:
        raw_times = None
    instants = _instants(raw_times if duplicates == "last" else None, locate, times.format)
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
    return Built(users, items, rows, scale, dropped, n_off_scale, by_time, problem)


def _days(
    column: pa.ChunkedArray | None, items: NDArray[np.int32], times: _Times, locate: Locate
) -> Days:
    if column is None or not times.wanted:
        return Days(None)
    try:
        if times.format is not None:
            column = times_from_format(column, times.format, locate)
        found = parse_days(column, locate)
    except RecveilError:
        if not times.doubtful:
            raise
        return Days(None, "not every row of it holds a date")
    if times.doubtful and found.days is not None and one_date_each(items, found.days):
        return Days(None, "each item has one date only, so that it is not when people rated")
    return found


@brief
class Framed(NamedTuple):
    """The columns of a data frame that hold users, items, ratings and times, if any.

    Attributes
    ----------
    columns : dict of str to pyarrow.ChunkedArray
    names : dict of str to str
        What the frame calls them.
    look : Look
        What was found where no column is called times.
    """

    columns: dict[str, pa.ChunkedArray]
    names: dict[str, str]
    look: Look


def frame_columns(frame: Any, **given: str | None) -> Framed:
    """Return the columns of a data frame that hold users, items, ratings and times, if any.

    Parameters
    ----------
    frame : object with ``__arrow_c_stream__``
    **given : str or None
        Names of the columns `user`, `item`, `rating` and `time`, where the caller knows them.

    Returns
    -------
    Framed

    Raises
    ------
    RecveilError
        If it is no data frame, is empty, or lacks a column.

    Examples
    --------
    >>> found = frame_columns(pa.table({"uid": [1], "iid": [5], "score": [3.5]}))
    >>> found.names
    {'user': 'uid', 'item': 'iid', 'rating': 'score'}
    """
    table = table_of(frame, **given)
    names = find_columns(table.column_names, "the table", **given)
    found = {"user": names.user, "item": names.item, "rating": names.rating}
    look = Look()
    if names.time is None:
        others = [name for name in table.column_names if name not in found.values()]
        look = look_for_dates(table.slice(0, _LOOKED_AT).select(others))
    if (time := names.time or look.name) is not None:
        found["time"] = time
    return Framed({role: table[name] for role, name in found.items()}, found, look)


def _instants(
    times: pa.ChunkedArray | None, locate: Locate, format: str | None
) -> Callable[[NDArray[np.int64]], NDArray[Any]] | None:
    """Return what tells the order in time of rows of the file; None if nothing does."""
    if times is None or times.null_count == len(times):
        return None
    return lambda places: sort_keys(times, places, locate, format)


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
