"""recveil generate."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json, one_of, target_formats
from recveil.cli.outputs import is_stdout
from recveil.report.terminal import echo
from recveil.runtime.errors import describe_count


def generate(
    output: Annotated[Path, typer.Argument(help=options.TARGET)],
    users: Annotated[int, typer.Option(help="Number of users.")] = 2_000,
    items: Annotated[int, typer.Option(help="Number of items.")] = 1_000,
    ratings: Annotated[int, typer.Option(help="Number of ratings.")] = 100_000,
    seed: Annotated[int, options.seed_of("ratings")] = 0,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH:STEP",
            help="Rating scale: lowest, highest and step. Default: 1:5:1.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=one_of(target_formats),
            help=options.TARGET_FORMAT,
        ),
    ] = None,
    force: Force = False,
    json: Json = None,
) -> None:
    """Generate a random table of ratings for experiments.

    Example: `recveil generate ratings.parquet --users 6000 --items 4000 --ratings 1000000`
    """
    from recveil.cli.outputs import write_json
    from recveil.datasets import generate
    from recveil.report import data_to_dict

    made = generate(
        output,
        users=users,
        items=items,
        ratings=ratings,
        seed=seed,
        scale=options.parse_scale(scale),
        format=format,
        force=force,
    )
    to_stdout = is_stdout(output)
    if write_json({"output": str(output), "data": data_to_dict(made)}, json):
        echo(
            f"Wrote {describe_count(made.n_ratings, 'generated rating')} of "
            f"{describe_count(made.n_items, 'item')} by {describe_count(made.n_users, 'user')} to "
            f"{'standard output' if to_stdout else output}.",
            err=to_stdout,
        )
