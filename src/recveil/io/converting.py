"""From one file of ratings to another."""

from os import PathLike
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.io.at_hand import file_at
from recveil.io.intake import understand
from recveil.io.keywords import refuse_unknown_keywords
from recveil.io.pipes import is_standard
from recveil.io.reading import Reading
from recveil.io.write import refuse_to_replace, resolve_target, write_ratings
from recveil.ratings import Ratings


def convert(
    source: str | PathLike[str] | Ratings | Any,
    target: str | PathLike[str],
    *,
    format: str | None = None,
    target_format: str | None = None,
    force: bool = False,
    **reading: Any,
) -> Reading:
    r"""Read a file of ratings and write it in another format.

    Parameters
    ----------
    source : path, Ratings, or data frame
        What to read; a pipe, or "-" for standard input, too.
    target : str or path
        Where to write; "-" for standard output.
    format : str, optional
        The format of `source`, a key of `FORMATS`; found by looking into it if not given.
    target_format : {"parquet", "csv", "inter"}, optional
        By the ending of `target` if not given; CSV for standard output.
    force : bool
        Replace a file that stands at `target`; never the source itself.
    **reading
        Passed to `understand`: scale, duplicates, drop_off_scale, times, user, item, rating, time.

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
    refuse_unknown_keywords("convert", reading, "k", "people_in")
    # A mistyped ending should not cost the minutes of reading a large file.
    resolve_target(target, target_format)
    refuse_to_replace(target, force=force)
    held = file_at(source)
    taken = not is_standard(target) and Path(target).exists()
    if taken and held and held.exists() and Path(target).samefile(held):
        raise RecveilError(f"{target}: source and target are one file; name another target")
    found = understand(source, format=format, **reading)
    write_ratings(found.ratings, target, format=target_format)
    return found
