"""Cost: what diversity took from the release."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recveil.predict import Padded
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.records import Groups, Records
from recveil.runtime.compiled import compiled, count_bits, pack_rows
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.verification.diversity import check_diversity, check_parameters

# How many of the next larger groups are candidates for a bundle: enough to find similar ones,
# few enough to bundle a hundred thousand groups.
_CANDIDATES = 1024
# Pruning keeps a number for each pair of items: 20,000 items take 1.6 GB at most.
MOST_ITEMS_PRUNED = 20_000
# Pruning for sets of three goes through the pairs of each row; this many steps, if none could be
# saved, take some minutes.
MOST_STEPS_PRUNED = 3 * 10**11


def bundle(support: Any, size: int) -> NDArray[np.int64]:
    """Gather the groups into bundles, of `size` to ``2 * size - 1`` groups, that share many items.

    From the group with the fewest items on, each bundle takes in the free group, of the 1024
    smallest, that costs the fewest added edges; equal costs go to the smaller group, then to the
    first.
    """
    n_groups, n_items = support.shape
    if not 1 <= size <= n_groups:
        raise RecveilError(
            f"a bundle of {size} groups cannot be made of {n_groups} groups; "
            f"expected from 1 to {n_groups}; lower the size, or l",
            code="argument.value",
        )
    lengths = np.diff(support.indptr)
    bits = pack_rows(support.indptr, support.indices, n_items)
    order = np.argsort(lengths, kind="stable")
    return _bundle(bits, lengths, order, size, _CANDIDATES)


def missing_in_bundles(support: Any, bundles: NDArray[np.int64]) -> Any:
    """Return what each group lacks of the items of its bundle, as a csr_array of int8.

    With these added, the groups of a bundle hold the same items. So every set of items that occurs
    in a group, of any size, occurs in all groups of a bundle.
    """
    n_groups = support.shape[0]
    places = (np.ones(n_groups, np.int32), (bundles, np.arange(n_groups)))
    unions = sparse.csr_array(sparse.coo_array(places)) @ _ones(support, np.int32)
    missing = _ones(sparse.csr_array(unions)[bundles], np.int8) - _ones(support, np.int8)
    missing.eliminate_zeros()
    missing.sort_indices()
    return missing


def can_prune(support: Any, added: Any, b: int) -> bool:
    """Return whether pruning for sets of b items stays within the limits of this module.

    Unpruned bundles are right as well, only dearer. Sets of more than three are not pruned.
    """
    if b > 3:
        return False
    n_groups, n_items = support.shape
    if b < 3:
        return bool(n_items <= MOST_ITEMS_PRUNED)
    lengths = np.diff(support.indptr) + np.diff(added.indptr).astype(np.float64)
    steps = (np.diff(added.indptr) * lengths**2 / 2).sum() * -(-n_groups // 64)
    return bool(n_items <= MOST_ITEMS_PRUNED and steps <= MOST_STEPS_PRUNED)


def prune(support: Any, added: Any, harm: NDArray[Any], b: int, least: int) -> NDArray[np.bool_]:
    """Mark the added edges that stay; those that no set needs go, the most harmful first.

    *Guarantee*: if every set of at most b items that occurs in a row of ``support + added`` occurs
    in `least` rows, so it does afterwards. One pass is enough: an edge that had to stay for a set
    must stay for good, since the set's other edges then have to as well.
    """
    rows = _ones(support, np.int8) + _ones(added, np.int8)
    # Rare items come first, since sets with them are the likeliest to need an edge.
    n_holders = np.bincount(rows.indices, minlength=rows.shape[1])
    place_of = np.argsort(np.argsort(n_holders, kind="stable"), kind="stable").astype(np.int32)
    rows, original = (
        sparse.csr_array((table.data, place_of[table.indices], table.indptr), shape=table.shape)
        for table in (rows, _ones(support, np.int8))
    )
    bits = pack_rows(rows.indptr, rows.indices, rows.shape[1])
    holders = np.zeros((0, 0), np.uint64)
    if b == 3:
        columns = rows.tocsc()
        holders = pack_rows(columns.indptr, columns.indices, rows.shape[0])
        rare_pairs = np.full((rows.shape[1], bits.shape[1]), ~np.uint64(0))
    else:
        columns = original.tocsc()
        original_bits = pack_rows(original.indptr, original.indices, rows.shape[1])
        rare_pairs = _find_rare_pairs(columns.indptr, columns.indices, original_bits, least)
    groups = np.repeat(np.arange(support.shape[0]), np.diff(added.indptr))
    order = np.argsort(-harm, kind="stable")
    counts = _pair_counts(bits, rare_pairs)
    return _prune(
        *(bits, groups, place_of[added.indices], order, counts, rare_pairs, holders, least)
    )


def _ones(table: Any, dtype: Any) -> Any:
    data = np.ones(table.indices.size, dtype)
    return sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)


def _pair_counts(bits: NDArray[Any], rare_pairs: NDArray[Any]) -> NDArray[Any]:
    """Return in how many groups each rare pair of items occurs, shape (n_items, n_items)."""
    narrow = np.uint16 if len(bits) < 1 << 16 else np.uint32
    # The rows of a bundle are equal: count each distinct row once, times its number.
    digests = [sha256(row).digest() for row in bits]
    _, first, times = np.unique(digests, return_index=True, return_counts=True)
    return _count_pairs(bits[first], times.astype(narrow), rare_pairs)


@compiled()
def _bundle(
    bits: NDArray[Any], lengths: NDArray[Any], order: NDArray[Any], size: int, n_candidates: int
) -> NDArray[Any]:
    bundles = np.empty(order.size, np.int64)
    queue = order.copy()  # free groups, from the smallest on, begin at `head`
    head, n_bundles = 0, order.size // size
    for number in range(n_bundles):
        # What does not divide evenly goes to the first bundles, whose rows are the shortest.
        n_members = order.size // n_bundles + (number < order.size % n_bundles)
        union = bits[queue[head]].copy()
        n_union = lengths[queue[head]]
        bundles[queue[head]] = number
        head += 1
        for _ in range(n_members - 1):
            free = queue[head : head + n_candidates]
            chosen = head + _cheapest(bits, lengths, free, union, n_union, size)
            group = queue[chosen]
            bundles[group] = number
            n_union = 0
            for word in range(union.size):
                union[word] |= bits[group, word]
                n_union += count_bits(union[word])
            for at in range(chosen, head, -1):
                queue[at] = queue[at - 1]
            head += 1
    return bundles


@compiled()
def _cheapest(
    bits: NDArray[Any],
    lengths: NDArray[Any],
    free: NDArray[Any],
    union: NDArray[Any],
    n_union: int,
    size: int,
) -> int:
    """Return the place of the free group that adds the fewest edges to the bundle."""
    chosen, lowest = 0, np.iinfo(np.int64).max
    for at in range(free.size):
        shared = 0
        for word in range(union.size):
            shared += count_bits(union[word] & bits[free[at], word])
        cost = n_union - shared + size * (lengths[free[at]] - shared)
        if cost < lowest:
            chosen, lowest = at, cost
    return chosen


@compiled()
def _find_rare_pairs(
    starts: NDArray[Any], holders: NDArray[Any], bits: NDArray[Any], least: int
) -> NDArray[Any]:
    """Set a bit for each pair of items that fewer than `least` rows hold before any addition.

    Other pairs never need an added edge, since rows keep what they had.
    """
    n_words = bits.shape[1]
    is_rare = np.empty((starts.size - 1, n_words), np.uint64)
    at_least = np.empty((least, n_words), np.uint64)  # one row, two rows, ...
    for item in range(starts.size - 1):
        at_least[:] = 0
        for holder in holders[starts[item] : starts[item + 1]]:
            row = bits[holder]
            for times in range(least - 1, 0, -1):
                more, fewer = at_least[times], at_least[times - 1]
                for word in range(n_words):
                    more[word] |= fewer[word] & row[word]
            once = at_least[0]
            for word in range(n_words):
                once[word] |= row[word]
        for word in range(n_words):
            is_rare[item, word] = ~at_least[least - 1, word]
    return is_rare


@compiled()
def _count_pairs(bits: NDArray[Any], times: NDArray[Any], rare_pairs: NDArray[Any]) -> NDArray[Any]:
    """Count rare pairs, each row `times` times."""
    n_items = len(rare_pairs)
    counts = np.zeros((n_items, n_items), times.dtype)
    for item in range(n_items):
        of_item = counts[item]
        for row in range(len(bits)):
            if not bits[row, item // 64] >> np.uint64(item % 64) & np.uint64(1):
                continue
            for word in range(bits.shape[1]):
                left = bits[row, word] & rare_pairs[item, word]
                while left:
                    of_item[64 * word + _lowest_bit(left)] += times[row]
                    left &= left - np.uint64(1)
    return counts


@compiled()
def _lowest_bit(word: Any) -> Any:
    return count_bits(~word & (word - np.uint64(1)))


@compiled()
def _prune(
    bits: NDArray[Any],
    groups: NDArray[Any],
    added: NDArray[Any],
    order: NDArray[Any],
    counts: NDArray[Any],
    rare_pairs: NDArray[Any],
    holders: NDArray[Any],
    least: int,
) -> NDArray[Any]:
    """Go through the added edges in order; rows lose bits in place. Holders are for b = 3."""
    kept = np.ones(added.size, np.bool_)
    for edge in order:
        row, item = bits[groups[edge]], added[edge]
        if _is_needed(counts[item], row, rare_pairs[item], least):
            continue
        if holders.size and _is_needed_in_three(counts[item], holders, item, row, least):
            continue
        kept[edge] = False
        for word in range(row.size):
            left = row[word] & rare_pairs[item, word]
            while left:
                other = 64 * word + _lowest_bit(left)
                counts[item, other] -= 1
                counts[other, item] = counts[item, other]
                left &= left - np.uint64(1)
        if holders.size:
            holders[item, groups[edge] // 64] &= ~(np.uint64(1) << np.uint64(groups[edge] % 64))
        row[item // 64] &= ~(np.uint64(1) << np.uint64(item % 64))
    return kept


@compiled()
def _is_needed(
    counts: NDArray[Any], row: NDArray[Any], rare_pairs: NDArray[Any], least: int
) -> bool:
    """Return whether the item, or its pair with one of the row's, would occur in too few groups."""
    for word in range(row.size):
        left = row[word] & rare_pairs[word]  # the item itself is one of the row's
        while left:
            if counts[64 * word + _lowest_bit(left)] <= least:
                return True
            left &= left - np.uint64(1)
    return False


