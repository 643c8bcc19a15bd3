"""The result of an inspection, for the publisher."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recveil.inspection.column_roles import ColumnOrder, Identifier
from recveil.inspection.first_rows import FirstRows
from recveil.inspection.statistics import Dates, Distribution
from recveil.io import Reading
from recveil.ratings import Ratings
from recveil.ratings.rating_scale import distinct
from recveil.ratings.ratings import Doubt, count_users, doubts_of
from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief

# Maximum number of levels that are counted one by one.
MOST_LEVELS = 20
# An end of the scale that fewer users gave is doubtful.
FEW = 5


@brief
class End(NamedTuple):
    """An end of the scale."""

    value: float
    # Numbers of ratings at this end and of users who gave one; of a continuous scale, in its outer
    # tenth
    ratings: int
    users: int


@brief
class LabelUse(NamedTuple):
    """Use of an ordinal or nominal label as a rating."""

    label: str
    # Numbers of ratings and of users with this label
    ratings: int
    users: int


@brief
@dataclass(frozen=True, eq=False)
class Inspection(Reportable):
    """The contents of a table.

    Parameters
    ----------
    reading : Reading
        The ratings, and what was understood of the table.
    rows : FirstRows
        Its first rows: private, for the publisher only, and never part of the JSON.
    user_counts, item_counts : Distribution
        Distributions of the numbers of ratings per user and per item.
    dates : Dates or None
        None where no times were recognized.
    column_order : ColumnOrder
        Whether the columns of users and items look swapped.
    identifiers : tuple of Identifier
        Columns that probably identify users.
    duplicates_chosen : bool
        Whether the caller chose which of several ratings of a pair to keep. Otherwise other
        commands reject a table with such ratings.
    """

    reading: Reading
    rows: FirstRows
    user_counts: Distribution
    item_counts: Distribution
    dates: Dates | None
    column_order: ColumnOrder
    identifiers: tuple[Identifier, ...]
    duplicates_chosen: bool = True

    @property
    def ratings(self) -> Ratings:
        """The ratings."""
        return self.reading.ratings

    @property
    def ends(self) -> tuple[End, End]:
        """The low and the high end of the scale, and their counts."""
        return _end(self.ratings, "low"), _end(self.ratings, "high")

    @property
    def levels(self) -> list[tuple[float, int]]:
        """Each distinct rating and its count; empty if there are many."""
        levels = distinct(self.ratings.values)
        if levels.size > MOST_LEVELS:
            return []
        counts = np.bincount(np.searchsorted(levels, self.ratings.values)).tolist()
        return [
            (level if level.is_integer() else float(f"{level:.7g}"), n)
            for level, n in zip(levels.tolist(), counts, strict=True)
        ]

    @property
    def labels(self) -> list[LabelUse]:
        """Each label of the scale and its counts; empty if ratings are numbers."""
        ratings = self.ratings
        users = ratings.user_positions()
        return [
            LabelUse(label, int(here.sum()), int(sorted_unique(users[here]).size))
            for at, label in enumerate(ratings.scale.labels, 1)
            for here in [ratings.values == at]
        ]

    @property
    def doubts(self) -> list[Doubt]:
        """Doubts about a scale that was not given."""
        return doubts_of(self.ratings, FEW)

    @property
    def dropped(self) -> dict[str, int]:
        """Numbers of rows that were not read, by reason."""
        return self.reading.dropped


def _end(ratings: Ratings, side: str) -> End:
    scale, values = ratings.scale, ratings.values
    width = scale.step / 2 if scale.step else 0.1 * scale.range
    # The ends of a named scale may exceed single precision.
    low, high = np.float64(scale.low + width), np.float64(scale.high - width)
    at_end = values <= low if side == "low" else values >= high
    value = scale.low if side == "low" else scale.high
    return End(value, int(at_end.sum()), count_users(ratings, side))
