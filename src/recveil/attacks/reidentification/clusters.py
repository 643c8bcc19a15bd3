"""Infer which records share their values, and which of these clusters fits a target."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.special import softmax
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from recveil.attacks.adversary import Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses, guesses_of_best
from recveil.attacks.knowledge import Knowledge
from recveil.attacks.reidentification.scoreboard import records_of_target
from recveil.attacks.statistics import Interval, wilson_interval
from recveil.ratings import RatingScale
from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

# All pairs of records are compared, and every cluster has a count per item: upper limits.
MOST_RECORDS = 5_000
_MOST_CELLS = 30_000_000
# Probability that two records without a common cluster share all values of all common items.
_BY_CHANCE = 0.01
# Largest number of pairs of a target and a record to score.
_MOST_SCORES = 5_000_000
# Share of the clusters with too few users that join others in one round.
_JOINED_AT_ONCE = 0.25
# Ridge penalty of the weights of the scores, and rounds that fit the chances to the class sizes.
_RIDGE, _ROUNDS = 0.002, 20
# Rank of the embeddings; weight of an item rated below the user's mean (1 otherwise); and number of
# records added to an item's count.
_DIRECTIONS, _DISLIKED, _DAMPING = 24, 0.4, 5

# Shares of a target's items that come from the record, from its cluster and from all records; and
# the spread of their ratings around the cluster's values, as a share of the scale.
_OF_ROW, _OF_CLUSTER, _OF_ALL, _SPREAD = 0.02, 0.48, 0.5, 0.25

Numbers = NDArray[np.float64]
Positions = NDArray[np.int64]
Scores = NDArray[np.float32]


@brief
class ClusterAttack(NamedTuple):
    """Rates at which a target's cluster is inferred from all of their ratings."""

    # Clusters that were inferred from the release alone, and distinct records in them
    n_clusters: int
    n_records: int
    # Share of the targets whose own record is in the best-fitting cluster
    cluster_inferred: Interval
    # Largest share of the users unknown to the adversary in one cluster: a constant guess of it
    cluster_baseline: float
    # Share of the targets whose own equivalence class is the best-fitting record
    class_inferred: Interval
    # The same for classes
    class_baseline: float
    # Re-identification rate: expected hits of a random pick among the users of that record
    reidentified: Interval


def too_many_to_compare(candidates: Candidates) -> bool:
    """Return whether a release has too many records to infer clusters."""
    n_records, n_items = candidates.n_records, candidates.n_items
    return n_records > MOST_RECORDS or n_records * n_items > _MOST_CELLS


def has_sparse_classes(table: AttackTarget) -> bool:
    """Return whether users share rows of few items; rows with all items distinguish no user."""
    return not table.co_rated and _has_few_items(table.candidates)


def _has_few_items(candidates: Candidates) -> bool:
    """Return whether less than half of the cells have a value."""
    return 2 * candidates.records.size < candidates.n_records * candidates.n_items


