"""Fidelity of a release to the raw data: user rows, aggregate statistics, and clusters of users."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats
from scipy.spatial.distance import jensenshannon

from recveil.attacks import AttackTarget
from recveil.evaluation.split import HeldOut, TrainingTable
from recveil.predict import Padding
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

# Cells of a tile of padded rows: 16 MiB, and some times that while they are compared.
_TILE_CELLS = 1 << 22
_N_BINS = 20
# The paper's thresholds of 0.5 and 1 point belong to a scale from 1 to 5.
_PAPERS_RANGE = 4
# Bars for a scale without levels.
_CONTINUOUS_BARS = 5


Missing = Literal["opposite", "skip"]


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
    n_users : int
        Users in the release.
    """

    users: NDArray[np.int64]
    nearest: NDArray[np.int64]
    self_rank: NDArray[np.int64]
    n_users: int


def find_similar_users(
    released: AttackTarget,
    train: Ratings,
    users: NDArray[Any] | None = None,
    *,
    missing: Missing = "opposite",
) -> SimilarUsers:
    """Compare each user's own ratings with every published record.

    Parameters
    ----------
    released : AttackTarget
    train : Ratings
        The ratings that were released.
    users : ndarray of int, optional
        Positions of the users to compare, ascending; all if not given.
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
    >>> released = AttackTarget.from_release(release, ratings)
    >>> for missing in ("opposite", "skip"):
    ...     found = find_similar_users(released, ratings, missing=missing)
    ...     print(found.users.size, found.n_users, f"{self_rank(found).first_share:.0%}")
    50 50 90%
    50 50 76%
    """
    if missing not in get_args(Missing):
        raise RecveilError(
            f"missing is {missing!r}; expected one of {', '.join(get_args(Missing))}",
            code="argument.value",
        )
    users = np.arange(train.n_users) if users is None else np.asarray(users, np.int64)
    users = users[(released.record_of[users] >= 0) & (train.activity[users] > 0)]
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
        item_values=by_item.levels[by_item.codes],
        sizes=by_item.sizes,
        common_alone=missing == "skip",
    )
    return SimilarUsers(users, nearest, self_rank, by_item.n_users)


@brief
class SelfRank(NamedTuple):
    """Ranks of users' own records among similar published records.

    Attributes
    ----------
    first_share : float
        Share of users whose own record is the most similar one, or tied.
    edges : ndarray of float64, shape (21,)
        Ends of the bins of ``(rank - 1) / n_users``: 0, 0.05, ..., 1.
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
    >>> found = self_rank(SimilarUsers(one, two, self_rank=np.array([1, 9]), n_users=10))
    >>> found.first_share, found.counts[[0, 16]]  # (9 - 1) / 10 = 0.8, where the 17th begins
    (0.5, array([1, 1]))
    """
    ranks = similar.self_rank
    # In whole numbers, so that no rounding moves a rank into the bin below.
    bins = (ranks - 1) * _N_BINS // max(1, similar.n_users)
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
    item_values: NDArray[Any],
    sizes: NDArray[Any],
    common_alone: bool,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find the most similar record of each user, and the rank of their own."""
    # What is summed is (1 - d)², by which a record that carries the item is better than one that
    # lacks it; the mean distance is 1 less the sum's mean, over all of the user's items or, with
    # `common_alone`, over those that the record carries.
    nearest, rank = np.zeros(users.size, np.int64), np.ones(users.size, np.int64)
    alike, common = np.zeros(sizes.size), np.zeros(sizes.size)
    for place in range(users.size):
        alike[:] = 0
        common[:] = 0
        for at in range(indptr[users[place]], indptr[users[place] + 1]):
            item = indices[at]
            for entry in range(item_indptr[item], item_indptr[item + 1]):
                apart = min(1.0, abs(values[at] - item_values[entry]) / width)
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
    released: AttackTarget, test: HeldOut, scale: RatingScale, null_rule: NullRule = "zero"
) -> Deviation:
    """Compare held-out ratings with each user's own published row.

    Parameters
    ----------
    released : AttackTarget
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
    >>> found = target_deviation(AttackTarget.from_release(release, train), test, train.scale)
    >>> found.null_rule, found.n_cells == test.values.size
    ('zero', True)
    """
    check_null_rule(null_rule)
    records = released.record_of[test.users]
    return _deviation(released, records, test, scale, null_rule)


def similar_user_deviation(
    released: AttackTarget,
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


def values_at(
    released: AttackTarget, records: NDArray[Any], items: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the value of each pair of record and item, shape (n,); nan if there is none."""
    return _look_up(
        indptr=released.indptr,
        indices=released.indices,
        values=released.values,
        records=np.asarray(records, np.int64),
        items=np.asarray(items, np.int64),
    )


