"""Showing: who hears how far the outermost work is."""

import _thread
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from operator import length_hint
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["THE_REST", "Cancelled", "HowFar", "busy", "listening", "parts", "track"]

# What is left is estimated once so large a part is done: the first parts of a work, such as reading
# and compiling, say little of the others.
_GROUND = 0.1
# Where that takes longer than so many seconds, any hundredth is better than no estimate.
_PATIENCE, _LITTLE_GROUND = 60.0, 0.01
# Whoever listens is told no more often than so, in seconds, unless another part begins.
_SELDOM = 0.05
# Levels that a title shows below the work itself.
_LEVELS = 2


class Cancelled(KeyboardInterrupt):
    """Ends a work like Ctrl-C: a listener raises it, and all that was begun is tidied up.

    It goes up through the work from its next report of progress, in the thread of the work.
    """


class HowFar(NamedTuple):
    """What a listener hears; plain data, which another process can be sent, too.

    Attributes
    ----------
    fraction : float
        How much of the whole is done, from 0 to 1. It never falls, and is 1 at the end alone.
    part : str
        Which part runs; empty before the first one.
    seconds_left : float or None
        About; None before there is ground to tell.
    """

    fraction: float
    part: str
    seconds_left: float | None


class Count(NamedTuple):
    """How much a loop has done.

    Attributes
    ----------
    done : float
    total : float or None
        None if that is not known.
    since : float
        When it began, by the clock of the whole.
    """

    done: float
    total: float | None
    since: float

    def words(self) -> str:
        """Say it.

        Examples
        --------
        >>> Count(3, 12, 0.0).words(), Count(3, None, 0.0).words()
        ('3 of 12', '3')
        """
        return f"{self.done:,.0f}" + ("" if self.total is None else f" of {self.total:,.0f}")


