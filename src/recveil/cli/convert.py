"""recveil convert."""

from pathlib import Path
from typing import Annotated, Any

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json, one_of, reading_options, target_formats, tell
from recveil.cli.outputs import is_stdout


@reading_options
def convert(
    source: options.Source,
    target: Annotated[Path, typer.Argument(help=options.TARGET)],
    target_format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=one_of(target_formats),
            help=options.TARGET_FORMAT,
        ),
    ] = None,
    times: Annotated[bool, typer.Option(help="Keep the times, to the day.")] = True,
    force: Force = False,
    json: Json = None,
    **reading: Any,
) -> None:
    """Read a file of ratings and write it in another format.

    Nothing is anonymized. Rows come out sorted by user and item, and times are kept to the day. Of
    the folder of a release, the published rows are read, one for each person.

    Example: `recveil convert ratings.dat ratings.parquet`
    """
    from recveil.cli.show import describe, show_read, write_json
    from recveil.publish import convert

    found = convert(
        source,
        target,
        target_format=target_format,
        times=times,
        force=force,
        **reading,
    )
    if write_json({"output": str(target), "data": describe(found.ratings, found)}, json):
        to_stdout = is_stdout(target)
        show_read(found, err=to_stdout)
        tell(f"Wrote {'to standard output' if to_stdout else target}.", err=to_stdout)