@compiled()
def _items_of(row: NDArray[Any]) -> NDArray[Any]:
    items = np.empty(64 * row.size, np.int64)
    n_items = 0
    for word in range(row.size):
        left = row[word]
        while left:
            items[n_items] = 64 * word + _lowest_bit(left)
            n_items += 1
            left &= left - np.uint64(1)
    return items[:n_items]


@compiled()
def _is_needed_in_three(
    counts: NDArray[Any], holders: NDArray[Any], item: int, bits: NDArray[Any], least: int
) -> bool:
    """Return whether a set of the item and two of the row's would occur in too few groups."""
    row = _items_of(bits)
    n_words = holders.shape[1]
    both = np.empty((row.size, n_words), np.uint64)
    for at in range(row.size):
        for word in range(n_words):
            both[at, word] = holders[item, word] & holders[row[at], word]
    for second in range(row.size):
        for third in range(second):
            # Of the item's groups, those without one of the two are at most this many fewer.
            if counts[row[second]] + counts[row[third]] > least + counts[item]:
                continue
            count = 0
            for word in range(n_words):
                count += count_bits(both[second, word] & both[third, word])
            if count <= least:
                return True
    return False


# Numbers of a chunk of predictions; two arrays of this many float32 are 128 MiB.
_CHUNK_FACTORS = 1 << 24

