"""Embeddings of users by MLlib's factors, and bins of near users.

Source: Chang et al., section 4.2. A bin has as many users as one executor can cluster. K-gather
finds centres in a sample, and each user joins the nearest one.
"""

import math
from collections.abc import Callable, Iterator
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
from recveil.spark.users import (
    DistributedUsers,
    NumberedUsers,
    Whole,
    ratings_of,
    some_at_a_time,
    sums_of_items,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Rank, rounds and regularization of MLlib. Penalties are for ratings from 1 to 5: ratings on any
# scale are learned in quarters of its range.
RANK, ROUNDS, REGULARIZATION = 20, 10, 0.05
_ITEM_SHRINKAGE, _USER_SHRINKAGE = 5.0, 5.0
# Penalties on a user's factors and bias: one per rating, and one per user. MLlib has none per user
# and overfits users with few ratings, which refining corrects. The penalty per rating hides smaller
# differences between users, so it must be small: 0.15 left no structure in ten million synthetic
# ratings.
FACTOR_PENALTY, USER_PENALTY = 0.03, 10.0
# Ratings are summed in integer units of this part of the range.
_FACTOR_STEPS = float(1 << 20)
# MLlib's user numbers have 32 bits.
_MOST_USERS = 2**31 - 1


@brief
class ItemFactors(NamedTuple):
    """Item factors, where ``rating = offset + item factors · user factors``."""

    # Expected ratings of an average user
    offset: NDArray[np.float32]
    # The last factor belongs to user biases: the unit of the scale, for all items
    factors: NDArray[np.float32]
    # Maps user factors to embeddings with the distances of padded rows
    triangular: NDArray[np.float64]

    @classmethod
    def of(
        cls, offset: NDArray[np.float32], factors: NDArray[Any], scale: RatingScale
    ) -> "ItemFactors":
        """Return factors in rating points, with a matrix that whitens user factors."""
        unit = unit_of(scale)
        points = np.hstack([factors * unit, np.full((len(factors), 1), unit)]).astype(np.float32)
        with threadpool_limits(1, user_api="blas"):  # for equal bits with any number of threads
            triangular = np.linalg.qr(points.astype(np.float64), mode="r")
        return cls(offset, points, np.asarray(triangular))

    @property
    def unit(self) -> float:
        """A quarter of the scale's range, the unit in which factors are learned."""
        return float(self.factors[0, -1])

    def fit_users(self, ratings: Ratings) -> NDArray[np.float32]:
        """Fit the factors of users, the bias last, shape (n_users, rank + 1)."""
        residuals = ratings.values.astype(np.float64) - self.offset[ratings.indices]
        penalties = FACTOR_PENALTY * self.unit**2, USER_PENALTY * self.unit**2
        result = _solve_users(ratings.indptr, ratings.indices, residuals, self.factors, *penalties)
        return np.asarray(result, np.float32)

    def embed(self, ratings: Ratings) -> NDArray[np.float32]:
        """Return embeddings with the distances of padded rows, shape (n_users, rank + 1)."""
        # Summed in one order for each number, however many users there are at once.
        factors = self.fit_users(ratings).astype(np.float64)
        return np.einsum("ij,kj->ik", factors, self.triangular).astype(np.float32)

    def padding(self, factors: NDArray[np.float32], scale: RatingScale) -> Padding:
        """Return the predictions for users with these factors."""
        return Padding(factors, self.factors, self.offset, scale)

    def _facts(self) -> dict[str, object]:
        return {"items": self.offset.size, "rank": self.factors.shape[1] - 1}


@brief
class RatedItems(NamedTuple):
    """Counts and means of the items' ratings."""

    support: NDArray[np.int64]
    # The mean rating of each, shrunk to the overall mean where there are few
    offset: NDArray[np.float32]
    # The mean of all ratings
    mean: float

    @classmethod
    def of(cls, users: DistributedUsers) -> "RatedItems":
        """Compute them by executors; integer sums do not depend on their order."""
        unit = users.scale.range / _FACTOR_STEPS or 1.0
        support, steps = users.add_up(sums_of_items, users.scale.low, unit)
        total = steps * unit
        mean = total.sum() / max(1, support.sum())
        off = (total - support * mean) / (support + _ITEM_SHRINKAGE)
        overall = float(users.scale.low + mean)
        return cls(support, (overall + off).astype(np.float32), overall)

    def _facts(self) -> dict[str, object]:
        return {"items": self.support.size}


def learn_factors(
    users: DistributedUsers, numbered: NumberedUsers, items: RatedItems, seed: int
) -> ItemFactors:
    """Learn item factors from all users by MLlib."""
    from pyspark.ml.recommendation import ALS

    if users.n_users > _MOST_USERS:
        raise RecveilError(
            f"{users.n_users:,} users: MLlib numbers {_MOST_USERS:,} at most; split the table",
            code="table.too-large",
        )
    work = partial(_residuals, scale=users.scale, n_items=users.n_items, offset=items.offset)
    rows = numbered.frame.mapInArrow(work, "user int, item int, rating float")
    als = ALS(rank=RANK, maxIter=ROUNDS, regParam=REGULARIZATION, seed=seed % 2**63)
    # Each pair of a user block and an item block is a task.
    als = als.setNumBlocks(math.ceil(2 * math.sqrt(users.frame.rdd.getNumPartitions())))
    model = als.setUserCol("user").setItemCol("item").setRatingCol("rating").fit(rows)
    table = model.itemFactors.toArrow()
    factors = np.zeros((users.n_items, RANK), np.float32)
    learned = table["features"].combine_chunks().flatten().to_numpy().reshape(-1, RANK)
    factors[table["id"].to_numpy()] = learned
    if not np.isfinite(factors).all():
        raise RecveilError(
            "item factors are not finite; report it, and leave engine out", code="internal.fault"
        )
    return ItemFactors.of(items.offset, factors, users.scale)


def unit_of(scale: RatingScale) -> float:
    """Return a quarter of the range, which scales any ratings to those from 1 to 5.

    >>> unit_of(RatingScale(0, 100, 1))
    25.0
    """
    return scale.range / 4 or 1.0


def _without_biases(ratings: Ratings, offset: NDArray[np.float32]) -> NDArray[np.float64]:
    residuals = ratings.values.astype(np.float64) - offset[ratings.indices]
    biases = np.add.reduceat(residuals, ratings.indptr[:-1]) / (ratings.activity + _USER_SHRINKAGE)
    return np.asarray(residuals - np.repeat(biases, ratings.activity))


def _residuals(
    batches: Iterator[pa.RecordBatch],
    scale: RatingScale,
    n_items: int,
    offset: NDArray[np.float32],
) -> Iterator[pa.RecordBatch]:
    """Yield MLlib's input: a row per rating, with its residual in units."""
    for table in some_at_a_time(batches):
        ratings = ratings_of(table, scale, n_items)
        residuals = _without_biases(ratings, offset) / unit_of(scale)
        numbers = table["number"].to_numpy().astype(np.int32)
        yield pa.RecordBatch.from_pydict(
            {
                "user": pa.array(np.repeat(numbers, ratings.activity)),
                "item": pa.array(ratings.indices, pa.int32()),
                "rating": pa.array(residuals, pa.float32()),
            }
        )


def embed_users(
    users: DistributedUsers,
    numbered: NumberedUsers,
    embed: Callable[[Ratings], NDArray[np.float32]],
) -> "DataFrame":
    """Return a frame of `number` and `place`, the embedding of each user, kept by executors."""
    work = partial(_embedded, scale=users.scale, n_items=users.n_items, embed=embed)
    return users.keep(numbered.frame.mapInArrow(work, "number long, place array<float>"))


def _embedded(
    batches: Iterator[pa.RecordBatch],
    scale: RatingScale,
    n_items: int,
    embed: Callable[[Ratings], NDArray[np.float32]],
) -> Iterator[pa.RecordBatch]:
    for table in some_at_a_time(batches):
        embeddings = embed(ratings_of(table, scale, n_items))
        if not np.isfinite(embeddings).all():
            raise RecveilError("the embedding of a user is not finite", code="internal.fault")
        numbers = table["number"].combine_chunks()
        yield pa.RecordBatch.from_arrays([numbers, as_lists(embeddings)], names=["number", "place"])


def as_lists(rows: NDArray[np.float32]) -> pa.ListArray:
    """Return a matrix as a column of lists."""
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows.ravel()))


