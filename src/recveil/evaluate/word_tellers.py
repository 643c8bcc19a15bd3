"""Word tellers: recommenders of words without an order, which tell the word that somebody gives.

Each learns from rows of words, raw ones or a release's, and tells held-out words of people whose
own training words are known, whether they are in the table or not. A word is right, or it is not.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.evaluate.training import TrainingTable, UserRows, inner_splits
from recveil.ratings import Ratings

# What like-minded rows say counts beside so many average ones that say what the item's do.
_PRIOR = 10.0
# So many common items more are taken to agree by chance alone.
_SHRINK = 30.0
# Cells of a tile of people: 32 MiB.
_TILE_CELLS = 1 << 22

Numbers = NDArray[np.float64]


class WordTeller(ABC):
    """Learns from rows of words, then tells the words of people by their own words.

    Attributes
    ----------
    name : str
    """

    name: str

    def fit(self, table: TrainingTable) -> Self:
        """Learn from a table of words without an order."""
        self._table = table
        self._n_words = len(table.scale.words)
        counts = word_counts(table.rows.indices, table.rows.values, table.weights, table)
        overall = counts.sum(axis=0)
        self._overall = (overall + 1) / (overall.sum() + self._n_words)
        # Of an item that no row holds, what is commonest of all is as good a guess as any.
        counts[counts.sum(axis=1) == 0] = overall
        self._of_items = (counts + 1) / (counts.sum(axis=1, keepdims=True) + self._n_words)
        self._counts = counts
        return self

    def tell(
        self, people: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the number of the likeliest word of each cell; of equal ones, the first.

        Parameters
        ----------
        people : UserRows
            People's own words.
        rows, items : ndarray of int64, shape (n_cells,)
            The cells: positions among the people, and of items.
        """
        likely = np.round(self._likely(people, rows, items), 9)
        return np.asarray(likely.argmax(axis=1) + 1)

    @abstractmethod
    def _likely(
        self, people: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        """Return how likely each word is, up to a factor of the cell, shape (n_cells, n_words)."""

    def _of_people(self, people: UserRows) -> Numbers:
        """Return how much more often each person gives each word than all do, smoothed."""
        words, n_words = np.rint(people.values).astype(np.int64) - 1, self._n_words
        at = people.row_of() * n_words + words
        counts = np.bincount(at, minlength=people.n_users * n_words).reshape(-1, n_words) + 1.0
        return np.asarray(counts / counts.sum(axis=1, keepdims=True) / self._overall)


class CommonestWord(WordTeller):
    """The word that most people gave to the item; the person does not matter."""

    name = "item's commonest word"

    def _likely(
        self, _people: UserRows, _rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        counts = self._counts[items]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


class WordsOfBoth(WordTeller):
    """The words of the item and those of the person, as if neither knew of the other.

    Notes
    -----
    Naive Bayes: a word is as likely as its share among the item's, times that among the person's,
    over that among all. Shares are smoothed (Laplace).
    """

    name = "words of item and person"

    def _likely(
        self, people: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        return np.asarray(self._of_items[items] * self._of_people(people)[rows])


class LikeMinded(WordTeller):
    """`WordsOfBoth`, where rows count more the more often they say what the person says.

    Notes
    -----
    A row counts as much as it agrees with the person more often than by chance, over the items that
    both hold, and 30 more; rows that agree less count nothing. To what they say of an item, ten
    rows of average weight are added that say what all say.
    """

    name = "like-minded rows"

    def fit(self, table: TrainingTable) -> Self:
        """Learn from a table of words without an order."""
        super().fit(table)
        self._pairs, self._held = _matrices(table.rows, table.n_items, self._n_words)
        self._by_chance = float((self._overall**2).sum())
        return self

    def _likely(
        self, people: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        found = np.empty((rows.size, self._n_words))
        step = max(1, _TILE_CELLS // max(self._pairs.shape))
        for first in range(0, people.n_users, step):
            of_tile = np.arange(first, min(first + step, people.n_users))
            cells = np.flatnonzero((rows >= first) & (rows < first + step))
            if cells.size:
                said = self._said(people.take(of_tile))
                said = said.reshape(of_tile.size, -1, self._n_words)
                found[cells] = said[rows[cells] - first, items[cells]]
        found += _PRIOR * self._of_items[items]
        return np.asarray(found * self._of_people(people)[rows])

    def _said(self, people: UserRows) -> Numbers:
        """Return the weight of the rows that give each word to each item, for each person."""
        own, held = _matrices(people, self._table.n_items, self._n_words)
        common = (own @ self._pairs.T).toarray()
        shared = (held @ self._held.T).toarray()
        weights = np.clip((common - self._by_chance * shared) / (shared + _SHRINK), 0, None)
        weights *= self._table.sizes
        mean = weights.mean(axis=1, keepdims=True)
        weights = np.divide(weights, mean, out=np.zeros_like(weights), where=mean > 0)
        return np.asarray((self._pairs.T @ weights.T).T)


def default_tellers() -> tuple[WordTeller, ...]:
    """Return the tellers that a recipient would try, none of them fitted; the first is simplest."""
    return (CommonestWord(), WordsOfBoth(), LikeMinded())


def choose_teller(table: TrainingTable, tellers: Sequence[WordTeller], seed: int = 0) -> str:
    """Return the name of the teller that is right most often on rows that are held out whole.

    Parameters
    ----------
    table : TrainingTable
        All that a recipient has to choose by.
    tellers : sequence of WordTeller
        Of equally good ones, and where nothing can be held out, the first.
    seed : int
        Draws the rows; see `recveil.evaluate.inner_splits`.

    Examples
    --------
    >>> from recveil.ratings import Ratings, RatingScale
    >>> scale = RatingScale.of_words("up,down", ordered=False)
    >>> one = Ratings.from_columns([1, 1], ["a", "b"], ["up", "down"], scale=scale)
    >>> choose_teller(TrainingTable.from_ratings(one), default_tellers())
    "item's commonest word"
    """
    right = dict.fromkeys((teller.name for teller in tellers), 0)
    for learnt_from, known, held in inner_splits(table, seed):
        for teller in tellers:
            told = type(teller)().fit(learnt_from).tell(known, held.users, held.items)
            right[teller.name] += int((told == np.rint(held.values)).sum())
    return max(right, key=right.__getitem__)


def word_counts(
    items: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any] | None,
    table: TrainingTable | Ratings,
) -> Numbers:
    """Return how many people gave each word to each item, shape (n_items, n_words).

    Parameters
    ----------
    items, values : ndarray, shape (n_labels,)
        Words, by their numbers, and the positions of their items.
    weights : ndarray or None
        How many people stand behind each; one if not given.
    table : TrainingTable or Ratings
        Says how many items and words there are.
    """
    n_words = len(table.scale.words)
    at = items.astype(np.int64) * n_words + np.rint(values).astype(np.int64) - 1
    counts = np.bincount(at, weights=weights, minlength=table.n_items * n_words)
    return np.asarray(counts.reshape(-1, n_words), np.float64)


def _matrices(
    rows: UserRows, n_items: int, n_words: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return which items with which words each row holds, and which items."""
    pairs = rows.indices.astype(np.int64) * n_words + np.rint(rows.values).astype(np.int64) - 1
    ones, shape = np.ones(rows.indices.size), (rows.n_users, n_items * n_words)
    return (
        sparse.csr_array((ones, pairs, rows.indptr), shape=shape),
        rows.matrix(n_items, ones),
    )
