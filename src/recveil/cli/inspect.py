"""recveil inspect."""

from typing import Annotated, Any

import typer

from recveil.cli import options
from recveil.cli.options import Json, reading_options


@reading_options
def inspect(
    source: options.Source,
    rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=20,
            metavar="N",
            help="How many of the first rows to show, which are private; if not given, 3 on a"
            " terminal and none elsewhere.",
        ),
    ] = None,
    json: Json = None,
    **reading: Any,
) -> None:
    """Look first: what a table is, what it holds, and what in it says who people are.

    Writes nothing but what --json names.

    Example: `recveil inspect ratings.csv`
    """
    from recveil.cli.show import write_json
    from recveil.cli.show_inspection import show_inspection
    from recveil.inspection import inspect

    found = inspect(source, **reading)
    if write_json(found.to_dict(), json):
        show_inspection(found, rows)
