"""Tables on a terminal: narrow ones, with intervals beside their rates where there is room."""

from collections.abc import Callable
from textwrap import fill
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

# Longer heads are broken: a column is to be as wide as its figures.
_HEAD = 17
_WIDEST = 10_000


def narrow(*heads: str) -> Table:
    """Return a table without a frame around it."""
    return Table(*heads, show_edge=False, pad_edge=False)


def fitting(console: Console, make: Callable[[str], Table]) -> Table:
    """Return a table that fits the terminal, as far as that can be had.

    Parameters
    ----------
    console : rich.console.Console
    make : callable
        Takes what stands between a rate and its interval, and returns the table.

    Examples
    --------
    >>> def make(between):
    ...     table = narrow("found")
    ...     table.add_row(f"9.0%{between}7.4–10.9")
    ...     return table
    >>> for width in (20, 10):
    ...     console = Console(width=width)
    ...     console.print(fitting(console, make))
    found
    ━━━━━━━━━━━━━
    9.0% 7.4–10.9
    found
    ━━━━━━━━
    9.0%
    7.4–10.9
    """
    tables = (make(" "), _with_short_heads(make(" ")))
    anywhere = console.options.update(width=_WIDEST)
    for table in tables:
        if Measurement.get(console, anywhere, table).maximum <= console.width:
            return table
    return _with_short_heads(make("\n"))


def _with_short_heads(table: Table) -> Table:
    """Break the heads of figures, which may be longer than these."""
    for column in table.columns[1:]:
        lines = str(column.header).split("\n")
        column.header = "\n".join(fill(line, _HEAD) for line in lines)
    return table


def share(interval: dict[str, Any], between: str) -> str:
    """Write a rate with its interval; nothing for the rate of nobody.

    Examples
    --------
    >>> share({"rate": 0.09, "low": 0.074, "high": 0.109}, " ")
    '9.0% [dim]7.4–10.9[/]'
    """
    if interval["rate"] is None:
        return ""
    low, high = 100 * interval["low"], 100 * interval["high"]
    return f"{interval['rate']:.1%}{between}[dim]{low:.1f}–{high:.1f}[/]"
