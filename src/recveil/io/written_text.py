"""Ratings as delimited text: how each kind of text is written."""

import gzip
import re
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from recveil.errors import RecveilError, quoted
from recveil.ratings import Ratings

RECBOLE_TYPES = {
    "user_id": "user_id:token",
    "item_id": "item_id:token",
    "rating": "rating:float",
    "timestamp": "timestamp:float",
}
_BATCH_ROWS = 1 << 16


def written_table(ratings: Ratings) -> pa.Table:
    """Return the columns to be written; likes have no ratings.

    Examples
    --------
    >>> written_table(Ratings.from_columns([1, 2], [7, 7])).column_names
    ['user_id', 'item_id']
    """
    table = ratings.to_arrow()
    return table.drop_columns("rating") if ratings.is_unary else table


def write_csv(ratings: Ratings, temporary: Path, target: Path) -> None:
    """Write a header, and a rating a line, between commas."""
    table = written_table(ratings)
    _write_text(table, ",".join(table.column_names), ",", temporary, target)


def write_inter(ratings: Ratings, temporary: Path, target: Path) -> None:
    """Write RecBole's atomic file.

    Raises
    ------
    RecveilError
        If a label holds a tab or a line break.
    """
    for label in (*ratings.users, *ratings.items, *ratings.scale.words):
        if isinstance(label, str) and re.search(r"[\t\r\n]", label):
            raise RecveilError(
                f"{target.name}: the label {quoted(label)} holds a tab or a line break, which "
                f".inter cannot carry; write Parquet or CSV",
                code="id.line-break",
            )
    table = written_table(ratings)
    types = RECBOLE_TYPES | ({"rating": "rating:token"} if ratings.scale.words else {})
    header = "\t".join(types[name] for name in table.column_names)
    _write_text(table, header, "\t", temporary, target)


def write_plain(ratings: Ratings, temporary: Path, target: Path) -> None:
    """Write a rating a line, between tabs, without a header, as surprise reads it.

    Raises
    ------
    RecveilError
        If a label holds a tab or a line break, or begins or ends with a space, which surprise
        leaves out, so that two labels might become one.
    """
    for label in (*ratings.users, *ratings.items):
        if isinstance(label, str) and (label != label.strip() or re.search(r"[\t\r\n]", label)):
            raise RecveilError(
                f"{target.name}: the label {quoted(label)} holds a tab, a line break, or a space "
                f"at an end, which this layout cannot carry; write Parquet or CSV",
                code="id.line-break",
            )
    if ratings.scale.words:
        raise RecveilError(
            f"{target.name}: surprise reads numbers, and these ratings are words "
            f"({ratings.scale}); write CSV or Parquet",
            code="table.kind",
        )
    table = ratings.to_arrow()
    with temporary.open("wb") as file, _zipped(file, target) as stream:
        if not any(_needs_quotes(column, "\t") for column in table.columns):
            arrow_csv.write_csv(table, stream, _options("\t", "none"))
            return
        for batch in table.to_batches(_BATCH_ROWS):  # surprise takes a quote for a letter
            columns = [column.cast(pa.string()) for column in batch.columns]
            lines = pc.binary_join_element_wise(*columns, "\t")
            stream.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())


def _write_text(
    table: pa.Table, header: str, delimiter: str, temporary: Path, target: Path
) -> None:
    # pyarrow quotes all text or none; most labels need no quotes.
    quotes = any(_needs_quotes(column, delimiter) for column in table.columns)
    with temporary.open("wb") as file, _zipped(file, target) as stream:
        stream.write(f"{header}\n".encode())
        arrow_csv.write_csv(table, stream, _options(delimiter, "needed" if quotes else "none"))


def _options(delimiter: str, quoting: str) -> Any:
    return arrow_csv.WriteOptions(
        include_header=False, batch_size=_BATCH_ROWS, delimiter=delimiter, quoting_style=quoting
    )


def _zipped(file: IO[bytes], target: Path) -> Any:
    if not target.name.lower().endswith(".gz"):
        return nullcontext(file)
    # No name and no time in the gzip header: equal ratings give equal bytes.
    return gzip.GzipFile("", "wb", 6, file, mtime=0)


def _needs_quotes(column: pa.ChunkedArray, delimiter: str) -> bool:
    if not pa.types.is_string(column.type):
        return False
    return bool(pc.any(pc.match_substring_regex(column, f'["\r\n{delimiter}]')).as_py())
