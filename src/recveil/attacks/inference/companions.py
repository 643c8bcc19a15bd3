"""Companions: what a label of means tells somebody who knows all others of a group."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.release_target import ReleasedTable
from recveil.attacks.statistics import Interval, Mean, mean_interval, ratio_interval
from recveil.ratings import Ratings, RatingScale

# As in `ExactRatings`: how far a label and a rating in single precision may lie apart and be the
# same.
_TOLERANCE = 1e-6
# Of more labels, those of some records are looked at, drawn at random: all take gigabytes.
MOST_LABELS = 1 << 23


class PossibleRatings(NamedTuple):
    """How homogeneous the ratings behind a release's labels are.

    Attributes
    ----------
    whole_exact : Interval
        Of the labels that are values of the scale, the share that is the exact rating of everybody
        in the group who rated the item, who are one at least. Its trials are records.
    whole_by_commonest : Interval
        Of the same labels, the share for which the commonest rating of the item, in the table the
        release was made from, is everybody's rating: what who knows no label guesses rightly.
    one_rating : Interval
        Of the labels of items that somebody in the group rated, the share behind which stands one
        rating only, whoever gave it: (distinct) diversity l = 1.
    distinct : Mean
        How many different ratings stand behind such a label; the mean over records.
    can_stand : Mean or None
        How many values of the scale can stand behind a label, as far as the label and the number
        of people tell; the mean over records. None where labels are not the means of those who
        rated.
    sure : Interval or None
        Share of the labels behind which one value only can stand.
    distance : Mean
        How far the ratings behind a label are from all ratings of the item, from 0 to 1: half the
        sum of the differences of their shares, the t of t-closeness; the mean over records.
    records, of_records : int
        Records that were looked at, and all.
    """

    whole_exact: Interval
    whole_by_commonest: Interval
    one_rating: Interval
    distinct: Mean
    can_stand: Mean | None
    sure: Interval | None
    distance: Mean
    records: int
    of_records: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON and for the page."""
        counts = {"records": self.records, "of_records": self.of_records}
        found = {
            name: None if told is None or told.trials < 2 else told._asdict()
            for name, told in self._asdict().items()
            if name not in counts
        }
        return {**found, **counts}


def measure_possible_ratings(
    ratings: Ratings, table: ReleasedTable, *, are_means: bool, grid: float | None
) -> PossibleRatings | None:
    """Count the ratings behind each label.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    table : ReleasedTable
    are_means : bool
        Whether its labels are the means of those who rated an item.
    grid : float or None
        The step of the labels; None if they are not rounded.

    Returns
    -------
    PossibleRatings or None
        None on a continuous scale, or one of very many steps, where a rating is hardly given twice.

    Notes
    -----
    Source of the counts: l-diversity (Machanavajjhala et al. 2007, distinct) and t-closeness (Li et
    al. 2007, with the total variation for a distance), for which a label is a class of its own.

    Examples
    --------
    Two people gave a 4 and 4, and b 5 and 2: labels 4 and 3.5.

    >>> from recveil.methods import PredictiveAnonymizer
    >>> stars = RatingScale(1, 5, 1)
    >>> ratings = Ratings.from_columns([1, 1, 2, 2], list("abab"), [4, 5, 4, 2], scale=stars)
    >>> release = PredictiveAnonymizer(k=2, homogenize="simple", seed=1).anonymize(ratings)
    >>> table = ReleasedTable.from_release(release, ratings)
    >>> found = measure_possible_ratings(ratings, table, are_means=True, grid=0.1)
    >>> found.whole_exact.rate, found.one_rating.rate, found.distinct.mean
    (1.0, 0.5, 1.5)
    """
    if ratings.scale.is_fine:
        return None
    drawn = _draw_records(table)
    lengths = np.diff(table.indptr)[drawn]
    rows = np.repeat(drawn, lengths)
    first = np.repeat(table.indptr[drawn] - np.cumsum(lengths) + lengths, lengths)
    labels_at = first + np.arange(rows.size)
    items, labels = table.indices[labels_at], table.values[labels_at]
    shares = _shares_of_ratings(ratings, table, rows, items)
    raters = shares.sum(axis=1)
    is_rated = raters > 0
    distinct = (shares > 0).sum(axis=1)
    behind = shares[is_rated] / raters[is_rated, None]
    overall = _shares_of_items(ratings)[items[is_rated]]
    distance = np.abs(behind - overall).sum(axis=1) / 2
    levels = ratings.scale.levels
    nearest = np.abs(levels[:, None] - labels).argmin(axis=0)
    is_whole = np.abs(levels[nearest] - labels) <= _TOLERANCE
    alone = distinct == 1
    exact = alone & (shares.argmax(axis=1) == nearest)
    usual = _shares_of_items(ratings).argmax(axis=1)[items]
    by_usual = alone & (shares.argmax(axis=1) == usual)
    can_stand = None
    if are_means:
        can_stand = count_possible(labels, table.candidates.sizes[rows], ratings.scale, grid)
    return PossibleRatings(
        whole_exact=_share(exact, rows, is_whole),
        whole_by_commonest=_share(by_usual, rows, is_whole),
        one_rating=_share(alone, rows, is_rated),
        distinct=_mean(distinct[is_rated], rows[is_rated]),
        can_stand=None if can_stand is None else _mean(can_stand, rows),
        sure=None if can_stand is None else _share(can_stand == 1, rows, np.ones_like(is_rated)),
        distance=_mean(distance, rows[is_rated]),
        records=drawn.size,
        of_records=table.candidates.n_records,
    )


