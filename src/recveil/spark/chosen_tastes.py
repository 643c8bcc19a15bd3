"""Chosen tastes: where people are by what they rated and liked, found by sums among executors.

On one machine these are singular vectors (`support_tastes.place_people`). Here they are found by
going back and forth between items and people, who never leave their executors.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.anonymize.support_tastes import RANK, weigh_choices
from recveil.blas import one_thread
from recveil.brief import brief
from recveil.compiled import compiled
from recveil.ratings import Ratings, RatingScale
from recveil.spark.people_numbers import NumberedPeople
from recveil.spark.spread_people import SpreadPeople, Whole, ratings_of, some_at_a_time
from recveil.spark.taste_factors import as_lists

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# So many directions more are looked for, and so often they are turned: as scikit-learn does.
_MORE, _ROUNDS = 10, 6
# Sums are in whole steps of this size. What one person adds is at most 1, so that sums of 10 ** 9
# people fit into 64 bits.
_STEPS = float(1 << 32)


@brief
class ChosenTastes(NamedTuple):
    """In which directions people differ by what they chose.

    Attributes
    ----------
    support : ndarray of int64, shape (n_items,)
        How many people rated each item.
    directions : ndarray of float64, shape (n_items, rank)
        At right angles to each other, and of length 1.
    """

    support: NDArray[np.int64]
    directions: NDArray[np.float64]

    def of_people(self, ratings: Ratings) -> NDArray[np.float32]:
        """Return the places of some people, shape (n_users, rank), whoever else is among them.

        Examples
        --------
        >>> ratings = Ratings.from_columns([1, 1, 2], [7, 8, 8], [5, 5, 5])
        >>> ChosenTastes(np.array([1, 16]), np.eye(2)).of_people(ratings).round(3)
        array([[0.707, 0.354],
               [0.   , 0.5  ]], dtype=float32)
        """
        return np.asarray(weigh_choices(ratings, self.support) @ self.directions, np.float32)

    def _facts(self) -> dict[str, object]:
        return {"items": self.support.size, "rank": self.directions.shape[1]}


def learn_chosen(
    people: SpreadPeople, support: NDArray[np.int64], rng: np.random.Generator
) -> ChosenTastes:
    """Find the directions in which people differ most.

    Parameters
    ----------
    people : SpreadPeople
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
    return ChosenTastes(support, np.ascontiguousarray(directions))


def _upright(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns that span the same, at right angles to each other."""
    with one_thread():
        return np.asarray(np.linalg.qr(columns)[0])


def _pulled(ratings: Ratings, support: NDArray[np.int64], basis: NDArray[np.float64]) -> Whole:
    """Return how people who chose an item are placed, added up for each item as they chose it.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], [7, 8, 8], [5, 5, 5])
    >>> _pulled(ratings, np.array([1, 1]), np.array([[1.0], [0.0]])) / 2**32
    array([[0.5],
           [0.5]])
    """
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
    people: SpreadPeople, numbered: NumberedPeople, chosen: ChosenTastes
) -> "DataFrame":
    """Say where each person is: a frame of `number` and `place`, kept where the people are."""
    work = partial(_placed, scale=people.scale, chosen=chosen)
    return people.keep(numbered.frame.mapInArrow(work, "number long, place array<float>"))


def _placed(
    batches: Iterator[pa.RecordBatch], scale: RatingScale, chosen: ChosenTastes
) -> Iterator[pa.RecordBatch]:
    for table in some_at_a_time(batches):
        places = chosen.of_people(ratings_of(table, scale, chosen.support.size))
        numbers = table["number"].combine_chunks()
        yield pa.RecordBatch.from_arrays([numbers, as_lists(places)], names=["number", "place"])
