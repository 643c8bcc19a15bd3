"""Reading: ratings, and what was understood of the table that they come from."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from recveil.io.detect.user_column import Order
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import python_values
from recveil.ratings.columns import NOT_SAID
from recveil.ratings.feedback import describe_feedback
from recveil.ratings.ratings import doubts_of
from recveil.runtime.errors import RecveilError, shortened

_EXAMPLES, _LOOKED_AT = 2, 10_000
# Where nobody asks for groups of k, an end of the scale that fewer people used is pointed out.
_FEW = 5
# How what is doubtful about an inferred scale begins.
NOBODY_NAMED = "Nobody named the scale"


class ReadColumn(NamedTuple):
    """What was taken for users, items, ratings or times.

    Attributes
    ----------
    role : {"user", "item", "rating", "time"}
    name : str or int
        What the table calls the column, or its place, from 1 on, where it has no header.
    examples : tuple of str
        Two values of it, for its owner to look at: they are private.
    """

    role: str
    name: str | int
    examples: tuple[str, ...]

    def __repr__(self) -> str:
        return f"ReadColumn({self.role!r}, {self.name!r})"


@dataclass(frozen=True, repr=False)
class Reading:
    """Ratings, and what was understood of the table that they come from.

    Parameters
    ----------
    ratings : Ratings
    name : str
        The name of the file; "the data frame" or "the ratings" where it has none.
    columns : tuple of ReadColumn
        Empty where `Ratings` were given.
    order : {"named", "given", "format", "guessed"}
        How the columns were told apart: by the table's own names, by the caller, because the
        format fixes their order, or by nothing but the usual order.
    scale_given : bool
        Whether the caller named the scale; otherwise it is the ratings' own.
    duplicates_dropped, off_scale_dropped : int
        Rows that are not among the ratings: a pair stood more than once, or the rating was not on
        the given scale.
    notes : tuple of str
        What somebody must know who relies on the ratings, a sentence each.
    layout : tuple of str
        How the file was read, where that is not as usual: how it is packed, what stands between
        its columns.
    format : str
        The name of the file's format, a key of `FORMATS`, or "wide"; empty for what is no file.
    counted : bool
        Whether the ratings are levels of counts.
    unrated_dropped : int
        Rows that are not among the ratings, because there was no rating in them.
    of_release : bool
        Whether these are the labels of a release, whose rows are no ratings of anybody.
    lost_times : str
        Why a column was left out that may state when users rated.
    """

    ratings: Ratings
    name: str
    columns: tuple[ReadColumn, ...] = ()
    order: Order = "named"
    scale_given: bool = False
    duplicates_dropped: int = 0
    off_scale_dropped: int = 0
    notes: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    format: str = ""
    counted: bool = False
    unrated_dropped: int = 0
    of_release: bool = False
    lost_times: str = ""

    @property
    def has_header(self) -> bool:
        """Whether the table names its columns."""
        return not any(isinstance(column.name, int) for column in self.columns)

    def mapping(self, *, examples: bool = False) -> str:
        """Say which column was taken for what.

        Parameters
        ----------
        examples : bool
            Whether to show two values of each column, to its owner alone.

        Examples
        --------
        >>> ratings = Ratings.from_columns(["ann"], ["Heat"], [4])
        >>> columns = ReadColumn("user", 2, ("ann",)), ReadColumn("item", "film", ("Heat",))
        >>> Reading(ratings, "ratings.csv", columns).mapping(examples=True)
        "user: column 2 (ann); item: column 'film' (Heat)"
        """
        return "; ".join(
            f"{column.role}: column {column.name!r}"
            + (f" ({', '.join(column.examples)})" if examples and column.examples else "")
            for column in self.columns
        )

    def settled(self) -> "Reading":
        """Return the same with its scale taken for what it is, even if nobody named it.

        For whoever measures: its doubts stand in `notes`. Whoever publishes does not settle it, so
        that anonymizers refuse ends that are somebody's ratings.
        """
        scale = replace(self.ratings.scale, inferred=False)
        return replace(self, ratings=self.ratings.with_scale(scale))

    def require_times(self) -> "Reading":
        """Return the same; raise a RecveilError if a column that may hold times was left out."""
        if self.lost_times:
            why = self.lost_times.replace("was not taken for times: ", "holds no times: ")
            why = why.replace(f": not every row of it holds a date: {self.name} ", ": ")
            raise RecveilError(
                f"{shortened(self.name, 24)}: {why}; mend or drop them "
                f"(recveil convert --no-times)",
                code="time.unreadable",
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return what was understood as plain data, for JSON; no values of the table."""
        return {
            "columns": {column.role: column.name for column in self.columns},
            "has_header": self.has_header,
            "order": self.order,
            "layout": list(self.layout),
            "scale_given": self.scale_given,
            "duplicates_dropped": self.duplicates_dropped,
            "off_scale_dropped": self.off_scale_dropped,
            "unrated_dropped": self.unrated_dropped,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"Reading({self.name!r}: {self.ratings!r})"


def of_one_value(reading: Reading) -> Reading:
    """Take ratings for likes that are all equal, where no scale says that there are others.

    Examples
    --------
    >>> of_one_value(Reading(Ratings.from_columns([1, 2], [7, 7], [5, 5]), "the ratings")).notes
    ('All 2 ratings are 5: read as likes, which tell who chose what, and nothing more; if they are
    ratings, name the scale (--scale).',)
    """
    ratings = reading.ratings
    if not ratings.scale.inferred or ratings.scale.range or ratings.n_ratings < 2:
        return reading
    why = f"All {ratings.n_ratings:,} ratings are {ratings.values[0]:g}"
    likes = ratings.as_likes()
    likes = likes.with_scale(replace(likes.scale, inferred=True))
    told = describe_feedback(likes.scale, why, NOT_SAID, None, publishing=False)
    return replace(reading, ratings=likes, notes=(*reading.notes, *told))


def with_ends(reading: Reading) -> Reading:
    """Tell doubtful ends and steps of an inferred scale; the scale stays marked as inferred."""
    remedy = (
        "Name them with words (--words), and leave others out with drop_off_scale "
        "(--drop-off-scale)."
        if reading.ratings.scale.words
        else "Name it with scale (--scale), and leave out what is no rating with drop_off_scale "
        "(--drop-off-scale)."
    )
    notes = [
        f"{NOBODY_NAMED}: {doubt.describe(_FEW)}. {remedy}"
        for doubt in doubts_of(reading.ratings, _FEW)
    ]
    return replace(reading, notes=(*reading.notes, *notes))


def examples_of(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return two values of a column, cut where they are long.

    Examples
    --------
    >>> examples_of(pa.chunked_array([["ann", "ann", "ben", "eve"]]))
    ('ann', 'ben')
    """
    found = column.slice(0, _LOOKED_AT)
    if not pa.types.is_nested(found.type):
        found = found.unique()
    texts = map(str, python_values(found.slice(0, _EXAMPLES)))
    return tuple(text if len(text) <= 24 else f"{text[:24]}…" for text in texts)
