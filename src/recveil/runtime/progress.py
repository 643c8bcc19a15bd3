"""Progress reports of the outermost task, on a terminal, in a log or to a listener."""

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

from recveil.runtime.number_format import format_clock, format_duration

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["THE_REST", "Cancelled", "HowFar", "busy", "expect", "listening", "parts", "track"]

# The remaining time is estimated once this share is done: the first parts, such as reading and
# compiling, are not typical.
_GROUND = 0.1
# After so many seconds, an estimate from one hundredth is better than none.
_PATIENCE, _LITTLE_GROUND = 60.0, 0.01
# An end that was stated is moved back only if it is missed by this share of the whole time, and by
# at least so many seconds.
_SLACK, _LEAST_SLACK = 0.1, 2.0
# Minimum number of seconds between two reports to a listener, unless another part begins.
_SECONDS_BETWEEN_REPORTS = 0.05
# Levels shown in a title below the task itself.
_LEVELS = 2


class Cancelled(KeyboardInterrupt):
    """Raised by a listener to end a task like Ctrl-C, with all temporary files removed.

    The task's next progress report raises it, in the thread of the task.
    """


class HowFar(NamedTuple):
    """Progress as a listener receives it; plain data that can be sent to another process."""

    # Share of the whole that is done, from 0 to 1. It never decreases, and is 1 only at the end.
    fraction: float
    # The current part; empty before the first one
    part: str
    # An estimate; None while there is too little data for one, and once it has passed
    seconds_left: float | None
    # Whether the task takes longer than was estimated
    is_late: bool = False


class Count(NamedTuple):
    """Progress of a loop."""

    done: float
    # None if unknown
    total: float | None

    def words(self) -> str:
        """Format the count.

        >>> Count(3, 12).words(), Count(3, None).words()
        ('3 of 12', '3')
        """
        return f"{self.done:,.0f}" + ("" if self.total is None else f" of {self.total:,.0f}")


class Whole:
    """The outermost task, to which its parts report their progress."""

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
        # The loop that is the whole task, if there is one.
        self.loop_count: Count | None = None
        self.ended = False
        # About how many seconds the task takes, if a model of it says so.
        self.expected: float | None = None
        # When it ends, as it is stated now, and the earliest end that was stated
        self._due = self._earliest_due = float("inf")
        self._listener = hear
        self._last_report = -float("inf")
        self._lock = threading.Lock()
        self._reached = self.start
        self._until = 0.0

    @property
    def part(self) -> str:
        """The current part, and its current part."""
        return ": ".join(self.path[:_LEVELS])

    @property
    def seconds(self) -> float:
        """Seconds since the task began."""
        return self.clock() - self.start

    @property
    def is_measured(self) -> bool:
        """Whether the share that is done is known."""
        return self._until > 0 or self.fraction > 0

    @property
    def percent(self) -> int:
        """Percentage that is done; 100 only at the end."""
        return 100 if self.fraction >= 1 else min(99, int(100 * self.fraction + 1e-9))

    def reach(
        self,
        fraction: float,
        until: float,
        path: tuple[str, ...] = (),
    ) -> None:
        """Record how much is done."""
        with self._lock:
            fraction = min(fraction, 1.0 - 1e-9)
            if fraction > self.fraction:
                self.fraction, self._reached = fraction, self.clock()
            self._until = max(until, self.fraction)
            self._schedule()
            is_new = path[:_LEVELS] != self.path[:_LEVELS]
            self.path = path
        self._notify(is_new=is_new)

    def end(self) -> None:
        """Record that the task is done."""
        self.fraction, self.ended = 1.0, True
        self._notify(is_new=True)

    def expect(self, seconds: float) -> None:
        """Set about how many more seconds the task takes."""
        with self._lock:
            self.expected = self.seconds + seconds
            self._schedule()

    def _schedule(self) -> None:
        """State when the task ends: at first as expected, then by the share that is done."""
        whole = self.expected
        if self.fraction >= (_LITTLE_GROUND if self.seconds >= _PATIENCE else _GROUND):
            whole = (self._reached - self.start) / self.fraction
        if whole is None:
            return
        due = self.start + whole
        if due < self._due or due > self._due + max(_LEAST_SLACK, _SLACK * whole):
            self._due, self._earliest_due = due, min(due, self._earliest_due)

    @property
    def is_late(self) -> bool:
        """Whether the task takes longer than was stated."""
        return not self.ended and max(self._due, self.clock() - 1.0) > self._earliest_due

    def seconds_left(self) -> float | None:
        """Estimate the remaining seconds; None while there is too little data, or none remain.

        Between two reports the estimate decreases with the clock.
        """
        if self.fraction >= 1:
            return 0.0
        with self._lock:
            self._schedule()
        left = self._due - self.clock()
        return max(0.0, left) if -1.0 <= left < float("inf") else None

    def line(self) -> str:
        """Format the progress as one line, for a log."""
        part, count = (f" ({self.part})" if self.part else ""), self.loop_count
        title, spent = f"{self.title}{part}", format_duration(self.seconds)
        if count is not None and count.done:
            status = f"{count.words()} in {spent}"
        elif count is not None and count.total is not None:
            status = f"{spent} so far, nothing of {count.total:,.0f} done yet"
        elif self.is_measured:
            status = f"{self.percent}% in {spent}"
        else:
            status = f"{spent} so far"
        left = self.seconds_left()
        if left is not None:
            about = "less than a minute" if left < 59.5 else f"about {format_duration(left)}"
            status += f", {about} left"
        return f"{title}: {status}{', longer than estimated' * self.is_late}"

    def _notify(self, *, is_new: bool) -> None:
        now = self.clock()
        if self._listener is not None and (
            is_new or now - self._last_report >= _SECONDS_BETWEEN_REPORTS
        ):
            self._last_report = now
            left, is_late = self.seconds_left(), self.is_late
            self._listener(HowFar(self.fraction, self.part, left, is_late))


