"""Results of an inspection, for the publisher."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from recveil.inspection.column_roles import ColumnOrder, Identifier
from recveil.inspection.first_rows import FirstRows
from recveil.inspection.statistics import Dates, Spread
from recveil.io import Reading
from recveil.ratings import Ratings
from recveil.ratings.rating_scale import distinct
from recveil.ratings.ratings import count_users, doubts_of
from recveil.runtime.safe_repr import brief

# More levels than these are no picture.
MOST_LEVELS = 20
# An end of the scale that fewer users used is reported, as by the other commands that publish
# nothing.
_FEW = 5


class End(NamedTuple):
    """An end of the scale."""

    value: float
    # Numbers of ratings at this end and of users who gave one; of a continuous scale, in its outer
    # tenth
    ratings: int
    people: int


class WordUse(NamedTuple):
    """Use of a word as a rating."""

    word: str
    # Numbers of ratings and of users with this word
    ratings: int
    people: int


@brief
@dataclass(frozen=True, eq=False)
class Inspection:
    """The contents of a table.

    Parameters
    ----------
    reading : Reading
        The ratings, and what was understood of the table.
    rows : FirstRows
        Its first rows: private, for the publisher only, and never part of the JSON.
    activity, popularity : Spread
        Distributions of the ratings per user and per item.
    dates : Dates or None
        None where no times were recognized.
    order : ColumnOrder
        Whether the columns of users and items look swapped.
    identifiers : tuple of Identifier
        Columns that probably identify users.
    duplicates_chosen : bool
        Whether the caller chose which of several ratings of a pair to keep. Otherwise other
        commands reject a table with such ratings.
    """

    reading: Reading
    rows: FirstRows
    activity: Spread
    popularity: Spread
    dates: Dates | None
    order: ColumnOrder
    identifiers: tuple[Identifier, ...]
    duplicates_chosen: bool = True

    @property
    def ratings(self) -> Ratings:
        """The ratings."""
        return self.reading.ratings

    @property
    def ends(self) -> tuple[End, End]:
        """The low and the high end of the scale, and how much they are used."""
        return _end(self.ratings, "low"), _end(self.ratings, "high")

    @property
    def levels(self) -> list[tuple[float, int]]:
        """Each different rating, and how many there are of it; empty if there are many."""
        levels = distinct(self.ratings.values)
        if levels.size > MOST_LEVELS:
            return []
        counts = np.bincount(np.searchsorted(levels, self.ratings.values)).tolist()
        return [
            (level if level.is_integer() else float(f"{level:.7g}"), n)
            for level, n in zip(levels.tolist(), counts, strict=True)
        ]

    @property
    def words(self) -> list[WordUse]:
        """Each word of the scale, and how much it is used; empty if ratings are numbers."""
        ratings = self.ratings
        users = ratings.user_positions()
        return [
            WordUse(word, int(here.sum()), int(np.unique(users[here]).size))
            for at, word in enumerate(ratings.scale.words, 1)
            for here in [ratings.values == at]
        ]

    @property
    def doubts(self) -> list[str]:
        """Doubts about a scale that was not given, one clause each."""
        return [doubt.describe(_FEW) for doubt in doubts_of(self.ratings, _FEW)]

    @property
    def dropped(self) -> dict[str, int]:
        """How many rows are not among the ratings, by the reason."""
        rows = {
            "duplicate": self.reading.duplicates_dropped,
            "off scale": self.reading.off_scale_dropped,
            "no rating": self.reading.unrated_dropped,
        }
        return {why: n for why, n in rows.items() if n}

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON: no value of the table but ends and levels."""
        reading, scale = self.reading, self.ratings.scale
        low, high = self.ends
        return {
            "input": reading.name,
            "format": reading.format,
            "data": {
                **reading.to_dict(),
                "users": self.ratings.n_users,
                "items": self.ratings.n_items,
                "ratings": self.ratings.n_ratings,
                "density": self.ratings.density,
                "scale": str(scale),
            },
            "scale": {
                "low": scale.low,
                "high": scale.high,
                "step": scale.step,
                "inferred": not reading.scale_given,
                "low_end": low._asdict(),
                "high_end": high._asdict(),
                "levels": [{"value": value, "ratings": n} for value, n in self.levels],
                "doubts": self.doubts,
                **(
                    {"ordered": scale.ordered, "words": [each._asdict() for each in self.words]}
                    if scale.words
                    else {}
                ),
            },
            "dates": self.dates and self.dates._asdict(),
            "dropped": self.dropped,
            "duplicates_chosen": self.duplicates_chosen,
            "activity": self.activity.to_dict(),
            "popularity": self.popularity.to_dict(),
            "order_seen": self.order.to_dict(),
            "identifiers": [each._asdict() for each in self.identifiers],
        }

    def _facts(self) -> dict[str, object]:
        return {
            "people": self.ratings.n_users,
            "items": self.ratings.n_items,
            "ratings": self.ratings.n_ratings,
        }


def _end(ratings: Ratings, side: str) -> End:
    scale, values = ratings.scale, ratings.values
    width = scale.step / 2 if scale.step else 0.1 * scale.range
    # The ends of a named scale may be beyond what ratings can be.
    low, high = np.float64(scale.low + width), np.float64(scale.high - width)
    at_end = values <= low if side == "low" else values >= high
    value = scale.low if side == "low" else scale.high
    return End(value, int(at_end.sum()), count_users(ratings, side))
