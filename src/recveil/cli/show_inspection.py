"""What a table holds, printed for its owner."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from recveil.cli.show import bars
from recveil.ratings.rating_scale import format_level
from recveil.ratings.ratings import in_likes
from recveil.runtime.errors import describe_count, printable

if TYPE_CHECKING:
    from recveil.inspection import Inspection
    from recveil.inspection.column_roles import Identifier
    from recveil.inspection.results import End
    from recveil.inspection.statistics import Spread

_ROWS, _MOST_COLUMNS = 3, 20
_LEAST_CELL, _MOST_CELL, _GAP = 6, 24, 2
_SWAPPED = {
    True: "[bold yellow]The columns of users and items look swapped[/]: look at the first rows. If "
    "they are, say which is which with --user and --item; if not, go on, as this is no proof.",
    False: "The columns of users and items do not look swapped.",
    None: "Nothing tells whether the columns of users and items are swapped; look at the rows.",
}


def show_inspection(found: "Inspection", rows: int | None) -> None:
    """Print all of it; rows are private, and go to a terminal alone if nobody asked for them."""
    from recveil.cli.show import show_read

    console = Console(highlight=False, soft_wrap=False)
    show_read(found.reading, examples=False)  # the rows have them
    _show_columns(console, found, _usual(rows))
    _show_scale(console, found)
    _show_dates(console, found)
    _show_dropped(console, found)
    likes = found.ratings.is_unary
    what, chosen = ("likes", "liked") if likes else ("ratings", "rated")
    _show_spread(console, what, f"{what} a user gave", "user", found.activity)
    _show_spread(console, what, f"{what} an item got", "item", found.popularity)
    _show_order(console, found)
    _show_identifiers(console, found)
    console.print(
        f"\n{found.ratings.density:.3g} of all pairs of user and item are {chosen}."
        if found.ratings.density < 0.001
        else f"\n{found.ratings.density:.1%} of all pairs of user and item are {chosen}."
    )


def _usual(rows: int | None) -> int:
    if rows is not None:
        return rows
    return _ROWS if sys.stdout.isatty() else 0


def _show_columns(console: Console, found: "Inspection", n_rows: int) -> None:
    """Print a line a column, with what it was taken for and the first rows."""
    seen = found.rows
    if not seen.names:
        return
    shown = seen.rows[:n_rows]
    console.print(f"\n[bold]Columns[/]{_about_rows(len(shown), n_rows)}")
    named = [
        [_told(name), role or "not read", *(row[at] or "(nothing)" for row in shown)]
        for at, (name, role) in enumerate(zip(seen.names, seen.roles, strict=True))
    ]
    for line in _aligned(named[:_MOST_COLUMNS], console.width):
        print(line)
    if (left := len(named) - _MOST_COLUMNS) > 0:
        print(f"  and {left:,} more columns")


def _about_rows(n_shown: int, n_asked: int) -> str:
    if not n_asked:
        return "; --rows 3 shows the first three rows, which are private"
    rows = "the first row, which is" if n_shown == 1 else f"the first {n_shown} rows, which are"
    return f", and {rows} private"


def _told(name: str | int) -> str:
    return f"column {name}" if isinstance(name, int) else name


def _aligned(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """Put cells under each other, each as wide as fits."""
    n_columns = len(table[0])
    plain = [[printable(cell) for cell in row] for row in table]
    needed = [max(cell_len(row[at]) for row in plain) for at in range(n_columns)]
    room = width - _GAP * n_columns
    widths = [min(each, _MOST_CELL) for each in needed]
    while sum(widths) > room and max(widths) > _LEAST_CELL:
        widths[widths.index(max(widths))] -= 1
    return ["  " + "  ".join(map(_fitted, row, widths)).rstrip() for row in plain]


def _fitted(text: str, width: int) -> str:
    """Cut a text that is too wide, and say so; fill up one that is not."""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 2) + ".."
    return set_cell_size(text, width)


def _show_scale(console: Console, found: "Inspection") -> None:
    if found.words:
        _show_words(console, found)
        return
    low, high = found.ends
    console.print(f"\n[bold]Scale[/] {found.ratings.scale}")
    if low.value == high.value:
        all_equal = (
            "likes" if found.ratings.is_unary else f"all ratings are {format_level(low.value)}"
        )
        _say(console, f"{all_equal}: they tell who chose what, and nothing more")
        return
    for name, end in (("low", low), ("high", high)):
        is_fine = found.ratings.scale.step is None
        _say(console, f"{name} end {_use_of(end, is_fine=is_fine)}")
    if levels := found.levels:
        labels = [format_level(level) for level, _ in levels]
        _print_lines(bars(labels, [n for _, n in levels], console.width))


def _show_words(console: Console, found: "Inspection") -> None:
    """Print each word, and how often it was given."""
    order = "from the lowest" if found.ratings.scale.ordered else "without an order"
    console.print(f"\n[bold]Words[/] {order}")
    labels = [printable(each.word) for each in found.words]
    _print_lines(bars(labels, [each.ratings for each in found.words], console.width))
    fewest = min(found.words, key=lambda each: each.people)
    people = "1 person" if fewest.people == 1 else f"{fewest.people:,} people"
    _say(console, f"{fewest.word}: given by {people}, the fewest of all words")


def _use_of(end: "End", *, is_fine: bool) -> str:
    where = "in the outer tenth there" if is_fine else "there"
    ratings = "1 rating" if end.ratings == 1 else f"{end.ratings:,} ratings"
    people = "1 person" if end.people == 1 else f"{end.people:,} people"
    return f"{format_level(end.value)}: {ratings} {where}, of {people}"


def _show_dates(console: Console, found: "Inspection") -> None:
    dates = found.dates
    if dates is None:
        console.print("\n[bold]Dates[/]: no times were taken")
        return
    console.print(
        f"\n[bold]Dates[/] {dates.first} to {dates.last}, to the {dates.granularity}"
        f"{' (UTC)' if dates.granularity not in ('day', 'month', 'year') else ''}"
    )
    if dates.coarser:
        _say(
            console,
            f"but {dates.coarser_share:.1%} are whole {dates.coarser}s: two granularities in one "
            f"column",
        )
    told = (
        f"{dates.different:,} different; the commonest stands at {dates.most_equal:,} "
        f"{'rating' if dates.most_equal == 1 else 'ratings'}; {dates.alone:.1%} of the ratings "
        f"share theirs with no other"
    )
    _say(console, in_likes(told, found.ratings.is_unary))
    _say(console, "recveil keeps the day, and a release holds no time at all")


def _show_dropped(console: Console, found: "Inspection") -> None:
    if not found.dropped:
        does = "likes" if found.ratings.is_unary else "rates"
        console.print(f"\n[bold]Left out[/]: no row; nobody {does} an item twice")
        return
    did = "liked" if found.ratings.is_unary else "rated"
    words = {
        "duplicate": f"the same user {did} the item already",
        "off scale": "not on the scale",
        "no rating": "no rating in it",
    }
    told = "; ".join(f"{n:,} ({words[why]})" for why, n in found.dropped.items())
    console.print(f"\n[bold]Left out[/] rows: {told}")


def _show_spread(console: Console, of: str, what: str, who: str, spread: "Spread") -> None:
    console.print(f"\n[bold]{what.capitalize()}[/], and how many {who}s there are of each")
    labels = [
        f"{step.low:,}" if step.low == step.high else f"{step.low:,}-{step.high:,}"
        for step in spread.steps
    ]
    _print_lines(bars(labels, [step.n for step in spread.steps], console.width))
    _say(
        console,
        f"least {spread.least:,.0f}, a quarter up to {spread.quarter:,.4g}, half up to "
        f"{spread.median:,.4g}, three quarters up to {spread.three_quarters:,.4g}, most "
        f"{spread.most:,.0f}; the tenth with most has {spread.top_tenth:.0%} of the {of}",
    )


def _show_order(console: Console, found: "Inspection") -> None:
    console.print(f"\n{_SWAPPED[found.order.looks_swapped]}")
    for sign in found.order.signs:
        _say(console, sign)


def _show_identifiers(console: Console, found: "Inspection") -> None:
    console.print(
        "\n[bold]Probably identifiers[/], by their looks alone; what is not listed may be one, too"
    )
    for advice in dict.fromkeys(each.advice for each in found.identifiers):
        for each in found.identifiers:
            if each.advice == advice:
                _say(console, _identifier(each))
        _say(console, f"({advice})", 4)


def _identifier(each: "Identifier") -> str:
    name = _told(each.column)
    role = f" ({each.role})" if each.role and each.role != each.column else ""
    how_many = (
        ""
        if each.found == each.looked_at
        else f", {each.found:,} of {describe_count(each.looked_at, 'value')}"
    )
    return f"{name}{role}: {each.kind}{how_many}"


def _say(console: Console, text: str, indent: int = 2) -> None:
    """Print a sentence, all lines of which are indented."""
    for line in Text(printable(text)).wrap(console, console.width - indent):
        print(" " * indent + line.plain.rstrip())


def _print_lines(lines: Sequence[str]) -> None:
    for line in lines:
        print(line)
