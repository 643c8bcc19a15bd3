"""Similarity of users before and after grouping, and the effect of padding on ratings.

As in the paper, all measures are distances: 0 for identical rows, 1 for opposite ones.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.predict import Padding
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.linear_algebra import one_thread
from recveil.runtime.safe_repr import brief

# Cells of a tile of padded rows: 16 MiB, and some times that while they are compared.
_TILE_CELLS = 1 << 22
_N_BINS = 20
# The paper's thresholds of 0.5 and 1 point belong to a scale from 1 to 5.
_PAPERS_RANGE = 4
# Bars for a scale without levels.
_CONTINUOUS_BARS = 5


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
        Not used but to take the same arguments as the other measures; differences stay in rating
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
    Source: Chang et al., section 7.3, which says that differences get weights by their range, but
    not which. We take the weight 1 - d, so that it is to `weighted_squared` what its name says.

    Examples
    --------
    >>> weighted([1, 3], [5, 3], RatingScale(1, 5, 1))
    array(0.5)
    """
    return np.asarray(np.mean(_differences(first, second, scale), axis=-1))


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
    return np.asarray(1 - np.mean((1 - _differences(first, second, scale)) ** 2, axis=-1))


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
        Their own ratings stand over the predictions. Items that nobody rated do not count.
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
        If there are fewer than two users, no label for each of them, or no pairs are asked for.

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


def _differences(first: ArrayLike, second: ArrayLike, scale: RatingScale) -> NDArray[np.float64]:
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
    found = [np.empty((4, 0))]
    for tile in _tiles(pairs, 2 * ratings.n_items):
        rows = _padded_rows(ratings, padding, tile.ravel())[:, rated]
        first, second = rows[::2], rows[1::2]
        close = [
            closeness(first, second, scale, points * scale.range / _PAPERS_RANGE)
            for points in (0.5, 1.0)
        ]
        found.append(
            np.stack(
                [*close, weighted(first, second, scale), weighted_squared(first, second, scale)]
            )
        )
    return np.concatenate(found, axis=1)


def _shares(distances: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of the pairs in each bin, shape (4, 20); the last bin holds 1 as well."""
    if not distances.shape[1]:
        return np.full((len(distances), _N_BINS), np.nan)
    # A rounding error must not put what lies on a bin's lower end below it.
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
    """Return where the users' ratings stand, and in the row of which of the users each belongs."""
    lengths = ratings.activity[users]
    row_of = np.repeat(np.arange(users.size), lengths)
    before = np.cumsum(lengths) - lengths
    at = np.repeat(ratings.indptr[users] - before, lengths) + np.arange(lengths.sum())
    return at, row_of


def _padded_rows(ratings: Ratings, padding: Padding, users: NDArray[Any]) -> NDArray[np.float32]:
    """Predict the users' rows, their own ratings over the predictions, shape (n, n_items)."""
    # One thread, so that the last bit does not depend on the machine.
    with one_thread():
        rows = padding.rows(users)
    at, row_of = _ratings_of_user(ratings, users)
    rows[row_of, ratings.indices[at]] = ratings.values[at]
    return rows
