"""Recommender: what all models of a recipient share, above all how their settings are chosen."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recveil.blas import one_thread
from recveil.evaluate.top_lists import list_items, ndcg, relevance_threshold, relevant_items
from recveil.evaluate.training import (
    InnerSplit,
    TrainingTable,
    UserRows,
    enough_for_errors,
    inner_splits,
)
from recveil.progress import track
from recveil.ratings import RatingScale

# A tuple of numbers, whose meaning is the recommender's own.
Setting: TypeAlias = tuple[float, ...]

# Errors nearer to each other than this are equal.
_NOISE = 1e-9
# Lists are tried for at most so many rows, and cells: 32 MiB.
_MOST_LISTS, _MOST_CELLS = 1_000, 1 << 22
# Shares of what is left of a fit that the bar gives to choosing settings, and to inner lists.
CHOOSING, RANKING = 0.6, 0.5


class Recommender(ABC):
    """Learns its item side from a table, then serves people whom that table need not know.

    Subclasses name the settings to try, learn by one of them (`_learn`), and serve rows with what
    was learnt and a further setting (`_serve`). Which settings are taken is decided in the same
    way for every table: those with the lowest RMSE on rows that were held out whole (see
    `recveil.evaluate.inner_splits`; the first 100 rows or more of them), each distinct row counted
    once; of equally good ones, and where nothing can be held out, the first.

    Attributes
    ----------
    name : str
    rates : bool
        Whether its scores are ratings, so that they have an error.
    ranks : bool
        Whether its scores order a person's items, so that a list of them means something; known
        once it is fitted, where that depends on the table.
    setting_ : tuple of float
        What was chosen, first for learning, then for serving.
    inner_rmse_ : float
        RMSE on the inner hold-outs; nan without one, or for a recommender that rates nothing.
    inner_lists_ : ndarray of float64, shape (n_rows,)
        nDCG@10 of each of at most 1,000 rows of each inner hold-out (of the first hundred rows or
        more, if it `rates`; of the first hold-out, if the table is full), by the settings chosen;
        nan where nothing held out is relevant. Empty if it ranks nothing.
    scale_ : RatingScale
    n_items_ : int
        Of the table.
    is_full_ : bool
        Whether the table is; see `TrainingTable.is_full`.
    """

    name: str
    rates: ClassVar[bool] = True
    ranks: bool = True
    learning_settings: ClassVar[tuple[Setting, ...]] = ((),)
    serving_settings: ClassVar[tuple[Setting, ...]] = ((),)

    setting_: Setting
    inner_rmse_: float
    inner_lists_: NDArray[np.float64] = np.empty(0)
    scale_: RatingScale
    n_items_: int
    is_full_: bool = False

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Choose the settings, then learn from the whole table.

        Parameters
        ----------
        table : TrainingTable
        inner : sequence of InnerSplit, optional
            From `inner_splits`, to choose by; the table's own if not given.
        """
        inner = inner_splits(table) if inner is None else inner
        self.scale_, self.n_items_ = table.scale, table.n_items
        self.is_full_ = table.is_full
        # A product split over threads may round differently.
        with one_thread():
            learning, self._serving, self.inner_rmse_ = self._choose(inner)
            self.inner_lists_ = self._rank(inner, learning)
            self._learnt = self._learn(table, learning)
        self.setting_ = learning + self._serving
        return self

    @property
    def inner_ndcg_(self) -> float:
        """The mean of `inner_lists_`; nan if there is none."""
        judged = self.inner_lists_[~np.isnan(self.inner_lists_)]
        return float(judged.mean()) if judged.size else np.nan

    def predict(self, people: UserRows) -> NDArray[np.float64]:
        """Score every item for each row, shape (n_users, n_items); the highest score is first.

        Scores of a recommender that `rates` are ratings, not yet clipped to the scale: clipping
        would make the best of them equal.
        """
        with one_thread():
            return self._serve(self._learnt, people, self._serving)

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes, for the bar.

        Parameters
        ----------
        table : TrainingTable
        n_inner : int
            How many inner hold-outs there are.
        """
        return (1.0 + n_inner) * (100.0 * table.rows.indices.size + 1_000.0 * table.n_items)

    @abstractmethod
    def _learn(self, table: TrainingTable, setting: Setting) -> Any:
        """Learn from a table all that serving needs."""

    @abstractmethod
    def _serve(self, learnt: Any, people: UserRows, setting: Setting) -> NDArray[np.float64]:
        """Score every item for each row."""

    def _try(
        self,
        learnt: Any,
        people: UserRows,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of some cells by each serving setting in turn.

        Subclasses may do at once what does not depend on the setting.
        """
        for serving in self.serving_settings:
            yield self._serve(learnt, people, serving)[rows, items]

    def _choose(
        self, inner: Sequence[InnerSplit], share: float = CHOOSING
    ) -> tuple[Setting, Setting, float]:
        """Return the settings with the lowest RMSE on the first hold-outs together, and that."""
        inner = enough_for_errors(inner)
        n_cells = sum(part.held_out.items.size for part in inner)
        if not n_cells or not self.rates:
            return self.learning_settings[0], self.serving_settings[0], np.nan
        squares = np.zeros((len(self.learning_settings), len(self.serving_settings)))
        tries = list(product(inner, enumerate(self.learning_settings)))
        for (table, known, held), (place, learning) in track(tries, self.name, share=share):
            learnt = self._learn(table, learning)
            tried = self._try(learnt, known, held.users, held.items)
            for other, scores in enumerate(tried):
                ratings = np.clip(scores, table.scale.low, table.scale.high)
                squares[place, other] += np.sum((ratings - held.values) ** 2)
        errors = np.sqrt(squares / n_cells)
        first = int(np.flatnonzero(errors.ravel() < errors.min() + _NOISE)[0])
        place, other = divmod(first, len(self.serving_settings))
        chosen = self.learning_settings[place], self.serving_settings[other]
        return *chosen, float(errors[place, other])

    def _rank(self, inner: Sequence[InnerSplit], learning: Setting) -> NDArray[np.float64]:
        """Return the nDCG@10 of lists for held-out rows, by the settings chosen.

        Ratings are seldom in an order that lists want, so that for who predicts them the first
        rows are enough; and of a full table, where no lists tell anything, the first hold-out.
        """
        gained = [np.empty(0)]
        parts = enough_for_errors(inner) if self.rates else inner
        parts = parts[:1] if self.is_full_ else parts
        for part in track(parts if self.ranks else (), self.name, share=RANKING):
            gained.append(self._rank_part(part, self._learn(part.table, learning), self._serving))
        return np.concatenate(gained)

    def _rank_part(self, part: InnerSplit, learnt: Any, serving: Setting) -> NDArray[np.float64]:
        """Return the nDCG@10 of lists for the rows of one hold-out."""
        table, known, held = part
        rows = np.unique(held.users)
        # They stand in the order of their digests, which is none.
        rows = rows[: most_listed(table.n_items)]
        relevant = relevant_items(held, rows, relevance_threshold(table.scale))
        own = known.take(rows)
        return ndcg(list_items(self._serve(learnt, own, serving), own), relevant)


def most_listed(n_items: int) -> int:
    """Return for how many rows of a hold-out lists are made at most.

    Examples
    --------
    >>> most_listed(100), most_listed(8_192)
    (1000, 512)
    """
    return max(1, min(_MOST_LISTS, _MOST_CELLS // n_items))
