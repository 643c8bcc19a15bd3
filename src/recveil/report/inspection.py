"""Documents, sentences and bars of inspections, for the publisher."""

import sys
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from recveil.inspection.column_roles import Identifier, Sign
from recveil.inspection.results import FEW, End, Inspection
from recveil.inspection.statistics import COUNTED_BY_DAY, Distribution
from recveil.io.ingestion import REASONS
from recveil.ratings.rating_scale import format_level
from recveil.ratings.ratings import in_likes
from recveil.report import data_to_dict
from recveil.report.document import parts_of
from recveil.report.terminal import bars, show_reading
from recveil.runtime.errors import describe_count, printable
from recveil.runtime.number_format import percent

# What the values of each kind of identifier look like.
KINDS = {
    "email": "e-mail addresses",
    "ip-address": "network (IP) addresses",
    "phone": "telephone numbers",
    "uuid": "UUIDs",
    "hash": "hashes",
    "iban": "bank account numbers (IBAN)",
    "url": "web addresses",
    "integer-ids": "whole numbers",
    "text-ids": "ids as text",
    "user-ids": "ids that are also ids of users",
    "name": "the name of a column of personal data",
    "free-text": "free text, which may name users",
    "unique-values": "another value in each row, such as the id of a review",
    "one-per-user": "the same value in all rows of a user",
}
# What recveil does with the column, by its role.
ADVICE = {
    "user": "recveil publishes pseudonyms in their place; keep the private folder secret",
    "item": "ids of items are published unchanged: rename the items first, or publish pseudonyms "
    "(hide_items, --hide-items)",
    "": "recveil does not read this column and publishes none of it; do not join it to a release",
}


@parts_of.register
def _(result: Inspection) -> dict[str, object]:
    reading, scale = result.reading, result.ratings.scale
    low, high = result.ends
    labels = {"ordered": scale.ordered, "labels": [each._asdict() for each in result.labels]}
    return {
        "input": reading.name,
        "format": reading.format,
        "data": data_to_dict(result.ratings, reading),
        "scale": {
            "low": scale.low,
            "high": scale.high,
            "step": scale.step,
            "inferred": not reading.scale_given,
            "low_end": low._asdict(),
            "high_end": high._asdict(),
            "levels": [{"value": value, "ratings": n} for value, n in result.levels],
            "doubts": [doubt.describe(FEW) for doubt in result.doubts],
            **(labels if scale.labels else {}),
        },
        "dates": result.dates and result.dates._asdict(),
        "dropped": result.dropped,
        "duplicates_chosen": result.duplicates_chosen,
        "user_counts": _distribution(result.user_counts),
        "item_counts": _distribution(result.item_counts),
        "column_order": {
            "looks_swapped": result.column_order.looks_swapped,
            "signs": describe_signs(result),
        },
        "identifiers": [_identifier(each) for each in result.identifiers],
    }


def _distribution(counts: Distribution) -> dict[str, object]:
    return {**counts._asdict(), "bins": [each._asdict() for each in counts.bins]}


def _identifier(identifier: Identifier) -> dict[str, object]:
    return {
        **identifier._asdict(),
        "description": KINDS[identifier.kind],
        "advice": ADVICE[identifier.role],
    }


def facts(result: Inspection) -> dict[str, object]:
    """Return the facts that represent an inspection in a line."""
    ratings = result.ratings
    return {"users": ratings.n_users, "items": ratings.n_items, "ratings": ratings.n_ratings}


def describe_signs(result: Inspection) -> list[str]:
    """Describe the evidence for or against swapped columns, one sentence each."""
    return [_describe_sign(sign, result) for sign in result.column_order.signs]


def _describe_sign(sign: Sign, result: Inspection) -> str:
    what, rate = ("likes", "like") if result.ratings.is_unary else ("ratings", "rate")
    if sign.code == "too-few":
        return "There are too few users or items to decide."
    if sign.code == "ids":
        column, n = ("users", sign.of_users) if sign.of_users else ("items", sign.of_items)
        ids = f"id of {column} looks" if n == 1 else f"ids of {column} look"
        return f"{n:,} {ids} like {sign.kind}."
    if sign.code == "days":
        return (
            f"Ten {what} of a user are from {10 * sign.of_users:.1f} different days, and ten of an "
            f"item from {10 * sign.of_items:.1f} (medians); users {rate} several items a day."
        )
    return (
        f"A tenth of the users gave {percent(result.user_counts.top_tenth_share)} of the {what}, "
        f"and a tenth of the items got {percent(result.item_counts.top_tenth_share)} (Gini "
        f"{sign.of_users:.2f} and {sign.of_items:.2f}; 0 is even); usually, {what} concentrate on "
        f"items more."
    )


