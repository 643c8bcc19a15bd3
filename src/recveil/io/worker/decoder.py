"""Client of the child process that decodes binary files, such as Parquet."""

import atexit
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from gzip import BadGzipFile
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Literal, NamedTuple, NoReturn, cast

import pyarrow as pa

from recveil.io.worker.messages import Failure, Head, Request
from recveil.io.worker.packing import packing_of
from recveil.runtime.child_process import HAS_LIFELINES, lifeline_pipe
from recveil.runtime.errors import MachineError, RecveilError, describe_count
from recveil.runtime.memory import memory_limit, not_enough, reject_for_memory
from recveil.runtime.number_format import format_bytes
from recveil.runtime.safe_repr import brief

# Seconds between two checks of a process that does not answer, and checks before giving up.
_LOOK, _LOOKS = 15.0, 12
# Status of each process, a line with numbers after its name in brackets.
_PROCESSES = Path("/proc")
_STATE, _GROUP, _USED = 0, 2, slice(11, 15)
# State of a process that waits for a disk, and will continue.
_FOR_A_DISK = "D"

CAN_LOOK = (_PROCESSES / "self" / "stat").exists()


def work_of(group: int) -> tuple[int, bool]:
    """Return the processor time of a process group, and whether a process waits for a disk."""
    spent, waits = 0, False
    for about in _PROCESSES.glob("[0-9]*/stat"):
        try:
            fields = about.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        if int(fields[_GROUP]) == group:
            spent += sum(map(int, fields[_USED]))
            waits = waits or fields[_STATE] == _FOR_A_DISK
    return spent, waits


