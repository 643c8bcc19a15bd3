"""Times of a table as days, or the reason why a column holds none."""

from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError, quoted, shortened
from recveil.ratings.columns import Locate, casts, is_text, numbers_of, pieces, refuse_missing
from recveil.ratings.dictionaries import cast_each, in_turn

_SECONDS_A_DAY = 86_400
# Unix times up to these magnitudes count seconds, milliseconds, microseconds, nanoseconds.
_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_UNITS = ((1e11, 1), (1e14, 10**3), (1e17, 10**6), (9.3e18, 10**9))
# Numbers that all lie below so many seconds, which is in March 1973, are taken for counters: no
# table of ratings is as old, and few have as many rows.
_LEAST_SECONDS = 10**8
# From 1900 to 4999: others, such as 9999-12-31, stand for a time that nobody knows.
_FIRST_DAY, _LAST_DAY = -25_567, 1_106_684
_MISSING = (
    "the time is missing; fill it in, or name the column neither with time (--time) nor by a "
    "time_format (--time-format): then it is left out"
)
_HOW = "say how it is written with time_format (--time-format), such as %d/%m/%Y"


@brief
class Days(NamedTuple):
    """The days of a column of times, or why there are none.

    Attributes
    ----------
    days : ndarray of int32, shape (n_rows,), or None
        Whole days since 1970-01-01 UTC (floor).
    problem : str
        Why the column holds no dates, as the end of a sentence; empty if it does.
    """

    days: NDArray[np.int32] | None
    problem: str = ""


def parse_days(column: pa.ChunkedArray, locate: Locate) -> Days:
    """Read times as whole days.

    Numbers are Unix seconds, milliseconds, microseconds or nanoseconds, told apart by their
    size, or dates such as 20051231; text is ISO 8601 or such a number. Numbers that all would be
    seconds before March 1973 count something else: they are no dates.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    locate : callable
        Turns a row's position into the place that an error names.

    Raises
    ------
    RecveilError
        For the first row without a time, or with one that cannot be read, and for the first number
        before March 1973 among later ones: 0, 1 and -1 often stand for a time that nobody knows.
        For the first date before 1900 or after 4999, such as 9999-12-31, too.

    Examples
    --------
    >>> parse_days(pa.chunked_array([["2005-12-31"]]), str).days
    array([13148], dtype=int32)
    >>> print(parse_days(pa.chunked_array([[1, 2, 3]]), str).problem)
    its numbers, from 1 to 3, would be seconds before March 1973, so that they count something else
    """
    if column.null_count == len(column):
        return Days(None, "it is empty")
    refuse_missing(column, _MISSING, locate)
    if pa.types.is_signed_integer(column.type) and (a_second := _plain_unit(column)):
        whole = np.empty(len(column), np.int32)
        for first, piece in pieces(column):
            seconds = piece.cast(pa.int64()).to_numpy()
            whole[first : first + len(piece)] = seconds // (_SECONDS_A_DAY * a_second)
        return Days(whole)
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        column = times_from_text(column, locate)
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return _days_from_instants(column, locate)
    if pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        raise RecveilError(f"time column: expected times or dates, got {column.type}; convert it")
    return _days_from_numbers(numbers_of(column, "time", locate).to_numpy(), locate)


def times_from_text(column: pa.ChunkedArray, locate: Locate) -> pa.ChunkedArray:
    """Read text as Unix times or as ISO dates, with or without a time zone."""
    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            return cast_each(column, kind)
        except pa.ArrowInvalid:
            continue
    for row, text in enumerate(in_turn(column)):
        if not any(casts(text, kind) for kind in (pa.float64(), pa.timestamp("us"))):
            raise RecveilError(
                f"{locate(row)}: time {quoted(text)} is neither a Unix time nor an ISO date "
                f"such as 2005-12-31; {_HOW}"
            )
    raise RecveilError(
        "time column: some times carry a time zone or count seconds and others do not; "
        "write all of them the same way"
    )


def times_from_format(column: pa.ChunkedArray, format: str, locate: Locate) -> pa.ChunkedArray:
    """Read text that is written in a format of its own, in UTC where it names no zone.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Text, or numbers such as 31122005.
    format : str
        As for Python's ``datetime.strptime``. Which of 03/04 is the month is not guessed.
    locate : callable
        Turns a row's position into the place that an error names.

    Raises
    ------
    RecveilError
        For a format without day, month and year, and the first row that is not written in it.

    Examples
    --------
    >>> column = pa.chunked_array([["14/12/2009", "15/12/2009"]])
    >>> parse_days(times_from_format(column, "%d/%m/%Y", str), str).days
    array([14592, 14593], dtype=int32)
    """
    _check_format(format)
    refuse_missing(column, _MISSING, locate)
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if not is_text(column.type.value_type):
        raise RecveilError(
            f"time column: time_format (--time-format) is for text, but the column holds "
            f"{column.type.value_type}; leave it out"
        )
    if not column.num_chunks:
        return column.cast(pa.timestamp("us"))
    texts = column.chunk(0).dictionary.to_pylist()
    instants: list[datetime | None] = []
    for number, text in enumerate(texts):
        try:
            instants.append(_in_utc(datetime.strptime((text or "").strip(), format)))
        except ValueError:
            codes = pa.chunked_array([chunk.indices for chunk in column.chunks])
            row = int(pc.index(codes, number).as_py())
            if row >= 0:
                raise RecveilError(
                    f"{locate(row)}: time {quoted(text)} is not written as time_format "
                    f"(--time-format) says, {quoted(format)}; mend one of them"
                ) from None
            instants.append(None)  # which stands in no row
    known = pa.array(instants, pa.timestamp("us"))
    return pa.chunked_array([known.take(chunk.indices) for chunk in column.chunks])


