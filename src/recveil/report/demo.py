"""The demo as plain data and as a table on the terminal."""

from rich.console import Console
from rich.table import Table

from recveil.demo import KNOWN, Demo, release_synthetic
from recveil.release.claim import of_large_epsilon
from recveil.report import data_to_dict
from recveil.report.document import parts_of
from recveil.report.terminal import escape
from recveil.runtime.number_format import percent


@parts_of.register
def _(result: Demo) -> dict[str, object]:
    return {
        "output": str(result.output),
        "data": data_to_dict(result.ratings),
        "known_ratings": KNOWN,
        "unique_before": result.matches.unique_share,
        "distinct_rows_before": result.row_sizes.size,
        "targets": result.ratings.n_users,
        "targets_skipped": result.matches.skipped,
        "verification": result.verification.to_dict(),
        "membership": {"auc": result.membership.auc._asdict()},
        "synthetic": {
            "output": str(release_synthetic(result.output)),
            "verification": result.synthetic.to_dict(),
            "auc_bound": result.auc_bound,
            "accuracy_of_two_bound": result.accuracy_of_two_bound,
        },
    }


def facts(result: Demo) -> dict[str, object]:
    """Return the facts that represent the demo in a line."""
    return result.verification._facts()


def show_demo(result: Demo) -> None:
    """Print the raw table and both releases next to each other."""
    ratings, shared, synthetic = result.ratings, result.verification, result.synthetic
    sizes, k = result.row_sizes, shared.k_achieved
    table = Table(
        *("", "names removed", f"shared by k = {k}", "synthetic users"),
        title="recveil demo: generated users",
    )
    for row in (
        ("users", f"{ratings.n_users:,}", f"{shared.users:,}", f"{synthetic.users:,}"),
        ("distinct rows", f"{sizes.size:,}", f"{shared.classes:,}", "-"),
        ("smallest class", f"{sizes.min():,}", f"{k:,}", "-"),
        (
            f"unique by {KNOWN} ratings",
            percent(result.matches.unique_share),
            "none",
            "-",
        ),
        ("re-identified", "up to 100%", f"at most 1 in {k:,}", "no user's row"),
        (
            "member inferred",
            "certain",
            f"{100 * result.membership.auc.rate:.0f} in 100 or more",
            f"at most {100 * result.accuracy_of_two_bound:.0f} in 100",
        ),
    ):
        table.add_row(*row)
    console = Console(highlight=False)
    console.print(table)
    if result.matches.skipped:
        console.print(
            f"{result.matches.skipped:,} users have fewer than {KNOWN} ratings; they count as not "
            f"unique."
        )
    console.print(
        f"Member inferred: of two users, one in the data and one not, how often the adversary "
        f"picks the right one; a random guess does 50 times. For the k-anonymous rows, by the "
        f"attacks of `recveil audit` with all ratings of a user, which others may exceed; for "
        f"synthetic users (epsilon {synthetic.epsilon:g}), by any adversary. "
        f"{of_large_epsilon(synthetic.epsilon or 0.0)}"
    )
    console.print(
        f"Two releases of the same users, of which you would publish one: [bold]"
        f"{escape(str(result.output))}[/] and "
        f"[bold]{escape(str(release_synthetic(result.output)))}[/]; `recveil verify` checks each "
        f"again. Folders that end in .private map rows to users: keep them secret."
    )
