"""Whole: the outermost work, how much of it is done, and how long the rest will take."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

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
        Is told of progress, in the thread of the work; see `recveil.progress.listening`.
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
