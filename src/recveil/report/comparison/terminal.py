"""Comparisons as tables and sentences on the terminal."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from recveil.comparison.choice import REIDENTIFICATION, Axis, Choice
from recveil.comparison.results import Comparison
from recveil.comparison.rows import Row, Share, shares_of
from recveil.evaluation.groups import read_divisions
from recveil.ratings.ratings import in_likes
from recveil.release.coverage import LOW
from recveil.release.exact_ratings import HIGH
from recveil.release.registry import undone_of, variant_of
from recveil.report.comparison.marks import (
    AXIS_NOTES,
    KNOWLEDGE,
    POPULAR_MARK,
    describe_revealing,
    format_share,
    format_share_ends,
    legend_of_lists,
    reaches_popularity_alone,
    reveals_members,
)
from recveil.report.comparison.retained import describe_popularity
from recveil.report.comparison.text import (
    FEW_RATINGS,
    PUBLIC_ITEMS,
    PUBLIC_ITEMS_MARK,
    Making,
    caveats_of,
    commands_of,
    describe_answer,
    format_ends,
    format_risk,
    headline_choice,
    headline_of,
    join_rest,
    keeps_little,
    publishes_most,
    takes_public_items,
    warnings_of,
)
from recveil.report.evaluation.groups import describe_widest
from recveil.report.evaluation.text import WORSE
from recveil.report.glossary import MEANINGS, meaning_of
from recveil.report.terminal import escape, first_fitting, show_left_out, table_of, without
from recveil.runtime.errors import WARNING, first_sentence_of, printable
from recveil.runtime.number_format import format_bounds, format_number, percent

_KEPT, _SHORT = "items,\nratings\nkept", "users\nwith few\nratings"
_MEMBERSHIP = "membership\nAUC"
# The figure that each retained share is computed from.
_FIGURES = {"lists": "nDCG", "ratings": "RMSE", "labels": "accuracy"}


class _ConsoleOfLikes(Console):
    """Prints texts about ratings as texts about likes."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(in_likes(text), **options)


def show_comparison(comparison: Comparison) -> None:
    """Print the answer, the table of settings, the warnings, the reasons and the command."""
    console = Console(highlight=False)
    choice = headline_choice(comparison)
    if choice is not None:
        console.print(f"[bold]{escape(headline_of(choice))}[/]")
        if rest := join_rest(comparison, choice):
            console.print(escape(rest))
    is_unary = comparison.ratings.is_unary
    _show_settings(_ConsoleOfLikes(highlight=False) if is_unary else console, comparison)
    for warning in warnings_of(comparison):
        if warning not in comparison.reading.notes:  # those are printed with the input
            _show(console, in_likes(f"{WARNING}{warning}", is_unary))
    if choice is not None:
        _show_reasons(console, choice)
        _show_gap(console, comparison, choice)
        _show_commands(console, commands_of(comparison, choice))


def _show_commands(console: Console, commands: list[Making]) -> None:
    """Print commands, each on a line that can be copied."""
    for purpose, command in commands:
        console.print(escape(purpose))
        console.print(f"  {escape(printable(command))}", soft_wrap=True)


def _show_reasons(console: Console, choice: Choice) -> None:
    """Print the caveats of an answer, and in a sentence what the headline does not say."""
    answer = describe_answer(choice)
    is_said = choice.row is not None and choice.decided_by == choice.utility
    sentences = [] if is_said or answer == headline_of(choice) else [answer]
    row = choice.row
    known = () if row is None else undone_of(row.method, has_ratings=row.has_ratings)
    for sentence in (*sentences, *caveats_of(choice)):
        _show(console, first_sentence_of(sentence) if sentence in known else sentence)


def _show_gap(console: Console, comparison: Comparison, choice: Choice) -> None:
    """Print the gap between groups that the chosen setting widens most."""
    if choice.row is not None and choice.row.title in comparison.divisions:
        divisions = read_divisions(comparison.divisions[choice.row.title])
        _show(console, in_likes(describe_widest(divisions), comparison.ratings.is_unary))


def _show(console: Console, sentence: str) -> None:
    text = sentence.removeprefix(WARNING)
    console.print(("[red]warning:[/] " if text != sentence else "") + escape(text))


