"""recveil config."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli.options import Force, tell
from recveil.cli.outputs import is_stdout

if TYPE_CHECKING:
    from recveil.cli.settings_file import Known


def config(
    output: Annotated[
        Path, typer.Argument(help="The file to be written; - writes to standard output.")
    ] = Path("recveil.toml"),
    force: Force = False,
    **more: Any,
) -> None:
    """Write a file with every option of every verb, commented out, and what each does.

    Take the # away before those that you need. A verb that runs in the file's folder takes from it
    how values are written, such as the decimal mark, and says so. All others count only where
    --config names the file.

    Example: `recveil config`
    """
    from recveil.cli.settings_file import config, settings_text

    known: Known = more["known"]
    if is_stdout(output):
        sys.stdout.write(settings_text(known))
        return
    verbs = config(output, known, force=force)
    tell(
        f"Wrote {output}, with the options of {len(verbs)} verbs, all of them as comments. Verbs "
        f"that run in its folder take from it what is no comment, and say so; options that are "
        f"marked count only where --config names the file."
    )
