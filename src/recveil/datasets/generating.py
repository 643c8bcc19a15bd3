"""generate: invented ratings, straight into a file."""

from os import PathLike

from recveil.datasets.synthetic import make_ratings
from recveil.io import write_ratings
from recveil.io.write import refuse_to_replace, resolve_target
from recveil.ratings import Ratings, RatingScale


def generate(
    output: str | PathLike[str],
    *,
    users: int = 2_000,
    items: int = 1_000,
    ratings: int = 100_000,
    seed: int = 0,
    scale: RatingScale | None = None,
    format: str | None = None,
    force: bool = False,
) -> Ratings:
    """Invent a table of ratings and write it.

    Parameters
    ----------
    output : path
        The file to be written; its ending names the format, unless `format` does.
    users, items, ratings : int
        Size of the table.
    seed : int
        The same seed gives the same ratings.
    scale : RatingScale, optional
        1:5:1 if not given.
    format : {"parquet", "csv", "inter"}, optional
    force : bool
        Replace a file that stands at `output`.

    Raises
    ------
    RecveilError
        If the sizes do not fit each other or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     generate(Path(folder, "ratings.csv"), users=10, items=20, ratings=50)
    Ratings(10 users × 20 items, 50 ratings, 25 % filled, scale 1:5:1, with times)
    """
    resolve_target(output, format)
    refuse_to_replace(output, force=force)
    made = make_ratings(users, items, ratings, seed, scale=scale)
    write_ratings(made, output, format=format)
    return made
