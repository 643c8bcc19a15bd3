"""The first rows of a table, with all of its columns, and rows that one of them swallowed."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from recveil.io import FORMATS
from recveil.io.columns.frames import frame_of
from recveil.io.detect.dialect import recognize
from recveil.io.formats.delimited import DIALECTS, Dialect, read_records
from recveil.io.formats.typed_tables import OF_SEVERAL_TABLES, first_of_typed
from recveil.io.ingestion import Reading
from recveil.io.options import Layout
from recveil.io.part_files import parts_of
from recveil.io.source import ROLES, name_at
from recveil.io.tables import first_rows
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import python_values
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

MOST_ROWS = 1_000


@brief
class FirstRows(NamedTuple):
    """The first rows of a table; private, for the publisher only."""

    # Names of all columns, or their positions from 1 on
    names: tuple[str | int, ...]
    # Role of each: user, item, rating or time; empty if it is not read
    roles: tuple[str, ...]
    # Values as written; empty where there is none
    rows: tuple[tuple[str, ...], ...]


def rows_of_columns(columns: Mapping[str, pa.ChunkedArray]) -> dict[str, list[str]]:
    """Return the first values of the columns that are read, by their roles.

    >>> rows_of_columns({"rating": pa.chunked_array([["3.50", None]])})
    {'rating': ['3.50', '']}
    """
    return {
        role: _texts(python_values(columns[role].slice(0, MOST_ROWS)))
        for role in ROLES
        if role in columns
    }


def rows_as_read(reading: Reading, values: Mapping[str, Sequence[str]]) -> FirstRows:
    """Return the first rows of the columns that are read, where there is no more to see."""
    known = [column for column in reading.columns if column.role in values]
    return FirstRows(
        tuple(column.name for column in known),
        tuple(column.role for column in known),
        tuple(zip(*(values[column.role] for column in known), strict=True)),
    )


def rows_of_frame(frame: Any, reading: Reading) -> FirstRows | None:
    """Return the first rows of a data frame, with all of its columns that Arrow can hold."""
    try:
        table = frame_of(frame).table.slice(0, MOST_ROWS)
    except RecveilError:
        return None
    return _of_table(reading, table)


def rows_of_file(
    path: Path, reading: Reading, format: str | None, layout: Layout
) -> FirstRows | None:
    """Return the first rows of a file, or of its first part; None for input without columns."""
    if reading.format in OF_SEVERAL_TABLES:
        within = first_of_typed(path, reading.format, layout.within(reading.format))
        return None if within is None else _of_table(reading, within)
    if layout.wide or reading.format not in FORMATS or reading.format == "netflix":
        return None
    parts = parts_of(path)
    path = parts[0].path if parts else path
    if not path.is_file():
        return None
    found = recognize(path, format, layout)
    dialect = found.dialect or DIALECTS.get(found.format)
    if dialect is not None:
        return _rows_of_text(path, dialect, reading)
    table = first_rows(path, found.format)
    return None if table is None else _of_table(reading, table)


def _rows_of_text(path: Path, dialect: Dialect, reading: Reading) -> FirstRows | None:
    records = (dialect.columns(fields) for _, fields in read_records(path, dialect))
    names: Sequence[str | int] = next(records, ()) if dialect.header else ()
    rows = list(itertools.islice(records, MOST_ROWS))
    names = names or range(1, len(rows[0]) + 1 if rows else 1)
    return _with_roles(reading, list(names), [row for row in rows if len(row) == len(names)])


def _of_table(reading: Reading, table: pa.Table) -> FirstRows:
    columns = [_texts(python_values(column)) for column in table.columns]
    return _with_roles(reading, table.column_names, list(zip(*columns, strict=True)))


def _with_roles(
    reading: Reading, names: Sequence[str | int], rows: Sequence[Sequence[str]]
) -> FirstRows:
    role_of = {column.name: column.role for column in reading.columns}
    names = [
        qualified if isinstance(name, str) and (qualified := name_at(name, at)) in role_of else name
        for at, name in enumerate(names, 1)
    ]
    plain = [name.partition(":")[0] if isinstance(name, str) else name for name in names]
    roles = tuple(
        role_of.get(name, role_of.get(bare, "")) for name, bare in zip(names, plain, strict=True)
    )
    return FirstRows(tuple(names), roles, tuple(map(tuple, rows)))


def _texts(values: Sequence[Any]) -> list[str]:
    return ["" if value is None else str(value) for value in values]


_DELIMITER = re.compile(r"[,;\t|]|::")
# A text of one such line may be a list of numbers.
_FEWEST_LINES = 2


def describe_swallowed_rows(rows: FirstRows, ratings: Ratings) -> list[str]:
    r"""Describe unread columns with texts whose lines are rows of the table; empty for none.

    A stray quote in a CSV file makes the lines after it a part of a field, and who converts that
    file keeps the field. Two lines must have an item and a rating in the same fields, and one of
    them a user: the rows of others may all be inside.
    """
    unread = [at for at, role in enumerate(rows.roles) if not role]
    texts = [(at, [row[at] for row in rows.rows if "\n" in row[at]]) for at in unread]
    if not any(found for _, found in texts):
        return []
    known = [{*map(str, ids.tolist())} for ids in (ratings.users, ratings.items)]
    found = {
        at: sum(_has_rows(text, known, ratings) for text in of_column) for at, of_column in texts
    }
    n_rows = min(len(rows.rows), MOST_ROWS)
    return [
        f"Column {rows.names[at]!r} has texts with lines that look like rows of the table, in "
        f"{n:,} of the first {n_rows:,} rows: a stray quote may have swallowed them before the "
        f"table was converted, so that these ratings are missing; convert its source again."
        for at, n in found.items()
        if n
    ]


def _has_rows(text: str, known: list[set[str]], ratings: Ratings) -> bool:
    """Return whether lines have an item and a rating in the same fields, and one of them a user."""
    users, items = known
    lines = [
        [field.strip(" \"'") for field in _DELIMITER.split(line)] for line in text.splitlines()
    ]
    lines = [fields for fields in lines if len(fields) >= (2 if ratings.is_unary else 3)]
    n_lines, with_user = Counter[tuple[int, ...]](), set[tuple[int, ...]]()
    for fields in lines:
        values = [at for at, field in enumerate(fields) if _is_rating(field, ratings)]
        for item in (at for at, field in enumerate(fields) if field in items):
            for value in [-1] if ratings.is_unary else values:
                if value == item:
                    continue
                n_lines[item, value] += 1
                if any(
                    field in users for at, field in enumerate(fields) if at not in (item, value)
                ):
                    with_user.add((item, value))
    return any(n_lines[places] >= _FEWEST_LINES for places in with_user)


def _is_rating(field: str, ratings: Ratings) -> bool:
    if ratings.scale.labels:
        return field in ratings.scale.labels
    try:
        return bool(ratings.scale.contains([float(field)]).all())
    except ValueError:
        return False
