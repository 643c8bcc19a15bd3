"""Conversion of rating files, and of releases to the formats of other libraries."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from recveil.io.ingestion import (
    Reading,
    has_value,
    reject_unknown_keywords,
    understand,
    warn_of_reading,
)
from recveil.io.inputs import file_at, files_at, is_log_of, would_be_read
from recveil.io.item_features import read_item_table
from recveil.io.options import ReadingOptions
from recveil.io.pipes import is_standard
from recveil.io.write import FOLDERS, how_to_load, reject_replacing, resolve_target, write_ratings
from recveil.publish.release import PublishedRows, ReleaseFolder
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import MANIFEST
from recveil.runtime.errors import RecveilError, describe_count

# Options for releases, whose form is known: how to read their values.
_OF_RELEASES = ("scale", "drop_off_scale", "times", "duplicates")


def convert(
    source: str | PathLike[str] | Ratings | Any,
    target: str | PathLike[str],
    *,
    target_format: str | None = None,
    item_table: str | PathLike[str] | None = None,
    times: bool = True,
    force: bool = False,
    **reading: Unpack[ReadingOptions],
) -> Reading:
    r"""Read a file of ratings and write it in another format.

    Parameters
    ----------
    source : path, Ratings, or data frame
        What to read; a pipe, or "-" for standard input, too. Of a release folder, the
        published rows are read, one per user; the private folder is not.
    target : str or path
        Where to write; "-" for standard output.
    target_format : str, optional
        One of parquet, csv, inter and surprise, or of the folders recbole, lenskit, movielens and
        elliot. By the ending of `target` if not given; CSV for standard output. `notes` of the
        result describe how libraries load what was written.
    item_table : str or path, optional
        Public columns of the items, such as movies.csv, that a folder gets, too. Those of a release
        by default.
    force : bool
        Replace an existing `target`, but never the source.
    times : bool
        Keep the times, to the day.
    **reading
        Passed to `understand`.

    Returns
    -------
    Reading
        The ratings that were read and written, and what was understood of `source`.

    Raises
    ------
    RecveilError
        If `source` cannot be read or `target` cannot be written; `target` is then as it was.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     source, target = Path(folder, "ratings.txt"), Path(folder, "ratings.csv")
    ...     _ = source.write_text("ann 7 4\nben 7 3.5\n")
    ...     _ = convert(source, target)
    ...     print(target.read_text())
    user_id,item_id,rating
    ann,7,4
    ben,7,3.5
    """
    reject_unknown_keywords("convert", reading, "k", "user_files")
    # A mistyped ending should not cost the minutes of reading a large file.
    written_as = resolve_target(target, target_format)
    reject_replacing(target, force=force)
    path = file_at(source)
    reject_input(target, source)
    items = None if item_table is None else read_item_table(item_table)
    if path is not None and (path / MANIFEST).is_file():
        source = ReleaseFolder(path)
    if isinstance(source, PublishedRows):
        if items is None and written_as in FOLDERS:
            items = source.items_table()
        found = _of_release(source, {"times": times, **reading})
    else:
        found = understand(source, times=times, **reading)
        warn_of_reading(found)
    write_ratings(found.ratings, target, format=target_format, item_table=items)
    load = how_to_load(written_as, Path(target), found.ratings)
    return found if load is None else replace(found, notes=(*found.notes, f"To load it: {load}"))


def reject_input(target: str | PathLike[str], source: Any) -> None:
    """Reject a target that is a file of its source, or that the next run would read with it."""
    path = file_at(source)
    if path is None or is_standard(target):
        return
    files = filter(Path.exists, files_at(path))
    if Path(target).exists() and any(map(Path(target).samefile, files)):
        what = "are one file" if path.is_file() else "share that file"
        raise RecveilError(
            f"{target}: source and target {what}; name another target", code="output.is-input"
        )
    if would_be_read(Path(target), path) or is_log_of(Path(target), path):
        raise RecveilError(
            f"{target} would be among the files of {path}, which the next run reads; name "
            f"another target",
            code="output.is-input",
        )


def _of_release(release: PublishedRows, reading: Mapping[str, Any]) -> Reading:
    """Read published rows as ratings: one row per user, on the scale without its steps."""
    for name, value in reading.items():
        if has_value(value) and name not in _OF_RELEASES:
            raise RecveilError(
                f"{name}: given for a release, whose files have one form; leave that out",
                code="option.unsupported",
            )
    options = {name: value for name, value in reading.items() if name in _OF_RELEASES}
    scale = release.manifest.scale
    if options.get("scale") is None and scale.unary:
        options["likes"] = True
    elif options.get("scale") is None:  # values are means between the scale's steps
        options["scale"] = scale if scale.labels else RatingScale(scale.low, scale.high)
    found = understand(release.to_arrow(per_user=True), **options)
    n_users = found.ratings.n_users
    of = describe_count(n_users, "user")
    note = f"A release: its published rows, one for each of {of}, under their new ids."
    return replace(found, name=release.name, of_release=True, notes=(note, *found.notes))
