"""recveil sample."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json


def sample(
    release: Annotated[
        Path, typer.Argument(help="A release that was written with --layout model.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for the drawn people.")
    ],
    people: Annotated[int, typer.Option(min=1, metavar="N", help="How many people to draw.")],
    file_format: Annotated[
        Literal["parquet", "csv"],
        typer.Option(metavar="NAME", help="Format of the ratings: parquet or csv."),
    ] = "parquet",
    seed: Annotated[int | None, options.seed_of("people")] = None,
    force: Force = False,
    json: Json = None,
) -> None:
    """Draw people from a published model: an ordinary table, with the promise of the model.

    It asks nothing of anybody's ratings, so that it can be done as often as you like.

    Example: `recveil sample model --people 10000 -o drawn`
    """
    from recveil.cli.show import show_verification, write_json
    from recveil.methods import sample

    found = sample(release, output, people=people, file_format=file_format, seed=seed, force=force)
    if write_json({"output": str(output), "verification": found.to_dict()}, json):
        show_verification(found, str(output))
