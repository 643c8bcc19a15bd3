"""recveil report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from recveil.cli.options import Force, Json
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from recveil.io.options import ReadingOptions


def report(
    release: Annotated[
        Path,
        typer.Argument(
            help="A release folder; it is not changed. Its private folder is read. Or the JSON of "
            "recveil audit-lists, alone."
        ),
    ],
    output: Annotated[Path, typer.Argument(help="The HTML page to write, outside the folder.")],
    ratings: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The table behind the release, to audit it with."),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="In place of --ratings: the JSON of recveil audit --release for this release.",
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --ratings, of a release with attributes: the file of users that it was "
            "made with.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="TEXT", help="The signer. Default: a line to fill in.")
    ] = "",
    role: Annotated[str, typer.Option(metavar="TEXT", help="The role of the signer.")] = "",
    date: Annotated[str, typer.Option(metavar="TEXT", help="The date of the signature.")] = "",
    force: Force = False,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Report on a release for a data protection impact assessment, on at most four printed pages.

    It has the promise, singling out, linkability and inference with their evidence, what remains,
    who may be affected, digests, and lines to sign. It is private. Print it to PDF.

    Example: `recveil report out report.html --ratings ratings.csv --name "A. Lovelace"`
    """
    from recveil.cli.outputs import write_json
    from recveil.report.assessment import report
    from recveil.report.document import plain

    result = report(
        release,
        output,
        ratings=ratings,
        audit=audit,
        users=users,
        name=name,
        role=role,
        date=date,
        force=force,
        **reading,
    )
    if write_json(plain(result), json):
        echo(f"{result.headline}.")
        echo(f"Wrote {output}, which is private; print it to PDF.")