def _check_format(format: str) -> None:
    example = datetime(2005, 12, 31, 23, 59, 58, tzinfo=UTC)
    text = example.strftime(format)
    # The last day of 2011 was a Saturday, too. Without a year, Python warns of what it parses.
    tells_year = text != example.replace(year=2011).strftime(format)
    try:
        back = datetime.strptime(text, format) if tells_year else None
    except ValueError:
        back = None
    if back is None or back.date() != example.date():
        raise RecveilError(
            f"time_format (--time-format) {quoted(format)}: expected day, month and year in the "
            f"signs of Python's strptime, such as %d/%m/%Y or %Y-%m-%d %H:%M:%S"
        )


def _in_utc(instant: datetime) -> datetime:
    return instant if instant.tzinfo is None else instant.astimezone(UTC).replace(tzinfo=None)


def _plain_unit(column: pa.ChunkedArray) -> int | None:
    """Return how many units a second has, if the times are Unix times beyond doubt."""
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    for limit, a_second in _UNITS:
        if max(abs(low), abs(high)) < limit:
            # Small numbers may be of another unit, counters, or dates of eight digits.
            beyond_doubt = low > max(limit / 1e4, _LEAST_SECONDS)
            return a_second if beyond_doubt else None
    return None


def _days_from_numbers(times: NDArray[np.float64], locate: Locate) -> Days:
    sizes = np.abs(times)
    beyond = ~(sizes < _UNITS[-1][0])
    if beyond.any():
        row = int(np.argmax(beyond))
        raise RecveilError(f"{locate(row)}: time {times[row]:g} is no Unix time; give ISO dates")
    if (dates := _days_from_dates(times)) is not None:
        return Days(dates.astype(np.int32))
    largest = sizes.max()
    if largest < _LEAST_SECONDS:
        return Days(
            None,
            f"its numbers, from {times.min():.12g} to {times.max():.12g}, would be seconds before "
            f"March 1973, so that they count something else",
        )
    _refuse_sentinels(times, sizes < _LEAST_SECONDS, locate)
    a_second = next(a_second for limit, a_second in _UNITS if largest < limit)
    # Ten years after 1970 as seconds are four days as milliseconds.
    limit = next(limit for limit, _ in _UNITS if largest < limit)
    mixed = (sizes > 0) & (sizes < limit / 1e4) & (a_second > 1)
    if mixed.any():
        row, other = int(np.argmax(mixed)), int(np.argmax(sizes))
        raise RecveilError(
            f"{locate(row)}: time {times[row]:.0f} and {locate(other)}: time "
            f"{times[other]:.0f} do not count in the same unit; convert one of them"
        )
    return Days(np.floor(times / (_SECONDS_A_DAY * a_second)).astype(np.int32))


def whole_days(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the days since 1970-01-01 of dates or timestamps without gaps, however far.

    Examples
    --------
    >>> whole_days(pa.chunked_array([pa.array([-1, 86_400], pa.timestamp("s"))]))
    array([-1,  1])
    """
    kind = column.type
    if pa.types.is_date32(kind):
        return np.asarray(column.cast(pa.int32()).to_numpy(), np.int64)
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    numbers = column.cast(pa.int64()).to_numpy()
    return np.asarray(numbers // (_SECONDS_A_DAY * _A_SECOND[unit]), np.int64)


def _days_from_instants(column: pa.ChunkedArray, locate: Locate) -> Days:
    """Turn dates and timestamps into days; refuse such as would not be read again as they are."""
    days = whole_days(column)
    outside = (days < _FIRST_DAY) | (days > _LAST_DAY)
    if outside.any():
        row, n_outside = int(np.argmax(outside)), int(outside.sum())
        date = column.slice(row, 1).cast(pa.string())[0].as_py()
        raise RecveilError(
            f"{locate(row)}: time {shortened(date, 30)} is before 1900 or after 4999, as are "
            f"{n_outside:,} of the {len(column):,} times; nobody rated then: mend or drop such rows"
        )
    return Days(days.astype(np.int32))


def _refuse_sentinels(times: NDArray[np.float64], early: NDArray[np.bool_], locate: Locate) -> None:
    if early.any():
        row, n_early = int(np.argmax(early)), int(early.sum())
        raise RecveilError(
            f"{locate(row)}: time {times[row]:.12g} would be before March 1973, as would "
            f"{n_early:,} of the {times.size:,} times, and the others are later; mend or drop "
            f"such rows"
        )


def _days_from_dates(times: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Read numbers such as 20051231 as dates, if every one of them is a date."""
    if not ((times >= 19_000_101) & (times <= 21_001_231) & (times % 1 == 0)).all():
        return None
    text = pa.array(times.astype(np.int64)).cast(pa.string())
    dates = pc.strptime(text, format="%Y%m%d", unit="s", error_is_null=True)
    if dates.null_count:
        return None
    return np.asarray(dates.cast(pa.int64()).to_numpy() // _SECONDS_A_DAY, dtype=np.float64)
