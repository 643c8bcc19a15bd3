"""Bundles: groups that take over each other's items, so that every set of items stands in many.

`bundle` gathers groups that share many items, `missing_in_bundles` lists what each lacks of its
bundle's items, and `prune` takes back, from the most harmful on, what no set of items needs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.bits import count_bits, pack_rows
from recveil.compiled import compiled
from recveil.errors import RecveilError

# How many of the next larger groups are candidates for a bundle: enough to find similar ones,
# few enough to bundle a hundred thousand groups.
_CANDIDATES = 1024
# Pruning keeps a number for each pair of items: 20,000 items take 1.6 GB at most.
MOST_ITEMS_PRUNED = 20_000
# Pruning for sets of three goes through the pairs of each row; this many steps, if none could be
# saved, take some minutes.
MOST_STEPS_PRUNED = 3 * 10**11


def bundle(support: Any, size: int) -> NDArray[np.int64]:
    """Gather the groups into bundles whose groups share many items.

    From the group with the fewest items on, each bundle takes in, one after the other, the free
    group that costs the fewest added edges now: the items it lacks of the bundle's, and its own
    new ones for each of `size` groups. Only the 1024 smallest free groups are looked at. Equal
    costs go to the smaller group, and then to the first.

    Parameters
    ----------
    support : csr_array, shape (n_groups, n_items)
        An entry for each item of a group, without duplicates.
    size : int
        The least number of groups in a bundle; at most n_groups.

    Returns
    -------
    ndarray of int64, shape (n_groups,)
        The bundle of each group: 0, 1, ... Each has from `size` to ``2 * size - 1`` groups.

    Raises
    ------
    RecveilError
        If `size` is below 1 or above the number of groups.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> bundle(csr_array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1]]), size=2)
    array([0, 1, 0, 1])
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

    With these added, the groups of a bundle hold the same items. So every set of items that stands
    in a group, of any size, stands in all groups of a bundle.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> support = csr_array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    >>> missing_in_bundles(support, np.array([0, 0, 1])).toarray()
    array([[0, 0, 0],
           [1, 0, 0],
           [0, 0, 0]], dtype=int8)
    """
    n_groups = support.shape[0]
    places = (np.ones(n_groups, np.int32), (bundles, np.arange(n_groups)))
    unions = sparse.csr_array(sparse.coo_array(places)) @ _ones(support, np.int32)
    missing = _ones(sparse.csr_array(unions)[bundles], np.int8) - _ones(support, np.int8)
    missing.eliminate_zeros()
    missing.sort_indices()
    return missing


def can_prune(support: Any, added: Any, b: int) -> bool:
    """Say whether pruning for sets of b items stays within the limits of this module.

    Unpruned bundles are right as well, only dearer.
    """
    n_groups, n_items = support.shape
    if b < 3:
        return bool(n_items <= MOST_ITEMS_PRUNED)
    lengths = np.diff(support.indptr) + np.diff(added.indptr).astype(np.float64)
    steps = (np.diff(added.indptr) * lengths**2 / 2).sum() * -(-n_groups // 64)
    return bool(n_items <= MOST_ITEMS_PRUNED and steps <= MOST_STEPS_PRUNED)


def prune(support: Any, added: Any, harm: NDArray[Any], b: int, least: int) -> NDArray[np.bool_]:
    """Take back added edges that no set of items needs, the most harmful first.

    An edge goes if, without it, every set of at most b items in the group's row still stands in
    `least` groups. Edges of `support` always stay.

    *Guarantee*: if every set of at most b items that stands in a row of ``support + added`` stands
    in `least` rows, so it does afterwards. One pass is enough: an edge that had to stay for the
    sake of a set must stay for good, since the set's other edges then have to as well.

    Parameters
    ----------
    support, added : csr_array, shape (n_groups, n_items)
        Two tables of edges without a common one, sorted.
    harm : ndarray of float, shape (n_added,)
        How much each added edge hurts, in the order of `added`. Of equal ones the first goes first.
    b : {2, 3}
    least : int
        The l of (b, l)-diversity.

    Returns
    -------
    ndarray of bool, shape (n_added,)
        Which of the added edges stay.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> support = csr_array([[1, 1], [1, 1], [1, 0]])
    >>> prune(support, csr_array([[0, 0], [0, 0], [0, 1]]), np.ones(1), b=2, least=2)
    array([False])
    """
    rows = _ones(support, np.int8) + _ones(added, np.int8)
    rows.sort_indices()
    groups = np.repeat(np.arange(support.shape[0]), np.diff(added.indptr))
    order = np.argsort(-harm, kind="stable")
    holders = np.zeros((0, 0), np.uint64)
    if b == 3:
        columns = rows.tocsc()
        holders = pack_rows(columns.indptr, columns.indices, support.shape[0])
    return _prune(
        *(rows.indptr, rows.indices.copy(), groups, added.indices, order),
        *(_pair_counts(rows), holders, least),
    )


def _ones(table: Any, dtype: Any) -> Any:
    data = np.ones(table.indices.size, dtype)
    return sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)


def _pair_counts(table: Any) -> NDArray[Any]:
    """Return in how many groups each pair of items stands, shape (n_items, n_items)."""
    narrow = np.uint16 if table.shape[0] < 1 << 16 else np.uint32
    counts = np.zeros((table.shape[1], table.shape[1]), narrow)
    _count_pairs(table.indptr, table.indices, counts)
    return counts


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
def _count_pairs(indptr: NDArray[Any], indices: NDArray[Any], counts: NDArray[Any]) -> None:
    for row in range(indptr.size - 1):
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(indptr[row], indptr[row + 1]):
                counts[indices[i], indices[j]] += 1


@compiled()
def _prune(
    starts: NDArray[Any],
    items: NDArray[Any],
    groups: NDArray[Any],
    added: NDArray[Any],
    order: NDArray[Any],
    counts: NDArray[Any],
    holders: NDArray[Any],
    least: int,
) -> NDArray[Any]:
    """Go through the added edges in order; rows shrink in place. Bits of holders are for b = 3."""
    ends = starts[1:].copy()
    kept = np.ones(added.size, np.bool_)
    for edge in order:
        group, item = groups[edge], added[edge]
        row = items[starts[group] : ends[group]]
        if _is_needed(counts[item], row, least):
            continue
        if holders.size and _is_needed_in_three(counts[item], holders, item, row, least):
            continue
        kept[edge] = False
        for other in row:
            counts[item, other] -= 1
            counts[other, item] = counts[item, other]
        if holders.size:
            holders[item, group // 64] &= ~(np.uint64(1) << np.uint64(group % 64))
        at = np.searchsorted(row, item)
        for place in range(at, row.size - 1):
            row[place] = row[place + 1]
        ends[group] -= 1
    return kept


@compiled()
def _is_needed(counts: NDArray[Any], row: NDArray[Any], least: int) -> bool:
    """Say whether the item, or its pair with one of the row's, would stand in too few groups."""
    found = False
    for other in row:  # the item itself is one of them
        if counts[other] <= least:
            found = True
            break
    return found


@compiled()
def _is_needed_in_three(
    counts: NDArray[Any], holders: NDArray[Any], item: int, row: NDArray[Any], least: int
) -> bool:
    """Say whether a set of the item and two of the row's would stand in too few groups."""
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
