"""Means and popularity: recommenders that know nothing of what goes with what."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.evaluate.recommender import Recommender, Setting
from recveil.evaluate.training import InnerSplit, TrainingTable, UserRows, inner_splits

# People, and ratings, that a mean is drawn to its default by.
DAMPINGS = (0.0, 2.0, 5.0, 10.0, 25.0)


class GlobalMean(Recommender):
    """The mean of all labels, and how far above it the person rates. It ranks nothing.

    Examples
    --------
    >>> from recveil.ratings import Ratings
    >>> raw = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 3])
    >>> model = GlobalMean().fit(TrainingTable.from_ratings(raw))
    >>> model.predict(UserRows.from_ratings(raw))
    array([[3., 3.],
           [3., 3.]])
    """

    name = "global mean + user bias"
    ranks = False
    serving_settings: ClassVar[tuple[Setting, ...]] = tuple((damping,) for damping in DAMPINGS)

    def _learn(self, table: TrainingTable, _setting: Setting) -> NDArray[np.float64]:
        return np.full(table.n_items, table.overall_mean)

    def _serve(self, learnt: Any, people: UserRows, setting: Setting) -> NDArray[np.float64]:
        return learnt + biases(learnt, people, setting[0])[:, None]


class ItemMeans(Recommender):
    """Each item's mean label, the same for everybody.

    Examples
    --------
    >>> from recveil.ratings import Ratings
    >>> raw = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> ItemMeans().fit(TrainingTable.from_ratings(raw)).predict(UserRows.from_ratings(raw))
    array([[5. , 1.5],
           [5. , 1.5]])
    """

    name = "item mean"

    def _learn(self, table: TrainingTable, _setting: Setting) -> NDArray[np.float64]:
        return table.item_means()

    def _serve(self, learnt: Any, people: UserRows, _setting: Setting) -> NDArray[np.float64]:
        return np.tile(learnt, (people.n_users, 1))


class ItemMeansAndBias(Recommender):
    """Each item's damped mean label, and how far above the means the person rates.

    This is what averages alone can do, and what collaborative filtering has to beat.
    """

    name = "item mean + user bias"
    learning_settings: ClassVar[tuple[Setting, ...]] = tuple((damping,) for damping in DAMPINGS)
    serving_settings: ClassVar[tuple[Setting, ...]] = tuple((damping,) for damping in DAMPINGS)

    def _learn(self, table: TrainingTable, setting: Setting) -> NDArray[np.float64]:
        return table.item_means(setting[0])

    def _serve(self, learnt: Any, people: UserRows, setting: Setting) -> NDArray[np.float64]:
        return learnt + biases(learnt, people, setting[0])[:, None]


class Popularity(Recommender):
    """How many people carry each item. It ranks, and predicts no rating."""

    name = "popularity"
    rates: ClassVar[bool] = False

    def _learn(self, table: TrainingTable, _setting: Setting) -> NDArray[np.float64]:
        return table.support

    def _serve(self, learnt: Any, people: UserRows, _setting: Setting) -> NDArray[np.float64]:
        return np.tile(learnt, (people.n_users, 1))


@brief
class Averages(NamedTuple):
    """What averages explain; the others learn from what they leave.

    Attributes
    ----------
    item_means : ndarray of float64, shape (n_items,)
    damping : float
        That of the users' biases.
    """

    item_means: NDArray[np.float64]
    damping: float

    def rest(self, people: UserRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each row's bias, and what is left of its ratings."""
        bias = biases(self.item_means, people, self.damping)
        left = people.values - self.item_means[people.indices] - bias[people.row_of()]
        return bias, left


class OnAverages(Recommender):
    """A recommender that learns what averages leave over, once their dampings are chosen."""

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Choose the averages' settings, then its own, then learn from the whole table."""
        inner = inner_splits(table) if inner is None else inner
        self._dampings = ItemMeansAndBias()._choose(inner, share=0.0)[:2]
        return super().fit(table, inner)

    def _averages(self, table: TrainingTable) -> Averages:
        (of_items,), (of_users,) = self._dampings
        return Averages(table.item_means(of_items), of_users)


def biases(
    item_means: NDArray[np.float64], people: UserRows, damping: float
) -> NDArray[np.float64]:
    """Return how far above the items' means each row lies, shape (n_users,), damped towards 0.

    Examples
    --------
    >>> people = UserRows(np.array([0, 2]), np.array([0, 1], np.int32), np.array([5.0, 3.0]))
    >>> biases(np.array([3.0, 3.0]), people, damping=2.0)  # (2 + 0) / (2 + 2)
    array([0.5])
    """
    above = people.values - item_means[people.indices]
    sums = np.bincount(people.row_of(), weights=above, minlength=people.n_users)
    counts = np.diff(people.indptr) + damping
    return np.divide(sums, counts, out=np.zeros(people.n_users), where=counts > 0)
