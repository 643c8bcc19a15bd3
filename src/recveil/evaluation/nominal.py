"""Prediction of nominal labels, and lists of liked items.

The publisher states which labels mean that a user liked an item. The table then has two levels,
rated and liked, and lists are made and evaluated as for ratings.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks import AttackTarget
from recveil.attacks.statistics import Mean, mean_interval
from recveil.attacks.statistics import share_interval as mean_share
from recveil.evaluation.recipient import Served, default_recommenders, fit_all, serve
from recveil.evaluation.retained import Measured, resample, share_interval, with_interval
from recveil.evaluation.split import HeldOut, Split, TrainingTable, UserRows, inner_splits
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import labels_in
from recveil.runtime.errors import RecveilError, listed
from recveil.runtime.safe_repr import brief

# Prior weight of average rows against similar rows.
_PRIOR = 10.0
# So many common items more are taken to agree by chance alone.
_SHRINK = 30.0
# Cells of a tile of users: 32 MiB.
_TILE_CELLS = 1 << 22

Numbers = NDArray[np.float64]


class NominalPredictor(ABC):
    """A predictor of users' nominal labels from the rows of a table."""

    name: str

    def fit(self, table: TrainingTable) -> Self:
        """Learn from a table of nominal labels."""
        self._table = table
        self._n_values = len(table.scale.labels)
        counts = value_counts(table.rows.indices, table.rows.values, table.weights, table)
        overall = counts.sum(axis=0)
        self._overall = (overall + 1) / (overall.sum() + self._n_values)
        # For an item without labels, use the distribution over all items.
        counts[counts.sum(axis=1) == 0] = overall
        self._of_items = (counts + 1) / (counts.sum(axis=1, keepdims=True) + self._n_values)
        self._counts = counts
        return self

    def predict(
        self, user_rows: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the number of the likeliest label of each cell; of equals, the first."""
        likely = np.round(self._likely(user_rows, rows, items), 9)
        return np.asarray(likely.argmax(axis=1) + 1)

    @abstractmethod
    def _likely(
        self, user_rows: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        """Return each label's likelihood up to a factor per cell, shape (n_cells, n_values)."""

    def _of_users(self, user_rows: UserRows) -> Numbers:
        """Return the smoothed ratio of each user's label frequencies to the overall ones."""
        codes, n_values = np.rint(user_rows.values).astype(np.int64) - 1, self._n_values
        at = user_rows.row_of() * n_values + codes
        counts = np.bincount(at, minlength=user_rows.n_users * n_values).reshape(-1, n_values) + 1.0
        return np.asarray(counts / counts.sum(axis=1, keepdims=True) / self._overall)


class MostFrequentValue(NominalPredictor):
    """The item's most frequent label, the same for all users."""

    name = "most frequent label"

    def _likely(
        self, _user_rows: UserRows, _rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        counts = self._counts[items]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


class NaiveBayes(NominalPredictor):
    """Naive Bayes from the labels of the item and those of the user.

    The likelihood of a label is its share among the item's labels, times that among the user's,
    over that among all. Shares are smoothed (Laplace).
    """

    name = "naive Bayes"

    def _likely(
        self, user_rows: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        return np.asarray(self._of_items[items] * self._of_users(user_rows)[rows])


class AgreementWeighted(NominalPredictor):
    """`NaiveBayes` with rows weighted by their agreement with the user.

    A row's weight is its agreement in excess of chance, over the number of common items plus 30.
    """

    name = "agreement-weighted rows"

    def fit(self, table: TrainingTable) -> Self:
        """Learn from a table of nominal labels."""
        super().fit(table)
        self._pairs, self._held = _matrices(table.rows, table.n_items, self._n_values)
        self._by_chance = float((self._overall**2).sum())
        return self

    def _likely(
        self, user_rows: UserRows, rows: NDArray[np.int64], items: NDArray[np.int64]
    ) -> Numbers:
        likelihood = np.empty((rows.size, self._n_values))
        step = max(1, _TILE_CELLS // max(self._pairs.shape))
        for first in range(0, user_rows.n_users, step):
            of_tile = np.arange(first, min(first + step, user_rows.n_users))
            cells = np.flatnonzero((rows >= first) & (rows < first + step))
            if cells.size:
                weights = self._weights_by_value(user_rows.take(of_tile))
                weights = weights.reshape(of_tile.size, -1, self._n_values)
                likelihood[cells] = weights[rows[cells] - first, items[cells]]
        likelihood += _PRIOR * self._of_items[items]
        return np.asarray(likelihood * self._of_users(user_rows)[rows])

    def _weights_by_value(self, user_rows: UserRows) -> Numbers:
        """Return the weight of the rows with each label, by item and user."""
        own, held = _matrices(user_rows, self._table.n_items, self._n_values)
        common = (own @ self._pairs.T).toarray()
        shared = (held @ self._held.T).toarray()
        weights = np.clip((common - self._by_chance * shared) / (shared + _SHRINK), 0, None)
        weights *= self._table.sizes
        mean = weights.mean(axis=1, keepdims=True)
        weights = np.divide(weights, mean, out=np.zeros_like(weights), where=mean > 0)
        return np.asarray((self._pairs.T @ weights.T).T)


def nominal_predictors() -> tuple[NominalPredictor, ...]:
    """Return the unfitted predictors that a recipient would try, the simplest first."""
    return (MostFrequentValue(), NaiveBayes(), AgreementWeighted())


def choose_predictor(
    table: TrainingTable, predictors: Sequence[NominalPredictor], seed: int = 0
) -> str:
    """Return the name of the predictor with the highest accuracy on whole held-out rows."""
    right = dict.fromkeys((predictor.name for predictor in predictors), 0)
    for learnt_from, known, held in inner_splits(table, seed):
        for predictor in predictors:
            predicted = type(predictor)().fit(learnt_from).predict(known, held.users, held.items)
            right[predictor.name] += int((predicted == np.rint(held.values)).sum())
    return max(right, key=right.__getitem__)


def value_counts(
    items: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any] | None,
    table: TrainingTable | Ratings,
) -> Numbers:
    """Return how many users gave each label to each item, shape (n_items, n_values)."""
    n_values = len(table.scale.labels)
    at = items.astype(np.int64) * n_values + np.rint(values).astype(np.int64) - 1
    counts = np.bincount(at, weights=weights, minlength=table.n_items * n_values)
    return np.asarray(counts.reshape(-1, n_values), np.float64)


def _matrices(
    rows: UserRows, n_items: int, n_values: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the items with their labels that each row holds, and the items."""
    pairs = rows.indices.astype(np.int64) * n_values + np.rint(rows.values).astype(np.int64) - 1
    ones, shape = np.ones(rows.indices.size), (rows.n_users, n_items * n_values)
    return (
        sparse.csr_array((ones, pairs, rows.indptr), shape=shape),
        rows.matrix(n_items, ones),
    )


@brief
class RowAccuracy(NamedTuple):
    """Accuracy of published labels against held-out labels, as means over users."""

    # Held-out labels of users who are in the release
    cells: int
    # Share of a user's held-out labels that equal the label in the user's row
    accuracy: Mean
    # Share that equals the item's most frequent label in the training table
    baseline: Mean
    # The difference of the two
    gain: Mean

    def _facts(self) -> dict[str, object]:
        return {"accuracy": self.accuracy.mean, "baseline": self.baseline.mean}


def row_accuracy(parts: Split, table: AttackTarget) -> RowAccuracy:
    """Compare held-out labels with those in users' rows."""
    train, test = parts
    records = table.record_of[test.users]
    known = records >= 0
    users, items = test.users[known], test.items[known]
    truth = np.rint(test.values[known])
    shape = (table.indptr.size - 1, train.n_items)
    rows = sparse.csr_array((table.values, table.indices, table.indptr), shape=shape)
    published = np.asarray(rows[records[known], items]).ravel()  # 0 where there is none
    right = _by_user(users, published == truth)
    baseline = _by_user(users, most_frequent_values(train)[items] == truth)
    gain = mean_interval(right - baseline)
    return RowAccuracy(int(known.sum()), mean_share(right), mean_share(baseline), gain)


def most_frequent_values(train: Ratings) -> NDArray[np.float64]:
    """Return each item's most frequent label, by its number; of equals, the first of the scale."""
    counts = value_counts(train.indices, train.values, None, train)
    # For an item without labels, use the distribution over all items.
    counts[counts.sum(axis=1) == 0] = counts.sum(axis=0)
    return np.asarray(counts.argmax(axis=1) + 1.0)


def _by_user(users: NDArray[np.int64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of correct labels of each user who has any."""
    of = np.unique(users, return_inverse=True)[1]
    return np.asarray(np.bincount(of, weights=right) / np.bincount(of))


# The baseline from which gains are measured; it needs no release.
MOST_FREQUENT = MostFrequentValue.name


@brief
class NominalServed(NamedTuple):
    """Accuracy of all predictors of nominal labels trained on one table."""

    # Share of each user's held-out labels that each predictor gets right
    right: Mapping[str, NDArray[np.float64]]
    # The predictor that a recipient would choose; see `choose_predictor`
    chosen: str

    @property
    def best(self) -> str:
        """The one that turned out best, which no recipient can know."""
        return max(self.right, key=lambda name: round(float(self.right[name].mean()), 9))

    def mean(self, name: str) -> Mean:
        """Return the mean over users, with its interval."""
        return mean_share(self.right[name])

    def of_chosen(self, *, best: bool = False) -> NDArray[np.float64]:
        """Return each user's accuracy, by the chosen predictor or by the best."""
        return self.right[self.best if best else self.chosen]


def serve_nominal(
    table: TrainingTable, user_rows: UserRows, test: HeldOut, seed: int = 0
) -> NominalServed:
    """Train predictors on a table, and predict users' held-out labels from their other labels."""
    predictors = nominal_predictors()
    chosen = choose_predictor(table, predictors, seed)
    users, row_of = np.unique(test.users, return_inverse=True)
    own, truth = user_rows.take(users), np.rint(test.values)
    counts = np.bincount(row_of)
    right = {}
    for predictor in predictors:
        predicted = predictor.fit(table).predict(own, row_of, test.items)
        right[predictor.name] = np.bincount(row_of, weights=predicted == truth) / counts
    return NominalServed(right, chosen)


def nominal_gain(raw: NominalServed, served: NominalServed, seed: int = 0) -> Measured:
    """Return the gain in accuracy over the most frequent labels of the raw table."""
    gained = served.of_chosen() - raw.right[MOST_FREQUENT]
    sums = resample(np.column_stack([np.ones(gained.size), gained]), seed, 1_000)
    return with_interval(float(gained.mean()), sums[:, 1] / sums[:, 0], gained.size)


def nominal_gain_retained(
    raw: NominalServed, served: NominalServed, *, best: bool = False, seed: int = 0
) -> Measured:
    """Return the retained share of the gain: 1 is as good as raw, 0 as the most frequent labels."""
    floor = raw.right[MOST_FREQUENT]
    whole, part = raw.of_chosen(best=best) - floor, served.of_chosen(best=best) - floor
    if whole.sum() <= 0:
        return Measured(np.nan, np.nan, np.nan, whole.size)
    sums = resample(np.column_stack([part, whole]), seed, 1_000)
    value = float(part.sum() / whole.sum())
    return Measured(value, *share_interval(value, sums[:, 0], sums[:, 1]), whole.size)


# 1 is rated, 2 is liked; from three quarters up the scale, an item is relevant.
RATED_OR_LIKED = RatingScale(1, 2, 1)


def liked_values(liked: str | Sequence[str] | None, scale: RatingScale) -> tuple[str, ...]:
    """Return the labels that count as liked, in the order of the scale; empty if none are given."""
    if liked is None:
        return ()
    if scale.ordered:
        raise RecveilError(
            f"liked (--liked) needs nominal labels, but the ratings are "
            f"{'likes' if scale.unary else f'on the scale {scale}'}, which defines what is liked; "
            f"leave it out",
            code="option.unsupported",
        )
    named = labels_in(liked) if isinstance(liked, str) else tuple(liked)
    unknown = [word for word in named if word not in scale.labels]
    if unknown or not named:
        raise RecveilError(
            f"liked (--liked) names {listed(unknown or ['nothing'], 60)}; expected some of the "
            f"labels {listed(scale.labels, 120)}",
            code="option.value",
        )
    if len(set(named)) == len(scale.labels):
        raise RecveilError(
            "liked (--liked) names all labels, so that every rated item would be liked; name some "
            "of the labels, or leave it out",
            code="option.value",
        )
    return tuple(word for word in scale.labels if word in named)


def require_liked(liked: Sequence[str]) -> None:
    """Raise unless some labels count as liked: groups of users are compared by their lists."""
    if not liked:
        raise RecveilError(
            "users (--users): nominal labels are evaluated by group from lists of liked items; "
            "name the liked labels (--liked up,love), or leave users out",
            code="option.unsupported",
        )


def serve_liked(
    table: TrainingTable, user_rows: UserRows, test: HeldOut, liked: Sequence[str], seed: int = 0
) -> Served:
    """Evaluate lists from a table of nominal labels on held-out liked items."""
    levels = np.ones(len(table.scale.labels))
    levels[[table.scale.labels.index(word) for word in liked]] = 2

    def leveled(rows: UserRows) -> UserRows:
        return rows._replace(values=_at(levels, rows.values))

    two_levels = TrainingTable.from_rows(
        leveled(table.rows), table.sizes, table.n_items, RATED_OR_LIKED
    )
    makers = [maker for maker in default_recommenders() if not maker.rates]
    fitted = fit_all(two_levels, makers, seed)
    return serve(fitted, leveled(user_rows), test._replace(values=_at(levels, test.values)))


def _at(levels: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(levels[np.rint(values).astype(np.int64) - 1])
