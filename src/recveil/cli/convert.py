"""recveil convert."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli import options
from recveil.cli.options import Duplicates, Force, Format, Json, Scale, refuse_source_as_json


def convert(
    source: Annotated[Path, typer.Argument(help="A file of ratings, gzipped or not.")],
    target: Annotated[Path, typer.Argument(help="What to write: .parquet, .csv or .inter.")],
    format: Format = None,
    target_format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="parquet, csv or inter; by the ending if not given."),
    ] = None,
    scale: Scale = None,
    duplicates: Duplicates = "error",
    drop_off_scale: options.DropOffScale = False,
    times: Annotated[bool, typer.Option(help="Keep the times, to the day.")] = True,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    rating: options.RatingColumn = None,
    time: options.TimeColumn = None,
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
    )
    if write_json({"output": str(target), "data": describe(found.ratings, found)}, json):
        show_read(found)
        typer.echo(f"Wrote {target}.")
