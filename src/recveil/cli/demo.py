"""recveil demo."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the release goes.")] = Path(
        "recveil-demo"
    ),
    k: Annotated[int, typer.Option(help="Smallest group of people who share one row.")] = 5,
    seed: Annotated[int, options.seed_of("demo")] = 0,
    force: Force = False,
    json: Json = None,
) -> None:
    """Invent 2,000 people, find them by eight ratings, hide them, and verify that.

    Example: `recveil demo`
    """
    from recveil.cli.show import describe, write_json
    from recveil.demo import KNOWN, demo

    ratings, before, row_sizes, verification = demo(output, k=k, seed=seed, force=force)
    unique = before.unique_share
    result = {
        "output": str(output),
        "data": describe(ratings),
        "known_ratings": KNOWN,
        "unique_before": unique,
        "different_rows_before": row_sizes.size,
        "targets": ratings.n_users,
        "targets_skipped": before.skipped,
        "verification": verification.to_dict(),
    }
    if not write_json(result, json):
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("", "names removed", "release", title="recveil demo: invented people")
    fewest = verification.k_achieved
    table.add_row("people", f"{ratings.n_users:,}", f"{verification.users:,}")
    table.add_row("different rows", f"{row_sizes.size:,}", f"{verification.classes:,}")
    table.add_row("fewest people on a row", f"{row_sizes.min():,}", f"{fewest:,}")
    table.add_row(f"unique by {KNOWN} known ratings", f"{unique:.1%}", "nobody")
    table.add_row("chance to find a person", "up to 1 in 1", f"at most 1 in {fewest:,}")
    console = Console()
    console.print(table)
    if before.skipped:
        console.print(
            f"{before.skipped:,} people have fewer than {KNOWN} ratings; they count as not unique."
        )
    console.print(
        f"The release is in [bold]{escape(str(output))}[/]; `recveil verify` checks it again. "
        f"{escape(str(output))}.private tells who is who: in earnest, keep it secret."
    )
