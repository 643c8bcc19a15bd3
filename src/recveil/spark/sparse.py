"""Sparse making: rows of classes that are drawn from what crowds choose, by executors."""

import io
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from recveil.clustering import KGather
from recveil.methods.base import check_seed, drawn_seed
from recveil.methods.rare_items import activity_on, split_items
from recveil.methods.release_summary import sparse_as_json
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
from recveil.publish.size_estimate import Expected
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.records import Groups
from recveil.release.sides import FileFormat, Layout, Private, Published, Sides
from recveil.release.specs.sparse import SPARSE
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.linear_algebra import one_thread
from recveil.runtime.safe_repr import brief
from recveil.spark.clusters import (
    KEY_BITS,
    SpreadGroups,
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
    as_lists,
    find_bins,
    learn_factors,
    refine_factors,
)
from recveil.spark.group_making import expect_groups, people_of, prefix_of, reject_table
from recveil.spark.group_rows import ClassRows, GroupsByExecutors, bare
from recveil.spark.input import Lake
from recveil.spark.maker import Made, Ready
from recveil.spark.users import (
    DistributedUsers,
    NumberedUsers,
    Whole,
    added_up,
    in_pieces,
    number_users,
    ratings_of,
    some_at_a_time,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# So many directions more are looked for, and so often they are turned: as scikit-learn does.
_MORE, _ROUNDS = 10, 6
# Sums are in whole steps of this size. What one person adds is at most 1, so that sums of 10 ** 9
# people fit into 64 bits.
_STEPS = float(1 << 32)


@brief
class PreferenceEmbeddings(NamedTuple):
    """In which directions people differ by what they chose."""

    # How many people rated each item
    support: NDArray[np.int64]
    # At right angles to each other, and of length 1
    directions: NDArray[np.float64]

    def of_people(self, ratings: Ratings) -> NDArray[np.float32]:
        """Return the places of some people, shape (n_users, rank), whoever else is among them."""
        return np.asarray(weigh_choices(ratings, self.support) @ self.directions, np.float32)

    def _facts(self) -> dict[str, object]:
        return {"items": self.support.size, "rank": self.directions.shape[1]}


def learn_chosen(
    people: DistributedUsers, support: NDArray[np.int64], rng: np.random.Generator
) -> PreferenceEmbeddings:
    """Find the directions in which people differ most.

    Parameters
    ----------
    people : DistributedUsers
    support : ndarray of int64, shape (n_items,)
    rng : Generator
        Starts the search.

    Notes
    -----
    Source: Halko, Martinsson and Tropp 2011, subspace iteration. Sums are of whole numbers, the
    same in whatever order.
    """
    rank = min(RANK, people.n_people, people.n_items)
    basis = _upright(rng.standard_normal((people.n_items, min(rank + _MORE, people.n_items))))
    for _ in range(_ROUNDS):
        basis = _upright(people.add_up(_pulled, support, basis) / _STEPS)
    pulled = people.add_up(_pulled, support, basis) / _STEPS
    with one_thread():  # whatever the threads, the same bits
        inner = basis.T @ pulled
        _, turned = np.linalg.eigh((inner + inner.T) / 2)
        directions = basis @ turned[:, ::-1][:, :rank]
    return PreferenceEmbeddings(support, np.ascontiguousarray(directions))


def _upright(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns that span the same, at right angles to each other."""
    with one_thread():
        return np.asarray(np.linalg.qr(columns)[0])


def _pulled(ratings: Ratings, support: NDArray[np.int64], basis: NDArray[np.float64]) -> Whole:
    """Return how people who chose an item are placed, added up for each item as they chose it."""
    chosen = weigh_choices(ratings, support)
    sums = np.zeros(basis.shape, np.int64)
    _add_pulls(chosen.indptr, chosen.indices, chosen.data, chosen @ basis, sums)
    return sums


@compiled()
def _add_pulls(
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


def place_choosers(
    people: DistributedUsers, numbered: NumberedUsers, chosen: PreferenceEmbeddings
) -> "DataFrame":
    """Say where each person is: a frame of `number` and `place`, kept where the people are."""
    work = partial(_placed, scale=people.scale, chosen=chosen)
    return people.keep(numbered.frame.mapInArrow(work, "number long, place array<float>"))


def _placed(
    batches: Iterator[pa.RecordBatch], scale: RatingScale, chosen: PreferenceEmbeddings
) -> Iterator[pa.RecordBatch]:
    for table in some_at_a_time(batches):
        places = chosen.of_people(ratings_of(table, scale, chosen.support.size))
        numbers = table["number"].combine_chunks()
        yield pa.RecordBatch.from_arrays([numbers, as_lists(places)], names=["number", "place"])


# Ratings of the bins of one partition, about.
_RATINGS_OF_A_PARTITION = 1 << 22
_CROWD_ROWS = "bin long, number long, items array<int>, ratings array<float>"
# A row for each person, and one for each bin.
_GATHERED = "part long, key long, number long, crowds binary"
# What is drawn, each by a stream of its own.
_BINS, _GROUPING, _DEALING = 41, 42, 43

Kept = tuple[NDArray[np.int32], NDArray[np.int32]]


@brief
class ClusterTable(NamedTuple):
    """The crowds of a bin, and their classes."""

    # Of the bin
    number: NDArray[np.int64]
    sizes: NDArray[np.int64]
    # Means over the people of each crowd
    places: NDArray[np.float64]
    # How many common items people rated, by the mean of the logarithms
    usual: NDArray[np.float64]
    # Means of what ratings are predicted from; of likes there are none
    factors: NDArray[np.float64]
    # How many people of each crowd rated each common item, in compressed rows
    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    raters: NDArray[np.int64]
    # The crowd that each class is part of, how many people it has, and where it will stand
    cluster_of: NDArray[np.int64]
    class_sizes: NDArray[np.int64]
    keys: NDArray[np.int64]
    # How many common and rare items its row shall hold
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
        """Add up what is told of the crowds of some people."""
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
        """The classes; who is in them is not known here."""
        nobody = np.empty(0, np.int64)
        return Dealt(nobody, self.cluster_of, self.class_sizes, self.lengths)

    def counted(self, n_common: int) -> sparse.csr_array:
        """Return how many people of each crowd rated each common item."""
        shape = (self.sizes.size, n_common)
        return sparse.csr_array((self.raters.astype(float), self.items, self.starts), shape=shape)

    def packed(self) -> bytes:
        """Return it as bytes, in NumPy's format."""
        held = io.BytesIO()
        np.savez(held, **self._asdict())
        return held.getvalue()

    @classmethod
    def unpacked(cls, content: bytes) -> Self:
        """Return what was packed."""
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            return cls(**{name: found[name] for name in cls._fields})

    def _facts(self) -> dict[str, object]:
        return {"crowds": self.sizes.size, "classes": self.cluster_of.size}


@brief
class DistributedClusters(NamedTuple):
    """Clusters among executors, bin by bin."""

    # The column `crowds`, a row for each bin
    frame: "DataFrame"
    # Who is in which class
    classes: SpreadGroups

    def add_up(self, sums: Callable[..., Whole], *known: Any) -> Whole:
        """Return ``sums(crowds, *known)``, added up over all bins, the same in whatever order."""
        return added_up(self.frame, partial(_sums_of, sums=sums, known=known))

    def _facts(self) -> dict[str, object]:
        return self.classes._facts()


def _sums_of(
    batches: Iterator[pa.RecordBatch], sums: Callable[..., Whole], known: tuple[Any, ...]
) -> Iterator[pa.RecordBatch]:
    total: Whole | None = None
    for batch in batches:
        for content in batch.column("crowds"):
            found = sums(ClusterTable.unpacked(content.as_py()), *known)
            total = found if total is None else total + found
    if total is not None:
        yield from in_pieces(total)


def gather_clusters(
    people: DistributedUsers,
    numbered: NumberedUsers,
    chosen: PreferenceEmbeddings,
    known: ItemFactors | None,
    kept: Kept,
    *,
    k: int,
    crowd: int,
    secret: tuple[int, ...],
) -> DistributedClusters:
    """Gather people who choose alike in crowds, and deal each into classes of at least k."""
    least = max(k, crowd)
    placed = place_choosers(people, numbered, chosen)
    bins = find_bins(placed, people.n_people, least, np.random.default_rng([*secret, _BINS]))
    rows = numbered.frame.mapInArrow(
        partial(_binned, scale=people.scale, chosen=chosen, bins=bins), _CROWD_ROWS
    )
    work = of_table(
        _gathered,
        scale=people.scale,
        chosen=chosen,
        known=known,
        kept=kept,
        k=k,
        least=least,
        secret=secret,
        n_parts=parts_for(people.n_people),
    )
    n_partitions = -(-int(chosen.support.sum()) // _RATINGS_OF_A_PARTITION) + 1
    found = rows.repartition(n_partitions, "bin").groupBy("bin").applyInArrow(work, _GATHERED)
    frame = people.keep(found)
    members = frame.where("crowds is null").select("part", "key", "number")
    classes = count_groups(members, people.n_people, k, secret)
    return DistributedClusters(frame.where("crowds is not null").select("crowds"), classes)


def _binned(
    batches: Iterator[pa.RecordBatch],
    scale: RatingScale,
    chosen: PreferenceEmbeddings,
    bins: EmbeddingBins,
) -> Iterator[pa.RecordBatch]:
    """Add the bin of each person to their row."""
    for table in some_at_a_time(batches):
        places = chosen.of_people(ratings_of(table, scale, chosen.support.size))
        found = pa.array(bins.of(table["number"].to_numpy(), places))
        columns = [table[name] for name in ("number", "items", "ratings")]
        yield from pa.table([found, *columns], ["bin", "number", "items", "ratings"]).to_batches()


def _gathered(
    table: pa.Table,
    scale: RatingScale,
    chosen: PreferenceEmbeddings,
    known: ItemFactors | None,
    kept: Kept,
    k: int,
    least: int,
    secret: tuple[int, ...],
    n_parts: int,
) -> pa.Table:
    """Gather the people of a bin in crowds, deal these, and draw where each class will stand."""
    table = table.sort_by("number")
    number = int(table["bin"][0].as_py())
    ratings = ratings_of(table, scale, chosen.support.size)
    places = chosen.of_people(ratings)
    cluster_of = _clusters_of(places, least, np.random.default_rng([*secret, _GROUPING, number]))
    rng = np.random.default_rng([*secret, _DEALING, number])
    classes = deal_classes(cluster_of, activity_on(ratings, kept), k, rng)
    reject_small(classes.sizes, k)
    keys = rng.integers(1 << KEY_BITS, size=classes.sizes.size)
    none = np.zeros((ratings.n_users, 0), np.float32)
    factors = none if known is None else known.of_people(ratings)
    crowds = ClusterTable.of(number, ratings, places, factors, cluster_of, kept[0], classes, keys)
    own = keys[classes.class_of]
    members = [pa.array(parts_of(own, n_parts)), pa.array(own), table["number"].combine_chunks()]
    columns = [pa.concat_arrays([column, pa.nulls(1, pa.int64())]) for column in members]
    packed = pa.array([None] * ratings.n_users + [crowds.packed()], pa.binary())
    return pa.table([*columns, packed], ["part", "key", "number", "crowds"])


def _clusters_of(
    places: NDArray[np.float32], least: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the crowd of each person of a bin."""
    labels = np.zeros(len(places), np.int64)
    if len(places) >= least:
        labels = np.asarray(KGather(min_size=least, random_state=rng).fit(places).labels_)
    sizes = np.bincount(labels)
    if sizes.min() < least:
        raise RecveilError(
            f"{sizes.min()} people came into one crowd, of at least {least}; nothing is "
            f"published; this is a fault in recveil, please report it",
            code="internal.fault",
        )
    return labels


_LONGEST_LOG, _LARGEST_FACTOR = 16.0, 16.0
# Sums over crowds are of larger numbers, and few: a bin's are added up before they are rounded.
_STEPS_OF_BINS = float(1 << 20)
# Places that differ by less are equal, as sums are not finer.
_EQUAL = 2.0**-15
# Predictions of clusters are moved at most so many times as far from each other as they are:
# more than
# on one machine, as those of people, and so of crowds, are pulled together more here. With 2 fewer
# labels are high, and lists that are learned from these alone are worse.
_APART = 2.5
# What is drawn, by a stream of its own.
_TASTES = 51


@brief
class ClusterRule(NamedTuple):
    """What the rows of classes are drawn by."""

    # The mean place of people, and how far they are from it
    centre: NDArray[np.float64]
    apart: NDArray[np.float64]
    # Of everybody; the places of crowds stand with them
    tastes: ClusterEmbeddings
    # Log odds that are added for each item, so that it stands in as many rows as it shall
    of_items: NDArray[np.float64]
    # The mean of what people's ratings are predicted from
    middle: NDArray[np.float64]
    # Squared distances from there, of people and of crowds
    stretched: NDArray[np.float64]
    # None for likes
    known: ItemFactors | None
    # What all that is drawn follows from, together with the table
    secret: tuple[int, ...]

    def embeddings_of(self, crowds: ClusterTable) -> ClusterEmbeddings:
        """Return those of the crowds of a bin."""
        return self.tastes._replace(places=(crowds.places - self.centre) / self.apart)

    def choices(self, crowds: ClusterTable) -> Choices:
        """Return how likely the classes of a bin are to have each item, the same at each call."""
        rng = np.random.default_rng([*self.secret, _TASTES, int(crowds.number)])
        lengths = crowds.lengths[:, 0]
        rows = self.embeddings_of(crowds).drawn(crowds.cluster_of, lengths, rng)
        choices = Choices.of(rows, self.tastes.slopes)
        choices.of_items[:] = self.of_items
        fit_rows(choices, lengths)
        return choices

    def labels(self, crowds: ClusterTable, n_items: int) -> ClusterValues:
        """Return what people of the crowds of a bin are predicted to give."""
        if self.known is None:
            return ClusterValues.of_likes(crowds.sizes.size, n_items)
        people, between = self.stretched.tolist()
        of_crowds = as_far_apart(crowds.factors, self.middle, people, between, _APART)
        return ClusterValues(of_crowds, self.known.factors, self.known.offset)

    def _facts(self) -> dict[str, object]:
        return {"items": self.of_items.size}


def learn_rule(
    people: DistributedUsers,
    crowds: DistributedClusters,
    chosen: PreferenceEmbeddings,
    known: ItemFactors | None,
    common: NDArray[np.int32],
    secret: tuple[int, ...],
) -> ClusterRule:
    """Learn it from all people and crowds.

    Notes
    -----
    As on one machine, but for one thing: there rows and items are fitted in turn, here rows are
    fitted to the end whenever items move, so that nothing of them need be kept. Both ends are the
    same.
    """
    rule, spread = _of_people(people, chosen, known, common, secret)
    rule, sums = _of_clusters(crowds, rule, spread, people.n_people)
    totals = chosen.support[common].astype(np.float64)
    n = sums.shape[1]

    def expected(weights: NDArray[np.float64], _: NDArray[np.int64]) -> Any:
        found = crowds.add_up(_expected, rule, weights) / _STEPS_OF_BINS
        return found[:, :n], square_of(found[:, n:], n)

    slopes = fit_by_newton(totals, sums, float(people.n_people), expected)
    rule = rule._replace(tastes=rule.tastes._replace(slopes=slopes))
    for _ in range(SWEEPS):
        held, vary = crowds.add_up(_held, rule) / _STEPS_OF_BINS
        moved = newton_step(totals - held, vary)
        rule = rule._replace(of_items=rule.of_items + moved)
        if np.abs(moved).max() < NEAR:
            break
    return rule


def _of_people(
    people: DistributedUsers,
    chosen: PreferenceEmbeddings,
    known: ItemFactors | None,
    common: NDArray[np.int32],
    secret: tuple[int, ...],
) -> tuple[ClusterRule, NDArray[np.float64]]:
    """Begin with where people are; return how they spread there, too."""
    n = chosen.directions.shape[1]
    rank = 0 if known is None else known.factors.shape[1]
    units = np.array([1.0] + [1.0] * n + [_LONGEST_LOG] + [_LARGEST_FACTOR] * rank)
    moments = people.add_up(_products, chosen, known, common) / _STEPS * np.outer(units, units)
    means = moments[0, 1:] / people.n_people
    spread = moments[1:, 1:] / people.n_people - np.outer(means, means)
    apart = np.sqrt(np.maximum(np.diag(spread), 0.0))
    centre, apart_of_places = means[:n], np.where(apart[:n] < _EQUAL, 1.0, apart[:n])
    tastes = ClusterEmbeddings(
        places=np.empty((0, n)),
        within=spread[:n, :n] / np.outer(apart_of_places, apart_of_places),
        activity_mean=float(means[n]),
        activity_spread=1.0 if apart[n] < _EQUAL * _LONGEST_LOG else float(apart[n]),
        items=common,
        slopes=np.empty(0),
    )
    of_people = 0.0 if known is None else _stretch(known, spread[n + 1 :, n + 1 :])
    rule = ClusterRule(
        centre=centre,
        apart=apart_of_places,
        tastes=tastes,
        of_items=np.zeros(common.size),
        middle=means[n + 1 :],
        stretched=np.array([of_people, 0.0]),
        known=known,
        secret=secret,
    )
    return rule, tastes.within


def _of_clusters(
    crowds: DistributedClusters, rule: ClusterRule, spread: NDArray[np.float64], n_people: int
) -> tuple[ClusterRule, NDArray[np.float64]]:
    """Add how crowds spread; return what the regressors of each item's raters add up to, too.

    What people spread within crowds is what is left of how they spread.
    """
    n, n_common = rule.centre.size, rule.of_items.size
    found = crowds.add_up(_told, rule) / _STEPS_OF_BINS
    sums = found[: n_common * (n + 2)].reshape(n_common, n + 2)
    width = n + rule.middle.size
    between = found[n_common * (n + 2) :].reshape(width, width) / n_people
    with one_thread():
        within = root_of_covariance(spread - between[:n, :n])
    stretched = rule.stretched.copy()
    if rule.known is not None:
        stretched[1] = _stretch(rule.known, between[n:, n:])
    tastes = rule.tastes._replace(within=within)
    return rule._replace(tastes=tastes, stretched=stretched), sums


def _stretch(known: ItemFactors, spread: NDArray[np.float64]) -> float:
    """Return the mean squared distance between predicted rows and their mean.

    Examples
    --------
    >>> known = ItemFactors(np.zeros(1), np.ones((1, 2)), np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> _stretch(known, np.eye(2))
    5.0
    """
    with one_thread():
        return float(np.trace(known.triangular @ spread @ known.triangular.T))


def _products(
    ratings: Ratings,
    chosen: PreferenceEmbeddings,
    known: ItemFactors | None,
    common: NDArray[np.int32],
) -> Whole:
    """Return the products of all pairs of numbers of each person, added up; the first one is 1."""
    logs = log_activity(activity_on(ratings, [common])[:, 0]) / _LONGEST_LOG
    columns: list[NDArray[Any]] = [np.ones((ratings.n_users, 1)), chosen.of_people(ratings)]
    columns.append(logs[:, None])
    if known is not None:
        columns.append(known.of_people(ratings) / _LARGEST_FACTOR)
    return np.asarray(_add_products(np.hstack(columns).astype(np.float64)))


@compiled()
def _add_products(rows: NDArray[Any]) -> NDArray[Any]:
    n = rows.shape[1]
    sums = np.zeros((n, n), np.int64)
    for person in range(len(rows)):
        for i in range(n):
            for j in range(n):
                sums[i, j] += np.int64(np.rint(rows[person, i] * rows[person, j] * _STEPS))
    return sums


def _told(crowds: ClusterTable, rule: ClusterRule) -> Whole:
    """Return what the regressors of each item's raters add up to, and how crowds spread."""
    tastes = rule.embeddings_of(crowds)
    known = tastes.regressors(np.arange(crowds.sizes.size), crowds.usual)
    sums = crowds.counted(rule.of_items.size).T @ known
    means = np.hstack([tastes.places, crowds.factors - rule.middle])
    with one_thread():
        spread = (means * crowds.sizes[:, None]).T @ means
    return _whole(np.concatenate([sums.ravel(), spread.ravel()]))


def _expected(crowds: ClusterTable, rule: ClusterRule, weights: NDArray[np.float64]) -> Whole:
    """Return how many raters some weights expect of the crowds of a bin; see `expected_raters`."""
    known = rule.embeddings_of(crowds).regressors(np.arange(crowds.sizes.size), crowds.usual)
    return _whole(expected_raters(known, crowds.sizes.astype(np.float64), weights))


def _held(crowds: ClusterTable, rule: ClusterRule) -> Whole:
    """Return how many people of a bin have each item, and how that varies."""
    choices, weights = rule.choices(crowds), crowds.class_sizes.astype(np.float32)
    sums = np.zeros((2, rule.of_items.size))
    with one_thread():
        for tile in choices.tiles():
            sums += choices.sums_of_items(tile, weights)
    return _whole(sums)


def _whole(sums: NDArray[np.float64]) -> Whole:
    return np.asarray(np.rint(sums * _STEPS_OF_BINS).astype(np.int64))


_ROWS = "part long, key long, people long, items array<int>, labels array<double>"
# What is drawn, by a stream of its own.
_ITEMS = 61


def draw_rows(
    crowds: DistributedClusters,
    rule: ClusterRule,
    kept: Kept,
    support: NDArray[np.int64],
    scale: RatingScale,
    step: float,
    n_parts: int,
) -> "DataFrame":
    """Return a frame of the rows of all classes: `part`, `key`, `people`, `items` and `labels`.

    Parameters
    ----------
    crowds : DistributedClusters
    rule : ClusterRule
    kept : tuple of ndarray of int32
        Common and rare items.
    support : ndarray of int64, shape (n_items,)
    scale : RatingScale
    step : float
        That of the labels.
    n_parts : int
    """
    of_bin = partial(
        rows_of_bin,
        rule=rule,
        kept=kept,
        support=support,
        scale=scale,
        step=step,
        n_parts=n_parts,
    )
    work = partial(_drawn, of_bin=of_bin)
    return crowds.frame.mapInArrow(work, _ROWS)


def count_users(rows: "DataFrame", n_items: int) -> NDArray[np.int64]:
    """Return how many people's rows hold each item, shape (n_items,)."""
    return added_up(rows.select("people", "items"), partial(_counted, n_items=n_items))


def _counted(batches: Iterator[pa.RecordBatch], n_items: int) -> Iterator[pa.RecordBatch]:
    people = np.zeros(n_items, np.int64)
    for batch in batches:
        items = batch.column("items")
        behind = np.repeat(batch.column("people").to_numpy(), np.diff(items.offsets.to_numpy()))
        np.add.at(people, items.flatten().to_numpy(), behind)
    yield from in_pieces(people)


def _drawn(
    batches: Iterator[pa.RecordBatch], of_bin: Callable[[ClusterTable], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for content in batch.column("crowds"):
            yield from of_bin(ClusterTable.unpacked(content.as_py()))


def rows_of_bin(
    crowds: ClusterTable,
    rule: ClusterRule,
    kept: Kept,
    support: NDArray[np.int64],
    scale: RatingScale,
    step: float,
    n_parts: int,
) -> Iterator[pa.RecordBatch]:
    """Draw the rows of the classes of a bin.

    An item stands in less than one row more or less of each bin than its probabilities add up to.
    Of the people of rare items each bin has its share, by how many rare items its people rated.
    """
    rng = np.random.default_rng([*rule.secret, _ITEMS, int(crowds.number)])
    dealt = crowds.dealt
    of_rare, total = float(dealt.lengths[:, 1] @ dealt.sizes), float(support[kept[1]].sum())
    if not of_rare:  # nobody here rated any of them
        kept = kept[0], kept[1][:0]
    share = support[kept[1]] * (of_rare / max(total, 1.0))
    drawn = draw_items(rule.choices(crowds), kept, share, dealt, rng)
    labels = rule.labels(crowds, support.size)
    in_order = np.arange(dealt.sizes.size)
    first = 0
    for block in label_rows(drawn, in_order, dealt, labels, scale, step):
        keys = crowds.keys[first : first + len(block)]
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
            names=["part", "key", "people", "items", "labels"],
        )


# What is drawn, each by a stream of its own.
_PREFIX, _CHOSEN, _FACTORS = 71, 72, 73


class SparseMaking:
    """Clusters users with similar choices, and samples rows for classes of at least k users."""

    def __init__(self, k: int | None, given: Mapping[str, Any], seed: int | None) -> None:
        check_seed(seed)
        self._seed = drawn_seed(seed)
        self._maker = SparseRows(k or 0, seed=self._seed, **given)
        self._maker.check_options()

    def gather(self, lake: Lake) -> Ready:
        """Refuse what would tell of few people, and gather all of them on all items."""
        reject_table(lake, takes_likes=True)
        people = people_of(lake, int(self._maker.k))
        return Ready(people, lambda: self._make(lake, people))

    def _make(self, lake: Lake, people: DistributedUsers) -> Made:
        """Count; all else is learned when rows are to be written."""
        numbered, items = number_users(people), RatedItems.of(people)
        k = int(self._maker.k)
        self._maker.check_table(people.n_people, items.support)
        secret = numbered.secret(self._seed)
        kept = split_items(items.support, k)
        settings = self._maker.public_settings(lake.scale)
        step = settings.get("label_step", 1.0)

        def expect(layout: Layout, file_format: FileFormat) -> Expected:
            return expect_groups(
                lake,
                people.n_people,
                numbered.mean_length,
                "sparse",
                n_groups=max(1, people.n_people // k),
                width=float(items.support[np.concatenate(kept)].sum()) / people.n_people,
                step=step,
                layout=layout,
                file_format=file_format,
            )

        published = Published(
            claim=Claim(SPARSE.claim_of({}), k),
            items=lake.items,
            scale=lake.scale,
            settings=settings,
            n_users=people.n_people,
            prefix=prefix_of(people, np.random.default_rng([*secret, _PREFIX])),
            blocks=lambda: iter(()),
            default_layout="users",
            expect=expect,
        )
        learned = _Learned(people, numbered, items, kept, k, self._maker.crowd, secret)
        by = GroupsByExecutors(
            people,
            numbered,
            lambda: learned.crowds.classes,
            ClassRows(bare(published), step, k),
            rows_of=lambda: learned.rows(step),
        )
        release = Sides(published, Private(np.empty(0), Groups.empty(), self._seed))

        def told() -> list[str]:
            return sparse_as_json(release, learned.held, items.support)

        return Made(release, by, told)


class _Learned:
    """What is learned of people for their rows, each thing once, when it is first asked for."""

    def __init__(
        self,
        people: DistributedUsers,
        numbered: NumberedUsers,
        items: RatedItems,
        kept: Kept,
        k: int,
        crowd: int,
        secret: tuple[int, ...],
    ) -> None:
        self._people, self._numbered = people, numbered
        self._items, self._kept = items, kept
        self._k, self._crowd, self._secret = k, crowd, secret
        self.held = np.zeros(items.support.size, np.int64)

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([*self._secret, stream])

    @cached_property
    def chosen(self) -> PreferenceEmbeddings:
        """By what people are gathered."""
        return learn_chosen(self._people, self._items.support, self._rng(_CHOSEN))

    @cached_property
    def known(self) -> ItemFactors | None:
        """What ratings are predicted from; nothing is predicted of likes."""
        if self._people.scale.unary:
            return None
        seed = int(self._rng(_FACTORS).integers(2**63))
        learned = learn_factors(self._people, self._numbered, self._items, seed)
        return refine_factors(self._people, self._items, learned)

    @cached_property
    def crowds(self) -> DistributedClusters:
        """Who is near whom, and in which class."""
        return gather_clusters(
            self._people,
            self._numbered,
            self.chosen,
            self.known,
            self._kept,
            k=self._k,
            crowd=self._crowd,
            secret=self._secret,
        )

    def rows(self, step: float) -> "DataFrame":
        """Let executors draw the rows of all classes, and count in how many each item stands."""
        people, kept = self._people, self._kept
        rule = learn_rule(people, self.crowds, self.chosen, self.known, kept[0], self._secret)
        n_parts = parts_for(people.n_people)
        support = self._items.support
        drawn = draw_rows(self.crowds, rule, kept, support, people.scale, step, n_parts)
        self.held = count_users(people.keep(drawn), support.size)
        return drawn
