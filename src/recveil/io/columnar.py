"""Parquet and Arrow files, whose columns keep the types they were written with."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recveil.errors import RecveilError, quoted, shortened
from recveil.io.files import naming, open_random_access
from recveil.io.source import Selection, Source

_ARROW_FILE_MAGIC = b"ARROW1"
_ROWS_AT_ONCE = 1 << 21


def read_columnar(path: Path, format: str, selection: Selection) -> Source:
    """Read the selected columns of a Parquet or Arrow file, and no others.

    Parameters
    ----------
    path : Path
        The file; a gzipped one is unpacked in memory.
    format : {"parquet", "arrow"}
    selection : Selection
        The columns to read.

    Raises
    ------
    RecveilError
        For a missing column or a damaged file.
    """
    read = _read_parquet if format == "parquet" else _read_arrow
    with naming(path), open_random_access(path) as file:
        raw, chosen = read(file, path, selection)
    table = pa.table({name: raw[in_file] for name, in_file in chosen.items()})
    return Source(table, lambda row: f"{path.name} row {row + 1}", format, chosen)


def _read_parquet(file: Any, path: Path, selection: Selection) -> tuple[pa.Table, dict[str, str]]:
    in_file = pq.ParquetFile(file).schema_arrow
    chosen = selection.choose(in_file.names, path.name)
    _refuse_nested(in_file, chosen, path)
    # Text labels repeat: as dictionaries they take a fraction of the memory.
    parquet = pq.ParquetFile(file, read_dictionary=[chosen["user"], chosen["item"]])
    if selection.extras:
        return parquet.read(list(chosen.values())), chosen
    schema = pa.schema(parquet.schema_arrow.field(name) for name in chosen.values())
    for name in schema.names:
        if pa.types.is_int64(schema.field(name).type) and _fits_32_bits(parquet, name):
            schema = schema.set(schema.get_field_index(name), pa.field(name, pa.int32()))
    tables = [schema.empty_table()]
    for groups in _runs(parquet.metadata):
        tables.append(parquet.read_row_groups(groups, schema.names).cast(schema))
    return pa.concat_tables(tables), chosen


def _runs(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """Yield row groups that are read together: many keep all cores busy, but not all at once."""
    run, rows = [], 0
    for group in range(metadata.num_row_groups):
        run.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= _ROWS_AT_ONCE:
            yield run
            run, rows = [], 0
    if run:
        yield run


def _fits_32_bits(parquet: pq.ParquetFile, name: str) -> bool:
    """Say whether the file knows that all of a column's numbers fit into half the memory."""
    metadata = parquet.metadata
    at = next(i for i in range(metadata.num_columns) if metadata.schema.column(i).path == name)
    limits = np.iinfo(np.int32)
    for group in range(metadata.num_row_groups):
        known = metadata.row_group(group).column(at).statistics
        if known is None or not known.has_min_max:
            return False
        if not limits.min <= known.min <= known.max <= limits.max:
            return False
    return True


def _read_arrow(file: Any, path: Path, selection: Selection) -> tuple[pa.Table, dict[str, str]]:
    in_file = open_arrow(file).schema
    names = in_file.names
    chosen = selection.choose(names, path.name)
    _refuse_nested(in_file, chosen, path)
    included = sorted({names.index(name) for name in chosen.values()})
    options = pa.ipc.IpcReadOptions(included_fields=included)
    return open_arrow(file, options).read_all(), chosen


def _refuse_nested(schema: pa.Schema, chosen: dict[str, str], path: Path) -> None:
    """Refuse a column that is read and holds several values a row; others do no harm."""
    for role, name in chosen.items():
        kind = schema.field(name).type
        if pa.types.is_nested(kind):
            needed = f" ({role})" if role != name else ""
            raise RecveilError(
                f"{path.name}: column {quoted(name)}{needed} holds {shortened(str(kind))}, several "
                f"values a row; expected one; name another column, take one value out of each, or "
                f"drop the column"
            )


def open_arrow(file: Any, options: Any = None) -> Any:
    """Open an Arrow file or stream."""
    file.seek(0)
    is_stream = file.read(len(_ARROW_FILE_MAGIC)) != _ARROW_FILE_MAGIC
    file.seek(0)
    return (pa.ipc.open_stream if is_stream else pa.ipc.open_file)(file, options=options)
