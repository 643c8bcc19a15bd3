"""From blocks of records to the rows of the published file, in either layout."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.ratings.dictionaries import written_out
from recveil.ratings.worded import labels_of
from recveil.release.records import Records
from recveil.release.sides import FileFormat, Published

# Rows of the published file that are laid out at a time.
_ROWS_AT_ONCE = 1 << 22
_ROWS_OF_MODEL = 1 << 20


def rating_writer(
    file: Path, file_format: FileFormat, published: Published, *, in_groups: bool
) -> AbstractContextManager[Any]:
    """Open the published file for writing table after table."""
    fields = {
        "user_id": pa.string(),
        "item_id": pa.array(published.items).type,
        "rating": pa.string() if published.scale.words else pa.float64(),
    }
    if in_groups:
        fields["group_size"] = pa.int64()
    if published.claim.levels:
        fields["k"] = pa.int64()
    schema = pa.schema(fields)
    if file_format == "csv":
        return pa_csv.CSVWriter(str(file), schema)
    # Items ascend within a record, mostly by small steps, which take a few bits each.
    steps = {"item_id": "DELTA_BINARY_PACKED"} if pa.types.is_integer(schema.field(1).type) else {}
    return pq.ParquetWriter(
        str(file),
        schema,
        compression="zstd",
        store_schema=False,
        use_dictionary=[name for name in schema.names if name not in steps],
        column_encoding=steps or None,
    )


def tables(
    published: Published, blocks: Iterator[Records], *, in_groups: bool, n_before: int = 0
) -> Iterator[tuple[pa.Table, int]]:
    """Yield tables of published rows, each with the number of records in it.

    So many records as `n_before` says stand before them, in other files.
    """
    items = pa.array(published.items)
    for block in blocks:
        copies = np.ones_like(block.sizes) if in_groups else block.sizes
        record_of = np.repeat(np.arange(len(block)), copies)
        lengths = np.diff(block.indptr)[record_of]
        for first, last in _chunks(lengths):
            records, rows = record_of[first:last], lengths[first:last]
            # Position in the block of each row: a run of neighbours for each record.
            runs = np.repeat(block.indptr[records] - np.cumsum(rows) + rows, rows)
            places = runs + np.arange(rows.sum())
            names = pa.array(published.pseudonyms(n_before + first, n_before + last))
            row_of = np.repeat(np.arange(last - first, dtype=np.int32), rows)
            columns = {
                "user_id": written_out(_coded(row_of, names), "user_id"),
                "item_id": written_out(_coded(block.indices[places], items), "item_id"),
                "rating": labels_of(block.values[places], published.scale),
            }
            if in_groups:
                columns["group_size"] = pa.array(np.repeat(block.sizes[records], rows))
            if block.promised is not None:
                columns["k"] = pa.array(np.repeat(block.promised[records], rows))
            yield pa.table(columns), last - first
        n_before += record_of.size


def _coded(places: NDArray[Any], values: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(places), values)


def evenly(pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Cut the rows anew into pieces of one length.

    Blocks are cut by the size of the private data, and a Parquet file keeps its pieces apart.
    """
    rest = None
    for piece in pieces:
        table = piece if rest is None else pa.concat_tables([rest, piece])
        while table.num_rows >= _ROWS_AT_ONCE:
            yield table.slice(0, _ROWS_AT_ONCE)
            table = table.slice(_ROWS_AT_ONCE)
        rest = table
    if rest is not None and rest.num_rows:
        yield rest


def _chunks(lengths: Any) -> Iterator[tuple[int, int]]:
    """Cut records into runs of about `_ROWS_AT_ONCE` rows, at least one record each."""
    ends = np.cumsum(lengths)
    first = 0
    while first < lengths.size:
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _ROWS_AT_ONCE, "right")))
        yield first, last
        first = last


def write_model(model: pa.Table, file: Path) -> dict[str, int]:
    """Write what people are drawn from, in the one way that the checker knows; count its items."""
    items = model.schema.field(0)
    steps = {items.name: "DELTA_BINARY_PACKED"} if pa.types.is_integer(items.type) else {}
    with pq.ParquetWriter(
        str(file),
        model.schema,
        compression="zstd",
        store_schema=False,
        use_dictionary=[] if steps else [items.name],
        column_encoding=steps or None,
    ) as writer:
        writer.write_table(model, row_group_size=_ROWS_OF_MODEL)
    return {"items": model.num_rows}
