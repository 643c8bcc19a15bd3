"""Conversion of a table's columns to compressed rows, and reports on dropped rows."""

import math
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import (
    EMPTY_CELLS,
    NOT_SAID,
    Feedback,
    casts,
    has_decimal_comma,
    holds_text,
    parse_ratings,
    plain_number,
    run_end_decoded,
)
from recveil.io.columns.feedback import are_labels, are_likes, option_of, take_feedback
from recveil.io.columns.ids import NOT_IN_IDS, encode_ids
from recveil.io.columns.original_rows import require_no_original_rows
from recveil.io.columns.rows_within_ids import require_no_rows_within
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
)
from recveil.ratings.sorted_rows import Duplicates, Order, Rows, find_order, settle_duplicates
from recveil.runtime.errors import RecveilError, describe_count, first_line_of, quoted
from recveil.runtime.number_format import percent
from recveil.runtime.safe_repr import brief

# A larger share of rows is seldom dropped on purpose.
_MANY = 0.05
_NAMED, _LOOKED_AT, _LONGEST = 6, 100_000, 20
# A line break, or two delimiters of fields, as in a row that a quote swallowed
_ROWS_WITHIN = re.compile(rf"{NOT_IN_IDS}|(?:(?:[\t,;|]|::)(?! ).*){{2}}")
_IDS = ("user", "item")
_CHECK_COLUMNS = "check user (--user), item (--item) and delimiter (--delimiter)"
_NOT_FINITE = re.compile(r"\s*[-+]?(nan|inf)", re.IGNORECASE)


@brief
class DroppedRows(NamedTuple):
    """Rows that are dropped."""

    # Their positions, ascending
    rows: NDArray[np.int64]
    # Their values and share of the table, as sentences, each after a space
    note: str = ""

    def locate_kept(self, locate: Locate) -> Locate:
        """Return a function that locates the rows that are kept."""
        if not self.rows.size:
            return locate
        # The n-th dropped row has so many kept ones before it.
        kept_before = self.rows - np.arange(self.rows.size)
        return lambda row: locate(row + int(np.searchsorted(kept_before, row, side="right")))


NO_ROWS = DroppedRows(np.empty(0, np.int64))


def drop_without_ids(columns: dict[str, pa.ChunkedArray], locate: Locate) -> DroppedRows:
    """Drop the rows without a user or an item id, unless they may be a sign of misread columns."""
    gone = _reject_misread(columns, locate)
    rows = np.flatnonzero(gone)
    if not rows.size:
        return NO_ROWS
    _keep(columns, ~gone)
    share = rows.size / gone.size
    note = f" These are {percent(share)} of all rows: check the columns." * (share > _MANY)
    return DroppedRows(rows, note)


def _reject_misread(columns: dict[str, pa.ChunkedArray], locate: Locate) -> NDArray[np.bool_]:
    """Return the rows without an id; raise if they may be a sign of misread columns."""
    gone = lacks_id(columns["user"]) | lacks_id(columns["item"])
    rows = np.flatnonzero(gone)
    if 2 * rows.size > gone.size:
        raise RecveilError(
            f"{_describe_lacking(gone)}, so that most would be dropped; {_CHECK_COLUMNS}",
            code="id.missing",
        )
    for name, column in columns.items():
        if not holds_text(column):
            continue
        for at, text in zip(rows, in_turn(column.take(pa.array(rows))), strict=True):
            if text is not None and _ROWS_WITHIN.search(text):
                raise RecveilError(
                    f"{locate(int(at))}: has no user or item id, and its {name} may hold other "
                    f"fields or rows, which would be dropped, too; correct its quotes and "
                    f"delimiters, or drop the row",
                    code="id.row-within",
                )
    return gone


def _describe_lacking(gone: NDArray[np.bool_]) -> str:
    verb = "has" if gone.sum() == 1 else "have"
    return f"{int(gone.sum()):,} of {describe_count(gone.size, 'row')} {verb} no user or item id"


