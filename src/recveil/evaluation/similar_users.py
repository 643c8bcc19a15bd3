"""Deviation of published rows from users' own ratings."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.attacks import ReleasedTable
from recveil.evaluation.split import HeldOut
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

Missing = Literal["opposite", "skip"]
_N_BINS = 20


@brief
class SimilarUsers(NamedTuple):
    """The most similar published record of each user, and the rank of the user's own.

    Attributes
    ----------
    users : ndarray of int64, shape (n_found,)
        Users who are in the release and have a rating to compare, ascending.
    nearest : ndarray of int64, shape (n_found,)
        The record most similar to each; of equally similar ones the first.
    self_rank : ndarray of int64, shape (n_found,)
        1 plus the number of published users whose record is more similar than the user's own.
    n_people : int
        Users in the release.
    """

    users: NDArray[np.int64]
    nearest: NDArray[np.int64]
    self_rank: NDArray[np.int64]
    n_people: int


def find_similar_users(
    released: ReleasedTable, train: Ratings, *, missing: Missing = "opposite"
) -> SimilarUsers:
    """Compare each user's own ratings with every published record.

    Parameters
    ----------
    released : ReleasedTable
    train : Ratings
        The ratings that were released.
    missing : {"opposite", "skip"}
        Treatment of an item that the user rated and a record lacks: maximally dissimilar (distance
        1), or skipped, so that records are compared on common items alone. A record without a
        common item is at distance 1 either way. With "opposite", a user's own row in a simple
        release is the most similar one nearly by construction, since it has all items that the user
        rated.

    Raises
    ------
    RecveilError
        If `missing` is something else.

    Notes
    -----
    Source: Chang et al., sections 4.2 and 7.4. The paper's measure is a distance, the mean of ``2d
    - d²`` with d the difference as a share of the scale's range. A user is compared on the items
    that they rated. The paper does not define the distance of a missing item.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> release = PredictiveAnonymizer(k=5, homogenize="simple", seed=1).anonymize(ratings)
    >>> released = ReleasedTable.from_release(release, ratings)
    >>> for missing in ("opposite", "skip"):
    ...     found = find_similar_users(released, ratings, missing=missing)
    ...     print(found.users.size, found.n_people, f"{self_rank(found).first_share:.0%}")
    50 50 90%
    50 50 76%
    """
    if missing not in get_args(Missing):
        raise RecveilError(
            f"missing is {missing!r}; expected one of {', '.join(get_args(Missing))}",
            code="argument.value",
        )
    users = np.flatnonzero((released.record_of >= 0) & (train.activity > 0))
    by_item = released.candidates
    nearest, self_rank = _rank_records(
        users=users,
        records_of_target=released.record_of[users],
        indptr=train.indptr,
        indices=train.indices,
        values=train.scale.round(train.values),
        width=train.scale.range or 1.0,
        item_indptr=by_item.indptr,
        item_records=by_item.records,
        item_labels=by_item.levels[by_item.codes],
        sizes=by_item.sizes,
        common_alone=missing == "skip",
    )
    return SimilarUsers(users, nearest, self_rank, by_item.n_people)


@brief
class SelfRank(NamedTuple):
    """Ranks of users' own records among similar published records.

    Attributes
    ----------
    first_share : float
        Share of users whose own record is the most similar one, or tied.
    edges : ndarray of float64, shape (21,)
        Ends of the bins of ``(rank - 1) / n_people``: 0, 0.05, ..., 1.
    counts : ndarray of int64, shape (20,)
        Users in each bin.
    n_users : int
        Ranked users.
    """

    first_share: float
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    n_users: int


def self_rank(similar: SimilarUsers) -> SelfRank:
    """Count the self-ranks, as shares of all published users, in bins of 5 %.

    Notes
    -----
    Source: Chang et al., section 7.4 and Figure 5.


    Examples
    --------
    >>> one, two = np.array([0, 1]), np.array([0, 0])
    >>> found = self_rank(SimilarUsers(one, two, self_rank=np.array([1, 9]), n_people=10))
    >>> found.first_share, found.counts[[0, 16]]  # (9 - 1) / 10 = 0.8, where the 17th begins
    (0.5, array([1, 1]))
    """
    ranks = similar.self_rank
    # In whole numbers, so that no rounding moves a rank into the bin below.
    bins = (ranks - 1) * _N_BINS // max(1, similar.n_people)
    first = float(np.mean(ranks == 1)) if ranks.size else np.nan
    counts = np.bincount(bins, minlength=_N_BINS)
    return SelfRank(first, np.arange(_N_BINS + 1) / _N_BINS, counts, ranks.size)


@compiled()
def _rank_records(
    users: NDArray[Any],
    records_of_target: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    width: float,
    item_indptr: NDArray[Any],
    item_records: NDArray[Any],
    item_labels: NDArray[Any],
    sizes: NDArray[Any],
    common_alone: bool,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find the most similar record of each user, and the rank of their own.

    What is summed is (1 - d)², by which a record that carries the item is better than one that
    lacks it; the mean distance is 1 less the sum's mean, over all of the user's items or, with
    `common_alone`, over those that the record carries.
    """
    nearest, rank = np.zeros(users.size, np.int64), np.ones(users.size, np.int64)
    alike, common = np.zeros(sizes.size), np.zeros(sizes.size)
    for place in range(users.size):
        alike[:] = 0
        common[:] = 0
        for at in range(indptr[users[place]], indptr[users[place] + 1]):
            item = indices[at]
            for entry in range(item_indptr[item], item_indptr[item + 1]):
                apart = min(1.0, abs(values[at] - item_labels[entry]) / width)
                alike[item_records[entry]] += (1 - apart) ** 2
                common[item_records[entry]] += 1
        if common_alone:
            # Ten digits, so that equal means of different sums are equal.
            alike[:] = np.round(alike / np.maximum(common, 1), 10)
        best = 0
        for record in range(sizes.size):
            if alike[record] > alike[best]:
                best = record
            if alike[record] > alike[records_of_target[place]]:
                rank[place] += sizes[record]
        nearest[place] = best
    return nearest, rank


