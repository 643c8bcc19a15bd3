"""Linkage of two releases of the same users: shared groups, re-identification and rated items."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from recveil.attacks.adversary import Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.reidentification.on_release import best_guesses, without_unpublished
from recveil.attacks.reidentification.residuals import Residuals, find_residuals
from recveil.attacks.statistics import (
    Interval,
    Mean,
    mean_interval,
    share_interval,
    wilson_interval,
)
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.errors import RecveilError, describe_count


class Intersection(NamedTuple):
    """Equivalence classes of the users, intersected over two releases.

    Attributes
    ----------
    unique : Interval
        Share of the users with whom no other user shares both groups.
    unique_in_one : float
        The same share in the one release where it is larger: the baseline.
    below_k : Interval
        Share of the users who share both groups with fewer users than both releases promise.
    mean_users : Mean
        Users in both groups, including the user; mean over users.
    n_users : int
        Number of users in both releases; the shares are of them.
    """

    unique: Interval
    unique_in_one: float
    below_k: Interval
    mean_users: Mean
    n_users: int


def groups_of(table: AttackTarget) -> NDArray[np.int64]:
    """Return the group of each user, shape (n_users,); -1 for users outside the release.

    A group is the users who share a row or, in a co-rated release, its items.
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


def users_of_both(first: AttackTarget, second: AttackTarget) -> NDArray[np.int64]:
    """Return the positions of the users who are in both releases."""
    return np.flatnonzero((groups_of(first) >= 0) & (groups_of(second) >= 0))


