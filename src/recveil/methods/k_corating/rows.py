"""Co-rated rows: ratings, and fills until all users of a group have the same items."""

import itertools
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from recveil.methods.k_corating.fills import Learned
from recveil.methods.k_corating.gecom import union_of_items
from recveil.methods.predictive.anonymizer import value_step
from recveil.methods.predictive.diversity import bundle, missing_in_bundles
from recveil.methods.release_summary import Suppressed, no_values_within
from recveil.ratings import Ratings
from recveil.release.records import Groups, Records
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.verification.diversity import check_diversity, describe_rare_sets
from recveil.verification.equivalence_classes import Supports
from recveil.verification.value_limits import ValueLimits, count_levels

Protect = Literal["none", "mean", "shuffle"]
# Cells per block, and the minimum number of blocks, so that all threads have work.
_BLOCK_CELLS, _BLOCKS = 1 << 21, 16


@brief
class CoRatedRows(NamedTuple):
    """The inputs for the rows of any group."""

    ratings: Ratings
    fill: Learned
    groups: Groups
    # The items of each group, in compressed rows
    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    round_fills: bool
    # See `recveil.methods.KCoRater`
    protect: Protect
    # Seed of the permutations
    seed: int

    @classmethod
    def of(
        cls,
        ratings: Ratings,
        fill: Learned,
        groups: Groups,
        *,
        round_fills: bool,
        protect: Protect,
        seed: int,
    ) -> "CoRatedRows":
        """Gather the items of each group."""
        starts, items = union_of_items(ratings, groups)
        return cls(ratings, fill, groups, starts, items, round_fills, protect, seed)

    @property
    def cells(self) -> NDArray[np.int64]:
        """The number of values in the rows of each group."""
        return np.asarray(np.diff(self.starts) * self.groups.sizes)

    @property
    def pairs(self) -> NDArray[np.int64]:
        """The group of each item in `items`."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    def only(self, kept: NDArray[np.bool_]) -> "CoRatedRows":
        """Return rows with some of the items of each group."""
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return self._replace(starts=starts, items=self.items[kept])

    def count_levels(self) -> NDArray[np.int64]:
        """Count the values at each level, for each item of each group; see `count_levels`."""
        parts = []
        for first, last in self.blocks():
            block = self.rows(first, last)
            group_of = np.repeat(np.arange(first, last), self.groups.sizes[first:last])
            start = self.starts[group_of] - self.starts[first] - block.indptr[:-1]
            cells = np.repeat(start, np.diff(block.indptr)) + np.arange(block.values.size)
            n_cells = int(self.starts[last] - self.starts[first])
            parts.append(count_levels(cells, block.values, self.ratings.scale, n_cells))
        return np.concatenate(parts)

    def count_real_levels(self) -> NDArray[np.int64]:
        """Count as `count_levels`, but real ratings alone."""
        ratings, groups = self.ratings, self.groups
        group_of = np.empty(ratings.n_users, np.int64)
        group_of[groups.members] = np.repeat(np.arange(groups.sizes.size), groups.sizes)
        cells = self.pairs * ratings.n_items + self.items
        rated = group_of[ratings.user_positions()] * ratings.n_items + ratings.indices
        is_kept = np.isin(rated, cells)
        places = np.searchsorted(cells, rated[is_kept])
        return count_levels(places, ratings.values[is_kept], ratings.scale, cells.size)

    def blocks(self) -> list[tuple[int, int]]:
        """Divide the groups into half-open ranges, which depend on ratings and groups alone."""
        cells = self.cells
        size = min(_BLOCK_CELLS, int(cells.sum()) // _BLOCKS + 1)
        ends = np.searchsorted(np.cumsum(cells), np.arange(size, cells.sum(), size))
        bounds = np.unique(np.concatenate([[0], ends + 1, [cells.size]])).tolist()
        return list(itertools.pairwise(bounds))

    def rows(self, first: int, last: int) -> Records:
        """Write the rows of the members of some groups."""
        ratings, groups, scale = self.ratings, self.groups, self.ratings.scale
        users = groups.members[groups.starts[first] : groups.starts[last]]
        indptr, items, values, missing = build_rows(
            *(first, last, groups.members, groups.starts, self.starts, self.items),
            *(ratings.indptr, ratings.indices, ratings.values),
        )
        row_of = np.repeat(np.arange(users.size), np.diff(indptr))
        if scale.step is not None:
            # In 32 bits, 3.7 is 3.7000000477, which would distinguish ratings from fills.
            values = scale.round(values)
        values[missing] = self._fills(users[row_of[missing]], items[missing])
        averages = self.protect == "mean"
        if self.protect != "none":
            sizes, widths = groups.sizes[first:last], np.diff(self.starts[first : last + 1])
            rng = np.random.default_rng([self.seed, first])
            protect_labels(values, sizes, widths, averages, rng)
        if averages:
            values = scale.round(values, value_step("usual", scale))
        return Records(np.ones(users.size, np.int64), indptr, items, values + 0.0)

    def _fills(self, users: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the values of cells without a rating."""
        scale = self.ratings.scale
        fills = np.asarray(self.fill.predict(users, items), dtype=np.float64)
        if fills.shape != users.shape or not np.isfinite(fills).all():
            raise RecveilError(
                f"fill {type(self.fill).__name__}: expected a finite number for each of "
                f"{users.size:,} cells, got others, or {fills.shape} of them; choose another fill",
                code="argument.result",
            )
        return scale.round(fills) if self.round_fills else np.clip(fills, scale.low, scale.high)

    def _facts(self) -> dict[str, object]:
        return {"groups": self.groups.sizes.size, "cells": int(self.cells.sum())}


