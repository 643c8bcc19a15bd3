"""Classifiers of real ratings and fills, trained on known users or on a shadow release."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from recveil.attacks.adversary import PRESETS
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.candidates import Candidates
from recveil.attacks.inference.fill_detection import effort_of_prediction, predict_values
from recveil.attacks.knowledge import Knowledge, draw_knowledge
from recveil.attacks.reidentification.likelihood import LikelyRated
from recveil.attacks.statistics import Interval, ratio_interval
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.sides import Anonymizer
from recveil.runtime.errors import RecveilError
from recveil.runtime.number_format import percent
from recveil.runtime.progress import parts, track
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]
# Rank of the approximation to the matrix of likely rated cells.
_DIRECTIONS = 12
# Steps of `features_of`, and their approximate time in microseconds: per value and per cell
# of the full table.
_COUNTING, _FITTING = "Counting equal values", "Fitting values"
_COMPARING, _SMOOTHING = "Asking neighbours", "Smoothing probabilities"
_A_COUNT, _A_FIT, _A_SMOOTHING = 1.0, 0.16, 0.7
# The same for the classifier, trained on a shadow release, on known users, and on them again.
_BY_SHADOW, _BY_KNOWN, _BY_KNOWN_AGAIN = 2.0, 3.0, 6.0
# Steps of `infer_fills_by_shadow` and `infer_fills`, and the time of a shadow release per value.
_MAKING, _LOOKING_AT_SHADOW = "Making a shadow release", "Examining the shadow release"
_LOOKING, _JUDGING, _JUDGING_AGAIN = "Examining values", "Judging values", "Judging values again"
_A_RELEASE = 0.5


@brief
@dataclass(frozen=True, eq=False)
class Cells:
    """The values of a release, one per cell, in the order of the candidates."""

    candidates: Candidates
    scale: RatingScale

    @property
    def records(self) -> NDArray[np.int32]:
        """Record of each value, shape (n_values,)."""
        return self.candidates.records

    @cached_property
    def items(self) -> NDArray[np.int32]:
        """Item of each value, shape (n_values,)."""
        return self.candidates.items

    @cached_property
    def values(self) -> Numbers:
        """Published values, shape (n_values,)."""
        return self.candidates.values

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """Group number of each record, shape (n_records,); records with the same items share it."""
        # A sum of one random number per item: two different sets almost never share it.
        marks = np.random.default_rng(0).integers(
            2**63, size=(self.candidates.n_items,), dtype=np.uint64
        )
        sums = np.zeros(self.candidates.n_records, np.uint64)
        np.add.at(sums, self.records, marks[self.items])
        _, first, numbers = np.unique(sums, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[numbers], np.int64)

    @cached_property
    def first_look(self) -> NDArray[np.float32]:
        """Features of the cells before anything is known, computed once."""
        return features_of(self)

    def table(self, numbers: NDArray[Any]) -> Numbers:
        """Return a records-by-items matrix of one number per value, 0 elsewhere."""
        spread = np.zeros((self.candidates.n_records, self.candidates.n_items))
        spread[self.records, self.items] = numbers
        return spread


def features_of(cells: Cells, likely: Numbers | None = None) -> NDArray[np.float32]:
    """Return the features of each value, shape (n_values, n_features), from published data only.

    They describe the value, its item's, row's and group's values, and its predictions by a low-rank
    fit and by the nearest rows. With `likely`, from an earlier pass, means are weighted.
    """
    weights, real = np.ones(cells.values.size), None
    if likely is not None:
        weights, real = np.maximum(likely, 0.02), float(likely.mean())
    with parts("Examining values", _costs_of_features(cells.candidates, real)) as begin:
        begin(_COUNTING)
        # In blocks: with millions of values, all features in double precision take gigabytes.
        blocks = [_narrow(_lines(cells, weights)), _narrow(_repeats(cells))]
        blocks.append(_narrow(_predicted(cells, weights, likely, begin)))
        begin(_SMOOTHING)
        if likely is not None:
            blocks.append(_narrow(_likely(cells, likely)))
        return np.column_stack(blocks)


def _costs_of_features(candidates: Candidates, likely: float | None = None) -> dict[str, float]:
    """Return the time of each step of `features_of`; `likely` is the share of likely ratings."""
    n_values = candidates.codes.size
    return {
        _COUNTING: _A_COUNT * n_values,
        _FITTING: _A_FIT * candidates.n_records * candidates.n_items,
        _COMPARING: effort_of_prediction(candidates, 1.0 if likely is None else likely),
        _SMOOTHING: 0.0 if likely is None else _A_SMOOTHING * n_values,
    }


def costs_by_shadow(candidates: Candidates) -> dict[str, float]:
    """Return the time of each step of `infer_fills_by_shadow`, in microseconds."""
    look = sum(_costs_of_features(candidates).values())
    return {
        _MAKING: _A_RELEASE * candidates.codes.size,
        _LOOKING_AT_SHADOW: look,
        _LOOKING: look,
        _JUDGING: _BY_SHADOW * candidates.codes.size,
    }


def costs_by_known(candidates: Candidates, real: float) -> dict[str, float]:
    """Return the time of each step of `infer_fills`; `real` is the share of real ratings."""
    n_values = candidates.codes.size
    return {
        _JUDGING: _BY_KNOWN * n_values,
        _LOOKING: sum(_costs_of_features(candidates, real).values()),
        _JUDGING_AGAIN: _BY_KNOWN_AGAIN * n_values,
    }


def _narrow(features: list[Numbers]) -> NDArray[np.float32]:
    return np.column_stack([np.asarray(feature, np.float32) for feature in features])


def _lines(cells: Cells, weights: Numbers) -> list[Numbers]:
    """Return features of the item's and the row's values, and of the value among them."""
    features = [cells.values]
    for line in (cells.items, cells.records):
        mean = _mean(line, cells.values, weights)
        spread = np.sqrt(_mean(line, (cells.values - mean) ** 2, weights))
        features += [mean, cells.values - mean, spread, _count(line)]
    return features


def _repeats(cells: Cells) -> list[Numbers]:
    """Count equal values in the item, in the row, and in the group's item."""
    codes, groups = cells.candidates.codes, cells.groups[cells.records]
    of_item, of_row = _count(cells.items), _count(cells.records)
    in_group = _count(groups, cells.items)
    equal_in_group = _count(groups, cells.items, codes)
    others = _count(groups, cells.items, weights=cells.values) - cells.values
    mean_of_others = others / np.maximum(in_group - 1, 1)
    return [
        _count(cells.items, codes) / of_item,
        _count(cells.records, codes) / of_row,
        in_group,
        equal_in_group,
        equal_in_group / in_group,
        mean_of_others,
        cells.values - mean_of_others,
    ]


