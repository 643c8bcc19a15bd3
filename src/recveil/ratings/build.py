"""From the columns of a table to compressed rows, and what was left out on the way."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError, describe_count, first_line_of
from recveil.ratings.assemble import Duplicates, Order, Rows, find_order, settle_duplicates
from recveil.ratings.columns import (
    NOT_SAID,
    Feedback,
    Locate,
)
from recveil.ratings.dates import one_date_each
from recveil.ratings.dictionaries import missing_rows
from recveil.ratings.feedback import take_feedback
from recveil.ratings.instants import sort_keys
from recveil.ratings.labels import encode_labels
from recveil.ratings.left_out import NOTHING, LeftOut, leave_out
from recveil.ratings.rows_within import require_no_original_rows, require_no_rows_within
from recveil.ratings.scale import RatingScale, refuse_no_scale, refuse_off_scale
from recveil.ratings.times import Days, describe_repeated, parse_days, times_from_format


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
        Rows that were dropped, because their rating is not on the given scale, or is no like.
    by_time : bool
        Whether times said which of several ratings of a pair is the last one.
    time_problem : str
        What became of the column of times, if it was not kept: the end of a sentence.
    why_likes : str
        If nobody said that they are likes, why they were taken for them: the beginning of a
        sentence.
    unrated_dropped : int
        Rows that were dropped with them, because they have no rating.
    off_scale_told : str
        What stood in the rows that were dropped for the scale: sentences, each after a space.
    times_are_lost : bool
        Whether the column of times was left out, although it may state when users rated.
    time_note : str
        What is odd about the times that were kept: the end of a sentence.
    rating_note : str
        Which digits of the ratings were lost: a sentence.
    ratings_merged : bool
        Whether different ratings became equal in those digits that are kept.
    """

    users: NDArray[Any]
    items: NDArray[Any]
    rows: Rows
    scale: RatingScale
    duplicates_dropped: int
    off_scale_dropped: int
    by_time: bool
    time_problem: str
    why_likes: str = ""
    unrated_dropped: int = 0
    off_scale_told: str = ""
    times_are_lost: bool = False
    time_note: str = ""
    rating_note: str = ""
    ratings_merged: bool = False


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
    time_is_named: bool = False,
    feedback: Feedback = NOT_SAID,
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
        Whether nobody called the column of times so: then it may be the date of the item.
    time_is_named : bool
        Whether the caller said which column holds the times, or how they are written. Then those
        that are missing or cannot be read are refused; otherwise the column is left out.
    feedback : Feedback
        What the ratings are; without a column of them, they are likes. Of these, a pair that stands
        several times is one, whatever `duplicates` says.

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
        raise RecveilError(
            "the table has no rows; expected at least one rating", code="table.no-ratings"
        )
    try:
        strict = time_is_named and not time_is_doubtful
        how = _Times(times, duplicates == "last", time_format, time_is_doubtful, strict)
        return _build(columns, scale, duplicates, locate, drop_off_scale, how, feedback)
    except MemoryError:  # says nothing of the columns
        raise
    except pa.ArrowException as error:
        # What no check foresaw, such as ids beyond 64 bits.
        raise RecveilError(
            f"the columns cannot be read as ratings ({first_line_of(error)}); convert them",
            code="column.type",
        ) from error


class _Times(NamedTuple):
    """What to do with the times."""

    wanted: bool
    deciding: bool
    format: str | None
    doubtful: bool
    strict: bool

    def read(self, column: pa.ChunkedArray, locate: Locate) -> Days:
        if self.format is not None:
            column = times_from_format(column, self.format, locate)
        return parse_days(column, locate)


@brief
class _Found(NamedTuple):
    """The days that are kept, whether the times tell which rating is the last, and what to say."""

    days: NDArray[np.int32] | None = None
    decide: bool = False
    problem: str = ""
    is_lost: bool = False
    note: str = ""


def _build(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    duplicates: Duplicates,
    locate: Locate,
    drop_off_scale: bool,
    times: _Times,
    feedback: Feedback,
) -> Built:
    refuse_no_scale(scale)
    if scale is not None and scale.inferred:
        scale = replace(scale, inferred=False)  # now somebody names it
    unrated = off_scale = NOTHING
    if drop_off_scale:
        unrated, off_scale = leave_out(columns, scale, feedback, locate)
        locate = off_scale.skipped(unrated.skipped(locate))
    users, user_of = encode_labels(columns.pop("user"), "user", locate)
    items, indices = encode_labels(columns.pop("item"), "item", locate)
    for ids, codes, role in ((users, user_of, "user"), (items, indices, "item")):
        both, is_unrated = (users, items), "rating" not in columns
        require_no_rows_within(ids, codes, role, both, locate, is_unrated=is_unrated)
    pa.default_memory_pool().release_unused()
    taken = take_feedback(columns.pop("rating", None), user_of.size, feedback, scale, locate)
    values, scale, why_likes, rating_note, merged = taken
    if scale is not None and scale.unary:
        duplicates = "mean"  # of ones, and of their days the last
    elif scale is not None and scale.words and duplicates == "mean":
        # Between two words lies none, or one that nobody gave.
        raise RecveilError(
            "duplicates (--duplicates) is mean, but words have none; take last",
            code="option.unsupported",
        )
    raw_times = columns.pop("time", None)
    days, decide, problem, times_are_lost, time_note = _days(raw_times, indices, times, locate)
    instants = _Instants(raw_times, locate, times) if decide else None
    del raw_times, taken
    if scale is not None:
        refuse_off_scale(values, scale, locate)
    order = find_order(user_of, indices, users.size)
    del user_of
    indices, values = order.apply(indices), order.apply(values)
    days = None if days is None else order.apply(days)
    rows = settle_duplicates(
        Rows(order.indptr, indices, values, days),
        duplicates,
        order.places,
        (users, items),
        locate,
        instants,
        () if scale is None else scale.words,
    )
    dropped = values.size - rows.values.size
    if scale is None:
        scale = RatingScale.infer(rows.values)
    elif duplicates == "mean":
        rows = rows._replace(values=scale.round(rows.values).astype(np.float32))
    require_no_original_rows(
        (users, items), rows, scale, partial(_locate_item, indices, order, locate)
    )
    by_time = dropped > 0 and instants is not None and not instants.problem
    if instants is not None:
        problem = problem or instants.problem
    return Built(
        *(users, items, rows, scale, dropped, off_scale.rows.size, by_time, problem, why_likes),
        unrated_dropped=unrated.rows.size,
        off_scale_told=off_scale.told,
        times_are_lost=times_are_lost,
        time_note=time_note,
        rating_note=rating_note,
        ratings_merged=merged,
    )