def diversify_items(rows: CoRatedRows, b: int, l: int) -> CoRatedRows:  # noqa: E741
    """Add items to groups until each set of b items of a class is in l classes.

    Classes have different items. Each of l + b or more groups of a bundle gets all items of the
    bundle but one that no member rated, a different one for each group if there are as many. So a
    set of b items is missing in b of the groups at most.
    """
    ratings, groups = rows.ratings, rows.groups
    size = l + b
    if groups.sizes.size < size:
        raise RecveilError(
            f"({b}, {l})-diversity (--b, --l) needs {size} groups with different items, but there "
            f"are {groups.sizes.size}; lower k, b or l",
            code="table.too-few-users",
        )
    shape = (groups.sizes.size, ratings.n_items)
    ones = np.ones(rows.items.size, np.int8)
    support = sparse.csr_array((ones, rows.items, rows.starts), shape=shape)
    bundles = bundle(support, size)
    added = missing_in_bundles(support, bundles).tolil()
    for number in range(int(bundles.max()) + 1):
        members = np.flatnonzero(bundles == number)
        omitted = maximum_bipartite_matching(added[members].tocsr(), perm_type="column")
        has_one = omitted >= 0
        added[members[has_one], omitted[has_one]] = 0
    items = sparse.csr_array(support + added.tocsr())
    items.eliminate_zeros()
    items.sort_indices()
    starts, indices = items.indptr.astype(np.int64), items.indices.astype(np.int32)
    supports = Supports()
    names = [indices[start:end].tobytes() for start, end in itertools.pairwise(starts)]
    supports.add(names, starts, indices)
    found = check_diversity(supports.rows(), b, l, supports.n_groups)
    if not found.holds:
        raise RecveilError(
            f"({b}, {l})-diversity (--b, --l): {describe_rare_sets(found)}, whatever items are "
            f"added; lower b or l",
            code="option.value",
        )
    return rows._replace(starts=starts, items=indices)


def merge_beyond(rows: CoRatedRows, limits: ValueLimits) -> Groups:
    """Merge each group of which no item is within the limits with the next one, or the last."""
    while True:
        kept = limits.keep(rows.count_levels(), rows.items)
        is_empty = np.bincount(rows.pairs[kept], minlength=rows.groups.sizes.size) == 0
        if not is_empty.any():
            return rows.groups
        if is_empty.size == 1:
            raise no_values_within(limits)
        is_first = ~np.concatenate([[False], is_empty[:-1]])
        is_first[-1] &= not is_empty[-1]
        starts = np.append(rows.groups.starts[:-1][is_first], rows.groups.starts[-1])
        groups = rows.groups._replace(starts=starts)
        item_starts, items = union_of_items(rows.ratings, groups)
        rows = rows._replace(groups=groups, starts=item_starts, items=items)


def suppress_beyond(
    rows: CoRatedRows, limits: ValueLimits, n_groups: int
) -> tuple[CoRatedRows, dict[str, int]]:
    """Suppress the items of groups that are outside the limits; count what it costs.

    Imputed values count as values. How many of the published items of groups (`items`) are outside
    the limits by real ratings alone (`outside`) is what an adversary sees who recognizes the fills.
    """
    limited = rows.only(limits.keep(rows.count_levels(), rows.items))
    ratings = rows.ratings
    of_items = count_levels(
        ratings.indices.astype(np.int64), ratings.values, ratings.scale, ratings.n_items
    )
    real = limited.count_real_levels()
    outside = limits.broken(real, limited.items, of_items)
    n_values = int(rows.cells.sum() - limited.cells.sum())
    n_merged = n_groups - rows.groups.sizes.size
    lost = Suppressed(n_values, ratings.n_ratings - int(real.sum()), n_merged)
    return limited, {**lost._asdict(), "items": outside.size, "outside": int(outside.sum())}


@compiled()
def build_rows(
    first: int,
    last: int,
    members: NDArray[Any],
    starts: NDArray[Any],
    item_starts: NDArray[Any],
    group_items: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    ratings: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Lay the rows of some groups out: the real ratings, and where labels are missing."""
    n_rows = starts[last] - starts[first]
    ends = np.zeros(n_rows + 1, np.int64)
    row = 0
    for group in range(first, last):
        for _ in range(starts[group], starts[group + 1]):
            ends[row + 1] = ends[row] + item_starts[group + 1] - item_starts[group]
            row += 1
    items, values = np.empty(ends[-1], np.int32), np.zeros(ends[-1])
    missing = np.ones(ends[-1], np.bool_)
    row = 0
    for group in range(first, last):
        wanted = group_items[item_starts[group] : item_starts[group + 1]]
        for user in members[starts[group] : starts[group + 1]]:
            at, place = indptr[user], ends[row]
            for item in wanted:
                while at < indptr[user + 1] and indices[at] < item:
                    at += 1  # a suppressed item
                items[place] = item
                if at < indptr[user + 1] and indices[at] == item:
                    values[place] = ratings[at]
                    missing[place] = False
                    at += 1
                place += 1
            row += 1
    return ends, items, values, missing


@compiled()
def protect_labels(
    values: NDArray[Any],
    sizes: NDArray[Any],
    widths: NDArray[Any],
    mean: bool,
    rng: np.random.Generator,
) -> None:
    """Replace the labels of each item in a group by their mean, or deal them anew."""
    start = 0
    for group in range(sizes.size):
        size, width = sizes[group], widths[group]
        rows = values[start : start + size * width].reshape(size, width)
        for item in range(width):
            if mean:
                total = 0.0
                for row in range(size):
                    total += rows[row, item]
                for row in range(size):
                    rows[row, item] = total / size
            else:
                for row in range(size - 1, 0, -1):
                    other = int(rng.random() * (row + 1))
                    rows[row, item], rows[other, item] = rows[other, item], rows[row, item]
        start += size * width
