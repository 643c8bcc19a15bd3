"""What an evaluation of words without an order found, printed for people."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape

from recveil.cli.meanings import words_of_release
from recveil.cli.show_evaluation import say_ground, show_disclosure, show_meanings, show_notes
from recveil.cli.tables import narrow
from recveil.errors import describe_count
from recveil.evaluate.headline import headline


def show_words(plain: dict[str, Any], *, is_explained: bool = False) -> None:
    """Print the headline, the tables, the notes, and, if asked, what the words mean."""
    console = Console()
    console.print(f"[bold]{escape(headline(plain))}[/]")
    say_ground(console, plain)
    _show_tellers(console, plain)
    _show_rows(console, plain["words_told"])
    if plain["liked"] is not None:
        _show_lists(console, plain)
    show_disclosure(console, plain["disclosure"])
    show_notes(console, plain)
    show_meanings(console, _words_of(plain), is_explained=is_explained)


def _words_of(plain: dict[str, Any]) -> Iterator[str]:
    """Yield the words that stand in what was printed."""
    if "gain" in headline(plain):
        yield "gain"
    if plain["liked"] is not None:
        yield from ("nDCG", "recall")
    if plain["disclosure"] is not None:
        yield from words_of_release(plain["disclosure"])


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
        f"{describe_count(plain['served'], 'person', 'people')} "
        f"were served from their own training words and judged by "
        f"{plain['test_cells']:,} held-out ones. In brackets: which side would take it. Intervals "
        f"of 95 % are about the people judged, on this one split."
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
        f"{describe_count(told['right']['trials'], 'person', 'people')} in the release."
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
