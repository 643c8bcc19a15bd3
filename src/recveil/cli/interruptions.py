"""Interrupted runs and closed output streams: report them, and exit with the right code."""

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO, cast

import typer

from recveil.report.terminal import echo
from recveil.runtime.atomic_writes import placed_since
from recveil.runtime.errors import RecveilError, notes_of, reject_interruption

# What a shell adds to the number of the signal that ended a command: Ctrl-C gives 130.
_ENDED_BY = 128
# Files that a message names before it counts the rest.
_LISTED = 3
_NAMES = "standard output", "standard error"
# Seconds after which an ignored signal is sent again.
_RESEND_AFTER = 0.05


class Terminated(KeyboardInterrupt):
    """A terminating signal; a KeyboardInterrupt, so that the same cleanup runs.

    >>> Terminated(signal.SIGTERM).number
    15
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = int(number)


def code_of(stop: BaseException | None) -> int:
    """Return the exit code of an interrupted run: 130 for Ctrl-C, 143 for SIGTERM.

    >>> code_of(KeyboardInterrupt()), code_of(Terminated(signal.SIGTERM))
    (130, 143)
    """
    number = stop.number if isinstance(stop, Terminated) else signal.SIGINT
    return _ENDED_BY + int(number)


@contextmanager
def orderly_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a run as Ctrl-C does, with all cleanup.

    By default they end a program at once. A signal that is ignored, as under nohup, stays ignored.
    A signal that arrives inside a destructor ends the run a moment later.
    """
    if threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in map(signal.Signals.__getitem__, names)}
    try:
        for number, handler in before.items():
            if handler == signal.SIG_DFL:
                signal.signal(number, _terminate)
        with _resend_ignored():
            yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _terminate(number: int, _: object) -> None:
    raise Terminated(number)


@contextmanager
def _resend_ignored() -> Iterator[None]:
    """Send a signal again that was raised where Python ignores exceptions, as in `__del__`."""
    default_hook, again = sys.unraisablehook, list[threading.Timer]()

    def hook(ignored: "sys.UnraisableHookArgs") -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            default_hook(ignored)
            return
        number = code_of(ignored.exc_value) - _ENDED_BY
        again.append(threading.Timer(_RESEND_AFTER, os.kill, (os.getpid(), number)))
        again[-1].daemon = True
        again[-1].start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = default_hook
        for each in again:
            each.cancel()


@contextmanager
def report_interruptions() -> Iterator[None]:
    """On Ctrl-C or a signal, report what was written, and exit with the signal's code."""
    before = len(placed_since())
    try:
        with _kernel_interruptions():
            yield
    except KeyboardInterrupt as stop:
        # A library function may report it itself.
        written = str(stop) or describe_written(placed_since(before))
        how = "Terminated" if isinstance(stop, Terminated) else "Interrupted"
        echo(f"{how}; {'; '.join([written, *notes_of(stop)])}.", err=True)
        raise typer.Exit(code_of(stop)) from stop


@contextmanager
def _kernel_interruptions() -> Iterator[None]:
    """Turn what a compiled kernel makes of Ctrl-C into Ctrl-C again."""
    try:
        yield
    except Exception as error:
        reject_interruption(error)
        raise


def describe_written(placed: list[Path]) -> str:
    """Describe what a run that ended early has written.

    >>> describe_written([Path("page.html")])
    'page.html was written and is complete; nothing else was written'
    """
    if not placed:
        return "unfinished output was not written"
    is_one = len(placed) == 1
    return (
        f"{listed_plainly(placed)} {'was' if is_one else 'were'} written and "
        f"{'is' if is_one else 'are'} complete; nothing else was written"
    )


def listed_plainly(paths: list[Path]) -> str:
    """List file names; those beyond three are counted.

    >>> listed_plainly([Path("out"), Path("page.html")])
    'out, page.html'
    """
    more = f" and {len(paths) - _LISTED:,} more" if len(paths) > _LISTED else ""
    return ", ".join(path.name for path in paths[:_LISTED]) + more


@contextmanager
def patient_streams() -> Iterator[None]:
    """Continue when the reader of an output stream exits, as `head` does; drop further output.

    Otherwise the run would end with code 1, which means that a claim does not hold. A stream that
    was closed from the start (``>&-``) is also accepted.
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
        # Callers that need to know have flushed; at this point no error can be reported.
        with suppress(RecveilError):
            sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = streams
        for closed in opened:
            if closed is not None:
                closed.close()


def _write_anything(stream: TextIO | None) -> None:
    """Let a stream write characters that its encoding lacks, as they came or escaped."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        is_unicode = stream.encoding.lower().replace("-", "") == "utf8"
        stream.reconfigure(errors="surrogateescape" if is_unicode else "backslashreplace")


class _Patient:
    """A stream that discards output once its reader is gone."""

    def __init__(self, stream: TextIO | IO[bytes], name: str) -> None:
        self._stream: Any = stream
        self._name = name

    @property
    def buffer(self) -> "_Patient":
        """The binary stream, for files that go to standard output."""
        return _Patient(self._stream.buffer, self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str | bytes) -> int:
        try:
            self._stream.write(text)
        except OSError as error:
            self._discard(error)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._discard(error)

    def _discard(self, error: OSError) -> None:
        """Discard buffered and later output; raise if standard output failed otherwise."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self._stream.fileno())
        os.close(null)
        if not isinstance(error, BrokenPipeError) and self._name == _NAMES[0]:
            raise RecveilError(
                f"{self._name}: cannot be written ({error.strerror or error}); free space at its "
                f"target, or redirect it",
                code="output.not-writable",
            ) from None


class _Closed(io.TextIOWrapper):
    """A replacement for a stream that was closed at the start: it accepts text, not files.

    It holds the descriptor, so that no output file gets the number of standard output, to which a
    library might print.
    """

    def __init__(self) -> None:
        super().__init__(io.FileIO(os.devnull, "wb"), encoding="utf-8")
        self.is_closed_outside = True
