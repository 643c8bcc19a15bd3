"""Readers of ratings from any input, with a report on how the input was interpreted."""

import os
import sys
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from inspect import signature
from os import PathLike
from typing import Any, NamedTuple, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from recveil.io.columns.build import build, describe_dropped
from recveil.io.columns.columns import NOT_SAID, Feedback, holds_text, is_usual_time
from recveil.io.columns.feedback import describe_feedback, feedback_of, parse_scale_option
from recveil.io.columns.frames import frame_columns
from recveil.io.columns.ids import describe_alike_ids, describe_comments, describe_ids
from recveil.io.columns.time_columns import Look, describe_time_columns, reject_times
from recveil.io.detect.user_column import (
    Order,
    ambiguous_order,
    describe_guess,
    order_of,
)
from recveil.io.inputs import open_input
from recveil.io.options import ReadingOptions, layout_of, option_words, reject_given
from recveil.io.raw_rows import other_problems
from recveil.io.source import ROLES, as_text
from recveil.io.tables import COMMAS, read_source
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.arrow_columns import python_values
from recveil.ratings.rating_scale import Locate
from recveil.ratings.ratings import doubts_of
from recveil.ratings.sorted_rows import Duplicates
from recveil.runtime.errors import (
    ReadingWarning,
    RecveilError,
    UnknownOrderError,
    listed,
    quoted,
    shortened,
    unexpected_keyword,
    without_secrets,
)
from recveil.runtime.progress import busy

_EXAMPLES, _LOOKED_AT = 2, 10_000
# Without a group size k, an end of the scale given by fewer users is reported.
_FEW = 5
# Why rows are dropped
REASONS = {
    "duplicate": "the same user rated the item already",
    "off scale": "the rating is not on the scale",
    "no rating": "there is no rating",
    "no id": "without a user or item id",
}
# Start of a note on an inferred scale.
INFERRED_SCALE_NOTE = "The scale is inferred"


class ReadColumn(NamedTuple):
    """A column of users, items, ratings or times.

    Attributes
    ----------
    role : {"user", "item", "rating", "time"}
    name : str or int
        Its name in the table, or its place, from 1, without a header.
    examples : tuple of str
        Two of its values, for the publisher to check: they are private.
    """

    role: str
    name: str | int
    examples: tuple[str, ...]

    def __repr__(self) -> str:
        return f"ReadColumn({self.role!r}, {self.name!r})"


