"""Parsing of times as days, and as numbers that order the ratings of a pair."""

import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import casts, is_text, numbers_of, pieces, reject_missing
from recveil.ratings.arrow_columns import cast_each, in_turn
from recveil.ratings.rating_scale import Locate
from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.errors import RecveilError, describe_count, quoted, shortened
from recveil.runtime.number_format import percent
from recveil.runtime.safe_repr import brief

SECONDS_A_DAY, _A_YEAR = 86_400, 31_536_000
# Numbers below this, in March 1973 as Unix seconds, are taken for counters: no table of ratings is
# as old, and few have as many rows.
LEAST_SECONDS = 10**8
# Unix times of ratings are from 1990 to now, and the latest is not before 1996 (in Unix seconds).
# No known table of ratings ends earlier, but times of other units would.
EARLIEST, LEAST_LATEST = 631_152_000, 820_454_400
# A system clock before this is wrong: 2026-01-01.
_LEAST_NOW = 1_767_225_600


class _Unit(NamedTuple):
    """A unit of time: its number per second, and the Unix seconds of 0 and of the first time."""

    name: str
    a_second: float
    zero: int
    first: int = LEAST_LATEST

    @property
    def formula(self) -> str:
        """The conversion of such a number to Unix seconds."""
        scale = f"{self.a_second:.0f}" if self.a_second > 1 else f"{1 / self.a_second:.0f}"
        scaled = f" {'/' if self.a_second > 1 else '*'} {scale}" if self.a_second != 1 else ""
        shifted = f" {'+' if self.zero > 0 else '-'} {abs(self.zero)}" if self.zero else ""
        return f"number{scaled}{shifted}"


# The commonest of each size first.
_OTHER_UNITS = (
    _Unit("FILETIME", 10**7, -11_644_473_600),
    _Unit(".NET ticks", 10**7, -62_135_596_800),
    _Unit("UUID times since 1582", 10**7, -12_219_292_800, 1_104_537_600),
    _Unit("WebKit microseconds", 10**6, -11_644_473_600),
    _Unit("Cocoa nanoseconds", 10**9, 978_307_200),
    _Unit("milliseconds since 1960", 10**3, -315_619_200),
    _Unit("hundredths of seconds", 100, 0),
    _Unit("tenths of seconds", 10, 0),
    _Unit("Cocoa seconds", 1, 978_307_200),
    _Unit("SAS seconds since 1960", 1, -315_619_200),
    _Unit("seconds since 1900", 1, -2_208_988_800),
    _Unit("seconds since 1904", 1, -2_082_844_800),
    _Unit("SPSS seconds since 1582", 1, -12_219_379_200),
    _Unit("minutes since 1970", 1 / 60, 0),
    _Unit("hours since 1970", 1 / 3_600, 0),
    _Unit("days since 1970", 1 / SECONDS_A_DAY, 0),
    _Unit("Excel days", 1 / SECONDS_A_DAY, -2_209_161_600),
    _Unit("SAS days", 1 / SECONDS_A_DAY, -315_619_200),
    _Unit("MATLAB days", 1 / SECONDS_A_DAY, -62_167_305_600),
    _Unit("days since year 1", 1 / SECONDS_A_DAY, -62_135_683_200),
    _Unit("Julian days", 1 / SECONDS_A_DAY, -210_866_760_000),
    _Unit("Modified Julian Dates", 1 / SECONDS_A_DAY, -3_506_716_800),
)
# The only unit of a usual epoch whose times may as well be Unix seconds of fewer days: .NET's
# TotalMinutes from 1990 to now would be seconds from February to October 2003.
_MINUTES = _Unit("minutes since year 1", 1 / 60, -62_135_596_800)
# Of units of other sizes, those are no alternative in which the whole table is so much shorter.
_SHORTER = 1 / 50
# Snowflake ids, such as Twitter's: milliseconds since its first day, above so many bits, of which
# the lowest count ids within a millisecond, and the others number the machine.
_SNOWFLAKE_BITS, _SNOWFLAKE_ZERO, _DISCORD_ZERO = 22, 1_288_834_974_657, 1_420_070_400_000
_SNOWFLAKE_COUNTS, _SNOWFLAKE_MACHINES = 4_096, 1_024
# Such counts are small: below the first among so many numbers, below the second among more.
_SNOWFLAKE_SMALL, _LEAST_SNOWFLAKES = (64, 1_024), (5, 20)
# Nanoseconds have nearly as many different bits there as there are numbers.
_FEW_MACHINES = 0.25
# Digits that are dates, but that only a format can read.
_FORMATS = (
    *("%d%m%Y", "%m%d%Y", "%y%m%d", "%y%m%d%H", "%y%m%d%H%M", "%y%m%d%H%M%S"),
    *("%d%m%Y%H%M", "%m%d%Y%H%M", "%d%m%Y%H%M%S", "%m%d%Y%H%M%S"),
    *("%d%m%Y%H", "%m%d%Y%H"),
    *("%d%m%y", "%m%d%y", "%d%m%y%H%M", "%m%d%y%H%M", "%d%m%y%H%M%S", "%m%d%y%H%M%S"),
    *("%Y%j", "%Y%j%H", "%Y%j%H%M", "%Y%j%H%M%S"),
    # IBM i counts centuries since 1900: 1 is 2000.
    *("1%y%m%d", "1%y%m%d%H", "1%y%m%d%H%M", "1%y%m%d%H%M%S", "1%y%m%d%H%M%S%f"),
    *("1%y%j%H%M", "1%y%j%H%M%S"),
)
# What numbers next to a year may count: the size of their place, the least of the largest, and all.
# Numbers of weeks up to 31 may be days of YYMMDD, and ten weeks' days may be days of the year.
_WEEKS = range(1, 54)
_PERIODS: dict[str, tuple[int, int, Sequence[int]]] = {
    "months": (100, 1, range(1, 13)),
    "quarters": (10, 1, range(1, 5)),
    "weeks": (100, 32, _WEEKS),
    "weeks and days": (1_000, 1, [10 * week + day for week in _WEEKS for day in range(8)]),
}
# So many different numbers do not form such dates by chance. A few may have a wrong hour or day.
LEAST_BY_CHANCE, _TIMES_TRIED, LEAST_FITTING = 5, 1_000, 0.9
EXAMPLE = datetime(2005, 12, 31, 23, 59, 58, tzinfo=UTC)


