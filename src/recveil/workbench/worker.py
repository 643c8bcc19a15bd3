"""The process of one job, which calls the library function of a verb and reports its progress.

The first line of standard input describes the job. When that stream ends, because the user cancels
or the workbench has ended, the job is interrupted as by Ctrl-C. Reports go to standard output as
lines of JSON.
"""

import json
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.errors import RecveilError, first_line_of, notes_of, reject_interruption
from recveil.runtime.locks import FOR_OWNER, NOT_FOLLOWED
from recveil.runtime.memory import lacks_memory, not_enough
from recveil.runtime.progress import Cancelled, HowFar, listening
from recveil.workbench.project import RESULT, UPLOADS
from recveil.workbench.tasks import UNPACKED, Assignment, find_task

# The file in a job's folder that gets what libraries print.
ERRORS = "errors.txt"
# Added niceness, so that pages are served while jobs run.
_NICENESS = 5


class Wire:
    """The channel to the workbench, which carries a line of JSON per report.

    >>> Wire(print).report("progress", [0.5, "Reading", None])
    {"progress": [0.5, "Reading", null]}
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write, self._lock = write, threading.Lock()
        self.is_cut = False

    def cut(self) -> None:
        """Interrupt the job."""
        self.is_cut = True
        raise Cancelled

    def report(self, what: str, value: Any) -> None:
        """Send one report; interrupt the job if the channel is cut, but not its cleanup."""
        if self.is_cut and sys.exc_info()[0] is None:
            raise Cancelled
        with self._lock:
            self._write(json.dumps({what: value}))

    def report_progress(self, progress: HowFar) -> None:
        """Report the progress of the job."""
        self.report("progress", list(progress))


def work(wire: Wire, job: Mapping[str, Any]) -> None:
    """Run a job, and report how it ended."""
    folder = Path(job["folder"])
    try:
        with listening(wire.report_progress):
            assignment = Assignment(job["settings"], folder, wire.report)
            result = find_task(job["task"])(assignment)
        text = json.dumps(result)
        write_atomically(folder / RESULT, lambda file: file.write_text(text, encoding="utf-8"))
        wire.report("ended", ["done", ""])
    except KeyboardInterrupt:
        wire.report("ended", ["cancelled", ""])
    except Exception as error:
        with suppress(KeyboardInterrupt):
            reject_interruption(error)
            reason = _name_uploads(_describe_error(error), folder)
            wire.report("ended", ["failed", reason, *notes_of(error)])
            return
        wire.report("ended", ["cancelled", ""])


def _describe_error(error: Exception) -> str:
    if lacks_memory(error):
        return not_enough()
    if isinstance(error, RecveilError):
        return str(error)
    traceback.print_exception(error)  # goes to a file in the project
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or first_line_of(error)}"
    return (
        f"{type(error).__name__}: {first_line_of(error)}; this is a fault in recveil, please "
        f"report it"
    )


def _name_uploads(message: str, folder: Path) -> str:
    """Name uploaded files as they were uploaded, without their folders in the project."""
    *_, project = folder.parents[:2]
    uploads = rf"(?:{'|'.join(UPLOADS)})/[0-9a-f]+"
    return re.sub(rf"{re.escape(str(project))}/(?:{uploads}|jobs/\d+/{UNPACKED})/", "", message)


def _watch_input() -> None:
    """Interrupt the job when standard input is closed."""
    while os.read(0, 4_096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Run the job that the first line of standard input describes."""
    # What libraries print must not mix with the reports.
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    import recveil.auditing
    import recveil.inspection

    del recveil  # most jobs need them; the worker waits anyway
    line = _read_line()
    if not line:
        return
    job = json.loads(line)
    _redirect_output(Path(job["folder"]))

    def write(text: str) -> None:
        with suppress(BrokenPipeError):
            stream.write(text + "\n")

    wire = Wire(write)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    try:
        # An interruption that Python ignores, as in `__del__`, takes effect at the next report.
        signal.signal(signal.SIGINT, lambda *_: wire.cut())
        threading.Thread(target=_watch_input, daemon=True).start()
        work(wire, job)
    except KeyboardInterrupt:  # between two steps of this function
        wire.report("ended", ["cancelled", ""])
    stream.flush()
    sys.stderr.flush()
    os._exit(0)  # without waiting for threads that read streams


def _redirect_output(folder: Path) -> None:
    """Redirect what libraries print, which may hold private data, to a private file."""
    place = folder / ERRORS
    # Created anew: an existing file may be a hard link to one outside the project.
    place.unlink(missing_ok=True)
    file = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | NOT_FOLLOWED, FOR_OWNER)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


def _read_line() -> bytes:
    read = b""
    while not read.endswith(b"\n") and (one := os.read(0, 1)):
        read += one
    return read


if __name__ == "__main__":
    main()