def as_matrix(lists: Any) -> NDArray[np.float32]:
    """Return a column of lists of equal length as a matrix."""
    column = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(flat.reshape(len(column), -1), dtype=np.float32)


@compiled()
def _solve_users(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    residuals: NDArray[Any],
    factors: NDArray[Any],
    penalty: float,
    least: float,
) -> NDArray[Any]:
    """Solve for each user's factors, as in the last step of alternating least squares."""
    rank = factors.shape[1]
    result = np.zeros((indptr.size - 1, rank))
    square = np.empty((rank, rank))
    for user in range(indptr.size - 1):
        square[:, :] = 0.0
        right = result[user]
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            for i in range(rank):
                of_item = np.float64(factors[item, i])
                right[i] += residuals[at] * of_item
                for j in range(i + 1):
                    square[i, j] += of_item * factors[item, j]
        for i in range(rank):
            square[i, i] += penalty * (indptr[user + 1] - indptr[user]) + least
        _solve(square, right)
    return result


@compiled()
def _solve(square: NDArray[Any], right: NDArray[Any]) -> None:
    """Solve ``square @ x = right`` in place by Cholesky; the lower half becomes its root."""
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


# Steps of refinement; more changed little.
REFINED = 4
# Weight of the overall mean in an item's mean, in ratings.
_MEAN_PENALTY = 2.0
# Unit of integer sums. Penalties keep user factors below 12, so that sums over 10 ** 11 ratings fit
# into 64 bits.
_STEPS = float(1 << 16)


