"""Diversity: add items to groups until every set of b items stands in at least l groups.

`gather_coverage` looks at the homogenized groups, `diversify` chooses the edges to add and
`add_edges` puts them into the blocks. `padded_labels` says what is written on them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recveil.anonymize.bundles import bundle, can_prune, missing_in_bundles, prune
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.predict import Padded
from recveil.release.groups import Groups
from recveil.release.records import Records
from recveil.verify.diversity import check_diversity, check_parameters

# Numbers of a chunk of predictions; two arrays of this many float32 are 128 MiB.
_CHUNK_FACTORS = 1 << 24

# Returns the labels of cells, given the positions of their groups and of their items.
Labels: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int32]], NDArray[Any]]


@brief
class Coverage(NamedTuple):
    """Which groups hold which items.

    Attributes
    ----------
    support : csr_array of int8, shape (n_groups, n_items)
        An entry for each item of a group.
    item_means : ndarray of float64, shape (n_items,)
        The mean label of the groups that hold the item; nan if none does.
    """

    support: Any
    item_means: NDArray[np.float64]


@brief
class AddedEdges(NamedTuple):
    """What is added to the groups, and what it costs.

    Attributes
    ----------
    edges : csr_array of float64, shape (n_groups, n_items)
        The labels of the added items. A stored zero is a label.
    harm : float
        Mean distance of an added label from its item's mean, in rating points; nan without edges.
    bundled : int
        How many edges there were before pruning; the number of edges for b = 1.
    pruned : bool
        False if the table was too large to prune: then more was added than necessary.
    """

    edges: Any
    harm: float
    bundled: int
    pruned: bool


def gather_coverage(blocks: Iterable[Records], n_items: int) -> Coverage:
    """Go through homogenized blocks once and keep which group holds which item.

    Examples
    --------
    >>> block = Records(
    ...     sizes=np.array([2, 2]),
    ...     indptr=np.array([0, 2, 3]),
    ...     indices=np.array([0, 2, 2], np.int32),
    ...     values=np.array([4.0, 2.0, 3.0]),
    ... )
    >>> coverage = gather_coverage([block], n_items=3)
    >>> coverage.support.toarray(), coverage.item_means
    (array([[1, 0, 1],
           [0, 0, 1]], dtype=int8), array([4. , nan, 2.5]))
    """
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
    """Choose the edges to add, so that each set of b items in a group stands in l groups.

    - b = 1: an item that too few groups hold goes to those groups whose own label for it would be
      nearest to the mean label of its holders; of equally near ones, the first.
    - b = 2 and 3, unless nothing needs to be added: the groups are gathered into bundles of at
      least `bundle_size`, and all groups of a bundle take over all of its items; then edges are
      taken back, the most harmful first (its label the farthest from the item's mean), as long as
      every set of at most b items in the group's row still stands in l groups.

    Parameters
    ----------
    coverage : Coverage
        From `gather_coverage`, for all groups.
    b : {1, 2, 3}
        Items in a set.
    l : int
        Groups in which each set must stand, at least 1.
    labels : callable or array-like of float, shape (n_groups, n_items)
        The label that each group would give each item. A callable gets the positions of groups and
        of items, two arrays of one length, and returns their labels, such as `padded_labels`.
    bundle_size : int, optional
        At least l, which is the default.

    Returns
    -------
    AddedEdges
        The same for the same input; nothing here is random.

    Raises
    ------
    RecveilError
        If there are fewer than l groups, or a parameter makes no sense.

    Notes
    -----
    Source: Chang et al., section 5.1. *Guarantee*: every set of at most b items that stands in a
    group afterwards stands in at least l groups, which anyone can check from the published file.
    Definition 5.3 asks it only for the sets that a user rated; as what a user rated stands in their
    group's row, it follows. The converse is wrong: the definition allows a row to hold a set of
    items that no single member rated, and that stands nowhere else.

    The definition counts groups; it does not ask that they look alike. The table with the fewest
    added edges gives l groups every item, and whoever sees l full rows crosses them out. So the
    number of edges is not all that counts: larger bundles add fewer after pruning, with labels
    nearer to the items' means, but leave an item's own group easier to tell by its shorter row.
    Bundles of l groups resist this best.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> coverage = Coverage(csr_array([[1, 1], [1, 0], [1, 0]]), np.array([4.0, 2.0]))
    >>> added = diversify(coverage, b=1, l=2, labels=[[4, 2], [4, 5], [4, 3]])
    >>> added.edges.toarray(), added.harm  # the third group's 3 is nearer to 2 than the second's 5
    (array([[0., 0.],
           [0., 0.],
           [0., 3.]]), 1.0)
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
    return AddedEdges(added, _harm(added, coverage.item_means), bundled, pruned)


def padded_labels(
    padding: Padded, groups: Groups, group_rows: ArrayLike, item_cols: ArrayLike
) -> NDArray[np.float64]:
    """Return the groups' mean predictions for items that no member rated.

    These are the labels that `homogenize_padded` would give: where nobody in the group has a
    rating, the mean of the members' padded rows is that of their clipped predictions.

    Parameters
    ----------
    padding : Padded
    groups : Groups
    group_rows, item_cols : array-like of int, shape (n,)
        The cells: positions of groups and of items.

    Returns
    -------
    ndarray of float64, shape (n,)
        In rating points, not rounded. Predicted in chunks: beside the result, memory does not grow
        with the number of cells.

    Examples
    --------
    >>> from recveil.predict import ItemMean
    >>> from recveil.ratings import Ratings
    >>> ratings = Ratings.from_columns([1, 2, 2, 3], ["a", "a", "b", "b"], [5, 4, 1, 2])
    >>> padding = ItemMean().fit(ratings).padding()
    >>> padded_labels(padding, Groups.from_labels([0, 1, 1]), [0], [1])
    array([1.5])
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
    """Put added labels into the groups' rows; the items stay in ascending order.

    Parameters
    ----------
    blocks : iterable of Records
        The groups, in the order of the rows of `added`.
    added : csr_array of float, shape (n_groups, n_items)
        `AddedEdges.edges`.

    Raises
    ------
    RecveilError
        If `added` has another number of rows than the blocks, or an item that the group has.

    Examples
    --------
    >>> block = Records(np.array([2]), np.array([0, 1]), np.array([1], np.int32), np.array([4.0]))
    >>> (wider,) = add_edges([block], sparse.csr_array([[2.5, 0, 3.0]]))
    >>> wider.indices, wider.values
    (array([0, 1, 2], dtype=int32), array([2.5, 4. , 3. ]))
    """
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
    """Return the size of a bundle, or raise if a parameter makes no sense."""
    n_groups = coverage.support.shape[0]
    check_parameters(b, l)
    if n_groups < l:
        raise RecveilError(
            f"an item cannot stand in l = {l} groups, as there are {n_groups}; "
            f"lower l, or lower k to form more groups",
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
    """Say whether nothing needs to be added; no, where that takes too long to find out."""
    if least == 1 or support.nnz == support.shape[0] * np.unique(support.indices).size:
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
