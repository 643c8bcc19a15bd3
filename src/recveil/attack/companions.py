"""Companions: what a label of means tells somebody who knows all others of a group."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import Interval, ratio_interval
from recveil.ratings import Ratings

# A mean is worked out in another order than the publisher's, and moved off by so much at most.
_TOLERANCE = 1e-6
# On a continuous scale, a rating is told that is told to within this share of the scale's range.
_NEAR = 0.05


class Companions(NamedTuple):
    """What is told for sure of people of whose group all others are known.

    Attributes
    ----------
    told : Interval
        Share of a target's ratings that are told for sure, and rightly; trials are people. On a
        continuous scale, to within `within`.
    right : Interval
        Share of what was told for sure that is right: an item that was rated, and how. nan if
        nothing was told.
    by_row : Interval
        Share of the ratings that who takes the row's label for the rating tells rightly, and knows
        none of the others: what the companions add is beyond this.
    stranger : Interval
        What is told rightly of somebody outside the group, if their ratings are taken for the
        target's: so much is right by chance.
    within : float
        How far what is told may lie off and is right, in rating points: 0 on a scale with steps, a
        twentieth of the range on a continuous one.
    """

    told: Interval
    right: Interval
    by_row: Interval
    stranger: Interval
    within: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON and for the page."""
        rates = {name: told for name, told in self._asdict().items() if name != "within"}
        return {
            **{name: told._asdict() if told.trials else None for name, told in rates.items()},
            "within": self.within,
        }


def measure_companions(
    ratings: Ratings,
    table: ReleasedTable,
    targets: NDArray[np.int64],
    grid: float | None,
    seed: int = 0,
) -> Companions:
    """Work out each target's ratings from the row and the ratings of all others of the group.

    The adversary knows who the others are and all that they rated. What the target may have given
    is what leaves the label as it stands: nothing, or one of the scale's values. If one of these is
    left, it is told for sure. On a continuous scale, a rating is told if it must have been
    given, and what is left of the scale for it is a tenth at most.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    table : ReleasedTable
        Its labels must be the means of those who rated an item, moved to the grid.
    targets : ndarray of int64
        User positions. Those without a record are left out.
    grid : float or None
        The step of the labels; None if they are exact means.
    seed : int
        Fixes who is taken for a stranger.

    Examples
    --------
    The first of two people rated item a alone, and both rated b: 5 and 2.

    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.ratings import RatingScale
    >>> stars = RatingScale(1, 5, 1)
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [4, 5, 2], scale=stars)
    >>> release = PredictiveAnonymizer(k=2, homogenize="simple", seed=1).anonymize(ratings)
    >>> table = ReleasedTable.from_release(release, ratings)
    >>> found = measure_companions(ratings, table, np.arange(2), grid=0.1)
    >>> found.told.rate, found.right.rate, round(found.by_row.rate, 3)
    (1.0, 1.0, 0.333)
    """
    within = _NEAR * ratings.scale.range if ratings.scale.is_fine else 0.0
    members = _members(table)
    targets = targets[table.record_of[targets] >= 0]
    strangers = _draw_strangers(table, targets, seed)
    tallies = []
    for target, stranger in zip(targets.tolist(), strangers.tolist(), strict=True):
        record = int(table.record_of[target])
        others = members[record][members[record] != target]
        items, labels = table.row(record)
        sure = tell_for_sure(ratings, items, labels, others, grid)
        own = _given(ratings, target, items)
        strange = _given(ratings, stranger, items) if stranger >= 0 else np.full(items.size, np.nan)
        tallies.append(
            (
                np.isfinite(sure).sum(),
                _is_same(sure, own, within).sum(),
                _is_same(labels, own, within).sum(),
                ratings.activity[target],
                _is_same(sure, strange, within).sum(),
                ratings.activity[stranger] if stranger >= 0 else 0,
            )
        )
    counts = np.array(tallies, np.float64).reshape(-1, 6)
    told, right, by_row, rated, strange, of_stranger = counts.T
    return Companions(
        told=ratio_interval(right[rated > 0], rated[rated > 0]),
        right=ratio_interval(right[told > 0], told[told > 0]),
        by_row=ratio_interval(by_row[rated > 0], rated[rated > 0]),
        stranger=ratio_interval(strange[of_stranger > 0], of_stranger[of_stranger > 0]),
        within=within,
    )