class Whole:
    """The outermost work: parts report to it, and it says how far all is.

    Parameters
    ----------
    title : str
        What is done, in a few words.
    hear : callable, optional
        Is told of progress, in the thread of the work; see `recveil.runtime.progress.listening`.
    clock : callable
        Returns seconds.

    Examples
    --------
    >>> now = [0.0]
    >>> whole = Whole("Auditing", clock=lambda: now[0])
    >>> whole.reach(0.0, 0.25, ("Drawing curves",))
    >>> now[0] = 60.0
    >>> whole.line()
    'Auditing (Drawing curves): 0 % in 1 min'
    >>> whole.reach(0.25, 1.0, ("Making pages",))
    >>> whole.line()
    'Auditing (Making pages): 25 % in 1 min, about 3 min left'
    >>> now[0] = 120.0  # no report, but it must have come further
    >>> whole.line()
    'Auditing (Making pages): 25 % in 2 min, about 2 min left'
    """

    def __init__(
        self,
        title: str,
        hear: Callable[[HowFar], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title = title
        self.clock = clock
        self.start = clock()
        self.fraction = 0.0
        self.path: tuple[str, ...] = ()
        self.count: Count | None = None
        # The loop that is the whole work, if it is one.
        self.own_count: Count | None = None
        self.ended = False
        self._hear = hear
        self._heard = -float("inf")
        self._lock = threading.Lock()
        self._reached = self.start
        self._until = 0.0

    @property
    def part(self) -> str:
        """Which part runs, and which part of that."""
        return ": ".join(self.path[:_LEVELS])

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return self.clock() - self.start

    @property
    def is_measured(self) -> bool:
        """Whether it is known how much of the whole is done."""
        return self._until > 0 or self.fraction > 0

    @property
    def percent(self) -> int:
        """How much is done; 100 at the end alone."""
        return 100 if self.fraction >= 1 else min(99, int(100 * self.fraction + 1e-9))

    def reach(
        self,
        fraction: float,
        until: float,
        path: tuple[str, ...] = (),
        count: Count | None = None,
    ) -> None:
        """Note how much is done.

        Parameters
        ----------
        fraction : float
            Of the whole. Less than before is taken as what it was before.
        until : float
            Where the next report is due that comes for certain: the end of a step or part.
        path : tuple of str
            The parts that run, the largest first.
        count : Count, optional
            How much of its steps the innermost loop has done.
        """
        with self._lock:
            fraction = min(fraction, 1.0 - 1e-9)
            if fraction > self.fraction:
                self.fraction, self._reached = fraction, self.clock()
            self._until = max(until, self.fraction)
            is_new = path[:_LEVELS] != self.path[:_LEVELS]
            self.path, self.count = path, count
        self._tell(is_new=is_new)

    def end(self) -> None:
        """Note that all is done."""
        self.fraction, self.ended = 1.0, True
        self._tell(is_new=True)

    def seconds_left(self) -> float | None:
        """Return how long the rest takes if it goes on like this; None before there is ground.

        Between two reports the rest shrinks with the clock, but not below what comes after the
        next report.
        """
        if self.fraction >= 1:
            return 0.0
        if self.fraction < (_LITTLE_GROUND if self.seconds >= _PATIENCE else _GROUND):
            return None
        expected = (self._reached - self.start) / self.fraction
        return max(expected - self.seconds, expected * (1 - self._until))

    def line(self) -> str:
        """Say all in one line, for a log."""
        part, count = (f" ({self.part})" if self.part else ""), self.own_count
        title, spent = f"{self.title}{part}", _in_words(self.seconds)
        if count is not None and count.done:
            told = f"{count.words()} in {spent}"
        elif count is not None and count.total is not None:
            told = f"{spent} so far, nothing of {count.total:,.0f} done yet"
        elif self.is_measured:
            told = f"{self.percent} % in {spent}"
        else:
            told = f"{spent} so far"
        left = self.seconds_left()
        if left is None:
            return f"{title}: {told}"
        about = "about " if round(left / 60) else ""
        return f"{title}: {told}, {about}{_in_words(left)} left"

    def _tell(self, *, is_new: bool) -> None:
        now = self.clock()
        if self._hear is not None and (is_new or now - self._heard >= _SELDOM):
            self._heard = now
            self._hear(HowFar(self.fraction, self.part, self.seconds_left()))


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


# Seconds between two lines, where there is no terminal; what takes less is done in silence.
_EVERY = 60.0
# One work at a time draws, whatever the others are that go on beside it.
_DRAWN = threading.Lock()
_LISTENER: ContextVar[Callable[[HowFar], object] | None] = ContextVar(
    "recveil-listener", default=None
)


@contextmanager
def listening(hear: Callable[[HowFar], object]) -> Iterator[None]:
    """Let a callable hear how far the work is that is done within; nothing is drawn then.

    Parameters
    ----------
    hear : callable
        Takes a `HowFar`. It is called in the work's own threads, at most about twenty times a
        second and whenever another part begins, so that it should be quick: put what it hears on a
        queue, or into a pipe to another process. To cancel the work, let it raise `Cancelled`: that
        ends the work like Ctrl-C, with nothing left half-written. Between two calls a part may work
        on for a while, so that cancelling takes as long.

    Notes
    -----
    It holds for the thread (or task) in which it is entered, and several works may be listened to
    in several threads. Give each work a `listening` of its own: the next one begins again at 0.

    Examples
    --------
    >>> from recveil.runtime.progress import track
    >>> heard = []
    >>> with listening(heard.append):
    ...     sum(track([1, 2, 3], "Adding"))
    6
    >>> heard[0].fraction, heard[-1]
    (0.0, HowFar(fraction=1.0, part='', seconds_left=0.0))
    """
    token = _LISTENER.set(hear)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def shown(title: str) -> Iterator[Whole]:
    """Give a whole, and show it until the work ends: to a listener, on a terminal or in a log."""
    hear = _LISTENER.get()
    whole = Whole(title, hear)
    may_draw = hear is None and _DRAWN.acquire(blocking=False)
    show = nullcontext if not may_draw else bar if _is_terminal() else _lines
    try:
        with show(whole):
            yield whole
            whole.end()
    finally:
        whole.ended = True
        if may_draw:
            _DRAWN.release()


def _is_terminal() -> bool:
    """Tell whether a bar can be drawn: a dumb terminal cannot go back in a line."""
    if sys.stderr is None:  # closed before we began
        return False
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


# A terminal so wide has room for a bar, and for how fast it goes; one of the usual width for how
# many of how many in the place of for how long; wider ones for both.
_WIDE, _USUAL, _WIDER = 60, 80, 100
_BAR, _LONG_BAR = 12, 24


@contextmanager
def bar(whole: Whole) -> Iterator[None]:
    """Draw one bar until the work ends, and take it away then."""
    from rich.console import Console
    from rich.live import Live

    from recveil.runtime.threads import reject_without_room

    console = Console(stderr=True)
    drawn = Live(
        get_renderable=lambda: _row(whole, console.width),
        console=console,
        transient=True,
        refresh_per_second=10,
        # What is printed for a file or a pipe must not go to the terminal.
        redirect_stdout=sys.stdout.isatty(),
    )
    reject_without_room()
    with drawn:
        yield


def _row(whole: Whole, width: int) -> "Table":
    """Lay out the one line; on a narrow terminal, only what matters most."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    told = [Text(f"{whole.percent} %" if whole.is_measured else "", "progress.percentage")]
    count = whole.count if width >= _USUAL and whole.count and whole.count.done else None
    if count is not None:
        told.append(Text(count.words(), "progress.download"))
    if width >= _WIDE:
        told.append(Text(_rate(whole), "progress.data.speed"))
    if width >= (_WIDE if count is None else _WIDER):
        told.append(Text(_clock(whole.seconds), "progress.elapsed"))
    left = whole.seconds_left()
    told.append(Text("" if left is None else f"{_clock(left)} left", "progress.remaining"))
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    cells: list[Text | ProgressBar] = [Text(_title(whole, width))]
    if width >= _WIDE:
        row.add_column(no_wrap=True)
        cells.append(
            ProgressBar(
                total=1.0 if whole.is_measured else None,
                completed=whole.fraction,
                width=_LONG_BAR if width >= _WIDER else _BAR,
            )
        )
    for _ in told:
        row.add_column(no_wrap=True, justify="right")
    row.add_row(*cells, *told)
    return row


def _title(whole: Whole, width: int) -> str:
    """Say what is done; on a narrow terminal, the part alone."""
    if width >= _WIDER or not whole.part:
        return whole.title + (f": {whole.part}" if whole.part else "")
    smallest = whole.part.rpartition(": ")[2]
    return smallest if width < _WIDE else f"{whole.title}: {smallest}"


def _rate(whole: Whole) -> str:
    """Say how many steps of the loop that runs are done a second, or how much of the whole."""
    count = whole.count
    if count is not None and count.done and (spent := whole.clock() - count.since) > 0:
        speed = count.done / spent
        return f"{speed:,.{0 if speed >= 10 else 1}f} a second"
    if whole.is_measured and whole.fraction and (spent := whole.seconds) > 0:
        speed = 100 * whole.fraction / spent
        return f"{speed:.1f} % a second" if speed >= 1 else f"{60 * speed:.0f} % a minute"
    return ""


def _clock(seconds: float) -> str:
    """Write a time as a clock does.

    Examples
    --------
    >>> _clock(3_725.4)
    '1:02:05'
    """
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


@contextmanager
def _lines(whole: Whole) -> Iterator[None]:
    """Write a line a minute until the work ends."""
    ended, writing = threading.Event(), threading.Lock()

    def write() -> None:
        while not ended.wait(_EVERY):
            with writing:
                if sys.stderr is not None and not ended.is_set():  # `print` would take stdout
                    print(whole.line(), file=sys.stderr, flush=True)

    # A step may take longer than a minute; so the lines come from beside the work. Nobody waits
    # for that thread, neither for its begin nor for its end: it may get no memory for either.
    with suppress(RuntimeError):  # there is none for a thread, and the work may need no more
        _thread.start_new_thread(write, ())
    try:
        yield
    finally:
        with writing:
            ended.set()
