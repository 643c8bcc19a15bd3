"""recveil anonymize."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json, tell

if TYPE_CHECKING:
    from recveil.methods import Anonymized
    from recveil.publish.size_estimate import Expected

_MOST_WARNINGS = 3


def anonymize(
    source: options.Source,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder to be published; OUTPUT.private, beside it, stays with you.",
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            help="The promise: at least this many people share each row (with --method "
            "k-corating its items alone). --privacy-levels gives people a k of their own; "
            "--epsilon promises something else."
        ),
    ] = None,
    layout: Annotated[
        Literal["auto", "users", "groups", "model"],
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="users: one row for each user; groups: one row for each group, with its "
            "size; model: the model that people are drawn from; auto: groups for padded "
            "rows and words, else users.",
        ),
    ] = "auto",
    file_format: Annotated[
        Literal["parquet", "csv"],
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="Format of the published ratings: parquet or csv.",
        ),
    ] = "parquet",
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Random seed: the same one gives the same release. A new one"
            " is drawn if not given.",
        ),
    ] = None,
    hide_items: Annotated[
        bool,
        typer.Option(
            "--hide-items",
            rich_help_panel="Output",
            help="Publish pseudonyms in place of the items' ids, too; audit --release says "
            "how many can be named again.",
        ),
    ] = False,
    force: Force = False,
    allow_large: options.AllowLarge = False,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel="Output",
            help="An earlier release that lies elsewhere: warns if it holds some of the same "
            "people.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only say how many groups there would be, how large the release and how long"
            " the work; write nothing.",
        ),
    ] = False,
    engine: options.Engine = "local",
    master: options.Master = None,
    explain: options.Explain = False,
    json: Json = None,
    **more: Any,
) -> None:
    """Hide everybody in a group of at least k people, or publish invented ones; verify the files.

    Writes OUTPUT, to be published, and OUTPUT.private, to be kept secret.

    Example: `recveil anonymize ratings.csv -o out --k 5 --method sparse`,

    or `recveil anonymize ratings.csv -o out --epsilon 3 --scale 1:5:1`
    """
    given: dict[str, Any] = {
        "k": k,
        "layout": layout,
        "file_format": file_format,
        "seed": seed,
        "hide_items": hide_items,
        "force": force,
        "allow_large": allow_large,
        "against": against,
        **more,
    }
    options.reject_idle_master(engine, master)
    if dry_run and explain:
        raise typer.BadParameter(
            "--explain: a dry run has no result to be explained; leave one of them out"
        )
    if engine == "spark":
        of_spark = {**given, "master": master}
        _run_by_spark(source, output, json, of_spark, dry_run=dry_run, explain=explain)
        return
    if dry_run:
        _run_dry(source, output, json, given)
        return
    from recveil.cli.show import write_json
    from recveil.cli.show_release import show_release
    from recveil.methods import anonymize

    told: list[Expected] = []

    def foresee(expected: "Expected") -> None:
        told.append(expected)
        _tell(expected)

    made = anonymize(source, output, tell=foresee, **given)
    _warn(made.warnings(output))
    if write_json(_as_json(made, output, told[0] if told else None), json):
        show_release(made, output, is_explained=explain)


def _tell(expected: "Expected", *, timed: bool = True) -> None:
    tell(f"Expected: {expected.sentence(timed=timed)}.", err=True)


def _run_by_spark(
    source: str,
    output: Path,
    json: Path | None,
    given: dict[str, Any],
    *,
    dry_run: bool,
    explain: bool,
) -> None:
    """Let Spark make the release."""
    if dry_run:
        raise typer.BadParameter("--dry-run: not with --engine spark yet; leave one of them out")
    from recveil.cli.show import write_json
    from recveil.cli.show_released import as_json, show_released
    from recveil.spark import anonymize

    made = anonymize(source, output, tell=partial(_tell, timed=False), **given)
    _warn(made.warnings(output))
    if write_json(as_json(made, output), json):
        show_released(made, output, is_explained=explain)


def _run_dry(source: str, output: Path, json: Path | None, given: dict[str, Any]) -> None:
    """Say what would be done."""
    from recveil.cli.show import describe, show_read, write_json
    from recveil.methods import dry_run
    from recveil.release.manifest import twin_name

    found = dry_run(source, output, **given)
    as_json = {
        **found.to_dict(),
        "output": str(output),
        "private": twin_name(str(output)),
        "data": describe(found.reading.ratings, found.reading),
        "earlier": [
            {"release": str(earlier.folder), "people": earlier.people} for earlier in found.earlier
        ],
    }
    if write_json(as_json, json):
        show_read(found.reading)
        for sentence in found.sentences():
            tell(sentence)
        for earlier in found.earlier:
            tell(f"{earlier.folder} holds some of the same people; the run warns of it.")
        tell(f"Nothing was written: no {output}, and no {twin_name(str(output))}.")


def _warn(warnings: list[str]) -> None:
    """Say what earlier releases of the same people add; of many, the first few."""
    told = list(dict.fromkeys(warnings))
    for warning in told[:_MOST_WARNINGS]:
        tell(f"warning: {warning}", err=True)
    left = len(told) - _MOST_WARNINGS
    if left > 0:
        tell(
            f"warning: {left:,} more earlier releases in the same folder hold some of these "
            f"people; --json lists them.",
            err=True,
        )


def _as_json(made: "Anonymized", output: Path, expected: "Expected | None") -> dict[str, Any]:
    """Return the JSON object; it tells of the private side what the owner is to know."""
    from recveil.cli.show import describe
    from recveil.release.manifest import twin_name

    public, private = made.release.published, made.release.private
    lone, cost = private.lone_ratings, private.diversity_cost
    return {
        "output": str(output),
        "private": twin_name(str(output)),
        "data": describe(made.ratings, made.reading),
        "expected": expected and expected.to_dict(),
        "settings": public.settings,
        "filled_cells": private.settings.get("filled_cells"),
        "lone_ratings": lone and lone._asdict(),
        "diversity_cost": cost and cost._asdict(),
        "verification": made.verification.to_dict(),
        "earlier": [
            {
                "release": str(earlier.folder),
                "people": earlier.people,
                "warning": warning,
            }
            for earlier, warning in zip(made.earlier, made.warnings(output), strict=True)
        ],
    }