def _predicted(
    cells: Cells, weights: Numbers, likely: Numbers | None, begin: Callable[[str], None]
) -> list[Numbers]:
    """Return predictions from the other values, and the deviations from them."""
    begin(_FITTING)
    base, fitted = fit_weighted(cells.table(cells.values), cells.table(weights))
    at = cells.records, cells.items
    begin(_COMPARING)
    believed = None
    if likely is not None:
        believed = likely > np.quantile(likely, 1 - min(float(likely.mean()), 1.0))
    by_neighbours = predict_values(cells.candidates, cells.scale, believed).astype(np.float64)
    step = cells.scale.step or cells.scale.range / 1000 or 1.0
    is_equal = np.abs(cells.scale.round(by_neighbours, step) - cells.values) < step / 2
    found = [base[at], fitted[at], by_neighbours]
    off = [cells.values - expected for expected in found]
    return [*found, *off, is_equal.astype(np.float64)]


def _likely(cells: Cells, likely: Numbers) -> list[Numbers]:
    """Return what an earlier pass found likely of the row, the item, the group and the value."""
    codes, groups = cells.candidates.codes, cells.groups[cells.records]
    spread = cells.table(likely)
    mean = spread.mean(axis=0)
    size = min(_DIRECTIONS, *spread.shape)
    left, sizes, right = randomized_svd(spread - mean, size, random_state=0)
    smooth = ((left * sizes) @ right + mean)[cells.records, cells.items]
    unlikely = _count(cells.items, weights=1 - likely)
    return [
        likely,
        _mean(cells.records, likely),
        _count(cells.records, weights=likely),
        _mean(cells.items, likely),
        _count(cells.items, weights=likely),
        _count(groups, cells.items, weights=likely) - likely,
        _count(cells.items, codes, weights=likely) / _count(cells.items, codes),
        _count(cells.items, codes, weights=1 - likely) / np.maximum(unlikely, 1e-9),
        smooth,
        likely - smooth,
    ]


