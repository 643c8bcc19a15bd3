"""Evaluations as tables and sentences on the terminal."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from recveil.attacks.statistics import Mean
from recveil.evaluation.fidelity_metrics import Fidelity
from recveil.evaluation.groups import widest
from recveil.evaluation.next_items import NextItems, ordered_rankers
from recveil.evaluation.nominal import RowAccuracy
from recveil.evaluation.recipient import AVERAGES, POPULARITY, Served, Utility
from recveil.evaluation.results import (
    Evaluated,
    Evaluation,
    NominalEvaluation,
    NominalLists,
)
from recveil.ratings.ratings import in_likes
from recveil.report.audit.text import statements_of
from recveil.report.evaluation.groups import describe_too_few, describe_widest, group_grids
from recveil.report.evaluation.text import (
    cut_of,
    describe_best,
    describe_next_items,
    feedback_of,
    headline,
    notes_of,
    number,
    parts_of_headline,
    tables,
)
from recveil.report.glossary import meaning_of
from recveil.report.terminal import escape, first_fitting, show_left_out, table_of
from recveil.runtime.errors import describe_count, first_sentence_of
from recveil.runtime.number_format import estimate, percent
from recveil.runtime.safe_repr import Grid
from recveil.verification.link_posterior import LinkPosterior

# Each figure of `Fidelity` that is printed, and whether implicit feedback has it.
_FIDELITY = {
    "popularity_correlation": ("item popularity (rank correlation)", True),
    "popularity_divergence": ("item popularity (Jensen-Shannon, bits)", True),
    "rated_share_error": ("“what share of users rated this?” (mean error)", True),
    "rating_distance": ("histogram of ratings (total variation)", False),
    "activity_distance": ("user counts (Kolmogorov-Smirnov)", True),
    "density_raw": ("density of the raw ratings", True),
    "density_release": ("density of the release", True),
    "item_mean_rmse": ("item means (RMSE)", False),
    "item_mean_correlation": ("item means (correlation)", False),
    "similarity_correlation": ("item-item similarity (correlation)", False),
}


def show_utility(console: Console, evaluated: Evaluated, *, is_whole: bool = False) -> None:
    """Print the headline and the utility of a release; with `is_whole`, every figure."""
    result = evaluated.evaluation
    # First, whether the figures are of another release.
    _show_input(console, evaluated)
    for part in parts_of_headline(result, evaluated.coverage):
        first = first_sentence_of(part)
        console.print(f"[bold]{escape(first)}[/]{escape(part.removeprefix(first))}")
    if isinstance(result, NominalEvaluation):
        _show_accuracy(console, result)
        if result.row_accuracy is not None:
            _show_rows(console, result.row_accuracy)
        if result.lists is not None:
            _show_lists(console, result.lists)
        _show_groups(console, result, is_whole=is_whole)
        return
    _show_recommenders(console, result, is_whole=is_whole)
    _show_groups(console, result, is_whole=is_whole)
    if result.next_items is not None:
        _show_next_items(console, result.next_items, feedback_of(result), is_whole=is_whole)
    if is_whole:
        _show_deviations(console, result)
        _show_fidelity(console, result.fidelity, has_ratings=result.has_ratings)


def show_remarks(console: Console, evaluated: Evaluated, *, is_whole: bool = False) -> None:
    """Print the link probabilities and the notes, except what the disclosure already states."""
    result = evaluated.evaluation
    if result.links is not None:
        sentence = _describe_links(result.links)
        console.print(in_likes(sentence, feedback_of(result) == "likes"))
    statements = [] if result.disclosure is None else statements_of(result.disclosure)
    verdict = [each.sentence for each in statements]
    for note in notes_of(result):
        if note not in verdict:
            console.print(f"[yellow]note:[/] {escape(note)}")
    if not is_whole and isinstance(result, Evaluation):
        console.print(
            f"--all shows every recommender, every group, the distance of rows from the "
            f"{feedback_of(result)}, and the fidelity of the whole table."
        )


def words_of(evaluated: Evaluated, *, is_whole: bool = False) -> Iterator[str]:
    """Yield the terms that `show_utility` prints and that the glossary explains."""
    result = evaluated.evaluation
    if "gain" in headline(result):
        yield "gain"
    if isinstance(result, NominalEvaluation):
        yield from ("nDCG", "recall") if result.lists is not None else ()
        yield from ("gap",) if widest(result.divisions) else ()
        return
    yield from ("RMSE",) if result.has_ratings else ()
    yield from ("nDCG", "recall")
    yield from ("gap",) if widest(result.divisions) else ()
    yield from () if result.next_items is None else ("hit rate",)
    if is_whole:
        yield "Kendall's tau"
        yield from () if result.target_deviation is None else ("MAE",)
        yield from ("Jensen-Shannon", "Kolmogorov-Smirnov", "density")
        yield from ("total variation",) if result.has_ratings else ()


def _describe_links(links: LinkPosterior) -> str:
    return (
        f"An item in a row means that a member of the row's class rated it with probability "
        f"{number(links.mean, 2)} on average, and {number(links.highest, 2)} at most, if users "
        f"rate independently of each other."
    )


def _show_input(console: Console, evaluated: Evaluated) -> None:
    name, matched = escape(evaluated.release), evaluated.matched
    feedback = feedback_of(evaluated.evaluation)
    if evaluated.share is not None:
        cut = cut_of(evaluated)
        test_part = (
            f"{percent(evaluated.share)} of every user's {feedback} were held out"
            if cut is None
            else f"All {feedback} from {cut} on were held out"
        )
        console.print(
            f"{test_part}. {name} may contain them, so this evaluates another release, made from "
            f"the rest with the settings of {name}, not {name} itself."
        )
    if matched and matched.left_out:
        console.print(
            f"Left out: {matched.left_out:,} test {feedback} of users "
            f"({matched.unknown_users:,}) or items ({matched.unknown_items:,}) without training "
            f"{feedback}."
        )
    if matched and matched.also_in_training:
        console.print(
            f"Left out: {matched.also_in_training:,} test {feedback} that are also training "
            f"{feedback}."
        )


def _chosen_by(name: str, choices: Mapping[str, str]) -> str:
    sides = [side for side, choice in choices.items() if choice == name]
    return f"{name} [dim]({'both' if len(sides) > 1 else sides[0]})[/]" if sides else name


def _show_recommenders(console: Console, result: Evaluation, *, is_whole: bool) -> None:
    raw, release, has_ratings = result.raw, result.release, result.has_ratings
    metrics = (*(("RMSE",) if has_ratings else ()), "nDCG", "recall")
    sides = {"raw": raw, "release": release}
    choices = {
        side: served.chosen if has_ratings else served.ranker or served.chosen
        for side, served in sides.items()
    }
    deciding = {AVERAGES, POPULARITY}.union(*map(_deciding, sides.values()))
    names = [name for name in raw.utilities if is_whole or name in deciding]

    def make(metrics: Sequence[str]) -> Table:
        table = table_of("recommender")
        table.columns[0].min_width = 14  # with the others, that fits into 80 columns
        for metric in metrics:
            table.add_column(f"{metric}\nraw", no_wrap=True)
            table.add_column("\nrelease", no_wrap=True)
        for name in names:
            numbers = [
                number(getattr(served.utilities[name], metric.lower()))
                for metric in metrics
                for served in sides.values()
            ]
            table.add_row(_chosen_by(name, choices), *numbers)
        return table

    # The last metrics are left out where they do not fit.
    tables = [make(metrics[: len(metrics) - number]) for number in range(len(metrics))]
    table = first_fitting(console, tables, wraps=True)
    console.print(table)
    n_shown = len(table.columns) // 2
    if left_out := metrics[n_shown:]:
        console.print(f"Not shown at this width: {', '.join(left_out)}.")
    feedback = feedback_of(result)
    for metric in metrics[:n_shown]:
        console.print(f"{metric}: {meaning_of(metric, is_unary=feedback == 'likes')}.")
    console.print(escape(describe_best(result)))
    _show_counts(
        console, result, feedback, "to predict ratings" if has_ratings else "to make lists"
    )
    if is_whole:
        order = result.carry_over
        by_rmse = f"{number(order.tau_rmse, 2)} by RMSE and " if has_ratings else ""
        console.print(
            f"The order of recommenders agrees with that on the raw {feedback} by Kendall's tau of "
            f"{by_rmse}{number(order.tau_ndcg, 2)} by nDCG."
        )
    if result.raw_absent is not None and result.release_absent is not None and has_ratings:
        console.print(
            f"{result.n_absent:,} of them are not in the release: RMSE "
            f"{number(result.raw_absent.of_chosen.rmse)} from the raw ratings, "
            f"{number(result.release_absent.of_chosen.rmse)} from the release."
        )


def _show_groups(
    console: Console, result: Evaluation | NominalEvaluation, *, is_whole: bool
) -> None:
    """Print the largest gap between groups; with `is_whole`, the figures of all groups."""
    few, is_unary = describe_too_few(result.divisions), feedback_of(result) == "likes"
    for sentence in filter(None, (describe_widest(result.divisions), few)):
        console.print(escape(in_likes(sentence, is_unary)))
    for grid in group_grids(result.divisions, is_unary=is_unary) if is_whole else ():
        made = [_first_columns(grid, number) for number in range(len(grid.header), 1, -1)]
        table = first_fitting(console, made, wraps=True)
        console.print(table)
        show_left_out(console, table, made[0], "--json")


def _first_columns(grid: Grid, number: int) -> Table:
    """Return a table of the first columns, in which no figure is cut."""
    table = table_of(*grid.header[:number])
    for row in grid.rows:
        table.add_row(*(escape(cell.replace(" (", "\n(")) for cell in row[:number]))
    # Rich narrows all columns that may wrap, so that words of several would be cut.
    longest = max(table.columns, key=lambda column: max(map(len, map(str, column.cells))))
    for column in table.columns:
        column.no_wrap = column is not longest
    words = " ".join(map(str, longest.cells)).split()
    longest.min_width = max(longest.min_width or 0, *map(len, words))
    return table


def _show_next_items(console: Console, result: NextItems, feedback: str, *, is_whole: bool) -> None:
    """Print the quality of lists of next items: all, or those of the baselines and the order."""
    ordered = {each.name for each in ordered_rankers()}
    deciding = {POPULARITY, result.best_raw, result.chosen, *ordered}
    grid = tables(result)[0]
    places = {"hit rate": slice(1, 3), "nDCG": slice(3, 5)}

    def make(*titles: str) -> Table:
        table = table_of("next items by")
        table.columns[0].min_width = 14
        for title in titles:
            table.add_column(f"{title}\nraw", no_wrap=True)
            table.add_column("\nrelease", no_wrap=True)
        for name, *cells in grid.rows:
            if is_whole or name in deciding:
                shown = [cell for title in titles for cell in [name, *cells][places[title]]]
                table.add_row(name, *shown)
        return table

    # One below the other where they do not fit.
    both, hits = make("hit rate", "nDCG"), make("hit rate")
    table = first_fitting(console, [both, hits], wraps=True)
    for each in (both,) if table is both else (hits, make("nDCG")):
        console.print(each)
    console.print(f"hit rate: {meaning_of('hit rate')}.")
    of_next = (
        f"Next items: {describe_count(result.n_cells, 'item')} that "
        f"{describe_count(result.n_users, 'user')} rated on their first day after the cut, "
        f"whatever the rating; the order within a day is unknown. Lists have {result.n} items."
    )
    for sentence in (of_next, describe_next_items(result)):
        console.print(escape(in_likes(sentence, feedback == "likes")))


def _deciding(served: Served) -> set[str]:
    """Return the recommenders by which a table is judged."""
    return {served.chosen, served.best, served.ranker or served.chosen, served.best_ranker}


def _show_counts(
    console: Console, result: Evaluation | NominalEvaluation, feedback: str, purpose: str
) -> None:
    console.print(
        f"{describe_count(result.n_served, 'user was', 'users were')} served from their own "
        f"training {feedback} and evaluated on {result.n_cells:,} held-out ones. In brackets: the "
        f"side that would choose it {purpose}. 95% intervals are over the evaluated users, on "
        f"this one split."
    )


def _show_deviations(console: Console, result: Evaluation) -> None:
    target, similar = result.target_deviation, result.similar_user_deviation
    if target is None or similar is None:
        return
    table = table_of("held-out ratings against", "RMSE of values\npresent", "share\nabsent")
    table.add_column(f"RMSE, absent by\nrule “{target.null_rule}”")
    table.add_column("MAE by\nthe rule")
    for name, deviation in (("the user's own row", target), ("the most similar row", similar)):
        present, absent = number(deviation.rmse_present), percent(deviation.null_share)
        table.add_row(name, present, absent, number(deviation.rmse), number(deviation.mae))
    console.print(table)
    own, common = (
        percent(None if ranks is None else ranks.first_share)
        for ranks in (result.self_rank, result.self_rank_common)
    )
    console.print(
        f"If many values are absent, the figures by the rule “{target.null_rule}” depend on it "
        f"more than on the values. {percent(result.filled_share)} of the held-out cells were "
        f"filled in the release, or have other users' values; none of these counts as truth. For "
        f"{own} of the users, no row is more similar than their own if an absent item counts as "
        f"opposite; for {common} on common items alone."
    )


def _show_fidelity(console: Console, fidelity: Fidelity, *, has_ratings: bool) -> None:
    table = table_of(f"the release against the raw {'ratings' if has_ratings else 'likes'}", "")
    for name, (title, is_of_likes) in _FIDELITY.items():
        if has_ratings or is_of_likes:
            figure = number(getattr(fidelity, name))
            table.add_row(in_likes(title, not has_ratings), figure)
    console.print(table)


def _show_accuracy(console: Console, result: NominalEvaluation) -> None:
    sides = {"raw": result.raw, "release": result.release}
    table = table_of("accuracy of predicted labels", "from raw labels", "from the release")
    choices = {side: served.chosen for side, served in sides.items()}
    for name in result.raw.right:
        cells = [_mean(served.mean(name)) for served in sides.values()]
        table.add_row(_chosen_by(name, choices), *cells)
    console.print(table)
    _show_counts(console, result, "labels", "")


def _show_rows(console: Console, accuracy: RowAccuracy) -> None:
    table = table_of("users' held-out labels equal", "share")
    table.add_row("the label in their own row", _mean(accuracy.accuracy))
    table.add_row("the item's most frequent label", _mean(accuracy.baseline))
    table.add_row("the difference", _mean(accuracy.gain))
    console.print(table)
    console.print(
        f"{describe_count(accuracy.cells, 'label')} of "
        f"{describe_count(accuracy.accuracy.trials, 'user')} in the release."
    )


def _show_lists(console: Console, lists: NominalLists) -> None:
    raw, release = lists.raw, lists.release
    table = table_of("lists of liked items", "by", "nDCG@10", "recall@10")
    rows: dict[str, tuple[str, Utility]] = {
        "raw labels, the best": (raw.best_ranker, raw.utilities[raw.best_ranker]),
        "the release": (release.ranker or release.chosen, release.of_ranker),
        "popular items": (POPULARITY, raw.utilities[POPULARITY]),
    }
    for title, (name, utility) in rows.items():
        table.add_row(title, name, number(utility.ndcg), number(utility.recall))
    console.print(table)
    console.print(f"Items with {escape(', '.join(lists.liked))} count as liked.")


def _mean(mean: Mean) -> str:
    return estimate(mean)
