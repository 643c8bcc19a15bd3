"""recveil selftest."""

from typing import Annotated, Any

import typer

from recveil.cli import options
from recveil.cli.options import Json, reading_options, tell


@reading_options
def selftest(
    source: options.Source,
    seed: Annotated[int, options.seed_of("checks")] = 0,
    json: Json = None,
    **reading: Any,
) -> None:
    """Check on your own data that the attack finds whom it must, and nobody by chance.

    Exits with 0 if all checks hold, 1 if one does not.

    Example: `recveil selftest ratings.csv`
    """
    from recveil.auditing import selftest
    from recveil.cli.show import describe, show_read, write_json
    from recveil.io import understand
    from recveil.runtime.progress import THE_REST, parts

    with parts("Checking the attack", {"Reading ratings": 1, THE_REST: 3}) as begin:
        begin("Reading ratings")
        read = understand(source, **reading)
        begin(THE_REST)
        checks = selftest(read.ratings, seed=seed)
    holds = all(check.holds for check in checks)
    result = {
        "holds": holds,
        "data": describe(read.ratings, read),
        "checks": [check._asdict() for check in checks],
    }
    if write_json(result, json):
        show_read(read)
        for check in checks:
            tell(f"{'holds' if check.holds else 'FAILS'}  {check.name}: {check.found}")
    raise typer.Exit(0 if holds else 1)