def count_possible(
    labels: NDArray[np.float64],
    sizes: NDArray[np.int64],
    scale: RatingScale,
    grid: float | None,
) -> NDArray[np.int64]:
    """Count the values of the scale that can be among the ratings behind a mean.

    Parameters
    ----------
    labels : ndarray of float64, shape (n_labels,)
    sizes : ndarray of int64, shape (n_labels,)
        People in the group, of whom one at least rated the item.
    scale : RatingScale
        With steps.
    grid : float or None
        The step of the labels; None if they are exact means.

    Examples
    --------
    Of two people, a mean of 5 is two fives, or one; 4.5 is a 4 and a 5; 3 may be any two that add
    up to 6.

    >>> count_possible(np.array([5, 4.5, 3]), np.full(3, 2), RatingScale(1, 5, 1), 0.1)
    array([1, 2, 5])
    """
    pairs, place = np.unique(np.column_stack([labels, sizes]), axis=0, return_inverse=True)
    slack = (grid or 0.0) / 2 + _TOLERANCE
    step, low, levels = scale.step or 1.0, scale.low, scale.levels
    counts = np.empty(len(pairs), np.int64)
    for pair, (label, size) in enumerate(pairs.tolist()):
        n = np.arange(1, int(size) + 1)[:, None]
        # What the others gave, in steps above the lowest rating: a whole number, within limits.
        middle, width = (n * label - levels - (n - 1) * low) / step, n * slack / step
        first = np.maximum(np.ceil(middle - width), 0)
        last = np.minimum(np.floor(middle + width), (n - 1) * (levels.size - 1))
        counts[pair] = (first <= last).any(axis=0).sum()
    return counts[place.ravel()]


def _draw_records(table: ReleasedTable) -> NDArray[np.int64]:
    """Return all records, or as many at random as have few enough labels together."""
    n_records = table.candidates.n_records
    if table.values.size <= MOST_LABELS:
        return np.arange(n_records)
    n_drawn = max(1, MOST_LABELS * n_records // table.values.size)
    return np.sort(np.random.default_rng(0).choice(n_records, n_drawn, replace=False))


def _shares_of_ratings(
    ratings: Ratings, table: ReleasedTable, rows: NDArray[np.int64], items: NDArray[Any]
) -> NDArray[np.float64]:
    """Count for each label who gave which value; shape (n_labels, n_values)."""
    record_of = np.repeat(table.record_of, ratings.activity)
    inside = record_of >= 0
    cells = rows * ratings.n_items + items
    asked = record_of[inside] * ratings.n_items + ratings.indices[inside]
    place = np.minimum(np.searchsorted(cells, asked), cells.size - 1)
    shown = cells[place] == asked
    values = _codes(ratings)[inside][shown]
    counts = np.zeros((cells.size, ratings.scale.levels.size))
    np.add.at(counts, (place[shown], values), 1)
    return counts


def _shares_of_items(ratings: Ratings) -> NDArray[np.float64]:
    """Return how often each value was given to each item, shape (n_items, n_values)."""
    counts = np.zeros((ratings.n_items, ratings.scale.levels.size))
    np.add.at(counts, (ratings.indices, _codes(ratings)), 1)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _codes(ratings: Ratings) -> NDArray[np.int64]:
    """Return which value of the scale each rating is."""
    step = ratings.scale.step or 1.0
    return np.rint((ratings.values - ratings.scale.low) / step).astype(np.int64)


def _share(
    is_so: NDArray[np.bool_], rows: NDArray[np.int64], counted: NDArray[np.bool_]
) -> Interval:
    """Return the share of the counted labels; those of one record go together."""
    trials = np.bincount(rows[counted])
    rights = np.bincount(rows[counted], is_so[counted])
    return ratio_interval(rights[trials > 0], trials[trials > 0])


def _mean(numbers: NDArray[Any], rows: NDArray[np.int64]) -> Mean:
    """Return the mean over records of the means of their labels."""
    labels = np.bincount(rows)
    totals = np.bincount(rows, numbers)
    return mean_interval(totals[labels > 0] / labels[labels > 0])


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

    >>> from recveil.methods import PredictiveAnonymizer
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
    strangers = _draw_non_members(table, targets, seed)
    tallies = []
    for target, stranger in zip(targets.tolist(), strangers.tolist(), strict=True):
        record = int(table.record_of[target])
        others = members[record][members[record] != target]
        items, labels = table.row(record)
        sure = count_certain(ratings, items, labels, others, grid)
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


def count_certain(
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
    >>> count_certain(ratings, np.arange(2), np.array([4.5, 2.0]), np.array([0]), 0.1)
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


def _draw_non_members(
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
