"""recveil config."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recveil.cli.options import Force
from recveil.cli.outputs import is_stdout
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recveil.cli.settings_file import KnownOption


def config(
    output: Annotated[
        Path, typer.Argument(help="The file to write; - writes to standard output.")
    ] = Path("recveil.toml"),
    force: Force = False,
    **known: "Iterable[KnownOption]",
) -> None:
    """Write a settings file with every option of every verb, commented out.

    Remove the # from those that you need. Verbs that run in the file's folder read how values are
    written from it, such as the decimal mark, and report so. All other options count only if
    --config names the file.

    Example: `recveil config`
    """
    from recveil.cli.settings_file import config, settings_text

    if is_stdout(output):
        sys.stdout.write(settings_text(known))
        return
    verbs = config(output, known, force=force)
    echo(
        f"Wrote {output} with the options of {len(verbs)} verbs, all commented out. Verbs that run "
        f"in its folder use those that are not commented out, and report so. Marked options count "
        f"only if --config names the file."
    )