def refine_factors(
    users: DistributedUsers, items: RatedItems, item_factors: ItemFactors
) -> ItemFactors:
    """Improve item factors by a few steps of conjugate gradients over all users.

    User factors are at the minimum, given the items (Takács, Pilászy and Tikk 2011). Sums are
    integers, which do not depend on their order.
    """
    for _ in range(REFINED):
        item_factors = _move_items(users, items, item_factors)
    return item_factors


def _move_items(
    users: DistributedUsers, items: RatedItems, item_factors: ItemFactors
) -> ItemFactors:
    """Move each item once along its direction, to the minimum of its errors."""
    unit, n_items, rank = item_factors.unit, *item_factors.factors[:, :-1].shape
    mean_factor = (item_factors.offset - items.mean)[:, None]
    at = np.hstack([item_factors.factors[:, :-1], mean_factor]).astype(np.float64) / unit
    penalties = np.outer(items.support, [FACTOR_PENALTY] * rank + [0.0])
    penalties += [USER_PENALTY] * rank + [_MEAN_PENALTY]
    sums = users.add_up(_slopes, item_factors) / _STEPS
    slopes = sums[:n_items] - penalties * at
    directions = _directions(slopes, sums[n_items:], items.support)
    bends = users.add_up(_bends, item_factors, directions) / _STEPS + (
        penalties * directions**2
    ).sum(axis=1)
    step = (slopes * directions).sum(axis=1) / np.maximum(bends, np.finfo(float).tiny)
    at += step[:, None] * directions
    offset = (items.mean + unit * at[:, -1]).astype(np.float32)
    return ItemFactors.of(offset, at[:, :-1], users.scale)


