"""Parquet and Arrow files, whose columns keep their types."""

from pathlib import Path

import pyarrow as pa

from recveil.io.files import naming
from recveil.io.source import Selection, Source
from recveil.io.worker import PACKINGS, decoded_table, decoding
from recveil.ratings.arrow_columns import plain_table
from recveil.runtime.errors import RecveilError, quoted, shortened


def read_columnar(path: Path, format: str, selection: Selection) -> Source:
    """Read the selected columns of a Parquet or Arrow file."""
    with naming(path):
        with decoding(path, format, packings=PACKINGS) as found:
            chosen = selection.choose(found.schema.names, path.name)
            _reject_nested(found.schema, chosen, path)
        raw = decoded_table(
            path,
            format,
            columns=list(chosen.values()),
            # Text ids repeat: as dictionaries they take a fraction of the memory.
            dictionary=[chosen[role] for role in ("user", "item") if role in chosen],
            narrow=not selection.extras,
            packings=PACKINGS,
        )
        table = pa.table({name: raw[in_file] for name, in_file in chosen.items()})
        table = plain_table(table)
    return Source(table, lambda row: f"{path.name} row {row + 1}", format, chosen)


def _reject_nested(schema: pa.Schema, chosen: dict[str, str], path: Path) -> None:
    """Reject nested columns among those that are read."""
    for role, name in chosen.items():
        kind = schema.field(name).type
        needed = f" ({role})" if role != name else ""
        if pa.types.is_run_end_encoded(kind):
            raise RecveilError(
                f"{path.name}: column {quoted(name)}{needed} is stored as runs of equal values "
                f"({shortened(str(kind))}), which is not read; write one value a row "
                f"(pyarrow.compute.run_end_decode), or drop the column",
                code="column.type",
            )
        if pa.types.is_nested(kind):
            raise RecveilError(
                f"{path.name}: column {quoted(name)}{needed} holds {shortened(str(kind))}, several "
                f"values a row; expected one; name another column, take one value out of each, or "
                f"drop the column",
                code="column.type",
            )
