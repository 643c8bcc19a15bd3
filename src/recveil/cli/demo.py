"""recveil demo."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json

if TYPE_CHECKING:
    from recveil.demo import Demo


def demo(
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder for the k-anonymous release; the synthetic users go to OUTPUT-drawn.",
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
    from recveil.demo import KNOWN, demo, release_synthetic
    from recveil.report import data_to_dict

    shown = demo(output, k=k, epsilon=epsilon, seed=seed, force=force)
    result = {
        "output": str(output),
        "data": data_to_dict(shown.ratings),
        "known_ratings": KNOWN,
        "unique_before": shown.before.unique_share,
        "different_rows_before": shown.row_sizes.size,
        "targets": shown.ratings.n_users,
        "targets_skipped": shown.before.skipped,
        "verification": shown.verification.to_dict(),
        "membership": {"auc": shown.members.auc._asdict()},
        "drawn": {
            "output": str(release_synthetic(output)),
            "verification": shown.drawn.to_dict(),
            "most_auc": shown.most_auc,
            "most_accuracy_of_two": shown.most_accuracy_of_two,
        },
    }
    if write_json(result, json):
        _show(shown, output)


def _show(shown: "Demo", output: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from recveil.demo import KNOWN, release_synthetic
    from recveil.release.claim import of_large_epsilon

    ratings, verification, synthetic = shown.ratings, shown.verification, shown.drawn
    rows, fewest = shown.row_sizes, verification.k_achieved
    table = Table(
        "",
        "names removed",
        f"shared by k = {fewest}",
        "synthetic users",
        title="recveil demo: generated users",
    )
    for row in (
        ("users", f"{ratings.n_users:,}", f"{verification.users:,}", f"{synthetic.users:,}"),
        ("distinct rows", f"{rows.size:,}", f"{verification.classes:,}", "-"),
        ("smallest class", f"{rows.min():,}", f"{fewest:,}", "-"),
        (f"unique by {KNOWN} ratings", f"{shown.before.unique_share:.1%}", "none", "-"),
        ("re-identified", "up to 100 %", f"at most 1 in {fewest:,}", "no user's row"),
        (
            "member inferred",
            "rows are theirs",
            f"{100 * shown.members.auc.rate:.0f} in 100",
            f"at most {100 * shown.most_accuracy_of_two:.0f} in 100",
        ),
    ):
        table.add_row(*row)
    console = Console()
    console.print(table)
    if shown.before.skipped:
        console.print(
            f"{shown.before.skipped:,} users have fewer than {KNOWN} ratings; they count as not "
            f"unique."
        )
    console.print(
        f"Member inferred: of two users, one in the data and one not, how often the adversary "
        f"picks the right one; a random guess does 50 times. For the k-anonymous rows, by one "
        f"attack that knows {KNOWN} ratings; for synthetic users (epsilon "
        f"{synthetic.epsilon:g}), by any adversary. {of_large_epsilon(synthetic.epsilon or 0.0)}"
    )
    console.print(
        "These rows use the papers' method. `--method sparse` makes the same claim, publishes no "
        "rating, and retains more utility for lists on MovieLens 100K; see "
        "docs/explanation/results.md."
    )
    console.print(
        f"Two releases of the same users, of which you would publish one: [bold]"
        f"{escape(str(output))}[/] and [bold]{escape(str(release_synthetic(output)))}[/]; `recveil "
        f"verify` checks each again. Folders that end in .private map rows to users: keep them "
        f"secret."
    )
