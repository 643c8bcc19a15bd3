"""Deviations: how far what is published of a person lies from what they said themselves."""

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
    """Who in the release is most like each person, and where they themselves come.

    Attributes
    ----------
    users : ndarray of int64, shape (n_found,)
        People who are in the release and have a rating to be compared by, ascending.
    nearest : ndarray of int64, shape (n_found,)
        The record most similar to each; of equally similar ones the first.
    self_rank : ndarray of int64, shape (n_found,)
        1 and the number of published people whose record is more similar to them than their own.
    n_people : int
        People in the release.
    """

    users: NDArray[np.int64]
    nearest: NDArray[np.int64]
    self_rank: NDArray[np.int64]
    n_people: int


def find_similar_users(
    released: ReleasedTable, train: Ratings, *, missing: Missing = "opposite"
) -> SimilarUsers:
    """Compare each person's own ratings with every published record.

    Parameters
    ----------
    released : ReleasedTable
    train : Ratings
        What the release was made from.
    missing : {"opposite", "skip"}
        What an item counts as that the person rated and a record lacks: as opposite as can be
        (distance 1), or nothing, so that records are compared on common items alone. A record
        without a common item is at distance 1 either way. With "opposite", a person's own row in a
        simple release is the most similar one nearly by construction: it carries all that they
        rated.

    Raises
    ------
    RecveilError
        If `missing` is something else.

    Notes
    -----
    Source: Chang et al., sections 4.2 and 7.4. The paper's measure is a distance, the mean of
    ``2d - d²`` with d the difference as a share of the scale's range. A person is compared on the
    items that they rated, the only ones of which they have something to say. The paper does not say
    what a missing item counts as.

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
    """How far down the list of similar published people each person's own record comes.

    Attributes
    ----------
    first_share : float
        Share of people whose own record is the most similar one, or as similar as it.
    edges : ndarray of float64, shape (21,)
        Ends of the bins of ``(rank - 1) / n_people``: 0, 0.05, ..., 1.
    counts : ndarray of int64, shape (20,)
        People in each bin.
    n_users : int
        People who were ranked.
    """

    first_share: float
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    n_users: int


def self_rank(similar: SimilarUsers) -> SelfRank:
    """Count the self-ranks, as shares of all published people, in bins of 5 %.

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
    """How far published labels lie from held-out original ratings, in rating points.

    Attributes
    ----------
    rmse, mae : float
        Of all cells, those that the row lacks counted by `null_rule`; nan if no cell is left.
        Where many are lacking, this tells of the rule and not of the labels.
    null_rule : str
        What was done with cells that the published row lacks.
    null_share : float
        Share of the cells of people in the release that the row lacks, whatever the rule. The
        others are published, filled ones included.
    n_cells : int
        Cells that `rmse` and `mae` are taken over: of people in the release, less the skipped ones.
    n_absent : int
        Cells of people who are not in the release, and have no published row to look at.
    rmse_present, mae_present : float
        Of the labels that are there, whatever the rule; nan if there are none. To be read beside
        `null_share`: a row may be right in the little that it says.
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
    """Compare held-out ratings with each person's own published row.

    Parameters
    ----------
    released : ReleasedTable
        It knows who is where, which only the owner does.
    test : HeldOut
        Cells that the release was made without.
    scale : RatingScale
        Of the ratings; its low end is the rule "lowest".
    null_rule : {"zero", "lowest", "skip", "item_mean"}
        What a cell counts as that the row lacks: 0, the lowest rating, nothing, or the mean label
        of its item over the people in the release (of all labels, if nobody carries the item).

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
    """Compare held-out ratings with the published row that is most similar to each person's.

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
