"""recveil budget."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Json

if TYPE_CHECKING:
    from recveil.io.options import ReadingOptions


def budget(
    source: Annotated[
        list[str] | None,
        options.table_argument(
            "The table whose users are meant; - reads standard input. Default: all users of the "
            "ledger. Or published folders, whose total follows from release.json."
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The ledger. Default: RECVEIL_LEDGER, or ledger.sqlite3 in the user's folder for "
            "state.",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="The delta of the total. Default: the smallest one of the runs; of releases, "
            "their sum."
        ),
    ] = None,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Show what all runs with an epsilon spent on the users of a table, wherever they were written.

    Counts releases, runs that ended with an error after the first query, and killed runs. Writes
    nothing but the --json file.

    Example: `recveil budget ratings.csv`, or `recveil budget 2026-01 2026-02`
    """
    from recveil.cli.outputs import write_json
    from recveil.publish import budget
    from recveil.report.release import show_budget

    chosen = source[0] if source and len(source) == 1 else source or None
    total = budget(chosen, ledger=ledger, delta=delta, **reading)
    if write_json(total.to_dict(), json):
        show_budget(total)
