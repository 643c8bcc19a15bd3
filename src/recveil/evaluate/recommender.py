"""Recommender: what all models of a recipient share, above all how their settings are chosen."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recveil.evaluate.deviations import rmse
from recveil.evaluate.ranking import list_items, ndcg, relevance_threshold, relevant_items
from recveil.evaluate.training import InnerSplit, TrainingTable, UserRows, inner_split
from recveil.ratings import RatingScale

# A tuple of numbers, whose meaning is the recommender's own.
Setting: TypeAlias = tuple[float, ...]

# Errors nearer to each other than this are equal.
_NOISE = 1e-9
# Lists are tried for at most so many rows, and cells: 32 MiB.
_MOST_LISTS, _MOST_CELLS = 1_000, 1 << 22


class Recommender(ABC):
    """Learns its item side from a table, then serves people whom that table need not know.

    Subclasses name the settings to try, learn by one of them (`_learn`), and serve rows with what
    was learnt and a further setting (`_serve`). Which settings are taken is decided in the same
    way for every table: those with the lowest RMSE, over people, on an inner hold-out; of equally
    good ones the first.

    Attributes
    ----------
    name : str
    rates : bool
        Whether its scores are ratings, so that they have an error.
    ranks : bool
        Whether its scores order a person's items, so that his list means something.
    setting_ : tuple of float
        What was chosen, first for learning, then for serving.
    inner_rmse_ : float
        RMSE on the inner hold-out; nan without one, or for a recommender that rates nothing.
    inner_ndcg_ : float
        nDCG@10 on the inner hold-out, over the people behind at most 1,000 of its rows, by the
        settings chosen; nan if it ranks nothing, or if nothing held out is relevant.
    scale_ : RatingScale
    n_items_ : int
        Of the table.
    """

    name: str
    rates: ClassVar[bool] = True
    ranks: ClassVar[bool] = True
    learning_settings: ClassVar[tuple[Setting, ...]] = ((),)
    serving_settings: ClassVar[tuple[Setting, ...]] = ((),)

    setting_: Setting
    inner_rmse_: float
    inner_ndcg_: float = np.nan
    scale_: RatingScale
    n_items_: int

    def fit(self, table: TrainingTable, inner: InnerSplit | None = None) -> Self:
        """Choose the settings, then learn from the whole table.

        Parameters
        ----------
        table : TrainingTable
        inner : InnerSplit, optional
            From `inner_split`, to choose by; the table's own if not given.
        """
        inner = inner_split(table) if inner is None else inner
        self.scale_, self.n_items_ = table.scale, table.n_items
        # A product split over threads may round differently.
        with threadpool_limits(1, user_api="blas"):
            learning, self._serving, self.inner_rmse_ = self._choose(inner, ranking=True)
            self._learnt = self._learn(table, learning)
        self.setting_ = learning + self._serving
        return self

    def predict(self, people: UserRows) -> NDArray[np.float64]:
        """Score every item for each row, shape (n_users, n_items); the highest score is first.

        Scores of a recommender that `rates` are ratings, not yet clipped to the scale: clipping
        would make the best of them equal.
        """
        with threadpool_limits(1, user_api="blas"):
            return self._serve(self._learnt, people, self._serving)

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
        self, inner: InnerSplit, *, ranking: bool = False
    ) -> tuple[Setting, Setting, float]:
        """Return the settings with the lowest RMSE, and that; note how well they rank if asked."""
        held = inner.held_out
        best = (self.learning_settings[0], self.serving_settings[0], np.nan)
        self.inner_ndcg_ = np.nan
        if not held.items.size:
            return best
        if not self.rates:
            if ranking:
                self.inner_ndcg_ = self._rank(inner, self._learn(inner.table, best[0]), best[1])
            return best
        for learning in self.learning_settings:
            learnt = self._learn(inner.table, learning)
            before = best
            tried = self._try(learnt, inner.table.rows, held.users, held.items)
            for serving, scores in zip(self.serving_settings, tried, strict=True):
                ratings = np.clip(scores, inner.table.scale.low, inner.table.scale.high)
                error = rmse(ratings, held.values, inner.weights)
                if np.isnan(best[2]) or error < best[2] - _NOISE:
                    best = (learning, serving, error)
            # At once, since what was learnt may be too large to be kept beside the next.
            if ranking and best != before:
                self.inner_ndcg_ = self._rank(inner, learnt, best[1])
        return best

    def _rank(self, inner: InnerSplit, learnt: Any, serving: Setting) -> float:
        """Return the nDCG@10 of lists for some rows, against what is held out of them."""
        rows, table = np.unique(inner.held_out.users), inner.table
        most = max(1, min(_MOST_LISTS, _MOST_CELLS // table.n_items))
        if rows.size > most:  # they stand in the order of their digests, which is none
            rows = rows[:most]
        relevant = relevant_items(inner.held_out, rows, relevance_threshold(table.scale))
        if not self.ranks or not relevant.indices.size:
            return np.nan
        own = table.rows.take(rows)
        gained = ndcg(list_items(self._serve(learnt, own, serving), own), relevant)
        judged = ~np.isnan(gained)
        return float(np.average(gained[judged], weights=table.sizes[rows][judged]))
