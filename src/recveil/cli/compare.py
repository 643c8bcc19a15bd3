"""recveil compare."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Json, compared_methods, echo, one_of, some_of

if TYPE_CHECKING:
    from recveil.comparison import Comparison
    from recveil.io.options import ReadingOptions

_LIMITS = "Question"
# What "all" stands for differs with what the table holds, which is read later.
_OTHERS: dict[str, Literal["likes", "words"]] = {
    "likes": "likes",
    "words without an order": "words",
}


def compare(
    source: options.Source,
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder for the page, the table and all finished settings; you alone can"
            " read it.",
        ),
    ],
    methods: Annotated[
        str,
        typer.Option(
            metavar="all|NAME,NAME...",
            autocompletion=some_of(compared_methods),
            help="Which methods to try, such as padded,simple,sparse,synthetic-3,raw; the error "
            "over an unknown name lists others.",
        ),
    ] = "all",
    ks: Annotated[
        str,
        typer.Option(
            "--k", metavar="K,K...", help="Which k to try: how many people at least share a row."
        ),
    ] = "2,3,5,10,20,50",
    split: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="The share of everybody's ratings that is held out, to judge by."
        ),
    ] = 0.2,
    targets: Annotated[
        int,
        typer.Option(
            metavar="N", help="How many people each adversary looks for; they are drawn at random."
        ),
    ] = 1_000,
    seed: Annotated[int, options.seed_of("comparison")] = 0,
    max_risk: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=_LIMITS,
            help="Name the setting that keeps most at no more than this risk: the share of "
            "the people who are found, unless --risk says otherwise.",
        ),
    ] = None,
    min_k: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            rich_help_panel=_LIMITS,
            help="Name the setting that keeps most with at least this many people on each row.",
        ),
    ] = None,
    worth: Annotated[
        Literal["both", "ratings", "lists"],
        typer.Option(
            "--for",
            metavar="ratings|lists|both",
            autocompletion=one_of(lambda: ("ratings", "lists", "both")),
            rich_help_panel=_LIMITS,
            help="What the release is to be good for: predicted ratings, lists of recommended"
            " items, or both (the one that keeps less counts).",
        ),
    ] = "both",
    risk: Annotated[
        str | None,
        typer.Option(
            metavar="person|group|membership|links|shadows",
            autocompletion=one_of(lambda: ("person", "group", "membership", "links", "shadows")),
            rich_help_panel=_LIMITS,
            help="Which risk counts. person (default): the share of the people who are found;"
            " group: whose group is found; membership: who are recognized as being in "
            "the data; links: of the pairs of person and item that are told; shadows "
            "(default with --shadows): who are recognized by comparison with other "
            "releases.",
        ),
    ] = None,
    shadows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="For each setting make N more releases, of halves of the people (32, say), "
            "and measure by them how well somebody tells who is in one: a risk that all "
            "methods share.",
        ),
    ] = None,
    allow_large: options.AllowLarge = False,
    liked: options.Liked = None,
    explain: options.Explain = False,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Draw risk against utility for many methods and k, on your own data.

    Finished settings are kept in OUTPUT: a run that was stopped writes the page of these, and the
    same command goes on where it was.

    Example: `recveil compare ratings.csv --k 2,5,10,50 --max-risk 0.1 -o comparison`
    """
    from recveil.cli.show import show_read, write_json
    from recveil.cli.show_comparison import show_comparison
    from recveil.comparison import compare
    from recveil.comparison._compare import usual_methods
    from recveil.comparison.cells import PAGE
    from recveil.report.comparison_page import write_compare_page

    names = [name.strip() for name in methods.split(",") if name.strip()]
    if "all" in names:
        usual = usual_methods()
        others = "; ".join(
            f"of {what}: {', '.join(usual_methods(of=kind))}" for what, kind in _OTHERS.items()
        )
        echo(
            f"Comparing {len(usual)} methods: {', '.join(usual)} ({others}). Fewer take less time "
            f"(--methods); Ctrl-C keeps what is finished.",
            err=True,
        )

    def show_so_far(so_far: "Comparison") -> None:
        write_compare_page(so_far.to_dict(), out / PAGE)
        echo(f"{out / PAGE} shows what is finished.", err=True)

    comparison = compare(
        source,
        out,
        methods=names,
        ks=_numbers(ks),
        split=split,
        seed=seed,
        targets=targets,
        allow_large=allow_large,
        max_risk=max_risk,
        min_k=min_k,
        worth=worth,
        risk=risk,
        shadows=shadows,
        liked=liked,
        stopped=show_so_far,
        **reading,
    )
    plain = comparison.to_dict()
    write_compare_page(plain, out / PAGE)
    if write_json({"output": str(out), **plain}, json):
        show_read(comparison.reading)
        show_comparison(comparison, plain, is_explained=explain)
        echo(f"Wrote {out / PAGE}. It is for you alone, as is all of {out}.")
    answer = plain["answer"]
    if all(row.problem for row in comparison.rows) or (answer and answer["row"] is None):
        raise typer.Exit(1)


def _numbers(text: str) -> list[int]:
    """Read several k."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--k {text!r}: expected whole numbers, as in 2,5,10") from None