def _locate_item(indices: NDArray[np.int32], order: Order, locate: Locate, item: int) -> str:
    at = np.flatnonzero(indices == item)
    return locate(int((at if order.places is None else order.places[at]).min()))


def _days(
    column: pa.ChunkedArray | None, items: NDArray[np.int32], times: _Times, locate: Locate
) -> _Found:
    if column is None or not (times.wanted or times.deciding):
        return _Found()
    gone = missing_rows(column).to_numpy()
    n_gone = int(gone.sum())
    some_gone = 0 < n_gone < gone.size
    if some_gone and times.strict and times.wanted:
        times.read(column, locate)  # which tells the first
    present, where = column, locate
    if some_gone:
        present, where = (
            column.filter(pa.array(~gone)),
            LeftOut(np.flatnonzero(gone)).skipped(locate),
        )
    try:
        days, problem, note = times.read(present, where)
    except RecveilError as error:
        if times.strict:
            raise
        days, note = None, ""
        problem = f"not every row of it holds a date: {error}"
    is_lost = times.wanted and n_gone < gone.size
    if times.doubtful and days is not None and one_date_each(items[~gone], days):
        problem = "each item has one date only, so that it is not when people rated"
        is_lost = False
    if problem or n_gone == gone.size:
        return _Found(problem=f"was not taken for times: {problem}", is_lost=is_lost)
    if not some_gone:
        if not times.wanted:
            return _Found(None, times.deciding, note=note)
        note = note or ("" if days is None else describe_repeated(days))
        return _Found(days, times.deciding, note=note)
    left_out = (
        f"was left out, and no times were kept: {locate(int(np.argmax(gone)))}: the time is "
        f"missing, as in {n_gone:,} of {describe_count(gone.size, 'row')}"
    )
    return _Found(None, times.deciding, left_out if times.wanted else "", times.wanted)


class _Instants:
    """What tells the order in time of rows of the file."""

    def __init__(self, column: pa.ChunkedArray, locate: Locate, times: _Times) -> None:
        self._column, self._locate, self._times = column, locate, times
        self.problem = ""

    def __call__(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """Return numbers that order some rows; all the same if a time that decides is missing."""
        try:
            return sort_keys(self._column, places, self._locate, self._times.format)
        except RecveilError as error:
            if self._times.strict:
                raise
            self.problem = f"was not taken for times: {error}"
            return np.zeros(places.size)


def tell_dropped(built: Built, duplicates: Duplicates, feedback: Feedback = NOT_SAID) -> list[str]:
    """Say how many rows, or digits, are not among the ratings, and why, a sentence each.

    Examples
    --------
    >>> table = pa.table({"user": [1, 1], "item": [5, 5], "rating": [3, 4]})
    >>> columns = {name: table[name] for name in table.column_names}
    >>> (note,) = tell_dropped(build(columns, RatingScale(1, 5, 1), "mean", str), "mean")
    >>> note.partition("; ")[2]
    'the mean of each pair was kept, rounded to the scale (duplicates, --duplicates).'
    """
    notes = [built.rating_note] if built.rating_note else []
    unary = built.scale.unary
    if dropped := built.duplicates_dropped:
        kept = {
            "mean": "the mean of each pair was kept"
            + ("" if built.scale.inferred else ", rounded to the scale"),
            "like": "likes of one pair are one like",
            "last": "the latest rating of each pair was kept"
            if built.by_time
            else "no times being known, the one in the last line was kept of each pair",
        }["like" if unary else duplicates]
        option = "" if unary else " (duplicates, --duplicates)"
        notes.append(
            f"{dropped:,} {_rows(dropped)} left out, because somebody "
            f"{'liked' if unary else 'rated'} an item more than once; {kept}{option}."
        )
    if dropped := built.unrated_dropped:
        notes.append(
            f"{dropped:,} {_rows(dropped)} left out, because there is no rating in "
            f"{'it' if dropped == 1 else 'them'} (drop_off_scale, --drop-off-scale)."
        )
    if (dropped := built.off_scale_dropped) and feedback.is_said:
        notes.append(
            f"{dropped:,} {_rows(dropped)} left out, because of a rating of 0, or less "
            f"(drop_off_scale, --drop-off-scale).{built.off_scale_told}"
        )
    elif dropped:
        notes.append(
            f"{dropped:,} {_rows(dropped)} left out, because the rating is not on the scale "
            f"{built.scale} (drop_off_scale, --drop-off-scale).{built.off_scale_told}"
        )
    return notes


def _rows(number: int) -> str:
    return "row was" if number == 1 else "rows were"
