"""Deviations: how far what is published of a person lies from what they said themselves."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.attack import ReleasedTable
from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.evaluate.similar_users import SimilarUsers
from recveil.evaluate.split import HeldOut
from recveil.ratings import RatingScale

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
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluate.split import split_ratings
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