T = TypeVar("T")

# A part without a name, shown by the names of its parts.
THE_REST = ""


_ALL = 1.0


class _Span:
    """An interval of the whole, from the current position `at` to `high`."""

    def __init__(self, whole: Whole, at: float, high: float, path: tuple[str, ...]) -> None:
        self.whole, self.at, self.high, self.path = whole, at, high, path
        self.is_whole = False

    def report(self, until: float, count: Count) -> None:
        """Report the progress of a loop whose step ends at `until`."""
        if self.is_whole:
            self.whole.loop_count = count
        self.whole.reach(self.at, until, self.path)


# A thread started by a task belongs to no task unless it takes over this context.
_HERE: ContextVar[_Span | None] = ContextVar("recveil-progress", default=None)


def track(
    steps: Iterable[T],
    title: str,
    total: float | None = None,
    weigh: Callable[[T], float] | None = None,
    share: float = 0.0,
) -> Iterator[T]:
    """Yield each step, and report progress.

    The outermost loop or task draws a bar on standard error, if that is a terminal: the current
    part, the bar, percent, and the time left. Otherwise, such as in a scheduled job, it writes a
    line once a minute. See `listening` for pages and other processes.

    Examples
    --------
    >>> sum(track([1, 2, 3], "Adding"))
    6
    """
    total = total or length_hint(steps) or None
    with _span(title, share) as span:
        low, done = span.at, 0.0
        unit = 0.0 if total is None else (span.high - low) / total
        for step in steps:
            counted = 1.0 if weigh is None else float(weigh(step))
            until = min(low + unit * (done + counted), span.high)
            span.report(until, Count(done, total))
            _HERE.set(_Span(span.whole, span.at, until, span.path))
            yield step
            done, span.at = done + counted, until
            span.report(until, Count(done, total))


