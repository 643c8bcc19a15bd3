"""Worker: the process of one job; it calls the library function of a verb, and tells how far it is.

The first line of its standard input says what to do. When that stream ends, because somebody
cancels or the workbench is gone, the work ends as by Ctrl-C. On standard output it tells all in
lines of JSON.
"""

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.errors import RecveilError, first_line_of, reject_interruption
from recveil.runtime.locks import FOR_OWNER, NOT_FOLLOWED
from recveil.runtime.memory import lacks_memory, not_enough
from recveil.runtime.progress import Cancelled, HowFar, listening
from recveil.workbench.project import RESULT
from recveil.workbench.tasks import Assignment, find_task

# What is printed goes to this file in a job's folder.
ERRORS = "errors.txt"
# So much more polite than whoever serves the pages: these answer while work runs.
_POLITE = 5


class Wire:
    """The way to whoever serves the pages: a line of JSON for everything that is told.

    Examples
    --------
    >>> Wire(print).tell("far", [0.5, "Reading", None])
    {"far": [0.5, "Reading", null]}
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write, self._lock = write, threading.Lock()
        self.is_cut = False
        self._has_ended_work = False

    def cut(self) -> None:
        """End the work, once: what tidies up must not be interrupted again."""
        self.is_cut = True
        if not self._has_ended_work:
            self._has_ended_work = True
            raise Cancelled

    def tell(self, what: str, value: Any) -> None:
        """Tell one thing; if nobody listens any more, end the work."""
        if self.is_cut:
            self.cut()
        with self._lock:
            self._write(json.dumps({what: value}))

    def hear(self, far: HowFar) -> None:
        """Tell how far the work is."""
        self.tell("far", list(far))


def work(wire: Wire, asked: dict[str, Any]) -> None:
    """Do what is asked, and tell how it ended."""
    folder = Path(asked["folder"])
    try:
        with listening(wire.hear):
            assignment = Assignment(asked["settings"], folder, wire.tell)
            found = find_task(asked["task"])(assignment)
        text = json.dumps(found)
        write_atomically(folder / RESULT, lambda beside: beside.write_text(text, encoding="utf-8"))
        wire.tell("ended", ["done", ""])
    except KeyboardInterrupt:
        _describe_the_end(wire, "cancelled", "")
    except Exception as error:
        with suppress(KeyboardInterrupt):
            reject_interruption(error)
            _describe_the_end(wire, "failed", _told(error))
            return
        _describe_the_end(wire, "cancelled", "")


def _describe_the_end(wire: Wire, state: str, error: str) -> None:
    wire.tell("ended", [state, error])


def _told(error: Exception) -> str:
    """Say what went wrong, without a trace."""
    if lacks_memory(error):
        return not_enough()
    if isinstance(error, RecveilError):
        return str(error)
    traceback.print_exception(error)  # to a file in the project's folder
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or first_line_of(error)}"
    return (
        f"{type(error).__name__}: {first_line_of(error)}; this is a fault in recveil, please "
        f"report it"
    )


def _end_with_input() -> None:
    """Interrupt the work when nobody holds the other end of standard input any more."""
    while os.read(0, 4_096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Work on what the first line of standard input asks for; be ready before it comes."""
    # What a library prints must not stand between the lines.
    told = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    _load()
    asked_for = _first_line()
    if not asked_for:
        return
    asked = json.loads(asked_for)
    _lead_errors(Path(asked["folder"]))

    def write(text: str) -> None:
        with suppress(BrokenPipeError):
            told.write(text + "\n")

    wire = Wire(write)
    if hasattr(os, "nice"):
        os.nice(_POLITE)
    # An interruption that Python ignores, as in `__del__`, ends the work at its next report.
    signal.signal(signal.SIGINT, lambda *_: wire.cut())
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        work(wire, asked)
    except KeyboardInterrupt:  # between two steps of ours
        _describe_the_end(wire, "cancelled", "")
    told.flush()
    sys.stderr.flush()
    os._exit(0)  # whatever still waits on a stream waits for nobody


def _load() -> None:
    """Load what most tasks need while nobody waits for it."""
    import recveil.auditing
    import recveil.inspection

    del recveil


def _lead_errors(folder: Path) -> None:
    """Lead what is printed, which may tell of people, to a file for their owner alone."""
    place = folder / ERRORS
    # Made anew: what stands there already may be a file of elsewhere, under another name.
    place.unlink(missing_ok=True)
    file = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | NOT_FOLLOWED, FOR_OWNER)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


def _first_line() -> bytes:
    read = b""
    while not read.endswith(b"\n") and (one := os.read(0, 1)):
        read += one
    return read


if __name__ == "__main__":
    main()
