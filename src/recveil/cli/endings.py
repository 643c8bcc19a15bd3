"""Endings: a run that is interrupted, or whose reader goes away, says so and ends with its code."""

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import typer

# What a shell gives a command that Ctrl-C ended.
INTERRUPTED = 130


def interruptible(verb: Callable[..., None]) -> Callable[..., None]:
    """Let a verb that Ctrl-C ends say what became of its work, and exit with 130.

    Examples
    --------
    >>> def work():
    ...     raise KeyboardInterrupt("1 of 4 settings kept; run again to go on")
    >>> try:
    ...     interruptible(work)()
    ... except typer.Exit as stop:
    ...     stop.exit_code
    130
    """

    @functools.wraps(verb)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
        except KeyboardInterrupt as stop:
            # A library function may say what it kept.
            kept = str(stop) or "what was not finished was not written"
            print(f"Interrupted; {kept}.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from stop

    return run


@contextmanager
def patient_streams() -> Iterator[None]:
    """Let a program go on whose reader has gone away, as `head` does: the rest is not shown.

    Otherwise it would end with code 1, which says that a claim does not hold.
    """
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Patient(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = streams


class _Patient:
    """A stream that writes into nothing once its reader is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except BrokenPipeError:
            self._give_up()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._give_up()

    def _give_up(self) -> None:
        """Lead what is still buffered, and all that follows, into nothing."""
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self._stream.fileno())
        os.close(nothing)
