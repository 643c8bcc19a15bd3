"""What an evaluation of words without an order found, printed for people."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape

from recveil.cli.explanations import explain
from recveil.cli.show import narrow
from recveil.evaluation.headline import describe_best, headline, predicts, what_of
from recveil.ratings.ratings import in_likes
from recveil.report.audit.terminal import show_disclosure, show_rates, terms_of_release
from recveil.runtime.errors import describe_count


def show_evaluation(
    plain: dict[str, Any], *, is_explained: bool = False, is_whole: bool = False
) -> None:
    """Print what decides, or all that was found; and, if asked, what the words mean."""
    console = Console()
    console.print(f"[bold]{escape(headline(plain))}[/]")
    describe_ground(console, plain)
    _show_recipient(console, plain, is_whole=is_whole)
    if is_whole:
        _show_deviations(console, plain)
        _show_fidelity(console, plain)
    _show_disclosure_of(console, plain["disclosure"], is_unary=not predicts(plain["recipient"]))
    show_notes(console, plain)
    if not is_whole:
        console.print(
            "--all shows every recommender, how far rows lie from the ratings, and what became of "
            "the whole table."
        )
    show_meanings(console, _describe_figure(plain, is_whole=is_whole), is_explained=is_explained)


def show_meanings(console: Console, words: Iterator[str], *, is_explained: bool) -> None:
    """Print what words mean, or how to ask for it."""
    if is_explained:
        explain(words)
    else:
        console.print("--explain says what the words mean.")


def _describe_figure(plain: dict[str, Any], *, is_whole: bool) -> Iterator[str]:
    """Yield the words that stand in what was printed."""
    rates = predicts(plain["recipient"])
    if "gain" in headline(plain):
        yield "gain"
    yield from ("RMSE",) if rates else ()
    yield from ("nDCG", "recall")
    if is_whole:
        yield "Kendall's tau"
        yield from () if plain["target_deviation"] is None else ("label", "MAE")
        yield from ("Jensen-Shannon", "Kolmogorov-Smirnov", "density")
        yield from ("total variation",) if rates else ()
    if plain["disclosure"] is not None:
        yield from terms_of_release(plain["disclosure"])


def describe_ground(console: Console, plain: dict[str, Any]) -> None:
    """Say which release is judged, and by what."""
    name = escape(plain["release"])
    what = what_of(plain["recipient"])
    if plain["made_anew"]:
        console.print(
            f"{plain['split']:.0%} of everybody's {what} were held out. {name} may have seen "
            f"them, so another release was made of the rest with its settings; it is this one that "
            f"is judged, not {name} itself."
        )
    left_out = plain["left_out"] or {}
    if left_out.get("unknown_cells"):
        console.print(
            f"Left out: {left_out['unknown_cells']:,} test ratings of users "
            f"({left_out['unknown_users']:,}) or items ({left_out['unknown_items']:,}) without "
            f"training ratings."
        )
    if left_out.get("also_in_training"):
        console.print(
            f"Left out: {left_out['also_in_training']:,} test ratings that stand among the "
            f"training ratings, too."
        )


def _show_recipient(console: Console, plain: dict[str, Any], *, is_whole: bool) -> None:
    """Print how well recommenders learn from the release, and from the raw ratings."""
    told = plain["recipient"]
    table = narrow("recommender")
    table.columns[0].min_width = 14  # with the others, that fits into 80 columns
    rates = predicts(told)
    measures = {"RMSE": "rmse"} if rates else {}
    measures |= {"nDCG": "ndcg@10", "recall": "recall@10"}
    for measure in measures:
        table.add_column(f"{measure}\nraw", no_wrap=True)
        table.add_column("\nrelease", no_wrap=True)
    shown = [name for name in told["recommenders"] if is_whole or name in _deciding(told)]
    for name in shown:
        sides = told["recommenders"][name]
        of = told if rates else told["lists"]
        takers = [side for side in ("raw", "release") if name == of[side]["recommender"]]
        chosen = "both" if len(takers) > 1 else "".join(takers)
        numbers = [
            _number(sides[side][measure])
            for measure in measures.values()
            for side in ("raw", "release")
        ]
        table.add_row(f"{name} [dim]({chosen})[/]" if chosen else name, *numbers)
    console.print(table)
    console.print(escape(describe_best(told)))
    what = "ratings" if rates else "likes"
    console.print(
        f"{describe_count(plain['served'], 'user was', 'users were')} served from their own "
        f"training {what} and judged by {plain['test_cells']:,} held-out ones. "
        f"In brackets: which side would take it to "
        f"{'predict ratings' if rates else 'make lists'}. Intervals are about the users judged, "
        f"on this one split."
    )
    if is_whole:
        _describe_order(console, plain["carry_over"], what)
    if told["absent"] is not None and rates:
        sides = told["absent"]
        console.print(
            f"{plain['absent']:,} of them are not in the release: RMSE "
            f"{_number(sides['raw']['rmse'])} with the raw ratings, "
            f"{_number(sides['release']['rmse'])} with the release."
        )


def _deciding(told: dict[str, Any]) -> set[str]:
    """Return the recommenders by which a release is judged, and what they are held against."""
    taken = [told["averages"], told["popularity"], *told["lists"].values()]
    taken += [told[which][side] for which in ("chosen", "best") for side in ("raw", "release")]
    return {each[who] for each in taken for who in ("recommender", "ranker") if who in each}


def _describe_order(console: Console, order: dict[str, Any], what: str) -> None:
    """Say how far the release puts recommenders in the order of the raw table."""
    by_rmse = f"{_number(order['tau_rmse'], 2)} by RMSE and " if what == "ratings" else ""
    console.print(
        f"The order of recommenders agrees with that on the raw {what} by Kendall's tau of "
        f"{by_rmse}{_number(order['tau_ndcg'], 2)} by nDCG."
    )


def _show_deviations(console: Console, plain: dict[str, Any]) -> None:
    """Print how far held-out ratings lie from the published rows."""
    target, similar = plain["target_deviation"], plain["similar_user_deviation"]
    if target is None:
        return
    table = narrow("held-out ratings against", "RMSE of labels\npresent", "share\nabsent")
    table.add_column(f"RMSE, absent by\nrule “{target['null_rule']}”")
    table.add_column("MAE so")
    for name, found in (("one's own row", target), ("the most similar row", similar)):
        present, absent = _number(found["rmse_present"]), _format_share(found["null_share"])
        table.add_row(name, present, absent, _number(found["rmse"]), _number(found["mae"]))
    console.print(table)
    console.print(
        f"If many labels are absent, the figures by the rule “{target['null_rule']}” tell more of "
        f"it than of the labels. "
        f"{_format_share(plain['filled_share'])} of the held-out cells were filled in the release, "
        f"or carry what others said; none of that counts as truth. "
        f"{_format_share(plain['self_rank_first'])} of the people find no row more similar to "
        f"themselves than their own if what a row lacks counts as opposite, and "
        f"{_format_share(plain['self_rank_common_first'])} on common items alone."
    )


_FIDELITY = {
    "popularity_correlation": "popularity of items (rank correlation)",
    "popularity_divergence": "popularity of items (Jensen-Shannon, bits)",
    "rated_share_error": "“what share of users rated this?” (mean error)",
    "rating_distance": "histogram of ratings (total variation)",
    "activity_distance": "ratings of each person (Kolmogorov-Smirnov)",
    "density_raw": "density of the raw ratings",
    "density_release": "density of the release",
    "item_mean_rmse": "item means (RMSE)",
    "item_mean_correlation": "item means (correlation)",
    "similarity_correlation": "item-item similarity (correlation)",
}


# What likes have none of.
_OF_RATINGS = (
    *("rating_distance", "item_mean_rmse", "item_mean_correlation", "similarity_correlation"),
)


def _show_fidelity(console: Console, plain: dict[str, Any]) -> None:
    """Print how far the whole table moved."""
    rates = predicts(plain["recipient"])
    table = narrow(f"the release against the raw {'ratings' if rates else 'likes'}", "")
    for name, words in _FIDELITY.items():
        if rates:
            table.add_row(words, _number(plain["fidelity"][name]))
        elif name not in _OF_RATINGS:
            table.add_row(in_likes(words), _number(plain["fidelity"][name]))
    console.print(table)


def _show_disclosure_of(
    console: Console, disclosure: dict[str, Any] | None, *, is_unary: bool = False
) -> None:
    """Print what adversaries still find in the release."""
    if disclosure is None:
        return
    console.print(escape(disclosure["headline"]))
    show_rates(console, disclosure)
    show_disclosure(console, disclosure)
    if disclosure["links"] is not None:
        links = disclosure["links"]
        told = (
            f"That an item stands in a row makes it {_number(links['mean'], 2)} probable on "
            f"average, and {_number(links['highest'], 2)} at most, that a given member rated it, "
            f"if people rate independently of each other."
        )
        console.print(in_likes(told, is_unary))


def show_notes(console: Console, plain: dict[str, Any]) -> None:
    """Print what else is to be known, but for what was said above."""
    said = plain["disclosure"]["verdict"] if plain["disclosure"] else []
    for note in plain["notes"]:
        if note not in said:
            console.print(f"[yellow]note[/]  {escape(note)}")


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def show_words(plain: dict[str, Any], *, is_explained: bool = False) -> None:
    """Print the headline, the tables, the notes, and, if asked, what the words mean."""
    console = Console()
    console.print(f"[bold]{escape(headline(plain))}[/]")
    describe_ground(console, plain)
    _show_tellers(console, plain)
    _show_rows(console, plain["words_told"])
    if plain["liked"] is not None:
        _show_lists(console, plain)
    _show_disclosure_of(console, plain["disclosure"])
    show_notes(console, plain)
    show_meanings(console, _words_of(plain), is_explained=is_explained)


def _words_of(plain: dict[str, Any]) -> Iterator[str]:
    """Yield the words that stand in what was printed."""
    if "gain" in headline(plain):
        yield "gain"
    if plain["liked"] is not None:
        yield from ("nDCG", "recall")
    if plain["disclosure"] is not None:
        yield from terms_of_release(plain["disclosure"])


def _show_tellers(console: Console, plain: dict[str, Any]) -> None:
    """Print how many words each teller tells rightly, from the raw words and from the release."""
    told = plain["recipient"]
    table = narrow("words told rightly by", "from raw words", "from the release")
    for name, sides in told["tellers"].items():
        takers = [side for side in ("raw", "release") if name == told[side]["recommender"]]
        chosen = "both" if len(takers) > 1 else "".join(takers)
        cells = [_share(sides[side], "right") for side in ("raw", "release")]
        table.add_row(f"{name} [dim]({chosen})[/]" if chosen else name, *cells)
    console.print(table)
    console.print(
        f"{describe_count(plain['served'], 'user was', 'users were')} served from their own "
        f"training words and judged by {plain['test_cells']:,} held-out ones. "
        f"In brackets: which side would take it. Intervals "
        f"of 95 % are about the users judged, on this one split."
    )


def _show_rows(console: Console, told: dict[str, Any] | None) -> None:
    """Print how many held-out words stand in people's own rows."""
    if told is None:
        return
    rows = {
        "their own row": "right",
        "the item's commonest word": "commonest",
        "the difference": "gain",
    }
    table = narrow("people's held-out words are in", "share")
    for words, name in rows.items():
        table.add_row(words, _share(told[name], "mean"))
    console.print(table)
    console.print(
        f"{describe_count(told['cells'], 'word')} of "
        f"{describe_count(told['right']['trials'], 'user')} in the release."
    )


def _show_lists(console: Console, plain: dict[str, Any]) -> None:
    """Print how good lists of liked items are."""
    told = plain["recipient"]["lists"]
    table = narrow("lists of liked items", "by", "nDCG@10", "recall@10")
    named = {
        "raw words, the best": told["best_raw"],
        "the release": told["release"],
        "popular items": plain["recipient"]["popularity"],
    }
    for words, each in named.items():
        figures = [
            "–" if each[name] is None else f"{each[name]:.4f}" for name in ("ndcg@10", "recall@10")
        ]
        table.add_row(words, each["recommender"], *figures)
    console.print(table)
    console.print(f"Liked are items with {escape(', '.join(plain['liked']))}.")


def _share(told: dict[str, Any], name: str) -> str:
    value, low, high = (told[key] for key in (name, "low", "high"))
    if value is None:
        return "–"
    if low is None or high is None:
        return f"{value:.1%}"
    return f"{value:.1%} [dim]({low:.1%} to {high:.1%})[/]"