def _deviation(
    released: AttackTarget,
    records: NDArray[np.int64],
    test: HeldOut,
    scale: RatingScale,
    null_rule: NullRule,
) -> Deviation:
    present = records >= 0
    items, actual = test.items[present], test.values[present]
    values = values_at(released, records[present], items)
    null = np.isnan(values)
    share = float(null.mean()) if null.size else np.nan
    there, true_there = values[~null], actual[~null]
    if null_rule == "skip":
        values, actual = there, true_there
    elif null_rule == "item_mean":
        values = np.where(null, _item_means(released)[items], values)
    else:
        values = np.where(null, 0.0 if null_rule == "zero" else scale.low, values)
    return Deviation(
        rmse=rmse(values, actual),
        mae=mae(values, actual),
        null_rule=null_rule,
        null_share=share,
        n_cells=actual.size,
        n_absent=int((~present).sum()),
        rmse_present=rmse(there, true_there),
        mae_present=mae(there, true_there),
    )


def _item_means(released: AttackTarget) -> NDArray[np.float64]:
    means = released.item_means()
    weights = np.repeat(released.candidates.sizes, np.diff(released.indptr))
    overall = np.average(released.values, weights=weights) if weights.size else np.nan
    return np.where(np.isnan(means), overall, means)


def check_null_rule(null_rule: str) -> None:
    """Reject a rule that is none of `NullRule`."""
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
    result = np.full(items.size, np.nan)
    for cell in range(items.size):
        start, end = indptr[records[cell]], indptr[records[cell] + 1]
        at = start + np.searchsorted(indices[start:end], items[cell])
        if at < end and indices[at] == items[cell]:
            result[cell] = values[at]
    return result


# Pairs of items with fewer common raters have too noisy a correlation.
_LEAST_COMMON = 5


class Fidelity(NamedTuple):
    """Distance between the aggregate statistics of a release and of the raw data.

    Rows are weighted by the number of their users. nan marks an undefined statistic, such as the
    rank correlation of popularity where all items are equally popular.

    Attributes
    ----------
    popularity_correlation : float
        Spearman's, of the item counts.
    popularity_divergence : float
        Jensen-Shannon divergence of the values' distribution over items, in bits, from 0 to 1.
    rated_share_error : float
        "What share of users rated this item?": mean absolute error over items, from 0 to 1.
    rating_distance : float
        Total variation of the ratings' histograms (values counted at the nearest level), 0 to 1.
    activity_distance : float
        Kolmogorov-Smirnov distance of the user counts, from 0 to 1.
    density_raw, density_release : float
        Share of the users × items cells that have a value.
    item_mean_rmse, item_mean_correlation : float
        Of the items' mean values, over the items in both tables.
    n_items_compared : int
        Number of those items.
    similarity_correlation : float
        Pearson's, of item-item similarities (Pearson's over the users with both), over sampled
        pairs of items.
    n_pairs : int
        Distinct pairs with a similarity in both tables, which the correlation is taken over.
    """

    popularity_correlation: float
    popularity_divergence: float
    rated_share_error: float
    rating_distance: float
    activity_distance: float
    density_raw: float
    density_release: float
    item_mean_rmse: float
    item_mean_correlation: float
    n_items_compared: int
    similarity_correlation: float
    n_pairs: int


