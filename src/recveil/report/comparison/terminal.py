"""Comparisons as tables and sentences on the terminal."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from recveil.comparison.choice import REIDENTIFICATION, Axis
from recveil.comparison.results import Comparison
from recveil.comparison.rows import Row, Share, shares_of
from recveil.report.comparison.text import (
    AXIS_NOTES,
    caveats_of,
    describe_advice,
    describe_answer,
    format_ends,
    headline_of,
    keeps_little,
    warnings_of,
)
from recveil.report.terminal import table_of
from recveil.runtime.number_format import percent

# A narrower terminal does without the guarantees, which the page has.
_USUAL_WIDTH = 80
# The figure that each retained share is computed from.
_FIGURES = {"lists": "nDCG", "ratings": "RMSE", "labels": "accuracy"}


def show_comparison(comparison: Comparison) -> None:
    """Print the answer, the table of settings, the warnings, and the reasons or the ladder.

    Without a limit, the answers for the usual limits follow the table.
    """
    console, choice = Console(), comparison.choice() if comparison.has_question else None
    if choice is not None:
        console.print(f"[bold]{escape(headline_of(choice))}[/]")
    _show_settings(console, comparison)
    for warning in warnings_of(comparison):
        if warning not in comparison.reading.notes:  # those are printed with the input
            console.print(f"[red]warning[/]  {escape(warning)}")
    if choice is not None:
        if choice.row is not None:
            console.print(escape(describe_advice(choice)))
            console.print(escape(describe_answer(choice)))
        for caveat in caveats_of(choice):
            console.print(escape(caveat))
        return
    ladder = comparison.ladder()
    for rung in ladder[:1] if ladder[0].is_unanswerable else ladder:
        console.print(f"[bold]{escape(describe_answer(rung))}[/]")
        if rung.less_disclosing:
            others = ", ".join(row.title for row in rung.less_disclosing)
            console.print(f"  discloses far less at the same utility: {escape(others)}")
        if rung.tied:
            others = ", ".join(row.title for row in rung.tied)
            console.print(f"  not distinguished: {escape(others)}")


def words_of(comparison: Comparison) -> Iterator[str]:
    """Yield the terms that `show_comparison` prints and that the glossary explains."""
    heads = _utility_heads(comparison.rows)
    yield from ("guarantee", "re-identified", "proven")
    yield from (f"{name} retained" for name in heads)
    yield from (_FIGURES[name] for name in heads if name != "labels")
    if comparison.frontier():
        yield "★"


def _show_settings(console: Console, comparison: Comparison) -> None:
    """Print the measurements, one row per setting."""
    table, axis, rows = table_of(), comparison.axis, comparison.rows
    best = {row.title for row in comparison.frontier()}
    widths = {"setting": 14, "guarantee": 11}  # with the others, that fits into 80 columns
    heads = _utility_heads(rows)
    risks = [] if axis is REIDENTIFICATION else [axis.column.replace(" ", "\n")]
    kept = "items,\nratings\nkept"
    for name in ("setting", "guarantee", *risks, "re-identified\nproven", *heads.values(), kept):
        table.add_column(name, overflow="fold", min_width=widths.get(name))
    for row in rows:
        table.add_row(*_cells(row, axis, list(heads), is_best=row.title in best))
    if console.width < _USUAL_WIDTH:
        table.columns = [column for column in table.columns if column.header != "guarantee"]
    console.print(table)
    names = " and ".join(_FIGURES[name] for name in heads)
    recommenders = "recommenders" if len(heads) > 1 else "recommender"
    console.print(
        f"Re-identified: by the strongest adversary. Intervals of 95%; those of retained shares "
        f"are over the evaluated users, on this one split. {names}: of the {recommenders} that a "
        f"recipient would choose."
    )
    if axis is not REIDENTIFICATION:
        console.print(f"{axis.column.capitalize()}: {AXIS_NOTES.get(axis.name, axis.label)}")
    if all(row.shadow_tpr is None for row in rows):
        console.print(
            "Not measured: membership inference with shadow releases, a risk of all methods; "
            "--shadows 32 measures it, in the time of 32 releases per setting."
        )
    unmeasured = [row for row in rows if row.risk is None and not row.problem]
    if any(row.most_targets_attacked == 0 for row in unmeasured):
        console.print(
            "Not attacked: all targets have too few ratings, which shows nothing about their risk."
        )
    if any(row.most_targets_attacked != 0 for row in unmeasured):
        console.print(
            "Not attacked: the attacks do not undo the method, so their rates are no evidence."
        )


def _utility_heads(rows: list[Row]) -> dict[str, str]:
    """Return the headers of the utility columns: of what was evaluated in any setting."""
    done = [row for row in rows if row.problem is None]
    lists = {"lists": "lists retained\nnDCG@10"}
    if any(row.is_nominal for row in done):
        labels = {"labels": "labels retained\naccuracy"}
        return lists | labels if any(row.has_lists for row in done) else labels
    has_ratings = not done or any(row.has_ratings for row in done)
    return lists | {"ratings": "ratings retained\nRMSE"} if has_ratings else lists


def _cells(row: Row, axis: Axis, heads: list[str], *, is_best: bool) -> tuple[str, ...]:
    """Return a row of the table."""
    if row.problem:
        return row.title, row.promise, f"[red]no result:[/] {escape(row.problem)}"
    risks = [] if axis is REIDENTIFICATION else [_risk(row, axis, "measured")]
    bound = "" if row.bound is None else f"\n≤ {percent(row.bound)}"
    return (
        row.title + (" [bold]★[/]" if is_best else ""),
        row.promise,
        *risks,
        _risk(row, REIDENTIFICATION, "attacked") + bound,
        *(_utility(row, name) for name in heads),
        _coverage(row),
    )


def _coverage(row: Row) -> str:
    """Return the shares of items and ratings that are kept, less than half in red."""
    text = f"{percent(row.items_kept)}\n{percent(row.ratings_kept)}"
    return f"[red]{text}[/]" if keeps_little(row) else text


def _risk(row: Row, axis: Axis, verb: str) -> str:
    rate = axis.of(row)
    if rate is None:
        return f"[dim]not\n{verb}[/]"
    return f"{percent(rate)}\n[dim]{format_ends(row, axis)}[/]"


def _utility(row: Row, name: str) -> str:
    """Return a retained share, and the figure that it is computed from."""
    shares = shares_of(row)
    if name == "lists":
        return _share(shares.lists) + ("" if row.ndcg is None else f"\n{row.ndcg:.3f}")
    if name == "labels":
        return f"{_share(shares.ratings)}\n{percent(row.nominal_accuracy)}"
    return _share(shares.ratings) + ("" if row.rmse is None else f"\n{row.rmse:.4f}")


def _share(share: Share | None) -> str:
    """Format a share with its interval; a comparison of raw with itself has none."""
    if share is None:
        return "not reported"
    if share.value <= -1 and share.is_reliable:
        return "below -100%"
    value, low, high = (
        "as raw" if end is not None and end >= 1 else percent(end) for end in share[:3]
    )
    if share.low is None or share.low == share.high:
        return value
    return f"{value if share.is_reliable else 'not reliable'}\n[dim]{low} to {high}[/]"
