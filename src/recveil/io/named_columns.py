"""Named columns: those of a file beside the table, text or not, found by their names."""

import codecs
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from recveil.brief import brief
from recveil.databases import kind_of_file
from recveil.databases.address import NAMES
from recveil.decoding import PACKINGS, decoded_table, decoding
from recveil.errors import RecveilError, describe_count, listed, quoted
from recveil.io.delimited import Dialect, check_one_line, check_utf8, read_records
from recveil.io.files import naming, opened_text
from recveil.io.formats import columnar_format
from recveil.io.json_objects import first_objects, read_objects, text_of
from recveil.io.kinds import (
    HEAD_BYTES,
    is_json,
    is_zip,
    refuse_archive,
    refuse_unreadable,
    workbook_in,
)
from recveil.io.lines import Place
from recveil.ratings.columns import Locate
from recveil.ratings.plain_types import plain_table

# The line and the values of a row, as Python keeps them.
_A_ROW = 250
# What may stand between names; the first, if none does.
_MARKS = ",\t;|"


@brief
class NamedColumns:
    """What a file says, row by row, and where.

    Parameters
    ----------
    columns : mapping of str to pyarrow.ChunkedArray
        By the names that they were asked for; text where the file holds text, an empty field being
        null.
    locate : callable
        Turns a row's position, from 0, into its place in the file: "levels.csv line 812".
    """

    def __init__(self, columns: Mapping[str, pa.ChunkedArray], locate: Locate) -> None:
        self.columns = columns
        self.locate = locate

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.columns[name]

    def _facts(self) -> dict[str, object]:
        return {name: len(column) for name, column in self.columns.items()}


def read_named(path: Path, usual: Mapping[str, Sequence[str]], expected: str) -> NamedColumns:
    r"""Read the columns of a file that have certain names; others are passed over.

    Parameters
    ----------
    path : Path
        Text with a header, between commas, tabs, semicolons or bars; JSON Lines or an array of
        objects; Parquet or Arrow; packed or not.
    usual : mapping of str to sequence of str
        For each column that is needed how files may call it, small letters alone; the first that a
        file has is taken.
    expected : str
        What was expected instead, for errors.

    Raises
    ------
    RecveilError
        For a file that cannot be read, is of another kind, or lacks a column.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "levels.jsonl")
    ...     _ = path.write_text('{"user_id": "ann", "k": 3}\n{"user_id": "ben", "k": 1}\n')
    ...     found = read_named(path, {"user": ("userid",), "k": ("k",)}, "objects with both")
    >>> found["k"].to_pylist(), found.locate(1)
    (['3', '1'], 'levels.jsonl line 2')
    """
    choose = partial(_choose, usual=usual, where=path.name, expected=expected)
    with naming(path):
        head = head_of(path)
        if (columnar := columnar_format(head)) is not None:
            return _read_columnar(path, columnar, choose)
        # A byte order mark that ends in its middle is nothing to whoever reads on.
        text = (
            "" if codecs.BOM_UTF8.startswith(head) else head.decode("utf-8-sig", errors="replace")
        )
        if not text.strip():
            raise RecveilError(f"{path.name}: the file is empty; {expected}", code="input.empty")
        if is_json(text):
            return _read_json(path, choose)
        return _read_text(path, dialect_of(text), choose)


def head_of(path: Path) -> bytes:
    """Return how a file begins, unpacked; refuse one that is no table of a kind that is read.

    Raises
    ------
    RecveilError
        What the file is, and what to make of it.
    """
    what = workbook_in(path)
    if kind := kind_of_file(path):
        what = f"a {NAMES[kind]} database"
    if what is not None:
        raise RecveilError(
            f"{path.name}: {what}, of which only the table itself is read; write what is meant to "
            f"a file, such as CSV, and name that",
            code="input.unknown-format",
        )
    if is_zip(path):
        refuse_archive(path)
    with opened_text(path) as file:
        head = file.read(HEAD_BYTES)
    refuse_unreadable(path, head)
    return head


