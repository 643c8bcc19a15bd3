"""recveil demo."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json


def demo(
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder for the k-anonymous release; synthetic users go to OUTPUT-synthetic.",
        ),
    ] = Path("recveil-demo"),
    k: Annotated[int, typer.Option(help="Minimum number of users per published row.")] = 5,
    epsilon: Annotated[
        float, typer.Option(help="Privacy budget of the synthetic users; less is safer.")
    ] = 3.0,
    seed: Annotated[int, options.seed_of("demo")] = 0,
    force: Force = False,
    json: Json = None,
) -> None:
    """Re-identify 2,000 generated users by eight ratings; anonymize them in two ways; verify both.

    Example: `recveil demo`
    """
    from recveil.cli.outputs import write_json
    from recveil.demo import demo
    from recveil.report.demo import show_demo

    result = demo(output, k=k, epsilon=epsilon, seed=seed, force=force)
    if write_json(result.to_dict(), json):
        show_demo(result)
