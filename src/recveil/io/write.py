"""Writers of rating files: to a temporary file beside the target, then renamed into place."""

import gzip
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from recveil.beside import refuse_in_release, sweep_beside, write_beside
from recveil.errors import RecveilError, quoted
from recveil.io.pipes import is_standard, temporary_folder, write_to_standard_output
from recveil.ratings import Ratings

RECBOLE_TYPES = {
    "user_id": "user_id:token",
    "item_id": "item_id:token",
    "rating": "rating:float",
    "timestamp": "timestamp:float",
}
_BATCH_ROWS = 1 << 16


def write_ratings(
    ratings: Ratings, path: str | PathLike[str], *, format: str | None = None
) -> None:
    """Write ratings to a file; if this fails, what stood there before still stands there.

    Its owner alone can read it, as it says who rated what.

    The columns are `user_id`, `item_id`, `rating` (not of likes) and, if known, `timestamp`: Unix
    seconds at the start of the day.

    Parameters
    ----------
    ratings : Ratings
    path : str or path
        The file to write, or "-" for standard output. A text file whose name ends in ``.gz`` is
        gzipped.
    format : {"parquet", "csv", "inter"}, optional
        By the ending of `path` if not given; CSV for standard output.

    Raises
    ------
    RecveilError
        For an unknown format or ending, Parquet for a terminal, a place that cannot be written or
        stands in a release, or a label that an ``.inter`` file cannot hold.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with temporary_folder() as folder:
    ...     path = Path(folder, "ratings.inter")
    ...     write_ratings(Ratings.from_columns(["ann", "ben"], [7, 9], [4.5, 3]), path)
    ...     print(path.read_text().expandtabs(16))
    user_id:token   item_id:token   rating:float
    ann             7               4.5
    ben             9               3
    """
    if is_standard(path):
        _write_to_standard_output(ratings, resolve_target(path, format))
        return
    target = Path(path).resolve()  # a link stays a link, and its target is replaced
    if target.exists() and not target.is_file():
        raise RecveilError(f"{target}: expected a plain file to replace; choose another place")
    write = _WRITERS[resolve_target(target, format)]
    write_beside(target, lambda beside: write(ratings, beside, target))


def _write_to_standard_output(ratings: Ratings, format: str) -> None:
    if format == "parquet" and sys.stdout.isatty():
        raise RecveilError(
            "Parquet is no text for a terminal; lead it into a file or a program, or name a file"
        )
    # A file first, for what fails on the way shall not have been read by a program already.
    with temporary_folder() as folder:
        file = Path(folder, "standard output")
        _WRITERS[format](ratings, file, file)
        write_to_standard_output(file)


def refuse_to_replace(path: str | PathLike[str], *, force: bool) -> None:
    """Raise a RecveilError if something stands at `path`, unless `force` and it is a file.

    What killed runs left beside it is removed, and a place in a release is refused.
    """
    if is_standard(path):
        return
    target = Path(path)
    sweep_beside(target.resolve())
    refuse_in_release(target)
    if target.is_dir() or (target.exists() and not force):
        remedy = "name another target" if target.is_dir() else "replace it with force (--force)"
        raise RecveilError(f"{target} exists; {remedy}")


def resolve_target(path: str | PathLike[str], format: str | None = None) -> str:
    """Return the format in which a file is to be written: the named one, or by its ending.

    Raises
    ------
    RecveilError
        For a format or an ending that recveil does not write.

    Examples
    --------
    >>> resolve_target("ratings.csv.gz")
    'csv'
    """
    name = Path(path).name
    ending = ".csv" if is_standard(path) else Path(name.lower().removesuffix(".gz")).suffix
    chosen = ending.removeprefix(".") if format is None else format
    if chosen not in _WRITERS:
        what = f"format {quoted(format)}" if format else f"{name}: ending {quoted(ending)}"
        raise RecveilError(
            f"{what}: expected one of {', '.join(_WRITERS)}; end the name in .parquet, .csv, "
            f".inter, .csv.gz or .inter.gz, or name it: format (--format), target_format "
            f"(--target-format)"
        )
    if chosen == "parquet" and name.lower().endswith(".gz"):
        raise RecveilError(f"{name}: Parquet is compressed within; leave out .gz")
    return chosen


def _table(ratings: Ratings) -> pa.Table:
    """Return the columns to be written; likes have no ratings."""
    table = ratings.to_arrow()
    return table.drop_columns("rating") if ratings.is_unary else table


def _write_parquet(ratings: Ratings, temporary: Path, _target: Path) -> None:
    pq.write_table(_table(ratings), str(temporary), compression="zstd")


def _write_csv(ratings: Ratings, temporary: Path, target: Path) -> None:
    table = _table(ratings)
    _write_text(table, ",".join(table.column_names), ",", temporary, target)


def _write_inter(ratings: Ratings, temporary: Path, target: Path) -> None:
    for label in (*ratings.users, *ratings.items):
        if isinstance(label, str) and re.search(r"[\t\r\n]", label):
            raise RecveilError(
                f"{target.name}: the label {quoted(label)} holds a tab or a line break, which "
                f".inter cannot carry; write Parquet or CSV"
            )
    table = _table(ratings)
    header = "\t".join(RECBOLE_TYPES[name] for name in table.column_names)
    _write_text(table, header, "\t", temporary, target)


def _write_text(
    table: pa.Table, header: str, delimiter: str, temporary: Path, target: Path
) -> None:
    # pyarrow quotes all text or none; most labels need no quotes.
    quotes = any(_needs_quotes(table[name], delimiter) for name in ("user_id", "item_id"))
    options = arrow_csv.WriteOptions(
        include_header=False,
        batch_size=_BATCH_ROWS,
        delimiter=delimiter,
        quoting_style="needed" if quotes else "none",
    )
    with temporary.open("wb") as file, _zipped(file, target) as stream:
        stream.write(f"{header}\n".encode())
        arrow_csv.write_csv(table, stream, options)


def _zipped(file: IO[bytes], target: Path) -> Any:
    if not target.name.lower().endswith(".gz"):
        return nullcontext(file)
    # No name and no time in the gzip header: equal ratings give equal bytes.
    return gzip.GzipFile("", "wb", 6, file, mtime=0)


def _needs_quotes(column: pa.ChunkedArray, delimiter: str) -> bool:
    if not pa.types.is_string(column.type):
        return False
    return bool(pc.any(pc.match_substring_regex(column, f'["\r\n{delimiter}]')).as_py())


_WRITERS: dict[str, Callable[[Ratings, Path, Path], Any]] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "inter": _write_inter,
}
