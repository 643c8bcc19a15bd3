"""Inference of ratings from group means and the ratings of the other group members."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.knowledge import choose_targets
from recveil.attacks.statistics import Interval, Mean, mean_interval, ratio_interval
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.progress import track

# As in `ExactRatings`: tolerance between a value and a rating in single precision.
_TOLERANCE = 1e-6
# With more values, a random sample of records is used: all would take gigabytes.
MOST_VALUES = 1 << 23
# Ratings per block, on average
_BLOCK = 1 << 22


class PossibleRatings(NamedTuple):
    """Homogeneity of the ratings from which a release's values were computed."""

    # Of the values that are on the scale, the share that equals the rating of every user in the
    # group who rated the item (at least one did). Its trials are records.
    whole_exact: Interval
    # Of the same values, the share where the item's most common original rating equals every user's
    # rating: the baseline of an adversary without the release
    whole_by_commonest: Interval
    # Of the values of items that the group rated, the share with only one distinct rating:
    # (distinct) diversity l = 1
    one_rating: Interval
    # Number of distinct ratings per such value; mean over records
    distinct: Mean
    # Number of scale values that are possible ratings, given the published value and the group
    # size; mean over records. None where the values are not the means of the raters.
    possible: Mean | None
    # Share of the values with only one possible rating
    sure: Interval | None
    # Total variation between the group's ratings and all ratings of the item, from 0 to 1, the t of
    # t-closeness: half the sum of the differences of their shares; mean over records
    distance: Mean
    # Number of records used, and of all records
    records: int
    of_records: int


def measure_possible_ratings(
    ratings: Ratings, table: AttackTarget, *, are_means: bool, grid: float | None
) -> PossibleRatings | None:
    """Count the distinct and the possible ratings of each published value.

    Source: l-diversity (Machanavajjhala et al. 2007, distinct) and t-closeness (Li et al. 2007,
    with total variation as the distance), where each published value is a class.
    """
    if ratings.scale.is_fine:
        return None
    most = MOST_VALUES * table.candidates.n_records // max(table.values.size, 1)
    drawn = choose_targets(table.candidates.n_records, max(1, most), seed=0)
    lengths = np.diff(table.indptr)[drawn]
    rows = np.repeat(drawn, lengths)
    first = np.repeat(table.indptr[drawn] - np.cumsum(lengths) + lengths, lengths)
    positions = first + np.arange(rows.size)
    items, values = table.indices[positions], table.values[positions]
    shares = _shares_of_ratings(ratings, table, rows, items)
    raters = shares.sum(axis=1)
    is_rated = raters > 0
    distinct = (shares > 0).sum(axis=1)
    support = shares[is_rated] / raters[is_rated, None]
    of_items = _shares_of_items(ratings)
    overall = of_items[items[is_rated]]
    distance = np.abs(support - overall).sum(axis=1) / 2
    levels = ratings.scale.levels
    nearest = np.abs(levels[:, None] - values).argmin(axis=0)
    is_whole = np.abs(levels[nearest] - values) <= _TOLERANCE
    alone = distinct == 1
    exact = alone & (shares.argmax(axis=1) == nearest)
    usual = of_items.argmax(axis=1)[items]
    by_usual = alone & (shares.argmax(axis=1) == usual)
    possible = None
    if are_means:
        possible = count_possible(values, table.candidates.sizes[rows], ratings.scale, grid)
    return PossibleRatings(
        whole_exact=_share(exact, rows, is_whole),
        whole_by_commonest=_share(by_usual, rows, is_whole),
        one_rating=_share(alone, rows, is_rated),
        distinct=_mean(distinct[is_rated], rows[is_rated]),
        possible=None if possible is None else _mean(possible, rows),
        sure=None if possible is None else _share(possible == 1, rows, np.ones_like(is_rated)),
        distance=_mean(distance, rows[is_rated]),
        records=drawn.size,
        of_records=table.candidates.n_records,
    )


def count_possible(
    values: NDArray[np.float64],
    sizes: NDArray[np.int64],
    scale: RatingScale,
    grid: float | None,
) -> NDArray[np.int64]:
    """Count the scale values that can be among the ratings of each mean."""
    pairs, place = np.unique(np.column_stack([values, sizes]), axis=0, return_inverse=True)
    slack = (grid or 0.0) / 2 + _TOLERANCE
    step, low, levels = scale.step or 1.0, scale.low, scale.levels
    counts = np.empty(len(pairs), np.int64)
    for pair, (value, size) in enumerate(pairs.tolist()):
        n = np.arange(1, int(size) + 1)[:, None]
        # The sum of the other ratings, in steps above the lowest rating: a whole number in a range.
        middle, width = (n * value - levels - (n - 1) * low) / step, n * slack / step
        first = np.maximum(np.ceil(middle - width), 0)
        last = np.minimum(np.floor(middle + width), (n - 1) * (levels.size - 1))
        counts[pair] = (first <= last).any(axis=0).sum()
    return counts[place.ravel()]