NullRule = Literal["zero", "lowest", "skip", "item_mean"]


def rmse(predicted: ArrayLike, actual: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the root of the mean squared error; nan if there is nothing to compare.

    Parameters
    ----------
    predicted, actual : array-like of float, shape (n,)
    weights : array-like of float, shape (n,), optional

    Examples
    --------
    >>> rmse([1, 2], [4, 6])  # √((9 + 16) / 2)
    3.5355339059327378
    """
    return float(np.sqrt(_mean(_differences(predicted, actual) ** 2, weights)))


def mae(predicted: ArrayLike, actual: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the mean absolute error; nan if there is nothing to compare.

    The parameters are those of `rmse`.

    Examples
    --------
    >>> mae([1, 2], [4, 6])
    3.5
    """
    return float(_mean(np.abs(_differences(predicted, actual)), weights))


class Deviation(NamedTuple):
    """Error of published values against held-out original ratings, in rating points.

    Attributes
    ----------
    rmse, mae : float
        Of all cells, with `null_rule` for those that the row lacks; nan if no cell is left. If many
        are missing, they depend on the rule more than on the values.
    null_rule : str
        Treatment of cells that the published row lacks.
    null_share : float
        Share of the cells of users in the release that the row lacks, whatever the rule. The others
        are published, filled ones included.
    n_cells : int
        Cells that `rmse` and `mae` are taken over: of users in the release, less the skipped ones.
    n_absent : int
        Cells of users who are not in the release and have no published row.
    rmse_present, mae_present : float
        Of the published values, whatever the rule; nan if there are none. Read them together with
        `null_share`: a row may be right about few cells.
    """

    rmse: float
    mae: float
    null_rule: NullRule
    null_share: float
    n_cells: int
    n_absent: int
    rmse_present: float
    mae_present: float


def target_deviation(
    released: ReleasedTable, test: HeldOut, scale: RatingScale, null_rule: NullRule = "zero"
) -> Deviation:
    """Compare held-out ratings with each user's own published row.

    Parameters
    ----------
    released : ReleasedTable
        With the private map of users to rows.
    test : HeldOut
        Cells that the release was made without.
    scale : RatingScale
        Of the ratings; its low end is the rule "lowest".
    null_rule : {"zero", "lowest", "skip", "item_mean"}
        Value of a cell that the row lacks: 0, the lowest rating, none, or the mean value of its
        item over the users in the release (of all values, if no user has the item).

    Raises
    ------
    RecveilError
        If the rule is unknown.

    Notes
    -----
    Source: Chang et al., sections 7.1 and 7.2. The paper names no rule; its 2.37 for simple
    anonymization suggests "zero", which is no rating on most scales.


    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluation.split import split_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> train, test = split_ratings(ratings, 0.2)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(train)
    >>> found = target_deviation(ReleasedTable.from_release(release, train), test, train.scale)
    >>> found.null_rule, found.n_cells == test.values.size
    ('zero', True)
    """
    check_null_rule(null_rule)
    records = released.record_of[test.users]
    return _deviation(released, records, test, scale, null_rule)


def similar_user_deviation(
    released: ReleasedTable,
    similar: SimilarUsers,
    test: HeldOut,
    scale: RatingScale,
    null_rule: NullRule = "zero",
) -> Deviation:
    """Compare held-out ratings with the published row that is most similar to each user's.

    Parameters
    ----------
    similar : SimilarUsers
        From `find_similar_users`.
    released, test, scale, null_rule
        As in `target_deviation`.


    Notes
    -----
    Source: Chang et al., section 7.4.
    """
    check_null_rule(null_rule)
    record_of = np.full(released.record_of.size, -1, np.int64)
    record_of[similar.users] = similar.nearest
    return _deviation(released, record_of[test.users], test, scale, null_rule)


def find_labels(
    released: ReleasedTable, records: NDArray[Any], items: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the label of each pair of record and item, shape (n,); nan if there is none."""
    return _look_up(
        indptr=released.indptr,
        indices=released.indices,
        values=released.values,
        records=np.asarray(records, np.int64),
        items=np.asarray(items, np.int64),
    )


def _deviation(
    released: ReleasedTable,
    records: NDArray[np.int64],
    test: HeldOut,
    scale: RatingScale,
    null_rule: NullRule,
) -> Deviation:
    present = records >= 0
    items, actual = test.items[present], test.values[present]
    labels = find_labels(released, records[present], items)
    null = np.isnan(labels)
    share = float(null.mean()) if null.size else np.nan
    there, true_there = labels[~null], actual[~null]
    if null_rule == "skip":
        labels, actual = there, true_there
    elif null_rule == "item_mean":
        labels = np.where(null, _item_means(released)[items], labels)
    else:
        labels = np.where(null, 0.0 if null_rule == "zero" else scale.low, labels)
    return Deviation(
        rmse=rmse(labels, actual),
        mae=mae(labels, actual),
        null_rule=null_rule,
        null_share=share,
        n_cells=actual.size,
        n_absent=int((~present).sum()),
        rmse_present=rmse(there, true_there),
        mae_present=mae(there, true_there),
    )


def _item_means(released: ReleasedTable) -> NDArray[np.float64]:
    means = released.item_means()
    people = np.repeat(released.candidates.sizes, np.diff(released.indptr))
    overall = np.average(released.values, weights=people) if people.size else np.nan
    return np.where(np.isnan(means), overall, means)


def check_null_rule(null_rule: str) -> None:
    """Refuse a rule that is none of `NullRule`."""
    if null_rule not in get_args(NullRule):
        raise RecveilError(
            f"null rule {null_rule!r}: expected one of {', '.join(get_args(NullRule))}",
            code="option.value",
        )


def _differences(predicted: ArrayLike, actual: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(predicted, np.float64) - np.asarray(actual, np.float64)


def _mean(values: NDArray[np.float64], weights: ArrayLike | None) -> float:
    of_each = None if weights is None else np.asarray(weights, np.float64)
    return float(np.average(values, weights=of_each)) if values.size else np.nan


@compiled()
def _look_up(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    records: NDArray[Any],
    items: NDArray[Any],
) -> NDArray[Any]:
    found = np.full(items.size, np.nan)
    for cell in range(items.size):
        start, end = indptr[records[cell]], indptr[records[cell] + 1]
        at = start + np.searchsorted(indices[start:end], items[cell])
        if at < end and indices[at] == items[cell]:
            found[cell] = values[at]
    return found
