"""recveil verify."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli import options
from recveil.cli.options import Json, claims, one_of
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from recveil.verification import Verification


def verify(
    path: Annotated[
        str,
        options.table_argument("A release folder, or any file of ratings; - reads standard input."),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            help="Minimum number of users per row (Chang et al., Definition 3.3; k-CoRating, "
            "Definition 3). A release states its own k; synthetic users have none.",
        ),
    ] = None,
    b: Annotated[
        int | None,
        typer.Option(
            "--b",
            help="With --l: number of items in a set (Chang et al., Definition 5.3). Default: 1, "
            "which is Definition 5.2.",
        ),
    ] = None,
    l: Annotated[  # noqa: E741
        int | None,
        typer.Option(
            "--l",
            help="Diversity: every set of --b items in a row must be in at least this many rows "
            "(Chang et al., Definitions 5.2 and 5.3).",
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=one_of(claims),
            help="The claim to check: identical-rows (the same items and ratings: Chang et al., "
            "Definition 3.3) or co-rated (the same items: k-CoRating, Definition 3). A release "
            "states its own.",
        ),
    ] = None,
    links: Annotated[
        bool,
        typer.Option(
            "--links",
            help="Report how likely a user of a row rated an item in it (Chang et al., Theorem "
            "6.3).",
        ),
    ] = False,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    rating: options.RatingColumn = None,
    time: options.TimeColumn = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    wide: options.Wide = False,
    null: options.Null = None,
    private: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The release's private folder: check that the release contains nothing of it.",
        ),
    ] = None,
    ratings: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --private: the table that it was made from, to count the ratings behind "
            "means with --diversity or --closeness. Column options are then of it.",
        ),
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="With --ratings: error (default), last or mean, as for anonymize.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The published folder of the release that this one follows: check that each of "
            "its groups lives on whole.",
        ),
    ] = None,
    croissant: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A Croissant description: check that it matches the release.",
        ),
    ] = None,
    engine: options.Engine = "local",
    master: options.Master = None,
    explain: options.Explain = False,
    json: Json = None,
) -> None:
    """Verify the claim of a release from its published files: k users per row, or its epsilon.

    Reports what the files cannot prove. Exits with 0 if the claim holds, 1 if it does not, 2 if
    there is nothing to check.

    Example: `recveil verify out`, or `recveil verify other.csv --k 5`,

    or `recveil verify may --against april`
    """
    from recveil.cli.outputs import write_json
    from recveil.io.inputs import path_of
    from recveil.report import glossary
    from recveil.report import verification as verdicts
    from recveil.runtime.compiled import HAS_COMPILER
    from recveil.verification import verify

    if not HAS_COMPILER:
        echo(
            "numba is not installed: the verdict is the same, but large tables take longer",
            err=True,
        )

    checked: dict[str, Any] = {"k": k, "b": b, "l": l, "claim": claim, "links": links}
    checked |= {"private": private, "user": user, "item": item, "rating": rating, "time": time}
    checked |= {"against": against, "ratings": ratings, "duplicates": duplicates}
    checked |= {"format": format, "delimiter": delimiter, "wide": wide, "null": null}
    options.reject_idle_master(engine, master)
    place = path_of(path)
    result = _by_spark(place, master, checked) if engine == "spark" else verify(place, **checked)
    if croissant is not None:
        result = _with_croissant(result, place, croissant)
    if write_json(result.to_dict(), json):
        verdicts.show_verification(result, str(place))
        if result.private_found is not None and not result.private_found:
            echo("The release contains nothing of the private folder.")
        if links:
            verdicts.show_links(result)
        verdicts.show_not_covered(result)
        if explain:
            glossary.explain(verdicts.terms_of(result))
    raise typer.Exit(0 if result.holds else 1)


def _with_croissant(result: "Verification", path: Path, croissant: Path) -> "Verification":
    """Add the contradictions of a Croissant description to the release."""
    from recveil.publish._describe import check_croissant, limit_of_croissant

    return replace(
        result,
        violations=[*result.violations, *check_croissant(path, croissant)],
        not_covered=[*result.not_covered, limit_of_croissant(path, croissant)],
    )


def _by_spark(path: Path, master: str | None, options: Mapping[str, Any]) -> "Verification":
    """Verify with Spark, which supports fewer options."""
    from recveil.io.ingestion import has_value
    from recveil.spark import verify

    supported = {"private", "k"}
    if unsupported := [
        n for n, value in options.items() if n not in supported and has_value(value)
    ]:
        raise typer.BadParameter(
            f"--{unsupported[0]}: not with --engine spark; drop one of the two"
        )
    return verify(path, k=options["k"], private=options["private"], master=master)
