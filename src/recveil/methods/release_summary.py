"""Figures of a new release for its publisher; `recveil.report.release` describes them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.methods.predictive.diversity import DiversityCost
from recveil.ratings import Ratings
from recveil.release.coverage import Coverage
from recveil.release.exact_ratings import ExactRatings
from recveil.release.records import Groups
from recveil.release.sides import Published, Sides
from recveil.release.specs.sparse import MIN_CLUSTER
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.verification.value_limits import ValueLimits


class PredictiveSummary(NamedTuple):
    """Figures of predictive anonymization."""

    # Ratings that the rows reveal; None for padded rows
    exact: ExactRatings | None
    # None without diversity
    diversity_cost: DiversityCost | None
    # Whether sparse rows could have the same claim
    has_sparse_alternative: bool
    # What limits of values cost, if there are any
    suppressed: Mapping[str, int] | None = None

    @classmethod
    def of(cls, release: Sides, n_users: int, max_count: int) -> "PredictiveSummary":
        """Summarize a release, given the number of users and the largest item count."""
        claim, settings = release.published.claim, release.published.settings
        # The figures of lists are those of rows that hold all items.
        is_padded = settings["homogenize"] == "padded" and not {"values", "padding"} & set(settings)
        could_be_sparse = not claim.levels and claim.l == 1 and n_users >= MIN_CLUSTER
        return cls(
            release.private.lone_ratings,
            release.private.diversity_cost,
            is_padded and could_be_sparse and max_count >= claim.k,
            release.private.settings.get("suppressed"),
        )


class CoRatedSummary(NamedTuple):
    """Figures of k-coRating."""

    n_ratings: int
    n_filled: int
    # Counts of trust statements, if any were given
    trust: Mapping[str, int] | None
    # What limits of values cost, if there are any
    suppressed: Mapping[str, int] | None = None

    @classmethod
    def of(cls, release: Sides, n_ratings: int) -> "CoRatedSummary":
        """Summarize a release, given the number of ratings."""
        settings = release.private.settings
        counts = settings.get("trust"), settings.get("suppressed")
        return cls(n_ratings, settings["filled_cells"], *counts)


class SparseSummary(NamedTuple):
    """Figures of sparse rows: errors of the published items' counts, and omitted items."""

    mean_error: float
    max_error: float
    n_omitted: int
    # Share of the ratings
    omitted_share: float

    @classmethod
    def of(
        cls, release: Sides, published_counts: NDArray[Any], counts: NDArray[Any]
    ) -> "SparseSummary":
        """Summarize a release, given the item counts of its rows and of the ratings."""
        if release.published.predecessor is not None:
            # Rows are kept for users who left, so that shares of all counts are compared.
            is_kept = published_counts > 0
            published_counts = (
                published_counts * counts[is_kept].sum() / published_counts[is_kept].sum()
            )
        errors = np.abs(published_counts - counts)[published_counts > 0]
        is_omitted = (counts > 0) & (counts < release.published.claim.k)
        share = float(counts[is_omitted].sum() / counts.sum())
        return cls(float(errors.mean()), float(errors.max()), int(is_omitted.sum()), share)


class SyntheticSummary(NamedTuple):
    """Figures of synthetic users."""

    # Directions in which the model's users differ
    n_factors: int

    @classmethod
    def of(cls, release: Sides) -> "SyntheticSummary":
        """Summarize a release."""
        return cls(release.private.settings["n_factors"])


# A registered method may have sentences instead.
Summary = (
    PredictiveSummary | CoRatedSummary | SparseSummary | SyntheticSummary | Sequence[str] | None
)


@brief
class ReleaseSummary(NamedTuple):
    """A new release, and the figures that its publisher needs."""

    published: Published
    figures: Summary
    # None where the rows are not in memory
    coverage: Coverage | None = None

    def _facts(self) -> dict[str, object]:
        return {"": self.published.settings["method"]}


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