def most_targets(table: AttackTarget) -> int:
    """Return the largest number of targets for which all records are scored."""
    return max(_MOST_SCORES // table.candidates.n_records, 2)


_CLUSTERS: WeakKeyDictionary[Candidates, Positions | None] = WeakKeyDictionary()


def find_clusters(candidates: Candidates) -> Positions | None:
    """Infer which records share their values from a release alone.

    Records are linked if all their common items have equal values, and are too many for chance;
    then clusters of linked records likewise. If the release states a `cluster_size`, a cluster with
    fewer users joins the one with which it has the most common items, all of equal values; no
    cluster has twice as many. None with fewer than two records, or too many to compare
    (`too_many_to_compare`).
    """
    if candidates not in _CLUSTERS:
        _CLUSTERS[candidates] = _find_clusters(candidates, candidates.cluster_size)
    return _CLUSTERS[candidates]


def _find_clusters(candidates: Candidates, smallest: int) -> Positions | None:
    n_records = candidates.n_records
    if n_records < 2 or too_many_to_compare(candidates):
        return None
    clusters = np.arange(n_records)
    if candidates.levels.size < 2:
        return clusters
    while True:
        common, agree = _compare(candidates, clusters)
        by_chance = (agree.sum() + 1) / (common.sum() + 2)  # less and less, as clusters are merged
        enough = np.log(len(common) ** 2 / 2 / _BY_CHANCE) / -np.log(by_chance)
        linked = (agree == common) & (common >= enough)
        if smallest:
            sizes = np.bincount(clusters, candidates.sizes)
            linked &= sizes[:, None] + sizes < 2 * smallest
        n_left, joined = connected_components(sparse.csr_array(linked), directed=False)
        if n_left == len(common):
            break
        clusters = joined[clusters].astype(np.int64)
    return _join_small(candidates, clusters, smallest) if smallest else clusters


def _join_small(candidates: Candidates, clusters: Positions, smallest: int) -> Positions:
    """Join clusters of too few users with others, in each round those whose choice is surest."""
    while True:
        sizes = np.bincount(clusters, candidates.sizes)
        if sizes.size < 2:
            return clusters
        common, agree = _compare(candidates, clusters)
        is_small = sizes < smallest
        fits = (agree == common) & is_small[:, None] & (sizes[:, None] + sizes < 2 * smallest)
        common = np.where(fits, common, 0)
        to = common.argmax(axis=1)
        second, best = np.partition(common, -2, axis=1)[:, -2:].T
        joined = np.arange(sizes.size)
        is_free = np.ones(sizes.size, bool)
        surest = np.lexsort((-best, second - best))
        surest = surest[best[surest] > 0]
        for small in surest[: math.ceil(surest.size * _JOINED_AT_ONCE)]:
            if is_free[small] and is_free[to[small]]:
                is_free[[small, to[small]]] = False
                joined[small] = to[small]
        if is_free.all():
            return clusters
        clusters = np.unique(joined[clusters], return_inverse=True)[1].astype(np.int64)


def attack_clusters(
    table: AttackTarget, known: Knowledge, clusters: Positions
) -> ClusterAttack | None:
    """Pick the cluster and the record that best fit each target's ratings.

    A conditional logit combines the evidence of the records (`_features`). The adversary knows the
    records of every other target, which train the weights; the rates are those of the rest. Chances
    are scaled so that those of a record sum to at most its number of unknown users.
    """
    if known.targets.size < 2:
        return None
    record = table.record_of[known.targets]
    unknown = table.candidates.sizes - np.bincount(record[::2], minlength=clusters.size)
    with one_thread():
        features = _features(table, known, clusters, record[::2])
        weights = _fit(features[:, ::2], record[::2])
        chances = _chances(features[:, 1::2], weights)
        if table.known_attributes and table.attributes:
            for places, records in table.agreeing(known.targets[1::2]):
                others = np.setdiff1d(np.arange(clusters.size), records)
                chances[np.ix_(places, others)] = 1e-30
        chances = _fit_to_sizes(chances, unknown)
    record, sizes = record[1::2], table.candidates.sizes
    records, of_cluster = np.arange(clusters.size), np.bincount(clusters, unknown)
    to_cluster = sparse.csr_array((np.ones(clusters.size), (records, clusters)))
    guessed = (chances @ to_cluster).argmax(axis=1)
    right = guessed == clusters[record]
    right_class = chances.argmax(axis=1) == record
    return ClusterAttack(
        n_clusters=of_cluster.size,
        n_records=clusters.size,
        cluster_inferred=wilson_interval(int(right.sum()), right.size),
        cluster_baseline=float(of_cluster.max() / of_cluster.sum()),
        class_inferred=wilson_interval(int(right_class.sum()), right.size),
        class_baseline=float(unknown.max() / unknown.sum()),
        reidentified=wilson_interval(float((right_class / sizes[record]).sum()), right.size),
    )


@dataclass(frozen=True)
class ClusterLikelihood:
    """Picks the record whose row and cluster make the known items and ratings most likely.

    A known item is one of the target's record, one of its cluster (`find_clusters`), or one of all
    records, with probabilities of 0.02, 0.48 and 0.5; a rating is normally distributed about the
    cluster's mean value of the item, or about that of all records if the cluster lacks the item.

    Parameters
    ----------
    spread : float
        Standard deviation of a rating about the mean value, in points.

    Notes
    -----
    Source: Liu & Croft, *Cluster-Based Retrieval Using Language Models* (2004), where documents
    are ranked by their likelihood of a query; the ratings are an addition. Unlike the other
    attacks, it takes rows for samples: a row that lacks a known item may still be the target's.
    Where no users share rows of few items, all users fit equally well. Without clusters, as in a
    release of implicit feedback, each record is its own.

    Examples
    --------
    >>> ClusterLikelihood.of(Adversary(known=8), RatingScale(1, 5, 1)).spread
    1.0
    """

    name: ClassVar[str] = "cluster-likelihood"

    spread: float = 1.0

    @classmethod
    def of(cls, adversary: Adversary, scale: RatingScale) -> Self:
        """Return the attack of an adversary whose ratings are off by their error."""
        error = (adversary.rating_error or 0) / math.sqrt(3)
        return cls(math.hypot(_SPREAD * scale.range, error) or 1.0)  # likes have no range

    def attack(self, candidates: Candidates, knowledge: Knowledge, record_of: Positions) -> Guesses:
        """Score every target against the candidates; see `ScoreboardRH.attack`."""
        target_records = records_of_target(candidates, knowledge, record_of)
        if not _has_few_items(candidates) or candidates.n_users < 2 * candidates.n_records:
            return Guesses(
                best=np.full(target_records.size, -1),
                tied_users=np.full(target_records.size, candidates.n_users),
                target_is_top=target_records >= 0,
            )
        scores = self._score(candidates, knowledge)
        # Equality is up to rounding: the order of additions must not break ties.
        likeliest = (np.flatnonzero(score >= score.max() - 1e-9) for score in scores)
        return guesses_of_best(likeliest, candidates.sizes, target_records)

    def _score(self, candidates: Candidates, knowledge: Knowledge) -> Iterator[Numbers]:
        """Yield the log-likelihood ratio of each record, by target."""
        mixture = _mix(candidates)
        shape = (knowledge.targets.size, candidates.n_items)
        entries = (knowledge.items, knowledge.indptr)
        has = sparse.csr_array((np.ones(knowledge.items.size), *entries), shape=shape)
        known, of_clusters = [has], [mixture.of_clusters]
        if knowledge.values is not None:
            above = (knowledge.values - mixture.means[knowledge.items]) / self.spread**2
            known.append(sparse.csr_array((above, *entries), shape=shape))
            of_clusters[0] = of_clusters[0] - mixture.leans.power(2) / (2 * self.spread**2)
            of_clusters.append(mixture.leans)
        evidence, of_clusters = sparse.hstack(known, "csr"), sparse.vstack(of_clusters, "csr")
        height = max(1, _MOST_SCORES // candidates.n_records)
        for start in range(0, knowledge.targets.size, height):
            some = slice(start, start + height)
            scores = (evidence[some] @ of_clusters).toarray()[:, mixture.clusters]
            yield from scores + (has[some] @ mixture.of_rows).toarray()


@brief
class _Mixture(NamedTuple):
    """How much likelier each record makes the choices of its users, as logarithms."""

    clusters: Positions
    # Of an item by the record's cluster and all records, next to all records; (n_items, n_clusters)
    of_clusters: Any
    # Of an item by the record, its cluster and all records, next to the latter two; (n_items,
    # n_records)
    of_rows: Any
    # Mean value of an item in a cluster less that in all records, and the latter
    leans: Any
    means: Numbers


_MIXTURES: WeakKeyDictionary[Candidates, _Mixture] = WeakKeyDictionary()


def _mix(candidates: Candidates) -> _Mixture:
    """Mix each record with its cluster and with all records; once per release."""
    known = _MIXTURES.get(candidates)
    if known is not None:
        return known
    n_items, n_records = candidates.n_items, candidates.n_records
    clusters = find_clusters(candidates)
    if clusters is None:
        clusters = np.arange(n_records)
    items, records, values = candidates.items, candidates.records, candidates.values
    n_users, n_clusters = candidates.sizes[records].astype(np.float64), int(clusters.max()) + 1
    n_raters = np.bincount(items, n_users, n_items)
    means = np.bincount(items, n_users * values, n_items) / np.maximum(n_raters, 1)
    of_all = _OF_ALL * n_raters / max(n_raters.sum(), 1)
    cells, cell_of = np.unique(
        items.astype(np.int64) * n_clusters + clusters[records], return_inverse=True
    )
    places = np.divmod(cells, n_clusters)
    counts = np.bincount(cell_of, n_users)
    of_cluster = _OF_CLUSTER * counts / np.bincount(places[1], counts)[places[1]]
    mixed = of_cluster + of_all[places[0]]
    leans = np.bincount(cell_of, n_users * values) / counts - means[places[0]]
    of_row = _OF_ROW / candidates.activity[records] / mixed[cell_of]
    mixture = _Mixture(
        clusters=clusters,
        of_clusters=sparse.csr_array(
            (np.log(mixed / of_all[places[0]]), places), shape=(n_items, n_clusters)
        ),
        of_rows=sparse.csr_array(
            (np.log1p(of_row), records, candidates.indptr), shape=(n_items, n_records)
        ),
        leans=sparse.csr_array((leans, places), shape=(n_items, n_clusters)),
        means=means,
    )
    _MIXTURES[candidates] = mixture
    return mixture


def forget_mixture(candidates: Candidates) -> None:
    """Free what `ClusterLikelihood` keeps of a release: as much memory as the release takes."""
    _MIXTURES.pop(candidates, None)


def _compare(candidates: Candidates, clusters: Positions) -> tuple[Numbers, Numbers]:
    """Return how many items any two clusters have in common, and with how many equal values."""
    n_levels, n_items = candidates.levels.size, candidates.n_items
    cells = candidates.items.astype(np.int64) * n_levels + candidates.codes
    n_cells = n_items * n_levels
    pairs = sorted_unique(clusters[candidates.records].astype(np.int64) * n_cells + cells)
    of, cells = np.divmod(pairs, n_cells)
    compared = []
    for columns, width in ((cells // n_levels, n_items), (cells, n_cells)):
        shape = (int(clusters.max()) + 1, width)
        has = sparse.csr_array((np.ones(pairs.size), (of, columns)), shape=shape)
        counts = (has @ has.T).toarray()
        np.fill_diagonal(counts, 0)
        compared.append(counts)
    return compared[0], compared[1]


def _features(
    table: AttackTarget, known: Knowledge, clusters: Positions, record: Positions
) -> Scores:
    """Return the evidence of each record for each target, (features, targets, records), standard.

    The records of every other target are known, but not to themselves.
    """
    sizes = table.candidates.sizes.astype(np.float32)
    rows = np.repeat(np.arange(sizes.size), np.diff(table.indptr))
    released, columns = np.unique(table.indices, return_inverse=True)
    records = sparse.csr_array(
        (np.ones(rows.size, np.float32), (rows, columns)), shape=(sizes.size, released.size)
    )
    values = sparse.csr_array(
        (table.values.astype(np.float32), (rows, columns)), shape=records.shape
    )
    users = sparse.csr_array((sizes, (clusters, np.arange(sizes.size))))
    counts, totals = (users @ records).toarray(), (users @ values).toarray()
    n_raters = counts.sum(axis=0)
    background = np.minimum((n_raters + 0.25) / (sizes.sum() + 0.5), 0.999)
    shares = counts / users.sum(axis=1)[:, None]
    entries = (known.items, known.indptr)
    shape = (known.targets.size, table.n_items)
    ones = np.ones(known.items.size, np.float32)
    has = sparse.csr_array((ones, *entries), shape=shape)[:, released]
    n_known = np.maximum(has.sum(axis=1), 1)
    by_cluster = _of_items(has, shares, 0.7, background)
    rated = has
    if known.values is not None:
        means = totals.sum(axis=0) / n_raters
        leans = np.where(counts > 0, totals / np.maximum(counts, 1) - means, 0.0)
        rated = sparse.csr_array((known.values.astype(np.float32), *entries), shape=shape)
        rated = rated[:, released]
        above = rated - has * means
        above -= has * (above.sum(axis=1) / (n_known + 2))[:, None]
        product, squares = above @ leans.T, has @ (leans**2).T
        lengths = np.sqrt((above**2) @ (leans != 0).astype(np.float32).T * squares + 1)
        by_cluster += [product - squares / 2, product / lengths]
    by_cluster += _of_length(n_known, shares.sum(axis=1))
    of_clusters, of_records = _by_embeddings(rated, values, users, sizes, clusters[record])
    features = [each[:, clusters] for each in by_cluster + of_clusters] + of_records
    features += _of_items(has, records.toarray(), 0.5, background)
    features += _of_length(n_known, records.sum(axis=1))
    unknown = np.tile(sizes - np.bincount(record, minlength=sizes.size), (known.targets.size, 1))
    unknown[::2][np.arange(record.size), record] += 1
    features.append(unknown)
    joined = np.empty((len(features), *features[0].shape), np.float32)
    for into, each in zip(joined, features, strict=True):
        into[:] = (each - each.mean()) / (each.std() + 1e-9)
    return joined


def _of_items(
    has: Any, shares: Numbers | Scores, weight: float, background: Numbers | Scores
) -> list[Any]:
    """Return how a target's items, and all that they lack, agree with given shares of items."""
    likely = weight * shares + (1 - weight) * background
    present = np.log(likely / background)
    absent = np.log((1 - np.minimum(likely, 0.995)) / (1 - background))
    lengths = np.sqrt(has.sum(axis=1)[:, None].clip(1) * (shares**2).sum(axis=1) + 1e-9)
    return [
        has @ present.T,
        absent.sum(axis=1) - has @ absent.T,
        has @ (shares / np.sqrt(background)).T / lengths,
    ]


def _by_embeddings(
    targets: Any, records: Any, users: Any, sizes: Scores, cluster: Positions
) -> tuple[list[Any], list[Any]]:
    """Return how targets agree with clusters, and with records, on the directions of either."""
    weights = 1 / np.sqrt(np.diff(records.tocsc().indptr) + _DAMPING)
    of_targets, of_records = _liked_rows(targets, weights), _liked_rows(records, weights)
    of_clusters = sparse.diags_array(1 / users.sum(axis=1)) @ users @ of_records
    found: tuple[list[Any], list[Any]] = ([], [])
    for rows in (of_targets, sparse.diags_array(np.sqrt(sizes)) @ of_records):
        n_directions = min(_DIRECTIONS, *rows.shape)
        directions = randomized_svd(rows, n_directions, random_state=0)[2].T
        embedded = of_targets @ directions
        for of, agree in zip((of_clusters, of_records), found, strict=True):
            agree.append(normalize(embedded) @ normalize(of @ directions).T)
        found[0].append(_of_members(embedded, of_clusters @ directions, cluster))
    return found


def _of_members(targets: Numbers, clusters: Numbers, cluster: Positions) -> Numbers:
    """Return the squared distances of targets to the means of clusters and of their known members.

    Every other target is a member of the given cluster, whom a known target leaves out.
    """
    members = targets[::2]
    n_rows, sums = np.ones(len(clusters)), clusters.copy()
    np.add.at(n_rows, cluster, 1)
    np.add.at(sums, cluster, members)
    means = sums / n_rows[:, None]
    apart = (targets**2).sum(axis=1)[:, None] - 2 * targets @ means.T + (means**2).sum(axis=1)
    others = (sums[cluster] - members) / (n_rows[cluster] - 1)[:, None]
    apart[::2][np.arange(cluster.size), cluster] = ((members - others) ** 2).sum(axis=1)
    return apart


def _liked_rows(values: Any, weights: Numbers) -> Any:
    """Return unit rows in which items at or above the row's mean value count more."""
    n_items = np.diff(values.indptr)
    means = values.sum(axis=1) / np.maximum(n_items, 1)
    liked = np.where(values.data >= np.repeat(means, n_items), 1, _DISLIKED)
    rows = sparse.csr_array((liked, values.indices, values.indptr), shape=values.shape)
    return normalize(rows @ sparse.diags_array(weights))


def _fit_to_sizes(chances: Scores, unknown: Numbers | Positions) -> Scores:
    """Return chances whose sum per record is at most, or nearly, its number of unknown users."""
    most = np.maximum(unknown, 1e-6)
    for _ in range(_ROUNDS):
        chances = chances * np.minimum(1, most / np.maximum(chances.sum(axis=0), 1e-12))
        chances /= chances.sum(axis=1, keepdims=True)
    return chances


def _of_length(n_known: Scores, lengths: Scores) -> list[Scores]:
    """Return how far each target's number of items is from each length, in logs, and its square."""
    apart = np.abs(np.log(n_known)[:, None] - np.log(np.maximum(lengths, 1)))
    return [apart, apart**2]


def _fit(features: Scores, record: Positions) -> Numbers:
    """Return the weights by which a conditional logit gives the own records the best chances."""
    chosen = features[:, np.arange(record.size), record]

    def loss(weights: Numbers) -> tuple[float, Numbers]:
        chances = _chances(features, weights)
        likelihood = np.log(chances[np.arange(record.size), record] + 1e-30).mean(dtype=np.float64)
        expected = np.tensordot(features, chances, 2) / record.size
        slope = expected - chosen.mean(axis=1) + 2 * _RIDGE * weights
        return float(_RIDGE * weights @ weights - likelihood), slope.astype(np.float64)

    start = np.zeros(len(features))
    fitted: Numbers = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return fitted


def _chances(features: Scores, weights: Numbers) -> Scores:
    """Return the chance of each record for each target, shape (targets, records)."""
    scores = np.tensordot(weights.astype(np.float32), features, 1)
    chances: Scores = softmax(scores, axis=1)
    return chances