def _directions(
    slopes: NDArray[np.float64], squares: NDArray[np.float64], support: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the direction to each item's minimum, were its raters like all others', or 0.

    >>> _directions(np.array([[3.0, 4.0], [0.0, 0.0]]), 2 * np.eye(2), np.array([1, 1])).round(1)
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    with threadpool_limits(1, user_api="blas"):  # for equal bits with any number of threads
        spreads, axes = np.linalg.eigh(squares / max(1, support.sum()))
        curvature = np.outer(support, np.maximum(spreads, 0.0) + FACTOR_PENALTY) + USER_PENALTY
        directions = slopes @ axes / curvature @ axes.T
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions / np.where(lengths > 0, lengths, 1.0), np.float32)


def _slopes(ratings: Ratings, item_factors: ItemFactors) -> Whole:
    """Return the gradient of each item's errors, and last the moments of user factors."""
    residuals = ratings.values.astype(np.float64) - item_factors.offset[ratings.indices]
    user_factors = item_factors.fit_users(ratings).astype(np.float64)
    return np.asarray(
        _add_slopes(ratings.indptr, ratings.indices, residuals, item_factors.factors, user_factors)
    )


def _bends(ratings: Ratings, item_factors: ItemFactors, directions: NDArray[np.float32]) -> Whole:
    """Return the curvature of each item's errors along its direction."""
    user_factors = item_factors.fit_users(ratings).astype(np.float64)
    return np.asarray(_add_bends(ratings.indptr, ratings.indices, user_factors, directions))


@compiled()
def _add_slopes(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    residuals: NDArray[Any],
    factors: NDArray[Any],
    user_factors: NDArray[Any],
) -> NDArray[Any]:
    n_items, n = factors.shape
    sums = np.zeros((n_items + n, n), np.int64)
    vector = np.ones(n)  # the last factor belongs to the item's mean
    for user in range(indptr.size - 1):
        vector[: n - 1] = user_factors[user, : n - 1]
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            error = residuals[at]
            for i in range(n):
                error -= user_factors[user, i] * factors[item, i]
            error /= factors[item, n - 1]
            for i in range(n):
                sums[item, i] += np.int64(np.rint(error * vector[i] * _STEPS))
        times = _STEPS * (indptr[user + 1] - indptr[user])
        for i in range(n):
            for j in range(n):
                sums[n_items + i, j] += np.int64(np.rint(vector[i] * vector[j] * times))
    return sums


@compiled()
def _add_bends(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    user_factors: NDArray[Any],
    directions: NDArray[Any],
) -> NDArray[Any]:
    n_items, n = directions.shape
    sums = np.zeros(n_items, np.int64)
    for user in range(indptr.size - 1):
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            along = np.float64(directions[item, n - 1])
            for i in range(n - 1):
                along += user_factors[user, i] * directions[item, i]
            sums[item] += np.int64(np.rint(along * along * _STEPS))
    return sums


# The largest sample, and its least number of users per bin.
_SAMPLE, _LEAST_OF_BIN = 50_000, 8
# Users per bin; the least number of groups in a bin, for a large k; and how many times larger a bin
# may be before it is split.
_A_BIN, _GROUPS_OF_A_BIN, _SKEWED = 1 << 13, 32, 4
# An odd number that mixes the numbers of users: 2 ** 64 over the golden ratio.
_MIXING = np.uint64(0x9E3779B97F4A7C15)


