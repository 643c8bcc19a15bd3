"""SQLite files, opened read-only through the Arrow driver."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from recveil.io.databases.address import quoted_path
from recveil.io.databases.queries import (
    Database,
    DatabaseColumn,
    each_of,
    everything_of,
    name_in_sql,
    rows_of,
)
from recveil.runtime.errors import RecveilError, first_line_of

_ROWS_AT_ONCE = "65536"
_STORED = ("integer", "real", "text", "blob")
_FIRST = {"itself": "0", "number": "0.5", "text": "''"}
_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
    "ESCAPE '\\'"
)


class SQLite(Database):
    """A SQLite database, in which each value of a column has its own type."""

    tables_query = _TABLES

    def __init__(self, cursor: Any, name: str) -> None:
        self.cursor, self.name = cursor, name

    def columns(
        self, query: str, names: Collection[str] | None = None, texts: Collection[str] = ()
    ) -> list[DatabaseColumn]:
        """Describe the columns of a query by the types of their values."""
        if names is None:
            schema, batches = self.batches(f"{everything_of(query)} LIMIT 0")
            for _ in batches:
                pass
            return [DatabaseColumn(name, "any type", "itself") for name in schema.names]
        counts = [
            f"COUNT(CASE typeof({name_in_sql(name)}) WHEN '{stored}' THEN 1 END)"
            for name in names
            for stored in _STORED
        ]
        asked = ", ".join(f"{count} AS c{at}" for at, count in enumerate(counts))
        _, batches = self.batches(f"SELECT {asked} FROM (\n{query}\n) AS asked_for")  # noqa: S608
        (found,) = [row for batch in batches for row in batch.to_pylist()]
        of = iter(found.values())
        return [_described(name, [next(of) for _ in _STORED], name in texts) for name in names]

    def batches(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the rows of a query, batch by batch."""
        with self._reporting():
            self.cursor.adbc_statement.set_options(
                **{"adbc.sqlite.query.batch_rows": _ROWS_AT_ONCE}
            )
            self.cursor.execute(sql)
            reader = self.cursor.fetch_record_batch()
        return reader.schema, each_of(reader, self._reporting)

    def rows(
        self, query: str, columns: Sequence[DatabaseColumn]
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return some columns of a query's rows, batch by batch."""
        # The driver infers types from the first values, which may be missing, so a row with values
        # of these types is prepended.
        rows = rows_of(query, columns, self.name)
        first = ", ".join(_FIRST[column.read_as] for column in columns)
        schema, batches = self.batches(f"SELECT {first} UNION ALL {rows}")
        names = [column.name for column in columns]
        named = pa.schema(list(zip(names, schema.types, strict=True)))
        return named, _without_first(batches, names)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Convert the driver's errors to one readable line."""
        from adbc_driver_manager import Error

        try:
            yield
        except (Error, OSError, pa.ArrowException) as error:
            problem = first_line_of(error).rpartition("query: ")[2] or first_line_of(error)
        else:
            return
        raise RecveilError(
            f"{self.name}: {problem}; check query (--query) or table (--table), and that it is a "
            f"whole SQLite database",
            code="database.query",
        )


def _without_first(batches: Iterator[pa.RecordBatch], names: list[str]) -> Iterator[pa.RecordBatch]:
    start = 1
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.slice(start).columns, names)
        start = 0


def _described(name: str, counts: list[int], is_text: bool) -> DatabaseColumn:
    """Return how to read a column, given the number of values of each type."""
    _, n_real, n_text, n_blob = counts
    if n_blob:
        return DatabaseColumn(name, "bytes (BLOB)", "nothing")
    several = sum(map(bool, counts)) > 1
    if n_text or (several and is_text):
        return DatabaseColumn(name, "text", "text")
    if n_real:
        return DatabaseColumn(name, "numbers", "number")
    return DatabaseColumn(name, "whole numbers", "itself")


@contextmanager
def opened_sqlite(path: Path) -> Iterator[SQLite]:
    """Open an existing file read-only."""
    from adbc_driver_sqlite import dbapi

    address = f"file:{quoted_path(path.absolute())}?mode=ro"
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        yield SQLite(cursor, path.name)
