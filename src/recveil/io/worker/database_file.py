"""Database files in the child process, since they may be damaged or malicious."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from recveil.io.databases import Wanted, opened_database, query_of
from recveil.io.databases.queries import sample_of, with_dictionaries


class DatabaseFile:
    """A SQLite or DuckDB file, and the query or table to read."""

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