def lacks_id(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which rows hold no id: none, nan, or nothing but blanks."""
    column = run_end_decoded(column)
    if pa.types.is_floating(column.type):
        return np.asarray(pc.is_null(column, nan_is_null=True).to_numpy(), bool)
    gone = np.asarray(missing_rows(column).to_numpy(), bool)
    if not holds_text(column):
        return gone
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    empty = [
        pc.equal(pc.utf8_trim_whitespace(chunk.dictionary.cast(pa.large_string())), "")
        .take(chunk.indices)
        .fill_null(False)
        for chunk in column.chunks
    ]
    return gone | np.asarray(pa.chunked_array(empty, pa.bool_()).to_numpy(), bool)


def _encode_ids(
    columns: dict[str, pa.ChunkedArray], locate: Locate
) -> list[tuple[NDArray[Any], NDArray[np.int32]]]:
    """Encode users and items; the error of a missing id counts the rows without one."""
    encoded = []
    for role in ("user", "item"):
        try:
            encoded.append(encode_ids(columns[role], role, locate))
        except RecveilError as error:
            if error.code != "id.missing":
                raise
            # Of users that were encoded, none is missing.
            gone = np.any([lacks_id(columns[each]) for each in columns if each in _IDS], axis=0)
            remedy = "drop them with drop_missing_ids (--drop-missing-ids)"
            remedy = _CHECK_COLUMNS if 2 * gone.sum() > gone.size else remedy
            first = str(error).removesuffix("; drop the row")
            raise RecveilError(
                f"{first}; {_describe_lacking(gone)}: {remedy}", code=error.code
            ) from None
        del columns[role]
    return encoded


def drop_rows(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    feedback: Feedback,
    locate: Locate,
    *,
    may_drop_none: bool = False,
) -> tuple[DroppedRows, DroppedRows]:
    """Drop the rows without a rating, then those whose rating is off the scale."""
    if "rating" not in columns:
        if scale is None:
            raise RecveilError(
                "drop_off_scale (--drop-off-scale) is given, but no ratings are; leave it out",
                code="option.unsupported",
            )
        return NO_ROWS, NO_ROWS  # the reader of ratings reports the scale
    unrated = _drop_unrated(columns, feedback, scale)
    if scale is None and not feedback.is_specified:
        if not (unrated.rows.size or may_drop_none):
            raise RecveilError(
                "drop_off_scale (--drop-off-scale) requires a scale; give it with scale (--scale), "
                "such as 1:5:1, or its labels with order (--order)",
                code="option.required",
            )
        return unrated, NO_ROWS
    return unrated, _drop_off_scale(columns, scale, feedback, unrated.locate_kept(locate))


def _drop_unrated(
    columns: dict[str, pa.ChunkedArray], feedback: Feedback, scale: RatingScale | None
) -> DroppedRows:
    column = columns["rating"]
    if pa.types.is_floating(column.type):
        gone = pc.is_null(column, nan_is_null=True).to_numpy()
    elif scale is not None and holds_text(column):
        gone = _are_empty(column, scale)
    else:
        gone = missing_rows(column).to_numpy()
    if gone.all():
        likes = (
            ", and declare each row a like with likes (--likes), or name another column with "
            "rating (--rating)"
        )
        raise RecveilError(
            f"{all_ratings(gone.size)} missing, so that drop_off_scale (--drop-off-scale) would "
            f"drop all rows; leave that out{'' if feedback.likes else likes}",
            code="table.no-ratings",
        )
    _keep(columns, ~gone)
    return DroppedRows(np.flatnonzero(gone))


def _are_empty(column: pa.ChunkedArray, scale: RatingScale) -> NDArray[np.bool_]:
    """Return which texts are missing, or say so, as n/a, and are no label of the scale."""
    words = pa.array(EMPTY_CELLS - set(map(str.lower, scale.labels)), pa.large_string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    are_empty = [np.zeros(0, bool)]
    for each in column.chunks:
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(each.dictionary.cast(pa.large_string())))
        is_empty = pc.or_(pc.is_null(texts), pc.is_in(texts, words))
        are_empty.append(is_empty.take(each.indices).fill_null(True).to_numpy(False))
    return np.concatenate(are_empty)


def _drop_off_scale(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    feedback: Feedback,
    locate: Locate,
) -> DroppedRows:
    column = columns["rating"]
    if scale is None:
        on_scale = are_likes(column, feedback, locate)
    elif scale.labels:
        on_scale = are_labels(column, scale, locate)
    else:
        on_scale = _are_on(scale, column, locate)
    if not on_scale.any():
        what = "above 0" if scale is None else f"on the scale {scale}"
        raise RecveilError(
            f"none of the {describe_count(on_scale.size, 'rating')} is {what}, so that "
            f"drop_off_scale (--drop-off-scale) would drop all rows; check "
            f"{'scale (--scale)' if scale is None else option_of(scale)}",
            code="table.no-ratings",
        )
    _keep(columns, on_scale)
    rows = np.flatnonzero(~on_scale)
    if not rows.size:
        return NO_ROWS
    dropped = column.filter(pa.array(~on_scale))
    return DroppedRows(rows, _describe_values(dropped, scale, feedback, rows.size / on_scale.size))


def _are_on(scale: RatingScale, column: pa.ChunkedArray, locate: Locate) -> NDArray[np.bool_]:
    on_scale = _are_numbers(column)
    text = DroppedRows(np.flatnonzero(~on_scale))
    numbers = column.filter(pa.array(on_scale)) if text.rows.size else column
    on_scale[on_scale] = scale.contains(parse_ratings(numbers, text.locate_kept(locate)))
    return on_scale


def _are_numbers(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which rows hold finite numbers; those in other notations are rejected later."""
    if pa.types.is_floating(column.type):
        return np.asarray(pc.is_finite(column.cast(pa.float64())).to_numpy(), bool)
    if not holds_text(column):
        return np.ones(len(column), bool)
    is_dictionary = pa.types.is_dictionary(column.type)
    column = tidied(column if is_dictionary else column.dictionary_encode())
    texts = in_turn(pa.chunked_array([column.chunk(0).dictionary]))
    good = np.array([_is_number(text) for text in texts])
    return np.concatenate([good[chunk.indices.to_numpy()] for chunk in column.chunks])


def _is_number(text: object) -> bool:
    is_number = casts(text, pa.float64()) or has_decimal_comma(text) or plain_number(text)
    return bool(is_number) and not _NOT_FINITE.match(str(text))


def _describe_values(
    column: pa.ChunkedArray, scale: RatingScale | None, feedback: Feedback, share: float
) -> str:
    """Report the values of dropped rows, those far off the scale first, and a large share."""
    looked_at = in_turn(column.slice(0, _LOOKED_AT))
    counts = Counter(_format_odd(value, scale, feedback) for value in looked_at)
    values = sorted(counts, key=lambda each: (each[0], -counts[each]))
    named = [f"{value[1]} ({describe_count(counts[value], 'row')})" for value in values[:_NAMED]]
    n_more = len(values) - _NAMED
    more = f" and {describe_count(n_more, 'further value')}" * (n_more > 0)
    note = f" Their values: {', '.join(named)}{more}."
    whole = "the rows with ids and a rating"
    return note + f" These are {percent(share)} of {whole}: check the scale." * (share > _MANY)


def _format_odd(value: object, scale: RatingScale | None, feedback: Feedback) -> tuple[bool, str]:
    """Return whether a value is a number near the scale, and how the file writes it."""
    is_on_line = scale is not None and not scale.labels
    number = float(plain_number(value) or "nan") if is_on_line else math.nan
    if scale is None or not math.isfinite(number):
        return False, quoted(value, _LONGEST)
    written = str(value).replace(".", ",") if feedback.commas else value
    gap = max(scale.low - number, number - scale.high)
    return gap <= (scale.step or 0.0), quoted(written, _LONGEST)


def _keep(columns: dict[str, pa.ChunkedArray], rows: NDArray[np.bool_]) -> None:
    """Keep some rows of all columns."""
    if not rows.all():
        kept = pa.array(rows)
        columns |= {name: column.filter(kept) for name, column in columns.items()}


@brief
class Built(NamedTuple):
    """The parts of `Ratings`, and the number of dropped rows."""

    # Ids, ascending
    users: NDArray[Any]
    items: NDArray[Any]
    rows: Rows
    scale: RatingScale
    # Rows dropped because another row has the same user and item
    duplicates_dropped: int
    # Rows dropped because the rating is off the given scale, or is no like
    off_scale_dropped: int
    # Whether times decided which of several ratings of a pair is the last
    by_time: bool
    # Why the column of times was dropped, as the end of a sentence
    time_problem: str
    # Why undeclared ratings were taken for likes, as the start of a sentence
    why_likes: str = ""
    # Rows dropped because they have no rating
    unrated_dropped: int = 0
    # Rows dropped because they have no user or item id, and their share if it is large
    missing_ids_dropped: int = 0
    missing_ids_note: str = ""
    # Values of the rows off the scale, as sentences, each after a space
    off_scale_note: str = ""
    # Whether the dropped column of times may state when users rated
    times_are_lost: bool = False
    # Odd properties of the times that were kept, as the end of a sentence
    time_note: str = ""
    # Which digits of the ratings were lost, or that labels were not read, as a sentence
    rating_note: str = ""
    # Whether different ratings became equal, or may have been before
    ratings_merged: bool = False


def build(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    duplicates: Duplicates,
    locate: Locate,
    *,
    drop_off_scale: bool = False,
    drop_missing_ids: bool = False,
    times: bool = True,
    time_format: str | None = None,
    time_is_doubtful: bool = False,
    time_is_named: bool = False,
    trusts_days: bool = True,
    feedback: Feedback = NOT_SAID,
) -> Built:
    """Convert the columns user, item, rating and time of a table to compressed rows."""
    if len(columns["user"]) == 0:
        raise RecveilError(
            "the table has no rows; expected at least one rating", code="table.no-ratings"
        )
    try:
        strict = time_is_named and not time_is_doubtful
        decides = duplicates == "last"
        how = _Times(times, decides, time_format, time_is_doubtful, strict, trusts_days)
        drop = _Drop(drop_off_scale, drop_missing_ids)
        return _build(columns, scale, duplicates, locate, drop, how, feedback)
    except MemoryError:  # no fault of the columns
        raise
    except pa.ArrowException as error:
        # Unforeseen, such as ids beyond 64 bits.
        raise RecveilError(
            f"the columns cannot be read as ratings ({first_line_of(error)}); convert them",
            code="column.type",
        ) from error


class _Drop(NamedTuple):
    """Which rows to drop instead of raising."""

    off_scale: bool
    missing_ids: bool

    def apply(
        self,
        columns: dict[str, pa.ChunkedArray],
        scale: RatingScale | None,
        feedback: Feedback,
        locate: Locate,
    ) -> tuple[DroppedRows, DroppedRows, DroppedRows, Locate]:
        """Drop rows without ids, without a rating and off the scale; return them, and a locator."""
        unrated = off_scale = without_ids = NO_ROWS
        if self.missing_ids:
            without_ids = drop_without_ids(columns, locate)
            locate = without_ids.locate_kept(locate)
        if self.off_scale:
            if not self.missing_ids and "rating" in columns:
                _reject_misread(columns, locate)  # they may be dropped for their rating
            is_dropped = without_ids.rows.size > 0  # those without a rating may be among them
            unrated, off_scale = drop_rows(
                columns, scale, feedback, locate, may_drop_none=is_dropped
            )
            locate = off_scale.locate_kept(unrated.locate_kept(locate))
        return unrated, off_scale, without_ids, locate


class _Times(NamedTuple):
    """Options on the times."""

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
class _Days(NamedTuple):
    """The days to keep, whether the times decide which rating is the last, and notes."""

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
    drop: _Drop,
    times: _Times,
    feedback: Feedback,
) -> Built:
    if scale is not None and scale.inferred:
        scale = replace(scale, inferred=False)  # the caller names it
    unrated, off_scale, without_ids, locate = drop.apply(columns, scale, feedback, locate)
    (users, user_of), (items, indices) = _encode_ids(columns, locate)
    for ids, codes, role in ((users, user_of, "user"), (items, indices, "item")):
        both, is_unrated = (users, items), "rating" not in columns
        require_no_rows_within(ids, codes, role, both, locate, is_unrated=is_unrated)
    pa.default_memory_pool().release_unused()
    taken = take_feedback(columns.pop("rating", None), user_of.size, feedback, scale, locate)
    values, scale, why_likes, rating_note, merged = taken
    if scale is not None and scale.unary:
        duplicates = "mean"  # of ones, and of their days the last
    elif scale is not None and scale.labels and duplicates == "mean":
        raise RecveilError(
            "duplicates (--duplicates) is mean, but labels have no mean; choose last",
            code="option.unsupported",
        )
    raw_times = columns.pop("time", None)
    days, decide, problem, times_are_lost, time_note = _read_days(raw_times, indices, times, locate)
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
        () if scale is None else scale.labels,
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
        missing_ids_dropped=without_ids.rows.size,
        missing_ids_note=without_ids.note,
        off_scale_note=off_scale.note,
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