def users_in_both(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the users who share each user's group in both releases; 0 for users not in both."""
    both = (first >= 0) & (second >= 0)
    counts_in_both = np.zeros(first.size, np.int64)
    pairs = np.stack([first[both], second[both]], axis=1)
    _, place, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    counts_in_both[both] = counts[place.ravel()]
    return counts_in_both


def intersect(
    first: AttackTarget, second: AttackTarget, promised: NDArray[np.int64]
) -> Intersection:
    """Intersect the two groups of every user.

    Parameters
    ----------
    first, second : AttackTarget
        Releases of the same ratings.
    promised : ndarray of int64, shape (n_users,)
        Smallest group size that both releases promise each user.

    Raises
    ------
    RecveilError
        If the tables are of different ratings, or no user is in both.

    Notes
    -----
    All users in both releases are counted: the intervals describe other users of the same
    population, not an error of the count. The adversary is assumed to know a user's two groups; see
    `reidentify_in_both` for how often they are inferred.

    Source: Ganta, Kasiviswanathan, Smith 2008 (composition attacks).

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=40, n_items=30, n_ratings=300, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(k=5, grouping=grouping, seed=1)
    ...     tables.append(AttackTarget.from_release(maker.anonymize(ratings), ratings))
    >>> found = intersect(*tables, promised=np.full(40, 5))
    >>> found.unique_in_one, round(found.unique.rate, 3), found.below_k.rate
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
    group_sizes = users_in_both(*groups)
    is_in_both = group_sizes > 0
    n_users = int(is_in_both.sum())
    if not n_users:
        raise RecveilError(
            "no user is in both releases; expected two releases of the same users",
            code="release.mismatch",
        )
    in_one = [
        np.bincount(of_release[of_release >= 0])[of_release[is_in_both]] for of_release in groups
    ]
    return Intersection(
        unique=wilson_interval(int((group_sizes[is_in_both] == 1).sum()), n_users),
        unique_in_one=max(float(np.mean(sizes == 1)) for sizes in in_one),
        below_k=wilson_interval(int((group_sizes < promised)[is_in_both].sum()), n_users),
        mean_users=mean_interval(group_sizes[is_in_both]),
        n_users=n_users,
    )


class JointReidentification(NamedTuple):
    """Re-identification rates of an adversary with two releases.

    Attributes
    ----------
    requested, skipped : int
        Targets requested, and those of them with too few ratings; these count as not re-identified.
    first, second : Interval
        Share of the targets whose row is inferred in each release.
    both : Interval
        Share of the targets whose row is inferred in both.
    reidentified_by_one : Interval
        Expected re-identification rate of a random pick among the users of the inferred row, in the
        release where it is higher.
    reidentified_by_both : Interval
        The same for a random pick among the users of both inferred rows.
    control : Interval
        The control: the same with another target's row in the second release.
    """

    requested: int
    skipped: int
    first: Interval
    second: Interval
    both: Interval
    reidentified_by_one: Interval
    reidentified_by_both: Interval
    control: Interval


def reidentify_in_both(
    ratings: Ratings,
    first: AttackTarget,
    second: AttackTarget,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> JointReidentification:
    """Attack the targets in both releases, each with its strongest attack.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    first, second : AttackTarget
    adversary : Adversary
        Has the same auxiliary information about a target in both releases.
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
    A row is found if it unique fits best. The rows do not reveal which users are in both; the pick
    is for an adversary who learns that from elsewhere, such as from companions. An adversary who
    combines both releases to infer a row may do better.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(5, "simple", grouping=grouping, seed=1)
    ...     tables.append(AttackTarget.from_release(maker.anonymize(ratings), ratings))
    >>> found = reidentify_in_both(ratings, *tables, Adversary(known=8), np.arange(60))
    >>> found.reidentified_by_both.rate > found.reidentified_by_one.rate
    True
    """
    missing = np.flatnonzero((first.record_of[targets] < 0) | (second.record_of[targets] < 0))
    if missing.size:
        raise RecveilError(
            f"{missing.size} of {targets.size} targets are missing in a release; expected users of "
            f"both",
            code="argument.value",
        )
    if (first.days is None) != (second.days is None):  # what is known is the same for both
        adversary = without_unpublished(ratings, adversary)
    known, one = best_guesses(ratings, first, adversary, targets, seed)
    _, two = best_guesses(ratings, second, adversary, targets, seed)
    rows = first.record_of[known.targets], second.record_of[known.targets]
    in_first, in_second = one.best == rows[0], two.best == rows[1]
    group_sizes = np.maximum(users_in_both(first.record_of, second.record_of)[known.targets], 1)
    # Another target's row may be the target's own row, where they share the group.
    is_control_hit = in_first & (np.roll(two.best, 1) == rows[1]) & (known.targets.size > 1)

    def rate(hits: NDArray[np.float64] | NDArray[np.bool_]) -> Interval:
        return known.rate(float(hits.sum()))

    return JointReidentification(
        requested=known.requested,
        skipped=known.skipped,
        first=rate(in_first),
        second=rate(in_second),
        both=rate(in_first & in_second),
        reidentified_by_one=rate(max(one.chance, two.chance, key=np.sum)),
        reidentified_by_both=rate((in_first & in_second) / group_sizes),
        control=rate(is_control_hit / group_sizes),
    )


# Number of strongest items to infer, where every row has a value for every item.
MOST_INFERRED = 20
# With more users, a random sample is used.
MOST_USERS = 1_000
# Rank of the smooth fit, and the most values that are fitted.
_FACTORS, _MOST_VALUES = 10, 1 << 25
# Residuals below this are rounding.
_ROUNDING = 1e-6

Table = NDArray[np.float64]


class InferredLinks(NamedTuple):
    """Precision of the items inferred as rated from a user's two known rows.

    Each is the share of the inferred items that the user rated; mean over users with inferred
    items.

    Attributes
    ----------
    first, second : Mean
        From the row in one release unique.
    both : Mean
        From both rows.
    control : Mean
        The control: from the row in the first release, and another user's row in the second.
    popularity : Mean
        The baseline: as many of the most rated items as both rows yield.
    """

    first: Mean
    second: Mean
    both: Mean
    control: Mean
    popularity: Mean

    @property
    def one(self) -> Mean:
        """The better precision of the two single rows."""
        known = [mean for mean in (self.first, self.second) if mean.trials]
        return max(known, key=lambda mean: mean.mean, default=self.first)


def infer_links(
    ratings: Ratings,
    first: AttackTarget,
    second: AttackTarget,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> InferredLinks | None:
    """Infer rated items from a user's two rows and measure their precision.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    first, second : AttackTarget
    targets : ndarray of int64
        User positions. Users who are not in both releases are left out; of more than `MOST_USERS`,
        a random sample is used.
    seed : int
        Fixes the sample and the control pairs.

    Returns
    -------
    InferredLinks or None
        None if a release of full rows is too large to fit.

    Raises
    ------
    RecveilError
        If fewer than two targets are in both releases.

    Notes
    -----
    Two sparse rows yield the items in both. A full row yields the items whose values are far from a
    smooth fit to all rows of its release, because predictions are smooth and ratings are not. The
    fit is `find_residuals` with item popularity or, where that does not apply or covers only a
    sample of the rows, a truncated singular value decomposition. Two rows yield the items that
    deviate from both fits in the same direction, ranked by the smaller deviation. Co-rated releases
    keep real ratings, so only items with the same value in both are used. Nominal labels have no
    direction: items with the same label in both rows are ranked by the odds of the item's
    popularity, raised by how rare the label is for the item among all rows. Stronger attacks exist,
    so these shares are lower bounds.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=40, n_items=60, n_ratings=500, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(4, "simple", grouping=grouping, seed=1)
    ...     tables.append(AttackTarget.from_release(maker.anonymize(ratings), ratings))
    >>> links = infer_links(ratings, *tables, np.arange(40))
    >>> links.both.mean > links.one.mean, links.both.mean > links.control.mean
    (True, True)
    """
    inside = targets[(first.record_of[targets] >= 0) & (second.record_of[targets] >= 0)]
    if inside.size < 2:
        raise RecveilError(
            f"{inside.size} of the targets are in both releases; expected at least 2",
            code="release.mismatch",
        )
    if inside.size > MOST_USERS:
        inside = np.random.default_rng(seed).choice(inside, MOST_USERS, replace=False)
    if any(_is_full(table) and table.values.size > _MOST_VALUES for table in (first, second)):
        return None
    order = np.random.default_rng(seed).permutation(inside.size)
    others = np.empty_like(inside)
    others[order] = inside[np.roll(order, 1)]
    rows = _Rows.of(first, ratings), _Rows.of(second, ratings)
    shares = _shares(ratings, *rows, inside, others)
    return InferredLinks(**{name: share_interval(share) for name, share in shares.items()})


def _is_full(table: AttackTarget) -> bool:
    """Return whether all rows, of two or more, have values for the same items."""
    n_records = table.indptr.size - 1
    return n_records > 1 and table.values.size == n_records * sorted_unique(table.indices).size


class _Rows:
    """The rows of a release, with the evidence that each item was rated."""

    def __init__(
        self, table: AttackTarget, residuals: Table | None, *, by_equality: bool = False
    ) -> None:
        self.table, self._residuals = table, residuals
        # Whether two rows agree on an item only if they have the same value for it.
        self.by_equality = by_equality or table.co_rated

    @classmethod
    def of(cls, table: AttackTarget, ratings: Ratings) -> "_Rows":
        """Fit full rows; sparse rows and nominal labels need no fit."""
        if not ratings.scale.ordered:
            return cls(table, _rare_labels(table, ratings), by_equality=True)
        if not _is_full(table):
            return cls(table, None)
        explained = find_residuals(table.candidates, ratings.scale)
        # The robust fit may cover a sample of the rows only, and does not apply to rows of one
        # user.
        if explained is None or explained.rows.size < table.candidates.n_records:
            return cls(table, _residuals(table))
        return cls(table, _explained(table, explained, ratings.support / ratings.n_users))

    def evidence(self, user: int) -> Table:
        """Return a row's signed evidence per item: 0 for none, infinite in a sparse row."""
        record = self.table.record_of[user]
        if self._residuals is not None:
            return np.asarray(self._residuals[record])
        evidence = np.zeros(self.table.n_items)
        evidence[self.table.row(record)[0]] = np.inf
        return evidence

    def values(self, user: int) -> Table:
        """Return the values of a user's row, nan where there is none, shape (n_items,)."""
        items, values = self.table.row(self.table.record_of[user])
        row = np.full(self.table.n_items, np.nan)
        row[items] = values
        return row


def _rare_labels(table: AttackTarget, ratings: Ratings) -> Table:
    """Return the evidence per item of nominal rows, shape (n_records, n_items)."""
    # A label that a user gave may occur in any row; without a rating, the label is mostly the
    # item's most common one. The rarer a label is for an item, the higher are the odds above the
    # item's popularity. The evidence is their square root.
    n_records, n_labels = table.indptr.size - 1, len(ratings.scale.labels)
    rows = np.repeat(np.arange(n_records), np.diff(table.indptr))
    pairs = table.indices * np.int64(n_labels) + np.rint(table.values).astype(np.int64) - 1
    sizes = table.candidates.sizes[rows]
    n_with_label = np.bincount(pairs, sizes, ratings.n_items * n_labels)[pairs]
    share = n_with_label / table.candidates.sizes.sum()
    popularity = np.minimum(ratings.support / ratings.n_users, 1 - 1 / (2 * ratings.n_users))
    odds = popularity / (1 - popularity)
    surely = np.zeros((n_records, ratings.n_items))
    surely[rows, table.indices] = np.sqrt(odds[table.indices] / share)
    return surely


def _explained(table: AttackTarget, residuals: Residuals, popularity: Table) -> Table:
    """Return signed root odds that each item of full rows was rated, shape (n_records, n_items)."""
    cells = residuals.cells
    score, _ = residuals.reported_with(popularity[residuals.items])
    off = np.exp(score / 2) * np.sign(cells.values - cells.fitted)
    moved = np.zeros((len(off), table.n_items))
    moved[:, residuals.items] = off
    return moved


def _residuals(table: AttackTarget) -> Table:
    """Return the residuals of a low-rank fit of full rows, shape (n_records, n_items)."""
    rows = table.values.reshape(table.indptr.size - 1, -1)
    rows = rows - np.average(rows, axis=0, weights=table.candidates.sizes)
    # With few rows, as many factors would fit the ratings as well.
    n_factors = min(_FACTORS, min(rows.shape) // 8)
    if n_factors > 0:
        left, strengths, right = randomized_svd(rows, n_factors, random_state=0)
        rows = rows - (left * strengths) @ right
    off = np.zeros((len(rows), table.n_items))
    off[:, table.row(0)[0]] = np.where(np.abs(rows) > _ROUNDING, rows, 0.0)
    return off


def _shares(
    ratings: Ratings,
    first: _Rows,
    second: _Rows,
    users: NDArray[np.int64],
    others: NDArray[np.int64],
) -> dict[str, list[float]]:
    """Return each user's share of inferred items that they rated, by source."""
    by_support = np.argsort(-ratings.support, kind="stable")
    shares: dict[str, list[float]] = {name: [] for name in InferredLinks._fields}
    for user, other in zip(users.tolist(), others.tolist(), strict=True):
        inferred = {
            "first": _strongest_items(first.evidence(user)),
            "second": _strongest_items(second.evidence(user)),
            "both": _strongest_items(_agree(first, user, second, user)),
            "control": _strongest_items(_agree(first, user, second, other)),
        }
        inferred["popularity"] = by_support[: inferred["both"].size]
        rated = ratings.row(user)[0]
        for name, items in inferred.items():
            if items.size:
                shares[name].append(float(np.isin(items, rated).mean()))
    return shares


def _agree(first: _Rows, user: int, second: _Rows, other: int) -> Table:
    """Return the evidence per item of two rows, which must agree on it."""
    one, two = first.evidence(user), second.evidence(other)
    opposite = np.isfinite(one) & np.isfinite(two) & (np.sign(one) != np.sign(two))
    if first.by_equality and second.by_equality:
        opposite |= first.values(user) != second.values(other)
    return np.where(opposite, 0.0, np.minimum(np.abs(one), np.abs(two)))


def _strongest_items(evidence: Table) -> NDArray[np.int64]:
    """Return the items with the strongest evidence, with all ties of the last."""
    strength = np.abs(evidence)
    items = np.flatnonzero(strength)
    if items.size > MOST_INFERRED:
        least = np.partition(strength[items], -MOST_INFERRED)[-MOST_INFERRED]
        items = items[strength[items] >= least]
    return items
