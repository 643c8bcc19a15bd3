"""Expected: how many labels a release will have, how many bytes and how long, before the work."""

import math
import shutil
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.ratings import Ratings

Kind = Literal["padded", "simple", "co-rated"]
# More labels than so many times the ratings are refused, unless somebody wants them.
_MOST_FOR_A_RATING = 100
# Measured on MovieLens (100K, latest-small) and invented tables; docs/performance.md has the large
# ones. Bytes of a label in Parquet: full rows took 0.2 to 1.3, sparse ones 0.9 to 2.1.
_BYTES = {"padded": 0.7, "simple": 1.4, "co-rated": 1.3}
# What Parquet may take beyond that.
_DOUBT = 1.8
# Of a person in the private twin, beside their id; of a group's digest in classes.csv.
_BYTES_OF_PERSON, _BYTES_OF_GROUP = 16, 70
# Seconds, on two cores: to start; to read and learn from a rating; to predict a cell; to write,
# digest and verify a label.
_START, _LEARN, _PREDICT = 4.0, 1.1e-6, 1e-9
_WRITE = {"parquet": 7.5e-8, "csv": 6e-7}


class Expected(NamedTuple):
    """What a release will take.

    Attributes
    ----------
    labels : int
        Rows of the published file. With padded homogenizing and before groups are found, as if all
        of them had the least size.
    ratings : int
        What they are made of.
    bytes : int
        Of the published folder and its private twin; about.
    most_bytes : int
        What must be free on the disk for that.
    seconds : float
        For the whole work on two cores; about.
    kind : {"padded", "simple", "co-rated"}
        What the rows are.
    """

    labels: int
    ratings: int
    bytes: int
    most_bytes: int
    seconds: float
    kind: Kind

    def sentence(self) -> str:
        """Say it.

        Examples
        --------
        >>> Expected(1_300_000_000, 922_267, 811_000_000, 1_500_000_000, 110.0, "padded").sentence()
        'about 1.3 billion labels (1,410 for each rating), 811 MB, 2 minutes'
        """
        share = self.labels / max(1, self.ratings)
        each = f"{share:,.0f}" if share >= 10 else f"{share:.1f}"
        return (
            f"about {say_number(self.labels)} labels ({each} for each rating), "
            f"{say_bytes(self.bytes)}, {_say_time(self.seconds)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return self._asdict()


def expect_padded(
    ratings: Ratings,
    k: int,
    levels: NDArray[np.int64] | None,
    layout: str,
    file_format: str,
) -> Expected:
    """Say what padded homogenizing will take, before anybody is grouped.

    Parameters
    ----------
    ratings : Ratings
    k : int
    levels : ndarray of int64, shape (n_users,), or None
    layout, file_format : str
        See `Release.write`.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> expect_padded(ratings, 5, None, "auto", "csv").labels  # 10 groups, 29 of the items rated
    290
    """
    # A group takes in as many people as the one who asks for most.
    shares = 1 / k if levels is None else 1 / levels
    n_groups = max(1, math.floor(float(np.broadcast_to(shares, ratings.n_users).sum()) + 1e-6))
    rated = np.full(n_groups, (ratings.support > 0).sum())
    sizes = np.full(n_groups, ratings.n_users / n_groups)
    return expect(ratings, "padded", rated, sizes, layout, file_format)


def expect(
    ratings: Ratings,
    kind: Kind,
    widths: NDArray[Any],
    sizes: NDArray[Any],
    layout: str,
    file_format: str,
) -> Expected:
    """Say what the rows of groups will take.

    Parameters
    ----------
    ratings : Ratings
    kind : {"padded", "simple", "co-rated"}
        What the rows are.
    widths : ndarray, shape (n_groups,)
        How many labels the row of each group has.
    sizes : ndarray, shape (n_groups,)
        How many people share it.
    layout : {"auto", "users", "groups"}
    file_format : {"parquet", "csv"}

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> groups = np.full(10, 29), np.full(10, 5)
    >>> [expect(ratings, "padded", *groups, layout, "csv").labels for layout in ("auto", "users")]
    [290, 1450]
    """
    # People with co-rated rows have each a label of their own, whatever the layout.
    each = layout == "users" or kind == "co-rated" or (layout == "auto" and kind == "simple")
    labels = round(float((widths * sizes if each else widths).sum()))
    of_label = _BYTES[kind] if file_format == "parquet" else _bytes_of_line(ratings)
    of_people = ratings.n_users * (_BYTES_OF_PERSON + _mean_length(ratings.users))
    size = labels * of_label + of_people + widths.size * _BYTES_OF_GROUP
    doubt = _DOUBT if file_format == "parquet" else 1.1
    predicted = ratings.n_users * ratings.n_items if kind == "padded" else 0
    seconds = _START + _LEARN * ratings.n_ratings + _PREDICT * predicted
    return Expected(
        labels=labels,
        ratings=ratings.n_ratings,
        bytes=round(size),
        most_bytes=round(size * doubt),
        seconds=seconds + _WRITE[file_format] * labels,
        kind=kind,
    )


def refuse_too_large(expected: Expected, parent: Path, layout: str, *, allow_large: bool) -> None:
    """Raise a RecveilError if a release will not fit the disk, or will dwarf what it is made of.

    Parameters
    ----------
    expected : Expected
    parent : Path
        The folder in which it will be written.
    layout : {"auto", "users", "groups"}
    allow_large : bool
        Whether more than 100 labels for each rating are wanted. Nobody can want more than the disk
        holds.

    Examples
    --------
    >>> large = Expected(10_100, 100, 7_000, 12_600, 4.0, "simple")
    >>> refuse_too_large(large, Path("."), "users", allow_large=False)
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: expected about 10,100 labels (101 for each rating), 7 kB, 4
    seconds: more than 100 labels for each rating; take layout groups (--layout groups), or say
    allow_large (--allow-large)
    """
    remedy = _remedy(expected.kind, layout)
    if expected.labels > _MOST_FOR_A_RATING * expected.ratings and not allow_large:
        raise RecveilError(
            f"expected {expected.sentence()}: more than {_MOST_FOR_A_RATING} labels for each "
            f"rating; take {remedy}, or say allow_large (--allow-large)"
        )
    free = shutil.disk_usage(parent).free
    if expected.most_bytes > free:
        raise RecveilError(
            f"{parent.name or parent}: up to {say_bytes(expected.most_bytes)} would be written, "
            f"but {say_bytes(free)} are free; make room, choose another output, or take {remedy}"
        )


def _remedy(kind: Kind, layout: str) -> str:
    groups = "layout groups (--layout groups)"
    if kind == "padded":
        smaller = (
            "homogenize simple (--homogenize simple; it shows lone ratings), fewer items, or a "
            "larger k (--k)"
        )
        return f"{groups}, {smaller}" if layout == "users" else smaller
    if kind == "simple":
        return groups if layout != "groups" else "a smaller k (--k)"
    return "grouping supports (--grouping supports), or a smaller k (--k)"


def _bytes_of_line(ratings: Ratings) -> float:
    """Return the length of a line of CSV: a pseudonym and an item in quotes, a label, a size."""
    pseudonym = len("p0000-") + len(str(ratings.n_users)) + 2
    item = _mean_length(ratings.items) + (2 if ratings.items.dtype == object else 0)
    return pseudonym + item + len("3.5") + len(",,,5\n")


def _mean_length(labels: NDArray[Any]) -> float:
    return sum(len(str(label)) for label in labels.tolist()) / max(1, labels.size)


def say_number(number: float) -> str:
    """Say a number in full, or three digits of it from a million on.

    Examples
    --------
    >>> say_number(1_313_444_000), say_number(10_100)
    ('1.31 billion', '10,100')
    """
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:,.0f}"


def say_bytes(number: float) -> str:
    """Say a number of bytes in at most three digits.

    Examples
    --------
    >>> say_bytes(811_000_000), say_bytes(12)
    ('811 MB', '12 B')
    """
    for size, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= size:
            return f"{float(f'{number / size:.3g}'):,.12g} {name}"
    return f"{number:,.0f} B"


def _say_time(seconds: float) -> str:
    for size, name in ((3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.0f} {name}s"
    return f"{max(1, round(seconds)):,} second{'s' if round(seconds) > 1 else ''}"
