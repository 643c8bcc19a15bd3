"""Gathering: columns of text from rows that come one by one, in no more memory than allowed."""

from collections.abc import Sequence

import pyarrow as pa

from recveil.memory import refuse_beyond_limit

# Rows are held as Python's text until there are so many, or so long ones: 100 MB at most.
_ROWS, _CHARACTERS = 1 << 17, 1 << 23
_ENCODED = pa.dictionary(pa.int32(), pa.string())
# What a row takes beside its values while it is put in order.
_BESIDE_A_ROW = 16


class TextColumns:
    """Columns of text, in blocks: users, items and ratings as dictionaries, for they repeat.

    Parameters
    ----------
    names : sequence of str
    file : str
        What to call the file in an error.

    Examples
    --------
    >>> gathered = TextColumns(["user", "note"], "ratings.json")
    >>> gathered.add(["ann", None])
    >>> gathered.table().to_pylist()
    [{'user': 'ann', 'note': None}]
    """

    def __init__(self, names: Sequence[str], file: str) -> None:
        self.names = list(names)
        self.file = file
        self.types = [
            _ENCODED if name in ("user", "item", "rating") else pa.string() for name in names
        ]
        self.rows: list[Sequence[str | None]] = []
        self.characters = 0
        self.blocks: list[pa.RecordBatch] = []
        self.bytes = 0

    def add(self, row: Sequence[str | None]) -> None:
        """Add a row.

        Raises
        ------
        MemoryLimitError
            If all of them take more memory than they may.
        """
        self.rows.append(row)
        self.characters += sum(map(len, filter(None, row)))
        if len(self.rows) == _ROWS or self.characters > _CHARACTERS:
            self._flush()

    def table(self) -> pa.Table:
        """Return all rows."""
        self._flush()
        schema = pa.schema(list(zip(self.names, self.types, strict=True)))
        return pa.Table.from_batches(self.blocks, schema)

    def _flush(self) -> None:
        if not self.rows:
            return
        columns = []
        for values, kind in zip(zip(*self.rows, strict=True), self.types, strict=True):
            column = pa.array(values, pa.string())
            columns.append(column.dictionary_encode() if kind == _ENCODED else column)
        block = pa.RecordBatch.from_arrays(columns, self.names)
        self.blocks.append(block)
        self.bytes += block.nbytes + _BESIDE_A_ROW * len(self.rows)
        self.rows, self.characters = [], 0
        refuse_beyond_limit(f"{self.file}: its values", self.bytes, at_least=True)
