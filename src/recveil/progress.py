"""A progress bar on a terminal, silence elsewhere."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def track(steps: Iterable[T], title: str, total: float | None = None) -> Iterator[T]:
    """Yield each step, drawing a bar on standard error if that is a terminal.

    Parameters
    ----------
    steps : iterable
        What to loop over.
    title : str
        What the loop does, in a few words.
    total : float, optional
        Number of steps, where `steps` does not know its length.

    Examples
    --------
    >>> sum(track([1, 2, 3], "Adding"))
    6
    """
    if not sys.stderr.isatty():
        yield from steps
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(steps, total=total, description=title)
