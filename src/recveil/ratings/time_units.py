"""Units in which numbers may count time, and formats whose digits they may be."""

import time
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SECONDS_A_DAY, _A_YEAR = 86_400, 31_536_000
# Numbers that all lie below so many seconds, which is in March 1973, are taken for counters: no
# table of ratings is as old, and few have as many rows.
LEAST_SECONDS = 10**8
# Unix times of ratings lie between 1990 and now, and the latest of them is not before 1996, in
# Unix seconds. No table of ratings that is known ends before, and times of other units would.
EARLIEST, LEAST_LATEST = 631_152_000, 820_454_400
# A clock that stands before this is wrong: 2026-01-01.
_LEAST_NOW = 1_767_225_600


class _Unit(NamedTuple):
    """A way to count time: how many a second has, and the Unix seconds of 0 and of the first."""

    name: str
    a_second: float
    zero: int
    first: int = LEAST_LATEST

    @property
    def formula(self) -> str:
        """How to turn such a number into Unix seconds."""
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
# Of units of other sizes, those are no alternative in which the whole table is so much shorter.
_SHORTER = 1 / 50
# Ids such as Twitter's: milliseconds since its first day, above so many bits, of which the lowest
# count ids within a millisecond, so that they are small.
_SNOWFLAKE_BITS, _SNOWFLAKE_ZERO, _SNOWFLAKE_COUNTS, _SNOWFLAKE_SMALL = (
    22,
    1_288_834_974_657,
    4_096,
    64,
)
# Digits that are dates, but that only a format can read.
_FORMATS = (
    *("%d%m%Y", "%m%d%Y", "%y%m%d", "%y%m%d%H", "%y%m%d%H%M", "%y%m%d%H%M%S"),
    *("%d%m%Y%H%M", "%m%d%Y%H%M", "%d%m%Y%H%M%S", "%m%d%Y%H%M%S"),
    *("%d%m%y", "%m%d%y", "%d%m%y%H%M", "%m%d%y%H%M", "%d%m%y%H%M%S", "%m%d%y%H%M%S"),
    "%Y%j",
)
# So many different numbers do not form such dates by chance. A few may have a wrong hour or day.
LEAST_BY_CHANCE, _TRIED, LEAST_FITTING = 5, 1_000, 0.9
EXAMPLE = datetime(2005, 12, 31, 23, 59, 58, tzinfo=UTC)


def latest_second() -> float:
    """Return the last Unix second that is not in the future, in any time zone."""
    return max(time.time(), _LEAST_NOW) + 2 * SECONDS_A_DAY


def is_plausible(latest: float) -> bool:
    """Check whether the latest time of some ratings, in Unix seconds, can be one.

    Examples
    --------
    >>> is_plausible(978_300_760), is_plausible(131_277_024), is_plausible(20_170_101_000)
    (True, False, False)
    """
    return LEAST_LATEST <= latest <= latest_second()


def guess_unit(times: NDArray[Any]) -> str:
    """Return how to convert numbers of a unit in which they are plausible times, or "".

    It is "", too, if they are plausible in units of several sizes, as the wrong one would make
    different days one.

    Examples
    --------
    >>> guess_unit(np.array([131_301_336_040_000_000, 131_401_336_040_000_000]))
    'if they are FILETIME, convert them to Unix seconds (number / 10000000 - 11644473600)'
    >>> guess_unit(np.array([13_705_039_204, 13_737_243_161]))
    ''
    """
    if are_snowflakes(times):
        return (
            f"if they are Twitter ids, convert them to Unix milliseconds (number // "
            f"{2**_SNOWFLAKE_BITS} + {_SNOWFLAKE_ZERO})"
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

    Examples
    --------
    >>> are_snowflakes((np.arange(9, dtype=np.int64) * 10**10 + 196_824_000_000) << 22)
    True
    """
    if times.size == 0 or times.min() < 1 << 48:
        return False
    seconds = (times // 2**_SNOWFLAKE_BITS + _SNOWFLAKE_ZERO) / 1_000
    if seconds.max() > latest_second():
        return False
    fine = np.unique(times[times % 10**9 != 0][:_TRIED])  # whole hours have low bits of 0, too
    small = fine % _SNOWFLAKE_COUNTS < _SNOWFLAKE_SMALL
    return fine.size >= LEAST_BY_CHANCE and bool(small.mean() >= LEAST_FITTING)


def are_months_and_days(times: NDArray[Any]) -> bool:
    """Check whether eight digits end as dates do, of any calendar and with any fraction."""
    if times.min() < 10**7 or times.max() >= 10**8:
        return False
    different = np.unique(times[:_TRIED]).astype(np.int64)
    months, days = different // 100 % 100, different % 100
    ends = (months >= 1) & (months <= 13) & (days >= 1) & (days <= 32)
    return bool(ends.mean() >= LEAST_FITTING)


def find_formats(times: NDArray[Any], least: int = 1) -> list[str]:
    """Return the formats in which at least so many different numbers are dates.

    Examples
    --------
    >>> find_formats(np.array([31_122_005, 14_012_006]))
    ['%d%m%Y']
    """
    return [format for format in _FORMATS if _fits(times, format, least)]


def _fits(times: NDArray[Any], format: str, least: int) -> bool:
    """Check whether some numbers, as digits, are dates in a format, from 1990 to now."""
    width, last = len(EXAMPLE.strftime(format)), datetime.fromtimestamp(latest_second(), UTC)
    low, high = float(times.min()), float(times.max())
    if low < 10 ** (width - 2) or high >= 10**width or (times[:_TRIED] % 1).any():
        return False
    different = np.unique(times[:_TRIED])
    if different.size < least:
        different = np.unique(times)
    tried = different[:_TRIED]
    n_dates = 0
    for number in tried:
        try:
            found = datetime.strptime(f"{number:.0f}".zfill(width), format).replace(tzinfo=UTC)
        except ValueError:
            continue
        n_dates += datetime.fromtimestamp(EARLIEST, UTC) <= found <= last
    return different.size >= least and n_dates >= LEAST_FITTING * tried.size
