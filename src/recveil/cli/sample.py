"""recveil sample."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json


def sample(
    release: Annotated[Path, typer.Argument(help="A release with --layout model.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for the synthetic users.")
    ],
    n_users: Annotated[int, typer.Option(min=1, metavar="N", help="Number of synthetic users.")],
    file_format: Annotated[
        Literal["parquet", "csv"],
        typer.Option(metavar="NAME", help="Format of the ratings: parquet or csv."),
    ] = "parquet",
    seed: Annotated[int | None, options.seed_of("users")] = None,
    force: Force = False,
    json: Json = None,
) -> None:
    """Sample synthetic users from a published model.

    The ratings are not read, so no privacy budget is spent: the table keeps the model's guarantee.

    Example: `recveil sample model --n-users 10000 -o synthetic`
    """
    from recveil.cli.outputs import write_json
    from recveil.methods import sample
    from recveil.report.verification import show_verification

    verification = sample(
        release, output, n_users=n_users, file_format=file_format, seed=seed, force=force
    )
    if write_json({"output": str(output), "verification": verification.to_dict()}, json):
        show_verification(verification, str(output))