def _read_days(
    column: pa.ChunkedArray | None, items: NDArray[np.int32], times: _Times, locate: Locate
) -> _Days:
    if column is None or not (times.wanted or times.deciding):
        return _Days()
    gone = missing_rows(column).to_numpy()
    n_gone = int(gone.sum())
    some_gone = 0 < n_gone < gone.size
    if some_gone and times.strict and times.wanted:
        times.read(column, locate)  # reports the first one
    present = column.filter(pa.array(~gone)) if some_gone else column
    where = DroppedRows(np.flatnonzero(gone)).locate_kept(locate)
    try:
        days, problem, note = times.read(present, where)
    except RecveilError as error:
        if times.strict:
            raise
        days, note = None, ""
        problem = f"not every row holds a date: {error}"
    is_lost = times.wanted and n_gone < gone.size
    if times.doubtful and days is not None and one_date_each(items[~gone], days):
        problem = "all ratings of an item have the same date, so that it is not that of ratings"
        is_lost = False
    if problem or n_gone == gone.size:
        return _Days(problem=f"was not used as times: {problem}", is_lost=is_lost)
    if not some_gone:
        if not times.wanted:
            return _Days(None, times.deciding, note=note)
        note = note or ("" if days is None else describe_repeated(days))
        return _Days(days, times.deciding, note=note)
    left_out = (
        f"was dropped, and no times were kept: {locate(int(np.argmax(gone)))}: the time is "
        f"missing, as in {n_gone:,} of {describe_count(gone.size, 'row')}"
    )
    return _Days(None, times.deciding, left_out if times.wanted else "", times.wanted)


