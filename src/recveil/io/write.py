"""Writers of ratings: to a temporary file or folder beside the target, then renamed into place."""

import re
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from recveil.beside import (
    folder_beside,
    placing,
    refuse_in_release,
    sweep,
    sweep_beside,
    write_beside,
)
from recveil.devices import refuse_traps
from recveil.errors import RecveilError, quoted
from recveil.folders import make_folder
from recveil.io.other_layouts import write_lenskit, write_recbole
from recveil.io.pipes import is_standard, temporary_folder, write_to_standard_output
from recveil.io.written_text import write_csv, write_inter, write_plain, written_table
from recveil.ratings import Ratings

# Takes the ratings, where to write, and what that will be called.
_Writer: TypeAlias = Callable[[Ratings, Path, Path], Any]


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
    format : {"parquet", "csv", "inter", "surprise", "recbole", "lenskit"}, optional
        By the ending of `path` if not given; CSV for standard output. The last two are folders,
        which must not exist; "surprise" is text between tabs, without a header.

    Raises
    ------
    RecveilError
        For an unknown format or ending, Parquet for a terminal, a folder for standard output, a
        place that cannot be written or stands in a release, or a label that the format cannot hold.

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
    refuse_traps(path)
    target = Path(path).resolve()  # a link stays a link, and its target is replaced
    chosen = resolve_target(target, format)
    if chosen in FOLDERS:
        refuse_in_release(target)
        _write_folder(FOLDERS[chosen], ratings, target)
        return
    if target.exists() and not target.is_file():
        raise RecveilError(
            f"{target}: expected a plain file to replace; choose another place",
            code="output.not-writable",
        )
    write = _WRITERS[chosen]
    write_beside(target, lambda beside: write(ratings, beside, target))


def _write_to_standard_output(ratings: Ratings, format: str) -> None:
    if format == "parquet" and sys.stdout.isatty():
        raise RecveilError(
            "Parquet is no text for a terminal; lead it into a file or a program, or name a file",
            code="output.not-writable",
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
    refuse_traps(path)
    target = Path(path)
    sweep_beside(target.resolve())
    refuse_in_release(target)
    if target.is_dir() or (target.exists() and not force):
        remedy = "name another target" if target.is_dir() else "replace it with force (--force)"
        raise RecveilError(f"{target} exists; {remedy}", code="output.exists")


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
    known = (*_WRITERS, *FOLDERS)
    if chosen not in (known if format else _BY_ENDING):
        what = f"format {quoted(format)}" if format else f"{name}: ending {quoted(ending)}"
        raise RecveilError(
            f"{what}: expected one of {', '.join(known)}; end the name in .parquet, .csv, "
            f".inter, .csv.gz or .inter.gz, or name it: format (--format), target_format "
            f"(--target-format)",
            code="option.value" if format else "output.extension",
        )
    if chosen in FOLDERS and (is_standard(path) or name.lower().endswith(".gz")):
        raise RecveilError(
            f"{name}: {chosen} is a folder; name one that does not exist yet",
            code="output.extension",
        )
    if chosen == "parquet" and name.lower().endswith(".gz"):
        raise RecveilError(
            f"{name}: Parquet is compressed within; leave out .gz", code="output.extension"
        )
    return chosen


def _write_parquet(ratings: Ratings, temporary: Path, _target: Path) -> None:
    pq.write_table(written_table(ratings), str(temporary), compression="zstd")


def _write_folder(write: _Writer, ratings: Ratings, target: Path) -> None:
    """Write a folder beside its target, and rename it once it is whole."""
    if target.exists():
        raise RecveilError(
            f"{target} exists; name another target for a folder", code="output.exists"
        )
    prefix = f".{target.name}.layout-"
    try:
        sweep(target.parent, rf"{re.escape(prefix)}[0-9a-f]{{8}}")
        with folder_beside(target.parent, prefix) as staging:
            new = staging / "new"
            make_folder(new)
            write(ratings, new, target)
            for file in new.iterdir():
                file.chmod(0o600)
            with placing(target, new):
                new.rename(target)
    except OSError as error:
        raise RecveilError(
            f"{target}: cannot be written ({error.strerror or error}); choose another target",
            code="output.not-writable",
        ) from error


_WRITERS: dict[str, _Writer] = {
    "parquet": _write_parquet,
    "csv": write_csv,
    "inter": write_inter,
    "surprise": write_plain,
}
# Those that the ending of a name may tell.
_BY_ENDING = ("parquet", "csv", "inter")
# Those that are folders, and have no ending.
FOLDERS: dict[str, _Writer] = {"lenskit": write_lenskit, "recbole": write_recbole}
