"""Taste bins: people around centres, so many in each that one executor can gather groups there.

Source: Chang et al., section 4.2. A sample of people comes to the driver, our own k-gather finds
centres in it, and everybody joins the bin of the nearest.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recveil.clustering import BisectingKGather
from recveil.clustering.bounded_k_means import nearest_centre
from recveil.predict import Padding
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.spark.users import DistributedUsers, NumberedUsers, Whole, ratings_of, some_at_a_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# As many factors as matter for whom people resemble; and how far few ratings are believed. Pulls
# are those of ratings from 1 to 5: ratings on any scale are learned from in quarters of its range.
RANK, ROUNDS, PULL = 20, 10, 0.05
_ITEM_PULL, _USER_PULL = 5.0, 5.0
# A person's factors, the bias among them, are pulled to zero so much by each rating, and so much at
# least. MLlib knows no least, and so believes who rated little, which refining makes up for. A pull
# by each rating takes away whatever tells people apart by less than itself, so that it must be
# small: with 0.15 nothing was left of what ten million invented ratings say.
OWN_PULL, LEAST_PULL = 0.03, 10.0
# Ratings are added up in whole steps of so small a part of the scale.
_FACTOR_STEPS = float(1 << 20)
# MLlib knows people by numbers of 32 bits.
_MOST_PEOPLE = 2**31 - 1


@brief
class ItemFactors(NamedTuple):
    """What is known of items: ``rating = offset + factors of the item · factors of the person``."""

    # What everybody is expected to give
    offset: NDArray[np.float32]
    # The last is that of people's biases: the unit of the scale, for all items
    factors: NDArray[np.float32]
    # Takes people's factors to where distances are those between padded rows
    triangular: NDArray[np.float64]

    @classmethod
    def of(
        cls, offset: NDArray[np.float32], factors: NDArray[Any], scale: RatingScale
    ) -> "ItemFactors":
        """Return them in rating points, with what whitens people's.

        Parameters
        ----------
        offset : ndarray of float32, shape (n_items,)
        factors : ndarray, shape (n_items, rank)
            In units of the scale, as they were learned.
        scale : RatingScale
        """
        unit = unit_of(scale)
        points = np.hstack([factors * unit, np.full((len(factors), 1), unit)]).astype(np.float32)
        with threadpool_limits(1, user_api="blas"):  # whatever the threads, the same bits
            triangular = np.linalg.qr(points.astype(np.float64), mode="r")
        return cls(offset, points, np.asarray(triangular))

    @property
    def unit(self) -> float:
        """A quarter of the scale's range, in which factors are learned."""
        return float(self.factors[0, -1])

    def of_people(self, ratings: Ratings) -> NDArray[np.float32]:
        """Return the factors of some people, and their biases last, shape (n_users, rank + 1)."""
        left = ratings.values.astype(np.float64) - self.offset[ratings.indices]
        pulls = OWN_PULL * self.unit**2, LEAST_PULL * self.unit**2
        found = _solved(ratings.indptr, ratings.indices, left, self.factors, *pulls)
        return np.asarray(found, np.float32)

    def places_of(self, factors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return where people are, so that who would rate alike is near; see `Padding`."""
        # Added up in one order for each number, however many people there are at once.
        return np.einsum("ij,kj->ik", factors.astype(np.float64), self.triangular).astype(
            np.float32
        )

    def padding(self, factors: NDArray[np.float32], scale: RatingScale) -> Padding:
        """Return predictions for some people."""
        return Padding(factors, self.factors, self.offset, scale)

    def _facts(self) -> dict[str, object]:
        return {"items": self.offset.size, "rank": self.factors.shape[1] - 1}


@brief
class RatedItems(NamedTuple):
    """How often, and how, each item was rated."""

    support: NDArray[np.int64]
    # The mean rating of each, pulled to that of all where there are few
    offset: NDArray[np.float32]
    # Of all ratings
    mean: float

    @classmethod
    def of(cls, people: DistributedUsers) -> "RatedItems":
        """Ask executors; sums of whole numbers are the same in whatever order."""
        support, steps = people.add_up(_sums_of_items, people.scale)
        unit = people.scale.range / _FACTOR_STEPS
        total = steps * unit
        mean = total.sum() / max(1, support.sum())
        off = (total - support * mean) / (support + _ITEM_PULL)
        overall = float(people.scale.low + mean)
        return cls(support, (overall + off).astype(np.float32), overall)

    def _facts(self) -> dict[str, object]:
        return {"items": self.support.size}


def learn_factors(
    people: DistributedUsers, numbered: NumberedUsers, items: RatedItems, seed: int
) -> ItemFactors:
    """Learn the factors of items from all people, by MLlib."""
    from pyspark.ml.recommendation import ALS

    if people.n_people > _MOST_PEOPLE:
        raise RecveilError(
            f"{people.n_people:,} people: MLlib numbers {_MOST_PEOPLE:,} at most; split the table",
            code="table.too-large",
        )
    work = partial(_left_over, scale=people.scale, n_items=people.n_items, offset=items.offset)
    rows = numbered.frame.mapInArrow(work, "user int, item int, rating float")
    als = ALS(rank=RANK, maxIter=ROUNDS, regParam=PULL, seed=seed % 2**63)
    # There is a task for each pair of a block of people and one of items.
    als = als.setNumBlocks(math.ceil(2 * math.sqrt(people.frame.rdd.getNumPartitions())))
    found = als.setUserCol("user").setItemCol("item").setRatingCol("rating").fit(rows)
    table = found.itemFactors.toArrow()
    factors = np.zeros((people.n_items, RANK), np.float32)
    learned = table["features"].combine_chunks().flatten().to_numpy().reshape(-1, RANK)
    factors[table["id"].to_numpy()] = learned
    if not np.isfinite(factors).all():
        raise RecveilError(
            "learning what people like failed; tell us, and leave engine out", code="internal.fault"
        )
    return ItemFactors.of(items.offset, factors, people.scale)


def unit_of(scale: RatingScale) -> float:
    """Return a quarter of the range, by which any scale is as wide as that from 1 to 5.

    Examples
    --------
    >>> unit_of(RatingScale(0, 100, 1))
    25.0
    """
    return scale.range / 4 or 1.0


def _sums_of_items(ratings: Ratings, scale: RatingScale) -> Whole:
    """Return each item's count, and the sum of its ratings above the scale's low end."""
    above = (ratings.values.astype(np.float64) - scale.low) / (scale.range or 1.0)
    steps = np.rint(above * _FACTOR_STEPS)
    n = ratings.n_items
    sums = [np.bincount(ratings.indices, minlength=n), np.bincount(ratings.indices, steps, n)]
    return np.array(sums).astype(np.int64)


def _without_biases(ratings: Ratings, offset: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return what is left of ratings without how much higher than others each person rates."""
    left = ratings.values.astype(np.float64) - offset[ratings.indices]
    biases = np.add.reduceat(left, ratings.indptr[:-1]) / (ratings.activity + _USER_PULL)
    return np.asarray(left - np.repeat(biases, ratings.activity))


def _left_over(
    batches: Iterator[pa.RecordBatch],
    scale: RatingScale,
    n_items: int,
    offset: NDArray[np.float32],
) -> Iterator[pa.RecordBatch]:
    """Yield what MLlib learns from: a row for each rating, without biases, in units."""
    for table in some_at_a_time(batches):
        ratings = ratings_of(table, scale, n_items)
        left = _without_biases(ratings, offset) / unit_of(scale)
        numbers = table["number"].to_numpy().astype(np.int32)
        yield pa.RecordBatch.from_pydict(
            {
                "user": pa.array(np.repeat(numbers, ratings.activity)),
                "item": pa.array(ratings.indices, pa.int32()),
                "rating": pa.array(left, pa.float32()),
            }
        )


def embed_users(
    people: DistributedUsers, numbered: NumberedUsers, known: ItemFactors
) -> "DataFrame":
    """Say where each person is: a frame of `number` and `place`, kept where the people are."""
    work = partial(_placed, scale=people.scale, n_items=people.n_items, known=known)
    return people.keep(numbered.frame.mapInArrow(work, "number long, place array<float>"))


def _placed(
    batches: Iterator[pa.RecordBatch], scale: RatingScale, n_items: int, known: ItemFactors
) -> Iterator[pa.RecordBatch]:
    for table in some_at_a_time(batches):
        places = known.places_of(known.of_people(ratings_of(table, scale, n_items)))
        if not np.isfinite(places).all():
            raise RecveilError(
                "somebody's factors are no numbers, so that nobody is like them",
                code="internal.fault",
            )
        numbers = table["number"].combine_chunks()
        yield pa.RecordBatch.from_arrays([numbers, as_lists(places)], names=["number", "place"])


def as_lists(rows: NDArray[np.float32]) -> pa.ListArray:
    """Return a matrix as a column of lists."""
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows.ravel()))


