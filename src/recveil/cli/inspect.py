"""recveil inspect."""

from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Json

if TYPE_CHECKING:
    from recveil.io.options import ReadingOptions


def inspect(
    source: options.Source,
    rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=20,
            metavar="N",
            help="Number of first rows to show (private). Default: 3 on a terminal, else none.",
        ),
    ] = None,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Summarize a table: its format, its contents, and columns that may identify users.

    Writes nothing but the --json file.

    Example: `recveil inspect ratings.csv`
    """
    from recveil.cli.outputs import write_json
    from recveil.inspection import inspect
    from recveil.report.inspection import show_inspection

    result = inspect(source, **reading)
    if write_json(result.to_dict(), json):
        show_inspection(result, rows)
