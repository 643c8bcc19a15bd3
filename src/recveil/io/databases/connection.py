"""Connections to a database by address, or to a database file detected by content."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from recveil.io.databases.address import NAMES
from recveil.io.databases.queries import Database, Wanted, query_of, sample_of, with_dictionaries
from recveil.runtime.errors import RecveilError

# Offset and content of the magic bytes of each kind of file.
_MAGIC = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}
_NEEDED = {
    "sqlite": ("adbc_driver_manager", "adbc_driver_sqlite"),
    "postgresql": ("adbc_driver_manager", "adbc_driver_postgresql"),
    "duckdb": ("duckdb",),
}


def kind_of_file(path: Path) -> str | None:
    """Return the kind of a database file by its first bytes; None for other files.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "shop.db")
    ...     _ = path.write_bytes(b"SQLite format 3" + bytes(85))
    ...     kind_of_file(path)
    'sqlite'
    """
    with path.open("rb") as file:
        return kind_of_head(file.read(16))


def kind_of_head(head: bytes) -> str | None:
    """Return the kind of a database by its first 16 bytes or more; None for other data.

    >>> kind_of_head(bytes(8) + b"DUCK")
    'duckdb'
    """
    return next((kind for kind, (at, magic) in _MAGIC.items() if head[at:].startswith(magic)), None)


def reject_missing_packages(kind: str, what: str) -> None:
    """Raise a RecveilError if the packages that read a database are not installed."""
    for name in _NEEDED[kind]:
        if find_spec(name) is None:
            raise RecveilError(
                f"{what}, which {name.replace('_', '-')} reads; install it (pip install "
                f"'recveil[databases]'), or write the table as CSV",
                code="dependency.missing",
            )


@contextmanager
def opened_database(kind: str, place: str | Path, name: str, limit: int) -> Iterator[Database]:
    """Open a database for reading, with at most `limit` bytes of memory; errors call it `name`.

    `place` is the path of its file, or the address of its server.
    """
    reject_missing_packages(kind, f"{name}: a {NAMES[kind]} database")
    # Drivers are imported on demand.
    opened: Any
    if kind == "sqlite":
        from recveil.io.databases.sqlite import opened_sqlite

        opened = opened_sqlite(Path(place))
    elif kind == "duckdb":
        from recveil.io.databases.duckdb import opened_duckdb

        opened = opened_duckdb(Path(place), limit)
    else:
        from recveil.io.databases.postgresql import opened_postgresql

        opened = opened_postgresql(str(place), name)
    with opened as database:
        yield database


class DatabaseFile:
    """A SQLite or DuckDB file and what to read of it, in the child process: it may be malicious."""

    def __init__(self, kind: str, path: Path, within: dict[str, str | None], limit: int) -> None:
        self.stack = ExitStack()
        opened = opened_database(kind, path, path.name, limit)
        self.database = self.stack.enter_context(opened)
        self.query = query_of(self.database, Wanted(**within), path.name)

    def names(self) -> list[str]:
        """Return its column names."""
        return [column.name for column in self.database.columns(self.query)]

    def first(self, n_rows: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the first rows, with nulls in columns that cannot be read."""
        columns = self.database.columns(self.query)
        return self.database.batches(sample_of(self.query, columns, n_rows))

    def rows(
        self, names: list[str], dictionary: list[str]
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return some columns of all rows, with those in `dictionary` as dictionaries."""
        found = {each.name: each for each in self.database.columns(self.query, names, dictionary)}
        chosen = [found[name] for name in dict.fromkeys(names)]
        schema, batches = self.database.rows(self.query, chosen)
        empty = pa.RecordBatch.from_pylist([], schema)
        encoded = with_dictionaries(empty, dictionary).schema
        return encoded, (with_dictionaries(batch, dictionary) for batch in batches)

    def close(self) -> None:
        """Close the database."""
        self.stack.close()