def as_matrix(lists: Any) -> NDArray[np.float32]:
    """Return a column of lists of one length as a matrix."""
    column = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(flat.reshape(len(column), -1), dtype=np.float32)


@compiled()
def _solved(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    left: NDArray[Any],
    factors: NDArray[Any],
    pull: float,
    least: float,
) -> NDArray[Any]:
    """Solve for each person's factors, as alternating least squares do in their last step."""
    rank = factors.shape[1]
    found = np.zeros((indptr.size - 1, rank))
    square = np.empty((rank, rank))
    for user in range(indptr.size - 1):
        square[:, :] = 0.0
        right = found[user]
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            for i in range(rank):
                of_item = np.float64(factors[item, i])
                right[i] += left[at] * of_item
                for j in range(i + 1):
                    square[i, j] += of_item * factors[item, j]
        for i in range(rank):
            square[i, i] += pull * (indptr[user + 1] - indptr[user]) + least
        _solve(square, right)
    return found


@compiled()
def _solve(square: NDArray[Any], right: NDArray[Any]) -> None:
    """Solve ``square @ x = right`` by Cholesky; the lower half becomes its root, and right x."""
    rank = right.size
    for i in range(rank):
        for j in range(i + 1):
            rest = square[i, j]
            for between in range(j):
                rest -= square[i, between] * square[j, between]
            square[i, j] = np.sqrt(rest) if i == j else rest / square[j, j]
    for i in range(rank):
        for j in range(i):
            right[i] -= square[i, j] * right[j]
        right[i] /= square[i, i]
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            right[i] -= square[j, i] * right[j]
        right[i] /= square[i, i]


