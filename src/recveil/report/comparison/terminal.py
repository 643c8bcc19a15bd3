"""Comparisons as tables and sentences on the terminal."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from recveil.comparison.choice import REIDENTIFICATION, Axis, Choice
from recveil.comparison.results import Comparison
from recveil.comparison.rows import Row, Share, shares_of
from recveil.release.registry import undone_of
from recveil.report.comparison.text import (
    AXIS_NOTES,
    caveats_of,
    describe_advice,
    describe_answer,
    describe_popularity,
    format_ends,
    headline_of,
    keeps_little,
    warnings_of,
)
from recveil.report.glossary import MEANINGS
from recveil.report.terminal import table_of
from recveil.runtime.errors import first_sentence_of
from recveil.runtime.number_format import percent

# A narrower terminal does without the guarantees, which the page has.
_USUAL_WIDTH = 90
# The figure that each retained share is computed from.
_FIGURES = {"lists": "nDCG", "ratings": "RMSE", "labels": "accuracy"}


def show_comparison(comparison: Comparison) -> None:
    """Print the answer, the table of settings, the warnings, and the reasons or the ladder.

    Without a limit, the answers for the usual limits follow the table.
    """
    console = Console(highlight=False)
    choice = comparison.choice() if comparison.has_question else None
    if choice is not None:
        console.print(f"[bold]{escape(headline_of(choice))}[/]")
    _show_settings(console, comparison)
    for warning in warnings_of(comparison):
        if warning not in comparison.reading.notes:  # those are printed with the input
            console.print(f"[red]warning[/]  {escape(warning)}")
    if choice is not None:
        _show_reasons(console, choice)
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


def _show_reasons(console: Console, choice: Choice) -> None:
    """Print the answer's sentences and caveats, without what the headline says."""
    answer = describe_answer(choice)
    sentences = [] if choice.row is None else [describe_advice(choice)]
    sentences += [] if answer == headline_of(choice) else [answer]
    known = () if choice.row is None else undone_of(choice.row.method)
    for sentence in (*sentences, *caveats_of(choice)):
        console.print(escape(first_sentence_of(sentence) if sentence in known else sentence))


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
    heads = _utility_heads(rows)
    risks = [] if axis is REIDENTIFICATION else [axis.column.replace(" ", "\n")]
    is_narrow = console.width < _USUAL_WIDTH
    rate = ("re-\nidentified" if is_narrow else "re-identified") + "\nproven"
    kept = "items,\nratings\nkept"
    # With the others, these fit into 90 columns, and without the guarantee into 60.
    widths = {"guarantee": 11, kept: 7}
    widths |= {"setting": 9, rate: 10} if is_narrow else {"setting": 13, rate: 13}
    for name in ("setting", "guarantee", *risks, rate, *heads.values(), kept):
        table.add_column(name, overflow="fold", min_width=widths.get(name))
    for row in rows:
        table.add_row(*_cells(row, axis, list(heads), is_best=row.title in best))
    if is_narrow:
        table.columns = [column for column in table.columns if column.header != "guarantee"]
    console.print(table)
    for row in rows:
        if row.problem:
            console.print(f"[red]no result[/]  “{row.title}”: {escape(row.problem)}")
    _explain_table(console, comparison, heads, best)


def _explain_table(
    console: Console, comparison: Comparison, heads: dict[str, str], best: set[str]
) -> None:
    """Print what the marks and columns mean, and what was not measured."""
    axis, rows = comparison.axis, comparison.rows
    if legend := " ".join(_legend(rows, best)):
        console.print(legend)
    for figure in sorted(MEANINGS.keys() & {_FIGURES[name] for name in heads}):
        console.print(f"{figure}: {MEANINGS[figure]}.")
    names = " and ".join(_FIGURES[name] for name in heads)
    recommenders = "recommenders" if len(heads) > 1 else "recommender"
    console.print(
        f"Re-identified: by the strongest adversary. Intervals of 95%; those of retained shares "
        f"are over the evaluated users, on this one split. {names}: of the {recommenders} that a "
        f"recipient would choose."
    )
    if popular := describe_popularity(comparison.reference):
        console.print(popular)
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


def _legend(rows: list[Row], best: set[str]) -> Iterator[str]:
    """Yield what the marks of the table mean, of those that it has."""
    if best:
        yield f"★: {MEANINGS['★']}."
    if any(row.bound is not None for row in rows):
        yield "≤: the proven bound."
    if any(keeps_little(row) for row in rows if not row.problem):
        yield "Red: less than half of the items or ratings is kept."
    shares = [share for row in rows if not row.problem for share in shares_of(row)]
    if any(isinstance(share, Share) and not share.is_reliable for share in shares):
        yield "Not reliable: the raw table's own gain is too small, or the interval too wide."


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
        return row.title, row.promise, "[red]no result[/]"
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
