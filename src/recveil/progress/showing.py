"""Showing: who hears how far the outermost work is."""

import _thread
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar

from recveil.progress.whole import HowFar, Whole

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
    >>> from recveil.progress import track
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
    show = nullcontext if not may_draw else _bar if _is_terminal() else _lines
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


@contextmanager
def _bar(whole: Whole) -> Iterator[None]:
    from recveil.progress.bar import bar

    with bar(whole):
        yield


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
