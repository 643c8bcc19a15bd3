"""Shadow releases: somebody who knows nobody makes a release of their own to learn from."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from recveil.attacks.adversary import PRESETS
from recveil.attacks.candidates import Candidates
from recveil.attacks.inference.strikes import foretell
from recveil.attacks.knowledge import Knowledge, draw_knowledge
from recveil.attacks.reidentification.likelihood import LikelyRated
from recveil.attacks.release_target import ReleasedTable
from recveil.attacks.statistics import Interval, ratio_interval, wilson_interval
from recveil.predict.weighted_fit import fit_weighted
from recveil.ratings import Ratings, RatingScale
from recveil.release.sides import Anonymizer
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]
# Directions in which sets of rated items differ.
_DIRECTIONS = 12


@brief
@dataclass(frozen=True, eq=False)
class Cells:
    """The labels of a release, one cell each, in the order of the candidates.

    Parameters
    ----------
    candidates : Candidates
    scale : RatingScale

    Examples
    --------
    >>> from recveil.ratings import Ratings
    >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3], list("ababa"), [5, 3, 5, 4, 5])
    >>> cells = Cells.of(Candidates.from_ratings(ratings), RatingScale(1, 5, 1))
    >>> cells.labels, cells.groups[cells.records]  # the first two have the same items
    (array([5., 5., 5., 3., 4.]), array([0, 0, 1, 0, 0]))
    """

    candidates: Candidates
    scale: RatingScale

    @classmethod
    def of(cls, candidates: Candidates, scale: RatingScale) -> Self:
        """Take the candidates as they are."""
        return cls(candidates, scale)

    @property
    def records(self) -> NDArray[np.int32]:
        """Whose record each label stands in, shape (n_labels,)."""
        return self.candidates.records

    @cached_property
    def items(self) -> NDArray[np.int64]:
        """The item of each label, shape (n_labels,)."""
        indptr = self.candidates.indptr
        return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))

    @cached_property
    def labels(self) -> Numbers:
        """The labels themselves, shape (n_labels,)."""
        return self.candidates.levels[self.candidates.codes]

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """Give records with the same items the same number, shape (n_records,)."""
        # A sum of random numbers, one an item: two different sets have the same one nearly never.
        marks = np.random.default_rng(0).integers(2**63, size=(self.n_items,), dtype=np.uint64)
        sums = np.zeros(self.candidates.n_records, np.uint64)
        np.add.at(sums, self.records, marks[self.items])
        _, first, numbers = np.unique(sums, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[numbers], np.int64)

    @cached_property
    def first_look(self) -> NDArray[np.float32]:
        """What `describe_cells` says of them before anything is known; worked out once."""
        return describe_cells(self)

    @property
    def n_items(self) -> int:
        """Number of items, those that nobody carries included."""
        return self.candidates.indptr.size - 1

    def table(self, numbers: NDArray[Any]) -> Numbers:
        """Spread a number a label over records times items; 0 where there is no label."""
        spread = np.zeros((self.candidates.n_records, self.n_items))
        spread[self.records, self.items] = numbers
        return spread


def describe_cells(cells: Cells, likely: Numbers | None = None) -> NDArray[np.float32]:
    """Return the features of each label, shape (n_labels, n_features).

    Nothing private is looked at.

    Parameters
    ----------
    cells : Cells
    likely : ndarray of float64, shape (n_labels,), optional
        How probably each label is a real rating, from an earlier look: means then weigh by it, and
        further features say how many of the row, the item and the group are likely.

    Notes
    -----
    The label; the mean, spread and number of its item's labels and of its row's; how many of the
    item's, the row's and the group's labels are equal to it; what a fit of low rank and the
    nearest other rows make of it. Fills by item means repeat within an item, fills by neighbours
    lie where the neighbours say, random fills lie where nobody expects a rating.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=20, n_items=10, n_ratings=80, seed=1)
    >>> cells = Cells.of(Candidates.from_ratings(ratings), ratings.scale)
    >>> describe_cells(cells).shape, describe_cells(cells, np.full(80, 0.5)).shape
    ((80, 23), (80, 33))
    """
    weights = np.ones(cells.labels.size) if likely is None else np.maximum(likely, 0.02)
    # Part by part: of millions of labels, all features in double precision take gigabytes.
    parts = [_narrow(_lines(cells, weights)), _narrow(_repeats(cells))]
    parts.append(_narrow(_foretold(cells, weights, likely)))
    if likely is not None:
        parts.append(_narrow(_likely(cells, likely)))
    return np.column_stack(parts)


def _narrow(features: list[Numbers]) -> NDArray[np.float32]:
    return np.column_stack([np.asarray(feature, np.float32) for feature in features])


def _lines(cells: Cells, weights: Numbers) -> list[Numbers]:
    """Describe the item's labels and the row's, and where the label lies among them."""
    features = [cells.labels]
    for line in (cells.items, cells.records):
        mean = _mean(line, cells.labels, weights)
        spread = np.sqrt(_mean(line, (cells.labels - mean) ** 2, weights))
        features += [mean, cells.labels - mean, spread, _count(line)]
    return features


def _repeats(cells: Cells) -> list[Numbers]:
    """Count equal labels: of the item, of the row, and of the item in the group."""
    codes, groups = cells.candidates.codes, cells.groups[cells.records]
    of_item, of_row = _count(cells.items), _count(cells.records)
    in_group = _count(groups, cells.items)
    equal_in_group = _count(groups, cells.items, codes)
    others = _count(groups, cells.items, weights=cells.labels) - cells.labels
    mean_of_others = others / np.maximum(in_group - 1, 1)
    return [
        _count(cells.items, codes) / of_item,
        _count(cells.records, codes) / of_row,
        in_group,
        equal_in_group,
        equal_in_group / in_group,
        mean_of_others,
        cells.labels - mean_of_others,
    ]


def _foretold(cells: Cells, weights: Numbers, likely: Numbers | None) -> list[Numbers]:
    """Describe what other labels make one expect, and how far off the label is."""
    base, fitted = fit_weighted(cells.table(cells.labels), cells.table(weights))
    at = cells.records, cells.items
    believed = None
    if likely is not None:
        believed = likely > np.quantile(likely, 1 - min(float(likely.mean()), 1.0))
    foretold = foretell(cells.candidates, cells.scale, believed).astype(np.float64)
    step = cells.scale.step or cells.scale.range / 1000 or 1.0
    is_equal = np.abs(cells.scale.round(foretold, step) - cells.labels) < step / 2
    found = [base[at], fitted[at], foretold]
    off = [cells.labels - expected for expected in found]
    return [*found, *off, is_equal.astype(np.float64)]


def _likely(cells: Cells, likely: Numbers) -> list[Numbers]:
    """Describe what an earlier look found of the row, the item, the group and the label."""
    codes, groups = cells.candidates.codes, cells.groups[cells.records]
    spread = cells.table(likely)
    mean = spread.mean(axis=0)
    size = min(_DIRECTIONS, *spread.shape)
    left, sizes, right = randomized_svd(spread - mean, size, random_state=0)
    who_rates_what = ((left * sizes) @ right + mean)[cells.records, cells.items]
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
        who_rates_what,
        likely - who_rates_what,
    ]


def _mean(line: NDArray[Any], numbers: Numbers, weights: Numbers | None = None) -> Numbers:
    """Return for each label the weighted mean over the labels of the same line."""
    weights = np.ones(numbers.size) if weights is None else weights
    totals = np.bincount(line, numbers * weights) / np.maximum(np.bincount(line, weights), 1e-9)
    return np.asarray(totals[line])


def _count(*keys: NDArray[Any], weights: Numbers | None = None) -> Numbers:
    """Return for each label how many (or how much weight) have the same keys.

    Examples
    --------
    >>> _count(np.array([0, 0, 1]), np.array([7, 7, 7]))
    array([2., 2., 1.])
    """
    joint = np.zeros(keys[0].size, np.int64)
    for key in keys:
        joint = joint * (int(key.max(initial=0)) + 1) + key
    if joint.max(initial=0) >= 4 * joint.size:  # few of so many keys occur
        joint = np.unique(joint, return_inverse=True)[1]
    return np.bincount(joint, weights).astype(np.float64)[joint]


# The first look describes labels as they stand, each further one what is likely of the others.
_LOOKS = 2
# Parts of the known people: each part's labels are judged by what the others taught.
_PARTS = 4
# Tables of records times items are built; beyond so many cells they take too much memory.
MOST_CELLS = 1 << 25
# Labels that are judged at a time.
_BLOCK = 1 << 17


def too_large(cells: Cells) -> bool:
    """Tell whether the tables that the classifier builds would take too much memory."""
    return cells.candidates.n_records * cells.n_items > MOST_CELLS


def infer_fills(cells: Cells, records: NDArray[np.int64], is_real: NDArray[np.bool_]) -> Numbers:
    """Return how probably each label is a real rating, shape (n_labels,).

    Parameters
    ----------
    cells : Cells
        The published labels.
    records : ndarray of int64
        The records of the people whom the adversary knows, at least two different ones.
    is_real : ndarray of bool, shape (n_labels,)
        Which labels are real. Only those in `records` are looked at.

    Raises
    ------
    RecveilError
        If fewer than two people are known, or all that is known of them is real, or nothing is.

    Notes
    -----
    Gradient boosting on `describe_cells`, with trees of scikit-learn's, in two looks: the second
    one sees what the first found likely of the rest of the row, the item and the group. What is
    known of a person is never used to judge this very person's labels in between, so that the
    second look learns from figures that are as uncertain as everybody else's.

    Examples
    --------
    Item 0 and item 1 are rated 5 or 1; whoever did not rate one of them got a 3.

    >>> from recveil.attacks.candidates import Candidates
    >>> from recveil.ratings import Ratings, RatingScale
    >>> rated = np.arange(200) % 4 == 0
    >>> values = np.where(rated, np.arange(200) // 4 % 2 * 4 + 1, 3)
    >>> table = Ratings.from_columns(np.arange(200) // 2, np.arange(200) % 2, values)
    >>> cells = Cells.of(Candidates.from_ratings(table), RatingScale(1, 5, 1))
    >>> is_real = cells.labels != 3
    >>> likely = infer_fills(cells, np.arange(50), is_real)
    >>> bool(likely[is_real].min() > likely[~is_real].max())
    True
    """
    people = np.unique(records)
    known = np.isin(cells.records, people)
    n_real = int(is_real[known].sum())
    if people.size < 2 or not 0 < n_real < known.sum():
        raise RecveilError(
            f"{people.size} known people have {n_real} real ones of {int(known.sum())} labels; "
            f"expected at least 2 people, with real labels and others",
            code="table.too-few-users",
        )
    seen = cells.first_look
    likely = _learn(seen, cells.records, people, is_real)
    for _ in range(1, _LOOKS):
        seen = np.column_stack([seen, describe_cells(cells, likely)])
        likely = _learn(seen, cells.records, people, is_real)
    return likely


def _learn(
    features: NDArray[np.float32],
    records: NDArray[np.int32],
    people: NDArray[np.int64],
    is_real: NDArray[np.bool_],
) -> Numbers:
    """Judge everybody by all known people, and each known person by the others."""
    known = np.isin(records, people)
    likely = judge(features[known], is_real[known], features)
    mixed = np.random.default_rng(0).permutation(people)
    for part in np.array_split(mixed, min(_PARTS, people.size)):
        own = np.isin(records, part)
        others = known & ~own
        likely[own] = judge(features[others], is_real[others], features[own])
    return likely


def judge(
    taught: NDArray[np.float32], is_real: NDArray[np.bool_], asked: NDArray[np.float32]
) -> Numbers:
    """Learn from some labels which are real, and say of others how probably they are.

    Parameters
    ----------
    taught : ndarray of float32, shape (n_taught, n_features)
    is_real : ndarray of bool, shape (n_taught,)
        If all are the same, so is every answer.
    asked : ndarray of float32, shape (n_asked, n_features)

    Examples
    --------
    >>> taught = np.repeat(np.array([[0.0], [1.0]], np.float32), 50, axis=0)
    >>> judge(taught, taught[:, 0] > 0, np.array([[0.0], [1.0]], np.float32)).round()
    array([0., 1.])
    """
    if is_real.all() or not is_real.any() or not len(asked):
        return np.full(len(asked), float(is_real.any()))
    trees = HistGradientBoostingClassifier(
        max_iter=50,
        learning_rate=0.2,
        max_leaf_nodes=15,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    # So little is learned at a time that threads would mostly wait for each other.
    with threadpool_limits(1, "openmp"):
        trees.fit(taught, is_real)
        # scikit-learn makes a copy of what is asked, of twice the size.
        blocks = (asked[start : start + _BLOCK] for start in range(0, len(asked), _BLOCK))
        return np.concatenate([trees.predict_proba(block)[:, 1] for block in blocks])


# Of the people, so many are known to the adversary, each with all of their ratings.
KNOWN_SHARES = (0.01, 0.05)
# Of the real ratings, so many are marked.
RECALLS = (0.1, 0.25, 0.5)


@brief
class InferredFills(NamedTuple):
    """How well somebody who knows a few people tells real ratings from fills.

    Attributes
    ----------
    known_share : float
        Share of the people whom the adversary knows with all of their ratings; they are not
        counted below. 0 for somebody who learned from a release of their own.
    people_known : int
    base_rate : float
        Share of the others' labels that are real: what a blind guess marks rightly.
    precision : dict of float to Interval
        For each share of the real ratings, how many of the marked labels are real if the likeliest
        ones are marked until so many are found. Its trials are people, whose labels go together.
    by_popularity : dict of float to Interval
        The same, if the labels of the most rated items are marked.
    found : Interval
        The bystander's rate of people found, who knows eight items and no ratings, with likely
        fills counting against a record; of the people whom the adversary does not know.
    by_items : Interval
        The same people by the same items, if all labels count alike.
    """

    known_share: float
    people_known: int
    base_rate: float
    precision: dict[float, Interval]
    by_popularity: dict[float, Interval]
    found: Interval
    by_items: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON and for the page."""
        return {
            "known_share": self.known_share,
            "people_known": self.people_known,
            "base_rate": self.base_rate,
            "precision": {f"{at:g}": told._asdict() for at, told in self.precision.items()},
            "popularity_precision": {
                f"{at:g}": told._asdict() for at, told in self.by_popularity.items()
            },
            # JSON knows no nan: of nobody there is no rate.
            "bystander": self.found._asdict() if self.found.trials else None,
            "bystander_by_items_alone": self.by_items._asdict() if self.found.trials else None,
        }

    def _facts(self) -> dict[str, object]:
        return {"people known": self.people_known, "found": f"{self.found.rate:.1%}"}


def measure_fills(
    ratings: Ratings,
    table: ReleasedTable,
    targets: NDArray[np.int64],
    known_share: float = 0.05,
    seed: int = 0,
    *,
    cells: Cells | None = None,
) -> InferredFills:
    """Let an adversary learn from some people what fills look like, and judge everybody else.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    table : ReleasedTable
    targets : ndarray of int64
        User positions; those who are known to the adversary are not looked for.
    known_share : float
        Share of the released people whom the adversary knows, at least two people.
    seed : int
        Fixes who is known, and what the bystander knows.
    cells : Cells, optional
        Those of the table, for whoever measures several times; taken from it, if not given.

    Raises
    ------
    RecveilError
        If nobody has a record, the table is too large for the classifier, or the known people
        have no fills (or nothing but fills).

    Examples
    --------
    >>> from recveil.methods import KCoRater
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=120, n_items=40, n_ratings=1500, seed=1)
    >>> table = ReleasedTable.from_release(KCoRater(k=5, seed=1).anonymize(ratings), ratings)
    >>> told = measure_fills(ratings, table, np.arange(120), known_share=0.1)
    >>> told.people_known, told.precision[0.5].rate > told.base_rate
    (12, True)
    """
    cells = Cells.of(table.candidates, ratings.scale) if cells is None else cells
    if too_large(cells):
        raise RecveilError(
            f"{cells.candidates.n_records:,} records of {cells.n_items:,} items are too many to "
            f"tell fills from ratings; expected a smaller table, or a part of the people",
            code="table.too-large",
        )
    released = np.flatnonzero(table.record_of >= 0)
    if not released.size:
        raise RecveilError(
            "nobody has a record in the release; expected people to judge by", code="argument.value"
        )
    n_known = min(released.size, max(2, round(known_share * released.size)))
    known = np.random.default_rng([seed, 5]).choice(released, n_known, replace=False)
    records = table.record_of[known]
    likely = infer_fills(cells, records, mark_real(ratings, table))
    return judge_fills(ratings, table, targets, cells, likely, records, seed)


def judge_fills(
    ratings: Ratings,
    table: ReleasedTable,
    targets: NDArray[np.int64],
    cells: Cells,
    likely: Numbers,
    records: NDArray[np.int64],
    seed: int = 0,
) -> InferredFills:
    """Judge what somebody makes of the labels, by everybody whom they do not know.

    Parameters
    ----------
    ratings, table, targets, seed
        As in `measure_fills`.
    cells : Cells
        Those of the table.
    likely : ndarray of float64, shape (n_labels,)
        How probably each label is a real rating.
    records : ndarray of int64
        The records of the people whom the adversary knows; none, if nobody.
    """
    is_real = mark_real(ratings, table)
    others = ~np.isin(cells.records, records)
    judged = _Judged(is_real[others], cells.records[others])
    left = targets[~np.isin(table.record_of[targets], records)]
    by_items = draw_knowledge(ratings, PRESETS["bystander"], left, seed)
    support = table.candidates.support[cells.items].astype(np.float64)
    n_released = int((table.record_of >= 0).sum())
    return InferredFills(
        known_share=records.size / max(n_released, 1),
        people_known=records.size,
        base_rate=float(judged.is_real.mean()) if judged.is_real.size else 0.0,
        precision=_precision(judged, likely[others]),
        by_popularity=_precision(judged, support[others]),
        found=_find(table, by_items, likely),
        by_items=_find(table, by_items, np.ones(likely.size)),
    )


def mark_real(ratings: Ratings, table: ReleasedTable) -> NDArray[np.bool_]:
    """Mark the labels of items that somebody behind the record rated, shape (n_labels,).

    Examples
    --------
    >>> from recveil.methods import KCoRater
    >>> from recveil.ratings import RatingScale
    >>> stars = RatingScale(1, 5, 1)
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2], scale=stars)
    >>> table = ReleasedTable.from_release(KCoRater(k=2, seed=1).anonymize(ratings), ratings)
    >>> int(mark_real(ratings, table).sum()), table.values.size
    (3, 4)
    """
    record_of = np.repeat(table.record_of, ratings.activity)
    inside = record_of >= 0
    n_records = table.candidates.n_records
    # The candidates are listed by item, records ascending.
    real = np.unique(ratings.indices[inside].astype(np.int64) * n_records + record_of[inside])
    items = np.repeat(np.arange(ratings.n_items), np.diff(table.candidates.indptr))
    return np.isin(items * n_records + table.candidates.records, real)


@brief
class _Judged(NamedTuple):
    """The labels that precision is measured on."""

    is_real: NDArray[np.bool_]
    records: NDArray[np.int32]


def _precision(judged: _Judged, score: Numbers) -> dict[float, Interval]:
    """Mark the highest scores until each share of the real ratings is found.

    Equal scores are marked together, so that nothing hangs on their order.
    """
    order = np.argsort(-score, kind="stable")
    found = np.cumsum(judged.is_real[order])
    precision = {}
    for recall in RECALLS if found.size and found[-1] else ():
        last = order[np.searchsorted(found, recall * found[-1])]
        marked = score >= score[last]
        n_marked = np.bincount(judged.records[marked])
        n_right = np.bincount(judged.records[marked], judged.is_real[marked])
        precision[recall] = ratio_interval(n_right[n_marked > 0], n_marked[n_marked > 0])
    return precision


def _find(table: ReleasedTable, known: Knowledge, likely: Numbers) -> Interval:
    guesses = LikelyRated(likely).attack(table.candidates, known, table.record_of)
    return wilson_interval(float(guesses.chance.sum()), known.requested)


# Of the published labels, so many are taken for ratings; and from so many people of the shadow it
# is learned what fills look like.
_TAKEN, _TAUGHT_BY = 0.3, 100


def infer_fills_by_shadow(cells: Cells, anonymizer: Anonymizer, seed: int = 0) -> Numbers:
    """Return how probably each label is a real rating, by what a shadow release teaches.

    The adversary takes a random part of the published labels for ratings, makes a release of them
    in the way that the release itself names, and learns in it, where it is known, what fills look
    like. They need to know nobody, and nothing private is looked at.

    Parameters
    ----------
    cells : Cells
        The published labels.
    anonymizer : Anonymizer
        Makes releases with the same settings.
    seed : int
        Fixes which labels are taken, and who teaches.

    Returns
    -------
    ndarray of float64, shape (n_labels,)

    Raises
    ------
    RecveilError
        If no such release can be made of the labels that were taken.

    Examples
    --------
    >>> from recveil.methods import KCoRater
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=120, n_items=40, n_ratings=1500, seed=1)
    >>> anonymizer = KCoRater(k=5, seed=2)
    >>> table = ReleasedTable.from_release(anonymizer.anonymize(ratings), ratings)
    >>> likely = infer_fills_by_shadow(Cells.of(table.candidates, ratings.scale), anonymizer)
    >>> is_real = mark_real(ratings, table)
    >>> bool(likely[is_real].mean() > likely[~is_real].mean())
    True
    """
    rng = np.random.default_rng([seed, 8])
    taken = rng.random(cells.labels.size) < _TAKEN
    columns = cells.records[taken].astype(np.int64), cells.items[taken], cells.labels[taken]
    known = Ratings.from_columns(*columns, scale=cells.scale)
    shadow = ReleasedTable.from_release(anonymizer.anonymize(known), known)
    own = Cells.of(shadow.candidates, cells.scale)
    is_real = mark_real(known, shadow)
    n_teachers = min(_TAUGHT_BY, shadow.candidates.n_records)
    teachers = rng.choice(shadow.candidates.n_records, n_teachers, replace=False)
    taught = np.isin(own.records, teachers)
    return judge(own.first_look[taught], is_real[taught], cells.first_look)