def _shares_of_ratings(
    ratings: Ratings, table: AttackTarget, rows: NDArray[np.int64], items: NDArray[Any]
) -> NDArray[np.float64]:
    """Count the ratings of each value of the scale per cell, shape (n_values, n_values)."""
    cells = rows * ratings.n_items + items
    n_levels = ratings.scale.levels.size
    counts = np.zeros((cells.size, n_levels))
    flat = counts.reshape(-1)
    is_drawn = np.zeros(table.candidates.n_records + 1, np.bool_)  # the last: of users without one
    is_drawn[rows] = True
    users = np.flatnonzero(is_drawn[table.record_of])
    rated = ratings.csr
    n_blocks = 1 + int(ratings.activity[users].sum()) // _BLOCK
    for chosen in np.array_split(users, n_blocks):
        block = rated[chosen]
        wanted = np.repeat(table.record_of[chosen], np.diff(block.indptr)) * ratings.n_items
        wanted += block.indices
        place = np.minimum(np.searchsorted(cells, wanted), cells.size - 1)
        shown = cells[place] == wanted
        codes = _codes(block.data[shown], ratings.scale)
        np.add.at(flat, place[shown] * n_levels + codes, 1)
    return counts


def _shares_of_items(ratings: Ratings) -> NDArray[np.float64]:
    """Return the share of each value among each item's ratings, shape (n_items, n_values)."""
    n_levels = ratings.scale.levels.size
    counts = np.zeros((ratings.n_items, n_levels))
    for start in range(0, ratings.n_ratings, _BLOCK):
        block = slice(start, start + _BLOCK)
        codes = _codes(ratings.values[block], ratings.scale)
        np.add.at(counts.reshape(-1), n_levels * ratings.indices[block].astype(np.int64) + codes, 1)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _codes(values: NDArray[Any], scale: RatingScale) -> NDArray[np.int64]:
    """Return the index of each rating on the scale."""
    return np.rint((values - scale.low) / (scale.step or 1.0)).astype(np.int64)


def _share(
    is_so: NDArray[np.bool_], rows: NDArray[np.int64], counted: NDArray[np.bool_]
) -> Interval:
    """Return the share of the counted values, clustered by record."""
    trials = np.bincount(rows[counted])
    rights = np.bincount(rows[counted], is_so[counted])
    return ratio_interval(rights[trials > 0], trials[trials > 0])


def _mean(numbers: NDArray[Any], rows: NDArray[np.int64]) -> Mean:
    values = np.bincount(rows)
    totals = np.bincount(rows, numbers)
    return mean_interval(totals[values > 0] / values[values > 0])


# Share of the remaining progress that the targets take.
_SHARE = 0.5
# On a continuous scale, an inference must be within this share of the range.
_NEAR = 0.05


class Companions(NamedTuple):
    """Ratings that follow with certainty when all other members of the group are known."""

    # Share of a target's ratings that are inferred with certainty, and correctly; trials are users.
    # On a continuous scale, to within `within`.
    inferred: Interval
    # Share of the certain inferences that are correct: the item was rated, with that rating. nan
    # without an inference.
    correct: Interval
    # Baseline: share of the ratings that equal the published value, without knowledge of the other
    # members
    by_row: Interval
    # Control: share of the ratings of a user outside the group that the same inferences match by
    # chance
    control: Interval
    # Tolerance of a correct inference, in rating points: 0 on a scale with steps, a twentieth of
    # the range on a continuous one
    within: float = 0.0