class _Instants:
    """The order in time of rows."""

    def __init__(self, column: pa.ChunkedArray, locate: Locate, times: _Times) -> None:
        self._column, self._locate, self._times = column, locate, times
        self.problem = ""

    def __call__(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """Return numbers that order some rows; all equal if a needed time is missing."""
        try:
            return sort_keys(self._column, places, self._locate, self._times.format)
        except RecveilError as error:
            if self._times.strict:
                raise
            self.problem = f"was not used as times: {error}"
            return np.zeros(places.size)


def describe_dropped(
    built: Built, duplicates: Duplicates, feedback: Feedback = NOT_SAID
) -> list[str]:
    """Report the dropped rows and lost digits, a sentence each."""
    notes = [built.rating_note] if built.rating_note else []
    unary = built.scale.unary
    if dropped := built.duplicates_dropped:
        kept = {
            "mean": "the mean of each pair was kept"
            + ("" if built.scale.inferred else ", rounded to the scale"),
            "like": "likes of one pair are one like",
            "last": "the latest rating of each pair was kept"
            if built.by_time
            else "without times, the rating in the last line of each pair was kept",
        }["like" if unary else duplicates]
        verb, option = ("liked", "") if unary else ("rated", " (duplicates, --duplicates)")
        notes.append(
            f"{_rows(dropped)} dropped, because a user {verb} an item more than once; "
            f"{kept}{option}."
        )
    option = " (drop_off_scale, --drop-off-scale)."
    if dropped := built.unrated_dropped:
        notes.append(f"{_rows(dropped)} dropped, because the rating is missing{option}")
    if dropped := built.off_scale_dropped:
        why = (
            "of a rating of 0, or less"
            if feedback.is_specified
            else f"the rating is not on the scale {built.scale}"
        )
        notes.append(f"{_rows(dropped)} dropped, because {why}{option}{built.off_scale_note}")
    if dropped := built.missing_ids_dropped:
        what = "they have" if dropped > 1 else "it has"
        notes.append(
            f"{_rows(dropped)} dropped, because {what} no user or item id (drop_missing_ids, "
            f"--drop-missing-ids).{built.missing_ids_note}"
        )
    return notes


def _rows(number: int) -> str:
    return f"{describe_count(number, 'row')} {'was' if number == 1 else 'were'}"