_ROWS, _MOST_COLUMNS = 3, 20
_LEAST_CELL, _MOST_CELL, _GAP = 6, 24, 2
_ORDER = {
    True: "[bold yellow]The columns of users and items look swapped[/]; this is no proof. Check "
    "the first rows. If they are swapped, name the columns with --user and --item.",
    False: "The columns of users and items do not look swapped.",
    None: "Whether the columns of users and items are swapped is undecided; check the rows.",
}


def show_inspection(result: Inspection, n_rows: int | None) -> None:
    """Print an inspection with its first rows, which are private."""
    console = Console(highlight=False, soft_wrap=False)
    if n_rows is None:
        n_rows = _ROWS if sys.stdout.isatty() else 0
    show_reading(result.reading, examples=False)  # the rows have them
    _show_columns(console, result, n_rows)
    if result.labels:
        _show_labels(console, result)
    else:
        _show_scale(console, result)
    _show_dates(console, result)
    _show_dropped(console, result)
    what, rated = ("likes", "liked") if result.ratings.is_unary else ("ratings", "rated")
    _show_distribution(console, what, "user", result.user_counts)
    _show_distribution(console, what, "item", result.item_counts)
    console.print(f"\n{_ORDER[result.column_order.looks_swapped]}")
    for sentence in describe_signs(result):
        _print_indented(console, sentence)
    _show_identifiers(console, result)
    density = result.ratings.density
    share = f"{density:.3g}" if density < 0.001 else percent(density)
    console.print(f"\n{share} of all pairs of user and item are {rated}.")


def _show_columns(console: Console, result: Inspection, n_rows: int) -> None:
    """Print a line per column: its name, its role and the first values."""
    sample = result.rows
    if not sample.names:
        return
    shown = sample.rows[:n_rows]
    if not n_rows:
        remark = "; --rows 3 shows the first three rows, which are private"
    elif len(shown) == 1:
        remark = ", and the first row, which is private"
    else:
        remark = f", and the first {len(shown)} rows, which are private"
    console.print(f"\n[bold]Columns[/]{remark}")
    lines = [
        [_column_name(name), role or "not read", *(row[at] or "(nothing)" for row in shown)]
        for at, (name, role) in enumerate(zip(sample.names, sample.roles, strict=True))
    ]
    for line in _aligned(lines[:_MOST_COLUMNS], console.width):
        print(line)
    if (left := len(lines) - _MOST_COLUMNS) > 0:
        print(f"  and {left:,} more columns")


def _column_name(name: str | int) -> str:
    return f"column {name}" if isinstance(name, int) else name


def _aligned(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """Align cells in columns, each as wide as fits."""
    n_columns = len(table[0])
    plain = [[printable(cell) for cell in row] for row in table]
    widths = [min(_MOST_CELL, max(cell_len(row[at]) for row in plain)) for at in range(n_columns)]
    while sum(widths) > width - _GAP * n_columns and max(widths) > _LEAST_CELL:
        widths[widths.index(max(widths))] -= 1
    return ["  " + "  ".join(map(_fitted, row, widths)).rstrip() for row in plain]


def _fitted(text: str, width: int) -> str:
    """Pad a text to the width, or truncate it with two dots."""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 2) + ".."
    return set_cell_size(text, width)


def _show_scale(console: Console, result: Inspection) -> None:
    low, high = result.ends
    scale = result.ratings.scale
    console.print(f"\n[bold]Scale[/] {scale}")
    if low.value == high.value:
        kind = "likes" if result.ratings.is_unary else f"all ratings are {format_level(low.value)}"
        _print_indented(console, f"{kind}: they show which items each user has, and nothing else")
        return
    for name, end in (("low", low), ("high", high)):
        _print_indented(console, f"{name} end {_describe_end(end, is_fine=scale.step is None)}")
    if levels := result.levels:
        names = [format_level(level) for level, _ in levels]
        print(*bars(names, [n for _, n in levels], console.width), sep="\n")


