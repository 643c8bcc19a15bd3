"""recveil selftest."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli import options
from recveil.cli.options import Duplicates, Format, Json, Scale, refuse_source_as_json


def selftest(
    source: Annotated[Path, typer.Argument(help=options.SOURCE)],
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same checks.")] = 0,
    format: Format = None,
    scale: Scale = None,
    duplicates: Duplicates = "error",
    drop_off_scale: options.DropOffScale = False,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    rating: options.RatingColumn = None,
    time: options.TimeColumn = None,
    time_format: options.TimeFormat = None,
    json: Json = None,
) -> None:
    """Check on your own data that the attack finds whom it must, and nobody by chance.

    Exits with 0 if all checks hold, 1 if one does not.

    Example: `recveil selftest ratings.csv`
    """
    from recveil.audit import selftest
    from recveil.cli.show import describe, show_read, write_json
    from recveil.io import understand

    refuse_source_as_json(json, source)
    reading = understand(
        source,
        format=format,
        scale=options.parse_scale(scale),
        duplicates=duplicates,
        drop_off_scale=drop_off_scale,
        user=user,
        item=item,
        rating=rating,
        time=time,
        time_format=time_format,
    )
    checks = selftest(reading.ratings, seed=seed)
    holds = all(check.holds for check in checks)
    result = {
        "holds": holds,
        "data": describe(reading.ratings, reading),
        "checks": [check._asdict() for check in checks],
    }
    if write_json(result, json):
        show_read(reading)
        for check in checks:
            typer.echo(f"{'holds' if check.holds else 'FAILS'}  {check.name}: {check.found}")
    raise typer.Exit(0 if holds else 1)
