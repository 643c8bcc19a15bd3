"""recveil workbench."""

from pathlib import Path
from typing import Annotated

import typer


def workbench(
    folder: Annotated[
        Path,
        typer.Argument(help="The project folder; created if it does not exist."),
    ] = Path("recveil-workbench"),
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            metavar="N",
            help="Local port; 0 takes any free one.",
        ),
    ] = 0,
    open_browser: Annotated[
        bool, typer.Option(help="Open the page in a browser; its address is printed, too.")
    ] = True,
) -> None:
    """Open a local web page for auditing and anonymizing a table step by step.

    No data leaves the machine. Needs the extra: pip install 'recveil[workbench]'.

    Example: `recveil workbench shop-project`
    """
    from recveil.workbench import workbench

    workbench(folder, port=port, open_browser=open_browser)
