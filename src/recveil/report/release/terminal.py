"""The result of `recveil anonymize`, printed for the publisher."""

from rich.console import Console
from rich.table import Table

from recveil.methods import Anonymized, DryRun, Released
from recveil.publish.privacy_ledger import PrivacyTotal
from recveil.publish.size_estimate import Expected
from recveil.report import data_to_dict
from recveil.report.glossary import explain
from recveil.report.release.document import estimate_to_dict, folders_to_dict
from recveil.report.release.text import describe_run
from recveil.report.terminal import echo, show_reading
from recveil.report.verification import show_verification, terms_of
from recveil.runtime.errors import describe_count, printable


def show_release(made: Anonymized, *, is_explained: bool = False) -> None:
    """Print the input, the verdict, the figures of the release, and what to publish."""
    show_reading(made.reading)
    _show_made(made, is_explained=is_explained)


def release_to_dict(made: Anonymized, expected: Expected | None) -> dict[str, object]:
    """Return a release as plain data, for JSON."""
    data = data_to_dict(made.ratings, made.reading)
    return {**made.to_dict(), "data": data, "expected": estimate_to_dict(expected)}


def show_dry_run(dry: DryRun) -> None:
    """Print the input and the estimate."""
    show_reading(dry.reading)
    for sentence in (*dry.sentences(), *dry.warnings()):
        echo(sentence)
    folders = folders_to_dict(dry.output)
    echo(f"Nothing was written: no {folders['output']}, and no {folders['private']}.")


def dry_run_to_dict(dry: DryRun) -> dict[str, object]:
    """Return an estimate as plain data, for JSON."""
    return {**dry.to_dict(), "data": data_to_dict(dry.reading.ratings, dry.reading)}


def show_released(made: Released, *, is_explained: bool = False) -> None:
    """Print a release by Spark like one that was made locally."""
    likes = made.scale.unary
    scale = "; no ratings: read as likes" if likes else f"; scale {made.scale}"
    echo(
        f"Read {describe_count(made.n_ratings, 'like' if likes else 'rating')} of "
        f"{describe_count(made.n_items, 'item')} by {describe_count(made.n_users, 'user')}{scale}; "
        f"by Spark."
    )
    for note in made.notes:
        echo(printable(note))
    _show_made(made, is_explained=is_explained)


def show_budget(total: PrivacyTotal) -> None:
    """Print the runs of the ledger, and what they spent together."""
    rows = [describe_run(run) for run in total.runs]
    if rows:
        table = Table(*rows[0], show_edge=False, pad_edge=False)
        for row in rows:
            table.add_row(*map(printable, row.values()))
        Console(highlight=False).print(table)
    for sentence in (*total.sentences(), *total.warnings()):
        echo(sentence)


def _show_made(made: Anonymized | Released, *, is_explained: bool) -> None:
    show_verification(made.verification, str(made.output))
    for sentence in made.sentences():
        echo(sentence)
    if is_explained:
        explain(terms_of(made.verification))
