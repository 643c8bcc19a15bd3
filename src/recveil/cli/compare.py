"""recveil compare."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Json, compared_methods, one_of, some_of
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from recveil.comparison import Comparison
    from recveil.comparison.settings import Estimate
    from recveil.io.options import ReadingOptions

_LIMITS = "Question"


def compare(
    source: options.Source,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder for the page, the table and all finished settings, readable by you"
            " alone.",
        ),
    ],
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="all|padding|today|NAME,NAME...",
            autocompletion=some_of(compared_methods),
            help="The methods to compare, such as padded,simple,raw; all: one of each kind; "
            "padding: degrees of padding from simple to padded rows, which the chart joins by a "
            "line (Chang et al., section 7); today: what publishers do today (raw, user-sample, "
            "netflix-perturbation, k-core, date-shift) and the default settings. Other baselines: "
            "randomized-response (Warner 1965), geometric, geometric-noise-first, gaussian-noise "
            "(Chen 2012, section 2.2). By default a few settings, which the estimate names.",
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="K,K...",
            help="The k to compare: the minimum number of users per row; of methods that are named,"
            " 2,3,5,10,20,50 by default.",
        ),
    ] = None,
    split: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The share of every user's ratings that is held out."),
    ] = 0.2,
    targets: Annotated[
        int,
        typer.Option(
            metavar="N", help="The number of targets of each adversary, sampled at random."
        ),
    ] = 1_000,
    seed: Annotated[int, options.seed_of("comparison")] = 0,
    max_risk: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=_LIMITS,
            help="Choose the setting that retains most utility with at most this risk: the share "
            "of users re-identified, unless --risk selects another. Without any limit: 0.1; of "
            "--risk class and links 0.5, membership and shadows 0.2, attribute 0.05.",
        ),
    ] = None,
    min_k: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            rich_help_panel=_LIMITS,
            help="Choose the setting that retains most utility with at least this many users per "
            "row.",
        ),
    ] = None,
    utility: Annotated[
        Literal["both", "ratings", "lists"],
        typer.Option(
            "--utility",
            metavar="ratings|lists|both",
            autocompletion=one_of(lambda: ("ratings", "lists", "both")),
            rich_help_panel=_LIMITS,
            help="The purpose of the release: predicted ratings, lists of recommended items, or "
            "both (the smaller retained share counts).",
        ),
    ] = "both",
    risk: Annotated[
        str | None,
        typer.Option(
            metavar="reidentification|class|membership|links|shadows|attribute",
            autocompletion=one_of(
                lambda: (
                    *("reidentification", "class", "membership"),
                    *("links", "shadows", "attribute"),
                )
            ),
            rich_help_panel=_LIMITS,
            help="The risk. reidentification (default): the share of users re-identified; class: of"
            " users whose equivalence class is re-identified; membership: of members recognized "
            "by membership inference; links: of user-item links inferred; shadows (default with "
            "--shadows): of members recognized with shadow releases; attribute: the AUC that rows "
            "add to the inference of --attribute.",
        ),
    ] = None,
    shadows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Make N shadow releases of halves of the users per setting, such as 32, and "
            "measure membership inference with them: a risk that all methods have.",
        ),
    ] = None,
    allow_large: options.AllowLarge = False,
    users: options.Users = None,
    attribute: options.Attribute = None,
    liked: options.Liked = None,
    explain: options.Explain = False,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Measure risk and utility of many methods and k on your own data.

    Finished settings are kept in OUTPUT: a stopped run writes their page, and the same command
    resumes it. Exit code 1: no setting has a result, or is recommended within limits that are set.

    Example: `recveil compare ratings.csv --k 2,5,10,50 --max-risk 0.1 -o comparison`
    """
    from recveil.cli.outputs import write_json
    from recveil.comparison import compare
    from recveil.comparison.cells import PAGE
    from recveil.report.comparison import terminal
    from recveil.report.glossary import explain as explain_words
    from recveil.report.terminal import show_reading

    def show_estimate(estimate: "Estimate") -> None:
        rest = "" if methods else " --methods all compares one method of each kind."
        stop = " Ctrl-C keeps the finished settings." if estimate.seconds else ""
        echo(f"{estimate.sentence()}{rest}{stop}", err=True)

    def write_page(comparison: "Comparison") -> None:
        comparison.to_html(output / PAGE)
        echo(f"{output / PAGE} shows the finished settings.", err=True)

    comparison = compare(
        source,
        output,
        methods=None if methods is None else _names(methods),
        k=None if k is None else _numbers(k),
        split=split,
        seed=seed,
        targets=targets,
        allow_large=allow_large,
        max_risk=max_risk,
        min_k=min_k,
        utility=utility,
        risk=risk,
        shadows=shadows,
        liked=liked,
        users=users,
        attribute=attribute or None,
        on_estimate=show_estimate,
        on_interrupt=write_page,
        **reading,
    )
    comparison.to_html(output / PAGE)
    if write_json({"output": str(output), **comparison.to_dict()}, json):
        show_reading(comparison.reading)
        terminal.show_comparison(comparison)
        if explain:
            explain_words(terminal.words_of(comparison), is_unary=comparison.ratings.is_unary)
        else:
            echo("--explain explains the terms.")
        echo(f"Wrote {output / PAGE}. Do not publish {output}, which is private.")
    is_unanswered = comparison.has_question and comparison.choice().row is None
    if is_unanswered or all(row.problem for row in comparison.rows):
        raise typer.Exit(1)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--k {text!r}: expected whole numbers, as in 2,5,10") from None
