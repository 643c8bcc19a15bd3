"""Links of two: which items somebody's two rows tell together, and what one of them tells alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from recveil.attacks.adversary import Adversary
from recveil.attacks.reidentification.on_release import best_guesses
from recveil.attacks.reidentification.residuals import Residuals, find_residuals
from recveil.attacks.release_target import ReleasedTable
from recveil.attacks.statistics import Interval, Mean, mean_interval, wilson_interval
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError, describe_count


class Intersection(NamedTuple):
    """How many people stand in the group of somebody in both releases.

    Attributes
    ----------
    alone : Interval
        Share of the people with whom nobody shares both groups.
    alone_in_one : float
        The same share in the one of the two releases that shows more people alone: the baseline.
    below_k : Interval
        Share of the people who share both groups with fewer than both releases promise them.
    mean_people : Mean
        People in both groups, themselves included; the mean over people.
    people : int
        How many stand in both releases; the shares are of them.
    """

    alone: Interval
    alone_in_one: float
    below_k: Interval
    mean_people: Mean
    people: int


def groups_of(table: ReleasedTable) -> NDArray[np.int64]:
    """Return the group of each user, shape (n_users,); -1 for who is not in the release.

    Who shares a row, or, in a co-rated release, the items of it: that is what is promised there.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=20, n_items=30, n_ratings=200, seed=1)
    >>> release = PredictiveAnonymizer(k=10, seed=1).anonymize(ratings)
    >>> np.bincount(groups_of(ReleasedTable.from_release(release, ratings)))
    array([10, 10])
    """
    if not table.co_rated:
        return table.record_of
    first: dict[bytes, int] = {}
    n_records = table.indptr.size - 1
    group_of = np.array(
        [first.setdefault(table.row(record)[0].tobytes(), record) for record in range(n_records)]
    )
    inside = table.record_of >= 0
    groups = np.full(table.record_of.size, -1, np.int64)
    groups[inside] = group_of[table.record_of[inside]]
    return groups


def users_in_both(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count those who are in the same group as each user in both releases.

    Parameters
    ----------
    first, second : ndarray of int64, shape (n_users,)
        The group of each user; -1 for who is not in that release.

    Returns
    -------
    ndarray of int64, shape (n_users,)
        0 for who is not in both releases.

    Examples
    --------
    >>> users_in_both(np.array([0, 0, 0, 1, -1]), np.array([7, 7, 8, 8, 8]))
    array([2, 2, 1, 1, 0])
    """
    both = (first >= 0) & (second >= 0)
    people = np.zeros(first.size, np.int64)
    pairs = np.stack([first[both], second[both]], axis=1)
    _, place, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    people[both] = counts[place.ravel()]
    return people


def intersect(
    first: ReleasedTable, second: ReleasedTable, promised: NDArray[np.int64]
) -> Intersection:
    """Intersect everybody's two groups.

    Parameters
    ----------
    first, second : ReleasedTable
        Of the same ratings.
    promised : ndarray of int64, shape (n_users,)
        With how many people somebody shares a group at least, as both releases promise.

    Raises
    ------
    RecveilError
        If the tables are of different ratings, or nobody stands in both.

    Notes
    -----
    Everybody in both releases is counted. The intervals tell how far other people of the same sort
    could be off these, not an error of the count. This is about who knows somebody's two groups;
    how often they are found is another question.

    Source: Ganta, Kasiviswanathan, Smith 2008 (composition attacks).

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=40, n_items=30, n_ratings=300, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(k=5, grouping=grouping, seed=1)
    ...     tables.append(ReleasedTable.from_release(maker.anonymize(ratings), ratings))
    >>> found = intersect(*tables, promised=np.full(40, 5))
    >>> found.alone_in_one, round(found.alone.rate, 3), found.below_k.rate
    (0.0, 0.275, 1.0)
    """
    if first.record_of.size != second.record_of.size:
        raise RecveilError(
            f"the first release is of ratings of "
            f"{describe_count(first.record_of.size, 'user')}, the second of "
            f"{second.record_of.size}; read both with the same ratings",
            code="release.mismatch",
        )
    groups = groups_of(first), groups_of(second)
    people = users_in_both(*groups)
    both = people > 0
    n_people = int(both.sum())
    if not n_people:
        raise RecveilError(
            "nobody stands in both releases; expected two releases of the same people",
            code="release.mismatch",
        )
    in_one = [np.bincount(of_release[of_release >= 0])[of_release[both]] for of_release in groups]
    return Intersection(
        alone=wilson_interval(int((people[both] == 1).sum()), n_people),
        alone_in_one=max(float(np.mean(sizes == 1)) for sizes in in_one),
        below_k=wilson_interval(int((people < promised)[both].sum()), n_people),
        mean_people=mean_interval(people[both]),
        people=n_people,
    )


