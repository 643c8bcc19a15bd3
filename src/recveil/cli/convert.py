"""recveil convert."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli import options
from recveil.cli.options import Duplicates, Force, Format, Json, Scale, refuse_source_as_json


def convert(
    source: Annotated[Path, typer.Argument(help=options.SOURCE)],
    target: Annotated[Path, typer.Argument(help=options.TARGET)],
    format: Format = None,
    target_format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=options.TARGET_FORMAT),
    ] = None,
    scale: Scale = None,
    duplicates: Duplicates = "error",
    drop_off_scale: options.DropOffScale = False,
    times: Annotated[bool, typer.Option(help="Keep the times, to the day.")] = True,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    rating: options.RatingColumn = None,
    time: options.TimeColumn = None,
    time_format: options.TimeFormat = None,
    force: Force = False,
    json: Json = None,
) -> None:
    """Read a file of ratings and write it in another format.

    Nothing is anonymized. Rows come out sorted by user and item, and times are kept to the day.

    Example: `recveil convert ratings.dat ratings.parquet`
    """
    from recveil.cli.show import describe, show_read, write_json
    from recveil.io import convert

    refuse_source_as_json(json, source)
    options.refuse_two_standard_outputs(target=target, json=json)
    found = convert(
        source,
        target,
        format=format,
        target_format=target_format,
        force=force,
        scale=options.parse_scale(scale),
        duplicates=duplicates,
        drop_off_scale=drop_off_scale,
        times=times,
        user=user,
        item=item,
        rating=rating,
        time=time,
        time_format=time_format,
    )
    if write_json({"output": str(target), "data": describe(found.ratings, found)}, json):
        to_stdout = options.is_stdout(target)
        show_read(found, err=to_stdout)
        typer.echo(f"Wrote {'to standard output' if to_stdout else target}.", err=to_stdout)
