"""recveil demo."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli.options import Force, Json


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the release goes.")] = Path(
        "recveil-demo"
    ),
    k: Annotated[int, typer.Option(help="Smallest group of people who share one row.")] = 5,
    seed: Annotated[int, typer.Option(help="The same seed gives the same demo.")] = 0,
    force: Force = False,
    json: Json = None,
) -> None:
    """Invent 2,000 people, find them by eight ratings, hide them, and verify that.

    Example: `recveil demo`
    """
    from recveil.cli.show import describe, write_json
    from recveil.demo import KNOWN, demo

    ratings, before, verification = demo(output, k=k, seed=seed, force=force)
    unique = before.unique_share
    result = {
        "output": str(output),
        "data": describe(ratings),
        "known_ratings": KNOWN,
        "unique_before": unique,
        "targets": ratings.n_users,
        "targets_skipped": before.skipped,
        "verification": verification.to_dict(),
    }
    if not write_json(result, json):
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "", "raw ratings, names removed", "release", title="recveil demo: invented people"
    )
    k_achieved = verification.k_achieved
    table.add_row("people", f"{ratings.n_users:,}", f"{verification.users:,}")
    table.add_row("different rows of labels", f"{ratings.n_users:,}", f"{verification.classes:,}")
    table.add_row(f"unique by {KNOWN} known ratings", f"{unique:.1%}", "nobody: proven")
    table.add_row("smallest group of identical rows", "1", f"{k_achieved:,}")
    table.add_row("most that finding a group gives", "the person", f"1 in {k_achieved:,}")
    console = Console()
    console.print(table)
    if before.skipped:
        console.print(
            f"{before.skipped:,} people have fewer than {KNOWN} ratings; they count as not unique."
        )
    console.print(
        f"The release is in [bold]{output}[/]; `recveil verify {output}` checks it again. "
        f"{output}.private tells who is who: in earnest, keep it secret."
    )
