"""Links of two: which items somebody's two rows tell together, and what one of them tells alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from recveil.attack.released import ReleasedTable
from recveil.attack.residuals import Residuals, find_residuals
from recveil.attack.statistics import Mean, mean_interval
from recveil.errors import RecveilError
from recveil.ratings import Ratings

# Where every row has a label for every item, so many items that stand out most are told.
MOST_TOLD = 20
# At most so many people are told of: of more, a random sample.
MOST_PEOPLE = 1_000
# A fit of so many factors is smooth, as predictions are; and the most labels that are fitted.
_FACTORS, _MOST_LABELS = 10, 1 << 25
# What a fit leaves over by rounding alone is no sign of anything.
_NOTHING = 1e-6

Table = NDArray[np.float64]


class LinksOfTwo(NamedTuple):
    """How surely the items are rated that are told of somebody whose two rows are known.

    Each is the share of the told items that the person rated; the mean over people of whom any are
    told.

    Attributes
    ----------
    first, second : Mean
        By the row in the one release, and by that in the other, alone.
    both : Mean
        By both rows.
    stranger : Mean
        The control: by the row in the first release, and somebody else's row in the second.
    popularity : Mean
        The baseline: of as many of the most rated items as both rows tell.
    """

    first: Mean
    second: Mean
    both: Mean
    stranger: Mean
    popularity: Mean

    @property
    def one(self) -> Mean:
        """What the row that tells more tells alone."""
        known = [mean for mean in (self.first, self.second) if mean.trials]
        return max(known, key=lambda mean: mean.mean, default=self.first)


def tell_links(
    ratings: Ratings,
    first: ReleasedTable,
    second: ReleasedTable,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> LinksOfTwo | None:
    """Tell items from two rows of a person, and see how many of them the person rated.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    first, second : ReleasedTable
    targets : ndarray of int64
        User positions; those who are not in both releases are left out, and of more than
        `MOST_PEOPLE` a random sample is taken.
    seed : int
        Fixes who is taken, and who is the stranger of whom.

    Returns
    -------
    LinksOfTwo or None
        None if a release of full rows has so many labels that no fit is made.

    Raises
    ------
    RecveilError
        If fewer than two of the targets stand in both releases.

    Notes
    -----
    Two sparse rows tell the items that stand in both. A row with labels for all items tells those
    whose label lies far off a smooth fit to all rows of its release, because predictions are smooth
    and ratings are not: by `find_residuals` and the items' popularity, or by a truncated singular
    value decomposition where that does not apply, or rows are so many that it looks at some. Two
    rows tell the items that lie off both fits to the same side, ranked by the smaller distance. In
    two co-rated releases real ratings stay as they are, so that only items with the same label are
    told. Words without an order have no side: items with the same word in both rows are told, by
    the odds that the item's popularity gives, raised by how rare that word is for it among all
    rows. Better attacks tell more; so these shares are lower bounds.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=40, n_items=60, n_ratings=500, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(4, "simple", grouping=grouping, seed=1)
    ...     tables.append(ReleasedTable.from_release(maker.anonymize(ratings), ratings))
    >>> told = tell_links(ratings, *tables, np.arange(40))
    >>> told.both.mean > told.one.mean, told.both.mean > told.stranger.mean
    (True, True)
    """
    inside = targets[(first.record_of[targets] >= 0) & (second.record_of[targets] >= 0)]
    if inside.size < 2:
        raise RecveilError(
            f"{inside.size} of the people looked for stand in both releases; expected at least 2",
            code="release.mismatch",
        )
    if inside.size > MOST_PEOPLE:
        inside = np.random.default_rng(seed).choice(inside, MOST_PEOPLE, replace=False)
    if any(_is_full(table) and table.values.size > _MOST_LABELS for table in (first, second)):
        return None
    shares = _shares(
        *(ratings, _Rows.of(first, ratings), _Rows.of(second, ratings), inside),
        _strangers(inside, seed),
    )
    return LinksOfTwo(**{name: mean_interval(share) for name, share in shares.items()})


def _is_full(table: ReleasedTable) -> bool:
    """Say whether all rows have labels for the same items; one row alone says nothing by that."""
    n_records = table.indptr.size - 1
    return n_records > 1 and table.values.size == n_records * np.unique(table.indices).size


def _strangers(people: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return somebody else for each of the people."""
    order = np.random.default_rng(seed).permutation(people.size)
    other = np.empty_like(people)
    other[order] = people[np.roll(order, 1)]
    return other


