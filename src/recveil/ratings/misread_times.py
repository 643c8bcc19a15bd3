"""Timestamps that were made of numbers of another unit, or of digits of dates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.ratings.time_units import (
    EARLIEST,
    LEAST_BY_CHANCE,
    LEAST_LATEST,
    SECONDS_A_DAY,
    find_formats,
    find_units,
    latest_second,
)

_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
# So many times with a time of day, all in so few days before 1990, are of another unit, even if
# that is not recognised. Years of Unix seconds in milliseconds are three weeks of January 1970.
_LEAST_ROWS, _FEW_DAYS, _THREE_WEEKS = 100, 120, 21
_TRIED = 1_000


def find_misreading(
    column: pa.ChunkedArray,
    days: NDArray[np.int64],
    read_digits: Callable[[NDArray[Any]], NDArray[np.float64] | None],
) -> str:
    """Return why dates or timestamps are none that ratings have, as the end of a sentence, or "".

    Dates before 1996 may be right. With a time of day, they are not if the numbers that they are
    stored as would be plausible times of another unit, which would last longer.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Dates or timestamps, without gaps.
    days : ndarray of int64, shape (n_rows,)
        Their days.
    read_digits : callable
        Reads numbers such as 20051231 as Unix seconds, or returns None.

    Examples
    --------
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
        return ""
    is_early = last < LEAST_LATEST / SECONDS_A_DAY
    if not is_early:  # of these, a part is enough
        numbers = np.array([*numbers[:_TRIED], numbers.min(), numbers.max()])
    stored = _in_units(numbers, column.type.unit)
    what = _find_digits(stored, read_digits if is_early else lambda _: None)
    if is_early and not what and 0 <= last <= _THREE_WEEKS:
        return (
            "its times all lie in January 1970, as if Unix times had been read in a smaller unit; "
            "read them again, as seconds or milliseconds"
        )
    if is_early and not what:
        what = _find_unit(stored)
    is_short = last - first <= _FEW_DAYS and last < EARLIEST / SECONDS_A_DAY
    if is_early and not what and is_short and days.size >= _LEAST_ROWS:
        what = "times of another unit"
    return what and (
        f"its times, {ends}, look like {what}; read the numbers anew, or, if they are right, "
        f"write whole days"
    )


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