def _show_labels(console: Console, result: Inspection) -> None:
    """Print each ordinal or nominal label, and its count."""
    order = "from the lowest" if result.ratings.scale.ordered else "without an order"
    console.print(f"\n[bold]Labels[/] {order}")
    names = [printable(each.label) for each in result.labels]
    print(*bars(names, [each.ratings for each in result.labels], console.width), sep="\n")
    rarest = min(result.labels, key=lambda each: each.users)
    users = describe_count(rarest.users, "user")
    _print_indented(console, f"{rarest.label}: given by {users}, the fewest of all labels")


def _describe_end(end: End, *, is_fine: bool) -> str:
    where = " in the outer tenth" if is_fine else ""
    return (
        f"{format_level(end.value)}: {describe_count(end.ratings, 'rating')}{where} by "
        f"{describe_count(end.users, 'user')}"
    )


def _show_dates(console: Console, result: Inspection) -> None:
    dates = result.dates
    if dates is None:
        console.print("\n[bold]Dates[/]: no times were recognized")
        return
    is_by_day = dates.granularity in COUNTED_BY_DAY
    console.print(
        f"\n[bold]Dates[/] {dates.first} to {dates.last}, to the {dates.granularity}"
        f"{'' if is_by_day else ' (UTC)'}"
    )
    if dates.coarser:
        _print_indented(
            console,
            f"but {percent(dates.coarser_share)} are whole {dates.coarser}s: two granularities in "
            f"one column",
        )
    what = "row" if result.dropped and not is_by_day else "rating"
    counts = (
        f"{dates.distinct:,} different; the most frequent one has "
        f"{describe_count(dates.most_frequent, what)}; {percent(dates.unique_share)} of the "
        f"{what}s have a unique time"
    )
    _print_indented(console, in_likes(counts, result.ratings.is_unary))
    _print_indented(console, "recveil keeps the day, and a release has no times, or coarse dates")


def _show_dropped(console: Console, result: Inspection) -> None:
    rated = "liked" if result.ratings.is_unary else "rated"
    if not result.dropped:
        console.print(f"\n[bold]Left out[/]: no row; no user {rated} an item twice")
        return
    rows = "; ".join(
        f"{n:,} ({REASONS[reason].replace('rated', rated)})" for reason, n in result.dropped.items()
    )
    console.print(f"\n[bold]Left out[/] rows: {rows}")


def _show_distribution(console: Console, what: str, of: str, counts: Distribution) -> None:
    console.print(f"\n[bold]{what.capitalize()} per {of}[/], and the number of {of}s")
    names = [
        f"{each.low:,}" if each.low == each.high else f"{each.low:,}-{each.high:,}"
        for each in counts.bins
    ]
    print(*bars(names, [each.n for each in counts.bins], console.width), sep="\n")
    _print_indented(
        console,
        f"minimum {counts.minimum:,.0f}, quartiles {counts.first_quartile:,.4g}, "
        f"{counts.median:,.4g} and {counts.third_quartile:,.4g}, maximum {counts.maximum:,.0f}; "
        f"the tenth with most has {percent(counts.top_tenth_share)} of the {what}",
    )


def _show_identifiers(console: Console, result: Inspection) -> None:
    console.print(
        "\n[bold]Probable identifiers[/], by name and values alone; other columns may identify "
        "users, too"
    )
    for role in dict.fromkeys(each.role for each in result.identifiers):
        for each in result.identifiers:
            if each.role == role:
                _print_indented(console, _describe_identifier(each))
        _print_indented(console, f"({ADVICE[role]})", 4)


def _describe_identifier(identifier: Identifier) -> str:
    column, role, kind, matches, inspected = identifier
    share = "" if matches == inspected else f", {matches:,} of {describe_count(inspected, 'value')}"
    return (
        f"{_column_name(column)}{f' ({role})' if role not in ('', column) else ''}: "
        f"{KINDS[kind]}{share}"
    )


def _print_indented(console: Console, text: str, indent: int = 2) -> None:
    """Print a sentence with each of its lines indented."""
    for line in Text(printable(text)).wrap(console, console.width - indent):
        print(" " * indent + line.plain.rstrip())