class _Rows:
    """The rows of a release, by how surely each item of them was rated."""

    def __init__(
        self, table: ReleasedTable, residuals: Table | None, *, by_equality: bool = False
    ) -> None:
        self.table, self._residuals = table, residuals
        # Whether two rows agree on an item only if they have the same label for it.
        self.by_equality = by_equality or table.co_rated

    @classmethod
    def of(cls, table: ReleasedTable, ratings: Ratings) -> "_Rows":
        """Fit full rows; sparse ones need no fit, and words without an order have none."""
        if not ratings.scale.ordered:
            return cls(table, _rare_words(table, ratings), by_equality=True)
        if not _is_full(table):
            return cls(table, None)
        explained = find_residuals(table.candidates, ratings.scale)
        # Where rows are too many, the robust fit is of some of them; of one person each, of none.
        if explained is None or explained.rows.size < table.candidates.n_records:
            return cls(table, _residuals(table))
        return cls(table, _explained(table, explained, ratings.support / ratings.n_users))

    def evidence(self, person: int) -> Table:
        """Return how far each item of somebody's row stands out, with its sign, shape (n_items,).

        0 if it does not; infinitely far in a sparse row, which holds only what somebody rated.
        """
        record = self.table.record_of[person]
        if self._residuals is not None:
            return np.asarray(self._residuals[record])
        stands = np.zeros(self.table.candidates.indptr.size - 1)
        stands[self.table.row(record)[0]] = np.inf
        return stands

    def labels(self, person: int) -> Table:
        """Return the labels of somebody's row, nan where it has none, shape (n_items,)."""
        items, values = self.table.row(self.table.record_of[person])
        labels = np.full(self.table.candidates.indptr.size - 1, np.nan)
        labels[items] = values
        return labels


def _rare_words(table: ReleasedTable, ratings: Ratings) -> Table:
    """Return how surely each item of rows of words was rated, shape (n_records, n_items).

    A word that somebody gave may stand in any row; one that nobody behind the row gave is mostly
    the one that most rows have. So by as much as a word is rare for an item, the odds that the
    item was rated are higher than its popularity says: the square root of these.
    """
    n_records, n_words = table.indptr.size - 1, len(ratings.scale.words)
    rows = np.repeat(np.arange(n_records), np.diff(table.indptr))
    pairs = table.indices * np.int64(n_words) + np.rint(table.values).astype(np.int64) - 1
    people = table.candidates.sizes[rows]
    n_behind = np.bincount(pairs, people, ratings.n_items * n_words)[pairs]
    share = n_behind / table.candidates.sizes.sum()
    popularity = np.minimum(ratings.support / ratings.n_users, 1 - 1 / (2 * ratings.n_users))
    odds = popularity / (1 - popularity)
    surely = np.zeros((n_records, ratings.n_items))
    surely[rows, table.indices] = np.sqrt(odds[table.indices] / share)
    return surely


def _explained(table: ReleasedTable, residuals: Residuals, popularity: Table) -> Table:
    """Return how surely each item of full rows was rated, with the side to which ratings moved it.

    As the square root of the odds, by the residual and the item's popularity, shape (n_records,
    n_items).
    """
    cells = residuals.cells
    score, _ = residuals.told_with(popularity[residuals.items])
    off = np.exp(score / 2) * np.sign(cells.labels - cells.fitted)
    moved = np.zeros((len(off), table.candidates.indptr.size - 1))
    moved[:, residuals.items] = off
    return moved


def _residuals(table: ReleasedTable) -> Table:
    """Return what a smooth fit of full rows leaves over, shape (n_records, n_items)."""
    rows = table.values.reshape(table.indptr.size - 1, -1)
    rows = rows - np.average(rows, axis=0, weights=table.candidates.sizes)
    # Among few rows, as many factors would fit the ratings, too.
    n_factors = min(_FACTORS, min(rows.shape) // 8)
    if n_factors > 0:
        left, strengths, right = randomized_svd(rows, n_factors, random_state=0)
        rows = rows - (left * strengths) @ right
    off = np.zeros((len(rows), table.candidates.indptr.size - 1))
    off[:, table.row(0)[0]] = np.where(np.abs(rows) > _NOTHING, rows, 0.0)
    return off


def _shares(
    ratings: Ratings,
    first: _Rows,
    second: _Rows,
    people: NDArray[np.int64],
    strangers: NDArray[np.int64],
) -> dict[str, list[float]]:
    """Return the share of the told items that each person rated, by what tells them."""
    by_support = np.argsort(-ratings.support, kind="stable")
    shares: dict[str, list[float]] = {name: [] for name in LinksOfTwo._fields}
    for person, stranger in zip(people.tolist(), strangers.tolist(), strict=True):
        told = {
            "first": _stand_out(first.evidence(person)),
            "second": _stand_out(second.evidence(person)),
            "both": _stand_out(_agree(first, person, second, person)),
            "stranger": _stand_out(_agree(first, person, second, stranger)),
        }
        told["popularity"] = by_support[: told["both"].size]
        rated = ratings.row(person)[0]
        for name, items in told.items():
            if items.size:
                shares[name].append(float(np.isin(items, rated).mean()))
    return shares


def _agree(first: _Rows, person: int, second: _Rows, other: int) -> Table:
    """Return how far each item stands out of two rows, which must agree on it."""
    one, two = first.evidence(person), second.evidence(other)
    opposite = np.isfinite(one) & np.isfinite(two) & (np.sign(one) != np.sign(two))
    if first.by_equality and second.by_equality:
        opposite |= first.labels(person) != second.labels(other)
    return np.where(opposite, 0.0, np.minimum(np.abs(one), np.abs(two)))


def _stand_out(evidence: Table) -> NDArray[np.int64]:
    """Return the items that stand out most, with all that stand out as much as the last of them."""
    strength = np.abs(evidence)
    items = np.flatnonzero(strength)
    if items.size > MOST_TOLD:
        least = np.partition(strength[items], -MOST_TOLD)[-MOST_TOLD]
        items = items[strength[items] >= least]
    return items
