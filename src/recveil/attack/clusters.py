"""Infer which records share their values, and which of these clusters fits a target."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from recveil.attack.knowledge import Knowledge
from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import Interval, wilson_interval
from recveil.brief import brief

# Every two records are compared, and every cluster has a count of every item: so many at most.
MOST_RECORDS = 5_000
_MOST_CELLS = 30_000_000
# So rarely may two records without a common cluster share all values of all common items.
_BY_CHANCE = 0.01
# A single record joins a cluster by so few common items, if no other cluster has all its values.
_FEWEST_COMMON = 2
# By how many labels of the whole release a cluster's item counts are smoothed, and by which
# variance of ratings values are compared; None for items alone.
_SMOOTHING = (60.0, 200.0, 600.0, 2000.0)
_VARIANCES = (None, 0.5, 1.0)

Numbers = NDArray[np.float64]
Labels = NDArray[np.int64]


@brief
class ClusterAttack(NamedTuple):
    """How often the cluster of a target is inferred by all of their ratings.

    Attributes
    ----------
    n_clusters, n_records : int
        Clusters that were inferred from the release alone, and distinct records in them.
    cluster_found : Interval
        Share of the targets whose own record is in the cluster that fits them best.
    cluster_baseline : float
        The share of users in the largest cluster: a guess that always names it.
    class_found : Interval
        The same for the equivalence class, by a blind pick among the users of the cluster.
    class_baseline : float
        The share of users in the largest class.
    """

    n_clusters: int
    n_records: int
    cluster_found: Interval
    cluster_baseline: float
    class_found: Interval
    class_baseline: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        plain = self._asdict()
        return plain | {name: plain[name]._asdict() for name in ("cluster_found", "class_found")}


def too_many_to_compare(table: ReleasedTable) -> bool:
    """Return whether clusters of a release are not looked for, as it has too many records."""
    n_records, n_items = table.candidates.n_records, table.candidates.indptr.size - 1
    return n_records > MOST_RECORDS or n_records * n_items > _MOST_CELLS


def find_clusters(table: ReleasedTable) -> Labels | None:
    """Infer from a release alone which records share their values.

    Records are linked if all their common items have equal values, and are too many for chance;
    then clusters of linked records likewise. A single record that is left joins the only cluster
    that has all its values.

    Parameters
    ----------
    table : ReleasedTable

    Returns
    -------
    ndarray of int64, shape (n_records,), or None
        The cluster of each record; None if no two records can be linked, or if they are too many
        to be compared (`too_many_to_compare`).

    Examples
    --------
    >>> from recveil.anonymize import SparseRows
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=100, n_items=60, n_ratings=3_000, seed=1)
    >>> table = ReleasedTable.from_release(SparseRows(5, seed=1).anonymize(ratings), ratings)
    >>> np.bincount(find_clusters(table))  # five crowds of twenty, in four classes each
    array([4, 4, 4, 4, 4])
    """
    n_records = table.candidates.n_records
    if n_records < 2 or too_many_to_compare(table) or table.candidates.levels.size < 2:
        return None
    clusters = np.arange(n_records)
    while True:
        common, agree = _compare(table, clusters)
        by_chance = (agree.sum() + 1) / (common.sum() + 2)  # less and less, as clusters are merged
        enough = np.log(len(common) ** 2 / 2 / _BY_CHANCE) / -np.log(by_chance)
        linked = (agree == common) & (common >= enough)
        n_left, joined = connected_components(sparse.csr_array(linked), directed=False)
        if n_left == len(common):
            break
        clusters = joined[clusters].astype(np.int64)
    if len(common) == n_records:
        return None
    single = np.bincount(clusters) == 1
    fits = (agree == common) & (common >= _FEWEST_COMMON) & ~single
    joins = single & (fits.sum(axis=1) == 1)
    to = np.where(joins, fits.argmax(axis=1), np.arange(len(common)))
    return np.unique(to[clusters], return_inverse=True)[1].astype(np.int64)


def attack_clusters(
    table: ReleasedTable, known: Knowledge, clusters: Labels
) -> ClusterAttack | None:
    """Name for each target the cluster that fits their ratings best.

    Every other target decides how counts are smoothed and values compared; the rates are those of
    the rest.

    Parameters
    ----------
    table : ReleasedTable
    known : Knowledge
        All ratings of each target, who are all in the release.
    clusters : ndarray of int64
        From `find_clusters`.

    Returns
    -------
    ClusterAttack or None
        None of fewer than two targets.
    """
    if known.targets.size < 2:
        return None
    sizes = table.candidates.sizes
    of_cluster = np.bincount(clusters, sizes)
    own_record = table.record_of[known.targets]
    own = clusters[own_record]
    rights = [scores.argmax(axis=1) == own for scores in _scores(table, known, clusters)]
    right = max(rights, key=lambda each: each[::2].sum())[1::2]
    in_class = right * (sizes[own_record] / of_cluster[own])[1::2]
    return ClusterAttack(
        n_clusters=of_cluster.size,
        n_records=clusters.size,
        cluster_found=wilson_interval(int(right.sum()), right.size),
        cluster_baseline=float(of_cluster.max() / of_cluster.sum()),
        class_found=wilson_interval(float(in_class.sum()), right.size),
        class_baseline=float(sizes.max() / sizes.sum()),
    )


def _compare(table: ReleasedTable, clusters: Labels) -> tuple[Numbers, Numbers]:
    """Return how many items any two clusters have in common, and with how many equal values."""
    levels, codes = np.unique(table.values, return_inverse=True)
    n_items = table.candidates.indptr.size - 1
    cluster_of = np.repeat(clusters, np.diff(table.indptr))
    cells = table.indices.astype(np.int64) * levels.size + codes
    pairs = np.unique(np.stack([cluster_of, cells], axis=1), axis=0)
    compared = []
    for columns, width in ((pairs[:, 1] // levels.size, n_items), (pairs[:, 1], None)):
        shape = (int(clusters.max()) + 1, width or n_items * levels.size)
        ones = np.ones(len(pairs), np.float64)
        has = sparse.csr_array((ones, (pairs[:, 0], columns)), shape=shape)
        counts = (has @ has.T).toarray()
        np.fill_diagonal(counts, 0)
        compared.append(counts)
    return compared[0], compared[1]


def _scores(table: ReleasedTable, known: Knowledge, clusters: Labels) -> Iterator[Numbers]:
    """Yield how well each cluster fits each target, in several ways, shape (targets, clusters)."""
    n_clusters, n_items = int(clusters.max()) + 1, table.candidates.indptr.size - 1
    rows = np.repeat(np.arange(clusters.size), np.diff(table.indptr))
    people = table.candidates.sizes[rows].astype(np.float64)
    cells = clusters[rows] * n_items + table.indices
    shape = (n_clusters, n_items)
    counts = np.bincount(cells, people, n_clusters * n_items).reshape(shape)
    totals = np.bincount(cells, people * table.values, n_clusters * n_items).reshape(shape)
    means = totals.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    leans = np.where(counts > 0, totals / np.maximum(counts, 1) - means, 0.0)
    entries = (known.items, known.indptr)
    of_targets = (known.targets.size, n_items)
    has = sparse.csr_array((np.ones(known.items.size), *entries), shape=of_targets)
    shares = counts.sum(axis=0) / counts.sum()
    if known.values is None:
        by_values = np.zeros((known.targets.size, n_clusters))
    else:
        own = sparse.csr_array((known.values - means[known.items], *entries), shape=of_targets)
        by_values = own @ leans.T - has @ (leans**2).T / 2
    for smoothing in _SMOOTHING:
        smooth = counts + smoothing * shares + 1e-9
        by_items = has @ np.log(smooth / (counts.sum(axis=1, keepdims=True) + smoothing)).T
        for variance in _VARIANCES:
            yield by_items if variance is None else by_items + by_values / variance