# Returns the labels of cells, given the positions of their groups and of their items.
Labels: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int32]], NDArray[Any]]


@brief
class Coverage(NamedTuple):
    """Which groups hold which items."""

    # An entry for each item of a group
    support: Any
    # The mean label of the groups that hold the item; nan if none does
    item_means: NDArray[np.float64]


@brief
class AddedEdges(NamedTuple):
    """What is added to the groups, and what it costs."""

    # The labels of the added items. A stored zero is a label.
    edges: Any
    # Mean distance of an added label from its item's mean, in rating points; nan without edges
    harm: float
    # How many edges there were before pruning; the number of edges for b = 1
    bundled: int
    # False if the table was too large to prune, or b > 3: then more was added than necessary
    pruned: bool


def gather_coverage(blocks: Iterable[Records], n_items: int) -> Coverage:
    """Go through homogenized blocks once and keep which group holds which item."""
    lengths, indices = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    sums, counts = np.zeros(n_items), np.zeros(n_items)
    for block in blocks:
        lengths.append(np.diff(block.indptr))
        indices.append(block.indices)
        sums += np.bincount(block.indices, weights=block.values, minlength=n_items)
        counts += np.bincount(block.indices, minlength=n_items)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    items = np.concatenate(indices)
    support = sparse.csr_array(
        (np.ones(items.size, np.int8), items, indptr), shape=(indptr.size - 1, n_items)
    )
    means = np.full(n_items, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return Coverage(support, means)


def diversify(
    coverage: Coverage,
    b: int,
    l: int,  # noqa: E741
    labels: Labels | ArrayLike,
    *,
    bundle_size: int | None = None,
) -> AddedEdges:
    """Choose the edges to add, so that each set of b items in a group occurs in l groups.

    For b = 1, an item that too few groups hold goes to those whose own label for it is nearest to
    the mean label of its holders. For b > 1, groups are gathered into bundles of at least
    `bundle_size` (l by default), which take over all their items; then `prune` takes edges back,
    for b <= 3. `labels` is a table of the label that each group would give each item, or a callable
    of groups and items.

    *Guarantee*: every set of at most b items that occurs in a group afterwards occurs in at least l
    groups; so does every set that a user rated (Chang et al., Definition 5.3). Fewer edges are not
    always better: larger bundles add fewer, but an item's own group is easier to recognize by its
    shorter row.
    """
    size = _checked(coverage, b, l, bundle_size)
    label_of = labels if callable(labels) else _from_array(np.asarray(labels), coverage)
    support = sparse.csr_array(coverage.support, copy=True)
    support.sum_duplicates()
    if _is_diverse(support, b, l):
        nothing = sparse.csr_array(support.shape, dtype=np.float64)
        return AddedEdges(nothing, float("nan"), 0, True)
    if b == 1:
        added = _cover_items(support, l, label_of, coverage.item_means)
        return AddedEdges(added, _harm(added, coverage.item_means), added.nnz, True)
    missing = missing_in_bundles(support, bundle(support, size))
    rows = np.repeat(np.arange(support.shape[0]), np.diff(missing.indptr))
    values = np.asarray(label_of(rows, missing.indices), dtype=np.float64)
    bundled, pruned = missing.nnz, can_prune(support, missing, b)
    kept = np.ones(bundled, np.bool_)
    if pruned:
        harm = np.abs(values - coverage.item_means[missing.indices])
        kept = prune(support, missing, harm, b, l)
    added = _compressed(rows[kept], missing.indices[kept], values[kept], support.shape)
    if b > 3:
        check_diversity(_ones(support, np.int8) + _ones(added, np.int8), b, l)
    return AddedEdges(added, _harm(added, coverage.item_means), bundled, pruned)


def padded_labels(
    padding: Padded, groups: Groups, group_rows: ArrayLike, item_cols: ArrayLike
) -> NDArray[np.float64]:
    """Return the groups' mean predictions, not rounded, for cells of items that no member rated.

    These are the values of `homogenize_padded`: without a rating in the group, the mean of the
    members' padded rows is that of their clipped predictions. Apart from the result, memory does
    not grow with the number of cells.
    """
    rows, cols = np.asarray(group_rows, dtype=np.int64), np.asarray(item_cols, dtype=np.int64)
    labels = np.empty(rows.size)
    cost = int(groups.sizes.max()) * max(1, padding.rank)
    step = max(1, _CHUNK_FACTORS // cost)
    for start in range(0, rows.size, step):
        chunk = slice(start, start + step)
        sizes = groups.sizes[rows[chunk]]
        firsts = np.cumsum(sizes) - sizes
        offsets = np.arange(sizes.sum()) - np.repeat(firsts, sizes)
        users = groups.members[np.repeat(groups.starts[rows[chunk]], sizes) + offsets]
        cells = padding.cells(users, np.repeat(cols[chunk], sizes)).astype(np.float64)
        labels[chunk] = np.add.reduceat(cells, firsts) / sizes
    return labels


def add_edges(blocks: Iterable[Records], added: Any) -> Iterator[Records]:
    """Put added labels into the rows of all groups, in order; the items stay in ascending order."""
    first = 0
    for block in blocks:
        last = first + len(block)
        if last <= added.shape[0]:
            yield _merged(block, first, added)
        first = last
    if first != added.shape[0]:
        raise RecveilError(
            f"edges were chosen for {added.shape[0]} groups, but the blocks hold {first}; "
            f"gather the coverage from the same blocks",
            code="argument.shape",
        )


def _merged(block: Records, first: int, added: Any) -> Records:
    bounds = added.indptr[first : first + len(block) + 1].astype(np.int64)
    if bounds[0] == bounds[-1]:
        return block
    new = slice(bounds[0], bounds[-1])
    records = np.arange(len(block))
    rows = np.concatenate(
        [np.repeat(records, np.diff(block.indptr)), np.repeat(records, np.diff(bounds))]
    )
    items = np.concatenate([block.indices, added.indices[new].astype(np.int32)])
    order = np.lexsort((items, rows))
    items, rows = items[order], rows[order]
    twice = np.flatnonzero((np.diff(items) == 0) & (np.diff(rows) == 0))
    if twice.size:
        raise RecveilError(
            f"group {first + rows[twice[0]]} already holds item {items[twice[0]]}, which is added; "
            f"gather the coverage from the same blocks",
            code="argument.value",
        )
    values = np.concatenate([block.values, added.data[new]])[order]
    return Records(block.sizes, block.indptr + (bounds - bounds[0]), items, values)


def _checked(coverage: Coverage, b: int, l: int, bundle_size: int | None) -> int:  # noqa: E741
    """Return the size of a bundle; raise a RecveilError for an invalid parameter."""
    n_groups = coverage.support.shape[0]
    check_parameters(b, l)
    if n_groups < l:
        raise RecveilError(
            f"an item cannot occur in l = {l} groups (--l), since there are {n_groups}; lower l, "
            f"or lower k (--k) to form more groups",
            code="table.too-few-users",
        )
    size = l if bundle_size is None else bundle_size
    if not l <= size <= n_groups:
        raise RecveilError(
            f"bundle_size is {bundle_size}; expected from l = {l} to the {n_groups} groups",
            code="argument.value",
        )
    return size


def _is_diverse(support: Any, b: int, least: int) -> bool:
    """Return whether nothing needs to be added; no, where that takes too long to find out."""
    if least == 1 or support.nnz == support.shape[0] * sorted_unique(support.indices).size:
        return True  # full rows, as padding leaves them, are alike
    try:
        return all(check_diversity(support, size, least).holds for size in range(1, b + 1))
    except RecveilError:
        return False


def _from_array(labels: NDArray[Any], coverage: Coverage) -> Labels:
    if labels.shape != coverage.support.shape:
        raise RecveilError(
            f"labels have shape {labels.shape}; expected one for each group and item, "
            f"{coverage.support.shape}",
            code="argument.shape",
        )
    return lambda rows, cols: labels[rows, cols]


def _cover_items(support: Any, least: int, label_of: Labels, means: NDArray[Any]) -> Any:
    """Add each item that too few groups hold to the groups that it hurts least."""
    columns = support.tocsc()
    n_holders = np.diff(columns.indptr)
    rows, cols, values = [np.empty(0, np.int64)], [np.empty(0, np.int32)], [np.empty(0)]
    for item in np.flatnonzero((n_holders > 0) & (n_holders < least)):
        lacks = np.ones(support.shape[0], np.bool_)
        lacks[columns.indices[columns.indptr[item] : columns.indptr[item + 1]]] = False
        others = np.flatnonzero(lacks)
        labels = np.asarray(label_of(others, np.full(others.size, item, np.int32)), np.float64)
        nearest = np.argsort(np.abs(labels - means[item]), kind="stable")
        chosen = nearest[: least - n_holders[item]]
        rows.append(others[chosen])
        cols.append(np.full(chosen.size, item, np.int32))
        values.append(labels[chosen])
    return _compressed(
        np.concatenate(rows), np.concatenate(cols), np.concatenate(values), support.shape
    )


def _compressed(rows: Any, cols: Any, values: Any, shape: tuple[int, int]) -> Any:
    """Build a csr_array that keeps labels of zero."""
    order = np.lexsort((cols, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return sparse.csr_array((values[order], cols[order].astype(np.int32), indptr), shape=shape)


def _harm(added: Any, means: NDArray[Any]) -> float:
    if not added.indices.size:
        return float("nan")
    return float(np.mean(np.abs(added.data - means[added.indices])))


class DiversityCost(NamedTuple):
    """The values that diversity added, and how far they moved the items' means."""

    # Values before the addition
    labels: int
    # Added values
    added: int
    # Mean distance of an added value from its item's mean, in rating points; nan without any
    harm: float
    # False if the table was too large to remove unnecessary ones, or b > 3
    pruned: bool
    # Root mean squared error of the items' mean values, each group counting once, against the
    # ratings
    rmse_before: float
    rmse_after: float

    @classmethod
    def of(cls, ratings: Ratings, coverage: Coverage, edges: AddedEdges) -> Self:
        """Compare the items' means before and after."""
        n_groups_with = np.bincount(coverage.support.indices, minlength=ratings.n_items)
        new, items = edges.edges, edges.edges.indices
        means = np.nan_to_num(coverage.item_means)
        sums = means * n_groups_with + np.bincount(
            items, weights=new.data, minlength=ratings.n_items
        )
        after = sums / np.maximum(n_groups_with + np.bincount(items, minlength=ratings.n_items), 1)
        return cls(
            labels=int(coverage.support.nnz),
            added=int(new.nnz),
            harm=edges.harm,
            pruned=edges.pruned,
            rmse_before=_rmse(ratings, means),
            rmse_after=_rmse(ratings, after),
        )


def _rmse(ratings: Ratings, means: NDArray[np.float64]) -> float:
    off = means[ratings.indices] - ratings.values
    return float(np.sqrt(np.mean(off**2)))
