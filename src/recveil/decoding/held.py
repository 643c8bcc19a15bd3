"""Held: how much of what is decoded is held at a time, here and by the process that asked."""

from collections.abc import Iterator

import pyarrow as pa

# For each row that is kept: what becomes of it beside the decoded values, while it is put in order.
_BESIDE_A_ROW = 16
# Of batches, one is held there, and a few by the process that asked; such a one always may be.
_HELD_AT_A_TIME, _SMALL_BATCH = 4, 1 << 26


class TooLargeError(Exception):
    """What is decoded takes more memory than it may: so many bytes, and of how many rows."""


def each_small(
    batches: Iterator[tuple[pa.RecordBatch, int]], limit: int
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of which a few are held at a time; refuse one that is too large for that."""
    most = max(limit // _HELD_AT_A_TIME, _SMALL_BATCH)
    for batch, group in batches:
        if batch.nbytes > most:
            raise TooLargeError(_HELD_AT_A_TIME * batch.nbytes, None)
        yield batch, group


class Held:
    """Counts what the asking process will hold of all that is read."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.rows = 0
        self.bytes = 0

    def refuse_rows(self, n_rows: int, schema: pa.Schema) -> None:
        """Refuse so many rows, as the file tells them, before any is read."""
        a_row = sum(_bits(field.type) for field in schema) // 8 + _BESIDE_A_ROW
        if n_rows * a_row > self.limit:
            raise TooLargeError(n_rows * a_row, n_rows)

    def counting(
        self, batches: Iterator[tuple[pa.RecordBatch, int]]
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches until they are too many."""
        for batch, group in batches:
            self.rows += batch.num_rows
            self.bytes += batch.nbytes + _BESIDE_A_ROW * batch.num_rows
            if self.bytes > self.limit:
                raise TooLargeError(self.bytes, None)
            yield batch, group


def _bits(kind: pa.DataType) -> int:
    """Return how many bits a value takes at least."""
    if pa.types.is_dictionary(kind):
        return _bits(kind.index_type)
    try:
        return int(kind.bit_width)
    except ValueError:  # text: where it begins
        return 32
