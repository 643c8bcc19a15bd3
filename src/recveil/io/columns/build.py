"""From the columns of a table to compressed rows, and what was left out on the way."""

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import (
    NOT_SAID,
    Feedback,
    casts,
    has_decimal_comma,
    is_text,
    parse_ratings,
)
from recveil.io.columns.feedback import are_likes, are_words, option_of, take_feedback
from recveil.io.columns.ids import encode_labels
from recveil.io.columns.rows_within_ids import require_no_original_rows, require_no_rows_within
from recveil.io.columns.time_columns import one_date_each
from recveil.io.columns.times import (
    UNIX_SECONDS,
    Days,
    describe_repeated,
    parse_days,
    sort_keys,
    times_from_format,
)
from recveil.ratings.arrow_columns import in_turn, missing_rows, tidied
from recveil.ratings.rating_scale import (
    Locate,
    RatingScale,
    all_ratings,
    reject_off_scale,
    require_scale,
)
from recveil.ratings.sorted_rows import Duplicates, Order, Rows, find_order, settle_duplicates
from recveil.runtime.errors import RecveilError, describe_count, first_line_of, quoted
from recveil.runtime.safe_repr import brief

# More of a table than this is seldom left out on purpose.
_MANY = 0.05
_NAMED, _LOOKED_AT, _LONGEST = 3, 100_000, 20


@brief
class LeftOut(NamedTuple):
    """Rows that are left out."""

    # Their positions, ascending
    rows: NDArray[np.int64]
    # What stood there, and how many of all rows these are: sentences, each after a space
    told: str = ""

    def skipped(self, locate: Locate) -> Locate:
        """Return where a row of those that are left stands, counted as the file does."""
        if not self.rows.size:
            return locate
        # The n-th dropped row has so many kept ones before it.
        kept_before = self.rows - np.arange(self.rows.size)
        return lambda row: locate(row + int(np.searchsorted(kept_before, row, side="right")))


NOTHING = LeftOut(np.empty(0, np.int64))


def leave_out(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    feedback: Feedback,
    locate: Locate,
) -> tuple[LeftOut, LeftOut]:
    """Take the rows out that have no rating, and then those whose rating is not on the scale."""
    if "rating" not in columns:
        if scale is None:
            raise RecveilError(
                "drop_off_scale (--drop-off-scale) is given, but there are no ratings; leave "
                "it out",
                code="option.unsupported",
            )
        return NOTHING, NOTHING  # whoever reads ratings says what is wrong with the scale
    unrated = _leave_out_unrated(columns, feedback)
    if scale is None and not feedback.is_specified:
        if not unrated.rows.size:
            raise RecveilError(
                "drop_off_scale (--drop-off-scale) needs the scale that ratings are to be on; give "
                "it with scale (--scale), such as 1:5:1, or the words with order (--order)",
                code="option.required",
            )
        return unrated, NOTHING
    return unrated, _leave_out_off_scale(columns, scale, feedback, unrated.skipped(locate))


def _leave_out_unrated(columns: dict[str, pa.ChunkedArray], feedback: Feedback) -> LeftOut:
    column = columns["rating"]
    if pa.types.is_floating(column.type):
        gone = pc.is_null(column, nan_is_null=True).to_numpy()
    else:
        gone = missing_rows(column).to_numpy()
    if gone.all():
        likes = (
            ", and say with likes (--likes) that each row is a like, or name another column with "
            "rating (--rating)"
        )
        also = "" if feedback.likes else likes
        raise RecveilError(
            f"{all_ratings(gone.size)} missing, so that drop_off_scale (--drop-off-scale) "
            f"would leave nothing; leave that out{also}",
            code="table.no-ratings",
        )
    _keep(columns, ~gone)
    return LeftOut(np.flatnonzero(gone))


def _leave_out_off_scale(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    feedback: Feedback,
    locate: Locate,
) -> LeftOut:
    column = columns["rating"]
    if scale is None:
        on_scale = are_likes(column, feedback, locate)
    elif scale.words:
        on_scale = are_words(column, scale, locate)
    else:
        on_scale = _are_on(scale, column, locate)
    if not on_scale.any():
        what = "above 0" if scale is None else f"on the scale {scale}"
        raise RecveilError(
            f"none of the {describe_count(on_scale.size, 'rating')} is {what}, so that "
            f"drop_off_scale (--drop-off-scale) would leave nothing; check "
            f"{'scale (--scale)' if scale is None else option_of(scale)}",
            code="table.no-ratings",
        )
    _keep(columns, on_scale)
    rows = np.flatnonzero(~on_scale)
    if not rows.size:
        return NOTHING
    return LeftOut(rows, _tell(column.filter(pa.array(~on_scale)), rows.size / on_scale.size))