def latest_second() -> float:
    """Return the last Unix second that is not in the future, in any time zone."""
    return max(time.time(), _LEAST_NOW) + 2 * SECONDS_A_DAY


def is_plausible(latest: float) -> bool:
    """Check whether the latest time of some ratings, in Unix seconds, can be one.

    >>> is_plausible(978_300_760), is_plausible(131_277_024), is_plausible(20_170_101_000)
    (True, False, False)
    """
    return LEAST_LATEST <= latest <= latest_second()


def guess_unit(times: NDArray[Any]) -> str:
    """Return how to convert numbers to Unix seconds, if only one unit makes them plausible times.

    Return "" if several sizes of units fit, as the wrong one would merge different days.
    """
    if are_snowflakes(times):
        discord = _ends_before_now(times, _DISCORD_ZERO)
        return (
            f"if they are Twitter ids, convert them to Unix milliseconds (number // "
            f"{2**_SNOWFLAKE_BITS} + {_SNOWFLAKE_ZERO}"
            f"{f'; for Discord, + {_DISCORD_ZERO}' if discord else ''})"
        )
    fitting = find_units(times)
    if len({unit.a_second for unit in fitting}) != 1 or are_months_and_days(times):
        return ""
    if len(fitting) > 1:
        return (
            f"they may be {' or '.join(unit.name for unit in fitting)}: convert them to ISO dates"
        )
    return f"if they are {fitting[0].name}, convert them to Unix seconds ({fitting[0].formula})"


def find_units(times: NDArray[Any]) -> list[_Unit]:
    """Return the units in which all numbers are plausible times."""
    low, high = float(times.min()), float(times.max())
    counted = high < LEAST_SECONDS  # which may count anything, but whole days and the like
    fitting = [
        unit
        for unit in _OTHER_UNITS
        if low / unit.a_second + unit.zero >= unit.first
        and high / unit.a_second + unit.zero <= latest_second()
        and low / unit.a_second >= _A_YEAR  # any small number is near the 0 of a fine unit
        and not (counted and unit.a_second >= 1)
    ]
    coarsest = min((unit.a_second for unit in fitting), default=1)
    return [unit for unit in fitting if coarsest / unit.a_second > _SHORTER]


