"""Queries for all kinds of databases, with quoted names."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple

import pyarrow as pa

from recveil.runtime.errors import RecveilError, listed, named_twice, quoted, shortened

_PLAIN = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


class Wanted(NamedTuple):
    """The query or the table to read from a database; exactly one is given."""

    query: str | None = None  # one SELECT
    table: str | None = None  # a table or view; a point separates it from its schema


class DatabaseColumn(NamedTuple):
    """A column of a query's rows."""

    name: str
    # The database's name of its type
    kind: str
    # How it is read: "nothing" is for nested values and for bytes
    read_as: Literal["itself", "text", "number", "nothing"]


class Database(ABC):
    """A database that is open for reading only; errors call it `name`."""

    name: str
    # The query for the names of its tables and views
    tables_query: str

    def tables(self) -> list[str]:
        """List the names of its tables and views."""
        _, batches = self.batches(self.tables_query)
        return [name for batch in batches for name in batch.column(0).to_pylist()]

    @abstractmethod
    def columns(
        self, query: str, names: Collection[str] | None = None, texts: Collection[str] = ()
    ) -> list[DatabaseColumn]:
        """Describe all columns of a query, or those in `names`.

        Columns in `texts` are read as text if their values have several types.
        """

    @abstractmethod
    def batches(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the rows of a query, batch by batch."""

    def rows(
        self, query: str, columns: Sequence[DatabaseColumn]
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return some columns of a query's rows, batch by batch."""
        return self.batches(rows_of(query, columns, self.name))


def each_of(
    batches: Iterable[pa.RecordBatch], reporting: Callable[[], AbstractContextManager[None]]
) -> Iterator[pa.RecordBatch]:
    """Yield batches; the context manager `reporting` converts the driver's errors."""
    with reporting():
        yield from batches


def query_of(database: Database, wanted: Wanted, name: str) -> str:
    """Return the query for the requested rows; errors call the database `name`.

    If neither a query nor a table is given, the database must have one table.
    """
    if wanted.query is not None:
        query = wanted.query.strip().rstrip(";").rstrip()
        if not query or "\0" in query:
            raise RecveilError(
                f"{name}: query (--query) is empty; expected one SELECT", code="database.query"
            )
        return query
    there = database.tables()
    table = next(iter(there)) if wanted.table is None and len(there) == 1 else wanted.table
    # The database itself reports a missing table of another schema.
    if table is None or (table not in there and "." not in table):
        missing = "" if table is None else f"no table {quoted(table, 40)}; "
        raise RecveilError(
            f"{name}: {missing}it has {listed(sorted(there), 90) if there else 'no tables'}; name "
            f"one with table (--table), or rows with query (--query)",
            code="database.table",
        )
    return f"SELECT * FROM {table_name(table, there)}"  # noqa: S608  # the name is quoted


def table_name(table: str, there: Collection[str] = ()) -> str:
    """Quote a table's name; a point separates it from its schema, unless a table's own name has it.

    >>> table_name("shop.user ratings"), table_name("a.b", ["a.b"])
    ('"shop"."user ratings"', '"a.b"')
    """
    parts = [table] if table in there else table.split(".")
    return ".".join(map(name_in_sql, parts))


def name_in_sql(name: str) -> str:
    """Quote a name as an SQL identifier.

    >>> name_in_sql('ratings"; DROP TABLE users; --')
    '"ratings""; DROP TABLE users; --"'
    """
    if not name or "\0" in name:
        raise RecveilError(
            f"{quoted(name)} is no name of a table or column; give another", code="option.value"
        )
    return '"' + name.replace('"', '""') + '"'


def rows_of(query: str, columns: Sequence[DatabaseColumn], where: str) -> str:
    """Return the query for some columns of another query's rows, cast to types that are supported.

    The inner query is parenthesized, so that only a single SELECT is valid.
    """
    for column in columns:
        if column.read_as == "nothing":
            raise RecveilError(
                f"{where}: column {quoted(column.name)} holds {shortened(column.kind)}, several "
                f"values a row or bytes, which is not read; name another column, or convert it in "
                f"the query (--query)",
                code="column.type",
            )
    return _select([_expression(column) for column in columns], query)


def sample_of(query: str, columns: Sequence[DatabaseColumn], n_rows: int) -> str:
    """Return the query for the first rows, with nulls in columns that cannot be read."""
    twice = {*named_twice(column.name for column in columns)}
    shown = [
        f"CAST(NULL AS TEXT) AS {name_in_sql(column.name)}"
        if column.read_as == "nothing"
        else _expression(column)
        for column in columns
        if column.name not in twice
    ]
    return f"{_select(shown, query)} LIMIT {int(n_rows)}"


def everything_of(query: str) -> str:
    """Return the query for all columns of another query's rows."""
    return _select(["*"], query)


def with_dictionaries(batch: pa.RecordBatch, names: Collection[str]) -> pa.RecordBatch:
    """Encode the text of some columns as dictionaries, since ids repeat.

    >>> with_dictionaries(pa.record_batch({"user": ["ann", "ann"]}), ["user"]).schema.types
    [DictionaryType(dictionary<values=string, indices=int32, ordered=0>)]
    """
    columns = [
        column.dictionary_encode()
        if name in names and any(is_one(column.type) for is_one in _PLAIN)
        else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _expression(column: DatabaseColumn) -> str:
    name = name_in_sql(column.name)
    kind = {"text": "TEXT", "number": "DOUBLE PRECISION"}.get(column.read_as)
    return name if kind is None else f"CAST({name} AS {kind}) AS {name}"


def _select(expressions: Sequence[str], query: str) -> str:
    # On lines of its own, so that a trailing comment does not extend beyond it.
    return f"SELECT {', '.join(expressions)} FROM (\n{query}\n) AS asked_for"  # noqa: S608
