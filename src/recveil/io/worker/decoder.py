"""Decoder: asks another process what is in a file with types, such as Parquet."""

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

from recveil.io.worker.packing import packing_of
from recveil.runtime.child_process import HAS_LIFELINES, lifeline_pipe
from recveil.runtime.errors import MachineError, RecveilError, describe_count
from recveil.runtime.memory import in_words, memory_limit, not_enough, reject_for_memory
from recveil.runtime.safe_repr import brief

# Seconds between two looks at a process that does not answer; after so many looks it is given up.
_LOOK, _LOOKS = 15.0, 12
# Where a process says what it does, a line with numbers after its name in brackets.
_PROCESSES = Path("/proc")
_STATE, _GROUP, _USED = 0, 2, slice(11, 15)
# It waits for a disk, and will go on.
_FOR_A_DISK = "D"

CAN_LOOK = (_PROCESSES / "self" / "stat").exists()


def work_of(group: int) -> tuple[int, bool]:
    """Return how long the processes of a group have worked, and whether one waits for a disk.

    Parameters
    ----------
    group : int
        The number of the group, which is that of its first process.

    Examples
    --------
    >>> work_of(os.getpgrp())[0] >= 0
    True
    """
    spent, waits = 0, False
    for about in _PROCESSES.glob("[0-9]*/stat"):
        try:
            told = about.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(told[_GROUP]) == group:
            spent += sum(map(int, told[_USED]))
            waits = waits or told[_STATE] == _FOR_A_DISK
    return spent, waits


class WatchedAnswers(io.RawIOBase):
    """What a process answers; it raises a MachineError if nothing comes, and it does not work.

    Parameters
    ----------
    pipe : file
        Where the answers come from.
    group : int
        The group of the processes that give them.
    name : callable
        Returns what is asked about, for the error.
    """

    def __init__(self, pipe: IO[bytes], group: int, name: Callable[[], str]) -> None:
        self._pipe, self._group, self._name = pipe, group, name

    def readable(self) -> bool:
        """Say that it can be read."""
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
                    f"{self._name()}: decoding it stands still: for {_LOOK * _LOOKS / 60:.0f} "
                    f"minutes nothing came of it, and it did not work either; run again",
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
# What the other process is told of its surroundings; it needs no more, and learns no secrets.
_HANDED_ON = re.compile(
    r"PATH|PYTHON(HOME|PATH|DONTWRITEBYTECODE|PYCACHEPREFIX|NOUSERSITE)|(DY)?LD_LIBRARY_PATH|"
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TZDIR|TMPDIR|TMP|TEMP|[A-Z]+_NUM_THREADS|SYSTEMROOT"
)
_PIPE_BYTES = 1 << 20
_SECONDS_TO_END = 10.0
# Whether the other process can be given a limit of its own, and how libraries end it that get no
# memory then: as they do of a damaged file.
_IS_LIMITED = Path("/proc/self/statm").exists()
_DEATHS_FOR_MEMORY = ("SIGABRT", "SIGSEGV")
Wanted = Literal["schema", "first", "table", "batches"]


@brief
class Decoded(NamedTuple):
    """What is in a file with types, such as Parquet.

    Attributes
    ----------
    schema : pyarrow.Schema
    groups : list of int
        The rows of each row group, as a Parquet file tells them; empty for an Arrow file.
    batches : iterator of (RecordBatch, int)
        The values that were asked for, with the row group in which they stand.
    metadata : mapping of str to str
        What the file tells beside its columns, where nothing but the schema was asked for.
    """

    schema: pa.Schema
    groups: list[int]
    batches: Iterator[tuple[pa.RecordBatch, int]]
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
    """Let another process decode a file, which this one could die of.

    Parameters
    ----------
    path : Path
        The file, packed (see `packing_of`) or not.
    format : {"parquet", "arrow", "sqlite", "duckdb", "workbook"}
    wanted : {"schema", "first", "table", "batches"}
        Which values: none, the first rows (without those of nested columns), all of some columns,
        or these in batches that keep to row groups, of which few are held at a time.
    columns : sequence of str
        Of a table or of batches.
    dictionary : sequence of str
        Columns of text that are to be read as dictionaries.
    narrow : bool
        Whether to read whole numbers as 32 bits where all of a column fit.
    rows : int
        How many are the first, or in a batch at most.
    packings : collection of str
        How the file may be packed. An archive has room for more than a table, so that whoever
        looks into what others wrote does not want it opened.
    within : mapping of str to (str or None)
        Which table it is, of a file that may hold several: its `query`, `table` or `sheet`.

    Raises
    ------
    MemoryLimitError
        If it takes more memory than may be taken.
    RecveilError
        If the other process dies of it, or says what is wrong with it.
    OSError, pyarrow.ArrowInvalid
        As if it were read here.

    Examples
    --------
    >>> import pyarrow.parquet as pq
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.parquet")
    ...     pq.write_table(pa.table({"user_id": [7], "rating": [3.5]}), path)
    ...     with decoding(path) as found:
    ...         found.schema.names, found.groups
    (['user_id', 'rating'], [1])
    """
    request = {
        "path": os.fspath(path.absolute()),
        "packed": packing_of(path) in packings,
        "format": format,
        "wanted": wanted,
        "columns": list(columns),
        "dictionary": list(dictionary),
        "narrow": narrow,
        "rows": rows,
        "limit": memory_limit(),
        "within": dict(within),
    }
    child = _Child.take()
    try:
        head, stream = child.ask(request, path.name)
        batches = child.batches(stream, path.name)
        if wanted == "schema":  # whatever is said of it then, the child waits for the next request
            batches = iter(list(batches))
        yield Decoded(stream.schema, head["groups"], batches, head.get("metadata", {}))
        next(batches, None)  # the end, if all was read
    finally:
        child.give_back()


