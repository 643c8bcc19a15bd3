"""Spans: which stretch of the whole a loop or a part is, wherever in the program it stands.

A work that nobody is in is the whole: it is shown. A work within another one reports to that: it
gets what its step or part is of the whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from operator import length_hint
from typing import TypeVar

from recveil.progress.showing import shown
from recveil.progress.whole import Count, Whole

T = TypeVar("T")

# A part without a name: its own parts are named in its stead.
THE_REST = ""


_ALL = 1.0


class _Span:
    """A stretch of the whole: from `at`, which moves on, to `high`."""

    def __init__(self, whole: Whole, at: float, high: float, path: tuple[str, ...]) -> None:
        self.whole, self.at, self.high, self.path = whole, at, high, path
        self.is_whole = False

    def tell(self, until: float, count: Count) -> None:
        """Report how far a loop is, whose step ends at `until`."""
        if self.is_whole:
            self.whole.own_count = count
        self.whole.reach(self.at, until, self.path, count)


# A thread that a work starts is in no work, unless it takes over this context.
_HERE: ContextVar[_Span | None] = ContextVar("recveil-progress", default=None)


def track(
    steps: Iterable[T],
    title: str,
    total: float | None = None,
    weigh: Callable[[T], float] | None = None,
    share: float = 0.0,
) -> Iterator[T]:
    """Yield each step, and tell how much of them is done.

    The outermost loop or work draws a bar on standard error, if that is a terminal: how much is
    done, how fast, for how long, and the time left. Elsewhere, such as in a job of the night, it
    writes a line a minute that says the same. See `listening` for pages and other processes.

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
    share : float
        Within another work: how much of what is left there the loop takes, from 0 to 1. If 0, it
        only shows how fast it goes, as small loops do of which a part may have many.

    Examples
    --------
    >>> sum(track([1, 2, 3], "Adding"))
    6
    """
    total = total or length_hint(steps) or None
    with _span(title, share) as span:
        whole, low, done, since = span.whole, span.at, 0.0, span.whole.clock()
        unit = 0.0 if total is None else (span.high - low) / total
        for step in steps:
            counted = 1.0 if weigh is None else float(weigh(step))
            until = min(low + unit * (done + counted), span.high)
            span.tell(until, Count(done, total, since))
            _HERE.set(_Span(whole, span.at, until, span.path))
            yield step
            done, span.at = done + counted, until
            span.tell(until, Count(done, total, since))


@contextmanager
def parts(title: str, costs: Mapping[str, float]) -> Iterator[Callable[[str], None]]:
    """Announce the parts of a work, and call what is yielded with the name of each as it begins.

    Parameters
    ----------
    title : str
        What the work does, in a few words.
    costs : mapping of str to float
        What each part is expected to take, in the order in which they come: seconds, say; only
        their ratios count. What does not begin counts as done when a later one begins. The part
        `THE_REST` is one whose own parts are announced once it has begun.

    Raises
    ------
    KeyError
        If a part begins that was not announced.

    Examples
    --------
    >>> with parts("Cooking", {"Peeling": 1, "Boiling": 4}) as begin:
    ...     begin("Peeling")
    ...     begin("Boiling")
    """
    with _span(title, _ALL) as span:
        low, unit = span.at, (span.high - span.at) / (sum(costs.values()) or 1.0)
        ends, at = {}, low
        for name, cost in costs.items():
            ends[name] = at, at + unit * cost
            at += unit * cost

        def begin(name: str) -> None:
            span.at, until = ends[name]
            path = (*span.path, name) if name else span.path
            span.whole.reach(span.at, until, path)
            _HERE.set(_Span(span.whole, span.at, until, path))

        yield begin


@contextmanager
def busy(title: str) -> Iterator[None]:
    """Show that something goes on which cannot say how far it is.

    Examples
    --------
    >>> with busy("Adding"):
    ...     1 + 2
    3
    """
    with _span(title, 0.0):
        yield


@contextmanager
def _span(title: str, share: float) -> Iterator[_Span]:
    """Give a stretch of a new work, or a share of what is left where one goes on."""
    around = _HERE.get()
    if around is None or around.whole.ended:
        with shown(title) as whole, _within(_Span(whole, 0.0, 1.0, ()), None) as span:
            span.is_whole = True
            yield span
        return
    # Of a part, its name says what goes on. What announces its parts names them.
    path = around.path if around.path or share == _ALL else (title,)
    high = around.at + share * (around.high - around.at)
    with _within(_Span(around.whole, around.at, high, path), around) as span:
        span.whole.reach(span.at, high if share else around.high, path)
        yield span
    around.at = high
    around.whole.reach(high, around.high, around.path)


@contextmanager
def _within(span: _Span, around: _Span | None) -> Iterator[_Span]:
    _HERE.set(span)
    try:
        yield span
    finally:
        # A loop that was left may be closed later, in the middle of something else.
        here = _HERE.get()
        if here is not None and here.whole is span.whole:
            _HERE.set(around)