@contextmanager
def parts(title: str, costs: Mapping[str, float]) -> Iterator[Callable[[str], None]]:
    """Announce the parts of a task, and yield a function to call as each part begins.

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


def expect(seconds: float) -> None:
    """Set about how many more seconds the current task takes, for its first estimates.

    Examples
    --------
    >>> with parts("Cooking", {"Boiling": 1}) as begin:
    ...     expect(240)
    ...     begin("Boiling")
    """
    here = _HERE.get()
    if here is not None:
        here.whole.expect(seconds)


@contextmanager
def busy(title: str) -> Iterator[None]:
    """Show an activity whose progress is unknown.

    Examples
    --------
    >>> with busy("Adding"):
    ...     1 + 2
    3
    """
    with _span(title, 0.0):
        yield


@contextmanager
def delayed_by(activity: str) -> Iterator[None]:
    """Show what delays the current part, in place of the name of its own part."""
    here = _HERE.get()
    if here is None or here.whole.ended:
        yield
        return
    whole, path = here.whole, here.whole.path
    whole.reach(here.at, whole._until, (*path[:1], activity))
    try:
        yield
    finally:
        whole.reach(here.at, whole._until, path)


@contextmanager
def _span(title: str, share: float) -> Iterator[_Span]:
    """Yield the interval of a new task, or a share of the remaining work of the current one."""
    around = _HERE.get()
    if around is None or around.whole.ended:
        with show_progress(title) as whole, _within(_Span(whole, 0.0, 1.0, ()), None) as span:
            span.is_whole = True
            yield span
        return
    # The name of a part describes the activity. A task that announces its parts names them.
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
        # An abandoned loop may be closed later, in the middle of another one.
        here = _HERE.get()
        if here is not None and here.whole is span.whole:
            _HERE.set(around)


# Seconds between two lines without a terminal; shorter tasks write none.
_SECONDS_BETWEEN_LINES = 60.0
# Only one of several concurrent tasks draws a bar.
_DRAWN = threading.Lock()
_LISTENER: ContextVar[Callable[[HowFar], object] | None] = ContextVar(
    "recveil-listener", default=None
)


@contextmanager
def listening(hear: Callable[[HowFar], object]) -> Iterator[None]:
    """Call a function with the progress of the task inside the block, instead of drawing a bar."""
    token = _LISTENER.set(hear)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def show_progress(title: str) -> Iterator[Whole]:
    """Yield a whole, and show its progress to a listener, on a terminal or in a log."""
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
    """Return whether a bar can be drawn; a dumb terminal cannot go back in a line."""
    if sys.stderr is None:  # closed by the parent process
        return False
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


# Below the first width the title is the current part alone; from the second one the bar is long.
_USUAL, _WIDE = 80, 100
_BAR, _LONG_BAR = 12, 24


@contextmanager
def bar(whole: Whole) -> Iterator[None]:
    """Draw a bar until the task ends, then remove it."""
    from rich.console import Console
    from rich.live import Live

    from recveil.runtime.memory import require_thread_room

    console = Console(stderr=True)
    drawn = Live(
        get_renderable=lambda: _row(whole, console.width),
        console=console,
        transient=True,
        refresh_per_second=10,
        # Output to a file or a pipe must not go to the terminal.
        redirect_stdout=sys.stdout.isatty(),
    )
    require_thread_room()
    with drawn:
        yield


def _row(whole: Whole, width: int) -> "Table":
    """Lay out the line: description, bar, percent, and time left."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    is_measured = whole.is_measured
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for _ in range(3):
        row.add_column(no_wrap=True, justify="right")
    row.add_row(
        Text(_title(whole, width)),
        ProgressBar(
            total=1.0 if is_measured else None,
            completed=whole.fraction,
            width=_LONG_BAR if width >= _WIDE else _BAR,
        ),
        Text(f"{whole.percent}%" if is_measured else "", "progress.percentage"),
        Text(_time_left(whole, width), "progress.remaining"),
    )
    return row


def _time_left(whole: Whole, width: int) -> str:
    left = whole.seconds_left()
    clock = "" if left is None else f"{format_clock(left)} left"
    if not whole.is_late:
        return clock
    if width < _WIDE and clock:
        return f"longer: {clock}"
    return ", ".join(filter(None, [clock, "longer than estimated"]))


def _title(whole: Whole, width: int) -> str:
    """Return the title; on a narrow terminal, the current part alone."""
    if width >= _WIDE or not whole.part:
        return whole.title + (f": {whole.part}" if whole.part else "")
    smallest = whole.part.rpartition(": ")[2]
    return smallest if width < _USUAL else f"{whole.title}: {smallest}"


@contextmanager
def _lines(whole: Whole) -> Iterator[None]:
    """Write a line a minute until the task ends."""
    ended, writing = threading.Event(), threading.Lock()

    def write() -> None:
        while not ended.wait(_SECONDS_BETWEEN_LINES):
            with writing:
                if sys.stderr is not None and not ended.is_set():  # `print` would use stdout
                    print(whole.line(), file=sys.stderr, flush=True)

    # A step may take longer than a minute, so a separate thread writes the lines. The task waits
    # neither for its start nor for its end, as either may lack memory.
    with suppress(RuntimeError):  # no memory for a thread, which the task may not need
        _thread.start_new_thread(write, ())
    try:
        yield
    finally:
        with writing:
            ended.set()
