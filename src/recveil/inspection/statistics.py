"""Distributions of ratings and dates."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.times import seconds_of_digits, sort_keys
from recveil.ratings.arrow_columns import missing_rows
from recveil.runtime.safe_repr import brief


class Bin(NamedTuple):
    """Number of users or items in a range of rating counts."""

    # Both ends belong to it
    low: int
    high: int
    # Number of users or items
    n: int


@brief
class Distribution(NamedTuple):
    """Distribution of rating counts over users or items."""

    minimum: float
    first_quartile: float
    median: float
    third_quartile: float
    maximum: float
    # Share of all ratings of the tenth with most ratings
    top_tenth_share: float
    # Gini coefficient: 0 if all have the same count, near 1 if one has nearly all ratings
    gini: float
    # From low to high counts, each two or two and a half times as wide as the one before
    bins: tuple[Bin, ...]


def distribution_of(counts: NDArray[np.int64]) -> Distribution:
    """Return the distribution of rating counts."""
    in_order = np.sort(counts)
    n, total = in_order.size, max(1, int(in_order.sum()))
    minimum, first_quartile, median, third_quartile, maximum = np.quantile(
        in_order, np.arange(5) / 4
    ).tolist()
    weights = 2 * np.arange(1, n + 1) - n - 1
    return Distribution(
        *(minimum, first_quartile, median, third_quartile, maximum),
        float(in_order[-max(1, n // 10) :].sum() / total),
        float(weights @ in_order / (n * total)),
        tuple(_bins(in_order)),
    )


def _bins(in_order: NDArray[np.int64]) -> list[Bin]:
    """Cut at 1, 2, 5, 10, 20, 50 and so on, between the lowest and the highest count."""
    low, high = int(in_order[0]), int(in_order[-1])
    starts = [digit * 10**zeros for zeros in range(len(str(high))) for digit in (1, 2, 5)]
    starts = [low, *(start for start in starts if low < start <= high)]
    ends = [start - 1 for start in starts[1:]] + [high]
    below = np.searchsorted(in_order, [*starts, high + 1])
    return [
        Bin(*each) for each in zip(starts, ends, np.diff(below).astype(int).tolist(), strict=True)
    ]


_A_DAY, _AN_HOUR, _A_MINUTE = 86_400, 3_600, 60
# Up to these magnitudes, numbers count seconds, milliseconds, microseconds, nanoseconds.
_UNITS = ((1e11, 1), (1e14, 10**3), (1e17, 10**6), (np.inf, 10**9))
# The share of times that are whole days, months or years by chance. Ten times that share, and at
# least one in a hundred, is no chance.
_OF_A_DAY = {"hour": 1 / 24, "minute": 1 / 1_440}
_OF_A_MONTH, _OF_A_YEAR, _MONTH_OF_A_YEAR = 12 / 365.25, 1 / 365.25, 1 / 12
COUNTED_BY_DAY = ("day", "month", "year")
_TIMES_CHANCE, _LEAST_SHARE, _MOST_NEEDED = 10, 0.01, 0.25


@brief
class Dates(NamedTuple):
    """Dates of the ratings."""

    # ISO dates, UTC
    first: str
    last: str
    # The coarsest unit of which all times are multiples
    granularity: str
    # "day", "month" or "year" if many more of the times than by chance, but not all, are whole
    # ones: two granularities in one table. Otherwise empty.
    coarser: str
    # The share of the times that are
    coarser_share: float
    # Number of distinct times
    distinct: int
    # The share of the ratings whose time is unique
    unique_share: float
    # Number of ratings with the most frequent time
    most_frequent: int


def dates_of(
    column: pa.ChunkedArray, days: NDArray[np.int32], time_format: str | None = None
) -> Dates:
    """Summarize the dates of the ratings that were kept."""
    times, a_second = _numbers_of(column, time_format)
    seconds = times // a_second
    granularity = _grain_within_day(times, seconds, a_second)
    if granularity == "day":
        granularity, coarser, share = _of_days(seconds // _A_DAY)
    else:
        chance = _OF_A_DAY.get(granularity, 1 / _A_DAY)
        coarser, share = _if_many("day", float((seconds % _A_DAY == 0).mean()), chance)
    # Of times within a day, those of dropped rows count, too: kept ratings have the day alone.
    counted = days if granularity in COUNTED_BY_DAY else times
    _, times_each = np.unique(counted, return_counts=True)
    return Dates(
        first=str(np.datetime64(int(days.min()), "D")),
        last=str(np.datetime64(int(days.max()), "D")),
        granularity=granularity,
        coarser=coarser,
        coarser_share=share,
        distinct=int(times_each.size),
        unique_share=float((times_each == 1).sum() / counted.size),
        most_frequent=int(times_each.max()),
    )


def _numbers_of(column: pa.ChunkedArray, time_format: str | None) -> tuple[NDArray[np.int64], int]:
    """Return the times as whole numbers, and how many of them a second has."""
    present = column.filter(pc.invert(missing_rows(column)))
    keys = sort_keys(present, np.arange(len(present)), "row {}".format, time_format)
    are_numbers = time_format is None and not pa.types.is_temporal(column.type)
    if are_numbers and (dates := seconds_of_digits(keys)) is not None:
        return np.rint(dates * 1000).astype(np.int64), 1000
    size = float(np.abs(keys).max())
    a_second = next(a_second for limit, a_second in _UNITS if size < limit)
    if keys.dtype.kind == "f" and a_second == 1:  # 978300760.5
        return np.rint(keys * 1000).astype(np.int64), 1000
    return keys.astype(np.int64), a_second


def _grain_within_day(times: NDArray[np.int64], seconds: NDArray[np.int64], a_second: int) -> str:
    """Return what all times are whole numbers of; "day" also if all are the same time of day."""
    of_day = times % (_A_DAY * a_second)
    if (of_day == of_day[0]).all():
        return "day"
    if a_second > 1 and (times % a_second).any():
        return "fraction of a second"
    if (seconds % _A_MINUTE).any():
        return "second"
    return "minute" if (seconds % _AN_HOUR).any() else "hour"


def _of_days(days: NDArray[np.int64]) -> tuple[str, str, float]:
    """Return what days are: days, or firsts of months or years; what many are; and how many."""
    different, times_each = np.unique(days, return_counts=True)
    months = different.astype("M8[D]").astype("M8[M]")
    of_month, of_year = (
        float(times_each[starts.astype("M8[D]").astype(np.int64) == different].sum() / days.size)
        for starts in (months, months.astype("M8[Y]"))
    )
    if different.size > 1 and of_year == 1:
        return "year", "", 0.0
    if different.size > 1 and of_month == 1:
        return "month", *_if_many("year", of_year, _MONTH_OF_A_YEAR)
    if of_year > of_month / 2:  # more than a twelfth of those that state the month
        return "day", *_if_many("year", of_year, _OF_A_YEAR)
    return "day", *_if_many("month", of_month, _OF_A_MONTH)


def _if_many(name: str, share: float, chance: float) -> tuple[str, float]:
    """Return a coarser granularity and its share, if that is no chance."""
    needed = min(max(_TIMES_CHANCE * chance, _LEAST_SHARE), max(_MOST_NEEDED, 4 * chance))
    return (name, share) if share >= needed else ("", 0.0)
