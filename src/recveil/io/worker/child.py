"""The child process that decodes binary files, with pyarrow alone, and returns their content.

A damaged file can crash the decoder, and a small one can unpack to many gigabytes: this process
loses nothing then. Each value is validated and encoded again for the parent.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from recveil.io.worker.messages import Failure, Head, Request
from recveil.io.worker.packing import DAMAGED, opened_unpacked
from recveil.runtime.child_process import hold_on
from recveil.runtime.errors import RecveilError
from recveil.runtime.memory import MemoryLimitError

# Bytes for each row kept, in addition to its decoded values, while rows are sorted.
_A_ROW = 16
# Batches held at a time by the child and its parent; a small batch is always allowed.
_HELD_AT_A_TIME, _SMALL_BATCH = 4, 1 << 26


class TooLargeError(Exception):
    """Raised if the decoded data exceed the memory limit, with their bytes and rows."""


def each_small(
    batches: Iterator[tuple[pa.RecordBatch, int]], limit: int
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches; reject one that is too large to hold a few like it."""
    most = max(limit // _HELD_AT_A_TIME, _SMALL_BATCH)
    for batch, group in batches:
        if batch.nbytes > most:
            raise TooLargeError(_HELD_AT_A_TIME * batch.nbytes, None)
        yield batch, group


class Held:
    """Counts the memory that the parent will hold."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.rows = 0
        self.bytes = 0

    def reject_rows(self, n_rows: int, schema: pa.Schema) -> None:
        """Check the number of rows stated by the file, before any is read."""
        a_row = sum(_bits(field.type) for field in schema) // 8 + _A_ROW
        if n_rows * a_row > self.limit:
            raise TooLargeError(n_rows * a_row, n_rows)

    def counting(
        self, batches: Iterator[tuple[pa.RecordBatch, int]]
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches until they exceed the limit."""
        for batch, group in batches:
            self.rows += batch.num_rows
            self.bytes += batch.nbytes + _A_ROW * batch.num_rows
            if self.bytes > self.limit:
                raise TooLargeError(self.bytes, None)
            yield batch, group


def _bits(kind: pa.DataType) -> int:
    if pa.types.is_dictionary(kind):
        return _bits(kind.index_type)
    try:
        return int(kind.bit_width)
    except ValueError:  # text: the size of its offset
        return 32


_ARROW_FILE_MAGIC = b"ARROW1"
_ROWS_AT_ONCE = 1 << 21
_PIECE = 1 << 22
# Module that reads files with several tables.
_OF_FILES = "recveil.io.databases.connection"
_LOADED = {
    "sqlite": (_OF_FILES, "recveil.io.databases.sqlite", "adbc_driver_sqlite.dbapi"),
    "duckdb": (_OF_FILES, "recveil.io.databases.duckdb", "duckdb"),
    "workbook": ("recveil.io.worker.workbook", "python_calamine"),
}


def serve(lifeline: int = -1) -> None:
    """Answer requests, one line of JSON each, until the input ends.

    A forked copy of this process answers each request. If it dies, this process dies in the same
    way, which the parent detects; only the parent holds the other end of the pipe `lifeline` (-1:
    none).
    """
    if lifeline >= 0:
        hold_on(lifeline, group=True)
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    _leave_no_core()
    for line in sys.stdin.buffer:
        request = Request(**json.loads(line))
        if not hasattr(os, "fork"):
            answer(request, sys.stdout.buffer)
            continue
        _load(request.format)
        copy = os.fork()
        if not copy:
            try:
                answer(request, sys.stdout.buffer)
            except BrokenPipeError:
                os._exit(0)  # the parent has closed the pipe
            except BaseException:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(copy, 0)
        if os.WIFSIGNALED(status):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
        if status:
            sys.exit(1)


def _load(format: str) -> None:
    """Import the reader of a format once for all copies, which report a missing library."""
    with suppress(ImportError):
        for name in _LOADED.get(format, ()):
            import_module(name)


def answer(request: Request, out: Any) -> None:
    """Write a line of JSON, the values as an Arrow stream, and a final line of JSON."""
    try:
        _limit(request.limit)
        source = _open(request)
        head, schema, batches = source.answer(request)
        for field in schema:
            _require_text(field)
    except Exception as error:
        _write_line(out, _describe(error))
        return
    _write_line(out, head)
    failure = None
    with pa.ipc.new_stream(pa.PythonFile(out, "w"), schema) as stream:
        try:
            for batch, group in batches:
                batch.validate(full=True)
                stream.write_batch(batch, custom_metadata={"group": str(group)})
        except BrokenPipeError:
            raise
        except Exception as error:
            failure = _describe(error)
    _write_line(out, failure)


def _write_line(out: Any, message: Head | Failure | None) -> None:
    out.write(json.dumps({} if message is None else message._asdict()).encode() + b"\n")
    out.flush()


def _describe(error: Exception) -> Failure:
    if isinstance(error, TooLargeError):
        needed, rows = error.args
        return Failure("large", needed=needed, rows=rows)
    if isinstance(error, MemoryError | MemoryLimitError):
        return Failure("memory")
    if isinstance(error, RecveilError):
        return Failure("refused", str(error), error.code)
    if isinstance(error, DAMAGED):
        return Failure("packed", str(error))
    if isinstance(error, OSError) and error.errno:
        return Failure("system", os.strerror(error.errno), errno=error.errno)
    return Failure("content", str(error) or type(error).__name__)


def _leave_no_core() -> None:
    """Disable core dumps, which would leave decoded data on the disk."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit(n_bytes: int) -> None:
    """Limit the memory of this process to what it has, plus `n_bytes`."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        # In pages; the sixth number is data and stacks.
        pages = Path("/proc/self/statm").read_text().split()[5]
        taken = int(pages) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = taken + n_bytes + (1 << 28)  # for threads and decompression
        ends = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([most, *ends]), hard))