def _are_on(scale: RatingScale, column: pa.ChunkedArray, locate: Locate) -> NDArray[np.bool_]:
    on_scale = _are_numbers(column)
    text = LeftOut(np.flatnonzero(~on_scale))
    numbers = column.filter(pa.array(on_scale)) if text.rows.size else column
    on_scale[on_scale] = scale.contains(parse_ratings(numbers, text.skipped(locate)))
    return on_scale


def _are_numbers(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Say which rows hold a number. With a decimal comma it is meant as one, and refused later."""
    is_dictionary = pa.types.is_dictionary(column.type)
    if not is_text(column.type.value_type if is_dictionary else column.type):
        return np.ones(len(column), bool)
    column = tidied(column if is_dictionary else column.dictionary_encode())
    texts = in_turn(pa.chunked_array([column.chunk(0).dictionary]))
    good = np.array([casts(text, pa.float64()) or has_decimal_comma(text) for text in texts])
    return np.concatenate([good[chunk.indices.to_numpy()] for chunk in column.chunks])


def _tell(column: pa.ChunkedArray, share: float) -> str:
    """Say what stood in the rows most often, and which share they are, if it is a large one."""
    counts = Counter(quoted(value, _LONGEST) for value in in_turn(column.slice(0, _LOOKED_AT)))
    most = ", ".join(value for value, _ in counts.most_common(_NAMED))
    told = f" There stood {most}{' and others' if len(counts) > _NAMED else ''}."
    if share > _MANY:
        told += f" That is {share:.0%} of all: check that the scale is the true one."
    return told


def _keep(columns: dict[str, pa.ChunkedArray], rows: NDArray[np.bool_]) -> None:
    """Leave some rows alone in all columns."""
    if not rows.all():
        kept = pa.array(rows)
        columns |= {name: column.filter(kept) for name, column in columns.items()}


@brief
class Built(NamedTuple):
    """The parts of some ratings, and how many rows are not among them."""

    # Labels, ascending
    users: NDArray[Any]
    items: NDArray[Any]
    rows: Rows
    scale: RatingScale
    # Rows that are gone, because their (user, item) pair stands in another one, too
    duplicates_dropped: int
    # Rows that were dropped, because their rating is not on the given scale, or is no like
    off_scale_dropped: int
    # Whether times said which of several ratings of a pair is the last one
    by_time: bool
    # What became of the column of times, if it was not kept: the end of a sentence
    time_problem: str
    # If nobody said that they are likes, why they were taken for them: the beginning of a sentence
    why_likes: str = ""
    # Rows that were dropped with them, because they have no rating
    unrated_dropped: int = 0
    # What stood in the rows that were dropped for the scale: sentences, each after a space
    off_scale_told: str = ""
    # Whether the column of times was left out, although it may state when users rated
    times_are_lost: bool = False
    # What is odd about the times that were kept: the end of a sentence
    time_note: str = ""
    # Which digits of the ratings were lost: a sentence
    # Which digits of the ratings were lost, or that words were not read: a sentence
    rating_note: str = ""
    # Whether different ratings became equal in those digits that are kept
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
    trusts_days: bool = True,
    feedback: Feedback = NOT_SAID,
) -> Built:
    """Turn the columns user, item, rating and time of a table into compressed rows."""
    if len(columns["user"]) == 0:
        raise RecveilError(
            "the table has no rows; expected at least one rating", code="table.no-ratings"
        )
    try:
        strict = time_is_named and not time_is_doubtful
        decides = duplicates == "last"
        how = _Times(times, decides, time_format, time_is_doubtful, strict, trusts_days)
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
    trusts_days: bool

    def read(self, column: pa.ChunkedArray, locate: Locate) -> Days:
        if self.format is not None:
            column = times_from_format(column, self.format, locate)
        if pa.types.is_date(column.type) and not self.trusts_days:
            column = column.cast(pa.timestamp("s"))
        return parse_days(column, locate, is_unit_given=self.format == UNIX_SECONDS)


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
    require_scale(scale)
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
        reject_off_scale(values, scale, locate)
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
    locate_ids = (
        partial(_locate_user, order, locate),
        partial(_locate_item, indices, order, locate),
    )
    require_no_original_rows((users, items), rows, scale, locate_ids)
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


def _locate_user(order: Order, locate: Locate, user: int) -> str:
    at = slice(*order.indptr[user : user + 2])
    places = np.arange(at.start, at.stop) if order.places is None else order.places[at]
    return locate(int(places.min()))


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


def describe_dropped(
    built: Built, duplicates: Duplicates, feedback: Feedback = NOT_SAID
) -> list[str]:
    """Say how many rows, or digits, are not among the ratings, and why, a sentence each."""
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
    if (dropped := built.off_scale_dropped) and feedback.is_specified:
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
