"""Fidelity of aggregate statistics of a release."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from scipy.spatial.distance import jensenshannon

from recveil.evaluation.split import TrainingTable
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count

# Pairs of items with fewer common raters have too noisy a correlation.
_LEAST_COMMON = 5
# Bars for a scale without levels.
_CONTINUOUS_BARS = 5


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
    shares = [table.support / table.n_people for table in (raw, release)]
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
        people = np.bincount(lengths, weights=table.sizes, minlength=longest)
        people[0] += table.n_people - table.sizes.sum()  # users without values
        shares.append(np.cumsum(people) / table.n_people)
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
    found, people = np.full(len(pairs), np.nan), np.zeros(len(pairs))
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
        people[place] = n
        if n > 1:
            spread, other = xx - x * x / n, yy - y * y / n
            if spread > 1e-9 * n and other > 1e-9 * n:
                found[place] = (xy - x * y / n) / np.sqrt(spread * other)
    return found, people
