"""Taste factors: a few numbers for each item, from which anybody's own follow on the spot.

What items are like is learned by MLlib's alternating least squares from all people at once, and
refined by `taste_refining`. A person's factors are the solution of one small system, given those of
the items: executors solve it wherever a person is, and nothing of people comes to the driver.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recveil.brief import brief
from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.predict import Padding
from recveil.ratings import Ratings, RatingScale
from recveil.spark.people_numbers import NumberedPeople
from recveil.spark.spread_people import SpreadPeople, Whole, ratings_of, some_at_a_time

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
_STEPS = float(1 << 20)
# MLlib knows people by numbers of 32 bits.
_MOST_PEOPLE = 2**31 - 1


@brief
class TasteFactors(NamedTuple):
    """What is known of items: ``rating = offset + factors of the item · factors of the person``.

    Attributes
    ----------
    offset : ndarray of float32, shape (n_items,)
        What everybody is expected to give.
    factors : ndarray of float32, shape (n_items, rank + 1)
        The last is that of people's biases: the unit of the scale, for all items.
    triangular : ndarray of float64, shape (rank + 1, rank + 1)
        Takes people's factors to where distances are those between padded rows.
    """

    offset: NDArray[np.float32]
    factors: NDArray[np.float32]
    triangular: NDArray[np.float64]

    @classmethod
    def of(
        cls, offset: NDArray[np.float32], factors: NDArray[Any], scale: RatingScale
    ) -> "TasteFactors":
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
        """Return the factors of some people, and their biases last, shape (n_users, rank + 1).

        Examples
        --------
        >>> scale = RatingScale(1, 5, 1)
        >>> ratings = Ratings.from_columns([1, 1, 2], [0, 1, 1], [5, 1, 3], scale=scale)
        >>> known = TasteFactors.of(np.full(2, 3, np.float32), np.array([[3], [-3]]), scale)
        >>> known.of_people(ratings).round(1)
        array([[0.4, 0. ],
               [0. , 0. ]], dtype=float32)
        """
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
    """How often, and how, each item was rated.

    Attributes
    ----------
    support : ndarray of int64, shape (n_items,)
    offset : ndarray of float32, shape (n_items,)
        The mean rating of each, pulled to that of all where there are few.
    mean : float
        Of all ratings.
    """

    support: NDArray[np.int64]
    offset: NDArray[np.float32]
    mean: float

    @classmethod
    def of(cls, people: SpreadPeople) -> "RatedItems":
        """Ask executors; sums of whole numbers are the same in whatever order."""
        support, steps = people.add_up(_sums_of_items, people.scale)
        unit = people.scale.range / _STEPS
        total = steps * unit
        mean = total.sum() / max(1, support.sum())
        off = (total - support * mean) / (support + _ITEM_PULL)
        overall = float(people.scale.low + mean)
        return cls(support, (overall + off).astype(np.float32), overall)

    def _facts(self) -> dict[str, object]:
        return {"items": self.support.size}


def learn_factors(
    people: SpreadPeople, numbered: NumberedPeople, items: RatedItems, seed: int
) -> TasteFactors:
    """Learn the factors of items from all people, by MLlib.

    Parameters
    ----------
    people : SpreadPeople
    numbered : NumberedPeople
    items : RatedItems
    seed : int
        Where factors begin.

    Raises
    ------
    RecveilError
        If there are more people than MLlib can number, or learning fails.
    """
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
    return TasteFactors.of(items.offset, factors, people.scale)


def unit_of(scale: RatingScale) -> float:
    """Return a quarter of the range, by which any scale is as wide as that from 1 to 5.

    Examples
    --------
    >>> unit_of(RatingScale(0, 100, 1))
    25.0
    """
    return scale.range / 4 or 1.0


def _sums_of_items(ratings: Ratings, scale: RatingScale) -> Whole:
    """Return how often each item was rated, and the sum of its ratings above the scale's low end.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2, 2], [7, 7, 8], [5, 1, 3], scale=RatingScale(1, 5, 1))
    >>> _sums_of_items(ratings, ratings.scale)
    array([[      2,       1],
           [1048576,  524288]])
    """
    above = (ratings.values.astype(np.float64) - scale.low) / (scale.range or 1.0)
    steps = np.rint(above * _STEPS)
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


def place_people(
    people: SpreadPeople, numbered: NumberedPeople, known: TasteFactors
) -> "DataFrame":
    """Say where each person is: a frame of `number` and `place`, kept where the people are."""
    work = partial(_placed, scale=people.scale, n_items=people.n_items, known=known)
    return people.keep(numbered.frame.mapInArrow(work, "number long, place array<float>"))


def _placed(
    batches: Iterator[pa.RecordBatch], scale: RatingScale, n_items: int, known: TasteFactors
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
