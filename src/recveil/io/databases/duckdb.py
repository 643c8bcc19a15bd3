"""DuckDB files, opened read-only and without access to other files."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from recveil.io.databases.queries import Database, DatabaseColumn, each_of, everything_of
from recveil.runtime.errors import RecveilError, first_line_of

_ROWS_AT_ONCE = 1 << 16
_ITSELF = {
    # Larger whole numbers are read as text, since no Arrow type holds all of them.
    *("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"),
    *("float", "double", "decimal", "varchar", "boolean", "date"),
    *("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone"),
}
_NOTHING = {
    *("list", "array", "struct", "map", "union", "blob", "bit", "interval", "variant", "geometry"),
}
# Settings that keep a query, or a view in an untrusted file, from reading or writing other files.
_CLOSED = {"enable_external_access": "false", "temp_directory": ""}
# A progress bar, which DuckDB prints after two seconds, would break the answer on standard output.
_QUIET_AND_LOCKED = "SET enable_progress_bar = false; SET lock_configuration = true"


class DuckDBFile(Database):
    """A DuckDB database."""

    tables_query = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"

    def __init__(self, connection: Any, name: str) -> None:
        self.connection, self.name = connection, name

    def columns(
        self,
        query: str,
        names: Collection[str] | None = None,
        texts: Collection[str] = (),  # noqa: ARG002  # its columns have types
    ) -> list[DatabaseColumn]:
        """Describe the columns of a query by their types."""
        with self._reporting():
            rows = self.connection.sql(everything_of(query))
            found = list(zip(rows.columns, rows.types, strict=True))
        described = [
            DatabaseColumn(name, str(kind), _read_as(str(kind), kind.id)) for name, kind in found
        ]
        return [each for each in described if names is None or each.name in names]

    def batches(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the rows of a query, batch by batch."""
        with self._reporting():
            reader = self.connection.sql(sql).to_arrow_reader(_ROWS_AT_ONCE)
        return reader.schema, each_of(reader, self._reporting)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Convert DuckDB's errors to one readable line."""
        from duckdb import Error, OutOfMemoryException

        try:
            yield
        except OutOfMemoryException:
            raise MemoryError from None
        except (Error, OSError, pa.ArrowException) as error:
            problem = first_line_of(error)
        else:
            return
        raise RecveilError(
            f"{self.name}: {problem}; check query (--query) or table (--table): one SELECT of what "
            f"is in this file",
            code="database.query",
        )


def _read_as(kind: str, of: str) -> Any:
    # JSON has the type id of text.
    if of in _NOTHING or kind == "JSON":
        return "nothing"
    return "itself" if of in _ITSELF else "text"


@contextmanager
def opened_duckdb(path: Path, limit: int) -> Iterator[DuckDBFile]:
    """Open an existing file read-only."""
    import duckdb

    settings: dict[str, Any] = {**_CLOSED, "memory_limit": f"{limit}B", "threads": "2"}
    try:
        connection = duckdb.connect(str(path), read_only=True, config=settings)
        connection.execute(_QUIET_AND_LOCKED)
    except duckdb.Error as error:
        problem = first_line_of(error)
    else:
        with connection:
            yield DuckDBFile(connection, path.name)
        return
    raise RecveilError(
        f"{path.name}: cannot be opened ({problem}); check that it is a whole DuckDB database of a "
        f"version that the installed duckdb reads, and that no process writes to it",
        code="database.connection",
    )
