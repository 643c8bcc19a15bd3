"""Ratings together with a report on how their table was interpreted."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from recveil.io.columns.columns import NOT_SAID
from recveil.io.columns.feedback import describe_feedback
from recveil.io.detect.user_column import Order
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import python_values
from recveil.ratings.ratings import doubts_of
from recveil.runtime.errors import RecveilError, shortened

_EXAMPLES, _LOOKED_AT = 2, 10_000
# Without a group size k, an end of the scale given by fewer users is reported.
_FEW = 5
# Start of a note on an inferred scale.
INFERRED_SCALE_NOTE = "The scale is inferred"


class ReadColumn(NamedTuple):
    """A column of users, items, ratings or times.

    Attributes
    ----------
    role : {"user", "item", "rating", "time"}
    name : str or int
        Its name in the table, or its place, from 1, without a header.
    examples : tuple of str
        Two of its values, for the publisher to check: they are private.
    """

    role: str
    name: str | int
    examples: tuple[str, ...]

    def __repr__(self) -> str:
        return f"ReadColumn({self.role!r}, {self.name!r})"


@dataclass(frozen=True, repr=False)
class Reading:
    """Ratings, and how their table was interpreted.

    Parameters
    ----------
    ratings : Ratings
    name : str
        The name of the file; "the data frame" or "the ratings" for other inputs.
    columns : tuple of ReadColumn
        Empty if `Ratings` were given.
    order : {"named", "given", "format", "guessed"}
        How the columns were identified: by the table's names, by the caller, by the format's fixed
        order, or by the usual order alone.
    scale_given : bool
        Whether the caller named the scale; otherwise it is inferred.
    duplicates_dropped, off_scale_dropped : int
        Number of rows dropped because their pair was repeated, or their rating off the given scale.
    notes : tuple of str
        Warnings about the ratings, a sentence each.
    layout : tuple of str
        Unusual properties of the file: its packing, its delimiter.
    format : str
        The format of the file, a key of `FORMATS`, or "wide"; empty for other inputs.
    counted : bool
        Whether the ratings are levels of counts.
    unrated_dropped : int
        Number of rows dropped because they had no rating.
    of_release : bool
        Whether these are the values of a release, whose rows are not the ratings of any user.
    lost_times : str
        Why a column that may hold times was dropped.
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
        """Describe which column has which role.

        Parameters
        ----------
        examples : bool
            Whether to show two values of each column, to the publisher alone.

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
        """Return the same reading with its scale accepted, even if it was inferred.

        For measurements; `notes` report doubts about the scale. Publishing requires an unsettled
        scale, so that anonymizers reject ends that come from few users.
        """
        scale = replace(self.ratings.scale, inferred=False)
        return replace(self, ratings=self.ratings.with_scale(scale))

    def require_times(self) -> "Reading":
        """Return self, or raise a RecveilError if a column that may hold times was dropped."""
        if self.lost_times:
            why = self.lost_times.replace("was not used as times: ", "holds no times: ")
            why = why.replace(f": not every row holds a date: {self.name} ", ": ")
            raise RecveilError(
                f"{shortened(self.name, 24)}: {why}; fix or drop them (recveil convert --no-times)",
                code="time.unreadable",
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the interpretation as plain data, for JSON, without values of the table."""
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


def equal_as_likes(reading: Reading) -> Reading:
    """Convert equal ratings to likes, unless a scale has other levels.

    Examples
    --------
    >>> equal_as_likes(Reading(Ratings.from_columns([1, 2], [7, 7], [5, 5]), "the ratings")).notes
    ('All 2 ratings are 5: read as likes, without rating values; if they are ratings, name the scale
    (--scale).',)
    """
    ratings = reading.ratings
    if not ratings.scale.inferred or ratings.scale.range or ratings.n_ratings < 2:
        return reading
    why = f"All {ratings.n_ratings:,} ratings are {ratings.values[0]:g}"
    likes = ratings.as_likes()
    likes = likes.with_scale(replace(likes.scale, inferred=True))
    notes = describe_feedback(likes.scale, why, NOT_SAID, None, publishing=False)
    return replace(reading, ratings=likes, notes=(*reading.notes, *notes))


def with_scale_notes(reading: Reading) -> Reading:
    """Add notes on doubtful ends and steps of an inferred scale, which stays marked as inferred."""
    remedy = (
        "Name all labels with words (--words), and drop others with drop_off_scale "
        "(--drop-off-scale)."
        if reading.ratings.scale.labels
        else "Name it with scale (--scale), and drop invalid ratings with drop_off_scale "
        "(--drop-off-scale)."
    )
    notes = [
        f"{INFERRED_SCALE_NOTE}: {doubt.describe(_FEW)}. {remedy}"
        for doubt in doubts_of(reading.ratings, _FEW)
    ]
    return replace(reading, notes=(*reading.notes, *notes))


def examples_of(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return two distinct values of a column, shortened.

    Examples
    --------
    >>> examples_of(pa.chunked_array([["ann", "ann", "ben", "eve"]]))
    ('ann', 'ben')
    """
    first = column.slice(0, _LOOKED_AT)
    if not pa.types.is_nested(first.type):
        first = first.unique()
    texts = map(str, python_values(first.slice(0, _EXAMPLES)))
    return tuple(text if len(text) <= 24 else f"{text[:24]}…" for text in texts)