@brief
class EmbeddingBins(NamedTuple):
    """Bins of near users."""

    # Each with at least k users
    centres: NDArray[np.float32]
    # Pieces of each bin: 1, unless it has too many users
    pieces: NDArray[np.int64]
    # Determines the piece of each user
    mixing: int

    def of(self, numbers: NDArray[np.int64], places: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the bin of each user, counting pieces as bins."""
        nearest, _ = nearest_centre(places, self.centres)
        first = np.cumsum(self.pieces) - self.pieces
        mixed = (numbers.astype(np.uint64) + np.uint64(self.mixing)) * _MIXING >> np.uint64(32)
        piece = mixed % self.pieces[nearest].astype(np.uint64)
        return first[nearest] + piece.astype(np.int64)

    def _facts(self) -> dict[str, object]:
        return {"bins": len(self.centres), "pieces": int(self.pieces.sum())}


def find_bins(
    embedded: "DataFrame", n_users: int, k: int, rng: np.random.Generator
) -> EmbeddingBins:
    """Find bins of at least k users each.

    The sample is half of the users, as Chang et al. leave it open, and at most 50,000. A bin with
    fewer than k users is dissolved: each of them joins the nearest larger bin. A bin with too many
    users is split at random, as its users are close.
    """
    bin_size = max(_A_BIN, _GROUPS_OF_A_BIN * k)
    wanted, most_of_sample = -(-n_users // bin_size), min(_SAMPLE, max(1, n_users // 2))
    n_bins = max(1, min(wanted, most_of_sample // _LEAST_OF_BIN))
    sample = np.sort(rng.choice(n_users, most_of_sample, replace=False))
    mixing = int(rng.integers(2**63))
    centres = _centres(_sampled(embedded, sample), n_bins, rng)
    bins = EmbeddingBins(centres, np.ones(len(centres), np.int64), mixing)
    sizes = _sizes(embedded, bins)
    if (sizes < k).any():
        is_large = sizes >= k
        is_large[np.argmax(sizes)] = True  # if it is the only one, it gets all users
        bins = EmbeddingBins(centres[is_large], bins.pieces[is_large], mixing)
        sizes = _sizes(embedded, bins)
    return bins._replace(pieces=np.where(sizes > _SKEWED * bin_size, -(-sizes // bin_size), 1))


def _centres(
    sample: NDArray[np.float32], n_bins: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return the means of groups of a sample, at most `n_bins` of them.

    >>> _centres(np.array([[1], [3]], np.float32), 1, np.random.default_rng(0))
    array([[2.]], dtype=float32)
    """
    if n_bins == 1:
        return sample.mean(axis=0, dtype=np.float64, keepdims=True).astype(np.float32)
    least = len(sample) // n_bins
    groups = BisectingKGather(min_size=least, random_state=rng).fit(sample).labels_
    sums = np.zeros((groups.max() + 1, sample.shape[1]))
    np.add.at(sums, groups, sample)
    return (sums / np.bincount(groups)[:, None]).astype(np.float32)


def _sampled(embedded: "DataFrame", sample: NDArray[np.int64]) -> NDArray[np.float32]:
    """Collect the embeddings of some users, in the order of their numbers."""
    work = partial(_only, sample=sample)
    table = embedded.mapInArrow(work, "number long, place array<float>").toArrow().combine_chunks()
    return as_matrix(table.sort_by("number")["place"])


def _only(batches: Iterator[pa.RecordBatch], sample: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(pa.array(np.isin(batch.column("number").to_numpy(), sample)))


def _sizes(embedded: "DataFrame", bins: EmbeddingBins) -> NDArray[np.int64]:
    """Count the users of each bin."""
    counts = into_bins(embedded, bins).groupBy("bin").count().toArrow()
    sizes = np.zeros(int(bins.pieces.sum()), np.int64)
    sizes[counts["bin"].to_numpy()] = counts["count"].to_numpy()
    return sizes


def into_bins(embedded: "DataFrame", bins: EmbeddingBins) -> "DataFrame":
    """Add the bin of each user to a frame of `number` and `place`."""
    work = partial(_binned, bins=bins)
    return embedded.mapInArrow(work, "bin long, number long, place array<float>")


def _binned(batches: Iterator[pa.RecordBatch], bins: EmbeddingBins) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            numbers = batch.column("number")
            numbers_of_bins = bins.of(numbers.to_numpy(), as_matrix(batch.column("place")))
            yield pa.RecordBatch.from_arrays(
                [pa.array(numbers_of_bins), numbers, batch.column("place")],
                names=["bin", "number", "place"],
            )
