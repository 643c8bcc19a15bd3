"""recveil describe."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli.options import Force, Json, tell


def describe(
    release: Annotated[Path, typer.Argument(help="A release folder; it stays as it is.")],
    output: Annotated[
        Path,
        typer.Argument(
            help="The file to write, beside the folder, such as croissant.json or card.md."
        ),
    ],
    card: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What the publisher says of the release, as TOML: title, publisher, contact,"
            " licence, date and more.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What recveil audit --release --json wrote about this release: is told, too.",
        ),
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What recveil evaluate --release --json wrote about this release: is told, too.",
        ),
    ] = None,
    column_names: Annotated[
        bool,
        typer.Option(
            "--column-names",
            help="With --audit: also tell how the columns of your table are called.",
        ),
    ] = False,
    force: Force = False,
    json: Json = None,
) -> None:
    """Describe a release for data portals, as Croissant, or for people, as a page (.md).

    The release is verified first, and not described if it does not hold.

    Example: `recveil describe out croissant.json --card card.toml`
    """
    from recveil.cli.show import write_json
    from recveil.publish import describe

    found = describe(
        release,
        output,
        card=card,
        audit=audit,
        evaluation=evaluation,
        column_names=column_names,
        force=force,
    )
    if write_json({"output": str(output), "verification": found.to_dict()}, json):
        tell(f"Wrote {output}. Publish it beside {release}, which is as it was.")