def _open(request: Request) -> "_Parquet | _Arrow | _Within":
    if request.format in _LOADED:
        return _Within(_table_within(request))
    path = os.fsencode(request.path)  # may not be UTF-8
    if request.packed:
        source: Any = pa.BufferReader(_unpacked(path, request.limit))
    else:
        source = pa.OSFile(path)  # not memory-mapped: a file may shrink while it is read
    return (_Parquet if request.format == "parquet" else _Arrow)(source)


def _table_within(request: Request) -> Any:
    """Open a file with several tables; its reader is imported on demand."""
    path = Path(request.path)
    if request.format == "workbook":
        from recveil.io.worker.workbook import Workbook

        within = request.within
        return Workbook(path, request.limit, within["sheet"], within.get("header") or "")
    from recveil.io.databases.connection import DatabaseFile

    return DatabaseFile(request.format, path, request.within, request.limit)


def _unpacked(path: bytes, limit: int) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with opened_unpacked(Path(os.fsdecode(path))) as packed:
        while piece := packed.read(_PIECE):
            sink.write(piece)
            if sink.tell() > limit:
                raise TooLargeError(sink.tell(), None)
    return sink.getvalue()


Answer = tuple[Head, pa.Schema, Iterator[tuple[pa.RecordBatch, int]]]


class _Parquet:
    """A Parquet file."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.parquet = pq.ParquetFile(file)

    def answer(self, request: Request) -> Answer:
        """Return the head of the answer, the schema, and the batches with their row groups."""
        about = self.parquet.metadata
        groups = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        head = Head(groups, {})
        schema = self.parquet.schema_arrow
        if request.wanted == "schema":
            return Head(groups, _legible(about.metadata)), schema, iter(())
        if request.wanted == "first":
            batches = self.parquet.iter_batches(request.rows)
            first = _first(batches, request.rows, schema)
            return head, _flat(schema), each_small(first, request.limit)
        places = _places_of(request.columns, schema.names)
        encoded = [schema.names[at] for at in _places_of(request.dictionary, schema.names)]
        self.parquet = pq.ParquetFile(self.file, read_dictionary=encoded)
        whole = self.parquet.schema_arrow
        self.names = [whole.names[at] for at in places]
        # A name that several columns have reads all of them.
        self.before = [whole.names[:at].count(whole.names[at]) for at in places]
        schema = pa.schema(
            [whole.field(at).with_name(n) for at, n in zip(places, request.columns, strict=True)]
        )
        if request.wanted == "batches":
            batches = self._by_group(request.rows, schema)
            return head, schema, each_small(batches, request.limit)
        if request.narrow:
            schema = self._narrowed(schema)
        held = Held(request.limit)
        held.reject_rows(sum(groups), schema)
        return head, schema, held.counting(self._all(groups, schema))

    def _all(self, groups: list[int], schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield all rows, reading a few groups at a time to use all cores."""
        run, rows = [], 0
        for group, n_rows in enumerate(groups):
            run.append(group)
            rows += n_rows
            if rows >= _ROWS_AT_ONCE or group == len(groups) - 1:
                table = self._selected(self.parquet.read_row_groups(run, self.names), schema)
                for batch in table.cast(schema).to_batches():
                    yield batch, group
                run, rows = [], 0

    def _by_group(self, rows: int, schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, int]]:
        for group in range(self.parquet.num_row_groups):
            for batch in self.parquet.iter_batches(rows, [group], self.names):
                yield self._selected(batch, schema), group

    def _selected(self, read: Any, schema: pa.Schema) -> Any:
        """Return the columns of a schema from those of their names."""
        names = read.schema.names
        places = [
            [at for at, each in enumerate(names) if each == name][n_before]
            for name, n_before in zip(self.names, self.before, strict=True)
        ]
        return read.select(places).rename_columns(schema.names)

    def _narrowed(self, schema: pa.Schema) -> pa.Schema:
        """Use 32 bits for columns of whole numbers that fit, according to the file's statistics."""
        for at, field in enumerate(schema):
            if pa.types.is_int64(field.type) and self._fits_32_bits(self.names[at]):
                schema = schema.set(at, pa.field(field.name, pa.int32()))
        return schema

    def _fits_32_bits(self, name: str) -> bool:
        about = self.parquet.metadata
        places = [at for at in range(about.num_columns) if about.schema.column(at).path == name]
        for group, at in product(range(about.num_row_groups), places):
            known = about.row_group(group).column(at).statistics
            if known is None or not known.has_min_max:
                return False
            if not -(2**31) <= known.min <= known.max < 2**31:
                return False
        return True


