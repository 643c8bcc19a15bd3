"""recveil describe."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli.options import Force, Json
from recveil.cli.sentences import tell


def describe(
    release: Annotated[Path, typer.Argument(help="A release folder; it stays as it is.")],
    output: Annotated[
        Path,
        typer.Argument(help="What to write, beside the folder: croissant.json or card.md, say."),
    ],
    card: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The publisher's words, as TOML: title, publisher, contact, licence, date and "
            "more.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What recveil audit --release --json found in this release, to be told, too.",
        ),
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What recveil evaluate --release --json said this release is worth, to be told, "
            "too.",
        ),
    ] = None,
    column_names: Annotated[
        bool,
        typer.Option(
            "--column-names",
            help="With --audit: tell what your table calls its columns, too.",
        ),
    ] = False,
    force: Force = False,
    json: Json = None,
) -> None:
    """Describe a release for data portals: in Croissant, or as a page (.md), in a file beside it.

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
