"""Endings: a run that is interrupted, or whose reader goes away, says so and ends with its code."""

import functools
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO, cast

import typer

from recveil.cli.options import tell
from recveil.runtime.atomic_writes import placed_since
from recveil.runtime.errors import RecveilError, reject_interruption

# What a shell adds to the number of the signal that ended a command: Ctrl-C gives 130.
_ENDED_BY = 128
_NAMES = "standard output", "standard error"
# Seconds after which a signal that was ignored is sent again.
_SOON = 0.05


class Terminated(KeyboardInterrupt):
    """A signal asked us to end; like Ctrl-C, so that all that is cleaned up then is cleaned up.

    Examples
    --------
    >>> Terminated(signal.SIGTERM).number
    15
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = int(number)


def code_of(stop: BaseException | None) -> int:
    """Return the exit code of a run that was cut short: 130 for Ctrl-C, 143 for SIGTERM.

    Examples
    --------
    >>> code_of(KeyboardInterrupt()), code_of(Terminated(signal.SIGTERM))
    (130, 143)
    """
    number = stop.number if isinstance(stop, Terminated) else signal.SIGINT
    return _ENDED_BY + int(number)


@contextmanager
def orderly_signals() -> Iterator[None]:
    """Let SIGTERM, and SIGHUP of a closed terminal, end a run as Ctrl-C does: nothing is left.

    By default they end a program at once, and with it what it would have cleaned up. What somebody
    chose to ignore, as nohup does, stays ignored. One that comes while Python throws something away
    ends the run a moment later.
    """
    if threading.current_thread() is not threading.main_thread():  # no other may ask for signals
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in map(signal.Signals.__getitem__, names)}
    try:
        for number, handler in before.items():
            if handler == signal.SIG_DFL:
                signal.signal(number, _terminate)
        with _nothing_ignored():
            yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _terminate(number: int, _: object) -> None:
    raise Terminated(number)


@contextmanager
def _nothing_ignored() -> Iterator[None]:
    """Send a signal again that was raised where Python ignores what is raised, as in `__del__`.

    Else the run would go on, beside a traceback.
    """
    tell_ignored, again = sys.unraisablehook, list[threading.Timer]()

    def told(ignored: "sys.UnraisableHookArgs") -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            tell_ignored(ignored)
            return
        number = code_of(ignored.exc_value) - _ENDED_BY
        again.append(threading.Timer(_SOON, os.kill, (os.getpid(), number)))
        again[-1].daemon = True
        again[-1].start()

    sys.unraisablehook = told
    try:
        yield
    finally:
        sys.unraisablehook = tell_ignored
        for each in again:
            each.cancel()


def interruptible(verb: Callable[..., None]) -> Callable[..., None]:
    """On Ctrl-C or a signal, report what became of the work, and exit with the signal's code."""

    @functools.wraps(verb)
    def run(*arguments: Any, **options: Any) -> None:
        before = len(placed_since())
        try:
            _reporting_interruptions(verb, *arguments, **options)
        except KeyboardInterrupt as stop:
            # A library function may say what it kept.
            kept = str(stop) or _kept(placed_since(before))
            how = "Terminated" if isinstance(stop, Terminated) else "Interrupted"
            tell(f"{how}; {kept}.", err=True)
            raise typer.Exit(code_of(stop)) from stop

    return run


def _reporting_interruptions(verb: Callable[..., None], *arguments: Any, **options: Any) -> None:
    """Run a verb; what a compiled kernel makes of Ctrl-C is Ctrl-C again."""
    try:
        verb(*arguments, **options)
    except Exception as error:
        reject_interruption(error)
        raise


def _kept(placed: list[Path]) -> str:
    """Say what an interrupted run has written."""
    if not placed:
        return "what was not finished was not written"
    names = listed_plainly(placed)
    verbs = ("had", "is") if len(placed) == 1 else ("had", "are")
    return f"{names} {verbs[0]} been written, and {verbs[1]} whole; nothing else was"


def listed_plainly(paths: list[Path], most: int = 3) -> str:
    """Name files; those beyond some are counted.

    Examples
    --------
    >>> listed_plainly([Path("out"), Path("page.html")])
    'out, page.html'
    """
    more = f" and {len(paths) - most:,} more" if len(paths) > most else ""
    return ", ".join(path.name for path in paths[:most]) + more


@contextmanager
def patient_streams() -> Iterator[None]:
    """Let a program go on whose reader has gone away, as `head` does: the rest is not shown.

    Otherwise it would end with code 1, which says that a claim does not hold. A stream that was
    closed from the start (``>&-``) shows nothing, either.
    """
    streams = sys.stdout, sys.stderr
    for each in streams:
        _write_anything(each)
    opened = [None if stream is not None else _Closed() for stream in streams]
    sys.stdout, sys.stderr = (
        cast(TextIO, closed or _Patient(stream, name))
        for closed, stream, name in zip(opened, streams, _NAMES, strict=True)
    )
    try:
        yield
    finally:
        # Whoever wanted to know has flushed; here nobody is left who could be told of an error.
        with suppress(RecveilError):
            sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = streams
        for closed in opened:
            if closed is not None:
                closed.close()


def _write_anything(stream: TextIO | None) -> None:
    """Let a stream write what its encoding lacks: as it came, or as an escape."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        is_unicode = stream.encoding.lower().replace("-", "") == "utf8"
        stream.reconfigure(errors="surrogateescape" if is_unicode else "backslashreplace")


class _Patient:
    """A stream that writes into nothing once its reader is gone."""

    def __init__(self, stream: TextIO | IO[bytes], name: str) -> None:
        self._stream: Any = stream
        self._name = name

    @property
    def buffer(self) -> "_Patient":
        """The bytes beneath, for files that go to standard output."""
        return _Patient(self._stream.buffer, self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str | bytes) -> int:
        try:
            self._stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Lead what is still buffered, and all that follows, into nothing; say why if it matters.

        That nothing can be written to standard error cannot be said anywhere.
        """
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self._stream.fileno())
        os.close(nothing)
        if not isinstance(error, BrokenPipeError) and self._name == _NAMES[0]:
            raise RecveilError(
                f"{self._name}: cannot be written ({error.strerror or error}); make room where it "
                f"leads, or lead it somewhere else",
                code="output.not-writable",
            ) from None


class _Closed(io.TextIOWrapper):
    """What stands for a stream that was closed before we began: it takes text, and no files.

    As it is open, no file that we write can get the number of standard output, to which a library
    might print.
    """

    def __init__(self) -> None:
        super().__init__(io.FileIO(os.devnull, "wb"), encoding="utf-8")
        self.is_closed_outside = True