class WatchedAnswers(io.RawIOBase):
    """A stream of answers that raises a MachineError if the child is silent and idle."""

    def __init__(self, pipe: IO[bytes], group: int, name: Callable[[], str]) -> None:
        self._pipe, self._group, self._name = pipe, group, name

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Wait for bytes, and read some."""
        still, before = 0, None
        while not select.select([self._pipe], [], [], _LOOK)[0]:
            work = work_of(self._group)
            still = still + 1 if work == before and not work[1] else 0
            before = work
            if still >= _LOOKS:
                raise MachineError(
                    f"{self._name()}: decoding it has stalled: for {_LOOK * _LOOKS / 60:.0f} "
                    f"minutes it gave no result and used no processor time; run again",
                    code="machine.standstill",
                )
        return os.readv(self._pipe.fileno(), [buffer])

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()
        super().close()


_START = (
    "import sys; lifeline = int(sys.argv[1]); sys.path[:] = sys.argv[2:]; "
    "from recveil.io.worker.child import serve; serve(lifeline)"
)
# Environment variables passed to the child, which needs no others; secrets stay here.
_HANDED_ON = re.compile(
    r"PATH|PYTHON(HOME|PATH|DONTWRITEBYTECODE|PYCACHEPREFIX|NOUSERSITE)|(DY)?LD_LIBRARY_PATH|"
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TZDIR|TMPDIR|TMP|TEMP|[A-Z]+_NUM_THREADS|SYSTEMROOT"
)
_PIPE_BYTES = 1 << 20
_SECONDS_TO_END = 10.0
# Whether the child can have a memory limit of its own. If so, libraries that get no memory end it
# just as a damaged file does.
_IS_LIMITED = Path("/proc/self/statm").exists()
_DEATHS_FOR_MEMORY = ("SIGABRT", "SIGSEGV")
Wanted = Literal["schema", "first", "table", "batches"]


@brief
class Decoded(NamedTuple):
    """The decoded content of a binary file, such as Parquet."""

    schema: pa.Schema
    groups: list[int]  # rows of each row group of a Parquet file; empty for an Arrow file
    batches: Iterator[tuple[pa.RecordBatch, int]]  # the requested values, each with its row group
    # The file's, if only the schema was requested
    metadata: Mapping[str, str] = MappingProxyType({})

    def _facts(self) -> dict[str, object]:
        return {"columns": len(self.schema), "groups": len(self.groups)}


@contextmanager
def decoding(
    path: Path,
    format: str = "parquet",
    wanted: Wanted = "schema",
    *,
    columns: Sequence[str] = (),
    dictionary: Sequence[str] = (),
    narrow: bool = False,
    rows: int = 0,
    packings: Collection[str] = ("gzip",),
    within: Mapping[str, str | None] = MappingProxyType({}),
) -> Iterator[Decoded]:
    """Decode a file, packed or not, in a child process, as a damaged file may crash the decoder.

    `wanted` are no values, the first `rows` (without nested columns), all of some columns, or these
    in batches of at most `rows`. `dictionary` names text columns to encode; `narrow` reads whole
    numbers as 32 bits if all values fit. Archives can hold other files, so callers that inspect
    untrusted files exclude them from `packings`. `within` is the `query`, `table` or `sheet`.
    Raises OSError or pyarrow.ArrowInvalid as decoding here would.
    """
    request = Request(
        path=os.fspath(path.absolute()),
        packed=packing_of(path) in packings,
        format=format,
        wanted=wanted,
        columns=list(columns),
        dictionary=list(dictionary),
        narrow=narrow,
        rows=rows,
        limit=memory_limit(),
        within=dict(within),
    )
    child = _Child.take()
    try:
        head, stream = child.ask(request, path.name)
        batches = child.batches(stream, path.name)
        if wanted == "schema":  # the child is ready for the next request in any case
            batches = iter(list(batches))
        yield Decoded(stream.schema, head.groups, batches, head.metadata)
        next(batches, None)  # reads the end of the answer
    finally:
        child.give_back()


def decoded_table(path: Path, format: str = "parquet", **wanted: Any) -> pa.Table:
    """Return the values of `decoding` as one table."""
    with decoding(path, format, **{"wanted": "table", **wanted}) as found:
        return pa.Table.from_batches([batch for batch, _ in found.batches], found.schema)


class _Child:
    """A child process that answers requests in turn, and ends when this process does."""

    # Idle children, kept because starting one takes longer than reading a small file.
    _idle: list["_Child"] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.parent = os.getpid()
        self.is_waiting = True  # for a request: its last answer was read to the end
        # Only this process holds the other end, so the child ends with it in any case.
        lifeline, self.held = lifeline_pipe() if HAS_LIFELINES else (-1, -1)
        self.process = subprocess.Popen(  # noqa: S603  # a fixed command, and no shell
            [sys.executable, "-c", _START, str(lifeline), *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # A group of its own, so that its own children end with it.
            start_new_session=True,
            # Memory of decoded data is returned to the system at once.
            env=_surroundings(),
            pass_fds=(lifeline,) if HAS_LIFELINES else (),
        )
        if HAS_LIFELINES:
            os.close(lifeline)
        self.requests = cast(IO[bytes], self.process.stdin)
        answers = cast(IO[bytes], self.process.stdout)
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            fcntl.fcntl(answers, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.asked_about = ""
        self.answers: Any = answers
        if CAN_LOOK:
            watched = WatchedAnswers(answers, self.process.pid, lambda: self.asked_about)
            self.answers = io.BufferedReader(watched)

    @classmethod
    def take(cls) -> "_Child":
        """Return an idle child, or start one."""
        while cls._idle:
            child = cls._idle.pop()
            # After a fork, the parent's children must not be used.
            if child.parent == os.getpid() and child.process.poll() is None:
                return child
            child.end()
        return cls()

    def give_back(self) -> None:
        """Keep the child if its last answer was read to the end; else end it."""
        if self.is_waiting and self.process.poll() is None:
            self._idle.append(self)
        else:
            self.end()

    def end(self) -> None:
        """Kill the process."""
        if self.parent != os.getpid():
            return
        for pipe in (self.requests, self.answers):
            with suppress(OSError):
                pipe.close()
        if self.held >= 0:
            os.close(self.held)
            self.held = -1
        with suppress(ProcessLookupError, AttributeError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    @classmethod
    def end_all(cls) -> None:
        """Kill all idle children."""
        while cls._idle:
            cls._idle.pop().end()

    def ask(self, request: Request, name: str) -> tuple[Head, Any]:
        """Send a request; return the head of the answer, and the stream that follows it."""
        self.is_waiting, self.asked_about = False, name
        try:
            self.requests.write(json.dumps(request._asdict()).encode() + b"\n")
            self.requests.flush()
        except BrokenPipeError:
            self._died(name)
        head = Head(**self._line(name))
        try:
            return head, pa.ipc.open_stream(pa.PythonFile(self.answers, "r"))
        except (pa.ArrowException, OSError):
            self._died(name)

    def batches(self, stream: Any, name: str) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the batches of an answer, and raise the error at its end, if any."""
        while True:
            try:
                batch, about = stream.read_next_batch_with_custom_metadata()
            except StopIteration:
                break
            except (pa.ArrowException, OSError):
                self._died(name)
            yield batch, int(about["group"])
        self._line(name)
        self.is_waiting = True

    def _line(self, name: str) -> Any:
        line = self.answers.readline()
        if not line.endswith(b"\n"):
            self._died(name)
        reply = json.loads(line)
        if "error" in reply:
            self.is_waiting = True  # an error ends an answer
            _raise(Failure(**reply), name)
        return reply

    def _died(self, name: str) -> NoReturn:
        """Raise the error that the death of the process implies."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_SECONDS_TO_END)
        code = self.process.poll()
        if code is None or code >= 0:
            raise MachineError(
                f"{name}: the process that decodes it ended (code {code}); run again, with more "
                f"memory if there was little",
                code="machine.killed",
            )
        number = signal.Signals(-code)
        if number == signal.SIGKILL:
            raise MachineError(
                f"{name}: decoding it was killed by the system: {not_enough()}",
                code="machine.killed",
            )
        if (
            _IS_LIMITED and number.name in _DEATHS_FOR_MEMORY
        ):  # the two causes cannot be distinguished
            raise MachineError(
                f"{name}: it is damaged, or takes more memory than the "
                f"{format_bytes(memory_limit())} it may, so that decoding it crashed "
                f"({number.name}); give more with max_memory (--max-memory), or fetch or write the "
                f"file again",
                code="machine.killed",
            )
        raise RecveilError(
            f"{name}: it is damaged, so that decoding it crashed ({number.name}; nothing else was "
            f"harmed); fetch or write the file again",
            code="input.damaged",
        )


def _surroundings() -> dict[str, str]:
    """Return the environment of the child, without credentials or anything else unneeded."""
    handed = {name: value for name, value in os.environ.items() if _HANDED_ON.fullmatch(name)}
    return handed | {"ARROW_DEFAULT_MEMORY_POOL": "system"}


def _raise(failure: Failure, name: str) -> None:
    """Raise an error of the child in this process."""
    error, message, code, needed, n_rows, errno = failure
    if error == "large":
        rows = f"its {describe_count(n_rows, 'row')}" if n_rows else "its values"
        reject_for_memory(f"{name}: {rows}", needed, at_least=not n_rows)
    if error == "memory":
        reject_for_memory(f"{name}: its values", memory_limit(), at_least=True)
    if error == "refused":
        raise RecveilError(message, code=code)
    if error == "packed":
        raise BadGzipFile(message)
    if error == "system":
        raise OSError(errno, message, name)
    raise pa.ArrowInvalid(message)


atexit.register(_Child.end_all)