@dataclass(frozen=True, repr=False)
class Reading:
    """Ratings, and how their table was interpreted.

    Parameters
    ----------
    ratings : Ratings
    name : str
        The name of the file; "the data frame" or "the ratings" for other inputs.
    columns : tuple of ReadColumn
        Empty if `Ratings` were given.
    order : {"named", "given", "format", "guessed"}
        How the columns were identified: by the table's names, by the caller, by the format's fixed
        order, or by the usual order alone.
    scale_given : bool
        Whether the caller named the scale; otherwise it is inferred.
    duplicates_dropped, off_scale_dropped : int
        Number of rows dropped because their pair was repeated, or their rating off the given scale.
    notes : tuple of str
        Warnings about the ratings, a sentence each.
    layout : tuple of str
        Unusual properties of the file: its packing, its delimiter.
    format : str
        The format of the file, a key of `FORMATS`, or "wide"; empty for other inputs.
    counted : bool
        Whether the ratings are levels of counts.
    unrated_dropped, missing_ids_dropped : int
        Number of rows dropped because they had no rating, or no user or item id.
    of_release : bool
        Whether these are the values of a release, whose rows are not the ratings of any user.
    lost_times : str
        Why a column that may hold times was dropped.
    unread : tuple of str
        Names of the columns that were not read.
    arguments : tuple of str
        The words of a command line that read this table: its path or address and the given
        options. Empty for other inputs.
    """

    ratings: Ratings
    name: str
    columns: tuple[ReadColumn, ...] = ()
    order: Order = "named"
    scale_given: bool = False
    duplicates_dropped: int = 0
    off_scale_dropped: int = 0
    notes: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    format: str = ""
    counted: bool = False
    unrated_dropped: int = 0
    missing_ids_dropped: int = 0
    of_release: bool = False
    lost_times: str = ""
    unread: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    # The notes on ids that may be of one user, which a publisher is warned of
    alike_users: tuple[str, ...] = ()

    @property
    def dropped(self) -> dict[str, int]:
        """Numbers of rows that were dropped, by reason: a key of `REASONS`."""
        rows = {
            "duplicate": self.duplicates_dropped,
            "off scale": self.off_scale_dropped,
            "no rating": self.unrated_dropped,
            "no id": self.missing_ids_dropped,
        }
        return {why: n for why, n in rows.items() if n}

    @property
    def has_header(self) -> bool:
        """Whether the table names its columns."""
        return not any(isinstance(column.name, int) for column in self.columns)

    def mapping(self, *, examples: bool = False) -> str:
        """Describe which column has which role.

        Parameters
        ----------
        examples : bool
            Whether to show two values of each column, to the publisher alone.

        Examples
        --------
        >>> ratings = Ratings.from_columns(["ann"], ["Heat"], [4])
        >>> columns = ReadColumn("user", 2, ("ann",)), ReadColumn("item", "film", ("Heat",))
        >>> Reading(ratings, "ratings.csv", columns).mapping(examples=True)
        "user: column 2 (ann); item: column 'film' (Heat)"
        """
        roles = [
            f"{column.role}: column {column.name!r}"
            + (f" ({', '.join(column.examples)})" if examples and column.examples else "")
            for column in self.columns
        ]
        return "; ".join([*roles, *[f"not read: {listed(self.unread)}"] * bool(self.unread)])

    def settled(self) -> "Reading":
        """Return the same reading with its scale accepted, even if it was inferred.

        For measurements; `notes` report doubts about the scale. Publishing requires an unsettled
        scale, so that anonymizers reject ends that come from few users.
        """
        scale = replace(self.ratings.scale, inferred=False)
        return replace(self, ratings=self.ratings.with_scale(scale))

    def require_times(
        self, remedy: str = "fix or drop them (recveil convert --no-times)"
    ) -> "Reading":
        """Return self, or raise a RecveilError if a column that may hold times was dropped."""
        if self.lost_times:
            why = self.lost_times.replace("was not used as times: ", "holds no times: ")
            why = why.replace(f": not every row holds a date: {self.name} ", ": ")
            raise RecveilError(
                f"{shortened(self.name, 24)}: {why}; {remedy}",
                code="time.unreadable",
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the interpretation as plain data, for JSON, without values of the table."""
        return {
            "columns": {column.role: column.name for column in self.columns},
            "has_header": self.has_header,
            "order": self.order,
            "layout": list(self.layout),
            "scale_given": self.scale_given,
            "duplicates_dropped": self.duplicates_dropped,
            "off_scale_dropped": self.off_scale_dropped,
            "unrated_dropped": self.unrated_dropped,
            "missing_ids_dropped": self.missing_ids_dropped,
            "alike_users": list(self.alike_users),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"Reading({self.name!r}: {self.ratings!r})"


def warn_of_reading(reading: Reading) -> None:
    """Warn of what was dropped and doubtful."""
    unread = [f"Not read: {listed(reading.unread)}."] if reading.unread else []
    warn_of_notes([*reading.notes, *unread])


def warn_of_notes(notes: Iterable[str]) -> None:
    """Warn of notes on a table, at the first line that is not ours."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("recveil."):
        level, frame = level + 1, frame.f_back
    for note in notes:
        warnings.warn(note, ReadingWarning, stacklevel=level)


# The beginning of the note on dates that a release leaves out
NO_DATES = "The release has no dates"
# Options of methods that publish dates, as far as a method has them.
_DATING = ("dates", "date_range")


def how_to_date(options: Container[str]) -> str:
    """Name the options among these that publish dates; empty if there are none."""
    dating = [f"{name} (--{name.replace('_', '-')})" for name in _DATING if name in options]
    return f"; to publish them by period, set {' and '.join(dating)}" if dating else ""


def without_dates(
    reading: Reading, named: str | int | None, how: str = "", beginning: str = NO_DATES
) -> Reading:
    """Add a note of columns that are named as dates or times, and of how to publish them.

    >>> ratings = Ratings.from_columns(["ann"], ["Heat"], [4])
    >>> reading = without_dates(Reading(ratings, "r.csv", unread=("when", "city")), "when")
    >>> reading.notes, reading.unread
    (("The release has no dates: 'when' is left out.",), ('city',))
    """
    times = [column.name for column in reading.columns if column.role == "time"]
    times += [
        name
        for name in reading.unread
        if is_usual_time(name.partition(" (")[0]) or name == str(named)
    ]
    if not times and reading.ratings.days is None:
        return reading
    # A number alone is no name.
    named_times = [f"column {name}" if str(name).isdecimal() else name for name in times]
    left_out = f"{listed(named_times)} {'is' if len(times) == 1 else 'are'}"
    if not times:
        left_out = "times are"
    note = f"{beginning}: {left_out} left out{how}."
    unread = tuple(name for name in reading.unread if name not in times)
    return replace(reading, notes=(*reading.notes, note), unread=unread)


def equal_as_likes(reading: Reading) -> Reading:
    """Convert equal ratings to likes, unless a scale has other levels.

    >>> equal_as_likes(Reading(Ratings.from_columns([1, 2], [7, 7], [5, 5]), "the ratings")).notes
    ('All 2 ratings are 5: read as likes, without rating values; if they are ratings, name the scale
    (--scale).',)
    """
    ratings = reading.ratings
    if not ratings.scale.inferred or ratings.scale.range or ratings.n_ratings < 2:
        return reading
    why = f"All {ratings.n_ratings:,} ratings are {ratings.values[0]:g}"
    likes = ratings.as_likes()
    likes = likes.with_scale(replace(likes.scale, inferred=True))
    notes = describe_feedback(likes.scale, why, NOT_SAID, None, publishing=False)
    return replace(reading, ratings=likes, notes=(*reading.notes, *notes))


def with_scale_notes(reading: Reading) -> Reading:
    """Add notes on doubtful ends and steps of an inferred scale, which stays marked as inferred."""
    remedy = (
        "Name all labels with words (--words), and drop others with drop_off_scale "
        "(--drop-off-scale)."
        if reading.ratings.scale.labels
        else "Name it with scale (--scale), and drop invalid ratings with drop_off_scale "
        "(--drop-off-scale)."
    )
    notes = [
        f"{INFERRED_SCALE_NOTE}: {doubt.describe(_FEW)}. {remedy}"
        for doubt in doubts_of(reading.ratings, _FEW)
    ]
    return replace(reading, notes=(*reading.notes, *notes))


def examples_of(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return two distinct values of a column, shortened.

    >>> examples_of(pa.chunked_array([["ann", "ann", "ben", "eve"]]))
    ('ann', 'ben')
    """
    first = column.slice(0, _LOOKED_AT)
    if not pa.types.is_nested(first.type):
        first = first.unique()
    texts = map(str, python_values(first.slice(0, _EXAMPLES)))
    return tuple(text if len(text) <= 24 else f"{text[:24]}…" for text in texts)


Observer = Callable[[Mapping[str, pa.ChunkedArray]], object]

_OBSERVER: ContextVar[Observer | None] = ContextVar("raw_columns_observer", default=None)


@contextmanager
def observe_raw_columns(observer: Observer) -> Iterator[None]:
    """Pass the raw columns of each table read inside the block to a function."""
    before = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(before)


def understand(
    source: str | PathLike[str] | Ratings | Any,
    *,
    times: bool = True,
    k: int | None = None,
    user_files: Iterable[tuple[str, str | PathLike[str]]] = (),
    **reading: Unpack[ReadingOptions],
) -> Reading:
    r"""Read ratings from any input, and report how it was interpreted.

    Parameters
    ----------
    source : path, Ratings, or data frame
        A file for `read`; a table in memory for `Ratings.from_frame`, including data
        frames, sparse matrices and data sets of other libraries; or finished ratings, with all
        other parameters left at their defaults.
    format, scale, duplicates, ..., words
        As for `read`.
    k : int, optional
        Group size, given by a caller that publishes; 1 for a release without groups. Then nothing
        is guessed: ambiguous columns are rejected here, and the anonymizers reject ends of the
        scale that too few users gave. Without
        it, both are reported in `notes`.
    user_files : iterable of (str, path)
        Files that may help to distinguish users from items: ("levels", path) or ("trust", path).

    Raises
    ------
    UnknownOrderError
        With `k`, if the column of users is ambiguous.
    RecveilError
        As `read`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_text("7,ann,4\n7,ben,2\n")
    ...     reading = understand(path, user="2", item="1", scale=RatingScale(1, 5, 1))
    >>> reading.order, reading.mapping()
    ('given', 'user: column 2; item: column 1; rating: column 3')
    """
    reject_unknown_keywords(understand, reading)
    path = os.fspath(source) if isinstance(source, str | PathLike) else "-"
    try:
        found = _understand(
            source, one_value=True, times=times, k=k, user_files=user_files, **reading
        )
    except RecveilError as error:
        is_of_table = error.code.startswith(_OF_TABLE) and not isinstance(error, UnknownOrderError)
        if path != "-" and is_of_table:
            error.also = other_problems(path, _given(reading), error.code)
        raise
    if path != "-":
        found = replace(found, arguments=(without_secrets(path), *option_words(reading)))
    return found if k is not None else with_scale_notes(found)


# Codes of errors of columns and values. A file with others may not be read again.
_OF_TABLE = ("column.", "rating.", "time.", "id.", "input.encoding", "input.header")


def _given(reading: ReadingOptions) -> dict[str, object]:
    """Return the options that are not at their defaults, with positions as text."""
    given = {name: value for name, value in reading.items() if value not in (None, False, "error")}
    return given | {name: str(given[name]) for name in ROLES if name in given}


def understand_auxiliary(source: str | PathLike[str] | Any, **reading: Any) -> Reading:
    """Read auxiliary information as `understand` does, but keep equal ratings as ratings."""
    return with_scale_notes(_understand(source, **reading))


def _understand(
    source: str | PathLike[str] | Ratings | Any,
    *,
    one_value: bool = False,
    times: bool = True,
    k: int | None = None,
    user_files: Iterable[tuple[str, str | PathLike[str]]] = (),
    **reading: Unpack[ReadingOptions],
) -> Reading:
    """Read ratings from any input; an inferred scale stays marked as such."""
    scale, are_labels = parse_scale_option(
        reading.get("scale"), reading.get("order"), reading.get("words")
    )
    layout = layout_of(**reading)
    feedback = feedback_of(
        likes=reading.get("likes", False),
        counts=reading.get("counts"),
        scale=scale,
        one_value=one_value,
        words=are_labels,
        points=layout.decimal == ".",
    )
    chosen = (reading.get("user"), reading.get("item"), reading.get("rating"), reading.get("time"))
    given = as_text(dict(zip(ROLES, chosen, strict=True)))
    format, time_format = reading.get("format"), reading.get("time_format")
    drop_off_scale = reading.get("drop_off_scale", False)
    drop_missing_ids = bool(reading.get("drop_missing_ids", False))
    layout_given = {**layout._asdict(), "wide": layout.wide or None, "format": format}
    if isinstance(source, Ratings):
        if scale is not None and not (_is_coded(scale) or _is_coded(source.scale)):
            source, scale = source.with_scale(scale), None
        values_given: dict[str, object] = {"scale": scale, "drop_off_scale": drop_off_scale or None}
        values_given |= {"time_format": time_format, "likes": feedback.likes or None}
        values_given |= {"drop_missing_ids": drop_missing_ids or None}
        values_given |= {"counts": feedback.counts, "words": feedback.words or None}
        reject_given({**given, **layout_given, **values_given}, "ratings that were read already")
        read = Reading(source, "the ratings")
        return equal_as_likes(read) if feedback.one_value else read
    how = _Options(
        scale=scale,
        duplicates=reading.get("duplicates", "error"),
        drop_off_scale=bool(drop_off_scale),
        drop_missing_ids=drop_missing_ids,
        times=times,
        time_format=time_format,
        time_is_named=given["time"] is not None or time_format is not None,
        feedback=feedback,
        k=k,
    )
    if not isinstance(source, str | PathLike):
        reject_given(layout_given, "a data frame")
        is_written = time_format is not None
        frame = frame_columns(source, is_written=is_written, feedback=feedback, **given)
        unread = frame.unread
        if not how.reads_times and frame.columns.pop("time", None) is not None:
            unread += (frame.names["time"],)
        result = _read(
            frame.columns, frame.names, frame.name, "named", frame.locate, how, frame.look
        )
        notes = *filter(None, [frame.note]), *result.notes
        return replace(result, notes=notes, unread=unread)
    with busy("Reading ratings"), open_input(source) as path:
        raw = read_source(
            *(path, format, given),
            times=how.reads_times,
            time_format=time_format,
            layout=layout,
            feedback=feedback,
            scale=scale,
        )
        order = order_of(path.name, raw, given, format)
        if order == "guessed" and k is not None:
            raise ambiguous_order(path.name, raw, given, user_files)
        file_warnings = [describe_guess(path.name, raw)] if order == "guessed" else []
        file_warnings += raw.notes
        names = {role: raw.names[role] for role in raw.table.column_names}
        columns = dict(zip(raw.table.column_names, raw.table.columns, strict=True))
        locate, look, file_notes, detected = raw.locate, raw.look, raw.layout, raw.format
        unread = raw.unread
        how = how._replace(feedback=feedback._replace(commas=COMMAS in raw.layout))
        del raw  # leaves the dictionary as the only holder of the columns
        result = _read(columns, names, path.name, order, locate, how, look)
    return replace(
        result,
        notes=(*file_warnings, *result.notes),
        layout=file_notes,
        format=detected,
        unread=unread,
    )


def _is_coded(scale: RatingScale) -> bool:
    """Return whether values are no plain numbers: codes of labels, or likes."""
    return bool(scale.labels) or scale.unary


def read(
    source: str | PathLike[str] | Ratings | Any,
    *,
    times: bool = True,
    **reading: Unpack[ReadingOptions],
) -> Ratings:
    r"""Read ratings from a file, packed or not, or from a table in memory.

    Parameters
    ----------
    source : path, data frame, matrix or Ratings
        The file, a folder or pattern of part files, the folder of the Netflix Prize, a pipe, "-"
        for standard input, or the address of a database (``sqlite:///shop.db``,
        ``postgresql://host/shop``) or of a remote file (``s3://bucket/ratings.csv``); or a table
        that `Ratings.from_frame` takes.
    format : str, optional
        A key of `FORMATS`; detected from the content if not given.
    scale : RatingScale, str or tuple, optional
        Such as "1:5:1" or ``(1, 5, 1)``; inferred from the ratings if not given.
    duplicates : {"error", "last", "mean"}
        What to do if a user rates an item more than once: raise, keep the latest rating (the last
        row, without times), or take the mean.
    drop_off_scale : bool
        Drop rows without a rating, or with one off the given `scale`, instead of raising.
    drop_missing_ids : bool
        Drop rows without a user or item id, instead of raising.
    times : bool
        Whether to read the times, if there are any. Without a valid column named as times, the only
        column that certainly holds dates is used. Times of a column that is not named with `time`
        are dropped if some are missing or invalid.
    time_format : str, optional
        Format of times that are neither ISO dates nor Unix times, with the directives of
        ``datetime.strptime``, such as ``%d/%m/%Y``. The order of day and month is never guessed.
        ``%s`` means Unix seconds of any year.
    user, item, rating, time : str, optional
        Names of the columns, or their places from 1. If not given, columns are found by their usual
        names or, without a header, taken in this order. `understand` reports the result.
    delimiter : str, optional
        Separator of columns, one character or one doubled; detected if it is unambiguous.
    decimal : {",", "."}, optional
        Decimal separator of ratings; detected from all ratings if it is unambiguous.
    wide : bool
        Whether the table is a matrix with a row per user and a column per item.
    null : str or float, optional
        What marks a missing rating in a matrix, in addition to an empty cell: 99 in Jester's.
    query, table : str, optional
        What to read from a database: the rows of one SELECT, or a table or view; one of both. The
        database is opened read-only.
    sheet : str, optional
        Which sheet of a workbook to read, if several hold a table.
    likes : bool
        Whether each row is a like, whatever its rating. This is the default for a table without
        ratings; `understand` also takes equal ratings for likes.
    counts : {"log", "likes"}, optional
        How to convert ratings that are counts or durations: to levels of 1 to 7 (from 1, 3, 10, 30,
        100, 300 and 1,000), or to likes.
    order : str or iterable of str, optional
        Words used as ratings, from the lowest; a string separates them with commas. Equivalent to
        the `scale` ``RatingScale.of_labels(order)``.
    words : str or iterable of str, optional
        Words used as ratings, without an order, or "all" for those of the table.

    Returns
    -------
    Ratings

    Raises
    ------
    RecveilError
        For a file that cannot be read, and for the first invalid line or row, by its number.

    Warns
    -----
    ReadingWarning
        If rows or times were dropped or columns not read, if only the usual order distinguished
        users from items, or if the column of times was identified by its values alone.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.dat")
    ...     _ = path.write_text("1::1193::5::978300760\n1::661::3::978302109\n")
    ...     read(path)
    Ratings(1 user × 2 items, 2 ratings, 100% filled, scale 3:5:2, with times)
    """
    reject_unknown_keywords(read, reading, "k", "user_files", "times")
    found = _understand(source, times=times, **reading)
    warn_of_reading(found)
    return found.ratings


read_ratings = read  # its name in recveil 1


class _Options(NamedTuple):
    """Options of `read` on values."""

    scale: RatingScale | None
    duplicates: Duplicates
    drop_off_scale: bool
    drop_missing_ids: bool
    times: bool
    time_format: str | None
    time_is_named: bool
    feedback: Feedback
    k: int | None

    @property
    def reads_times(self) -> bool:
        """Whether times are read, as the last of several ratings of a pair depends on them."""
        return self.times or self.duplicates == "last"


def _require_no_repeated_header(
    columns: Mapping[str, pa.ChunkedArray], names: Mapping[str, str | int], locate: Locate
) -> None:
    """Raise a RecveilError for a repeated header, as in concatenated files."""
    is_header: Any = True
    for role in ("user", "item"):
        column, name = columns[role], names[role]
        if not isinstance(name, str) or not holds_text(column):
            return
        is_dictionary = pa.types.is_dictionary(column.type)
        for chunk in column.chunks:
            values = (chunk.dictionary if is_dictionary else chunk).cast(pa.large_string())
            if pc.index(values, name).as_py() >= 0:
                break
        else:
            return
        is_header = pc.and_(is_header, pc.equal(column.cast(pa.large_string()), name))
    row = pc.index(is_header, True).as_py()
    if row >= 0:
        raise RecveilError(
            f"{locate(row)}: repeats the header: ids are the names of the columns; drop the row",
            code="input.header",
        )


def _read(
    columns: dict[str, pa.ChunkedArray],
    names: Mapping[str, str | int],
    where: str,
    order: Order,
    locate: Locate,
    how: _Options,
    look: Look,
) -> Reading:
    if (observer := _OBSERVER.get()) is not None:
        observer(columns)
    shown = [
        ReadColumn(role, names[role], examples_of(columns[role]))
        for role in ROLES
        if role in columns
    ]
    if how.times and how.time_format is not None and "time" not in columns:
        raise RecveilError(
            f"{where}: time_format (--time-format) is given, but no column of times was "
            f"recognized; name it with time (--time)",
            code="time.missing",
        )
    is_specified = how.scale is not None or how.feedback.is_specified or how.feedback.words
    if "rating" in columns and not is_specified:
        reject_times(columns["rating"].slice(0, 1_000), names["rating"], where)
    if not how.drop_off_scale:  # drops such a row for its rating
        _require_no_repeated_header(columns, names, locate)
    comments = [
        note for role in ("user", "item") for note in describe_comments(columns[role], role, locate)
    ]
    try:
        built = build(
            columns,
            how.scale,
            how.duplicates,
            locate,
            drop_off_scale=how.drop_off_scale,
            drop_missing_ids=how.drop_missing_ids,
            times=how.times,
            time_format=how.time_format,
            time_is_doubtful=look.name is not None,
            time_is_named=how.time_is_named,
            trusts_days=False,
            feedback=how.feedback,
        )
        feedback_notes = describe_feedback(
            *(built.scale, built.why_likes, how.feedback, names.get("rating")),
            publishing=how.k is not None,
        )
    except RecveilError as error:
        # Most errors name the line, and with it the file; a few concern a whole column.
        raise (
            error if where in str(error) else RecveilError(f"{where}: {error}", code=error.code)
        ) from None
    problem = built.time_problem
    time_name = str(names["time"]) if "time" in names else None
    time_notes = describe_time_columns(look, problem, time_name, built.time_note)
    alike_users = describe_alike_ids(built.users, "user")
    return Reading(
        ratings=Ratings.from_built(built),
        name=where,
        columns=tuple(column for column in shown if column.role != "time" or not problem),
        order=order,
        scale_given=how.scale is not None or how.feedback.counts == "log",
        counted=how.feedback.counts == "log",
        duplicates_dropped=built.duplicates_dropped,
        off_scale_dropped=built.off_scale_dropped,
        unrated_dropped=built.unrated_dropped,
        missing_ids_dropped=built.missing_ids_dropped,
        lost_times=f"column {quoted(time_name)} {problem}" if built.times_are_lost else "",
        notes=(
            *feedback_notes,
            *alike_users,
            *describe_ids(built.users, built.items),
            *comments,
            *(time_notes if how.reads_times else []),
            *describe_dropped(built, how.duplicates, how.feedback),
        ),
        alike_users=tuple(alike_users),
    )


def reject_unknown_keywords(
    verb: Callable[..., object], given: Mapping[str, Any], *own: str
) -> None:
    """Raise a TypeError that names the verb, for unknown keywords."""
    known = {*ReadingOptions.__annotations__, "times", "k", "user_files"}
    for name in given:
        if name not in known or name in own:
            of_verb = [*signature(verb).parameters, *ReadingOptions.__annotations__]
            raise unexpected_keyword(verb.__name__, name, of_verb)


def has_value(value: object) -> bool:
    """Return whether an option was given; 0 and empty strings count as given.

    >>> has_value(None), has_value(False), has_value(0), has_value("")
    (False, False, True, True)
    """
    return value is not None and value is not False
