"""A progress bar on a terminal, silence elsewhere."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import Any, TypeVar

T = TypeVar("T")


def track(
    steps: Iterable[T],
    title: str,
    total: float | None = None,
    weigh: Callable[[T], float] | None = None,
) -> Iterator[T]:
    """Yield each step, drawing a bar on standard error if that is a terminal.

    The bar shows how much is done, how fast, for how long, and the time left if the total is known.

    Parameters
    ----------
    steps : iterable
        What to loop over.
    title : str
        What the loop does, in a few words.
    total : float, optional
        Sum of what the steps count, where `steps` does not know its length.
    weigh : callable, optional
        Says how much a step counts; 1 if not given.

    Examples
    --------
    >>> sum(track([1, 2, 3], "Adding"))
    6
    """
    if not sys.stderr.isatty():
        yield from steps
        return
    with _bar() as bar:
        task = bar.add_task(title, total=total or length_hint(steps) or None)
        for step in steps:
            yield step
            bar.advance(task, 1 if weigh is None else weigh(step))


@contextmanager
def busy(title: str) -> Iterator[None]:
    """Show that something goes on which cannot say how far it is.

    Examples
    --------
    >>> with busy("Adding"):
    ...     1 + 2
    3
    """
    if not sys.stderr.isatty():
        yield
        return
    with _bar() as bar:
        bar.add_task(title, total=None)
        yield


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Done(ProgressColumn):
        """How much of how much, and how much a second."""

        def render(self, task: Task) -> Text:
            if not task.completed:
                return Text("")
            of = "" if task.total is None else f" of {task.total:,.0f}"
            rate = (
                ""
                if not task.speed
                else f", {task.speed:,.{0 if task.speed >= 10 else 1}f} a second"
            )
            return Text(f"{task.completed:,.0f}{of}{rate}")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        Done(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
