"""Processes in which a job runs: copies of this one, or new ones with all that a start needs.

A copy (`Fork`) has loaded recveil already and takes no second to start. It is a process of its own
all the same, with its own number, files, locks and signals, and it dies of a real SIGKILL.
"""

import atexit
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from torture.jobs import TMP
from torture.operations import Operations

ROOT = Path(__file__).resolve().parents[1]
# Nothing here takes longer by itself, even on a busy machine; what does, hangs.
PATIENCE = 120.0
LOST = -1000


class Outcome(NamedTuple):
    """How a process ended.

    Attributes
    ----------
    code : int
        Its exit code; less than 0 for the signal that ended it; `LOST` if it hung.
    said : str
        What it wrote to standard error.
    seconds : float
    operations : int
        How many operations on files were counted, if it came to an end by itself.
    """

    code: int
    said: str
    seconds: float
    operations: int = 0


class Fork:
    """A copy of this process that runs a command line, begun at once.

    Parameters
    ----------
    arguments : sequence of str
    folder : Path
        Where it runs; it is the folder of a try.
    strikes, reads : optional
        See `Operations`.
    first : callable, optional
        Called in the copy before it begins: sets limits, say.
    stdin : str
        A file in the folder that it reads as standard input; none if "".
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        strikes: dict[int, Callable[[], object]] | None = None,
        *,
        reads: tuple[str, Callable[[int], object]] | None = None,
        first: Callable[[], object] | None = None,
        stdin: str = "",
    ) -> None:
        # A pipe, as a limit of the size of files would hold for a file of ours, too.
        self.said, says = os.pipe()
        os.set_blocking(self.said, False)
        self.result = tempfile.TemporaryFile()
        self.begun = time.perf_counter()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            operations = Operations(folder, strikes, reads)
            self._become(list(arguments), folder, operations, first, stdin, says)
        os.close(says)

    def _become(
        self,
        arguments: list[str],
        folder: Path,
        operations: Operations,
        first: Callable[[], object] | None,
        stdin: str,
        says: int,
    ) -> NoReturn:
        code = 70
        try:
            os.setsid()
            os.chdir(folder)
            _point_streams(says, stdin)
            _as_if_started(folder)
            if first is not None:
                first()
            operations.install()
            code = _run(arguments)
        except BaseException as error:  # of this program, not of recveil
            os.write(2, f"torture: {type(error).__name__}: {error}\n".encode())
        finally:
            with suppress(OSError):
                os.pwrite(self.result.fileno(), json.dumps(operations.count).encode(), 0)
            os._exit(code)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, seconds: float | None = None, patience: float = PATIENCE) -> Outcome | None:
        """Wait for its end; None if so many seconds pass. What hangs is killed and `LOST`."""
        end = time.perf_counter() + (patience if seconds is None else seconds)
        pause = 0.0005
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                break
            if time.perf_counter() > end:
                if seconds is not None:
                    return None
                self.kill()
                os.waitpid(self.pid, 0)
                status = None
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.01)
        return self._outcome(status)

    def ended(self, patience: float = PATIENCE) -> Outcome:
        """Wait for its end."""
        outcome = self.wait(patience=patience)
        assert outcome is not None
        return outcome

    def _outcome(self, status: int | None) -> Outcome:
        seconds = time.perf_counter() - self.begun
        code = LOST if status is None else os.waitstatus_to_exitcode(status)
        self.result.seek(0)
        counted, said = self.result.read(), b""
        with suppress(BlockingIOError):  # if a process of its own still lives
            said = os.read(self.said, 1 << 16)
        os.close(self.said)
        self.result.close()
        return Outcome(code, said.decode(errors="replace"), seconds, int(counted or 0))


def _point_streams(says: int, stdin: str) -> None:
    source = os.open(stdin or os.devnull, os.O_RDONLY)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for at, file in enumerate((source, nothing, says)):
        os.dup2(file, at)
    for at, (stream, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        made = open(at, mode, closefd=False, encoding="utf-8")
        setattr(sys, stream, made)
        setattr(sys, f"__{stream}__", made)


def _as_if_started(folder: Path) -> None:
    """Undo what a new process would not have; with the weakest umask there is."""
    os.umask(0)
    os.environ["TMPDIR"] = str(folder / TMP)
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _run(arguments: list[str]) -> int:
    from recveil.cli.launcher import main

    code: object = 0
    try:
        main(arguments)
    except SystemExit as stop:
        code = stop.code
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    with suppress(KeyboardInterrupt):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return code if isinstance(code, int) else 1


def left_behind(folder: Path) -> dict[int, str]:
    """Return the processes that still work in the folder of a try, by number, with what they are.

    All that a run starts begins where the run was begun, which is that folder.
    """
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            at = (process / "cwd").readlink()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            if (at == folder or folder in at.parents) and state not in "ZX":
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(process.name)] = command.decode(errors="replace").strip()[:60]
    return found


def end_left_behind(folder: Path) -> None:
    """End what still works in the folder of a try."""
    for number in left_behind(folder):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def limited(**limits: int) -> Callable[[], None]:
    """Return what sets limits of the system, such as ``FSIZE=4096``."""

    def limit() -> None:
        for name, value in limits.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            resource.setrlimit(kind, (value, value))

    return limit


class Started:
    """A new process that runs a command line, from the start of Python on.

    Parameters
    ----------
    arguments : sequence of str
    folder : Path
    before : sequence of str
        A command that runs it, such as ``unshare``.
    program : sequence of str
        What Python runs.
    first : callable, optional
        Called before it begins.
    stdin : str
    passed : sequence of int
        Files that it may use.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        before: Sequence[str] = (),
        program: Sequence[str] = ("-m", "recveil"),
        first: Callable[[], None] | None = None,
        stdin: str = "",
        passed: Sequence[int] = (),
    ) -> None:
        self.said = tempfile.TemporaryFile()
        paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "TMPDIR": str(folder / TMP)}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        self.begun = time.perf_counter()
        with Path(folder / stdin if stdin else os.devnull).open("rb") as source:
            self.process = subprocess.Popen(
                [*before, sys.executable, *program, *arguments],
                cwd=folder,
                env=environment,
                stdin=source,
                stdout=subprocess.DEVNULL,
                stderr=self.said,
                umask=0,
                preexec_fn=_hearing(first),
                start_new_session=True,
                pass_fds=passed,
            )

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def wait(self, seconds: float | None = None, patience: float = PATIENCE) -> Outcome | None:
        """Wait for its end; None if so many seconds pass. What hangs is killed and `LOST`."""
        try:
            code = self.process.wait(patience if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            if seconds is not None:
                return None
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            code = LOST
        self.said.seek(0)
        said = self.said.read().decode(errors="replace")
        self.said.close()
        return Outcome(code, said, time.perf_counter() - self.begun)

    def ended(self, patience: float = PATIENCE) -> Outcome:
        """Wait for its end."""
        outcome = self.wait(patience=patience)
        assert outcome is not None
        return outcome


def _hearing(first: Callable[[], None] | None) -> Callable[[], None]:
    def begin() -> None:
        # A shell that runs recveil in the background, or nohup, ignores them.
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if first is not None:
            first()

    return begin
