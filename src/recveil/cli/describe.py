"""recveil describe."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli.options import Force, Json
from recveil.report.terminal import echo


def describe(
    release: Annotated[Path, typer.Argument(help="A release folder; it is not changed.")],
    output: Annotated[
        Path,
        typer.Argument(
            help="The file to write, outside the folder, such as croissant.json or card.md."
        ),
    ],
    card: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The publisher's description as TOML: title, contact, licence, date and more.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The JSON of recveil audit --release for this release, to be included.",
        ),
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The JSON of recveil evaluate --release for this release, to be included.",
        ),
    ] = None,
    column_names: Annotated[
        bool,
        typer.Option(
            "--column-names",
            help="With --audit: include the column names of the table.",
        ),
    ] = False,
    force: Force = False,
    json: Json = None,
) -> None:
    """Describe a release as Croissant, for data portals, or as Markdown, for readers.

    The release is verified first; one that does not hold is not described.

    Example: `recveil describe out croissant.json --card card.toml`
    """
    from recveil.cli.outputs import write_json
    from recveil.publish import describe

    verification = describe(
        release,
        output,
        card=card,
        audit=audit,
        evaluation=evaluation,
        column_names=column_names,
        force=force,
    )
    if write_json({"output": str(output), "verification": verification.to_dict()}, json):
        echo(f"Wrote {output}. Publish it next to {release}, which was not changed.")
