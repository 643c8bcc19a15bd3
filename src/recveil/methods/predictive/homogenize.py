"""Homogenizing: give all members of a group one row of labels, computed once, block by block."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from recveil.predict import Padded
from recveil.ratings import Ratings
from recveil.release.records import Groups, Records
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread, pool
from recveil.verification.value_limits import ValueLimits, count_levels

# Cells of a block of padded rows, and ratings of a simple one: small enough to forget.
_BLOCK_CELLS = 1 << 23
_BLOCK_RATINGS = 1 << 22
# Cells of a tile, some items of a block's users: it stays in the cache between product and sum.
_TILE_CELLS = 1 << 19


def homogenize_simple(ratings: Ratings, groups: Groups) -> Iterator[Records]:
    """Label each item that a member rated with the mean rating of the members who rated it.

    The label of an item that one member alone rated is that member's rating, exactly.

    Notes
    -----
    Source: Chang et al., section 4.3.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> (block,) = homogenize_simple(ratings, Groups.from_labels([0, 0]))
    >>> block.sizes, block.indices, block.values
    (array([2]), array([0, 1], dtype=int32), array([5. , 1.5]))
    """
    per_group = np.add.reduceat(ratings.activity[groups.members], groups.starts[:-1])
    for first, last in _blocks(per_group, _BLOCK_RATINGS):
        indptr, indices, values = _average_raters(
            groups.members,
            groups.starts[first : last + 1],
            ratings.indptr,
            ratings.indices,
            ratings.values,
            ratings.n_items,
        )
        yield Records(groups.sizes[first:last], indptr, indices, values)


def keep_within(ratings: Ratings, groups: Groups, limits: ValueLimits) -> NDArray[np.bool_]:
    """Return which values of `homogenize_simple` have ratings behind them within the limits.

    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> keep_within(ratings, Groups.from_labels([0, 0]), ValueLimits(2, None))
    array([False,  True])
    """
    group_of = np.empty(ratings.n_users, np.int64)
    group_of[groups.members] = np.repeat(np.arange(groups.sizes.size), groups.sizes)
    cell_of = group_of[ratings.user_positions()] * ratings.n_items + ratings.indices
    cells, place = np.unique(cell_of, return_inverse=True)
    counts = count_levels(place, ratings.values, ratings.scale, cells.size)
    items = ratings.indices.astype(np.int64)
    of_items = count_levels(items, ratings.values, ratings.scale, ratings.n_items)
    return limits.keep(counts, cells % ratings.n_items, of_items)


def homogenize_padded(
    ratings: Ratings,
    padding: Padded,
    groups: Groups,
    *,
    predicted_as: NDArray[np.int32] | None = None,
    rated: NDArray[np.int32] | None = None,
) -> Iterator[Records]:
    """Publish the mean of the members' padded rows for every rated item.

    A padded row has the user's ratings, and clipped predictions elsewhere. Items without any rating
    get no value, since a prediction for them would have no basis.

    Parameters
    ----------
    ratings : Ratings
    padding : Padded
    groups : Groups
    predicted_as : ndarray of int32, shape (n_items,), optional
        If given, predictions alone are averaged, also for rated cells: for each item, the
        predictions for the item at its position here.
    rated : ndarray of int32, optional
        The items that get values, if these are only some of the users; by default the items that
        these users rated.

    Notes
    -----
    Source: Chang et al., section 5.2. The padded matrix is never built: a tile of users at a time
    is predicted, overwritten and added up. Sums are taken in float64 in the order of the members.
    There are as many blocks at a time as numba may use threads; a product runs on one thread, so
    the values do not depend on the number of cores.

    Examples
    --------
    >>> from recveil.predict import ItemMean
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> padding = ItemMean().fit(ratings).padding()
    >>> (block,) = homogenize_padded(ratings, padding, Groups.from_labels([0, 0]))
    >>> block.values  # user 2 is padded with 5 for item a
    array([5. , 1.5])
    """
    if rated is None:
        rated = np.flatnonzero(ratings.support).astype(np.int32)
    labelled_as = rated if predicted_as is None else predicted_as[rated]
    items, column_of = np.unique(labelled_as, return_inverse=True)
    row_ends = ratings.indptr[1:] if predicted_as is None else ratings.indptr[:-1]
    n_threads = get_num_threads()
    items_of: dict[int, NDArray[np.int32]] = {}  # blocks of as many groups share their items

    def average(block: tuple[int, int]) -> Records:
        labels = _average_members(ratings, padding, groups, items, row_ends, *block)
        if items.size < rated.size:
            labels = labels[:, column_of]
        n_groups = len(labels)
        indptr = np.arange(n_groups + 1, dtype=np.int64) * rated.size
        if n_groups not in items_of:
            items_of[n_groups] = np.tile(rated, n_groups)
        return Records(groups.sizes[slice(*block)], indptr, items_of[n_groups], labels.ravel())

    blocks = _blocks(groups.sizes, max(1, _BLOCK_CELLS // ratings.n_items))
    with pool(n_threads) as workers:
        while batch := list(itertools.islice(blocks, n_threads)):
            with one_thread():
                averaged = list(workers.map(average, batch))
            yield from averaged


@brief
class Overwrites(NamedTuple):
    """What the members of some groups rated themselves, and how far a tile has come with it."""

    # Where each member's ratings go on; moved beyond each tile
    following: NDArray[np.int64]
    # Where they end
    end: NDArray[np.int64]
    # As in `Ratings`
    indices: NDArray[np.int32]
    values: NDArray[np.float32]


def _average_members(
    ratings: Ratings,
    padding: Padded,
    groups: Groups,
    items: NDArray[np.int32],
    row_ends: NDArray[np.int64],
    first: int,
    last: int,
) -> NDArray[np.float64]:
    """Average the members' padded rows; ratings before `row_ends` replace predictions."""
    labels = np.empty((last - first, items.size))
    starts = groups.starts[first : last + 1]
    members = groups.members[starts[0] : starts[-1]]
    starts = starts - starts[0]
    column_of = np.zeros(ratings.n_items, dtype=np.int32)
    column_of[items] = np.arange(items.size)
    overwrites = Overwrites(
        ratings.indptr[members], row_ends[members], ratings.indices, ratings.values
    )
    ends = np.float32(padding.scale.low), np.float32(padding.scale.high)
    taken = padding.take(members)
    width = max(1, _TILE_CELLS // members.size)
    for start in range(0, items.size, width):
        tile = items[start : start + width]
        products = padding.tile(taken, tile)
        _pad(products, padding.offset(tile), ends, overwrites, column_of, start)
        _average_rows(products, starts, labels, start)
    return labels


def count_items(ratings: Ratings, groups: Groups) -> NDArray[np.int64]:
    """Count the items that a user of each group rated, shape (n_groups,).

    >>> ratings = Ratings.from_columns([1, 1, 2, 3], ["a", "b", "b", "b"], [5, 1, 2, 4])
    >>> count_items(ratings, Groups.from_labels([0, 0, 1]))
    array([2, 1])
    """
    return np.asarray(
        _count_items(
            groups.members, groups.starts, ratings.indptr, ratings.indices, ratings.n_items
        )
    )


def _blocks(costs: NDArray[Any], budget: int) -> Iterator[tuple[int, int]]:
    """Cut the groups into runs that cost at most the budget, or of one group that costs more."""
    first, spent = 0, 0
    for group, cost in enumerate(costs.tolist()):
        if group > first and spent + cost > budget:
            yield first, group
            first, spent = group, 0
        spent += cost
    yield first, len(costs)


@compiled()
def _average_raters(
    members: NDArray[Any],
    starts: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    n_items: int,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Average each item over the raters of each group; a sparse row a group, items ascending."""
    most = 0
    for user in members[starts[0] : starts[-1]]:
        most += indptr[user + 1] - indptr[user]
    found, means = np.empty(most, np.int32), np.empty(most, np.float64)
    ends = np.zeros(starts.size, np.int64)
    sums, raters = np.zeros(n_items), np.zeros(n_items, np.int64)
    place = 0
    for group in range(starts.size - 1):
        begin = place
        for user in members[starts[group] : starts[group + 1]]:
            for at in range(indptr[user], indptr[user + 1]):
                item = indices[at]
                if raters[item] == 0:
                    found[place] = item
                    place += 1
                sums[item] += values[at]
                raters[item] += 1
        found[begin:place].sort()
        for at in range(begin, place):
            item = found[at]
            means[at] = sums[item] / raters[item]
            sums[item], raters[item] = 0.0, 0
        ends[group + 1] = place
    return ends, found[:place].copy(), means[:place].copy()


@compiled()
def _count_items(
    members: NDArray[Any],
    starts: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    n_items: int,
) -> NDArray[Any]:
    """Count the different items that the members of each group rated."""
    counts = np.zeros(starts.size - 1, np.int64)
    last_group = np.full(n_items, -1, np.int64)
    for group in range(starts.size - 1):
        for user in members[starts[group] : starts[group + 1]]:
            for at in range(indptr[user], indptr[user + 1]):
                if last_group[indices[at]] != group:
                    last_group[indices[at]] = group
                    counts[group] += 1
    return counts


@compiled()
def _pad(
    rows: NDArray[Any],
    offset: NDArray[Any],
    ends: tuple[np.float32, np.float32],
    overwrites: Overwrites,
    column_of: NDArray[Any],
    start: int,
) -> None:
    """Make products of factors padded rows, in place; the tile holds the columns from `start` on.

    A prediction is clipped to the scale's ends, and gives way to the member's own rating.
    """
    low, high = ends
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            label = rows[row, column] + offset[column]
            label = label if label > low else low
            rows[row, column] = label if label < high else high
        at = overwrites.following[row]
        while (
            at < overwrites.end[row] and column_of[overwrites.indices[at]] < start + rows.shape[1]
        ):
            rows[row, column_of[overwrites.indices[at]] - start] = overwrites.values[at]
            at += 1
        overwrites.following[row] = at


@compiled()
def _average_rows(
    rows: NDArray[Any], group_starts: NDArray[Any], means: NDArray[Any], start: int
) -> None:
    """Write the mean row of each group, summed in row order, into the columns from `start` on."""
    for group in range(means.shape[0]):
        first, last = group_starts[group], group_starts[group + 1]
        mean = means[group, start : start + rows.shape[1]]
        for column in range(mean.size):
            mean[column] = rows[first, column]
        for row in range(first + 1, last):
            for column in range(mean.size):
                mean[column] += rows[row, column]
        for column in range(mean.size):
            mean[column] /= last - first