def decoded_table(path: Path, format: str = "parquet", **wanted: Any) -> pa.Table:
    """Return the values of `decoding` in one table.

    Examples
    --------
    >>> import pyarrow.parquet as pq
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.parquet")
    ...     pq.write_table(pa.table({"user_id": [7], "rating": [3.5]}), path)
    ...     decoded_table(path, columns=["rating"]).to_pydict()
    {'rating': [3.5]}
    """
    with decoding(path, format, **{"wanted": "table", **wanted}) as found:
        return pa.Table.from_batches([batch for batch, _ in found.batches], found.schema)


class _Child:
    """A process that answers requests, one after the other; it ends when this one does."""

    # Those that wait for the next request: to start one takes longer than to read a small file.
    _idle: list["_Child"] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.is_waiting = True  # for a request: its last answer was read to the end
        # Only this process holds the other end: however it ends, so does that one.
        lifeline, self.held = lifeline_pipe() if HAS_LIFELINES else (-1, -1)
        self.process = subprocess.Popen(  # noqa: S603  # a fixed command, and no shell
            [sys.executable, "-c", _START, str(lifeline), *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # A group of its own, so that what it started ends with it.
            start_new_session=True,
            # What is decoded goes back to the system at once, and takes no more than it must.
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
        """Return one that waits, or start one."""
        while cls._idle:
            child = cls._idle.pop()
            # After a fork, those of the parent are not ours to ask.
            if child.owner == os.getpid() and child.process.poll() is None:
                return child
            child.end()
        return cls()

    def give_back(self) -> None:
        """Keep it for the next request, if its last answer was read to the end; else end it."""
        if self.is_waiting and self.process.poll() is None:
            self._idle.append(self)
        else:
            self.end()

    def end(self) -> None:
        """End the process, whatever it does."""
        if self.owner != os.getpid():
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
        """End those that wait."""
        while cls._idle:
            cls._idle.pop().end()

    def ask(self, request: dict[str, Any], name: str) -> tuple[dict[str, Any], Any]:
        """Send a request; return the head of the answer, and the stream that follows it."""
        self.is_waiting, self.asked_about = False, name
        try:
            self.requests.write(json.dumps(request).encode() + b"\n")
            self.requests.flush()
        except BrokenPipeError:
            self._died(name)
        head = self._line(name)
        try:
            return head, pa.ipc.open_stream(pa.PythonFile(self.answers, "r"))
        except (pa.ArrowException, OSError):
            self._died(name)

    def batches(self, stream: Any, name: str) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the batches of an answer, and raise what its end tells."""
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

    def _line(self, name: str) -> dict[str, Any]:
        line = self.answers.readline()
        if not line.endswith(b"\n"):
            self._died(name)
        told: dict[str, Any] = json.loads(line)
        if "error" in told:
            self.is_waiting = True  # an error is the end of an answer
            _raise(told, name)
        return told

    def _died(self, name: str) -> NoReturn:
        """Raise what the death of the process says of the file."""
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
        if _IS_LIMITED and number.name in _DEATHS_FOR_MEMORY:  # nobody can tell which it was
            raise MachineError(
                f"{name}: it is damaged, or takes more memory than the "
                f"{in_words(memory_limit())} it may, so that decoding it crashed ({number.name}); "
                f"give more with max_memory (--max-memory), or fetch or write the file again",
                code="machine.killed",
            )
        raise RecveilError(
            f"{name}: it is damaged, so that decoding it crashed ({number.name}; nothing else was "
            f"harmed); fetch or write the file again",
            code="input.damaged",
        )


def _surroundings() -> dict[str, str]:
    """Return the environment of the other process: no credentials, and nothing else unneeded."""
    handed = {name: value for name, value in os.environ.items() if _HANDED_ON.fullmatch(name)}
    return handed | {"ARROW_DEFAULT_MEMORY_POOL": "system"}


def _raise(told: dict[str, Any], name: str) -> None:
    """Raise here what went wrong there."""
    message = told.get("message", "")
    if told["error"] == "large":
        rows = f"its {describe_count(told['rows'], 'row')}" if told["rows"] else "its values"
        reject_for_memory(f"{name}: {rows}", told["needed"], at_least=not told["rows"])
    if told["error"] == "memory":
        reject_for_memory(f"{name}: its values", memory_limit(), at_least=True)
    if told["error"] == "refused":
        raise RecveilError(message, code=told["code"])
    if told["error"] == "packed":
        raise BadGzipFile(message)
    if told["error"] == "system":
        raise OSError(told["errno"], message, name)
    raise pa.ArrowInvalid(message)


atexit.register(_Child.end_all)