def fidelity(
    raw: TrainingTable, release: TrainingTable, *, n_pairs: int = 10_000, seed: int = 0
) -> Fidelity:
    """Compare a release with the raw data.

    Parameters
    ----------
    raw, release : TrainingTable
        With the same items.
    n_pairs : int
        Pairs of items to draw: two values of one raw row each, so that a pair is drawn in
        proportion to its common raters. Duplicates, and pairs with fewer than five common raters,
        do not count.
    seed : int
        Draws the pairs, which are the same for every release of the same raw data.

    Raises
    ------
    RecveilError
        If the tables do not have the same number of items.


    Notes
    -----
    Source of the question about shares: Chang et al., section 7.4, which leaves it open.


    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> raw = TrainingTable.from_ratings(make_ratings(100, 50, 1500, seed=1))
    >>> same = fidelity(raw, raw)
    >>> same.popularity_divergence, same.rated_share_error, same.activity_distance
    (0.0, 0.0, 0.0)
    """
    if raw.n_items != release.n_items:
        raise RecveilError(
            f"{describe_count(raw.n_items, 'item')} "
            f"in the raw data, {release.n_items} in the release; "
            f"expected positions in one catalogue",
            code="argument.shape",
        )
    shares = [table.support / table.n_users for table in (raw, release)]
    both = (raw.support > 0) & (release.support > 0)
    rated = both.any() and not raw.scale.unary  # likes have no means
    means = [table.item_means()[both] for table in (raw, release)]
    apart = means[0] - means[1]
    similarity, n_similar = _similarity_correlation(raw, release, n_pairs, seed)
    return Fidelity(
        popularity_correlation=_correlation(
            stats.rankdata(raw.support), stats.rankdata(release.support)
        ),
        popularity_divergence=_divergence(raw.support, release.support),
        rated_share_error=float(np.mean(np.abs(shares[0] - shares[1]))),
        rating_distance=np.nan if raw.scale.unary else _rating_distance(raw, release),
        activity_distance=_activity_distance(raw, release),
        density_raw=float(shares[0].mean()),
        density_release=float(shares[1].mean()),
        item_mean_rmse=float(np.sqrt(np.mean(apart**2))) if rated else np.nan,
        item_mean_correlation=_correlation(*means),
        n_items_compared=int(both.sum()),
        similarity_correlation=similarity,
        n_pairs=n_similar,
    )


def item_correlations(table: TrainingTable, pairs: NDArray[Any]) -> NDArray[np.float64]:
    """Return Pearson's correlation of each pair of items over the users with both.

    Parameters
    ----------
    table : TrainingTable
    pairs : ndarray of int, shape (n, 2)

    Returns
    -------
    ndarray of float64, shape (n,)
        nan if fewer than two users have both, or if an item's values are all equal among them.
    """
    return _compare_pairs(table, pairs)[0]