def dialect_of(text: str) -> Dialect:
    r"""Say how a text is split, by what stands between the names of its columns.

    Examples
    --------
    >>> dialect_of("user_id\tk\n7\t3\n").delimiter, dialect_of("user_id;k\n7;3\n").delimiter
    ('\t', ';')
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    return Dialect(max(_MARKS, key=first.count), quotes=True, header=True)


def finds_all(names: Sequence[str], usual: Mapping[str, Sequence[str]]) -> bool:
    """Say whether each column has a name among some.

    Examples
    --------
    >>> finds_all(["User-ID", "K"], {"user": ("userid",), "k": ("k", "level")})
    True
    """
    return all(_fitting(names, wished) for wished in usual.values())


def _read_columnar(path: Path, format: str, choose: Any) -> NamedColumns:
    with decoding(path, format, packings=PACKINGS) as found:
        chosen = choose(found.schema.names)
    table = decoded_table(path, format, columns=[*chosen.values()], packings=PACKINGS)
    table = plain_table(table)
    columns = {role: table[name] for role, name in chosen.items()}
    return NamedColumns(columns, lambda row: f"{path.name} row {row + 1}")


def _read_json(path: Path, choose: Any) -> NamedColumns:
    chosen = choose(first_objects(path).column_names)
    rows = (
        (line, [text_of(each.get(name), name, line, path.name) for name in chosen.values()])
        for line, each in read_objects(path, _A_ROW)
    )
    return _gathered(path, [*chosen], rows)


def _read_text(path: Path, dialect: Dialect, choose: Any) -> NamedColumns:
    records = read_records(path, dialect, _A_ROW)
    line, names = next(records)
    check_utf8(names, Place(path.name, line))
    chosen = choose(names)
    places = [names.index(name) for name in chosen.values()]
    rows = (
        (line, [fields[place] or None for place in places])
        for line, fields in _whole_records(records, names, dialect, path)
    )
    return _gathered(path, [*chosen], rows)


def _gathered(
    path: Path, names: list[str], rows: Iterator[tuple[int, list[str | None]]]
) -> NamedColumns:
    """Keep rows of text as columns, and in which lines they stand."""
    lines: list[int] = []
    values: list[list[str | None]] = [[] for _ in names]
    for line, row in rows:
        lines.append(line)
        for column, value in zip(values, row, strict=True):
            column.append(value)
    columns = {
        name: pa.chunked_array([pa.array(column, pa.string())])
        for name, column in zip(names, values, strict=True)
    }
    return NamedColumns(columns, lambda row: str(Place(path.name, lines[row])))


def _whole_records(
    records: Iterator[tuple[int, list[str]]], names: Sequence[str], dialect: Dialect, path: Path
) -> Iterator[tuple[int, list[str]]]:
    for line, fields in records:
        place = Place(path.name, line)
        if len(fields) != len(names):
            raise RecveilError(
                f"{place}: expected {describe_count(len(names), 'column')}, got {len(fields)} "
                f"({dialect.excerpt(fields)}); mend or drop the line",
                code="input.line",
            )
        check_one_line(fields, place)
        check_utf8(fields, place)
        yield line, fields


def _choose(
    names: Sequence[str], *, usual: Mapping[str, Sequence[str]], where: str, expected: str
) -> dict[str, str]:
    """Return what the file calls each column that is needed."""
    chosen: dict[str, str] = {}
    for role, wished in usual.items():
        fitting = _fitting(names, wished, chosen.values())
        if not fitting:
            raise RecveilError(
                f"{where}: no {role} column among {listed(names)}; {expected}",
                code="column.missing",
            )
        if names.count(fitting[0]) > 1:
            raise RecveilError(
                f"{where}: two columns are called {quoted(fitting[0])}; rename one",
                code="column.duplicate",
            )
        chosen[role] = fitting[0]
    return chosen


def _fitting(names: Sequence[str], wished: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    free = [name for name in names if name not in taken]
    return [name for wish in wished for name in free if _plain(name) == wish]


def _plain(name: str) -> str:
    return re.sub(r"[_\- ]", "", name.partition(":")[0]).lower()
