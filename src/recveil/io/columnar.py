"""Parquet and Arrow files, whose columns keep the types they were written with."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recveil.io.files import naming, open_random_access
from recveil.io.source import Selection, Source

_ARROW_FILE_MAGIC = b"ARROW1"


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
    return Source(table, lambda row: f"{path.name} row {row + 1}", format)


def _read_parquet(file: Any, path: Path, selection: Selection) -> tuple[pa.Table, dict[str, str]]:
    chosen = selection.choose(pq.ParquetFile(file).schema_arrow.names, path.name)
    # Text labels repeat: as dictionaries they take a fraction of the memory.
    encoded = [chosen["user"], chosen["item"]]
    return pq.ParquetFile(file, read_dictionary=encoded).read(list(chosen.values())), chosen


def _read_arrow(file: Any, path: Path, selection: Selection) -> tuple[pa.Table, dict[str, str]]:
    names = _open_arrow(file).schema.names
    chosen = selection.choose(names, path.name)
    included = sorted({names.index(name) for name in chosen.values()})
    options = pa.ipc.IpcReadOptions(included_fields=included)
    return _open_arrow(file, options).read_all(), chosen


def _open_arrow(file: Any, options: Any = None) -> Any:
    file.seek(0)
    is_stream = file.read(len(_ARROW_FILE_MAGIC)) != _ARROW_FILE_MAGIC
    file.seek(0)
    return (pa.ipc.open_stream if is_stream else pa.ipc.open_file)(file, options=options)
