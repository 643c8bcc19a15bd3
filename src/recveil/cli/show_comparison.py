"""What a comparison found, printed for people."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape

from recveil.cli.explanations import explain
from recveil.cli.show import narrow
from recveil.comparison import Axis, Comparison, Row, Share, axis_named, percent, shares_of
from recveil.comparison.utility import judges_lists, judges_ratings

# What each share that is kept stands beside.
_FIGURES = {"lists": "nDCG", "ratings": "RMSE", "words": "what is told rightly"}


def show_comparison(
    comparison: Comparison, plain: dict[str, Any], *, is_explained: bool = False
) -> None:
    """Print the answer, the table of settings, the warnings, and, if asked, the words.

    Where nobody asked for one setting, those to be taken for each risk stand below the table.
    """
    console = Console()
    if plain["answer"]:
        console.print(f"[bold]{escape(plain['answer']['advice'])}[/]")
    _show_settings(console, comparison, plain["frontier"])
    for warning in plain["warnings"]:
        if warning not in plain["data"]["notes"]:  # those were told with what was read
            console.print(f"[red]warning[/]  {escape(warning)}")
    if plain["answer"]:
        _show_reasons(console, plain["answer"])
    else:
        _show_ladder(console, plain["ladder"])
    if is_explained:
        explain(_words_of(comparison, plain["frontier"]))
    else:
        console.print("--explain says what the words mean.")


def _words_of(comparison: Comparison, frontier: list[str]) -> Iterator[str]:
    """Yield the words that stand in what was printed."""
    kept = _kept_heads(comparison.rows)
    yield from ("promises", "found", "proven", *(f"{name} kept" for name in kept))
    figures = {"lists": "nDCG", "ratings": "RMSE"}
    yield from (figures[name] for name in kept if name in figures)
    if frontier:
        yield "★"


def _show_settings(console: Console, comparison: Comparison, frontier: list[str]) -> None:
    """Print what was measured, a row for each setting."""
    table, axis = narrow(), axis_named(comparison.risk)
    widths = {"setting": 14, "promises": 11}  # with the others, that fits into 80 columns
    kept = _kept_heads(comparison.rows)
    for name in ("setting", "promises", *_risk_heads(axis), *kept.values()):
        table.add_column(name, overflow="fold", min_width=widths.get(name))
    for row in comparison.rows:
        table.add_row(*_cells(row, axis, list(kept), is_on_frontier=row.title in frontier))
    console.print(table)
    names = " and ".join(_FIGURES[name] for name in kept)
    figures = (
        f"{names} are those of the recommenders" if len(kept) > 1 else f"{names} is by the one"
    )
    console.print(
        "Found: by the strongest adversary. Intervals of 95 %; those of what is kept are about the "
        f"people judged, on this one split, and {figures} that a recipient would choose."
    )
    if axis.value != "risk":
        console.print(f"{axis.column.capitalize()}: {axis.words}")
    if all(row.shadows_told is None for row in comparison.rows):
        console.print(
            "Not measured: who is in a release at all, told by other releases like it. All methods "
            "share that risk; --shadows 32 measures it, for the time of 32 releases a setting."
        )
    if any(row.risk is None and not row.problem for row in comparison.rows):
        console.print(
            "Not attacked: the attacks do not undo the method, so that what they find says nothing."
        )


def _kept_heads(rows: list[Row]) -> dict[str, str]:
    """Return the heads of the columns of what is kept: of what was judged in any setting."""
    done = [row for row in rows if row.problem is None]
    lists = {"lists": "lists kept\nnDCG@10"}
    if any(row.words_right is not None for row in done):
        words = {"words": "words kept\ntold rightly"}
        return {**lists, **words} if any(judges_lists(row) for row in done) else words
    rates = not done or any(judges_ratings(row) for row in done)
    return {**lists, "ratings": "ratings kept\nRMSE"} if rates else lists


def _cells(row: Row, axis: Axis, kept: list[str], *, is_on_frontier: bool) -> tuple[str, ...]:
    """Return a row of the table."""
    if row.problem:
        return row.title, row.promise, f"[red]no result:[/] {escape(row.problem)}"
    star = " [bold]★[/]" if is_on_frontier else ""
    interval = f"\n[dim]{percent(row.risk_low)}–{percent(row.risk_high)}[/]"
    return (
        row.title + star,
        row.promise,
        *_requested_risk(row, axis),
        ("[dim]not\nattacked[/]" if row.risk is None else percent(row.risk) + interval)
        + ("" if row.bound is None else f"\n≤ {percent(row.bound)}"),
        *(_kept_cell(row, name) for name in kept),
    )


def _kept_cell(row: Row, name: str) -> str:
    """Return what a setting keeps of one thing, and the figure that this is a share of."""
    if name == "lists":
        return _kept(shares_of(row).lists) + ("" if row.ndcg is None else f"\n{row.ndcg:.3f}")
    figure = percent(row.words_right) if name == "words" else _number(row.rmse)
    return _kept(shares_of(row).ratings) + (f"\n{figure}" if figure else "")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _risk_heads(axis: Axis) -> list[str]:
    """Return the heads of the columns of risk: that which was asked for, and who is found."""
    asked = [] if axis.value == "risk" else [axis.column.replace(" ", "\n")]
    return [*asked, "found\nproven"]


def _requested_risk(row: Row, axis: Axis) -> list[str]:
    """Return the column of a risk that is not that of people found."""
    if axis.value == "risk":
        return []
    told = percent(axis.of(row))
    return [
        "[dim]not\nmeasured[/]" if axis.of(row) is None else f"{told}\n[dim]{axis.ends(row)}[/]"
    ]


def _show_reasons(console: Console, answer: dict[str, Any]) -> None:
    """Print why the setting is to be taken, and what speaks against it."""
    if answer["advice"] != answer["sentence"]:
        console.print(escape(answer["sentence"]))
    for caveat in answer["caveats"]:
        console.print(escape(caveat))


def _show_ladder(console: Console, ladder: list[dict[str, Any]]) -> None:
    """Print the setting to take for each risk, as nobody has named one."""
    for choice in ladder:
        console.print(f"[bold]{escape(choice['sentence'])}[/]")
        if choice["not_told_apart"]:
            others = ", ".join(choice["not_told_apart"])
            console.print(f"  not told apart from it: {escape(others)}")


def _kept(share: Share | None) -> str:
    """Return a share with its interval, which what is compared with itself does not have."""
    if share is None:
        return "cannot be told"
    if share.value <= -1 and share.is_told:
        return "below -100%"

    def say(value: float) -> str:
        return "as raw" if value >= 1 else percent(value)

    if share.low is None or share.high is None or share.low == share.high:
        return say(share.value)
    value = say(share.value) if share.is_told else "not told"
    return f"{value}\n[dim]{percent(share.low)} to {say(share.high)}[/]"
