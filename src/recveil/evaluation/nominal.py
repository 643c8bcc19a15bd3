"""Prediction of nominal labels, and lists of liked items.

The publisher states which words mean that a user liked an item. The table then has two levels,
rated and liked, and lists are made and evaluated as for ratings.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks import ReleasedTable
from recveil.attacks.statistics import Mean, mean_interval
from recveil.evaluation.bootstrap import Measured, measured_by, resample, share_interval
from recveil.evaluation.recipient import Served, default_recommenders, fit_all, serve
from recveil.evaluation.split import HeldOut, Split, TrainingTable, UserRows, inner_splits
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import words_in
from recveil.runtime.errors import RecveilError, listed
from recveil.runtime.safe_repr import brief

# Prior weight of average rows against similar rows.
_PRIOR = 10.0
# So many common items more are taken to agree by chance alone.
_SHRINK = 30.0
# Cells of a tile of users: 32 MiB.
_TILE_CELLS = 1 << 22

Numbers = NDArray[np.float64]


class WordTeller(ABC):
    """A predictor of users' nominal labels from the rows of a table."""

    name: str

    def fit(self, table: TrainingTable) -> Self:
        """Learn from a table of words without an order."""
        self._table = table
        self._n_words = len(table.scale.words)
        counts = word_counts(table.rows.indices, table.rows.values, table.weights, table)
        overall = counts.sum(axis=0)
        self._overall = (overall + 1) / (overall.sum() + self._n_words)
        # For an item without words, use the distribution over all items.
        counts[counts.sum(axis=1) == 0] = overall
        self._of_items = (counts + 1) / (counts.sum(axis=1, keepdims=True) + self._n_words)
        self._counts = counts
        return self

    def tell(
        self, people: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the number of the likeliest word of each cell; of equals, the first.

        Parameters
        ----------
        people : UserRows
            The users' known words.
        rows, items : ndarray of int64, shape (n_cells,)
            The cells: positions of users and items.
        """
        likely = np.round(self._likely(people, rows, items), 9)
        return np.asarray(likely.argmax(axis=1) + 1)

    @abstractmethod
    def _likely(
        self, people: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        """Return the likelihood of each word up to a factor per cell, shape (n_cells, n_words)."""

    def _of_people(self, people: UserRows) -> Numbers:
        """Return the smoothed ratio of each user's word frequencies to the overall ones."""
        words, n_words = np.rint(people.values).astype(np.int64) - 1, self._n_words
        at = people.row_of() * n_words + words
        counts = np.bincount(at, minlength=people.n_users * n_words).reshape(-1, n_words) + 1.0
        return np.asarray(counts / counts.sum(axis=1, keepdims=True) / self._overall)


class CommonestWord(WordTeller):
    """The item's most frequent word, the same for all users."""

    name = "item's commonest word"

    def _likely(
        self, _people: UserRows, _rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        counts = self._counts[items]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


class WordsOfBoth(WordTeller):
    """Naive Bayes from the words of the item and those of the user.

    Notes
    -----
    The likelihood of a word is its share among the item's words, times that among the user's, over
    that among all. Shares are smoothed (Laplace).
    """

    name = "words of item and person"

    def _likely(
        self, people: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        return np.asarray(self._of_items[items] * self._of_people(people)[rows])


class LikeMinded(WordTeller):
    """`WordsOfBoth` with rows weighted by their agreement with the user.

    Notes
    -----
    A row's weight is its agreement with the user in excess of chance, over the number of common
    items plus 30; rows with less agreement have no weight. Ten rows of average weight with the
    overall distribution are added to an item's words.
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
        """Return the weight of the rows with each word, by item and user."""
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
    """Return the name of the teller that is right most often on rows that are held out whole."""
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
    """Return how many users gave each word to each item, shape (n_items, n_words).

    Parameters
    ----------
    items, values : ndarray, shape (n_labels,)
        Words, by their numbers, and the positions of their items.
    weights : ndarray or None
        Number of users of each; one by default.
    table : TrainingTable or Ratings
        Defines the number of items and words.
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


@brief
class LabelAccuracy(NamedTuple):
    """Accuracy of published words against held-out words, as means over users."""

    # Held-out words of users who are in the release
    cells: int
    # Share of a user's held-out words that equal the word in the user's row
    right: Mean
    # Share that equals the item's most frequent word in the training table
    commonest: Mean
    # The difference of the two
    gain: Mean

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        told = {name: getattr(self, name)._asdict() for name in ("right", "commonest", "gain")}
        return {"cells": self.cells, **told}

    def _facts(self) -> dict[str, object]:
        return {"right": f"{self.right.mean:.1%}", "commonest": f"{self.commonest.mean:.1%}"}


def score_labels(parts: Split, table: ReleasedTable) -> LabelAccuracy:
    """Compare held-out words with those in users' rows."""
    train, test = parts
    records = table.record_of[test.users]
    known = records >= 0
    users, items = test.users[known], test.items[known]
    truth = np.rint(test.values[known])
    shape = (table.indptr.size - 1, train.n_items)
    rows = sparse.csr_array((table.values, table.indices, table.indptr), shape=shape)
    labels = np.asarray(rows[records[known], items]).ravel()  # 0 where there is none
    right = _by_user(users, labels == truth)
    usual = _by_user(users, commonest_words(train)[items] == truth)
    gain = mean_interval(right - usual)
    return LabelAccuracy(int(known.sum()), mean_interval(right), mean_interval(usual), gain)


def commonest_words(train: Ratings) -> NDArray[np.float64]:
    """Return each item's commonest word, by its number; of equal ones, the first of the scale."""
    counts = word_counts(train.indices, train.values, None, train)
    # For an item without words, use the distribution over all items.
    counts[counts.sum(axis=1) == 0] = counts.sum(axis=0)
    return np.asarray(counts.argmax(axis=1) + 1.0)


def _by_user(users: NDArray[np.int64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of correct words of each user who has any."""
    people, of = np.unique(users, return_inverse=True)
    counts = np.bincount(of, minlength=people.size)
    return np.asarray(np.bincount(of, weights=right, minlength=people.size) / counts)


# The baseline from which gains are measured; it needs no release.
COMMONEST = CommonestWord.name


@brief
class WordsServed(NamedTuple):
    """Accuracy of all word predictors trained on one table."""

    # Share of each user's held-out words that each predictor gets right
    right: Mapping[str, NDArray[np.float64]]
    # The predictor that a recipient would choose; see `choose_teller`
    chosen: str

    @property
    def best(self) -> str:
        """The one that turned out best, which no recipient can know."""
        return max(self.right, key=lambda name: round(float(self.right[name].mean()), 9))

    def mean(self, name: str) -> Mean:
        """Return the mean over users, with its interval."""
        return mean_interval(self.right[name])

    def of_chosen(self, *, best: bool = False) -> NDArray[np.float64]:
        """Return each user's accuracy, by the chosen predictor or by the best."""
        return self.right[self.best if best else self.chosen]


def serve_words(
    table: TrainingTable, people: UserRows, test: HeldOut, seed: int = 0
) -> WordsServed:
    """Train predictors on a table, and predict users' held-out words from their other words."""
    tellers = default_tellers()
    chosen = choose_teller(table, tellers, seed)
    users, row_of = np.unique(test.users, return_inverse=True)
    own, truth = people.take(users), np.rint(test.values)
    counts = np.bincount(row_of)
    right = {}
    for teller in tellers:
        told = teller.fit(table).tell(own, row_of, test.items)
        right[teller.name] = np.bincount(row_of, weights=told == truth) / counts
    return WordsServed(right, chosen)


def words_gain(raw: WordsServed, served: WordsServed, seed: int = 0) -> Measured:
    """Return the gain in accuracy over the most frequent words of the raw table."""
    gained = served.of_chosen() - raw.right[COMMONEST]
    sums = resample(np.column_stack([np.ones(gained.size), gained]), seed, 1_000)
    return measured_by(float(gained.mean()), sums[:, 1] / sums[:, 0], gained.size)


def words_kept(
    raw: WordsServed, served: WordsServed, *, best: bool = False, seed: int = 0
) -> Measured:
    """Return the retained share of the gain: 1 is as good as raw, 0 as the most frequent words."""
    floor = raw.right[COMMONEST]
    whole, part = raw.of_chosen(best=best) - floor, served.of_chosen(best=best) - floor
    if whole.sum() <= 0:
        return Measured(np.nan, np.nan, np.nan, whole.size)
    sums = resample(np.column_stack([part, whole]), seed, 1_000)
    value = float(part.sum() / whole.sum())
    return Measured(value, *share_interval(value, sums[:, 0], sums[:, 1]), whole.size)


# 1 is rated, 2 is liked; from three quarters up the scale, an item is relevant.
RATED_OR_LIKED = RatingScale(1, 2, 1)


def liked_words(liked: str | Sequence[str] | None, scale: RatingScale) -> tuple[str, ...]:
    """Return the words that count as liked, in the order of the scale; empty if none are given.

    Examples
    --------
    >>> liked_words("up", RatingScale.of_words("down,meh,up", ordered=False))
    ('up',)
    """
    if liked is None:
        return ()
    if scale.ordered:
        raise RecveilError(
            f"liked (--liked) is of words without an order (--words), but the ratings are "
            f"{'likes' if scale.unary else f'on the scale {scale}'}, which says itself what is "
            f"liked; leave it out",
            code="option.unsupported",
        )
    named = words_in(liked) if isinstance(liked, str) else tuple(liked)
    unknown = [word for word in named if word not in scale.words]
    if unknown or not named:
        raise RecveilError(
            f"liked (--liked) names {listed(unknown or ['nothing'], 60)}; expected some of the "
            f"words {listed(scale.words, 120)}",
            code="option.value",
        )
    if len(set(named)) == len(scale.words):
        raise RecveilError(
            "liked (--liked) names all words, so that lists would be of whatever was rated, and "
            "all rows of shared words hold the same items; name some of the words, or leave it out",
            code="option.value",
        )
    return tuple(word for word in scale.words if word in named)


def serve_liked(
    table: TrainingTable, people: UserRows, test: HeldOut, liked: Sequence[str], seed: int = 0
) -> Served:
    """Make lists for users from a table of words, and evaluate them on held-out liked items.

    Rating predictors are left out: the step from rated to liked is no distance.
    """
    levels = np.ones(len(table.scale.words))
    levels[[table.scale.words.index(word) for word in liked]] = 2

    def leveled(rows: UserRows) -> UserRows:
        return rows._replace(values=_at(levels, rows.values))

    two_levels = TrainingTable.from_rows(
        leveled(table.rows), table.sizes, table.n_items, RATED_OR_LIKED
    )
    makers = [maker for maker in default_recommenders() if not maker.rates]
    fitted = fit_all(two_levels, makers, seed)
    return serve(fitted, leveled(people), test._replace(values=_at(levels, test.values)))


def _at(levels: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(levels[np.rint(values).astype(np.int64) - 1])
