"""From a file to a table or to ratings, whatever the format."""

from os import PathLike
from pathlib import Path

from recveil.errors import RecveilError
from recveil.io.columnar import read_columnar
from recveil.io.delimited import DIALECTS, read_delimited
from recveil.io.files import naming
from recveil.io.formats import resolve_format
from recveil.io.netflix import read_netflix
from recveil.io.source import Selection, Source
from recveil.progress import busy
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.assemble import Duplicates


def read_ratings(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    scale: RatingScale | None = None,
    duplicates: Duplicates = "error",
    times: bool = True,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
) -> Ratings:
    r"""Read a file of ratings, gzipped or not.

    Parameters
    ----------
    path : str or path
        The file, or the folder of the Netflix Prize.
    format : str, optional
        A key of `FORMATS`; found by looking into the file if not given.
    scale : RatingScale, optional
        Inferred from the ratings if not given.
    duplicates : {"error", "last", "mean"}
        What to do if a user rates an item more than once: raise, keep the last row, or take the
        mean.
    times : bool
        Whether to read the times, if there are any.
    user, item, rating, time : str, optional
        Names of the columns, for files with a header; found by the usual names if not given.

    Returns
    -------
    Ratings

    Raises
    ------
    RecveilError
        For a file that cannot be read, and for the first line or row that is no rating, by its
        number.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.dat")
    ...     _ = path.write_text("1::1193::5::978300760\n1::661::3::978302109\n")
    ...     read_ratings(path)
    Ratings(1 users × 2 items, 2 ratings, 100 % filled, scale 3:5:2, with times)
    """
    given = {"user": user, "item": item, "rating": rating, "time": time}
    with busy("Reading ratings"):
        return _assemble(
            _read(Path(path), format, Selection(given, times=times)),
            Path(path).name,
            scale,
            duplicates,
        )


def _assemble(
    source: Source, name: str, scale: RatingScale | None, duplicates: Duplicates
) -> Ratings:
    locate = source.locate
    columns = dict(zip(source.table.column_names, source.table.columns, strict=True))
    del source  # so that nobody but the dictionary holds the columns
    try:
        return Ratings.from_arrow(columns, scale=scale, duplicates=duplicates, locate=locate)
    except RecveilError as error:
        # Most errors tell the line, and with it the file; a few speak of a column as a whole.
        raise error if name in str(error) else RecveilError(f"{name}: {error}") from None


def read_table(path: str | PathLike[str], format: str | None = None) -> Source:
    r"""Read a file of ratings as it stands: nothing is made of its values yet.

    Parameters
    ----------
    path : str or path
        The file, or the folder of the Netflix Prize.
    format : str, optional
        A key of `FORMATS`; found by looking into the file if not given.

    Returns
    -------
    Source
        The table with its columns under the names `user`, `item`, `rating`, `time`, all other
        columns under their own, and the way to say where a row stands.

    Raises
    ------
    RecveilError
        For a file that cannot be read, lacks a column, or has no rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_text("user_id,item_id,rating,group_size\n007,12,3.50,5\n")
    ...     source = read_table(path)
    ...     source.table.to_pylist(), source.locate(0)
    ([{'user': '007', 'item': '12', 'rating': '3.50', 'group_size': '5'}], 'ratings.csv line 2')
    """
    return _read(Path(path), format, Selection(extras=True))


def _read(path: Path, format: str | None, selection: Selection) -> Source:
    format = resolve_format(path, format)
    with naming(path):
        if format in DIALECTS:
            source = read_delimited(path, format, selection)
        elif format == "netflix":
            source = read_netflix(path, selection)
        else:
            source = read_columnar(path, format, selection)
    if source.table.num_rows == 0:
        raise RecveilError(f"{path.name}: there are no ratings in it; expected at least one")
    return source
