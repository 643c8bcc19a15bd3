"""Reading the ratings file of a release in pieces, and seeing to it that it holds nothing else."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from recveil.decoding import decoding
from recveil.errors import RecveilError
from recveil.memory import refuse_beyond_limit
from recveil.verify.parquet import MOST_ROWS, ParquetBytes, UnaccountedError
from recveil.verify.verification import Violation

# What becomes of an item while its rows are judged: an object for its id, and copies of numbers.
_AN_ITEM = 100
_BLOCK_BYTES, _ROWS_AT_ONCE = 1 << 25, 1 << 20


def csv_pieces(path: Path, schema: pa.Schema, violations: list[Violation]) -> Iterator[pa.Table]:
    """Read text, and see to it that it is written in the one way in which recveil writes it.

    4 and 4.0 are one number to a parser, and quotes, spaces and empty lines are nothing, but a
    reader of the file can tell them apart. So what was read is written again, and compared.
    """
    reader = pa_csv.open_csv(
        path,
        pa_csv.ReadOptions(block_size=_BLOCK_BYTES),
        pa_csv.ParseOptions(newlines_in_values=True),
        pa_csv.ConvertOptions(column_types={name: pa.string() for name in schema.names}),
    )
    _check_names(path, reader.schema.names, schema, violations)
    with path.open("rb") as stream:
        line = 1  # of what is compared next; 0 after the first difference
        line = _compare(path, stream, schema.empty_table(), line, violations, header=True)
        n_before = 0
        for batch in reader:
            text = pa.table(batch).select(schema.names)
            table = text.cast(schema)
            line = line and _compare(path, stream, table, line, violations)
            if not line:
                violations += _unusual(path, text, table, n_before)
            n_before += table.num_rows
            yield table
        if line and stream.read(1):
            violations.append(_not_as_ours(path, line))


def _compare(
    path: Path,
    stream: Any,
    table: pa.Table,
    line: int,
    violations: list[Violation],
    *,
    header: bool = False,
) -> int:
    """Compare the next rows with how recveil writes them; return the next line, or 0."""
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(table, sink, pa_csv.WriteOptions(include_header=header))
    written = sink.getvalue()
    found = stream.read(written.size)
    if written.equals(pa.py_buffer(found)):
        return line + found.count(b"\n")
    length = min(written.size, len(found))
    expected = np.frombuffer(written, np.uint8)[:length]
    differs = np.flatnonzero(expected != np.frombuffer(found, np.uint8)[:length])
    at = int(differs[0]) if differs.size else length
    violations.append(_not_as_ours(path, line + found[:at].count(b"\n")))
    return 0


def _not_as_ours(path: Path, line: int) -> Violation:
    problem = (
        "from here on, the text is not written as recveil writes it (quotes, spaces, line ends, "
        "empty lines or numbers), which may tell people apart"
    )
    return Violation(f"{path.name} line {line}", None, None, problem)


def _unusual(path: Path, text: pa.Table, table: pa.Table, n_before: int) -> Iterator[Violation]:
    """Name each number that is not written in the one usual way."""
    for name in table.column_names:
        usual = table[name].cast(pa.string())
        differs = pc.fill_null(pc.not_equal(text[name], usual), False)
        for row in np.flatnonzero(differs.to_numpy()).tolist():
            place, user_id = n_before + row + 1, text["user_id"][row].as_py()
            problem = f"its {name} is written unusually: {text[name][row].as_py()!r:.80}"
            yield Violation(f"{path.name} line {place + 1}", place, user_id, problem)


def parquet_pieces(
    path: Path, schema: pa.Schema, violations: list[Violation]
) -> Iterator[pa.Table]:
    """Read a Parquet file by its row groups, and account for every byte of it."""
    with decoding(path) as described:
        found, rows_of = described.schema, described.groups
    _check_names(path, found.names, schema, violations)
    for field in schema:
        expected, stored = field.type, found.field(field.name).type
        if stored not in (expected, pa.large_string() if expected == pa.string() else expected):
            # A cast could make different values equal.
            raise RecveilError(
                f"{path.name}: column {field.name!r} holds {stored}; a release has {expected}",
                code="release.damaged",
            )
    if found.metadata or any(found.field(name).metadata for name in schema.names):
        problem = "it carries metadata beside the ratings; nobody has checked what it tells"
        violations.append(Violation(path.name, None, None, problem))
    # A user's id stands in many rows: as a dictionary it is decoded once a page.
    coded = schema.set(0, pa.field("user_id", pa.dictionary(pa.int32(), pa.string())))
    account = _Account(path, schema, violations)
    wanted: Any = {"columns": schema.names, "dictionary": ["user_id"], "rows": _ROWS_AT_ONCE}
    with decoding(path, wanted="batches", **wanted) as decoded:
        for group, batches in itertools.groupby(decoded.batches, lambda each: each[1]):
            small = rows_of[group] <= MOST_ROWS
            pieces = []
            for batch, _ in batches:
                piece = pa.table(batch).cast(coded)
                pieces += [piece] if small else []
                yield piece
            if small:
                account.check_group(pa.concat_tables(pieces))
    account.check_end()


def model_table(
    path: Path,
    names: Callable[[int], Sequence[str]],
    id_type: pa.DataType,
    violations: list[Violation],
) -> pa.Table:
    """Read what people are drawn from, and account for every byte of it.

    Parameters
    ----------
    path : Path
    names : callable
        Takes the number of columns, and returns what they are called: the items' ids first, then
        numbers.
    id_type : pyarrow.DataType
        Of the first column; the others are float32.
    violations : list of Violation
        What should not be there is added.

    Raises
    ------
    RecveilError
        If it cannot be read, or its columns are others.
    """
    try:
        with decoding(path) as described:
            found = described.schema
        expected = list(names(len(found)))
        types = [id_type, *[pa.float32()] * (len(found) - 1)]
        if found.names != expected or list(found.types) != types:
            raise RecveilError(
                f"{path.name}: its columns are not those of a model", code="release.damaged"
            )
        if found.metadata or any(field.metadata for field in found):
            problem = "it carries metadata beside the model; nobody has checked what it tells"
            violations.append(Violation(path.name, None, None, problem))
        account = _Account(path, found, violations)
        tables = [found.empty_table()]
        wanted: Any = {"columns": found.names, "rows": MOST_ROWS}
        with decoding(path, wanted="batches", **wanted) as decoded:
            held = 0
            for _, batches in itertools.groupby(decoded.batches, lambda each: each[1]):
                tables.append(pa.Table.from_batches([batch for batch, _ in batches]))
                held += tables[-1].nbytes + _AN_ITEM * tables[-1].num_rows
                refuse_beyond_limit(f"{path.name}: its items", held, at_least=True)
                account.check_group(tables[-1])
        account.check_end()
        return pa.concat_tables(tables)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise RecveilError(
            f"{path.name}: cannot be read as a model ({reason})", code="release.damaged"
        ) from error


class _Account:
    """Accounts for the bytes of a Parquet file up to the first thing that should not be there."""

    def __init__(self, path: Path, schema: pa.Schema, violations: list[Violation]) -> None:
        self.path, self.violations = path, violations
        self.bytes: ParquetBytes | None = None
        try:
            self.bytes = ParquetBytes(path, schema)
        except UnaccountedError as error:
            self._stop(error)

    def check_group(self, table: pa.Table) -> None:
        if self.bytes is not None:
            try:
                self.bytes.check_group(table)
            except UnaccountedError as error:
                self._stop(error)

    def check_end(self) -> None:
        if self.bytes is not None:
            try:
                self.bytes.check_end()
            except UnaccountedError as error:
                self._stop(error)

    def _stop(self, error: UnaccountedError) -> None:
        problem = f"it is not stored as recveil stores it, which may tell something: {error}"
        self.violations.append(Violation(self.path.name, None, None, problem))
        self.bytes = None


def _check_names(
    path: Path, names: list[str], schema: pa.Schema, violations: list[Violation]
) -> None:
    for name in schema.names:
        if names.count(name) != 1:
            raise RecveilError(
                f"{path.name}: expected one column {name!r}, found {names.count(name)}",
                code="release.damaged",
            )
    for name in sorted(set(names) - set(schema.names)):
        problem = f"column {name!r:.80} is no part of a release and may tell people apart"
        violations.append(Violation(path.name, None, None, problem))
