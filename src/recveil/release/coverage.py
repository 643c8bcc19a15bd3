"""How much of a table a release covers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

# Recommenders learn nothing of a user from fewer ratings.
FEWEST_RATINGS = 3
# Below this share of the items or ratings, a release is not recommended without a warning.
LOW = 0.5
# Of a table with at least `_MANY_ITEMS` items, a release with fewer than `_FEW_ITEMS` is nearly
# empty, as is one whose rows are short for this share of the users.
_MANY_ITEMS, _FEW_ITEMS, _MOST_SHORT = 20, 10, 0.9
# An estimate without the sampling is too high by as much, where rows are short.
_ESTIMATED_ITEMS, _ESTIMATED_SHORT = 20, 0.7


class CoverageWarning(UserWarning):
    """Less than half of the items or ratings are in a release, or next to none."""


class Coverage(NamedTuple):
    """The items and ratings of a table that a release covers, and how short its rows are."""

    # Items of the table that have a rating, and those of them that have a value in the release
    n_items: int
    n_items_kept: int
    # Share of the table's ratings, between 0 and 1, whose item the release has
    rating_share: float
    # Published users, and those with fewer than `FEWEST_RATINGS` values
    n_users: int
    n_short_users: int
    # Users of the table with so few ratings
    n_short_raw_users: int = 0

    @classmethod
    def of(
        cls,
        counts: ArrayLike,
        published_counts: ArrayLike,
        lengths: ArrayLike,
        sizes: ArrayLike,
        n_users: int,
        raw_lengths: ArrayLike = (),
    ) -> "Coverage":
        """Compare item counts, given the length of each row and its number of users.

        `raw_lengths` are the users' numbers of ratings. Users of `n_users` who have no row have no
        value.
        """
        counts, kept = np.asarray(counts), np.asarray(published_counts) > 0
        rated = counts > 0
        is_long = np.asarray(lengths) >= FEWEST_RATINGS
        return cls(
            n_items=int(np.count_nonzero(rated)),
            n_items_kept=int(np.count_nonzero(rated & kept)),
            rating_share=float(counts[kept].sum() / counts.sum()),
            n_users=n_users,
            n_short_users=n_users - int(np.asarray(sizes)[is_long].sum()),
            n_short_raw_users=int(np.count_nonzero(np.asarray(raw_lengths) < FEWEST_RATINGS)),
        )

    @property
    def item_share(self) -> float:
        """Share of the table's rated items that the release has."""
        return self.n_items_kept / self.n_items

    @property
    def is_low(self) -> bool:
        """Whether less than half of the items or of the ratings are covered."""
        return min(self.item_share, self.rating_share) < LOW

    @property
    def may_be_nearly_empty(self) -> bool:
        """Whether a release with this estimate may be nearly empty, depending on its sampling."""
        has_few_items = self.n_items >= _MANY_ITEMS and self.n_items_kept < _ESTIMATED_ITEMS
        is_whole = self.n_items_kept == self.n_items
        n_short = max(self.n_short_users, self.n_short_raw_users)
        has_short_rows = n_short > _ESTIMATED_SHORT * self.n_users
        return has_short_rows or (has_few_items and not is_whole)

    @property
    def is_nearly_empty(self) -> bool:
        """Whether items are left out, and next to nothing can be learned from the rest."""
        if self.n_items_kept == self.n_items or not self.n_users:
            return False
        has_few_items = self.n_items >= _MANY_ITEMS and self.n_items_kept < _FEW_ITEMS
        return has_few_items or self.n_short_users > _MOST_SHORT * self.n_users
