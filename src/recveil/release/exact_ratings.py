"""Counts of ratings that are published unchanged."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings
from recveil.release.records import Groups, Records
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief

# Tolerance for equality of a published value and a rating in single precision.
_ABSOLUTE, _RELATIVE = 1e-9, float(np.finfo(np.float32).eps)
# A release that reveals this share of the ratings is not recommended without a warning.
HIGH = 0.5


class ExactRatings(NamedTuple):
    """Shares of ratings that are published unchanged."""

    # Share of all ratings, between 0 and 1, whose item no other member of the group rated. Simple
    # homogenizing publishes each of these unchanged.
    rating_share: float
    # Share of the users who have at least one such rating
    user_share: float
    # Share of all ratings that equal their published value. In a simple release these are those of
    # `rating_share`, and those where all raters agree or their rounded mean is the rating.
    exact_share: float
    # Of the published values that are levels of the scale, the share that equals the rating of
    # every group member who rated the item. It is the probability that such a value is a rating.
    # None if there is no such value, or the scale is continuous.
    label_share: float | None
    # Half the rounding step of published values, in rating points; 0 without rounding. A simple
    # release reveals a lone rating to within this distance.
    within: float
    # Share of all ratings that are at most `within` from their published value
    near_share: float
    # Of all published values, the share that is at most `within` from the ratings of every group
    # member who rated the item, of whom there is at least one. None without values.
    near_label_share: float | None

    @property
    def is_rounded_off(self) -> bool:
        """Whether rounding moves values off the ratings, so that few or none are equal."""
        return self.near_share > self.exact_share


def count_exact_ratings(
    ratings: Ratings, groups: Groups, blocks: Iterable[Records], grid: float | None = None
) -> ExactRatings:
    """Count the ratings that published records show unchanged, in one pass and constant memory."""
    return ExactRatingCounts.of(ratings, groups, blocks, grid).shares()


@brief
class ExactRatingCounts(NamedTuple):
    """The counts behind `ExactRatings`, which are additive over groups."""

    # Ratings, exact and near ones; values on the scale, exact ones; all values, near ones; lone
    # ratings; users with one, and all users
    numbers: NDArray[np.int64]
    within: float

    @classmethod
    def of(
        cls,
        ratings: Ratings,
        groups: Groups,
        blocks: Iterable[Records],
        grid: float | None = None,
    ) -> Self:
        """Count the ratings; the parameters are those of `count_exact_ratings`."""
        lone = np.zeros(groups.members.size, np.int64)
        # Ratings, exact ones, near ones; values on the scale, exact ones; all values, near ones.
        totals = np.zeros(7, np.int64)
        first, step, within = 0, ratings.scale.step, (grid or 0.0) / 2
        for block in blocks:
            starts = groups.starts[first : first + len(block) + 1]
            on_scale = np.zeros(block.values.size, np.bool_)
            if step is not None:
                on_scale = np.abs(ratings.scale.round(block.values, step) - block.values)
                on_scale = on_scale <= _ABSOLUTE
            _count(
                *(groups.members, starts, ratings.indptr, ratings.indices, ratings.values),
                *(block.indptr, block.indices, block.values),
                *(on_scale, ratings.n_items, lone, totals),
                within,
            )
            first += len(block)
        numbers = np.append(totals, [lone.sum(), (lone > 0).sum(), lone.size])
        return cls(numbers, within)

    def shares(self) -> ExactRatings:
        """Return the shares."""
        n_ratings, n_exact, n_near, n_whole, n_exact_values = self.numbers[:5].tolist()
        n_values, n_near_values, n_lone, n_with_lone, n_users = self.numbers[5:].tolist()
        return ExactRatings(
            rating_share=n_lone / max(n_ratings, 1),
            user_share=n_with_lone / max(n_users, 1),
            exact_share=n_exact / max(n_ratings, 1),
            label_share=n_exact_values / n_whole if n_whole else None,
            within=self.within,
            near_share=n_near / max(n_ratings, 1),
            near_label_share=n_near_values / n_values if n_values else None,
        )

    def _facts(self) -> dict[str, object]:
        return {"ratings": int(self.numbers[0]), "labels": int(self.numbers[5])}


@compiled()
def _count(
    members: NDArray[Any],
    starts: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    row_indptr: NDArray[Any],
    row_indices: NDArray[Any],
    row_values: NDArray[Any],
    on_scale: NDArray[Any],
    n_items: int,
    lone: NDArray[Any],
    totals: NDArray[Any],
    within: float,
) -> None:
    """Compare the rows of some groups with their members' ratings, and add to the counts."""
    value_of = np.full(n_items, np.nan)
    raters, equal = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
    near = np.zeros(n_items, np.int64)
    for group in range(starts.size - 1):
        row = slice(row_indptr[group], row_indptr[group + 1])
        value_of[row_indices[row]] = row_values[row]
        for place in range(starts[group], starts[group + 1]):
            user = members[place]
            totals[0] += indptr[user + 1] - indptr[user]
            for at in range(indptr[user], indptr[user + 1]):
                apart = abs(value_of[indices[at]] - values[at])  # nan without a published value
                raters[indices[at]] += 1
                noise = _ABSOLUTE + _RELATIVE * abs(values[at])
                equal[indices[at]] += apart <= noise
                near[indices[at]] += apart <= within + noise
        for at in range(row_indptr[group], row_indptr[group + 1]):
            item = row_indices[at]
            totals[1] += equal[item]
            totals[2] += near[item]
            totals[3] += on_scale[at]
            totals[4] += on_scale[at] and raters[item] > 0 and equal[item] == raters[item]
            totals[5] += 1
            totals[6] += raters[item] > 0 and near[item] == raters[item]
        for place in range(starts[group], starts[group + 1]):
            user = members[place]
            for at in range(indptr[user], indptr[user + 1]):
                item = indices[at]  # it may be suppressed
                lone[place] += raters[item] == 1 and not np.isnan(value_of[item])
        for place in range(starts[group], starts[group + 1]):
            user = members[place]
            for at in range(indptr[user], indptr[user + 1]):
                raters[indices[at]] = equal[indices[at]] = near[indices[at]] = 0
        value_of[row_indices[row]] = np.nan