def words_of(comparison: Comparison) -> Iterator[str]:
    """Yield the terms that `show_comparison` prints and that the glossary explains."""
    heads = _utility_heads(comparison.rows)
    yield from ("guarantee", "re-identified", "proven")
    yield from (f"{name} retained" for name in heads)
    yield from (_FIGURES[name] for name in heads if name != "labels")
    if comparison.frontier():
        yield "★"


def _show_settings(console: Console, comparison: Comparison) -> None:
    """Print the measurements, one row per setting, in as many columns as fit."""
    axis, rows, choice = comparison.axis, comparison.rows, headline_choice(comparison)
    limit = None if choice is None else choice.max_risk
    best = {row.title for row in comparison.frontier()}
    heads = _utility_heads(rows)
    risks = [] if axis is REIDENTIFICATION else [axis.column]
    rate = "re-identified\nproven"
    columns = ["setting", "guarantee", *risks, rate, _MEMBERSHIP, *heads.values(), _KEPT, _SHORT]
    # The page has the columns that a narrow terminal leaves out, the first one first.
    dispensable = ["guarantee", *([rate] if risks else []), _SHORT, _KEPT, *[*heads.values()][1:]]
    is_measured = any(row.membership_auc or row.shadow_auc for row in rows)
    unmeasured = [] if is_measured else [_MEMBERSHIP]
    revealing = {row.title for row in rows if reveals_members(row, rows)}

    def make(number: int, *, is_narrow: bool) -> Table:
        dropped = dispensable[:number]
        table = table_of()
        for name in columns:
            table.add_column(name, no_wrap=True)
        for row in rows:
            cells = _cells(
                *(row, axis, list(heads), limit),
                is_best=row.title in best,
                is_revealing=row.title in revealing,
            )
            table.add_row(*(map(_narrow, cells) if is_narrow else cells))
        table = without(table, [*dropped, *unmeasured])
        for column in table.columns if is_narrow else ():
            column.header = str(column.header).replace(" ", "\n").replace("re-", "re-\n")
        return table

    wide = [make(number, is_narrow=False) for number in (0, 1)]
    narrow = (make(number, is_narrow=True) for number in range(1, len(dispensable) + 1))
    table = first_fitting(console, [*wide, *narrow])
    console.print(table)
    shown = show_left_out(console, table, make(0, is_narrow=False), "the page")
    for row in rows:
        if row.problem:
            console.print(f"[red]no result[/]  “{row.title}”: {escape(row.problem)}")
    if legend := " ".join(_legend(rows, axis, best, shown)):
        console.print(legend)
    _explain_table(console, comparison, heads)


def _explain_table(console: Console, comparison: Comparison, heads: dict[str, str]) -> None:
    """Print what the marks and columns mean, and what was not measured."""
    axis, rows = comparison.axis, comparison.rows
    if "lists" in heads:
        raw = (
            "; raw is the list of a recommender that a recipient would choose, not always the best"
            if any(variant_of(row.method).is_control for row in rows)
            else ""
        )
        console.print(
            f"Lists retained: nDCG as a share of the best on the raw data, popular items "
            f"included{raw}."
        )
    for figure in sorted(MEANINGS.keys() & {_FIGURES[name] for name in heads}):
        meaning = meaning_of(figure, is_unary=comparison.ratings.is_unary)
        console.print(f"{figure}: {meaning}.")
    names = " and ".join(_FIGURES[name] for name in heads)
    recommenders = "recommenders" if len(heads) > 1 else "recommender"
    console.print(
        f"Re-identified: by the strongest adversary. {KNOWLEDGE} Intervals of 95%; those "
        f"of retained shares are over the evaluated users, on this one split. {names}: of the "
        f"{recommenders} that a recipient would choose."
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
            "Not attacked: the attacks cannot be run on the method, which is no evidence of safety."
        )


def _narrow(cell: str) -> str:
    r"""Break a cell where no number and no name is cut.

    >>> _narrow("sparse, k = 5"), _narrow("15.8% to 20%"), _narrow("raw [bold]★[/]")
    ('sparse,\nk = 5', '15.8% to\n20%', 'raw\n[bold]★[/]')
    """
    lines = cell.replace(", ", ",\n").replace(" to ", " to\n")
    for words in (
        WORSE,
        "not reliable",
        "not reported",
        "not attacked",
        "not measured",
        "below -100%",
    ):
        lines = lines.replace(words, words.replace(" ", "\n"))
    return lines if " k = " in cell else lines.replace(" [", "\n[", 1)