def _divergence(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    # scipy gives the root of the divergence; equal distributions can come out a hair below 0.
    return float(np.nan_to_num(jensenshannon(first, second, base=2)) ** 2)


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    if first.size < 2 or np.ptp(first) < 1e-12 or np.ptp(second) < 1e-12:
        return np.nan
    return float(np.corrcoef(first, second)[0, 1])


def _rating_distance(raw: TrainingTable, release: TrainingTable) -> float:
    scale = raw.scale
    if scale.step is None:
        bounds = np.linspace(scale.low, scale.high, _CONTINUOUS_BARS + 1)[1:-1]
    else:
        bounds = (scale.levels[1:] + scale.levels[:-1]) / 2
    histograms = []
    for table in (raw, release):
        bars = np.searchsorted(bounds, table.rows.values, side="right")
        counts = np.bincount(bars, weights=table.weights, minlength=bounds.size + 1)
        histograms.append(counts / counts.sum())
    return float(np.abs(histograms[0] - histograms[1]).sum() / 2)


def _activity_distance(raw: TrainingTable, release: TrainingTable) -> float:
    longest = 1 + max(int(np.diff(table.rows.indptr).max()) for table in (raw, release))
    shares = []
    for table in (raw, release):
        lengths = np.diff(table.rows.indptr)
        user_counts = np.bincount(lengths, weights=table.sizes, minlength=longest)
        user_counts[0] += table.n_users - table.sizes.sum()  # users without values
        shares.append(np.cumsum(user_counts) / table.n_users)
    return float(np.abs(shares[0] - shares[1]).max())


def _similarity_correlation(
    raw: TrainingTable, release: TrainingTable, n_pairs: int, seed: int
) -> tuple[float, int]:
    pairs = _draw_pairs(raw, n_pairs, np.random.default_rng(seed))
    of_raw, common = _compare_pairs(raw, pairs)
    of_release, _ = _compare_pairs(release, pairs)
    kept = (common >= _LEAST_COMMON) & ~np.isnan(of_raw) & ~np.isnan(of_release)
    return _correlation(of_raw[kept], of_release[kept]), int(kept.sum())


def _draw_pairs(table: TrainingTable, n_pairs: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw values weighted by users, and another of the same row; return distinct pairs."""
    lengths = np.diff(table.rows.indptr)
    row_of = table.rows.row_of()
    usable = table.weights * (lengths[row_of] > 1)
    if not usable.any():
        return np.empty((0, 2), np.int64)
    first = rng.choice(row_of.size, size=n_pairs, p=usable / usable.sum())
    row = row_of[first]
    start, length = table.rows.indptr[row], lengths[row]
    second = start + (first - start + rng.integers(1, length)) % length
    pairs = table.rows.indices[np.stack([first, second], axis=1)].astype(np.int64)
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _compare_pairs(
    table: TrainingTable, pairs: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = table.rows
    by_item: sparse.csc_array = rows.matrix(table.n_items).tocsc()
    return _correlate(
        indptr=by_item.indptr,
        rows=by_item.indices,
        values=by_item.data,
        sizes=table.sizes.astype(np.float64),
        means=table.item_means(),
        pairs=np.asarray(pairs, np.int64),
    )


@compiled()
def _correlate(
    indptr: NDArray[Any],
    rows: NDArray[Any],
    values: NDArray[Any],
    sizes: NDArray[Any],
    means: NDArray[Any],
    pairs: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Merge two items' lists of rows; return correlations and numbers of common users."""
    correlations, user_counts = np.full(len(pairs), np.nan), np.zeros(len(pairs))
    for place in range(len(pairs)):
        one, two = pairs[place]
        at, to = indptr[one], indptr[two]
        n = x = y = xx = yy = xy = 0.0
        while at < indptr[one + 1] and to < indptr[two + 1]:
            if rows[at] < rows[to]:
                at += 1
            elif rows[at] > rows[to]:
                to += 1
            else:
                # Taken from the means, so that squares do not cancel.
                size, a, b = sizes[rows[at]], values[at] - means[one], values[to] - means[two]
                n, x, y = n + size, x + size * a, y + size * b
                xx, yy, xy = xx + size * a * a, yy + size * b * b, xy + size * a * b
                at += 1
                to += 1
        user_counts[place] = n
        if n > 1:
            spread, other = xx - x * x / n, yy - y * y / n
            if spread > 1e-9 * n and other > 1e-9 * n:
                correlations[place] = (xy - x * y / n) / np.sqrt(spread * other)
    return correlations, user_counts


def closeness(
    first: ArrayLike,
    second: ArrayLike,
    scale: RatingScale,
    threshold: float,
) -> NDArray[np.float64]:
    """Return the share of items on which two rows are more than a threshold apart (closeness-a).

    Parameters
    ----------
    first, second : array-like of float, shape (..., n_items)
        Full rows of ratings.
    scale : RatingScale
        Unused; all measures have the same parameters; differences stay in rating
        points.
    threshold : float
        The paper's a, in rating points.

    Returns
    -------
    ndarray of float64, shape (...)

    Notes
    -----
    Source: Chang et al., section 7.3. Counting the items that are close gives a similarity; the
    figure shows grouping move the values to the left, hence this is one minus that.

    Examples
    --------
    >>> closeness([1, 3, 5], [1.5, 3, 1], RatingScale(1, 5, 1), threshold=0.5)  # 5 and 1 are not
    array(0.33333333)
    """
    del scale  # points are points on any scale
    return np.asarray(np.mean(_apart(first, second) > threshold, axis=-1))


def weighted(first: ArrayLike, second: ArrayLike, scale: RatingScale) -> NDArray[np.float64]:
    """Return the mean difference of two rows, as a share of the scale's range.

    The parameters and the result are those of `closeness`, without a threshold.

    Notes
    -----
    Source: Chang et al., section 7.3, which states that differences get weights by their range, but
    not which. We take the weight 1 - d, so that it is to `weighted_squared` what its name promises.

    Examples
    --------
    >>> weighted([1, 3], [5, 3], RatingScale(1, 5, 1))
    array(0.5)
    """
    return np.asarray(np.mean(_range_shares(first, second, scale), axis=-1))


def weighted_squared(
    first: ArrayLike, second: ArrayLike, scale: RatingScale
) -> NDArray[np.float64]:
    """Return one minus the mean of (1 - d)², d being the difference as a share of the range.

    The parameters and the result are those of `closeness`, without a threshold.

    Notes
    -----
    Source: Chang et al., section 4.2; the measure that they group by. It is concave in d: a small
    difference counts more than a tenth of one ten times as large.

    Examples
    --------
    >>> weighted_squared([1, 3], [3, 3], RatingScale(1, 5, 1))  # 1 - (0.5² + 1²) / 2
    array(0.375)
    """
    return np.asarray(1 - np.mean((1 - _range_shares(first, second, scale)) ** 2, axis=-1))


@brief
class SimilarityDistributions(NamedTuple):
    """How the four measures are distributed over pairs of users.

    Attributes
    ----------
    measures : tuple of str
        Names, in the order of the rows below.
    edges : ndarray of float64, shape (21,)
        Ends of the bins: 0, 0.05, ..., 1.
    before, after : ndarray of float64, shape (4, 20)
        Share of the sampled pairs in each bin: of any two users, and of two of one group. Each row
        sums to 1. `after` is nan if no group has two users.
    mean_before, mean_after : ndarray of float64, shape (4,)
    n_pairs : int
        How many pairs were sampled for each.
    """

    measures: tuple[str, ...]
    edges: NDArray[np.float64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    mean_before: NDArray[np.float64]
    mean_after: NDArray[np.float64]
    n_pairs: int


def similarity_distributions(
    ratings: Ratings,
    padding: Padding,
    labels: ArrayLike,
    *,
    n_pairs: int = 10_000,
    seed: int = 0,
) -> SimilarityDistributions:
    """Compare padded rows of random pairs of users with those of pairs within a group.

    Parameters
    ----------
    ratings : Ratings
        Users' own ratings replace the predictions. Items that nobody rated do not count.
    padding : Padding
    labels : array-like of int, shape (n_users,)
        The group of each user.
    n_pairs : int
        Pairs to draw, with replacement, for each of the two distributions.
    seed : int
        Draws them. A pair within a group is a random user and a random other member.

    Returns
    -------
    SimilarityDistributions
        closeness-0.5, closeness-1.0 (on a scale whose range is not 4 points, in proportion to it),
        weighted and weighted-squared.

    Raises
    ------
    RecveilError
        If there are fewer than two users, no label for each of them, or `n_pairs` is 0.

    Notes
    -----
    Source: Chang et al., section 7.3 and Figure 4. The figure takes all pairs of 5000 users, and
    of one single group; we sample all groups. Memory does not grow with the number of pairs but
    for their results.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.predict import ItemMean
    >>> ratings = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1)
    >>> found = similarity_distributions(
    ...     ratings, ItemMean().fit(ratings).padding(), np.arange(40) // 5, n_pairs=100
    ... )
    >>> found.measures
    ('closeness-0.5', 'closeness-1.0', 'weighted', 'weighted-squared')
    >>> found.before.sum(axis=1)
    array([1., 1., 1., 1.])
    """
    groups = np.asarray(labels)
    if groups.shape != (ratings.n_users,) or ratings.n_users < 2:
        raise RecveilError(
            f"labels: expected the group of each of "
            f"{describe_count(ratings.n_users, 'user')}, two at least; got shape {groups.shape}",
            code="argument.shape",
        )
    if n_pairs < 1:
        raise RecveilError(f"n_pairs is {n_pairs}; expected at least 1", code="argument.value")
    rng = np.random.default_rng(seed)
    edges = np.arange(_N_BINS + 1) / _N_BINS
    before = _measure(ratings, padding, _any_pairs(ratings.n_users, n_pairs, rng))
    after = _measure(ratings, padding, _pairs_in_groups(groups, n_pairs, rng))
    names = ("closeness-0.5", "closeness-1.0", "weighted", "weighted-squared")
    return SimilarityDistributions(
        measures=names,
        edges=edges,
        before=_shares(before),
        after=_shares(after),
        mean_before=_means(before),
        mean_after=_means(after),
        n_pairs=n_pairs,
    )


@brief
class RatingHistogram(NamedTuple):
    """How many cells of the table hold which rating, before and after padding.

    Attributes
    ----------
    ratings : ndarray of float64, shape (n_bars,)
        The levels of the scale; for a continuous one the middles of five equal parts.
    original, padded : ndarray of float64, shape (n_bars,)
        Share of all cells (users × items) whose nearest level this is.
    null_original, null_padded : float
        Share of the cells that hold nothing. Padding leaves the items that nobody rated.
    n_users : int
        How many users' rows were counted.
    """

    ratings: NDArray[np.float64]
    original: NDArray[np.float64]
    padded: NDArray[np.float64]
    null_original: float
    null_padded: float
    n_users: int


def rating_histogram(
    ratings: Ratings, padding: Padding, *, n_users: int | None = None, seed: int = 0
) -> RatingHistogram:
    """Count the ratings of a table before and after padding.

    Parameters
    ----------
    ratings : Ratings
    padding : Padding
    n_users : int, optional
        Size of a random sample of users; all of them if not given or more than there are.
    seed : int
        Draws the sample.

    Raises
    ------
    RecveilError
        If `n_users` is below 1, or there are no users or items.

    Notes
    -----
    Source: Chang et al., Table 2. Tiles of padded rows are counted and forgotten: memory does not
    grow with the number of users.

    Examples
    --------
    >>> from recveil.predict import ItemMean
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> histogram = rating_histogram(ratings, ItemMean().fit(ratings).padding())
    >>> histogram.ratings, histogram.padded  # user 2 is padded with 5 for item a
    (array([1., 2., 3., 4., 5.]), array([0.25, 0.25, 0.  , 0.  , 0.5 ]))
    """
    wanted = ratings.n_users if n_users is None else min(n_users, ratings.n_users)
    if wanted < 1 or not ratings.n_items:
        raise RecveilError(
            f"a histogram of {describe_count(wanted, 'user')} "
            f"and {describe_count(ratings.n_items, 'item')} has no cells; "
            f"expected at least one of each",
            code="argument.shape",
        )
    users = np.arange(ratings.n_users)
    if wanted < users.size:
        rng = np.random.default_rng(seed)
        users = np.sort(rng.choice(users, wanted, replace=False))
    levels, bounds = _bars(ratings.scale)
    rated = ratings.support > 0
    own, padded = np.zeros(levels.size, np.int64), np.zeros(levels.size, np.int64)
    for tile in _tiles(users, ratings.n_items):
        at, _ = _ratings_of_user(ratings, tile)
        own += _count(ratings.values[at], bounds)
        padded += _count(_padded_rows(ratings, padding, tile)[:, rated], bounds)
    cells = users.size * ratings.n_items
    return RatingHistogram(
        ratings=levels,
        original=own / cells,
        padded=padded / cells,
        null_original=1 - int(own.sum()) / cells,
        null_padded=1 - int(padded.sum()) / cells,
        n_users=users.size,
    )


def _apart(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    return np.abs(np.asarray(first, np.float64) - np.asarray(second, np.float64))


def _range_shares(first: ArrayLike, second: ArrayLike, scale: RatingScale) -> NDArray[np.float64]:
    """Return differences as shares of the range; all 0 where a scale has one rating only."""
    return _apart(first, second) / (scale.range or 1.0)


def _any_pairs(n_users: int, n_pairs: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw pairs of different users, shape (n_pairs, 2)."""
    first = rng.integers(n_users, size=n_pairs)
    second = rng.integers(n_users - 1, size=n_pairs)
    return np.stack([first, second + (second >= first)], axis=1)


def _pairs_in_groups(
    labels: NDArray[Any], n_pairs: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw users who are not alone, and another member for each, shape (n_pairs or 0, 2)."""
    _, groups, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    by_group = np.argsort(groups, kind="stable")
    starts = np.cumsum(sizes) - sizes
    # Places in `by_group` of those who are not alone.
    places = np.flatnonzero(sizes[groups[by_group]] > 1)
    if not places.size:
        return np.empty((0, 2), np.int64)
    first = places[rng.integers(places.size, size=n_pairs)]
    group = groups[by_group[first]]
    steps = 1 + rng.integers(sizes[group] - 1)
    second = starts[group] + (first - starts[group] + steps) % sizes[group]
    return by_group[np.stack([first, second], axis=1)]


def _measure(ratings: Ratings, padding: Padding, pairs: NDArray[Any]) -> NDArray[np.float64]:
    """Return the four measures of each pair, shape (4, n_pairs)."""
    scale, rated = ratings.scale, ratings.support > 0
    distances = [np.empty((4, 0))]
    for tile in _tiles(pairs, 2 * ratings.n_items):
        rows = _padded_rows(ratings, padding, tile.ravel())[:, rated]
        first, second = rows[::2], rows[1::2]
        close = [
            closeness(first, second, scale, points * scale.range / _PAPERS_RANGE)
            for points in (0.5, 1.0)
        ]
        distances.append(
            np.stack(
                [*close, weighted(first, second, scale), weighted_squared(first, second, scale)]
            )
        )
    return np.concatenate(distances, axis=1)


def _shares(distances: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of the pairs in each bin, shape (4, 20); the last bin holds 1 as well."""
    if not distances.shape[1]:
        return np.full((len(distances), _N_BINS), np.nan)
    # A rounding error must not move a value on a bin's lower end below it.
    bins = np.clip(np.floor(distances * _N_BINS + 1e-9).astype(int), 0, _N_BINS - 1)
    counts = [np.bincount(row, minlength=_N_BINS) for row in bins]
    return np.array(counts) / distances.shape[1]


def _means(distances: NDArray[Any]) -> NDArray[np.float64]:
    if not distances.shape[1]:
        return np.full(len(distances), np.nan)
    return np.asarray(distances.mean(axis=1))


def _bars(scale: RatingScale) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bars' ratings, and the bounds between neighbouring ones."""
    if scale.step is not None:
        levels = scale.levels
        return levels, (levels[1:] + levels[:-1]) / 2
    bounds = np.linspace(scale.low, scale.high, _CONTINUOUS_BARS + 1)
    return (bounds[1:] + bounds[:-1]) / 2, bounds[1:-1]


def _count(values: NDArray[Any], bounds: NDArray[Any]) -> NDArray[np.int64]:
    """Count the values between the bounds; one on a bound belongs above it."""
    bars = np.searchsorted(bounds, values.ravel().astype(np.float64), side="right")
    return np.bincount(bars, minlength=bounds.size + 1)


def _tiles(things: NDArray[Any], cells_each: int) -> Iterator[NDArray[Any]]:
    step = max(1, _TILE_CELLS // max(1, cells_each))
    for start in range(0, len(things), step):
        yield things[start : start + step]


def _ratings_of_user(
    ratings: Ratings, users: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the users' ratings, and the row of each."""
    lengths = ratings.activity[users]
    row_of = np.repeat(np.arange(users.size), lengths)
    before = np.cumsum(lengths) - lengths
    at = np.repeat(ratings.indptr[users] - before, lengths) + np.arange(lengths.sum())
    return at, row_of


def _padded_rows(ratings: Ratings, padding: Padding, users: NDArray[Any]) -> NDArray[np.float32]:
    """Predict the users' rows, their own ratings in place of predictions, shape (n, n_items)."""
    # One thread, so that the last bit does not depend on the machine.
    with one_thread():
        rows = padding.rows(users)
    at, row_of = _ratings_of_user(ratings, users)
    rows[row_of, ratings.indices[at]] = ratings.values[at]
    return rows
