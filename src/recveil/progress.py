"""A progress bar on a terminal, a line a minute elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import Any, TypeVar

T = TypeVar("T")

# Stages of a work differ: what is left is estimated once so large a part of them is done.
_ENOUGH = 0.25

# Seconds between two lines, where there is no terminal; what takes less is done in silence.
_EVERY = 60.0
# Loops stand in loops: only the outermost one says how far it is.
_OUTERMOST = threading.Lock()


def track(
    steps: Iterable[T],
    title: str,
    total: float | None = None,
    weigh: Callable[[T], float] | None = None,
) -> Iterator[T]:
    """Yield each step, drawing a bar on standard error if that is a terminal.

    The bar shows how much is done, how fast, for how long, and the time left if the total is known.
    Where there is no terminal, such as in a job of the night, the outermost loop writes a line a
    minute that says the same.

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
    total = total or length_hint(steps) or None
    if not sys.stderr.isatty():
        with _lines(title, total) as log:
            for step in steps:
                yield step
                log.done += 1 if weigh is None else weigh(step)
        return
    with _bar() as bar:
        task = bar.add_task(title, total=total)
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
        with _lines(title, None):
            yield
        return
    with _bar() as bar:
        bar.add_task(title, total=None)
        yield


@contextmanager
def stages(title: str, total: float | None = None) -> Iterator[Callable[[], None]]:
    """Show how many stages of a work are done that is no loop; call what is yielded after each.

    Examples
    --------
    >>> with stages("Cooking", 2) as done:
    ...     done()
    ...     done()
    """
    if not sys.stderr.isatty():
        with _lines(title, total) as log:
            log.enough = _ENOUGH

            def count() -> None:
                log.done += 1

            yield count
        return
    with _bar() as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


class Log:
    """What a loop has done so far, and the line that says so.

    Parameters
    ----------
    title : str
    total : float or None
        How much there is to do; None if that is not known.
    """

    def __init__(self, title: str, total: float | None) -> None:
        self.title, self.total, self.done = title, total, 0.0
        # What share must be done before the rest is estimated.
        self.enough = 0.0

    def line(self, seconds: float) -> str:
        """Return the line after so many seconds.

        Examples
        --------
        >>> log = Log("Comparing settings", 12)
        >>> log.line(60)
        'Comparing settings: 1 min so far, nothing of 12 done yet'
        >>> log.done = 3
        >>> log.line(600)
        'Comparing settings: 3 of 12 in 10 min, about 30 min left'
        """
        spent = _in_words(seconds)
        if self.total is None:
            much = f"{self.done:,.0f} in " if self.done else ""
            return f"{self.title}: {much}{spent}{'' if much else ' so far'}"
        if not self.done:
            return f"{self.title}: {spent} so far, nothing of {self.total:,.0f} done yet"
        if self.done < self.enough * self.total:
            return f"{self.title}: {self.done:,.0f} of {self.total:,.0f} in {spent}"
        left = seconds * max(self.total - self.done, 0.0) / self.done
        return (
            f"{self.title}: {self.done:,.0f} of {self.total:,.0f} in {spent}, about "
            f"{_in_words(left)} left"
        )


def _in_words(seconds: float) -> str:
    """Write a time as people say it.

    Examples
    --------
    >>> [_in_words(seconds) for seconds in (20, 61, 5_400)]
    ['less than a minute', '1 min', '1 h 30 min']
    """
    minutes = round(seconds / 60)
    if not minutes:
        return "less than a minute"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


@contextmanager
def _lines(title: str, total: float | None) -> Iterator[Log]:
    """Write a line a minute until the work ends; nothing from within another loop's work."""
    log = Log(title, total)
    if not _OUTERMOST.acquire(blocking=False):
        yield log
        return
    ended, start = threading.Event(), time.monotonic()

    def write() -> None:
        while not ended.wait(_EVERY):
            print(log.line(time.monotonic() - start), file=sys.stderr, flush=True)

    # A step may take longer than a minute; so the lines come from beside the loop.
    writer = threading.Thread(target=write, name="recveil-progress", daemon=True)
    writer.start()
    try:
        yield log
    finally:
        ended.set()
        writer.join()
        _OUTERMOST.release()


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