def _legend(rows: list[Row], axis: Axis, best: set[str], shown: list[str]) -> Iterator[str]:
    """Yield what the marks of the table mean, of those in the columns that it has."""
    if best:
        yield f"★: {MEANINGS['★']}."
    if any(each.bound_of(row) is not None for each in {REIDENTIFICATION, axis} for row in rows):
        yield "≤: the proven bound."
    if " ".join(_KEPT.split()) in shown and any(
        keeps_little(row) for row in rows if not row.problem
    ):
        yield "! after kept shares: less than half of the items or ratings."
    if " ".join(_KEPT.split()) in shown and any(
        takes_public_items(row) and row.items_kept is not None for row in rows if not row.problem
    ):
        yield PUBLIC_ITEMS
    if " ".join(_SHORT.split()) in shown and any(row.short_users is not None for row in rows):
        yield FEW_RATINGS
    if popular := legend_of_lists(rows):
        yield popular
    exact = [row for row in rows if publishes_most(row)]
    if exact:
        named = ", ".join(f"“{row.title}” {percent(row.published_share, HIGH)}" for row in exact)
        yield f"! after a setting: it publishes most ratings of its users exactly ({named})."
    if revealing := describe_revealing(rows):
        yield revealing
    shares = [share for row in rows if not row.problem for share in shares_of(row)]
    if any(isinstance(share, Share) and format_share(share) == "not reliable" for share in shares):
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


def _cells(
    row: Row,
    axis: Axis,
    heads: list[str],
    limit: float | None,
    *,
    is_best: bool,
    is_revealing: bool,
) -> tuple[str, ...]:
    if row.problem:
        return row.title, row.promise, "[red]no result[/]"
    risks, of_rate = [], limit
    if axis is not REIDENTIFICATION:
        risks, of_rate = [_risk(row, axis, "measured", limit)], None
    marks = "[bold]★[/]" * is_best + "[red]![/]" * publishes_most(row)
    return (
        f"{row.title} {marks}" if marks else row.title,
        row.promise,
        *risks,
        _risk(row, REIDENTIFICATION, "attacked", of_rate),
        _membership(row, is_revealing=is_revealing),
        *(_utility(row, name) for name in heads),
        _coverage(row),
        format_number(row.short_users),
    )


def _membership(row: Row, *, is_revealing: bool) -> str:
    # The strongest inference, as in the caveats
    name = "membership_auc" if row.shadow_auc is None else "shadow_auc"
    auc, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    if auc is None:
        return "[dim]not measured[/]"
    ends = f"\n[dim]({format_bounds(low, high, 2)})[/]" if None not in (low, high) else ""
    return f"[red]{auc:.2f} ![/]{ends}" if is_revealing else f"{auc:.2f}{ends}"


def _coverage(row: Row) -> str:
    """Return the shares of items and ratings that are kept, marked if one is less than half."""
    mark = f" {PUBLIC_ITEMS_MARK}" if takes_public_items(row) and row.items_kept is not None else ""
    text = f"{percent(row.items_kept, LOW)}{mark}\n{percent(row.ratings_kept, LOW)}"
    return f"[red]{text} ![/]" if keeps_little(row) else text


def _risk(row: Row, axis: Axis, verb: str, limit: float | None) -> str:
    rate, bound = axis.of(row), axis.bound_of(row)
    proven = "" if bound is None else f"\n≤ {percent(bound, limit)}"
    if rate is None:
        return f"[dim]not {verb}[/]{proven}"
    return f"{format_risk(rate, axis)}\n[dim]({format_ends(row, axis, limit)})[/]{proven}"


def _utility(row: Row, name: str) -> str:
    """Return a retained share, and the figure that it is computed from."""
    shares = shares_of(row)
    if name == "lists":
        mark = f" {POPULAR_MARK}" * reaches_popularity_alone(row)
        share = _share(shares.lists).replace("\n", f"{mark}\n", 1)
        share += mark * ("\n" not in share)
        return share + ("" if row.ndcg is None else f"\n{row.ndcg:.3f}")
    if name == "labels":
        return f"{_share(shares.ratings)}\n{percent(row.nominal_accuracy)}"
    return _share(shares.ratings) + ("" if row.rmse is None else f"\n{row.rmse:.4f}")


def _share(share: Share | None) -> str:
    ends = format_share_ends(share)
    return f"{format_share(share)}\n[dim]({ends})[/]" if ends else format_share(share)
