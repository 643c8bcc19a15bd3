"""recveil forget."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from recveil.cli.options import Force, Json

if TYPE_CHECKING:
    from recveil.io.options import OtherReadingOptions


def forget(
    release: Annotated[
        Path, typer.Argument(help="The newest release of a series, or a single one.")
    ],
    user: Annotated[str, typer.Option(metavar="ID", help="The user's id, as in the table.")],
    private: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Its private folder. Default: RELEASE.private; of a sample, its model's.",
        ),
    ] = None,
    ratings: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The table of today, which is not changed: counts the user's ratings that are in "
            "their rows.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="With --ratings: where to write the table without the user's rows, with "
            "only the columns read, and dates without times.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The log, to which a line of JSON is appended. Default: erasures.jsonl in the "
            "private folder.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|none",
            help="The privacy ledger of releases with an epsilon. Default: RECVEIL_LEDGER, or "
            "ledger.sqlite3 in the user's folder for state.",
        ),
    ] = None,
    force: Force = False,
    json: Json = None,
    **reading: "Unpack[OtherReadingOptions]",
) -> None:
    """Report what a release and those that it follows have of a user, for a request of erasure.

    No release is changed. Options of input are those of the table. Exits with 1 if the release has
    to be replaced.

    Example: `recveil forget out --user 4711 --ratings ratings.csv -o cleaned.csv`
    """
    from recveil.cli.outputs import write_json
    from recveil.methods import forget
    from recveil.report.erasure import show_erasure

    result = forget(
        release,
        user=user,
        private=private,
        ratings=ratings,
        output=output,
        log=log,
        ledger=ledger,
        force=force,
        **reading,
    )
    if write_json(result.to_dict(), json):
        show_erasure(result)
    raise typer.Exit(int(result.decision == "replace"))