def _mean(line: NDArray[Any], numbers: Numbers, weights: Numbers | None = None) -> Numbers:
    """Return, for each value, the weighted mean over the values of the same line."""
    weights = np.ones(numbers.size) if weights is None else weights
    totals = np.bincount(line, numbers * weights) / np.maximum(np.bincount(line, weights), 1e-9)
    return np.asarray(totals[line])


def _count(*keys: NDArray[Any], weights: Numbers | None = None) -> Numbers:
    """Return, for each value, the number or weight of the values with the same keys.

    >>> _count(np.array([0, 0, 1]), np.array([7, 7, 7]))
    array([2., 2., 1.])
    """
    joint = np.zeros(keys[0].size, np.int64)
    for key in keys:
        joint = joint * (int(key.max(initial=0)) + 1) + key
    if joint.max(initial=0) >= 4 * joint.size:  # few of the possible keys occur
        joint = np.unique(joint, return_inverse=True)[1]
    return np.bincount(joint, weights).astype(np.float64)[joint]


# Folds of the known users: each fold's values are judged by a model trained on the others.
_PARTS = 4
# The classifier builds records-by-items tables; more cells than this take too much memory.
MOST_CELLS = 1 << 25
# Values judged at a time, and the share of the remaining progress that they take.
_BLOCK, _ALL_QUERIES = 1 << 17, 0.8


def too_large(candidates: Candidates) -> bool:
    """Return whether the classifier's tables would take too much memory."""
    return candidates.n_records * candidates.n_items > MOST_CELLS


def infer_fills(cells: Cells, records: NDArray[np.int64], is_real: NDArray[np.bool_]) -> Numbers:
    """Return the probability that each value is a real rating, shape (n_values,).

    The adversary knows which values in `records`, at least two, are real. Gradient boosting on
    `features_of`, in two passes; a known user's values are judged by the other known users only, so
    that the second pass trains on probabilities as uncertain as those of unknown users.
    """
    groups = np.unique(records)
    known = np.isin(cells.records, groups)
    n_real = int(is_real[known].sum())
    if groups.size < 2 or not 0 < n_real < known.sum():
        raise RecveilError(
            f"{groups.size} known users have {n_real} real ratings among {int(known.sum())} "
            f"values; expected at least 2 users, with real ratings and fills",
            code="table.too-few-users",
        )
    costs = costs_by_known(cells.candidates, is_real.mean())
    with parts("Inferring fills", costs) as begin:
        begin(_JUDGING)
        likely = _learn(cells.first_look, cells.records, groups, is_real)
        begin(_LOOKING)
        features = np.column_stack([cells.first_look, features_of(cells, likely)])
        begin(_JUDGING_AGAIN)
        return _learn(features, cells.records, groups, is_real)


def _learn(
    features: NDArray[np.float32],
    records: NDArray[np.int32],
    known_records: NDArray[np.int64],
    is_real: NDArray[np.bool_],
) -> Numbers:
    """Judge all users by the known ones, and each known user by the others."""
    known = np.isin(records, known_records)
    likely = judge(features[known], is_real[known], features)
    mixed = np.random.default_rng(0).permutation(known_records)
    for part in np.array_split(mixed, min(_PARTS, known_records.size)):
        fold = np.isin(records, part)
        others = known & ~fold
        likely[fold] = judge(features[others], is_real[others], features[fold])
    return likely