# So often all items are moved; more changed little.
REFINED = 4
# An item's mean is pulled to that of all by so many ratings.
_MEAN_PULL = 2.0
# Sums are in whole steps of this size. A person's factors are below 12, by the pull on them, and so
# sums of 10 ** 11 ratings fit into 64 bits even if everybody's were.
_STEPS = float(1 << 16)


def refine_factors(people: DistributedUsers, items: RatedItems, known: ItemFactors) -> ItemFactors:
    """Move items to where people's ratings pull them, some times.

    Notes
    -----
    What falls with each move is the sum of squared errors and of the pulls on factors. People are
    at its minimum, given the items. An item's own minimum would take ``rank ** 2`` sums each; one
    step of conjugate gradients takes ``rank``, and one more for how far to go, so that it never
    goes too far (Takács, Pilászy and Tikk 2011). Sums are of whole numbers, the same in
    whatever order.
    """
    for _ in range(REFINED):
        known = _moved(people, items, known)
    return known


def _moved(people: DistributedUsers, items: RatedItems, known: ItemFactors) -> ItemFactors:
    """Move each item once: where its slope says, as far as its errors fall."""
    unit, n_items, rank = known.unit, *known.factors[:, :-1].shape
    above = (known.offset - items.mean)[:, None]
    at = np.hstack([known.factors[:, :-1], above]).astype(np.float64) / unit
    pulls = np.outer(items.support, [OWN_PULL] * rank + [0.0])
    pulls += [LEAST_PULL] * rank + [_MEAN_PULL]
    sums = people.add_up(_slopes, known) / _STEPS
    slopes = sums[:n_items] - pulls * at
    ways = _ways(slopes, sums[n_items:], items.support)
    bends = people.add_up(_bends, known, ways) / _STEPS + (pulls * ways**2).sum(axis=1)
    far = (slopes * ways).sum(axis=1) / np.maximum(bends, np.finfo(float).tiny)
    at += far[:, None] * ways
    offset = (items.mean + unit * at[:, -1]).astype(np.float32)
    return ItemFactors.of(offset, at[:, :-1], people.scale)


