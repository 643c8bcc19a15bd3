"""recveil anonymize."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from recveil.methods import Anonymized
    from recveil.methods.request import AnonymizeOptions, ReleaseOptions
    from recveil.publish.size_estimate import Expected

_MOST_WARNINGS = 3


def anonymize(
    source: options.Source,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder to publish. OUTPUT.private, next to it, is private.",
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            help="The claim: at least this many users share each row (with --method k-corating, "
            "its items). --privacy-levels sets k per user; --epsilon is another guarantee."
        ),
    ] = None,
    layout: Annotated[
        Literal["auto", "users", "groups", "model"],
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="users: one row per user; groups: one row per group, with its size; model: the "
            "model of synthetic users; auto: groups for padded rows and nominal labels, else "
            "users.",
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
            help="Random seed: the same seed gives the same release. Default: a new random one.",
        ),
    ] = None,
    hide_items: Annotated[
        bool,
        typer.Option(
            "--hide-items",
            rich_help_panel="Output",
            help="Replace item ids by pseudonyms; audit --release measures how many can be "
            "re-identified.",
        ),
    ] = False,
    force: Force = False,
    allow_large: options.AllowLarge = False,
    earlier_release: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel="Output",
            help="An earlier release in another folder: warns if it has some of the same users.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only estimate the groups, the size and the time; write nothing.",
        ),
    ] = False,
    engine: options.Engine = "local",
    master: options.Master = None,
    explain: options.Explain = False,
    json: Json = None,
    **more: "Unpack[ReleaseOptions]",
) -> None:
    """Make a k-anonymous or differentially private release, and verify its files.

    Writes OUTPUT, to publish, and OUTPUT.private, to keep secret.

    Example: `recveil anonymize ratings.csv -o out --k 5 --method sparse`,

    or `recveil anonymize ratings.csv -o out --epsilon 3 --scale 1:5:1`
    """
    options.reject_idle_master(engine, master)
    if dry_run and (explain or engine == "spark"):
        other = "--explain" if explain else "--engine spark"
        raise typer.BadParameter(f"--dry-run: not with {other}; drop one of the two")
    keywords: AnonymizeOptions = {
        "k": k,
        "layout": layout,
        "file_format": file_format,
        "seed": seed,
        "hide_items": hide_items,
        "force": force,
        "allow_large": allow_large,
        "earlier_release": earlier_release,
        **more,  # type: ignore[typeddict-item]
    }
    if engine == "spark":
        _run_by_spark(source, output, json, master, keywords, explain=explain)
        return
    if dry_run:
        _run_dry(source, output, json, keywords)
        return
    from recveil.cli.outputs import write_json
    from recveil.methods import anonymize
    from recveil.methods.registry import describe_to_publisher
    from recveil.report.release import show_release
    from recveil.report.terminal import show_reading

    estimates: list[Expected] = []

    def report(expected: "Expected") -> None:
        estimates.append(expected)
        _report(expected)

    made = anonymize(source, output, on_estimate=report, **keywords)
    warnings = made.warnings(output)
    _warn(warnings)
    if warning := made.item_warning():
        echo(f"warning: {warning}", err=True)
    if write_json(_to_dict(made, output, warnings, estimates[0] if estimates else None), json):
        show_reading(made.reading)
        show_release(
            made.release,
            made.verification,
            output,
            statements=describe_to_publisher(made.release, made.ratings),
            earlier=made.earlier,
            is_explained=explain,
        )


def _report(expected: "Expected", *, timed: bool = True) -> None:
    echo(f"Expected: {expected.sentence(timed=timed)}.", err=True)


def _run_by_spark(
    source: str,
    output: Path,
    json: Path | None,
    master: str | None,
    keywords: "AnonymizeOptions",
    *,
    explain: bool,
) -> None:
    from recveil.cli.outputs import write_json
    from recveil.report.release import release_to_dict, show_release
    from recveil.runtime.errors import describe_count, printable
    from recveil.spark import anonymize

    estimate = partial(_report, timed=False)
    made = anonymize(source, output, on_estimate=estimate, master=master, **keywords)
    warnings = made.warnings(output)
    _warn(warnings)
    data = {
        "users": made.n_users,
        "items": made.n_items,
        "ratings": made.n_ratings,
        "density": made.n_ratings / (made.n_users * made.n_items),
        "scale": str(made.scale),
        "notes": list(made.notes),
    }
    document = release_to_dict(
        made.release,
        made.verification,
        output,
        data=data,
        earlier=made.earlier,
        warnings=warnings,
    )
    if not write_json({"engine": "spark", **document}, json):
        return
    likes = made.scale.unary
    echo(
        f"Read {describe_count(made.n_ratings, 'like' if likes else 'rating')} of "
        f"{describe_count(made.n_items, 'item')} by {describe_count(made.n_users, 'user')}; "
        f"{'no ratings: read as likes' if likes else f'scale {made.scale}'}; by Spark."
    )
    for note in made.notes:
        echo(printable(note))
    show_release(
        made.release,
        made.verification,
        output,
        statements=made.statements,
        earlier=made.earlier,
        is_explained=explain,
    )


def _run_dry(source: str, output: Path, json: Path | None, keywords: "AnonymizeOptions") -> None:
    from recveil.cli.outputs import write_json
    from recveil.methods import dry_run
    from recveil.release.manifest import twin_name
    from recveil.report import data_to_dict
    from recveil.report.terminal import show_reading

    estimate = dry_run(source, output, **keywords)
    document = {
        **estimate.to_dict(),
        "output": str(output),
        "private": twin_name(str(output)),
        "data": data_to_dict(estimate.reading.ratings, estimate.reading),
        "earlier": [
            {"release": str(earlier.folder), "people": earlier.people}
            for earlier in estimate.earlier
        ],
    }
    if write_json(document, json):
        show_reading(estimate.reading)
        for sentence in estimate.sentences():
            echo(sentence)
        for earlier in estimate.earlier:
            echo(f"{earlier.folder} has some of the same users; the run warns about it.")
        echo(f"Nothing was written: no {output}, and no {twin_name(str(output))}.")


def _warn(warnings: list[str]) -> None:
    """Warn about earlier releases of the same users; of many, the first few."""
    distinct = list(dict.fromkeys(warnings))
    for warning in distinct[:_MOST_WARNINGS]:
        echo(f"warning: {warning}", err=True)
    left = len(distinct) - _MOST_WARNINGS
    if left > 0:
        echo(
            f"warning: {left:,} more earlier releases in the same folder have some of these "
            f"users; --json lists them.",
            err=True,
        )


def _to_dict(
    made: "Anonymized", output: Path, warnings: list[str], expected: "Expected | None"
) -> dict[str, Any]:
    """Return the result for JSON, with the private figures that the publisher needs."""
    from recveil.report import data_to_dict
    from recveil.report.release import release_to_dict

    private = made.release.private
    lone, cost = private.lone_ratings, private.diversity_cost
    document = release_to_dict(
        made.release,
        made.verification,
        output,
        data=data_to_dict(made.ratings, made.reading),
        earlier=made.earlier,
        warnings=warnings,
    )
    return {
        **document,
        "expected": expected and expected.to_dict(),
        "filled_cells": private.settings.get("filled_cells"),
        "lone_ratings": lone and lone._asdict(),
        "diversity_cost": cost and cost._asdict(),
    }