def judge(
    training: NDArray[np.float32], is_real: NDArray[np.bool_], queries: NDArray[np.float32]
) -> Numbers:
    """Train a classifier on labelled values and return the probability that others are real."""
    if is_real.all() or not is_real.any() or not len(queries):
        return np.full(len(queries), float(is_real.any()))
    trees = HistGradientBoostingClassifier(
        max_iter=50,
        learning_rate=0.2,
        max_leaf_nodes=15,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    # The fits are so small that threads would mostly wait for each other.
    with threadpool_limits(1, "openmp"):
        trees.fit(training, is_real)
        # scikit-learn copies the features at twice their size.
        starts = track(range(0, len(queries), _BLOCK), "Judging values", share=_ALL_QUERIES)
        blocks = (queries[start : start + _BLOCK] for start in starts)
        return np.concatenate([trees.predict_proba(block)[:, 1] for block in blocks])


# Shares of the users whom the adversary knows, each with all of their ratings.
KNOWN_SHARES = (0.01, 0.05)
# Shares of the real ratings to mark.
RECALLS = (0.1, 0.25, 0.5)


@brief
class InferredFills(NamedTuple):
    """How well an adversary distinguishes real ratings from fills."""

    # Share of the users whose ratings the adversary knows; they are not counted below. 0 for an
    # adversary who trains on a shadow release.
    known_share: float
    users_known: int
    # Share of the other users' values that are real: the precision of random marks
    base_rate: float
    # For each share of the real ratings (recall), the share of real values among the likeliest ones
    # that reach it. Its trials are users, whose values are correlated.
    precision: dict[float, Interval]
    # The same, where the values of the most rated items are marked
    by_popularity: dict[float, Interval]
    # Re-identification rate of a bystander who knows eight items without ratings, with likely fills
    # counting against a record; over the users whom the adversary does not know
    reidentified: Interval
    # The same users and items, where all values count alike
    reidentified_by_items: Interval

    def _facts(self) -> dict[str, object]:
        return {
            "users known": self.users_known,
            "re-identified": percent(self.reidentified.rate),
        }


def measure_fills(
    ratings: Ratings,
    table: AttackTarget,
    targets: NDArray[np.int64],
    known_share: float = 0.05,
    seed: int = 0,
    *,
    cells: Cells | None = None,
) -> InferredFills:
    """Train an adversary on some users and judge the values of all others."""
    cells = Cells(table.candidates, ratings.scale) if cells is None else cells
    if too_large(cells.candidates):
        raise RecveilError(
            f"{cells.candidates.n_records:,} records of {cells.candidates.n_items:,} items are too "
            f"many to distinguish fills from ratings; expected a smaller table, or a part of the "
            f"users",
            code="table.too-large",
        )
    released = np.flatnonzero(table.record_of >= 0)
    if not released.size:
        raise RecveilError(
            "no user has a record in the release; expected users to judge by", code="argument.value"
        )
    n_known = min(released.size, max(2, round(known_share * released.size)))
    known = np.random.default_rng([seed, 5]).choice(released, n_known, replace=False)
    records = table.record_of[known]
    likely = infer_fills(cells, records, mark_real(ratings, table))
    return judge_fills(ratings, table, targets, cells, likely, records, seed)


def judge_fills(
    ratings: Ratings,
    table: AttackTarget,
    targets: NDArray[np.int64],
    cells: Cells,
    likely: Numbers,
    records: NDArray[np.int64],
    seed: int = 0,
) -> InferredFills:
    """Measure the inferred probabilities on all users but the known ones, who are in `records`."""
    is_real = mark_real(ratings, table)
    others = ~np.isin(cells.records, records)
    precision_of = partial(_precision, is_real[others], cells.records[others])
    left = targets[~np.isin(table.record_of[targets], records)]
    by_items = draw_knowledge(ratings, PRESETS["bystander"], left, seed)
    support = table.candidates.support[cells.items].astype(np.float64)
    n_released = int((table.record_of >= 0).sum())
    return InferredFills(
        known_share=records.size / max(n_released, 1),
        users_known=records.size,
        base_rate=float(is_real[others].mean()) if others.any() else 0.0,
        precision=precision_of(likely[others]),
        by_popularity=precision_of(support[others]),
        reidentified=_reidentify(table, by_items, likely),
        reidentified_by_items=_reidentify(table, by_items, np.ones(likely.size)),
    )


def mark_real(ratings: Ratings, table: AttackTarget) -> NDArray[np.bool_]:
    """Mark the values of items that a user of the record rated, shape (n_values,)."""
    record_of = np.repeat(table.record_of, ratings.activity)
    inside = record_of >= 0
    n_records = table.candidates.n_records
    # The candidates are ordered by item, then by record.
    real = sorted_unique(ratings.indices[inside].astype(np.int64) * n_records + record_of[inside])
    items = table.candidates.items.astype(np.int64)
    return np.isin(items * n_records + table.candidates.records, real, assume_unique=True)


def _precision(
    is_real: NDArray[np.bool_], records: NDArray[np.int32], score: Numbers
) -> dict[float, Interval]:
    """Return the precision at each recall; equal scores are marked together."""
    order = np.argsort(-score, kind="stable")
    found = np.cumsum(is_real[order])
    precision = {}
    for recall in RECALLS if found.size and found[-1] else ():
        last = order[np.searchsorted(found, recall * found[-1])]
        marked = score >= score[last]
        n_marked = np.bincount(records[marked])
        n_right = np.bincount(records[marked], is_real[marked])
        precision[recall] = ratio_interval(n_right[n_marked > 0], n_marked[n_marked > 0])
    return precision


def _reidentify(table: AttackTarget, known: Knowledge, likely: Numbers) -> Interval:
    guesses = LikelyRated(likely).attack(table.candidates, known, table.record_of)
    return known.rate(float(guesses.chance.sum()))


# Share of the published values taken for ratings, and number of shadow records to train on.
_SAMPLED, _MOST_TRAINING = 0.3, 100


def infer_fills_by_shadow(cells: Cells, anonymizer: Anonymizer, seed: int = 0) -> Numbers:
    """Return the probability that each value is a real rating, learned from a shadow release.

    The adversary takes a random sample of the published values for ratings, anonymizes them with
    the published settings, and trains on that release, where the fills are known. They know no user
    and use published data only.
    """
    rng = np.random.default_rng([seed, 8])
    taken = rng.random(cells.values.size) < _SAMPLED
    columns = cells.records[taken].astype(np.int64), cells.items[taken], cells.values[taken]
    known = Ratings.from_columns(*columns, scale=cells.scale)
    with parts("Inferring fills", costs_by_shadow(cells.candidates)) as begin:
        begin(_MAKING)
        shadow = AttackTarget.from_release(anonymizer.anonymize(known), known)
        fold = Cells(shadow.candidates, cells.scale)
        is_real = mark_real(known, shadow)
        n_training = min(_MOST_TRAINING, shadow.candidates.n_records)
        training_records = rng.choice(shadow.candidates.n_records, n_training, replace=False)
        training = np.isin(fold.records, training_records)
        begin(_LOOKING_AT_SHADOW)
        examples = fold.first_look[training]
        begin(_LOOKING)
        queries = cells.first_look
        begin(_JUDGING)
        return judge(examples, is_real[training], queries)


_RIDGE, _ROUNDS = 4.0, 6


def fit_weighted(
    table: NDArray[np.float64], weights: NDArray[np.float64], rank: int = 8
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit a table by weighted alternating least squares, with `rank` factors in addition to biases.

    A cell without a value has weight 0. Returns the mean plus biases of row and column, and the
    same plus the factors. Every row of factors solves a ridge regression (Hu, Koren, Volinsky 2008,
    without their trick for sparse tables). The start is the same for any table.
    """
    mean = float((table * weights).sum() / max(weights.sum(), 1e-12))
    of_columns = ((table - mean) * weights).sum(axis=0) / (weights.sum(axis=0) + 3)
    off = (table - mean - of_columns) * weights
    of_rows = off.sum(axis=1) / (weights.sum(axis=1) + 5)
    base = mean + of_columns + of_rows[:, None]
    left_over = (table - base) * weights
    rows = np.random.default_rng(0).normal(scale=0.1, size=(len(table), rank))
    for _ in track(range(_ROUNDS), "Fitting values", share=1):
        columns = _regress(weights.T, left_over.T, rows)
        rows = _regress(weights, left_over, columns)
    return base, base + rows @ columns.T


def _regress(
    weights: NDArray[np.float64], weighted: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve a ridge regression for each row; the targets come multiplied by their weights."""
    rank = factors.shape[1]
    squares = (factors[:, :, None] * factors[:, None, :]).reshape(len(factors), -1)
    normal = (weights @ squares).reshape(-1, rank, rank) + _RIDGE * np.eye(rank)
    return np.asarray(np.linalg.solve(normal, (weighted @ factors)[:, :, None])[:, :, 0])
