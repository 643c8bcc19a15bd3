"""What limits of values suppress, and what that costs."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings
from recveil.release.records import Groups
from recveil.runtime.errors import RecveilError
from recveil.verification.value_limits import ValueLimits


class Suppressed(NamedTuple):
    """The cost of limits of values."""

    # Values that are not published: one per record in k-coRating, else one per group
    cells: int
    # Ratings among or behind them
    ratings: int
    # Groups that were merged with others
    merged: int

    @classmethod
    def of_means(
        cls, ratings: Ratings, groups: Groups, kept: NDArray[np.bool_], merged: int
    ) -> Self:
        """Count for means of the ratings of each group, of which some are kept."""
        group_of = np.empty(ratings.n_users, np.int64)
        group_of[groups.members] = np.repeat(np.arange(groups.sizes.size), groups.sizes)
        cells = group_of[ratings.user_positions()] * ratings.n_items + ratings.indices
        raters = np.unique(cells, return_counts=True)[1]
        return cls(int((~kept).sum()), int(raters[~kept].sum()), merged)


def no_values_within(limits: ValueLimits) -> RecveilError:
    """Return the error for limits that no item is within."""
    remedies = {
        "lower diversity (--diversity)": limits.diversity,
        "raise closeness (--closeness)": limits.closeness,
    }
    remedy = ", or ".join(words for words, limit in remedies.items() if limit is not None)
    return RecveilError(
        f"{limits.describe()}: no item of all users together is within this; {remedy}",
        code="option.value",
    )