class JointFinding(NamedTuple):
    """How often an adversary finds somebody's row in two releases, and what it comes to.

    Attributes
    ----------
    requested, skipped : int
        Targets asked for, and those of them who have too few ratings; they count as not found.
    first, second : Interval
        Share of the targets whose row is found in the one release, and in the other.
    both : Interval
        Share of the targets whose row is found in both.
    person_in_one : Interval
        Expected share of the targets whom a blind pick among the people behind the found row hits,
        in the release where it hits more.
    person_in_both : Interval
        The same for a pick among those who stand behind both found rows.
    stranger : Interval
        The control: the same with the row that was found for somebody else in the second release.
    """

    requested: int
    skipped: int
    first: Interval
    second: Interval
    both: Interval
    person_in_one: Interval
    person_in_both: Interval
    stranger: Interval


def find_in_both(
    ratings: Ratings,
    first: ReleasedTable,
    second: ReleasedTable,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> JointFinding:
    """Look for the targets in both releases, each with the attack that finds most there.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    first, second : ReleasedTable
    adversary : Adversary
        They know the same of a target in both releases.
    targets : ndarray of int64
        User positions, all of them in both releases.
    seed : int
        Fixes what the adversary knows.

    Raises
    ------
    RecveilError
        If a target is missing in a release.

    Notes
    -----
    A row is found if it alone fits best. The rows themselves do not tell who stands behind both:
    the pick is what is left to an adversary who learns that, as one does who was told about
    companions. Whoever uses both releases at once to find a row may find more.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(5, "simple", grouping=grouping, seed=1)
    ...     tables.append(ReleasedTable.from_release(maker.anonymize(ratings), ratings))
    >>> found = find_in_both(ratings, *tables, Adversary(known=8), np.arange(60))
    >>> found.person_in_both.rate > found.person_in_one.rate
    True
    """
    missing = np.flatnonzero((first.record_of[targets] < 0) | (second.record_of[targets] < 0))
    if missing.size:
        raise RecveilError(
            f"{missing.size} of {targets.size} people looked for are missing in a release; "
            f"expected people of both",
            code="argument.value",
        )
    known, one = best_guesses(ratings, first, adversary, targets, seed)
    _, two = best_guesses(ratings, second, adversary, targets, seed)
    rows = first.record_of[known.targets], second.record_of[known.targets]
    in_first, in_second = one.best == rows[0], two.best == rows[1]
    people = np.maximum(users_in_both(first.record_of, second.record_of)[known.targets], 1)
    # Somebody else's row may be the target's own, too, where they share the group.
    strange = in_first & (np.roll(two.best, 1) == rows[1]) & (known.targets.size > 1)

    def rate(hits: NDArray[np.float64] | NDArray[np.bool_]) -> Interval:
        return wilson_interval(float(hits.sum()), known.requested)

    return JointFinding(
        requested=known.requested,
        skipped=known.skipped,
        first=rate(in_first),
        second=rate(in_second),
        both=rate(in_first & in_second),
        person_in_one=max(rate(one.chance), rate(two.chance)),
        person_in_both=rate((in_first & in_second) / people),
        stranger=rate(strange / people),
    )


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


def infer_links(
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
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=40, n_items=60, n_ratings=500, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(4, "simple", grouping=grouping, seed=1)
    ...     tables.append(ReleasedTable.from_release(maker.anonymize(ratings), ratings))
    >>> told = infer_links(ratings, *tables, np.arange(40))
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
    score, _ = residuals.reported_with(popularity[residuals.items])
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