def _ways(
    slopes: NDArray[np.float64], squares: NDArray[np.float64], support: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return in which direction each item moves, of length 1 or 0.

    It is the way to its minimum, if those who rated it were like those who rated all others.

    Examples
    --------
    >>> _ways(np.array([[3.0, 4.0], [0.0, 0.0]]), 2 * np.eye(2), np.array([1, 1])).round(1)
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    with threadpool_limits(1, user_api="blas"):  # whatever the threads, the same bits
        spreads, axes = np.linalg.eigh(squares / max(1, support.sum()))
        usual = np.outer(support, np.maximum(spreads, 0.0) + OWN_PULL) + LEAST_PULL
        ways = slopes @ axes / usual @ axes.T
    lengths = np.linalg.norm(ways, axis=1, keepdims=True)
    return np.asarray(ways / np.where(lengths > 0, lengths, 1.0), np.float32)


def _slopes(ratings: Ratings, known: ItemFactors) -> Whole:
    """Return of each item how its errors pull it, and last how people's factors spread."""
    left = ratings.values.astype(np.float64) - known.offset[ratings.indices]
    of_people = known.of_people(ratings).astype(np.float64)
    return np.asarray(_sloped(ratings.indptr, ratings.indices, left, known.factors, of_people))


def _bends(ratings: Ratings, known: ItemFactors, ways: NDArray[np.float32]) -> Whole:
    """Return how fast the errors of each item grow along its way."""
    of_people = known.of_people(ratings).astype(np.float64)
    return np.asarray(_bent(ratings.indptr, ratings.indices, of_people, ways))


@compiled()
def _sloped(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    left: NDArray[Any],
    factors: NDArray[Any],
    of_people: NDArray[Any],
) -> NDArray[Any]:
    n_items, n = factors.shape
    sums = np.zeros((n_items + n, n), np.int64)
    own = np.ones(n)  # the last factor of a person belongs to the item's mean
    for user in range(indptr.size - 1):
        own[: n - 1] = of_people[user, : n - 1]
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            error = left[at]
            for i in range(n):
                error -= of_people[user, i] * factors[item, i]
            error /= factors[item, n - 1]
            for i in range(n):
                sums[item, i] += np.int64(np.rint(error * own[i] * _STEPS))
        times = _STEPS * (indptr[user + 1] - indptr[user])
        for i in range(n):
            for j in range(n):
                sums[n_items + i, j] += np.int64(np.rint(own[i] * own[j] * times))
    return sums


@compiled()
def _bent(
    indptr: NDArray[Any], indices: NDArray[Any], of_people: NDArray[Any], ways: NDArray[Any]
) -> NDArray[Any]:
    n_items, n = ways.shape
    sums = np.zeros(n_items, np.int64)
    for user in range(indptr.size - 1):
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            along = np.float64(ways[item, n - 1])
            for i in range(n - 1):
                along += of_people[user, i] * ways[item, i]
            sums[item] += np.int64(np.rint(along * along * _STEPS))
    return sums


# So many people come to the driver at most, and at least so many of them show where a bin is.
_SAMPLE, _LEAST_OF_BIN = 50_000, 8
# A bin has so many people, about; what grows beyond so many times that is split. Of a large k
# there shall be many groups in a bin all the same.
_A_BIN, _GROUPS_OF_A_BIN, _SKEWED = 1 << 13, 32, 4
# An odd number that mixes the numbers of people: 2 ** 64 over the golden ratio.
_MIXING = np.uint64(0x9E3779B97F4A7C15)


@brief
class EmbeddingBins(NamedTuple):
    """Where bins are."""

    # Each with at least k people
    centres: NDArray[np.float32]
    # Into how many pieces each is split: 1, unless it has too many people
    pieces: NDArray[np.int64]
    # Says who comes into which piece
    mixing: int

    def of(self, numbers: NDArray[np.int64], places: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the bin of each person, pieces counted one by one.

        Examples
        --------
        >>> bins = EmbeddingBins(np.array([[0], [9]], np.float32), np.array([1, 2]), 0)
        >>> bins.of(np.array([5, 6, 8]), np.array([[1], [8], [9]], np.float32))
        array([0, 1, 2])
        """
        nearest, _ = nearest_centre(places, self.centres)
        first = np.cumsum(self.pieces) - self.pieces
        mixed = (numbers.astype(np.uint64) + np.uint64(self.mixing)) * _MIXING >> np.uint64(32)
        piece = mixed % self.pieces[nearest].astype(np.uint64)
        return first[nearest] + piece.astype(np.int64)

    def _facts(self) -> dict[str, object]:
        return {"bins": len(self.centres), "pieces": int(self.pieces.sum())}


def find_bins(
    placed: "DataFrame", n_people: int, k: int, rng: np.random.Generator
) -> EmbeddingBins:
    """Find bins of at least k people each.

    Notes
    -----
    The sample is half of the people, as Chang et al. leave it open, and at most 50,000. A bin that
    gets fewer than k people is dissolved: each of them joins the nearest of those that have k, and
    these only grow. A bin of too many is split by chance, as there people are close.
    """
    usual = max(_A_BIN, _GROUPS_OF_A_BIN * k)
    wanted, most_of_sample = -(-n_people // usual), min(_SAMPLE, max(1, n_people // 2))
    n_bins = max(1, min(wanted, most_of_sample // _LEAST_OF_BIN))
    sample = np.sort(rng.choice(n_people, most_of_sample, replace=False))
    mixing = int(rng.integers(2**63))
    centres = _centres(_sampled(placed, sample), n_bins, rng)
    bins = EmbeddingBins(centres, np.ones(len(centres), np.int64), mixing)
    sizes = _sizes(placed, bins)
    if (sizes < k).any():
        kept = sizes >= k
        kept[np.argmax(sizes)] = True  # with nobody else, it gets all
        bins = EmbeddingBins(centres[kept], bins.pieces[kept], mixing)
        sizes = _sizes(placed, bins)
    return bins._replace(pieces=np.where(sizes > _SKEWED * usual, -(-sizes // usual), 1))


def _centres(
    sample: NDArray[np.float32], n_bins: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return the means of groups of a sample, at most `n_bins` of them.

    Examples
    --------
    >>> _centres(np.array([[1], [3]], np.float32), 1, np.random.default_rng(0))
    array([[2.]], dtype=float32)
    """
    if n_bins == 1:
        return sample.mean(axis=0, dtype=np.float64, keepdims=True).astype(np.float32)
    least = len(sample) // n_bins
    labels = BisectingKGather(min_size=least, random_state=rng).fit(sample).labels_
    sums = np.zeros((labels.max() + 1, sample.shape[1]))
    np.add.at(sums, labels, sample)
    return (sums / np.bincount(labels)[:, None]).astype(np.float32)


def _sampled(placed: "DataFrame", sample: NDArray[np.int64]) -> NDArray[np.float32]:
    """Bring the places of some people to the driver, in the order of their numbers."""
    work = partial(_only, sample=sample)
    table = placed.mapInArrow(work, "number long, place array<float>").toArrow().combine_chunks()
    return as_matrix(table.sort_by("number")["place"])


def _only(batches: Iterator[pa.RecordBatch], sample: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(pa.array(np.isin(batch.column("number").to_numpy(), sample)))


def _sizes(placed: "DataFrame", bins: EmbeddingBins) -> NDArray[np.int64]:
    """Count the people of each bin."""
    found = into_bins(placed, bins).groupBy("bin").count().toArrow()
    sizes = np.zeros(int(bins.pieces.sum()), np.int64)
    sizes[found["bin"].to_numpy()] = found["count"].to_numpy()
    return sizes


def into_bins(placed: "DataFrame", bins: EmbeddingBins) -> "DataFrame":
    """Add the bin of each person to a frame of `number` and `place`."""
    work = partial(_binned, bins=bins)
    return placed.mapInArrow(work, "bin long, number long, place array<float>")


def _binned(batches: Iterator[pa.RecordBatch], bins: EmbeddingBins) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            numbers = batch.column("number")
            found = bins.of(numbers.to_numpy(), as_matrix(batch.column("place")))
            yield pa.RecordBatch.from_arrays(
                [pa.array(found), numbers, batch.column("place")], names=["bin", "number", "place"]
            )
