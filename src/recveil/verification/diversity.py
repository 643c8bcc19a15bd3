"""(b, l)-diversity of published groups."""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.compiled import compiled, count_bits
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief


@brief
class ItemRows(NamedTuple):
    """The items of each row, in compressed form and without a dependency on SciPy."""

    # Row r holds ``indices[indptr[r] : indptr[r + 1]]``
    indptr: NDArray[np.int64]
    # Items, ascending in each row, without duplicates
    indices: NDArray[np.int64]
    n_items: int

    @classmethod
    def of(cls, support: Any) -> Self:
        """Convert a matrix to rows, in which a stored zero is an entry; return rows unchanged."""
        if isinstance(support, cls):
            return support
        if hasattr(support, "tocoo"):
            entries = support.tocoo()
            rows, items, shape = entries.row, entries.col, support.shape
        else:
            table = np.atleast_2d(np.asarray(support))
            (rows, items), shape = np.nonzero(table), table.shape
        n_items = int(shape[1])
        cells = sorted_unique(rows.astype(np.int64) * n_items + items)
        return cls.of_cells(cells // max(n_items, 1), cells % max(n_items, 1), *map(int, shape))

    @classmethod
    def of_cells(
        cls, rows: NDArray[np.int64], items: NDArray[np.int64], n_rows: int, n_items: int
    ) -> Self:
        """Build rows from sorted cells without duplicates."""
        return cls(np.searchsorted(rows, np.arange(n_rows + 1)), items, n_items)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return the number of items per row."""
        return np.diff(self.indptr)

    @property
    def row_of(self) -> NDArray[np.int64]:
        """Return the row of each entry."""
        return np.repeat(np.arange(self.indptr.size - 1), self.lengths)

    def take(self, which: NDArray[Any]) -> Self:
        """Return the selected rows in the given order."""
        lengths = self.lengths[which]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.indptr[which] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return self._replace(indptr=indptr, indices=self.indices[places])

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return the rows with the selected entries only."""
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return self._replace(indptr=indptr, indices=self.indices[kept])

    def renamed(self, place: NDArray[Any], n_items: int) -> Self:
        """Return the rows with each item replaced by ``place[item]``, which must be one-to-one."""
        cells = np.sort(self.row_of * max(n_items, 1) + place[self.indices])
        return self._replace(indices=cells % max(n_items, 1), n_items=n_items)

    def columns(self) -> Self:
        """Return the rows that hold each item, in ascending order."""
        order = np.argsort(self.indices, kind="stable")
        n_rows = self.indptr.size - 1
        return self.of_cells(self.indices[order], self.row_of[order], self.n_items, n_rows)


# Sets of three and more are counted one by one. This many additions, or words of 64 groups, take
# a few minutes.
MOST_STEPS = 10**11
# What it costs, in such steps, to select the rows that hold some items of a larger set.
_STEPS_PER_SELECTION = 10**5

_SETS, _BELOW, _SMALLEST, _FIRST, _SECOND = range(5)


class Diversity(NamedTuple):
    """The (b, l)-diversity of published groups."""

    # Items per set, and groups in which each set must occur
    b: int
    l: int  # noqa: E741
    # Whether every set that occurs at all occurs in at least l groups. True if there are no sets.
    holds: bool
    # The fewest groups in which a set occurs; None if there are no sets
    smallest: int | None
    # Number of sets of b items that occur in a group
    sets: int
    # Number of these that occur in fewer than l groups
    below: int
    # Item positions, ascending, of a set that occurs in `smallest` groups, if that is below l
    example: tuple[int, ...] | None


def check_diversity(
    support: Any,
    b: int,
    l: int,  # noqa: E741
    n_groups: ArrayLike | None = None,
) -> Diversity:
    """Count the groups of each set of b items that occurs in a group; all numbers are exact.

    A row of `support` is that of `n_groups` groups; a stored zero is an entry. Chang et al.,
    Definition 5.3 requires this of sets that a *user* rated, which are in their group's row; the
    converse does not hold. Rows with fewer than b items have no sets.

    Items are processed from the rarest to the most frequent; pairs are counted from rows or from
    columns of bits, whichever takes fewer steps. Since ``|A ∩ B| >= |A| + |B| - n``, pairs that
    cannot be rarer than the rarest so far are skipped. Larger sets are the sets of b - 1 in the
    rows of each item.
    """
    check_parameters(b, l)
    table = _Table.of(*_checked(support, n_groups))
    # If l exceeds the number of groups, every set is below it and needs no comparison.
    unreachable = l > table.weights.sum()
    least = 1 if unreachable else l
    if b > 2:
        _reject_if_too_many(table, b, least)
    # Nothing is counted yet; every number of groups is below this initial minimum.
    state = np.array([0, 0, np.iinfo(np.int64).max // 4, 0, 0])
    example = _count_sets(table, b, least, state)
    sets, below, smallest = state[[_SETS, _BELOW, _SMALLEST]].tolist()
    if unreachable:
        below = sets
    return Diversity(
        b=int(b),
        l=int(l),
        holds=below == 0,
        smallest=smallest if sets else None,
        sets=sets,
        below=below,
        example=tuple(sorted(int(item) for item in example)) if below else None,
    )


def describe_rare_sets(diversity: Diversity) -> str:
    """Describe how many sets of items occur in fewer than l rows."""
    return (
        f"{diversity.below:,} of {describe_count(diversity.sets, 'set')} of b = {diversity.b} "
        f"items occur in fewer than l = {diversity.l} different rows"
    )


def check_parameters(b: int, l: int) -> None:  # noqa: E741
    """Raise a RecveilError unless b and l are integers of at least 1."""
    if not isinstance(b, int | np.integer) or isinstance(b, bool) or b < 1:
        raise RecveilError(
            f"b (--b) is {b!r}; expected a whole number of items, at least 1", code="option.value"
        )
    if not isinstance(l, int | np.integer) or isinstance(l, bool) or l < 1:
        raise RecveilError(
            f"l (--l) is {l!r}; expected a whole number of groups, at least 1", code="option.value"
        )


@brief
class _Table(NamedTuple):
    """Weighted rows; the columns are the items in use, rarest first."""

    rows: ItemRows
    weights: NDArray[np.int64]
    items: NDArray[np.int64]
    supports: NDArray[np.int64]

    @classmethod
    def of(cls, rows: ItemRows, weights: NDArray[np.int64]) -> Self:
        supports = np.bincount(
            rows.indices, weights=weights[rows.row_of], minlength=rows.n_items
        ).astype(np.int64)
        items = np.argsort(supports, kind="stable")
        items = items[np.count_nonzero(supports == 0) :]
        place = np.zeros(rows.n_items, np.int64)
        place[items] = np.arange(items.size)
        return cls(rows.renamed(place, items.size), weights, items, supports[items])

    def with_item(self, item: int, holders: NDArray[Any]) -> Self:
        """Return the rows that hold the item, restricted to more frequent items."""
        rows = self.rows.take(holders)
        return self.of(rows.only(rows.indices > item), self.weights[holders])


def _checked(support: Any, n_groups: ArrayLike | None) -> tuple[ItemRows, NDArray[np.int64]]:
    rows = ItemRows.of(support)
    n_rows = rows.indptr.size - 1
    weights = np.ones(n_rows, np.int64) if n_groups is None else np.asarray(n_groups)
    if weights.shape != (n_rows,) or (weights < 1).any():
        raise RecveilError(
            f"n_groups: expected a number of at least 1 for each of {n_rows} rows, "
            f"got shape {weights.shape}; leave it out to count each row as one group",
            code="argument.value",
        )
    return rows, weights.astype(np.int64)


def _count_sets(table: _Table, b: int, least: int, state: NDArray[np.int64]) -> tuple[Any, ...]:
    """Add the counts of all sets of b items to the state; return the rarest set if it is new."""
    if not table.items.size:
        return ()
    if b == 1:
        state[_SETS] = table.items.size
        state[_BELOW] = np.count_nonzero(table.supports < least)
        state[_SMALLEST] = table.supports[0]
        return (table.items[0],)
    if b == 2:
        smallest = state[_SMALLEST]
        _count_pairs(table, least, state)
        is_rarer = state[_SMALLEST] < smallest
        return tuple(table.items[state[[_FIRST, _SECOND]]]) if is_rarer else ()
    return _count_larger(table, b, least, state)


def _count_pairs(table: _Table, least: int, state: NDArray[np.int64]) -> None:
    """Add the counts of all pairs to the state, with the columns of the rarest pair."""
    rows = table.rows
    n_words = -(-int(table.weights.sum()) // 64)
    through_rows = np.bincount(
        rows.indices, weights=rows.lengths[rows.row_of], minlength=rows.n_items
    )
    by_bits = through_rows > np.arange(rows.n_items)[::-1] * n_words
    columns = rows.columns()
    bits = np.empty((0, 0), np.uint64)
    if by_bits.any():
        starts = np.cumsum(table.weights) - table.weights
        bits = _pack_columns(columns.indptr, columns.indices, starts, table.weights, n_words)
    _pairs(
        *(rows.indptr, rows.indices, columns.indptr, columns.indices),
        *(table.weights, table.supports, by_bits, bits, least, state),
    )


def _count_larger(table: _Table, b: int, least: int, state: NDArray[np.int64]) -> tuple[Any, ...]:
    """Add the counts of sets of b - 1 in each item's rows to the state; return the rarest set."""
    n_items, n = table.items.size, int(table.weights.sum())
    columns = table.rows.columns()
    example: tuple[Any, ...] = ()
    for item in range(n_items - b + 1):
        smallest = state[_SMALLEST]
        # |A ∩ B ∩ C| >= |A| + |B| + |C| - 2n, and so on: no remaining set can be rarer.
        if b * table.supports[item] - (b - 1) * n >= max(least, smallest):
            state[_SETS] += math.comb(n_items - item, b)
            break
        holders = columns.indices[columns.indptr[item] : columns.indptr[item + 1]]
        others = _count_sets(table.with_item(item, holders), b - 1, least, state)
        if state[_SMALLEST] < smallest:
            example = table.items[item], *(table.items[other] for other in others)
    return example


def _binomial(n: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return how many sets of a size there are of n items, nearly."""
    chosen = np.arange(size)
    return np.prod(np.maximum(n[:, np.newaxis] - chosen, 0) / (chosen + 1), axis=1)


def _reject_if_too_many(table: _Table, b: int, least: int) -> None:
    """Estimate the steps that sets of b items take, and raise if they exceed the limit."""
    rows, n_items, n = table.rows, table.items.size, int(table.weights.sum())
    squares = rows.lengths.astype(np.float64)[rows.row_of] ** 2
    through_rows: NDArray[Any] = np.bincount(rows.indices, squares, minlength=n_items) / 2
    by_bits: NDArray[Any] = np.arange(n_items)[::-1] ** 2 / 2 * np.ceil(table.supports / 64)
    if b > 3:
        # The number of more frequent items in the row of each entry.
        others = np.repeat(rows.indptr[1:], rows.lengths) - np.arange(rows.indices.size) - 1
        by_row = _binomial(others, b - 1) + _STEPS_PER_SELECTION * _binomial(others, b - 3)
        by_bits = through_rows = np.bincount(rows.indices, by_row, minlength=n_items)
    # All other sets are compared with the count of the first.
    with_first = rows.only(rows.indices < b).lengths == b
    smallest = max(least, int(with_first @ table.weights))
    spared = b * table.supports - (b - 1) * n >= smallest
    steps = np.minimum(through_rows, by_bits)[~spared].sum()
    if b > 3:
        by_length = np.bincount(rows.lengths).tolist()
        at_most = sum(rows_of * math.comb(length, b) for length, rows_of in enumerate(by_length))
        if (at_most := min(at_most, math.comb(n_items, b))) >= 2**62:
            steps = np.float64(at_most)  # more than an integer of the count holds
    if steps > MOST_STEPS:
        raise RecveilError(
            f"b (--b) is {b}, but sets of {b} of {n_items:,} items in {n:,} groups take about "
            f"{steps:.0e} steps to count, more than the {MOST_STEPS:.0e} that are allowed; choose "
            f"b = {b - 1}",
            code="table.too-large",
        )


@compiled()
def _pairs(
    row_starts: NDArray[Any],
    row_items: NDArray[Any],
    starts: NDArray[Any],
    holders: NDArray[Any],
    weights: NDArray[Any],
    supports: NDArray[Any],
    by_bits: NDArray[Any],
    bits: NDArray[Any],
    least: int,
    state: NDArray[Any],
) -> None:
    n_items, n = supports.size, weights.sum()
    counts = np.zeros(n_items, np.int64)
    for first in range(n_items - 1):
        enough = max(least, state[_SMALLEST])
        if supports[first] + supports[first + 1] - n >= enough:
            # Later items are at least as frequent: no remaining pair can be rarer.
            left = n_items - first
            state[_SETS] += left * (left - 1) // 2
            return
        if by_bits[first]:
            _pairs_by_bits(first, bits, supports, n, least, state)
            continue
        for at in range(starts[first], starts[first + 1]):
            row = holders[at]
            for place in range(row_starts[row + 1] - 1, row_starts[row] - 1, -1):
                second = row_items[place]
                if second <= first:
                    break
                counts[second] += weights[row]
        for second in range(first + 1, n_items):
            _note(first, second, counts[second], least, state)
            counts[second] = 0


@compiled()
def _pairs_by_bits(
    first: int,
    bits: NDArray[Any],
    supports: NDArray[Any],
    n: int,
    least: int,
    state: NDArray[Any],
) -> None:
    n_items, n_words = bits.shape
    for second in range(first + 1, n_items):
        enough = max(least, state[_SMALLEST])
        if supports[first] + supports[second] - n >= enough:
            state[_SETS] += n_items - second
            return
        count = 0
        # Without an exit from the inner loop, the compiler can vectorize it.
        for start in range(0, n_words, 32):
            for word in range(start, min(start + 32, n_words)):
                count += count_bits(bits[first, word] & bits[second, word])
            if count >= enough:
                break
        _note(first, second, count, least, state)


@compiled()
def _note(first: int, second: int, count: int, least: int, state: NDArray[Any]) -> None:
    """Add a pair's count to the state; it may be cut off where it is no longer small."""
    state[_SETS] += count > 0
    state[_BELOW] += 0 < count < least
    if 0 < count < state[_SMALLEST]:
        state[_SMALLEST], state[_FIRST], state[_SECOND] = count, first, second


@compiled()
def _pack_columns(
    indptr: NDArray[Any],
    holders: NDArray[Any],
    starts: NDArray[Any],
    weights: NDArray[Any],
    n_words: int,
) -> NDArray[Any]:
    """Set, for each item, one bit per group; a row of weight w has w bits."""
    bits = np.zeros((indptr.size - 1, n_words), np.uint64)
    for item in range(indptr.size - 1):
        for at in range(indptr[item], indptr[item + 1]):
            row = holders[at]
            for group in range(starts[row], starts[row] + weights[row]):
                bits[item, group // 64] |= np.uint64(1) << np.uint64(group % 64)
    return bits
