"""How much of a table a release covers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.runtime.errors import RecveilError
from recveil.runtime.number_format import percent
from recveil.runtime.safe_repr import brief

if TYPE_CHECKING:
    from recveil.ratings import Ratings
    from recveil.release.records import Records

# Recommenders learn nothing of a user from fewer ratings.
FEWEST_RATINGS = 3
# Below this share of the items or ratings, a release is not recommended without a warning.
LOW = 0.5
# Of a table with at least `_MANY_ITEMS` items, a release with fewer than `_FEW_ITEMS` is nearly
# empty, as is one whose rows are short for this share of the users.
_MANY_ITEMS, _FEW_ITEMS, _MOST_SHORT = 20, 10, 0.9
# So is one with less than a hundredth of the items (at least _FEW_ITEMS, at most _FEW_OF_MANY),
# or with less than this share of the ratings.
_FEW_OF_MANY, _FEW_RATINGS = 50, 0.1
# An estimate without the sampling, or the noise, may be too high by as much.
_ESTIMATED_ITEMS, _ESTIMATED_SHORT, _ESTIMATED_RATINGS = 20, 0.7, 0.15


class CoverageWarning(UserWarning):
    """Less than half of the items or ratings are in a release, or next to none."""


class Coverage(NamedTuple):
    """The items and ratings of a table that a release covers, and how short its rows are."""

    # Items of the table that have a rating, and those of them that have a value in the release
    n_items: int
    n_items_kept: int
    # Share of the table's ratings, between 0 and 1, whose item the release has; without some of the
    # users, at most as many as it has values
    rating_share: float
    # Published users, and those with fewer than `FEWEST_RATINGS` values, imputed ones not counted
    n_users: int
    n_short_users: int
    # Users of the table with so few ratings
    n_short_raw_users: int = 0
    # Whether rows of a smaller k may be long enough
    can_lower_k: bool = False

    @classmethod
    def of(
        cls,
        counts: ArrayLike,
        published_counts: ArrayLike,
        lengths: ArrayLike,
        sizes: ArrayLike,
        n_users: int,
        raw_lengths: ArrayLike = (),
        kept_lengths: ArrayLike = (),
    ) -> "Coverage":
        """Compare item counts, given the length of each row and its number of users.

        `raw_lengths` are the users' numbers of ratings, and `kept_lengths`, of rows of users, those
        of kept items: other values are imputed. Users of `n_users` without a row have no value.
        """
        counts, kept = np.asarray(counts), np.asarray(published_counts) > 0
        rated = counts > 0
        share = float(counts[kept].sum() / counts.sum())
        if n_users < np.size(kept_lengths):
            share = min(share, float((np.asarray(lengths) * sizes).sum() / counts.sum()))
        is_long = np.asarray(lengths) >= FEWEST_RATINGS
        n_short_rows = n_users - int(np.asarray(sizes)[is_long].sum())
        is_short = np.asarray(kept_lengths) < FEWEST_RATINGS
        # A release of a sample of the users does not say which.
        n_imputed = int(np.count_nonzero(is_short)) if is_short.size == n_users else 0
        return cls(
            n_items=int(np.count_nonzero(rated)),
            n_items_kept=int(np.count_nonzero(rated & kept)),
            rating_share=share,
            n_users=n_users,
            n_short_users=max(n_short_rows, n_imputed),
            n_short_raw_users=int(np.count_nonzero(np.asarray(raw_lengths) < FEWEST_RATINGS)),
        )

    @classmethod
    def at_most(
        cls, counts: NDArray[Any], k: int, n_users: int, n_short_raw_users: int
    ) -> "Coverage":
        """Return the coverage of rows that contain all items with at least k raters.

        It is an upper bound: the run may leave out some that have hardly more. Rows have about as
        many values as these items have ratings, so few values leave many users short; how many
        others are short is not known.
        """
        kept = counts * (counts >= k)
        n_long = min(n_users, int(kept.sum()) // FEWEST_RATINGS)
        coverage = cls.of(counts, kept, [FEWEST_RATINGS], [n_long], n_users)
        coverage = coverage._replace(n_short_raw_users=n_short_raw_users)
        return coverage.for_k(k, counts)

    def for_k(self, k: int, counts: NDArray[Any]) -> "Coverage":
        """Return it with whether a smaller k may help, given the table's item counts."""
        if k <= 2 or not counts.any():
            return self
        n_users = max(self.n_users, 1)
        lowest = Coverage.at_most(counts, 2, n_users, self.n_short_raw_users)
        return self._replace(can_lower_k=not lowest.may_be_nearly_empty)

    def of_model(self) -> "Coverage":
        """Return it without short users, since a model publishes no users."""
        return self._replace(n_short_users=0, n_short_raw_users=0)

    def figures(self) -> dict[str, float]:
        """Return its numbers, without what is for the refusal alone."""
        return {name: n for name, n in self._asdict().items() if name != "can_lower_k"}

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
        has_few_ratings = self.rating_share < _ESTIMATED_RATINGS
        return has_short_rows or (not is_whole and (has_few_items or has_few_ratings))

    @property
    def has_short_rows(self) -> bool:
        """Whether nearly all users have too few ratings to learn from."""
        return self.n_short_users > _MOST_SHORT * self.n_users

    @property
    def is_nearly_empty(self) -> bool:
        """Whether next to nothing can be learned from it."""
        if not self.n_users:
            return False
        has_short_rows = self.has_short_rows
        if self.n_items_kept == self.n_items:  # imputed values do not help
            return has_short_rows and self.n_items >= _MANY_ITEMS
        few = max(_FEW_ITEMS, min(_FEW_OF_MANY, self.n_items // 100))
        has_few_items = self.n_items >= _MANY_ITEMS and self.n_items_kept < few
        return has_few_items or has_short_rows or self.rating_share < _FEW_RATINGS


@brief
class PublishedCounts(NamedTuple):
    """Item counts of a release on the table's items, and the length of each row."""

    items: NDArray[np.float64]
    lengths: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(
        cls, blocks: Iterable["Records"], original_items: NDArray[Any], ratings: "Ratings"
    ) -> "PublishedCounts":
        """Count in one pass over the rows, whose items may be hidden and reordered."""
        place_of = {item: place for place, item in enumerate(ratings.items.tolist())}
        # Items of a public catalogue may have no rating.
        at = np.array([place_of.get(item, -1) for item in original_items.tolist()], np.int64)
        counts, lengths, sizes = np.zeros(ratings.n_items + 1), [], []
        for block in blocks:
            lengths.append(np.diff(block.indptr))
            sizes.append(block.sizes)
            weights = np.repeat(block.sizes, lengths[-1])
            places = at[block.indices] % counts.size  # the last one is that of unrated items
            counts += np.bincount(places, weights=weights, minlength=counts.size)
        return cls(counts[:-1], np.concatenate(lengths), np.concatenate(sizes))

    def coverage(
        self, ratings: "Ratings", n_users: int, k: int, *, contains_users: bool
    ) -> Coverage:
        """Compare them with the table."""
        rows = self.lengths, self.sizes, n_users, np.diff(ratings.indptr)
        kept: NDArray[Any] = np.zeros(0)
        if contains_users:
            is_kept = self.items[ratings.indices] > 0
            kept = np.bincount(ratings.user_positions()[is_kept], minlength=ratings.n_users)
        coverage = Coverage.of(ratings.support, self.items, *rows, kept)
        return coverage.for_k(k, ratings.support)


# What to publish in place of a release that is worth no more: not exact counts, which disclose
# membership (AUC 1.00).
NOISE = "with noise (differential privacy, as by OpenDP)"


def reject_nearly_empty(
    coverage: Coverage | None,
    *,
    is_estimate: bool = False,
    is_noisy: bool = False,
    likes: bool = False,
) -> None:
    """Raise for a release from which next to nothing can be learned; `is_noisy` if synthetic."""
    if coverage is None or not coverage.is_nearly_empty:
        return
    noun = "likes" if likes else "ratings"
    if is_noisy:
        _reject_synthetic(coverage, "about " * is_estimate, noun)
    lower = "lower k (--k), " * coverage.can_lower_k
    most, least = ("at most ", "at least ") if is_estimate else ("", "")
    facts = [
        f"{most}{coverage.n_items_kept:,} of {coverage.n_items:,} items",
        f"{least}{coverage.n_short_users:,} of {coverage.n_users:,} users with fewer than "
        f"{FEWEST_RATINGS} {noun} ({coverage.n_short_raw_users:,} in the table)",
    ]
    if coverage.has_short_rows:  # the reason first
        facts.reverse()
    raise RecveilError(
        f"the release would be nearly empty: {', and '.join(facts)}; {lower}take a longer period, "
        f"publish noisy item counts, or give allow_sparse_coverage (--allow-sparse-coverage)",
        code="release.nearly-empty",
    )


def _reject_synthetic(coverage: Coverage, about: str, noun: str) -> NoReturn:
    n_short, n_users = coverage.n_short_users, coverage.n_users
    fact = f"{coverage.n_items_kept:,} items"
    if coverage.has_short_rows:
        fact += f", under {FEWEST_RATINGS} for {n_short:,} of {n_users:,} users"
    else:
        fact += f" ({percent(coverage.rating_share)} of the {noun})"
    more = "give an item_catalog (--item-catalog), a larger epsilon (--epsilon), or"
    if coverage.n_items_kept == coverage.n_items:
        more = "take a longer period, or give"
    raise RecveilError(
        f"the release would be nearly empty: {about}{fact}; {more} allow_sparse_coverage "
        f"(--allow-sparse-coverage)",
        code="release.nearly-empty",
    )


TOO_LITTLE = ", warning: less than half"


def kept_of(coverage: Coverage, noun: str = "ratings") -> dict[str, str]:
    """Return the items and ratings that are kept, as facts of a line for the publisher."""
    n, kept = coverage.n_items, coverage.n_items_kept
    shares = [kept / n if n else 0.0, coverage.rating_share]
    items, ratings = (percent(share, LOW) + TOO_LITTLE * (share < LOW) for share in shares)
    return {"items": f"{kept:,} of {n:,} ({items})", f"{noun} kept": ratings}
