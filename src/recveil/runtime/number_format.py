"""The one format of shares, counts, times and sizes, on the terminal, on pages and in sentences."""

import math
from collections.abc import Sequence
from decimal import Decimal


def percent(share: float | None, limit: float | None = None) -> str:
    """Format a share with at most one decimal, never rounded to 0%, 100% or a limit.

    Below 1%, it has two significant digits; a dash means that there is none.

    >>> percent(0.10032), percent(0.10032, limit=0.1)
    ('10%', '10.03%')
    """
    if share is None or not math.isfinite(share):
        return "–"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{_percentage(share, limit)}%"


def format_bounds(
    low: float | None,
    high: float | None,
    digits: int | None = None,
    limit: float | None = None,
) -> str:
    """Format an interval, in percent or with `digits` decimals, and no high rounded to a limit."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return "–"
    between = "–" if low >= 0 else " to "
    if digits is None:
        return f"{_percentage(low)}{between}{_percentage(high, limit)}"
    last = _not_rounded_to(limit, high, f"{high:.{digits}f}", digits)
    return f"{low:.{digits}f}{between}{last}"


# From so many cases on, an interval is narrow enough to be read without their number.
_MANY_CASES = 30


def estimate(
    figure: Sequence[float | None], digits: int | None = None, *, counts_few: bool = False
) -> str:
    """Format a value with its interval, the next two elements; a dash if there is no value."""
    value, low, high = figure[:3]
    if value is None or math.isnan(value):
        return "–"
    text = percent(value) if digits is None else f"{value:.{digits}f}"
    bounds = format_bounds(low, high, digits)
    n = getattr(figure, "trials", 0)
    few = f"; n = {n}" if counts_few and 0 < n < _MANY_CASES else ""
    return text if bounds == "–" else f"{text} ({bounds}{few})"


def _percentage(share: float, limit: float | None = None) -> str:
    text = f"{100 * share:,.1f}".removesuffix(".0")
    if 0 < abs(share) < 0.01:
        text = f"{Decimal(f'{100 * share:.2g}'):f}"
    return _not_rounded_to(None if limit is None else 100 * limit, 100 * share, text, 1)


def _not_rounded_to(limit: float | None, number: float, text: str, digits: int) -> str:
    # As many decimals as show on which side of the limit it is
    if limit is None or not math.isfinite(number):
        return text
    while digits < _MOST_DIGITS and _side(float(text.replace(",", "")), limit) != _side(
        number, limit
    ):
        digits += 1
        text = f"{number:,.{digits}f}"
    return text


# Numbers that differ by less are equal.
_MOST_DIGITS = 9


def _side(number: float, limit: float) -> float:
    difference = round(number - limit, _MOST_DIGITS)
    return (difference > 0) - (difference < 0)


def format_number(number: float | None, digits: int = 0) -> str:
    """Format a number with thousands separators; a dash if there is none.

    >>> format_number(4096.4), format_number(2, 1), format_number(None)
    ('4,096', '2.0', '–')
    """
    return "–" if number is None or not math.isfinite(number) else f"{number:,.{digits}f}"


def format_large(number: float) -> str:
    """Format an estimated number in full, or with three digits from a million on.

    >>> format_large(1_313_444_000), format_large(10_100)
    ('1.31 billion', '10,100')
    """
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:,.0f}"


def format_bytes(number: float) -> str:
    """Format a number of bytes with at most three digits.

    >>> format_bytes(811_000_000), format_bytes(1_536_000_000), format_bytes(12)
    ('811 MB', '1.54 GB', '12 B')
    """
    for size, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= size:
            return f"{float(f'{number / size:.3g}'):,.12g} {name}"
    return f"{number:,.0f} B"


def format_duration(seconds: float) -> str:
    """Format a duration in seconds, minutes, or hours and minutes.

    >>> [format_duration(seconds) for seconds in (0.2, 42.3, 130, 5_400, 7_200)]
    ['1 s', '42 s', '2 min', '1 h 30 min', '2 h']
    """
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    parts = [(hours, "h"), (minutes, "min")]
    return " ".join(f"{number:,} {unit}" for number, unit in parts if number)


def format_clock(seconds: float) -> str:
    """Format the time that is left, as it counts down.

    >>> format_clock(3_725.4)
    '1:02:05'
    """
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"
