"""Amounts: numbers, bytes and times in words."""


def say_number(number: float) -> str:
    """Say a number in full, or three digits of it from a million on.

    Examples
    --------
    >>> say_number(1_313_444_000), say_number(10_100)
    ('1.31 billion', '10,100')
    """
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:,.0f}"


def say_bytes(number: float) -> str:
    """Say a number of bytes in at most three digits.

    Examples
    --------
    >>> say_bytes(811_000_000), say_bytes(12)
    ('811 MB', '12 B')
    """
    for size, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= size:
            return f"{float(f'{number / size:.3g}'):,.12g} {name}"
    return f"{number:,.0f} B"


def say_time(seconds: float) -> str:
    """Say a time in seconds, minutes or hours.

    Examples
    --------
    >>> say_time(4.2), say_time(130.0)
    ('4 seconds', '2 minutes')
    """
    for size, name in ((3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.0f} {name}s"
    return f"{max(1, round(seconds)):,} second{'s' if round(seconds) > 1 else ''}"
