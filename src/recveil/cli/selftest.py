"""recveil selftest."""

from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Json
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from recveil.io.options import ReadingOptions


def selftest(
    source: options.Source,
    seed: Annotated[int, options.seed_of("checks")] = 0,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Check on a table that the attack re-identifies every unique user, and no user by chance.

    Exits with 0 if all checks hold, 1 if one does not.

    Example: `recveil selftest ratings.csv`
    """
    from recveil.auditing import selftest
    from recveil.cli.outputs import write_json
    from recveil.io import understand
    from recveil.report import data_to_dict, to_dict
    from recveil.report.audit.text import describe_check, name_check
    from recveil.report.terminal import show_reading
    from recveil.runtime.progress import THE_REST, parts

    with parts("Checking the attacks", {"Reading ratings": 1, THE_REST: 3}) as begin:
        begin("Reading ratings")
        read = understand(source, **reading)
        begin(THE_REST)
        checks = selftest(read.ratings, seed=seed)
    holds = all(check.holds for check in checks)
    data = data_to_dict(read.ratings, read)
    results = [to_dict(check) for check in checks]
    if write_json({"holds": holds, "data": data, "checks": results}, json):
        show_reading(read)
        for check in checks:
            verdict = "holds" if check.holds else "FAILS"
            echo(f"{verdict}  {name_check(check)}: {describe_check(check)}")
    raise typer.Exit(0 if holds else 1)
