"""Cells: what each label of a co-rated release looks like to somebody who hunts for fills."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from recveil.attack.candidates import Candidates
from recveil.attack.foretold import foretell
from recveil.brief import brief
from recveil.predict.weighted_fit import fit_weighted
from recveil.ratings import RatingScale

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
