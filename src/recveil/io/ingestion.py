"""Readers of ratings from any input, with a report on how the input was interpreted."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from inspect import Parameter, signature
from os import PathLike
from typing import Any, NamedTuple, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from recveil.io.columns.build import build, describe_dropped
from recveil.io.columns.columns import Feedback, holds_text
from recveil.io.columns.feedback import Counts, describe_feedback, feedback_of, parse_scale_option
from recveil.io.columns.frames import frame_columns
from recveil.io.columns.ids import describe_comments, describe_ids
from recveil.io.columns.time_columns import Look, describe_time_columns, reject_times
from recveil.io.detect.user_column import Order, ambiguous_order, describe_guess, order_of
from recveil.io.inputs import open_input
from recveil.io.options import Layout, ReadingOptions, layout_of, reject_given
from recveil.io.reading import (
    ReadColumn,
    Reading,
    equal_as_likes,
    examples_of,
    with_scale_notes,
)
from recveil.io.source import ROLES, as_text
from recveil.io.tables import read_source
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import Locate
from recveil.ratings.sorted_rows import Duplicates
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.progress import busy

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
    format: str | None = None,
    scale: RatingScale | None = None,
    duplicates: Duplicates = "error",
    drop_off_scale: bool = False,
    times: bool = True,
    time_format: str | None = None,
    user: str | int | None = None,
    item: str | int | None = None,
    rating: str | int | None = None,
    time: str | int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    wide: bool = False,
    null: str | float | None = None,
    query: str | None = None,
    table: str | None = None,
    sheet: str | None = None,
    likes: bool = False,
    counts: Counts | None = None,
    order: str | Iterable[str] | None = None,
    words: str | Iterable[str] | None = None,
    k: int | None = None,
    user_files: Iterable[tuple[str, str | PathLike[str]]] = (),
) -> Reading:
    r"""Read ratings from any input, and report how it was interpreted.

    Parameters
    ----------
    source : path, Ratings, or data frame
        A file for `read_ratings`; a table in memory for `Ratings.from_frame`, including data
        frames, sparse matrices and data sets of other libraries; or finished ratings, with all
        other parameters left at their defaults.
    format, scale, duplicates, ..., words
        As for `read_ratings`.
    k : int, optional
        Group size, given by a caller that publishes. Then nothing is guessed: ambiguous columns are
        rejected here, and the anonymizers reject ends of the scale that too few users gave. Without
        it, both are reported in `notes`.
    user_files : iterable of (str, path)
        Files that may help to distinguish users from items: ("levels", path) or ("trust", path).

    Returns
    -------
    Reading

    Raises
    ------
    UnknownOrderError
        With `k`, if the column of users is ambiguous.
    RecveilError
        As `read_ratings`.

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
    options = dict(locals())  # every option is forwarded
    reading = _understand(options.pop("source"), one_value=True, **options)
    return reading if k is not None else with_scale_notes(reading)


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
    options: dict[str, Any] = {**reading}
    get = options.get
    scale, are_labels = parse_scale_option(get("scale"), get("order"), get("words"))
    layout = layout_of(**{name: options[name] for name in Layout._fields if name in options})
    feedback = feedback_of(
        likes=get("likes", False),
        counts=get("counts"),
        scale=scale,
        one_value=one_value,
        words=are_labels,
        points=layout.decimal == ".",
    )
    given = as_text({role: get(role) for role in ROLES})
    format, time_format, drop_off_scale = get("format"), get("time_format"), get("drop_off_scale")
    layout_given = {**layout._asdict(), "wide": layout.wide or None, "format": format}
    if isinstance(source, Ratings):
        values_given = {"scale": scale, "drop_off_scale": drop_off_scale or None}
        values_given |= {"time_format": time_format, "likes": feedback.likes or None}
        values_given |= {"counts": feedback.counts, "words": feedback.words or None}
        reject_given({**given, **layout_given, **values_given}, "ratings that were read already")
        read = Reading(source, "the ratings")
        return equal_as_likes(read) if feedback.one_value else read
    how = _Options(
        scale=scale,
        duplicates=get("duplicates", "error"),
        drop_off_scale=bool(drop_off_scale),
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
        if not how.reads_times:
            frame.columns.pop("time", None)
        result = _read(
            frame.columns, frame.names, frame.name, "named", frame.locate, how, frame.look
        )
        return replace(result, notes=(*filter(None, [frame.note]), *result.notes))
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
        notes = [describe_guess(path.name, raw)] if order == "guessed" else []
        notes += raw.notes
        names = {role: raw.names[role] for role in raw.table.column_names}
        columns = dict(zip(raw.table.column_names, raw.table.columns, strict=True))
        locate, look, file_notes, detected = raw.locate, raw.look, raw.layout, raw.format
        del raw  # leaves the dictionary as the only holder of the columns
        result = _read(columns, names, path.name, order, locate, how, look)
    return replace(result, notes=(*notes, *result.notes), layout=file_notes, format=detected)


def read_ratings(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    scale: RatingScale | None = None,
    duplicates: Duplicates = "error",
    drop_off_scale: bool = False,
    times: bool = True,
    time_format: str | None = None,
    user: str | int | None = None,
    item: str | int | None = None,
    rating: str | int | None = None,
    time: str | int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    wide: bool = False,
    null: str | float | None = None,
    query: str | None = None,
    table: str | None = None,
    sheet: str | None = None,
    likes: bool = False,
    counts: Counts | None = None,
    order: str | Iterable[str] | None = None,
    words: str | Iterable[str] | None = None,
) -> Ratings:
    r"""Read a file of ratings, packed or not.

    Parameters
    ----------
    path : str or path
        The file, a folder or pattern of part files, the folder of the Netflix Prize, a pipe, "-"
        for standard input, or the address of a database (``sqlite:///shop.db``,
        ``postgresql://host/shop``) or of a remote file (``s3://bucket/ratings.csv``).
    format : str, optional
        A key of `FORMATS`; detected from the content if not given.
    scale : RatingScale, optional
        Inferred from the ratings if not given.
    duplicates : {"error", "last", "mean"}
        What to do if a user rates an item more than once: raise, keep the latest rating (the last
        row, without times), or take the mean.
    drop_off_scale : bool
        Drop rows without a rating, or with one off the given `scale`, instead of raising.
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
    UserWarning
        If rows or times were dropped, if only the usual order distinguished users from items, or if
        the column of times was identified by its values alone.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.dat")
    ...     _ = path.write_text("1::1193::5::978300760\n1::661::3::978302109\n")
    ...     read_ratings(path)
    Ratings(1 user × 2 items, 2 ratings, 100 % filled, scale 3:5:2, with times)
    """
    options = dict(locals())  # every option is forwarded
    reading = _understand(options.pop("path"), **options)
    for note in reading.notes:
        warnings.warn(note, stacklevel=2)
    return reading.ratings


class _Options(NamedTuple):
    """Options of `read_ratings` on values."""

    scale: RatingScale | None
    duplicates: Duplicates
    drop_off_scale: bool
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
    """Raise a RecveilError for a repeated header, as in concatenated files.

    An invalid rating also reveals it, but likes and labels would have another user.
    """
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
        for role in ("user", "item", "rating", "time")
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
        lost_times=f"column {quoted(time_name)} {problem}" if built.times_are_lost else "",
        notes=(
            *feedback_notes,
            *describe_ids(built.users, built.items),
            *comments,
            *(time_notes if how.reads_times else []),
            *describe_dropped(built, how.duplicates, how.feedback),
        ),
    )


def reject_unknown_keywords(verb: str, given: Mapping[str, Any], *own: str) -> None:
    """Raise a TypeError that names the verb, for unknown keywords."""
    known = {
        name
        for name, parameter in signature(understand).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
    }
    for name in given:
        if name not in known or name in own:
            raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}")


def has_value(value: object) -> bool:
    """Return whether an option was given; 0 and empty strings count as given.

    Examples
    --------
    >>> has_value(None), has_value(False), has_value(0), has_value("")
    (False, False, True, True)
    """
    return value is not None and value is not False