class _Arrow:
    """An Arrow file or stream."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def answer(self, request: Request) -> Answer:
        """Return the head of the answer, the schema, and the batches, which have no groups."""
        head = Head([], {})
        reader = self._reader()
        if request.wanted == "schema":
            return Head([], _legible(reader.schema.metadata)), reader.schema, iter(())
        if request.wanted == "first":
            batches = _batches(reader)
            first = _first(batches, request.rows, reader.schema)
            return head, _flat(reader.schema), each_small(first, request.limit)
        places = _places_of(request.columns, reader.schema.names)
        names = dict(sorted(zip(places, request.columns, strict=True)))
        reader = self._reader(pa.ipc.IpcReadOptions(included_fields=[*names]))
        fields = zip(reader.schema, names.values(), strict=True)
        schema = pa.schema([field.with_name(name) for field, name in fields])
        batches = (batch.rename_columns(schema.names) for batch in _batches(reader))
        held = Held(request.limit)
        return head, schema, held.counting((batch, 0) for batch in batches)

    def _reader(self, options: Any = None) -> Any:
        self.file.seek(0)
        is_stream = self.file.read(len(_ARROW_FILE_MAGIC)) != _ARROW_FILE_MAGIC
        self.file.seek(0)
        opened = pa.ipc.open_stream if is_stream else pa.ipc.open_file
        return opened(self.file, options=options)


class _Within:
    """One table of a file with several."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def answer(self, request: Request) -> Answer:
        """Return the head of the answer, the schema, and the batches; there are no groups."""
        head = Head([], {})
        if request.wanted == "schema":
            schema = pa.schema([(name, pa.null()) for name in self.table.names()])
            return head, schema, self._closing(iter(()))
        if request.wanted == "first":
            schema, batches = self.table.first(request.rows)
            small = each_small(((batch, 0) for batch in batches), request.limit)
            return head, schema, self._closing(small)
        schema, batches = self.table.rows(request.columns, request.dictionary)
        held = Held(request.limit)
        return head, schema, self._closing(held.counting((batch, 0) for batch in batches))

    def _closing(
        self, batches: Iterator[tuple[pa.RecordBatch, int]]
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        yield from batches
        self.table.close()


def _places_of(columns: list[str], names: list[str]) -> list[int]:
    """Return the positions of columns; a place follows a name that several columns have.

    >>> _places_of(["user", "rating (column 3)"], ["user", "rating", "rating"])
    [0, 2]
    """
    numbered = (column.rpartition(" (column ")[2].rstrip(")") for column in columns)
    return [
        names.index(column) if column in names else int(place) - 1
        for column, place in zip(columns, numbered, strict=True)
    ]


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return (reader.get_batch(at) for at in range(reader.num_record_batches))
    return iter(reader)


def _flat(schema: pa.Schema) -> pa.Schema:
    """Return the schema with null columns in place of nested ones."""
    fields = [field.with_type(pa.null()) if _is_nested(field) else field for field in schema]
    return pa.schema(fields)


def _legible(metadata: dict[bytes, bytes] | None) -> dict[str, str]:
    """Return metadata as text, whatever its encoding."""
    pairs = (metadata or {}).items()
    return {key.decode(errors="replace"): of.decode(errors="replace") for key, of in pairs}


def _require_text(field: pa.Field) -> None:
    """Reject a name that is not UTF-8, for which pyarrow would raise a Python error."""
    try:
        _ = field.name, getattr(field.type, "tz", None)
    except UnicodeDecodeError:
        raise pa.ArrowInvalid("the name of a column or time zone is no UTF-8 text") from None
    if pa.types.is_nested(field.type):
        for at in range(field.type.num_fields):
            _require_text(field.type.field(at))


def _is_nested(field: pa.Field) -> bool:
    return bool(pa.types.is_nested(field.type) or pa.types.is_run_end_encoded(field.type))


def _first(
    batches: Iterator[pa.RecordBatch], n_rows: int, schema: pa.Schema
) -> Iterator[tuple[pa.RecordBatch, int]]:
    taken = 0
    while taken < n_rows and (batch := next(batches, None)) is not None:
        rows = batch.slice(0, n_rows - taken)
        taken += len(rows)
        columns = [
            pa.nulls(len(rows)) if _is_nested(field) else column
            for field, column in zip(schema, rows.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_flat(schema)), 0