def measure_companions(
    ratings: Ratings,
    table: AttackTarget,
    targets: NDArray[np.int64],
    grid: float | None,
    seed: int = 0,
) -> Companions:
    """Infer each target's ratings from the row and the ratings of all other group members.

    The inference is certain if one value is consistent with the published one; on a continuous
    scale, if the possible interval of a rating is at most a tenth of the scale.
    """
    within = _NEAR * ratings.scale.range if ratings.scale.is_fine else 0.0
    members = _members(table)
    targets = targets[table.record_of[targets] >= 0]
    nonmembers = _draw_nonmembers(table, targets, seed)
    tallies = []
    pairs = list(zip(targets.tolist(), nonmembers.tolist(), strict=True))
    for target, nonmember in track(pairs, "Inferring ratings", share=_SHARE):
        record = int(table.record_of[target])
        others = members[record][members[record] != target]
        items, values = table.row(record)
        sure = count_certain(ratings, items, values, others, grid)
        truth = _ratings_of(ratings, target, items)
        control = np.full(items.size, np.nan)
        if nonmember >= 0:
            control = _ratings_of(ratings, nonmember, items)
        tallies.append(
            (
                np.isfinite(sure).sum(),
                _is_same(sure, truth, within).sum(),
                _is_same(values, truth, within).sum(),
                ratings.activity[target],
                _is_same(sure, control, within).sum(),
                ratings.activity[nonmember] if nonmember >= 0 else 0,
            )
        )
    counts = np.array(tallies, np.float64).reshape(-1, 6)
    certain, right, by_row, rated, control, of_nonmember = counts.T
    return Companions(
        inferred=ratio_interval(right[rated > 0], rated[rated > 0]),
        correct=ratio_interval(right[certain > 0], certain[certain > 0]),
        by_row=ratio_interval(by_row[rated > 0], rated[rated > 0]),
        control=ratio_interval(control[of_nonmember > 0], of_nonmember[of_nonmember > 0]),
        within=within,
    )


def count_certain(
    ratings: Ratings,
    items: NDArray[np.integer[Any]],
    values: NDArray[np.float64],
    others: NDArray[np.int64],
    grid: float | None,
) -> NDArray[np.float64]:
    """Return the missing member's rating of each item, shape (n_values,), nan if uncertain.

    `others` are all members of the group but one. Also nan if the missing member certainly did not
    rate the item. On a continuous scale, the midpoint of the possible interval, where that is at
    most a tenth of the scale.
    """
    totals, raters = np.zeros(ratings.n_items), np.zeros(ratings.n_items)
    for other in others.tolist():
        rated, ratings_of_other = ratings.row(other)
        totals[rated] += ratings_of_other
        raters[rated] += 1
    total, n = totals[items], raters[items]
    # A mean rounded to the grid is off by at most half a step, or is at an end of the scale.
    slack = (grid or 0.0) / 2 + _TOLERANCE
    without = (n > 0) & (np.abs(total / np.maximum(n, 1) - values) <= slack)
    if ratings.scale.is_fine:
        # The sum is known to within the slack per rater, including the missing one.
        ends = ((n + 1) * (values + side * slack) - total for side in (-1, 1))
        least, most = (np.clip(end, ratings.scale.low, ratings.scale.high) for end in ends)
        is_near = most - least <= 2 * (_NEAR * ratings.scale.range + _TOLERANCE)
        return np.where(is_near & ~without, (least + most) / 2, np.nan)
    possible = ratings.scale.levels
    means = (total[:, None] + possible) / (n[:, None] + 1)
    fits = np.abs(means - values[:, None]) <= slack
    is_sure = (fits.sum(axis=1) == 1) & ~without
    return np.where(is_sure, possible[fits.argmax(axis=1)], np.nan)


def _members(table: AttackTarget) -> list[NDArray[np.int64]]:
    released = np.flatnonzero(table.record_of >= 0)
    order = released[np.argsort(table.record_of[released], kind="stable")]
    counts = np.bincount(table.record_of[released], minlength=table.indptr.size - 1)
    return np.split(order, np.cumsum(counts)[:-1])


def _draw_nonmembers(
    table: AttackTarget, targets: NDArray[np.int64], seed: int
) -> NDArray[np.int64]:
    """Draw a user of another group for each target; -1 if there is none."""
    rng = np.random.default_rng([seed, 6])
    released = np.flatnonzero(table.record_of >= 0)
    found = np.full(targets.size, -1, np.int64)
    for place, record in enumerate(table.record_of[targets].tolist()):
        elsewhere = released[table.record_of[released] != record]
        if elsewhere.size:
            found[place] = rng.choice(elsewhere)
    return found


def _ratings_of(
    ratings: Ratings, user: int, items: NDArray[np.integer[Any]]
) -> NDArray[np.float64]:
    """Return a user's rating of each item, nan where there is none."""
    ratings_of: NDArray[np.float64] = np.full(ratings.n_items, np.nan)
    rated, values = ratings.row(user)
    ratings_of[rated] = values
    return ratings_of[items]


def _is_same(
    inferred: NDArray[np.float64], ratings_of: NDArray[np.float64], within: float
) -> NDArray[np.bool_]:
    # nan (no inference, or no rating) is never near.
    return np.abs(inferred - ratings_of) <= within + _TOLERANCE
