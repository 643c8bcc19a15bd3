"""recveil verify."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli import options
from recveil.cli.options import Json, claims, one_of, tell

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
            help="How many people must share each row; a release names its own k. Drawn people "
            "share none.",
        ),
    ] = None,
    b: Annotated[
        int | None,
        typer.Option("--b", help="With --l: how many items make a set, 1, 2 or 3; 1 if not given."),
    ] = None,
    l: Annotated[  # noqa: E741
        int | None,
        typer.Option(
            "--l",
            help="Diversity: every set of --b items that stands in a row must stand in at least "
            "this many different rows.",
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=one_of(claims),
            help="What people must share: identical-rows (the same items with the same ratings), "
            "or co-rated (the same items, whatever the ratings); a release names its own.",
        ),
    ] = None,
    links: Annotated[
        bool,
        typer.Option(
            "--links",
            help="Say, too, how likely it is that a person behind a row rated an item that stands "
            "in it.",
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
            help="The release's private folder: checks that nothing of it stands in the release.",
        ),
    ] = None,
    croissant: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A description of the release in Croissant: check that it matches the release.",
        ),
    ] = None,
    engine: options.Engine = "local",
    master: options.Master = None,
    explain: options.Explain = False,
    json: Json = None,
) -> None:
    """Check that a release keeps what it promises: k people on each row, or its epsilon.

    Reads the published files alone, and says what they cannot prove. Exits with 0 if the promise
    holds, 1 if it does not, 2 if there is nothing to check.

    Example: `recveil verify out`, or `recveil verify somebody-elses.csv --k 5`
    """
    from recveil.cli import explanations
    from recveil.cli.show import (
        show_links,
        show_not_covered,
        show_verification,
        words_of,
        write_json,
    )
    from recveil.io.inputs import path_of
    from recveil.runtime.compiled import HAS_COMPILER
    from recveil.verification import verify

    if not HAS_COMPILER:
        tell("numba is not installed: the verdict is the same; large tables take longer", err=True)

    asked: dict[str, Any] = {
        "k": k,
        "b": b,
        "l": l,
        "claim": claim,
        "links": links,
        "private": private,
    }
    asked |= {"user": user, "item": item, "rating": rating, "time": time}
    asked |= {"format": format, "delimiter": delimiter, "wide": wide, "null": null}
    options.reject_idle_master(engine, master)
    place = path_of(path)
    result = _by_spark(place, master, asked) if engine == "spark" else verify(place, **asked)
    if croissant is not None:
        result = _with_croissant(result, place, croissant)
    if write_json(result.to_dict(), json):
        show_verification(result, str(place))
        if result.private_found is not None and not result.private_found:
            tell("Nothing of the private side was found in the release.")
        if links:
            show_links(result)
        show_not_covered(result)
        if explain:
            explanations.explain(words_of(result))
    raise typer.Exit(0 if result.holds else 1)


def _with_croissant(result: "Verification", path: Path, croissant: Path) -> "Verification":
    """Return a verdict with what a description of the release contradicts."""
    from recveil.publish._describe import check_croissant, unchecked_in_croissant

    return replace(
        result,
        violations=[*result.violations, *check_croissant(path, croissant)],
        not_covered=[*result.not_covered, unchecked_in_croissant(path, croissant)],
    )


def _by_spark(path: Path, master: str | None, asked: dict[str, Any]) -> "Verification":
    """Let Spark check a release, which asks for less."""
    from recveil.io.ingestion import has_value
    from recveil.spark import verify

    private, k = asked.pop("private"), asked.pop("k")
    if given := [name for name, value in asked.items() if has_value(value)]:
        raise typer.BadParameter(
            f"--{given[0]}: not with --engine spark yet; leave one of them out"
        )
    return verify(path, k=k, private=private, master=master)
