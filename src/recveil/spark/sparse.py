"""The method sparse by executors: rows of classes, sampled from clusters of users."""

import io
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from recveil.clustering import KGather
from recveil.methods.base import check_seed, seed_or_random
from recveil.methods.rare_items import activity_on, split_items
from recveil.methods.release_summary import ReleaseSummary, SparseSummary
from recveil.methods.sparse.anonymizer import ClusterValues, SparseRows, as_far_apart, label_rows
from recveil.methods.sparse.classes import (
    NEAR,
    SWEEPS,
    Choices,
    Dealt,
    deal_classes,
    draw_items,
    fit_rows,
    newton_step,
)
from recveil.methods.sparse.item_choice import (
    RANK,
    ClusterEmbeddings,
    expected_raters,
    fit_by_newton,
    log_activity,
    root_of_covariance,
    square_of,
    weigh_choices,
)
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.records import Groups
from recveil.release.sides import Private, Published, Sides
from recveil.release.specs.sparse import SPARSE
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread
from recveil.spark.clusters import (
    KEY_BITS,
    DistributedGroups,
    count_groups,
    of_table,
    parts_for,
    parts_of,
    reject_small,
)
from recveil.spark.embeddings import (
    EmbeddingBins,
    ItemFactors,
    RatedItems,
    embed_users,
    find_bins,
    learn_factors,
    refine_factors,
)
from recveil.spark.group_making import expect_groups, gather_users, prefix_of, reject_table
from recveil.spark.group_rows import ClassRows, GroupWriter, bare
from recveil.spark.input import Lake
from recveil.spark.users import (
    DistributedUsers,
    NumberedUsers,
    ReleasePlan,
    Whole,
    add_up,
    in_pieces,
    number_users,
    ratings_of,
    some_at_a_time,
    sum_frame,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Oversampling and iterations of the randomized decomposition, as in scikit-learn.
_MORE, _ROUNDS = 10, 6
# Unit of integer sums. A user adds at most 1, so that sums over 10 ** 9 users fit into 64 bits.
_STEPS = float(1 << 32)


@brief
class PreferenceEmbeddings(NamedTuple):
    """Directions in which users' choices of items differ most."""

    # The number of raters of each item
    support: NDArray[np.int64]
    # Orthonormal columns
    directions: NDArray[np.float64]

    def embed(self, ratings: Ratings) -> NDArray[np.float32]:
        """Return the embeddings of users, shape (n_users, rank), independent of each other."""
        return np.asarray(weigh_choices(ratings, self.support) @ self.directions, np.float32)

    def _facts(self) -> dict[str, object]:
        return {"items": self.support.size, "rank": self.directions.shape[1]}


def learn_preferences(
    users: DistributedUsers, support: NDArray[np.int64], rng: np.random.Generator
) -> PreferenceEmbeddings:
    """Find the main directions of choices by subspace iteration (Halko et al. 2011)."""
    rank = min(RANK, users.n_users, users.n_items)
    basis = _orthonormalize(rng.standard_normal((users.n_items, min(rank + _MORE, users.n_items))))
    for _ in range(_ROUNDS):
        basis = _orthonormalize(users.add_up(_multiply_gram, support, basis) / _STEPS)
    product = users.add_up(_multiply_gram, support, basis) / _STEPS
    with one_thread():  # for equal bits with any number of threads
        inner = basis.T @ product
        _, turned = np.linalg.eigh((inner + inner.T) / 2)
        directions = basis @ turned[:, ::-1][:, :rank]
    return PreferenceEmbeddings(support, np.ascontiguousarray(directions))


def _orthonormalize(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    with one_thread():
        return np.asarray(np.linalg.qr(columns)[0])


def _multiply_gram(
    ratings: Ratings, support: NDArray[np.int64], basis: NDArray[np.float64]
) -> Whole:
    """Multiply the item Gram matrix with a basis, as a sum over users."""
    preferences = weigh_choices(ratings, support)
    sums = np.zeros(basis.shape, np.int64)
    _add_products_of_items(
        preferences.indptr, preferences.indices, preferences.data, preferences @ basis, sums
    )
    return sums


@compiled()
def _add_products_of_items(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[Any],
    places: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    for user in range(indptr.size - 1):
        for at in range(indptr[user], indptr[user + 1]):
            for i in range(places.shape[1]):
                sums[indices[at], i] += np.int64(np.rint(weights[at] * places[user, i] * _STEPS))


# Ratings of the bins of one partition, about.
_RATINGS_OF_A_PARTITION = 1 << 22
_BINNED = "bin long, number long, items array<int>, ratings array<float>"
# A row per user, and one per bin.
_GATHERED = "part long, key long, number long, clusters binary"
# Random streams.
_BINS, _GROUPING, _DEALING = 41, 42, 43

ItemSplit = tuple[NDArray[np.int32], NDArray[np.int32]]


@brief
class ClusterTable(NamedTuple):
    """The clusters of a bin, and their classes."""

    # The bin
    number: NDArray[np.int64]
    sizes: NDArray[np.int64]
    # Means over the users of each cluster
    places: NDArray[np.float64]
    # Common items per user, as the exponential of the mean logarithm
    usual: NDArray[np.float64]
    # Means of user factors; without columns for likes
    factors: NDArray[np.float64]
    # Raters of each common item in each cluster, in compressed rows
    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    raters: NDArray[np.int64]
    # The cluster, size and key of each class
    cluster_of: NDArray[np.int64]
    class_sizes: NDArray[np.int64]
    keys: NDArray[np.int64]
    # Numbers of common and rare items in its row
    lengths: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        number: int,
        ratings: Ratings,
        places: NDArray[np.float32],
        factors: NDArray[np.float32],
        cluster_of: NDArray[np.int64],
        common: NDArray[np.int32],
        classes: Dealt,
        keys: NDArray[np.int64],
    ) -> Self:
        """Summarize the clusters of users."""
        sizes = np.bincount(cluster_of)
        n = cluster_of.size
        member = sparse.csr_array((np.ones(n), (cluster_of, np.arange(n))), shape=(sizes.size, n))
        rated = ratings.csr.astype(np.float64)
        rated.data = np.ones_like(rated.data)
        counts = (member @ rated).tocsc()[:, common].tocsr()
        counts.sort_indices()
        logs = log_activity(activity_on(ratings, [common])[:, 0])
        return cls(
            number=np.array(number),
            sizes=sizes,
            places=(member @ places.astype(np.float64)) / sizes[:, None],
            usual=np.exp(np.asarray(member @ logs) / sizes),
            factors=(member @ factors.astype(np.float64)) / sizes[:, None],
            starts=counts.indptr.astype(np.int64),
            items=counts.indices.astype(np.int64),
            raters=counts.data.astype(np.int64),
            cluster_of=classes.cluster_of,
            class_sizes=classes.sizes,
            keys=keys,
            lengths=classes.lengths,
        )

    @property
    def dealt(self) -> Dealt:
        """The classes, without their members."""
        no_users = np.empty(0, np.int64)
        return Dealt(no_users, self.cluster_of, self.class_sizes, self.lengths)

    def counted(self, n_common: int) -> sparse.csr_array:
        """Return how many users of each cluster rated each common item."""
        shape = (self.sizes.size, n_common)
        return sparse.csr_array((self.raters.astype(float), self.items, self.starts), shape=shape)

    def packed(self) -> bytes:
        """Return it as bytes in NumPy's format."""
        buffer = io.BytesIO()
        np.savez(buffer, **self._asdict())
        return buffer.getvalue()

    @classmethod
    def unpacked(cls, content: bytes) -> Self:
        """Restore what was packed."""
        with np.load(io.BytesIO(content), allow_pickle=False) as result:
            return cls(**{name: result[name] for name in cls._fields})

    def _facts(self) -> dict[str, object]:
        return {"clusters": self.sizes.size, "classes": self.cluster_of.size}


@brief
class DistributedClusters(NamedTuple):
    """Clusters among executors, bin by bin."""

    # The column `clusters`, a row per bin
    frame: "DataFrame"
    # Members of the classes
    classes: DistributedGroups

    def add_up(self, sums: Callable[..., Whole], *arguments: Any) -> Whole:
        """Return ``sums(clusters, *arguments)``, added over all bins."""
        return sum_frame(self.frame, partial(_sums_of, sums=sums, arguments=arguments))

    def _facts(self) -> dict[str, object]:
        return self.classes._facts()


def _sums_of(
    batches: Iterator[pa.RecordBatch], sums: Callable[..., Whole], arguments: tuple[Any, ...]
) -> Iterator[pa.RecordBatch]:
    yield from add_up(
        sums(ClusterTable.unpacked(content.as_py()), *arguments)
        for batch in batches
        for content in batch.column("clusters")
    )


def gather_clusters(
    users: DistributedUsers,
    numbered: NumberedUsers,
    preferences: PreferenceEmbeddings,
    item_factors: ItemFactors | None,
    split: ItemSplit,
    *,
    k: int,
    cluster_size: int,
    secret: tuple[int, ...],
) -> DistributedClusters:
    """Cluster users with similar choices, and split each cluster into classes of at least k."""
    least = max(k, cluster_size)
    embedded = embed_users(users, numbered, preferences.embed)
    bins = find_bins(embedded, users.n_users, least, np.random.default_rng([*secret, _BINS]))
    rows = numbered.frame.mapInArrow(
        partial(_binned, scale=users.scale, preferences=preferences, bins=bins), _BINNED
    )
    work = of_table(
        _gathered,
        scale=users.scale,
        preferences=preferences,
        item_factors=item_factors,
        split=split,
        k=k,
        least=least,
        secret=secret,
        n_parts=parts_for(users.n_users),
    )
    n_partitions = -(-int(preferences.support.sum()) // _RATINGS_OF_A_PARTITION) + 1
    result = rows.repartition(n_partitions, "bin").groupBy("bin").applyInArrow(work, _GATHERED)
    frame = users.keep(result)
    members = frame.where("clusters is null").select("part", "key", "number")
    classes = count_groups(members, users.n_users, k, secret)
    return DistributedClusters(frame.where("clusters is not null").select("clusters"), classes)


def _binned(
    batches: Iterator[pa.RecordBatch],
    scale: RatingScale,
    preferences: PreferenceEmbeddings,
    bins: EmbeddingBins,
) -> Iterator[pa.RecordBatch]:
    """Add the bin of each user to their row."""
    for table in some_at_a_time(batches):
        places = preferences.embed(ratings_of(table, scale, preferences.support.size))
        result = pa.array(bins.of(table["number"].to_numpy(), places))
        columns = [table[name] for name in ("number", "items", "ratings")]
        yield from pa.table([result, *columns], ["bin", "number", "items", "ratings"]).to_batches()


def _gathered(
    table: pa.Table,
    scale: RatingScale,
    preferences: PreferenceEmbeddings,
    item_factors: ItemFactors | None,
    split: ItemSplit,
    k: int,
    least: int,
    secret: tuple[int, ...],
    n_parts: int,
) -> pa.Table:
    """Cluster the users of a bin, split clusters into classes, and draw the key of each class."""
    table = table.sort_by("number")
    number = int(table["bin"][0].as_py())
    ratings = ratings_of(table, scale, preferences.support.size)
    places = preferences.embed(ratings)
    cluster_of = _clusters_of(places, least, np.random.default_rng([*secret, _GROUPING, number]))
    rng = np.random.default_rng([*secret, _DEALING, number])
    classes = deal_classes(cluster_of, activity_on(ratings, split), k, rng)
    reject_small(classes.sizes, k)
    keys = rng.integers(1 << KEY_BITS, size=classes.sizes.size)
    none = np.zeros((ratings.n_users, 0), np.float32)
    factors = none if item_factors is None else item_factors.fit_users(ratings)
    clusters = ClusterTable.of(
        number, ratings, places, factors, cluster_of, split[0], classes, keys
    )
    user_keys = keys[classes.class_of]
    members = [
        pa.array(parts_of(user_keys, n_parts)),
        pa.array(user_keys),
        table["number"].combine_chunks(),
    ]
    columns = [pa.concat_arrays([column, pa.nulls(1, pa.int64())]) for column in members]
    packed = pa.array([None] * ratings.n_users + [clusters.packed()], pa.binary())
    return pa.table([*columns, packed], ["part", "key", "number", "clusters"])


def _clusters_of(
    places: NDArray[np.float32], least: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the cluster of each user of a bin."""
    clusters = np.zeros(len(places), np.int64)
    if len(places) >= least:
        clusters = np.asarray(KGather(min_size=least, random_state=rng).fit(places).labels_)
    reject_small(np.bincount(clusters), least)
    return clusters


_LONGEST_LOG, _LARGEST_FACTOR = 16.0, 16.0
# Unit of sums over clusters, which are rounded once per bin.
_STEPS_OF_BINS = float(1 << 20)
# Standard deviations below this count as zero, as sums are not finer.
_EQUAL = 2.0**-15
# The largest factor by which predictions of clusters are spread. It is larger than on one machine,
# as users' predictions are shrunk more here. With 2, fewer values are high, and rankers that are
# trained on these alone are worse.
_APART = 2.5
# Random streams.
_EMBEDDINGS = 51


@brief
class ClusterRule(NamedTuple):
    """The parameters from which the rows of classes are sampled."""

    # Mean and standard deviation of users' embeddings
    centre: NDArray[np.float64]
    apart: NDArray[np.float64]
    # Of all users; `embeddings_of` adds those of a bin's clusters
    embeddings: ClusterEmbeddings
    # Log odds per item that give it the intended number of rows
    of_items: NDArray[np.float64]
    # Mean of user factors
    middle: NDArray[np.float64]
    # Mean squared distances from it, of users and of clusters
    stretched: NDArray[np.float64]
    # None for likes
    item_factors: ItemFactors | None
    # The root of all random streams, with the table's digest
    secret: tuple[int, ...]

    def embeddings_of(self, clusters: ClusterTable) -> ClusterEmbeddings:
        """Return the embeddings of the clusters of a bin."""
        return self.embeddings._replace(places=(clusters.places - self.centre) / self.apart)

    def choices(self, clusters: ClusterTable) -> Choices:
        """Return the item probabilities of the classes of a bin, equal at each call."""
        rng = np.random.default_rng([*self.secret, _EMBEDDINGS, int(clusters.number)])
        lengths = clusters.lengths[:, 0]
        rows = self.embeddings_of(clusters).drawn(clusters.cluster_of, lengths, rng)
        choices = Choices.of(rows, self.embeddings.slopes)
        choices.of_items[:] = self.of_items
        fit_rows(choices, lengths)
        return choices

    def values(self, clusters: ClusterTable, n_items: int) -> ClusterValues:
        """Return the predicted values of the clusters of a bin."""
        if self.item_factors is None:
            return ClusterValues.of_likes(clusters.sizes.size, n_items)
        users, between = self.stretched.tolist()
        of_clusters = as_far_apart(clusters.factors, self.middle, users, between, _APART)
        return ClusterValues(of_clusters, self.item_factors.factors, self.item_factors.offset)

    def _facts(self) -> dict[str, object]:
        return {"items": self.of_items.size}


def learn_rule(
    users: DistributedUsers,
    clusters: DistributedClusters,
    preferences: PreferenceEmbeddings,
    item_factors: ItemFactors | None,
    common: NDArray[np.int32],
    secret: tuple[int, ...],
) -> ClusterRule:
    """Fit the rule to all users and clusters.

    As on one machine, with one difference: there rows and items are fitted in turn, here rows are
    fitted completely for each step of the items, so that nothing of them is stored. Both have the
    same limit.
    """
    rule, spread = _start_rule(users, preferences, item_factors, common, secret)
    rule, sums = _add_clusters(clusters, rule, spread, users.n_users)
    totals = preferences.support[common].astype(np.float64)
    n = sums.shape[1]

    def expected(weights: NDArray[np.float64], _: NDArray[np.int64]) -> Any:
        result = clusters.add_up(_expected, rule, weights) / _STEPS_OF_BINS
        return result[:, :n], square_of(result[:, n:], n)

    slopes = fit_by_newton(totals, sums, float(users.n_users), expected)
    rule = rule._replace(embeddings=rule.embeddings._replace(slopes=slopes))
    for _ in range(SWEEPS):
        expected_counts, variances = clusters.add_up(_count_items, rule) / _STEPS_OF_BINS
        moved = newton_step(totals - expected_counts, variances)
        rule = rule._replace(of_items=rule.of_items + moved)
        if np.abs(moved).max() < NEAR:
            break
    return rule


def _start_rule(
    users: DistributedUsers,
    preferences: PreferenceEmbeddings,
    item_factors: ItemFactors | None,
    common: NDArray[np.int32],
    secret: tuple[int, ...],
) -> tuple[ClusterRule, NDArray[np.float64]]:
    """Initialize the rule from users' embeddings; return their covariance as well."""
    n = preferences.directions.shape[1]
    rank = 0 if item_factors is None else item_factors.factors.shape[1]
    units = np.array([1.0] + [1.0] * n + [_LONGEST_LOG] + [_LARGEST_FACTOR] * rank)
    moments = (
        users.add_up(_products, preferences, item_factors, common) / _STEPS * np.outer(units, units)
    )
    means = moments[0, 1:] / users.n_users
    spread = moments[1:, 1:] / users.n_users - np.outer(means, means)
    apart = np.sqrt(np.maximum(np.diag(spread), 0.0))
    centre, apart_of_places = means[:n], np.where(apart[:n] < _EQUAL, 1.0, apart[:n])
    embeddings = ClusterEmbeddings(
        places=np.empty((0, n)),
        within=spread[:n, :n] / np.outer(apart_of_places, apart_of_places),
        activity_mean=float(means[n]),
        activity_spread=1.0 if apart[n] < _EQUAL * _LONGEST_LOG else float(apart[n]),
        items=common,
        slopes=np.empty(0),
    )
    of_users = 0.0 if item_factors is None else _stretch(item_factors, spread[n + 1 :, n + 1 :])
    rule = ClusterRule(
        centre=centre,
        apart=apart_of_places,
        embeddings=embeddings,
        of_items=np.zeros(common.size),
        middle=means[n + 1 :],
        stretched=np.array([of_users, 0.0]),
        item_factors=item_factors,
        secret=secret,
    )
    return rule, embeddings.within


def _add_clusters(
    clusters: DistributedClusters, rule: ClusterRule, spread: NDArray[np.float64], n_users: int
) -> tuple[ClusterRule, NDArray[np.float64]]:
    """Add the spread of clusters; return the sums of the regressors of each item's raters as well.

    The spread within clusters is the difference between users' and clusters' spread.
    """
    n, n_common = rule.centre.size, rule.of_items.size
    result = clusters.add_up(_summarize, rule) / _STEPS_OF_BINS
    sums = result[: n_common * (n + 2)].reshape(n_common, n + 2)
    width = n + rule.middle.size
    between = result[n_common * (n + 2) :].reshape(width, width) / n_users
    with one_thread():
        within = root_of_covariance(spread - between[:n, :n])
    stretched = rule.stretched.copy()
    if rule.item_factors is not None:
        stretched[1] = _stretch(rule.item_factors, between[n:, n:])
    embeddings = rule.embeddings._replace(within=within)
    return rule._replace(embeddings=embeddings, stretched=stretched), sums


def _stretch(item_factors: ItemFactors, spread: NDArray[np.float64]) -> float:
    """Return the mean squared distance between predicted rows and their mean."""
    with one_thread():
        return float(np.trace(item_factors.triangular @ spread @ item_factors.triangular.T))


def _products(
    ratings: Ratings,
    preferences: PreferenceEmbeddings,
    item_factors: ItemFactors | None,
    common: NDArray[np.int32],
) -> Whole:
    """Return the summed outer products of users' vectors, whose first entry is 1."""
    logs = log_activity(activity_on(ratings, [common])[:, 0]) / _LONGEST_LOG
    columns: list[NDArray[Any]] = [np.ones((ratings.n_users, 1)), preferences.embed(ratings)]
    columns.append(logs[:, None])
    if item_factors is not None:
        columns.append(item_factors.fit_users(ratings) / _LARGEST_FACTOR)
    return np.asarray(_add_products(np.hstack(columns).astype(np.float64)))


@compiled()
def _add_products(rows: NDArray[Any]) -> NDArray[Any]:
    n = rows.shape[1]
    sums = np.zeros((n, n), np.int64)
    for user in range(len(rows)):
        for i in range(n):
            for j in range(n):
                sums[i, j] += np.int64(np.rint(rows[user, i] * rows[user, j] * _STEPS))
    return sums


def _summarize(clusters: ClusterTable, rule: ClusterRule) -> Whole:
    """Return the sums of the regressors of each item's raters, and the spread of clusters."""
    embeddings = rule.embeddings_of(clusters)
    regressors = embeddings.regressors(np.arange(clusters.sizes.size), clusters.usual)
    sums = clusters.counted(rule.of_items.size).T @ regressors
    means = np.hstack([embeddings.places, clusters.factors - rule.middle])
    with one_thread():
        spread = (means * clusters.sizes[:, None]).T @ means
    return _whole(np.concatenate([sums.ravel(), spread.ravel()]))


def _expected(clusters: ClusterTable, rule: ClusterRule, weights: NDArray[np.float64]) -> Whole:
    """Return the expected raters in the clusters of a bin; see `expected_raters`."""
    regressors = rule.embeddings_of(clusters).regressors(
        np.arange(clusters.sizes.size), clusters.usual
    )
    return _whole(expected_raters(regressors, clusters.sizes.astype(np.float64), weights))


def _count_items(clusters: ClusterTable, rule: ClusterRule) -> Whole:
    """Return how many users of a bin have each item, with the variance."""
    choices, weights = rule.choices(clusters), clusters.class_sizes.astype(np.float32)
    sums = np.zeros((2, rule.of_items.size))
    with one_thread():
        for tile in choices.tiles():
            sums += choices.sums_of_items(tile, weights)
    return _whole(sums)


def _whole(sums: NDArray[np.float64]) -> Whole:
    return np.asarray(np.rint(sums * _STEPS_OF_BINS).astype(np.int64))


_ROWS = "part long, key long, users long, items array<int>, values array<double>"
# Random stream.
_ITEMS = 61


def draw_rows(clusters: DistributedClusters, **arguments: Any) -> "DataFrame":
    """Return a frame of all classes' rows: `part`, `key`, `users`, `items` and `values`."""
    return clusters.frame.mapInArrow(partial(_sample_rows, **arguments), _ROWS)


def count_users(rows: "DataFrame", n_items: int) -> NDArray[np.int64]:
    """Return the number of users whose rows contain each item, shape (n_items,)."""
    return sum_frame(rows.select("users", "items"), partial(_counted, n_items=n_items))


def _counted(batches: Iterator[pa.RecordBatch], n_items: int) -> Iterator[pa.RecordBatch]:
    users = np.zeros(n_items, np.int64)
    for batch in batches:
        items = batch.column("items")
        n_users = np.repeat(batch.column("users").to_numpy(), np.diff(items.offsets.to_numpy()))
        np.add.at(users, items.flatten().to_numpy(), n_users)
    yield from in_pieces(users)


def _sample_rows(batches: Iterator[pa.RecordBatch], **arguments: Any) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for content in batch.column("clusters"):
            yield from rows_of_bin(ClusterTable.unpacked(content.as_py()), **arguments)


def rows_of_bin(
    clusters: ClusterTable,
    rule: ClusterRule,
    split: ItemSplit,
    support: NDArray[np.int64],
    scale: RatingScale,
    step: float,
    n_parts: int,
) -> Iterator[pa.RecordBatch]:
    """Sample the rows of the classes of a bin.

    The number of rows with an item differs by less than one from the sum of its probabilities. Each
    bin gets its share of the users of rare items, by the rare items that its users rated.
    """
    rng = np.random.default_rng([*rule.secret, _ITEMS, int(clusters.number)])
    dealt = clusters.dealt
    of_rare, total = float(dealt.lengths[:, 1] @ dealt.sizes), float(support[split[1]].sum())
    if not of_rare:  # no user of this bin rated any of them
        split = split[0], split[1][:0]
    share = support[split[1]] * (of_rare / max(total, 1.0))
    drawn = draw_items(rule.choices(clusters), split, share, dealt, rng)
    values = rule.values(clusters, support.size)
    in_order = np.arange(dealt.sizes.size)
    first = 0
    for block in label_rows(drawn, in_order, dealt, values, scale, step):
        keys = clusters.keys[first : first + len(block)]
        first += len(block)
        offsets = pa.array(block.indptr.astype(np.int32))
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(parts_of(keys, n_parts)),
                pa.array(keys),
                pa.array(block.sizes, pa.int64()),
                pa.ListArray.from_arrays(offsets, pa.array(block.indices, pa.int32())),
                pa.ListArray.from_arrays(offsets, pa.array(block.values, pa.float64())),
            ],
            names=["part", "key", "users", "items", "values"],
        )


# Random streams.
_PREFIX, _PREFERENCES, _FACTORS = 71, 72, 73


class SparseMaking:
    """Clusters users with similar choices, and samples rows for classes of at least k users."""

    def __init__(self, k: int | None, options: Mapping[str, Any], seed: int | None) -> None:
        check_seed(seed)
        self._seed = seed_or_random(seed)
        self._maker = SparseRows(k or 0, seed=self._seed, **options)
        self._maker.check_options()

    def gather(self, lake: Lake) -> tuple[DistributedUsers, Callable[[], ReleasePlan]]:
        """Reject unsuitable tables, and gather the users on all items."""
        reject_table(lake, takes_likes=True)
        users = gather_users(lake, int(self._maker.k))
        return users, lambda: self._make(lake, users)

    def _make(self, lake: Lake, users: DistributedUsers) -> ReleasePlan:
        """Count; everything else is learned when rows are written."""
        numbered, items = number_users(users), RatedItems.of(users)
        k = int(self._maker.k)
        self._maker.check_table(users.n_users, items.support)
        secret = numbered.secret(self._seed)
        split = split_items(items.support, k)
        settings = self._maker.public_settings(lake.scale)
        step = settings.get("value_step", 1.0)

        expect = partial(
            expect_groups,
            lake,
            users.n_users,
            numbered.mean_length,
            "sparse",
            n_groups=max(1, users.n_users // k),
            width=float(items.support[np.concatenate(split)].sum()) / users.n_users,
            step=step,
        )
        published = Published(
            claim=Claim(SPARSE.claim_of({}), k),
            items=lake.items,
            scale=lake.scale,
            settings=dict(settings),
            n_users=users.n_users,
            prefix=prefix_of(users, np.random.default_rng([*secret, _PREFIX])),
            blocks=lambda: iter(()),
            default_layout="users",
            expect=expect,
        )
        learned = _Learned(users, numbered, items, split, k, self._maker.cluster_size, secret)
        by = GroupWriter(
            users,
            numbered,
            lambda: learned.clusters.classes,
            ClassRows(bare(published), step, k),
            rows_of=lambda: learned.rows(step),
        )
        release = Sides(published, Private(np.empty(0), Groups.empty(), self._seed))

        def summary() -> ReleaseSummary:
            figures = SparseSummary.of(release, learned.item_users, items.support)
            return ReleaseSummary(published, figures)

        return ReleasePlan(release, by, summary)


class _Learned:
    """What is learned of the users, each part at its first access."""

    def __init__(
        self,
        users: DistributedUsers,
        numbered: NumberedUsers,
        items: RatedItems,
        split: ItemSplit,
        k: int,
        cluster_size: int,
        secret: tuple[int, ...],
    ) -> None:
        self._users, self._numbered = users, numbered
        self._items, self._split = items, split
        self._k, self._cluster_size, self._secret = k, cluster_size, secret
        self.item_users = np.zeros(items.support.size, np.int64)

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([*self._secret, stream])

    @cached_property
    def preferences(self) -> PreferenceEmbeddings:
        """The embedding by which users are clustered."""
        return learn_preferences(self._users, self._items.support, self._rng(_PREFERENCES))

    @cached_property
    def item_factors(self) -> ItemFactors | None:
        """The factors from which values are predicted; None for likes."""
        if self._users.scale.unary:
            return None
        seed = int(self._rng(_FACTORS).integers(2**63))
        learned = learn_factors(self._users, self._numbered, self._items, seed)
        return refine_factors(self._users, self._items, learned)

    @cached_property
    def clusters(self) -> DistributedClusters:
        return gather_clusters(
            self._users,
            self._numbered,
            self.preferences,
            self.item_factors,
            self._split,
            k=self._k,
            cluster_size=self._cluster_size,
            secret=self._secret,
        )

    def rows(self, step: float) -> "DataFrame":
        """Sample the rows of all classes by executors, and count each item's users."""
        users, split = self._users, self._split
        rule = learn_rule(
            users, self.clusters, self.preferences, self.item_factors, split[0], self._secret
        )
        support = self._items.support
        drawn = draw_rows(
            self.clusters,
            rule=rule,
            split=split,
            support=support,
            scale=users.scale,
            step=step,
            n_parts=parts_for(users.n_users),
        )
        self.item_users = count_users(users.keep(drawn), support.size)
        return drawn
