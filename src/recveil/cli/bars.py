"""Bars: a small drawing of a few numbers, on any terminal."""

import sys
from collections.abc import Sequence

# Beside the label and the number, at least so much of a line is a bar; at most, so much.
_LEAST, _MOST = 8, 50


def bars(labels: Sequence[str], numbers: Sequence[int], width: int, indent: int = 2) -> list[str]:
    r"""Draw a bar for each of some numbers, the largest as long as fits.

    Parameters
    ----------
    labels : sequence of str
        What stands before each.
    numbers : sequence of int
        Not negative.
    width : int
        Characters of a line.
    indent : int

    Returns
    -------
    list of str
        A line each. What is not 0 has a bar of one character at least.

    Examples
    --------
    >>> print(*bars(["1", "2-4"], [2, 8], 16), sep="\n")
        1 ##       2
      2-4 ######## 8
    """
    before = max(map(len, labels), default=0)
    told = [f"{number:,}" for number in numbers]
    after = max(map(len, told), default=0)
    room = max(_LEAST, min(_MOST, width - indent - before - after - 2))
    highest = max(1, *numbers, 0)
    lines = []
    for label, number, text in zip(labels, numbers, told, strict=True):
        length = max(1, round(room * number / highest)) if number else 0
        bar = (_mark() * length).ljust(room)
        lines.append(f"{'':{indent}}{label:>{before}} {bar} {text:>{after}}")
    return lines


def _mark() -> str:
    """Return what bars are made of: a block, if the terminal can write it."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#"
    return "█"
