"""recveil workbench."""

from pathlib import Path
from typing import Annotated

import typer


def workbench(
    folder: Annotated[
        Path,
        typer.Argument(help="The folder of the project: made if it does not exist, and kept."),
    ] = Path("recveil-workbench"),
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            metavar="N",
            help="The port to listen on, on this machine alone; 0 takes any that is free.",
        ),
    ] = 0,
    open_browser: Annotated[
        bool, typer.Option(help="Open the page in a browser; its address is printed anyway.")
    ] = True,
) -> None:
    """Open a page on this machine, in which a table becomes a release that its owner understands.

    Nothing leaves the machine. Needs the extra: pip install 'recveil[workbench]'.

    Example: `recveil workbench shop-project`
    """
    from recveil.workbench import workbench

    workbench(folder, port=port, open_browser=open_browser)
