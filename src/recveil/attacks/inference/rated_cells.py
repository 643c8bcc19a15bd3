"""Inference of rated cells from residuals and popularity, evaluated against the truth."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.reidentification.residuals import find_residuals
from recveil.attacks.statistics import Interval, wide_at_ends, wilson_interval
from recveil.ratings import Ratings
from recveil.runtime.progress import parts, track

# Precision at which cells are marked.
PRECISION = 0.95
# Steps of a fit of all rows, and their approximate costs.
_EXPLAINING, _SCORING, _MARKING = "Explaining cells", "Scoring cells", "Marking cells"
_COSTS = {_EXPLAINING: 10.0, _SCORING: 17.0, _MARKING: 7.0}
# Share of the remaining progress that a choice of a variant takes.
_CHOICE = 0.4


class InferredCells(NamedTuple):
    """How well rated cells (pairs of record and item) are inferred.

    Intervals are clustered by record.

    Attributes
    ----------
    auc : Interval
        How often a cell that a user of the group rated scores above an unrated one.
    recall_at_95 : Interval
        Share of the rated cells among the highest scores at 95% precision.
    lone_exact : Interval
        Of the ratings that only one member gave, the share that is marked so and recovered exactly.
    lone_known : Interval
        The same where the adversary already knows that only one member rated.
    popularity_auc, popularity_recall_at_95, popularity_lone_exact : float
        The baselines: cells ranked by the item count, and the item's most frequent rating.
    records, of_records : int
        Number of records used, and of all records.
    """

    auc: Interval
    recall_at_95: Interval
    lone_exact: Interval
    lone_known: Interval
    popularity_auc: float
    popularity_recall_at_95: float
    popularity_lone_exact: float
    records: int
    of_records: int


def infer_cells(ratings: Ratings, table: AttackTarget) -> InferredCells | None:
    """Infer rated cells from the residuals of a smooth fit and item popularity.

    Parameters
    ----------
    ratings : Ratings
        The truth: the ratings that the release was made from.
    table : AttackTarget

    Returns
    -------
    InferredCells or None
        None where `find_residuals` does not apply, as rows do not hold all items.

    Notes
    -----
    Item counts are public: the adversary knows them, and so does the baseline. In large groups they
    reveal more than the residuals; both together reveal more than either.

    `Residuals.scores_with` has several weightings. The best is selected on a random half of the
    records and used on the other half, so that selection does not inflate the figures.

    The number of marks at 95% precision is set by the truth, for the attack and the popularity
    baseline alike; an adversary without the truth marks slightly more or fewer.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=200, n_items=80, n_ratings=4000, seed=1)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    >>> cells = infer_cells(ratings, AttackTarget.from_release(release, ratings))
    >>> cells.recall_at_95.low > 0.4 > cells.popularity_recall_at_95, cells.records
    (True, 40)
    """
    support = ratings.support.astype(np.float64)
    with parts("Fitting all rows", _COSTS) as begin:
        begin(_EXPLAINING)
        residuals = find_residuals(table.candidates, ratings.scale)
        if residuals is None:
            return None
        begin(_SCORING)
        support = support[residuals.items]
        ways = residuals.scores_with(support / max(ratings.n_users, 1))
        begin(_MARKING)
        raters, total = _truth(ratings, table, residuals.rows, residuals.items)
        rated, lone = raters > 0, raters == 1
        near = (
            0.5 * (residuals.levels[1] - residuals.levels[0])
            if ratings.scale.step is None
            else 1e-3
        )
        score, _ = _choose(ways, rated, [rated] * len(ways))
        # An adversary after single ratings selects another weighting than one after rated cells.
        sure, alone = _choose(ways, rated, [lone & (np.abs(way[1] - total) < near) for way in ways])
        popularity = np.broadcast_to(support, rated.shape)
        usual = np.broadcast_to(_usual_ratings(ratings)[residuals.items], rated.shape)
        marked, by_popularity = _mark(score, rated), _mark(popularity, rated)
        exact, by_usual = (np.abs(guess - total) < near for guess in (alone, usual))
        return InferredCells(
            auc=_area(score, rated),
            recall_at_95=_share(marked, rated),
            lone_exact=_share(_mark(sure, rated) & exact, lone),
            lone_known=_share(exact, lone),
            popularity_auc=_area(popularity, rated).rate,
            popularity_recall_at_95=_share(by_popularity, rated).rate,
            popularity_lone_exact=_share(by_popularity & by_usual, lone).rate,
            records=residuals.rows.size,
            of_records=table.candidates.n_records,
        )


def _choose(
    ways: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    rated: NDArray[np.bool_],
    wanted: list[NDArray[np.bool_]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score each half of the rows with the first variant that marks most in the other half."""
    # If the variants differ, scores are ranks within the half.
    half = np.zeros(len(rated), bool)
    half[np.random.default_rng(0).permutation(half.size)[: half.size // 2]] = True
    best = [
        _marks_most(ways, rated, wanted, other)
        for other in track((half, ~half), "Marking cells", share=_CHOICE)
    ]
    if best[0] == best[1]:
        return ways[best[0]]
    score, alone = np.empty(rated.shape), np.empty(rated.shape)
    for way, part in zip(best, (~half, half), strict=True):
        ranks = stats.rankdata(ways[way][0][part], axis=None)
        score[part] = (ranks / ranks.size).reshape(-1, rated.shape[1])
        alone[part] = ways[way][1][part]
    return score, alone


def _marks_most(
    ways: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    rated: NDArray[np.bool_],
    wanted: list[NDArray[np.bool_]],
    rows: NDArray[np.bool_],
) -> int:
    hits = [
        (_mark(score[rows], rated[rows]) & these[rows]).sum()
        for (score, _), these in zip(ways, wanted, strict=True)
    ]
    return int(np.argmax(hits))


def _truth(
    ratings: Ratings, table: AttackTarget, rows: NDArray[np.int64], items: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count the raters of each cell, and sum their ratings."""
    # The last one is for users without a record.
    row_of = np.full(table.candidates.n_records + 1, -1)
    row_of[rows] = np.arange(rows.size)
    column_of = np.full(ratings.n_items, -1)
    column_of[items] = np.arange(items.size)
    row = row_of[np.repeat(table.record_of, ratings.activity)]
    column = column_of[ratings.indices]
    inside = (row >= 0) & (column >= 0)
    cells = row[inside] * items.size + column[inside]
    size, shape = rows.size * items.size, (rows.size, items.size)
    total = np.bincount(cells, weights=ratings.values[inside], minlength=size)
    raters = np.bincount(cells, minlength=size).astype(np.int64)
    return raters.reshape(shape), total.astype(np.float64).reshape(shape)


def _usual_ratings(ratings: Ratings) -> NDArray[np.float64]:
    """Return each item's most frequent rating; the lowest on a tie."""
    values, codes = np.unique(ratings.values, return_inverse=True)
    order = np.lexsort((codes, ratings.indices))
    pairs = ratings.indices[order].astype(np.int64) * values.size + codes[order]
    found, counts = np.unique(pairs, return_counts=True)
    by_count = np.argsort(counts, kind="stable")
    usual = np.full(ratings.n_items, values[0], np.float64)
    # The last of several entries for an item is kept: the one with the highest count.
    usual[found[by_count] // values.size] = values[found[by_count] % values.size]
    return usual


def _mark(score: NDArray[np.float64], truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark as many of the highest scores as keep the required precision."""
    order = np.argsort(-score, axis=None, kind="stable")
    ordered = score.ravel()[order]
    right = np.cumsum(truth.ravel()[order])
    # Equal scores are marked together.
    last = np.append(ordered[1:] != ordered[:-1], True)
    enough = np.flatnonzero(last & (right >= PRECISION * np.arange(1, order.size + 1)))
    marked = np.zeros(truth.size, bool)
    marked[order[: enough[-1] + 1 if enough.size else 0]] = True
    return marked.reshape(truth.shape)


def _share(marked: NDArray[np.bool_], of: NDArray[np.bool_]) -> Interval:
    """Return the marked share of cells, with an interval by row (a ratio of sums)."""
    n = int(of.sum())
    if n == 0:
        return wilson_interval(0, 0)
    hits, cells = (marked & of).sum(axis=1), of.sum(axis=1)
    rate = float(hits.sum() / n)
    return _around(rate, (hits - rate * cells) / n, n, int((cells > 0).sum()))


def _area(score: NDArray[np.float64], truth: NDArray[np.bool_]) -> Interval:
    """Return the AUC over all cells, with an interval clustered by row (Obuchowski 1997)."""
    n_true, n = int(truth.sum()), truth.size
    if n_true in (0, n):
        return Interval(math.nan, 0.0, 1.0, n)
    ranks = stats.rankdata(score, axis=None).reshape(score.shape)
    part = np.empty(score.shape)  # each cell's rank within its own class
    part[truth] = stats.rankdata(score[truth])
    part[~truth] = stats.rankdata(score[~truth])
    beats = (ranks - part) / np.where(truth, n - n_true, n_true)
    rate = float(beats[truth].mean())
    off = np.where(truth, (beats - rate) / n_true, (1 - beats - rate) / (n - n_true))
    return _around(rate, off.sum(axis=1), n, len(off))


def _around(rate: float, off: NDArray[np.float64], trials: int, n_clusters: int) -> Interval:
    half = 1.96 * math.sqrt(off.size / max(off.size - 1, 1) * float((off**2).sum()))
    return wide_at_ends(rate, half, trials, n_clusters)