def are_snowflakes(times: NDArray[Any]) -> bool:
    """Check whether numbers are ids that hold the time in their upper bits, as Twitter's do.

    >>> are_snowflakes((np.arange(9, dtype=np.int64) * 10**10 + 196_824_000_000) << 22)
    True
    """
    if times.size == 0 or times.min() < 1 << 48 or not _ends_before_now(times, _SNOWFLAKE_ZERO):
        return False
    fine = np.unique(
        times[times % 10**9 != 0][:_TIMES_TRIED]
    )  # whole hours have low bits of 0, too
    counts = fine % _SNOWFLAKE_COUNTS
    for small, least in zip(_SNOWFLAKE_SMALL, _LEAST_SNOWFLAKES, strict=True):
        if fine.size >= least and (counts < small).mean() >= LEAST_FITTING:
            return True
    if np.unique(fine // 2**_SNOWFLAKE_BITS).size < _LEAST_SNOWFLAKES[-1]:
        return False
    machines = fine // _SNOWFLAKE_COUNTS % _SNOWFLAKE_MACHINES
    return bool(np.unique(machines).size <= _FEW_MACHINES * fine.size)


def _ends_before_now(times: NDArray[Any], zero: int) -> bool:
    """Check whether snowflake ids that count from such a day are not in the future."""
    return bool((times.max() // 2**_SNOWFLAKE_BITS + zero) / 1_000 <= latest_second())


def are_months_and_days(times: NDArray[Any]) -> bool:
    """Check whether eight digits end as dates do, of any calendar and with any fraction."""
    if times.min() < 10**7 or times.max() >= 10**8:
        return False
    different = np.unique(times[:_TIMES_TRIED]).astype(np.int64)
    months, days = different // 100 % 100, different % 100
    ends = (months >= 1) & (months <= 13) & (days >= 1) & (days <= 32)
    return bool(ends.mean() >= LEAST_FITTING)


def _find_period(times: NDArray[Any]) -> str:
    """Return what whole numbers after or before a year count, if not days; "" for others.

    >>> [_find_period(np.array(each)) for each in ([20_191, 20_204], [2_019_031, 2_019_357])]
    ['quarters', 'weeks and days']
    """
    different = sorted_unique(times)
    years = range(_year(EARLIEST), _year(latest_second()) + 1)
    for period, (size, least, numbers) in _PERIODS.items():
        for year, part in (np.divmod(different, size), np.divmod(different, 10_000)[::-1]):
            is_period = np.isin(year, years) & np.isin(part, numbers)
            if is_period.mean() >= LEAST_FITTING and part.max() >= least:
                return period
    return ""


def find_formats(times: NDArray[Any], least: int = 1) -> list[str]:
    """Return the formats in which at least so many different numbers are dates."""
    fitting = [format for format in _FORMATS if _fits(times, format, least)]
    # Years of two digits would make one year of 2012 and 2013.
    return [format for format in fitting if "%Y" in format] or fitting


def _fits(times: NDArray[Any], format: str, least: int) -> bool:
    """Check whether some numbers, as digits, are dates in a format, from 1990 to now."""
    width, last = len(EXAMPLE.strftime(format)), datetime.fromtimestamp(latest_second(), UTC)
    if format.endswith("%f"):  # of three or six digits, of which `strptime` may take fewer
        times = times // (10**3 if times.max() < 10 ** (width - 3) else 10**6)
        format, width = format.removesuffix("%f"), width - 6
    low, high = float(times.min()), float(times.max())
    if low < 10 ** (width - 2) or high >= 10**width or (times[:_TIMES_TRIED] % 1).any():
        return False
    different = np.unique(times[:_TIMES_TRIED])
    if different.size < least:
        different = sorted_unique(times)
    tried = different[:_TIMES_TRIED]
    n_dates = 0
    for number in tried:
        try:
            found = datetime.strptime(f"{number:.0f}".zfill(width), format).replace(tzinfo=UTC)
        except ValueError:
            continue
        n_dates += datetime.fromtimestamp(EARLIEST, UTC) <= found <= last
    return different.size >= least and n_dates >= LEAST_FITTING * tried.size


_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
# So many times with a time of day, all in so few days before 1990, are of another unit, even if
# that is not recognised. Years of Unix seconds in milliseconds are three weeks of January 1970.
_LEAST_ROWS, _FEW_DAYS, _THREE_WEEKS = 100, 120, 21
_TRIED = 1_000
# So many times, of which most are on one day, are noted; so many whole days in January 1970 are no
# times.
_LEAST_REPEATED = 50
# A day is noted, too, if it has a fifth of the times, and ten times the median of the other days,
# of which there are at least 20: fewer do not show how many ratings a day usually has.
_LEAST_SHARE, _TIMES_A_DAY, _LEAST_OTHERS = 0.2, 10, 20
# So many different firsts of a month, or days 15, are no chance.
_LEAST_MONTHS = 3
# Days that are all a multiple of a step apart are no chance, if powers of the step are as large: 10
# days of one weekday, 22 of every second day. Nor are eight days on two numbers of each
# month, or 18 on five: the 15th and the last.
_LEAST_CHANCES, _MOST_IN_MONTH = 10**6, 5
# Different days are too few if so many times share each on average, and they are these, or this
# share of the days between the first and the last.
_FEW_DISTINCT, _FEW_OF_SPAN, _TIMES_EACH = 5, 0.1, 100
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNDERSTATED = "if users rated on other days, the audit understates the risk"


def find_misreading(
    column: pa.ChunkedArray,
    days: NDArray[np.int64],
    read_digits: Callable[[NDArray[Any]], NDArray[np.float64] | None],
) -> str:
    """Return why dates or timestamps are none that ratings have, as the end of a sentence, or "".

    Dates before 1996 may be right, unless all are in January 1970. With a time of day, they are not
    if their numbers would be plausible times of another unit, which would last longer.

    >>> ticks = pa.array([636_212_568_040_000_000, 636_312_568_040_000_000], pa.timestamp("ns"))
    >>> find_misreading(pa.chunked_array([ticks]), np.array([7363, 7364]), lambda _: None)
    'its times, 1990-02-28 to 1990-03-01, look like .NET ticks that were read as nanoseconds; ...'
    """
    if not days.size:
        return ""
    first, last = int(days.min()), int(days.max())
    ends = " to ".join(dict.fromkeys(str(np.datetime64(day, "D")) for day in (first, last)))
    if (days > latest_second() / SECONDS_A_DAY).mean() > 0.5:
        return f"its times, {ends}, are in the future; check their unit, and convert them anew"
    if not pa.types.is_timestamp(column.type):
        return ""
    numbers = column.cast(pa.int64()).to_numpy()
    if (numbers % (SECONDS_A_DAY * _A_SECOND[column.type.unit]) == 0).all():
        return _describe_january_1970(days)
    is_early = last < LEAST_LATEST / SECONDS_A_DAY
    if not is_early:  # of these, a part is enough
        numbers = np.array([*numbers[:_TRIED], numbers.min(), numbers.max()])
    stored = _in_units(numbers, column.type.unit)
    what = _find_digits(stored, read_digits if is_early else lambda _: None)
    if is_early and not what and 0 <= last <= _THREE_WEEKS:
        return _IN_JANUARY_1970
    if is_early and not what:
        what = _find_unit(stored)
    is_short = last - first <= _FEW_DAYS and last < EARLIEST / SECONDS_A_DAY
    if is_early and not what and is_short and days.size >= _LEAST_ROWS:
        what = "times of another unit"
    return what and (
        f"its times, {ends}, look like {what}; read the numbers anew, or, if they are right, "
        f"write whole days"
    )


_IN_JANUARY_1970 = (
    "its times are all in January 1970, as if Unix times had been read in a smaller unit; read "
    "them again as seconds or milliseconds"
)


def _describe_january_1970(days: NDArray[np.integer]) -> str:
    """Return why whole days are no times of ratings, if many are all in January 1970; or ""."""
    is_one_month = days.min() >= 0 and days.max() <= _THREE_WEEKS
    return _IN_JANUARY_1970 if is_one_month and days.size >= _LEAST_REPEATED else ""


def _find_digits(
    stored: list[tuple[str, NDArray[np.int64]]],
    read_digits: Callable[[NDArray[Any]], NDArray[np.float64] | None],
) -> str:
    for unit, numbers in stored:
        if read_digits(numbers) is not None:
            return f"digits of dates that were read as {_NAMES[unit]}"
        if formats := find_formats(numbers, LEAST_BY_CHANCE):
            return f"digits of dates ({formats[0]}) that were read as {_NAMES[unit]}"
    return ""


def _find_unit(stored: list[tuple[str, NDArray[np.int64]]]) -> str:
    fitting = [
        f"{each.name} that were read as {_NAMES[unit]}"
        for unit, numbers in stored
        for each in find_units(numbers)
        if each.a_second < _A_SECOND[unit]
    ]
    return "times of another unit" if len(fitting) > 1 else "".join(fitting)


def _in_units(numbers: NDArray[np.int64], own: str) -> list[tuple[str, NDArray[np.int64]]]:
    """Return the numbers in all units in which they are whole and fit into 64 bits."""
    largest, found = max(abs(int(numbers.min())), abs(int(numbers.max()))), []
    for unit, a_second in _A_SECOND.items():
        finer, coarser = a_second // _A_SECOND[own], _A_SECOND[own] // a_second
        if finer and largest < 2**63 // finer:
            found.append((unit, numbers * finer))
        elif coarser and not (numbers % coarser).any():
            found.append((unit, numbers // coarser))
    return found


_UNITS = ((1e11, 1), (1e14, 10**3), (1e17, 10**6), (9.3e18, 10**9))
_UNIT_NAMES = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}
# Above this share, a day before 1990 or in the future marks unknown times.
_MOST_OF_A_SENTINEL = 0.05
# What turns the basic format of ISO dates into the extended one, and a decimal comma into a point.
_BASIC_FORMAT = (
    (r"^\s*(\d{4})(\d\d)(\d\d)[T ](\d\d)(\d\d)(\d\d)", r"\1-\2-\3T\4:\5:\6"),
    (r"^\s*(\d{4})(\d\d)(\d\d)[T ](\d\d)(\d\d)", r"\1-\2-\3T\4:\5"),
    (r"^\s*(\d{4})(\d\d)(\d\d)[T ](\d\d)", r"\1-\2-\3T\4"),
    (r"^\s*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d),", r"\1."),
)
# The digits of the time of day behind a date of eight digits: none, HH, HHMM, HHMMSS, HHMMSSfff.
_CLOCK_DIGITS = (0, 2, 4, 6, 9)
# From 1900 to 4999; others, such as 9999-12-31, mark unknown times.
_FIRST_DAY, _LAST_DAY = -25_567, 1_106_684
_MISSING = (
    "the time is missing; fill it in, or leave out time (--time) and time_format (--time-format), "
    "so that the column is dropped"
)
# The format of Unix seconds that may be of another unit, such as seconds of 1994.
UNIX_SECONDS = "%s"
# Number of digits of each directive with a fixed number; `strptime` also accepts fewer.
_WIDTHS = {"%Y": 4, "%G": 4, "%j": 3} | {f"%{letter}": 2 for letter in "mdyHIMSUWV"}
_SIGNS = re.compile(r"%:?.|\s+|.", re.DOTALL)
_HOW = "name its format with time_format (--time-format), such as %d/%m/%Y"


@brief
class Days(NamedTuple):
    """The days of a column of times, or why there are none."""

    # Whole days since 1970-01-01 UTC (floor)
    days: NDArray[np.int32] | None
    # Why the column holds no dates, as the end of a sentence; empty if it does
    problem: str = ""
    # What is odd about days that are used, as the end of a sentence
    note: str = ""


def parse_days(column: pa.ChunkedArray, locate: Locate, *, is_unit_given: bool = False) -> Days:
    """Read times as whole days.

    Numbers are Unix seconds, milliseconds, microseconds or nanoseconds, distinguished by size, or
    dates such as 20051231 or 20051231235958; text is ISO 8601 or such a number. Numbers that would
    all be seconds before March 1973 are no dates, nor are numbers whose latest would be before
    1996, or whose first would be in the future.
    """
    if column.null_count == len(column):
        return Days(None, "it is empty")
    reject_missing(column, _MISSING, locate, code="time.missing")
    if pa.types.is_signed_integer(column.type) and (a_second := _find_plain_unit(column)):
        whole = np.empty(len(column), np.int32)
        for first, piece in pieces(column):
            seconds = piece.cast(pa.int64()).to_numpy()
            whole[first : first + len(piece)] = seconds // (SECONDS_A_DAY * a_second)
        return Days(whole)
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        column = times_from_text(column, locate)
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return _days_from_instants(column, locate, is_unit_given)
    if pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        raise RecveilError(
            f"time column: expected times or dates, got {column.type}; convert it",
            code="column.type",
        )
    return _days_from_numbers(numbers_of(column, "time", locate).to_numpy(), locate)


def times_from_text(column: pa.ChunkedArray, locate: Locate) -> pa.ChunkedArray:
    """Read text as Unix times or as ISO dates, with or without a time zone."""
    if (times := _cast_times(column)) is not None:
        return times
    written = _in_extended_format(column)
    if (times := _cast_times(written)) is not None:
        return times
    # Of a dictionary, each piece would cast all values.
    at_once = len(column) if pa.types.is_dictionary(column.type) else _TRIED
    for first in range(0, len(column), at_once):
        piece = written.slice(first, at_once)
        if _cast_times(piece) is not None:
            continue
        for row, text in enumerate(in_turn(piece), first):
            if not any(casts(text, kind) for kind in (pa.float64(), pa.timestamp("us"))):
                raise RecveilError(
                    f"{locate(row)}: time {quoted(column[row].as_py())} is neither a Unix time nor "
                    f"an ISO date such as 2005-12-31; {_HOW}",
                    code="time.unreadable",
                )
    raise RecveilError(
        "time column: some times carry a time zone or count seconds and others do not; "
        "write all of them the same way",
        code="time.mixed",
    )


def _cast_times(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Cast text to Unix times or ISO dates; return None if it holds others, as first rows show."""
    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            if not pa.types.is_dictionary(column.type):
                cast_each(column.slice(0, _TRIED), kind)
            return cast_each(column, kind)
        except pa.ArrowInvalid:
            continue
    return None


def _in_extended_format(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write ISO dates of the basic format, such as 20051231T235958, in the extended one.

    >>> _in_extended_format(pa.chunked_array([["20051231T235958Z"]]))[0].as_py()
    '2005-12-31T23:59:58Z'
    """
    if pa.types.is_dictionary(column.type):
        values = [_in_extended_format(pa.chunked_array([c.dictionary])) for c in column.chunks]
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, each.combine_chunks())
            for chunk, each in zip(column.chunks, values, strict=True)
        ]
        kind = pa.dictionary(column.type.index_type, pa.large_string())
        return pa.chunked_array(chunks, kind)
    column = column.cast(pa.large_string())
    for pattern, replacement in _BASIC_FORMAT:
        column = pc.replace_substring_regex(column, pattern, replacement)
    return column


def times_from_format(column: pa.ChunkedArray, format: str, locate: Locate) -> pa.ChunkedArray:
    """Read text that is written in a format of its own, in UTC where it names no zone."""
    if format == UNIX_SECONDS:
        return _times_from_seconds(column, locate)
    _check_format(format)
    reject_missing(column, _MISSING, locate, code="time.missing")
    if pa.types.is_floating(column.type):
        column = _require_whole(column)
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if not is_text(column.type.value_type):
        raise RecveilError(
            f"time column: time_format (--time-format) is for text, but the column holds "
            f"{column.type.value_type}; leave it out",
            code="option.unsupported",
        )
    if not column.num_chunks:
        return column.cast(pa.timestamp("us"))
    texts = column.chunk(0).dictionary.to_pylist()
    instants: list[datetime | None] = []
    widths = _Widths.of(format)
    for number, text in enumerate(texts):
        try:
            filled = widths.fill((text or "").strip())
            instants.append(_in_utc(datetime.strptime(filled, format)))
        except ValueError:
            codes = pa.chunked_array([chunk.indices for chunk in column.chunks])
            row = int(pc.index(codes, number).as_py())
            if row >= 0:
                raise RecveilError(
                    f"{locate(row)}: time {quoted(text)} does not match time_format "
                    f"(--time-format), {quoted(format)}{widths.rule}; fix one of them",
                    code="time.format",
                ) from None
            instants.append(None)  # occurs in no row
    known = pa.array(instants, pa.timestamp("us"))
    return pa.chunked_array([known.take(chunk.indices) for chunk in column.chunks])


class _Widths(NamedTuple):
    """The number of digits of a format where no sign separates two numbers.

    Without it, `strptime` reads 1042024 as 4 October: %m%d%Y takes as many digits as it can.
    """

    # The format with so many digits in such places, and anything in others
    pattern: re.Pattern[str]
    # The fewest and the most digits of a format of digits alone; 0 for others
    least: int
    most: int

    @classmethod
    def of(cls, format: str) -> Self:
        signs = [text if text != "%%" else "%" for text in _SIGNS.findall(format)]
        runs = [
            (is_digits, list(run))
            for is_digits, run in groupby(signs, key=lambda sign: sign in _WIDTHS)
        ]
        pattern = ""
        for is_digits, run in runs:
            if is_digits and len(run) > 1:
                pattern += rf"\d{{{sum(_WIDTHS[sign] for sign in run)}}}"
            elif is_digits:
                pattern += ".*?"
            else:
                pattern += "".join(_pattern_of(sign) for sign in run)
        is_whole = len(runs) == 1 and runs[0][0] and len(signs) > 1
        most = sum(_WIDTHS[sign] for sign in signs) if is_whole else 0
        # A number has lost the zeros before its first digit: 1012005 is 01012005.
        lost = _WIDTHS[signs[0]] - 1 if is_whole and signs[0] not in ("%Y", "%G") else 0
        return cls(re.compile(pattern, re.IGNORECASE | re.DOTALL), most - lost, most)

    @property
    def rule(self) -> str:
        """The number of digits of a format of digits alone, as the end of a clause."""
        if not self.most:
            return ""
        fewer = f", or {self.least} without the first 0" if self.least < self.most else ""
        return f", which has {self.most} digits{fewer}; if other zeros are missing, write ISO dates"

    def fill(self, text: str) -> str:
        """Return text with the zero that it lost; raise ValueError if digits are missing."""
        if self.least <= len(text) < self.most:
            text = text.zfill(self.most)
        if not self.pattern.fullmatch(text):
            raise ValueError(text)
        return text


def _pattern_of(sign: str) -> str:
    if sign.isspace():
        return r"\s+"
    return ".*?" if len(sign) > 1 else re.escape(sign)


def _times_from_seconds(column: pa.ChunkedArray, locate: Locate) -> pa.ChunkedArray:
    """Read numbers as Unix seconds, whatever the years, which would be implausible otherwise."""
    reject_missing(column, _MISSING, locate, code="time.missing")
    seconds = numbers_of(column, "time", locate).to_numpy()
    beyond = ~(np.abs(seconds) < _UNITS[0][0])
    if beyond.any():
        row = int(np.argmax(beyond))
        raise RecveilError(
            f"{locate(row)}: time {seconds[row]:.15g} is no Unix second, as time_format "
            f"(--time-format) {UNIX_SECONDS} states; fix the row, or leave the format out",
            code="time.format",
        )
    is_whole = not (seconds % 1).any()
    numbers = seconds if is_whole else np.floor(seconds * 1e6)
    kind = pa.timestamp("s" if is_whole else "us")
    return pa.chunked_array([pa.array(numbers.astype(np.int64)).cast(kind)])


def _check_format(format: str) -> None:
    text = EXAMPLE.strftime(format)
    # The last day of 2011 was a Saturday, too. Without a year, Python warns of what it parses.
    has_year = text != EXAMPLE.replace(year=2011).strftime(format)
    try:
        back = datetime.strptime(text, format) if has_year else None
    except ValueError:
        back = None
    if back is None or back.date() != EXAMPLE.date():
        raise RecveilError(
            f"time_format (--time-format) {quoted(format)}: expected day, month and year as in "
            f"Python's strptime, such as %d/%m/%Y or %Y-%m-%d %H:%M:%S",
            code="option.value",
        )


def _require_whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise RecveilError(
            "time column: time_format (--time-format) is for text or whole numbers, but the "
            "column holds fractions; convert it to text, or leave the format out",
            code="option.unsupported",
        ) from None


def _in_utc(instant: datetime) -> datetime:
    return instant if instant.tzinfo is None else instant.astimezone(UTC).replace(tzinfo=None)


def _find_plain_unit(column: pa.ChunkedArray) -> int | None:
    """Return how many units a second has, if the times are Unix times beyond doubt."""
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    for limit, a_second in _UNITS:
        if max(abs(low), abs(high)) < limit:
            # Small numbers may be of another unit, counters, or dates of eight digits.
            beyond_doubt = low > max(limit / 1e4, LEAST_SECONDS)
            plain = beyond_doubt and low / a_second >= EARLIEST and is_plausible(high / a_second)
            both = np.array([low, high])
            # Whole seconds in nanoseconds are no ids.
            may_be_ids = a_second == 10**9 and bool((both % a_second).any())
            doubtful = (
                _are_rounded(both, a_second)
                or may_be_ids
                or any(find_formats(end) for end in (both[:1], both[1:]))
                or bool(_describe_minutes(both))
            )
            return a_second if plain and not doubtful else None
    return None


def _days_from_numbers(times: NDArray[np.float64], locate: Locate) -> Days:
    sizes = np.abs(times)
    # Whole Unix days, as recveil writes them, form digits of dates by chance alone.
    in_seconds = times.min() >= LEAST_SECONDS and times.max() < _UNITS[0][0]
    are_days = in_seconds and (times % SECONDS_A_DAY == 0).all()
    if not are_days:
        dates = _read_digits(times)
        others = np.isnan(dates)
        if not others.any():
            days = (dates // SECONDS_A_DAY).astype(np.int32)
            _reject_sentinel_days(days, locate)
            if in_january_1970 := _describe_january_1970(days):
                return Days(None, in_january_1970)
            return Days(days, note=_describe_odd(days))
        if others.mean() < 1 - LEAST_FITTING:
            row = int(np.argmax(others))
            raise RecveilError(
                f"{locate(row)}: time {times[row]:.15g} is no date, but {(~others).sum():,} of the "
                f"{describe_count(times.size, 'time')} are; correct or drop such rows",
                code="time.unreadable",
            )
    beyond = ~(sizes < _UNITS[-1][0])
    if beyond.any():
        row = int(np.argmax(beyond))
        raise RecveilError(
            f"{locate(row)}: time {times[row]:g} is no Unix time; give ISO dates",
            code="time.unreadable",
        )
    largest = sizes.max()
    if largest < LEAST_SECONDS:
        may_be_dates = find_formats(times) or are_months_and_days(times) or _find_period(times)
        if (unit := guess_unit(times)) or may_be_dates:
            return _implausible(times, unit, "seconds before March 1973")
        return Days(
            None,
            f"its numbers, from {times.min():.12g} to {times.max():.12g}, would be seconds before "
            f"March 1973; expected Unix times, or dates such as 2005-12-31",
        )
    _reject_sentinels(times, sizes < LEAST_SECONDS, locate)
    # Ten years after 1970 as seconds are four days as milliseconds.
    limit, a_second = next(unit for unit in _UNITS if largest < unit[0])
    mixed = (sizes > 0) & (sizes < limit / 1e4) & (a_second > 1)
    if mixed.any():
        row, other = int(np.argmax(mixed)), int(np.argmax(sizes))
        raise RecveilError(
            f"{locate(row)}: time {times[row]:.0f} and {locate(other)}: time "
            f"{times[other]:.0f} do not count in the same unit; convert one of them",
            code="time.mixed",
        )
    days = np.floor(times / (SECONDS_A_DAY * a_second)).astype(np.int32)
    if problem := _find_problem(times, a_second):
        return problem
    _reject_sentinel_days(days, locate)
    return Days(days, note=_describe_odd(days) or ("" if are_days else _describe_minutes(times)))


def _describe_minutes(times: NDArray[Any]) -> str:
    """Describe Unix seconds of 2003 that may as well be minutes of more years; "" for others."""
    ends = np.array([times.min(), times.max()], np.float64)
    low, high = ends / _MINUTES.a_second + _MINUTES.zero
    if low < EARLIEST or high > latest_second() or high - low < SECONDS_A_DAY:
        return ""
    read, instead = (
        " to ".join(str(np.datetime64(int(end), "s").astype("M8[D]")) for end in both)
        for both in (ends, (low, high))
    )
    return (
        f"all {describe_count(times.size, 'time')} are from {read} as Unix seconds, and would be "
        f"from {instead} as {_MINUTES.name}; if they are these, the audit understates the risk: "
        f"convert them to Unix seconds ({_MINUTES.formula}); if not, say so with time_format "
        f"(--time-format {UNIX_SECONDS})"
    )


def _find_problem(times: NDArray[np.float64], a_second: int) -> Days | None:
    """Return why numbers are no Unix times, if they would be implausible ones."""
    low, high = float(times.min()) / a_second, float(times.max()) / a_second
    if (times % (SECONDS_A_DAY * a_second) == 0).all():
        return None  # whole days, as no other unit gives them
    if _are_rounded(times, a_second):
        return Days(
            None,
            f"its numbers, such as {times[0]:.12g}, are rounded, so that different days become "
            f"one; write all of their digits",
        )
    latest = latest_second()
    if are_snowflakes(times):
        return Days(
            None,
            f"its numbers may be Unix nanoseconds or snowflake ids; {guess_unit(times)}",
        )
    if high < LEAST_LATEST or (
        high > latest and (low < EARLIEST or (times > latest * a_second).mean() > 0.5)
    ):
        years = f"{_year(low)}" if _year(low) == _year(high) else f"{_year(low)} to {_year(high)}"
        would_be = f"Unix {_UNIT_NAMES[a_second]} of {years}"
        return _implausible(times, guess_unit(times), would_be)
    if formats := find_formats(times, LEAST_BY_CHANCE):
        return Days(
            None,
            f"its numbers, such as {times[0]:.0f}, may be Unix {_UNIT_NAMES[a_second]} or dates; "
            f"if they are dates, set time_format (--time-format), such as "
            f"{' or '.join(formats)}; if not, convert them to ISO dates",
        )
    return None


def _implausible(times: NDArray[np.float64], unit: str, would_be: str) -> Days:
    formats = find_formats(times)
    if period := _find_period(times):
        remedy = f"and form {period}; write ISO dates"
    elif formats:
        remedy = f"and form dates; set time_format (--time-format), such as {' or '.join(formats)}"
    elif unit:
        remedy = unit
    else:
        remedy = (
            "their unit is not recognised: convert them to ISO dates, or name their time_format "
            "(--time-format)"
        )
    first = np.format_float_positional(times[0], trim="-")
    joint = " " if period or formats else "; "
    are_dates = bool(find_formats(times, LEAST_BY_CHANCE))
    if would_be.startswith("Unix seconds") and times.max() < LEAST_LATEST and not are_dates:
        remedy += f"; if they are Unix seconds, set time_format (--time-format {UNIX_SECONDS})"
    return Days(
        None,
        f"its numbers, such as {first}, would be {would_be}{joint}{remedy}",
    )


def _are_rounded(times: NDArray[Any], a_second: int) -> bool:
    """Check whether numbers were rounded to more than a day."""
    is_varied = times.min() != times.max() or times.size >= _LEAST_REPEATED
    return bool(is_varied and (times % (100_000 * a_second) == 0).all())


def _year(second: float) -> int:
    return int(np.int64(second).astype("M8[s]").astype("M8[Y]").astype(np.int64)) + 1970


def describe_repeated(days: NDArray[np.integer]) -> str:
    """Describe a day with far more times than others, or too few different days; "" for others."""
    if days.size < _LEAST_REPEATED:
        return ""
    distinct, counts = np.unique(days, return_counts=True)
    if shared := _find_shared_part(distinct):
        return _describe_rounded(days.size, *shared)
    at = int(counts.argmax())
    most = int(counts[at])
    day = np.datetime64(int(distinct[at]), "D")
    if 2 * most > days.size:
        share = "all" if most == days.size else f"{most:,} of"
        return f"{share} {days.size:,} times are on one day, {day}; {_UNDERSTATED}"
    first, last = int(distinct[0]), int(distinct[-1])
    are_few = distinct.size <= _FEW_DISTINCT or distinct.size <= _FEW_OF_SPAN * (last - first + 1)
    if are_few and days.size >= _TIMES_EACH * distinct.size:
        ends = [str(np.datetime64(day, "D")) for day in (first, last)]
        return (
            f"all {days.size:,} times are on {distinct.size:,} different days from "
            f"{' to '.join(ends)}; {_UNDERSTATED}"
        )
    usual = np.median(np.delete(counts, at))
    is_far_above = most >= _LEAST_SHARE * days.size and most >= _TIMES_A_DAY * usual
    if counts.size <= _LEAST_OTHERS or not is_far_above:
        step = _find_step(distinct)
        return _describe_rounded(days.size, *step) if step else ""
    return (
        f"{most:,} of {days.size:,} times ({percent(most / days.size)}) are on one day, {day}, and "
        f"{usual:,g} on a usual day; if that is the date of an import, and not of the ratings, the "
        f"audit understates the risk"
    )


def _describe_rounded(n_times: int, part: str, unit: str) -> str:
    return f"all {n_times:,} times are on {part}, as if only the {unit} were known; {_UNDERSTATED}"


def _find_shared_part(distinct: NDArray[np.integer]) -> tuple[str, str] | None:
    """Return the common part of several different days, and the unit that they represent.

    >>> _find_shared_part(np.array(["2019-01-01", "2020-03-01", "2020-05-01"], "M8[D]").astype(int))
    ('the first day of a month', 'month')
    """
    if distinct.size < _LEAST_MONTHS:
        return None
    for shift, end in ((0, "first"), (1, "last")):
        moved = distinct.astype("M8[D]") + shift
        for unit, code in (("year", "M8[Y]"), ("month", "M8[M]")):
            if (moved.astype(code).astype("M8[D]") == moved).all():
                return f"the {end} day of a {unit}", unit
    in_month = distinct.astype("M8[D]")
    in_month = np.unique((in_month - in_month.astype("M8[M]")).astype(np.int64)) + 1
    chance = 31.0**in_month.size * (in_month.size / 30) ** distinct.size
    may_be_chance = in_month.size > 1 and chance > 1 / _LEAST_CHANCES
    if in_month.size > _MOST_IN_MONTH or may_be_chance:
        return None
    days = " and ".join(", ".join(map(str, in_month)).rsplit(", ", 1))
    return f"day {days} of a month", "month" if in_month.size == 1 else "part of a month"


def _find_step(distinct: NDArray[np.integer]) -> tuple[str, str] | None:
    """Return what days of one step are on, and the unit that they represent.

    >>> _find_step(np.arange(18_001, 18_071, 7))
    ('a Monday', 'week')
    """
    step = int(np.gcd.reduce(np.diff(distinct)))
    if float(step) ** min(max(distinct.size - 2, 0), _LEAST_CHANCES.bit_length()) < _LEAST_CHANCES:
        return None
    if step % 7 == 0:
        # 1970-01-01 was a Thursday.
        return f"a {_WEEKDAYS[(int(distinct[0]) + 3) % 7]}", "week"
    return f"days that are {step} days, or a multiple, apart", f"period of {step} days"


def _describe_odd(days: NDArray[np.integer]) -> str:
    """Describe how many days are before 1990 or in the future; "" if none is."""
    odd = (days > latest_second() / SECONDS_A_DAY) | (days < EARLIEST / SECONDS_A_DAY)
    n_odd = int(odd.sum())
    if not n_odd:
        return ""
    ends = [str(np.datetime64(int(end), "D")) for end in (days[odd].min(), days[odd].max())]
    return (
        f"{n_odd:,} of {describe_count(days.size, 'time')} {'is' if n_odd == 1 else 'are'} "
        f"before 1990 or in the future "
        f"({' to '.join(dict.fromkeys(ends))}); check the unit of the times, and fix or drop such "
        f"rows"
    )


def seconds_of_digits(numbers: NDArray[Any]) -> NDArray[np.float64] | None:
    """Read numbers such as 20051231 or 20051231235958 as Unix seconds, if every one is a date."""
    seconds = _read_digits(numbers)
    return None if np.isnan(seconds).any() else seconds


def _read_digits(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Read digits of dates as Unix seconds; NaN where they form none."""
    seconds = np.full(numbers.size, np.nan)
    numbers = np.where(numbers >= 1.9e19, np.floor(numbers / 1_000), numbers)  # millionths
    for digits in _CLOCK_DIGITS:
        size = 10**digits
        inside = (numbers >= 19_000_101 * size) & (numbers < 21_010_101 * size)
        if digits != _CLOCK_DIGITS[-2]:
            inside &= numbers == np.floor(numbers)
        if inside.any():
            seconds[inside] = _read_dates(numbers[inside], digits)
    return seconds


def _read_dates(numbers: NDArray[Any], digits: int) -> NDArray[np.float64]:
    """Read numbers of eight digits of a date and so many of a clock; NaN where they form none."""
    dates, clocks = np.divmod(numbers.astype(np.int64), 10**digits)
    # Each different one is read once.
    coded, of_day = (pa.array(each).dictionary_encode() for each in (dates, clocks))
    year_months, day = np.divmod(coded.dictionary.to_numpy(), 100)
    years, month = np.divmod(year_months, 100)
    months = ((years - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    clock = of_day.dictionary.to_numpy() * 10 ** (_CLOCK_DIGITS[-1] - digits)
    hours, rest = np.divmod(clock, 10**7)
    minutes, thousandths = np.divmod(rest, 10**5)
    is_date = (month >= 1) & (month <= 12) & (days.astype("M8[M]") == months)
    # A second may be a leap second.
    is_time = (hours < 24) & (minutes < 60) & (thousandths < 61_000)
    of_clocks = hours * 3_600 + minutes * 60 + np.minimum(thousandths, 59_999) / 1_000
    of_dates = days.astype(np.int64) * float(SECONDS_A_DAY)
    return np.asarray(
        np.where(is_date, of_dates, np.nan)[coded.indices.to_numpy()]
        + np.where(is_time, of_clocks, np.nan)[of_day.indices.to_numpy()]
        + numbers % 1,
        np.float64,
    )


def whole_days(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the days since 1970-01-01 of dates or timestamps without gaps, however far.

    >>> whole_days(pa.chunked_array([pa.array([-1, 86_400], pa.timestamp("s"))]))
    array([-1,  1])
    """
    kind = column.type
    if pa.types.is_date32(kind):
        return np.asarray(column.cast(pa.int32()).to_numpy(), np.int64)
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    numbers = column.cast(pa.int64()).to_numpy()
    return np.asarray(numbers // (SECONDS_A_DAY * _A_SECOND[unit]), np.int64)


def _days_from_instants(column: pa.ChunkedArray, locate: Locate, is_unit_given: bool) -> Days:
    """Convert dates and timestamps to days; reject those that would not be read back unchanged."""
    days = whole_days(column)
    outside = (days < _FIRST_DAY) | (days > _LAST_DAY)
    if outside.any():
        row, n_outside = int(np.argmax(outside)), int(outside.sum())
        date = column.slice(row, 1).cast(pa.string())[0].as_py()
        raise RecveilError(
            f"{locate(row)}: time {shortened(date, 30)} is before 1900 or after 4999, as are "
            f"{n_outside:,} of the "
            f"{describe_count(len(column), 'time')}; no user rated then: correct or drop such rows",
            code="time.implausible",
        )
    _reject_sentinel_days(days, locate)
    misread = "" if is_unit_given else find_misreading(column, days, seconds_of_digits)
    if misread:
        return Days(None, misread)
    return Days(days.astype(np.int32), note=_describe_odd(days))


def _reject_sentinels(times: NDArray[np.float64], early: NDArray[np.bool_], locate: Locate) -> None:
    if early.any():
        row, n_early = int(np.argmax(early)), int(early.sum())
        raise RecveilError(
            f"{locate(row)}: time {times[row]:.12g} would be before March 1973, as would "
            f"{n_early:,} of the "
            f"{describe_count(times.size, 'time')}, and the others are later; fix or drop "
            f"such rows",
            code="time.implausible",
        )


def _reject_sentinel_days(days: NDArray[np.integer], locate: Locate) -> None:
    """Reject a frequent day before 1990 or in the future, if most others are between."""
    odd = (days < EARLIEST / SECONDS_A_DAY) | (days > latest_second() / SECONDS_A_DAY)
    if not odd.any():
        return
    different, times_each = np.unique(days[odd], return_counts=True)
    n_equal, sentinel = int(times_each.max()), different[times_each.argmax()]
    others = days.size - n_equal
    is_many = n_equal >= max(LEAST_BY_CHANCE, _MOST_OF_A_SENTINEL * days.size)
    if is_many and others and int(odd.sum()) - n_equal <= others / 2:
        row = int(np.argmax(days == sentinel))
        raise RecveilError(
            f"{locate(row)}: time {np.datetime64(int(sentinel), 'D')}, as in {n_equal:,} of the "
            f"{describe_count(days.size, 'time')}, seems to mark unknown times, as most others are "
            f"between 1990 and now; fix or drop such rows",
            code="time.implausible",
        )


def sort_keys(
    times: pa.ChunkedArray, places: NDArray[np.int64], locate: Locate, format: str | None = None
) -> NDArray[Any]:
    """Return numbers that order some rows of a column of times, the only ones that are read."""
    chosen = times.take(pa.array(places))

    def where(row: int) -> str:
        return locate(int(places[row]))

    reject_missing(
        chosen,
        "the time is missing, so that the last rating is unknown",
        where,
        code="time.missing",
    )
    if format is not None:
        chosen = times_from_format(chosen, format, where)
    elif is_text(chosen.type) or pa.types.is_dictionary(chosen.type):
        chosen = _whole_numbers(chosen) or times_from_text(chosen, where)
    if pa.types.is_timestamp(chosen.type):
        return chosen.cast(pa.int64()).to_numpy()  # in its own unit, which may be nanoseconds
    if pa.types.is_temporal(chosen.type):
        return chosen.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy()
    if pa.types.is_integer(chosen.type):
        return chosen.to_numpy()
    return numbers_of(chosen, "time", where).to_numpy()


def _whole_numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Read text of whole numbers: as float64, nanoseconds less than 256 apart would be equal."""
    try:
        return cast_each(texts, pa.int64())
    except pa.ArrowInvalid:
        return None
