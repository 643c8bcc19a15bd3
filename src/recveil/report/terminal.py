"""Text, tables and bars on the terminal, and how a table was read."""

import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.measure import Measurement
from rich.table import Table

from recveil.runtime.errors import describe_count, printable_lines

if TYPE_CHECKING:
    from recveil.io import Reading
    from recveil.ratings import Ratings

# The length of the longest bar, if the terminal is wide enough.
_LEAST_BAR, _MOST_BAR = 8, 50
_ANY_WIDTH = 10_000


def echo(text: str, *, err: bool = False) -> None:
    r"""Print text; lines are wrapped between words like tables, except for programs on errors.

    >>> echo("Publish out; keep out.private secret.")
    Publish out; keep out.private secret.
    """
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # closed
        return
    lines = text.split("\n")
    if stream.isatty() or not err:  # a program reads an error as a line
        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in _wrapped(line, width)]
    print("\n".join(lines), file=stream)


def escape(text: str) -> str:
    """Escape the markup of a text, and characters that a terminal would obey or hide."""
    return escape_markup(printable_lines(text))


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width or line.startswith(" "):
        return [line]
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)


def table_of(*heads: str) -> Table:
    """Return a table without a frame, no head of which is cut within a word."""
    table = Table(show_edge=False, pad_edge=False)
    for head in heads:
        table.add_column(head, min_width=max(map(len, head.split()), default=0), overflow="fold")
    return table


def without(table: Table, heads: Collection[str]) -> Table:
    """Return a table without the columns of these heads."""
    kept = [column for column in table.columns if column.header not in heads]
    shorter = table_of()
    for column in kept:
        shorter.add_column(column.header, overflow=column.overflow, no_wrap=column.no_wrap)
        shorter.columns[-1].min_width = column.min_width
    for cells in zip(*(column.cells for column in kept), strict=True):
        shorter.add_row(*cells)
    return shorter


def first_fitting(console: Console, tables: Iterable[Table], *, wraps: bool = False) -> Table:
    """Return the first table that fits without breaking a line, or a word if it wraps."""
    anywhere = console.options.update(width=_ANY_WIDTH)
    table = Table()
    for table in tables:
        for column in table.columns:
            if column.no_wrap:  # else Rich counts the longest word alone
                cells = (column.header, *column.cells)
                widths = (Measurement.get(console, anywhere, cell).maximum for cell in cells)
                column.min_width = max(column.min_width or 0, *widths, 0)
        width = Measurement.get(console, anywhere, table)
        if (width.minimum if wraps else width.maximum) <= console.width:
            break
    return table


def show_left_out(console: Console, table: Table, whole: Table, page: str = "") -> list[str]:
    """Print which columns a narrow terminal leaves out (see `page`); return the other heads."""
    shown, heads = (
        [" ".join(str(column.header).split()).replace("- ", "-") for column in each.columns]
        for each in (table, whole)
    )
    if left_out := [head for head in heads if head not in shown]:
        them = "it" if len(left_out) == 1 else "them"
        where = f" ({page} has {them})" if page else ""
        console.print(f"Not shown at this width{where}: {'; '.join(left_out)}.")
    return shown


def bars(names: Sequence[str], counts: Sequence[int], width: int, indent: int = 2) -> list[str]:
    r"""Draw a bar for each count; the largest is as long as fits.

    >>> print(*bars(["1", "2-4"], [2, 8], 16), sep="\n")
        1 ##       2
      2-4 ######## 8
    """
    name_width = max(map(len, names), default=0)
    texts = [f"{count:,}" for count in counts]
    text_width = max(map(len, texts), default=0)
    longest = max(_LEAST_BAR, min(_MOST_BAR, width - indent - name_width - text_width - 2))
    highest, block = max(1, *counts, 0), _block()
    lines = []
    for name, count, text in zip(names, counts, texts, strict=True):
        length = max(1, round(longest * count / highest)) if count else 0
        bar = (block * length).ljust(longest)
        lines.append(f"{'':{indent}}{name:>{name_width}} {bar} {text:>{text_width}}")
    return lines


def _block() -> str:
    """Return the character of a bar that the terminal can write."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#"
    return "█"


def show_reading(reading: "Reading", *, err: bool = False, examples: bool = True) -> None:
    """Print the size of a table, the roles of its columns, and notes.

    On standard error, if standard output carries the result itself.
    """
    from recveil.io.columns.feedback import meaning_of_labels

    ratings = reading.ratings
    console = Console(stderr=err, highlight=False)
    what, whose, scale = "rating", "by", _describe_scale(reading)
    if reading.of_release:
        what, whose = "value", "in the rows of"
    if ratings.is_unary:
        what, scale = "like", "; no ratings: read as likes"
    console.print(
        f"Read {describe_count(ratings.n_ratings, what)} of "
        f"{describe_count(ratings.n_items, 'item')} {whose} "
        f"{describe_count(ratings.n_users, 'user')}{scale}{_describe_dates(reading)}."
    )
    if reading.columns:
        layout = f"{', '.join(reading.layout)}; " if reading.layout else ""
        format = f"; format {reading.format}" if reading.format else ""
        read = f"{reading.name}: {layout}{reading.mapping(examples=examples)}{format}."
        console.print(escape(read))
    for note in (*meaning_of_labels(ratings.scale), *reading.notes):
        kind = "[red]warning:[/]" if note in reading.alike_users else "[yellow]note:[/]"
        console.print(f"{kind} {escape(note)}")


def _describe_scale(reading: "Reading") -> str:
    """Describe the scale, its origin, and how many users gave the ratings at its ends."""
    scale = reading.ratings.scale
    name = escape(str(scale))
    if reading.of_release:
        return f"; {'labels' if scale.labels else 'scale'} {name}"
    if not scale.labels:
        origin = "given" if reading.scale_given else "inferred; give --scale if it is another"
        origin = "levels of counts" if reading.counted else origin
        return f"; scale {name} ({origin}{_describe_ends(reading.ratings)})"
    if scale.ordered:
        return f"; labels {name} (given{_describe_ends(reading.ratings)})"
    origin = "given" if reading.scale_given else "those of the table"
    return f"; labels without an order: {name} ({origin})"


def _describe_ends(ratings: "Ratings") -> str:
    """Describe how many users gave each end of the scale; of a continuous one, its outer tenth."""
    from recveil.ratings.ratings import count_users

    if not ratings.scale.range:
        return ""
    low, high = (count_users(ratings, side) for side in ("low", "high"))
    ends = ("low end", "high end") if ratings.scale.step else ("lowest tenth", "highest tenth")
    users = describe_count(low, "user")
    return f"; {users} used its {ends[0]}, {high:,} its {ends[1]}"


def _describe_dates(reading: "Reading") -> str:
    from recveil.release.dates import are_positions

    ratings = reading.ratings
    if ratings.days is None:
        return ""
    if reading.of_release and are_positions(ratings.days, ratings.indptr):
        return "; positions in place of dates"
    first, last = (str(day.astype("M8[D]")) for day in (ratings.days.min(), ratings.days.max()))
    return f"; {first} to {last}"