def tell_for_sure(
    ratings: Ratings,
    items: NDArray[np.integer[Any]],
    labels: NDArray[np.float64],
    others: NDArray[np.int64],
    grid: float | None,
) -> NDArray[np.float64]:
    """Return what the missing member must have given, shape (n_labels,); nan if that is not sure.

    That nobody but the others rated an item, if that is sure, is nan, too. On a continuous scale,
    it is the middle of what it can have been, where that is at most a tenth of the scale.

    Parameters
    ----------
    ratings : Ratings
        Of the others.
    items, labels : ndarray, shape (n_labels,)
        The group's row.
    others : ndarray of int64
        All people of the group but one.
    grid : float or None
        The step of the labels; None if they are exact means.

    Examples
    --------
    Of two people one rated both items, 5 and 2. A label of 4.5 needs another 4, and the label 2
    stands whether the other one gave a 2 as well or nothing.

    >>> from recveil.ratings import RatingScale
    >>> ratings = Ratings.from_columns([1, 1], ["a", "b"], [5, 2], scale=RatingScale(1, 5, 1))
    >>> tell_for_sure(ratings, np.arange(2), np.array([4.5, 2.0]), np.array([0]), 0.1)
    array([ 4., nan])
    """
    totals, raters = np.zeros(ratings.n_items), np.zeros(ratings.n_items)
    for other in others.tolist():
        rated, values = ratings.row(other)
        totals[rated] += values
        raters[rated] += 1
    total, n = totals[items], raters[items]
    # A mean moved to the grid stands within half a step, or at an end of the scale.
    slack = (grid or 0.0) / 2 + _TOLERANCE
    without = (n > 0) & (np.abs(total / np.maximum(n, 1) - labels) <= slack)
    if ratings.scale.is_fine:
        # The sum is known to within the slack for each who rated, the missing one among them.
        ends = ((n + 1) * (labels + side * slack) - total for side in (-1, 1))
        least, most = (np.clip(end, ratings.scale.low, ratings.scale.high) for end in ends)
        is_near = most - least <= 2 * (_NEAR * ratings.scale.range + _TOLERANCE)
        return np.where(is_near & ~without, (least + most) / 2, np.nan)
    possible = ratings.scale.levels
    means = (total[:, None] + possible) / (n[:, None] + 1)
    fits = np.abs(means - labels[:, None]) <= slack
    is_sure = (fits.sum(axis=1) == 1) & ~without
    return np.where(is_sure, possible[fits.argmax(axis=1)], np.nan)


def _members(table: ReleasedTable) -> list[NDArray[np.int64]]:
    released = np.flatnonzero(table.record_of >= 0)
    order = released[np.argsort(table.record_of[released], kind="stable")]
    counts = np.bincount(table.record_of[released], minlength=table.indptr.size - 1)
    return np.split(order, np.cumsum(counts)[:-1])


def _draw_strangers(
    table: ReleasedTable, targets: NDArray[np.int64], seed: int
) -> NDArray[np.int64]:
    """Draw somebody of another group for each target; -1 if there is nobody."""
    rng = np.random.default_rng([seed, 6])
    released = np.flatnonzero(table.record_of >= 0)
    found = np.full(targets.size, -1, np.int64)
    for place, record in enumerate(table.record_of[targets].tolist()):
        elsewhere = released[table.record_of[released] != record]
        if elsewhere.size:
            found[place] = rng.choice(elsewhere)
    return found


def _given(ratings: Ratings, user: int, items: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return what somebody gave to each of some items; nan for those that were not rated."""
    given: NDArray[np.float64] = np.full(ratings.n_items, np.nan)
    rated, values = ratings.row(user)
    given[rated] = values
    return given[items]


def _is_same(
    told: NDArray[np.float64], given: NDArray[np.float64], within: float
) -> NDArray[np.bool_]:
    # nan, which is nothing told or nothing given, is never near.
    return np.abs(told - given) <= within + _TOLERANCE
