"""Rating predictors from averages, item neighbours and ridge factors."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.evaluation.ranking_metrics import (
    list_items,
    ndcg,
    relevance_threshold,
    relevant_items,
)
from recveil.evaluation.split import (
    LEAST_ROWS,
    PARTS,
    InnerSplit,
    TrainingTable,
    UserRows,
    blocks_of,
    enough_for_errors,
    inner_splits,
    times_learned,
)
from recveil.ratings import RatingScale
from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.compiled import compiled, mirror
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

# A tuple of numbers, whose meaning is the recommender's own.
Setting: TypeAlias = tuple[float, ...]

# Errors nearer to each other than this are equal.
_NOISE = 1e-9
# Lists are tried for at most so many rows, and cells: 32 MiB.
_MOST_LISTS, _MOST_TRAINING_CELLS = 1_000, 1 << 22
# Shares of the remaining progress bar for choosing settings, and for inner lists.
CHOOSING, RANKING = 0.6, 0.5


class Recommender(ABC):
    """A recommender that learns from a table, then serves users who may not be in it.

    Subclasses name the settings to try, learn with one of them (`_learn`), and serve rows with the
    learned state and a serving setting (`_serve`). Settings are chosen in the same way for every
    table: those with the lowest RMSE on whole held-out rows (see `recveil.evaluation.inner_splits`;
    the first 100 rows or more of them), each distinct row counted once; the first of equally good
    ones, or if nothing can be held out.

    Attributes
    ----------
    name : str
    rates : bool
        Whether its scores are ratings, so that they have an error.
    ranks : bool
        Whether its scores order a user's items; known once it is fitted, where that depends on the
        table.
    setting_ : tuple of float
        The chosen setting, first for learning, then for serving.
    inner_rmse_ : float
        RMSE on the inner hold-outs; nan without one, or if it predicts no ratings.
    inner_lists_ : ndarray of float64, shape (n_rows,)
        nDCG@10 of each of at most 1,000 rows of each inner hold-out (of the first hundred rows or
        more, if it `rates`; of the first hold-out, if the table is full), by the chosen settings;
        nan where nothing held out is relevant. Empty if it ranks nothing.
    scale_ : RatingScale
    n_items_ : int
        Number of items of the table.
    is_full_ : bool
        Whether the table is full; see `TrainingTable.is_full`.
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
            self._learnt = self._learn_all(table, learning)
        self.setting_ = learning + self._serving
        return self

    @property
    def inner_ndcg_(self) -> float:
        """The mean of `inner_lists_`; nan if there is none."""
        judged = self.inner_lists_[~np.isnan(self.inner_lists_)]
        return float(judged.mean()) if judged.size else np.nan

    def predict(self, user_rows: UserRows) -> NDArray[np.float64]:
        """Score every item for each row, shape (n_users, n_items); the highest score is first.

        Scores of a recommender that `rates` are ratings, not yet clipped to the scale: clipping
        would make the best of them equal.
        """
        with one_thread():
            return self._serve(self._learnt, user_rows, self._serving)

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes, for the bar.

        Parameters
        ----------
        table : TrainingTable
        n_inner : int
            How many inner hold-outs there are.
        """
        times = times_learned(table, n_inner)
        return times * (100.0 * table.rows.indices.size + 1_000.0 * table.n_items)

    @abstractmethod
    def _learn(self, table: TrainingTable, setting: Setting) -> Any:
        """Learn from a table all that serving needs."""

    def _learn_all(self, table: TrainingTable, setting: Setting) -> Any:
        """Learn from the whole table, once the serving setting is chosen."""
        return self._learn(table, setting)

    @abstractmethod
    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> NDArray[np.float64]:
        pass

    def _try(
        self,
        learnt: Any,
        user_rows: UserRows,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of some cells for each serving setting in turn."""
        # Subclasses may share work between settings.
        for serving in self.serving_settings:
            yield self._serve(learnt, user_rows, serving)[rows, items]

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
        """Return the nDCG@10 of lists for held-out rows, by the chosen settings."""
        # Rating predictors rarely rank well, so the first rows are enough for them; and for a full
        # table, where lists are uninformative, the first hold-out.
        gained = [np.empty(0)]
        parts = enough_for_errors(inner) if self.rates else inner
        parts = parts[:1] if self.is_full_ else parts
        for part in track(parts if self.ranks else (), self.name, share=RANKING):
            gained.append(self._rank_part(part, self._learn(part.table, learning), self._serving))
        return np.concatenate(gained)

    def _rank_part(self, part: InnerSplit, learnt: Any, serving: Setting) -> NDArray[np.float64]:
        """Return the nDCG@10 of lists for the rows of one hold-out."""
        own, relevant = rows_to_list(part)
        return ndcg(list_items(self._serve(learnt, own, serving), own), relevant)


def rows_to_list(part: InnerSplit) -> tuple[UserRows, UserRows]:
    """Return the rows of a hold-out for which lists are made, and the items relevant to each."""
    table, known, held = part
    # Rows are in the order of their digests, which is arbitrary.
    rows = sorted_unique(held.users)[: most_listed(table.n_items)]
    return known.take(rows), relevant_items(held, rows, relevance_threshold(table.scale))


def most_listed(n_items: int) -> int:
    """Return for how many rows of a hold-out lists are made at most.

    >>> most_listed(100), most_listed(8_192)
    (1000, 512)
    """
    return max(1, min(_MOST_LISTS, _MOST_TRAINING_CELLS // n_items))


# Damping of means, in users and ratings.
DAMPINGS = (0.0, 2.0, 5.0, 10.0, 25.0)


class GlobalMean(Recommender):
    """The global mean plus the user's offset. It ranks nothing.

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

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> NDArray[np.float64]:
        return learnt + biases(learnt, user_rows, setting[0])[:, None]


class ItemMeans(Recommender):
    """Each item's mean value, the same for all users.

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

    def _serve(self, learnt: Any, user_rows: UserRows, _setting: Setting) -> NDArray[np.float64]:
        return np.tile(learnt, (user_rows.n_users, 1))


class ItemMeansAndBias(Recommender):
    """Each item's damped mean value plus the user's offset.

    This is the baseline of averages that collaborative filtering has to beat.
    """

    name = "item mean + user bias"
    learning_settings: ClassVar[tuple[Setting, ...]] = tuple((damping,) for damping in DAMPINGS)
    serving_settings: ClassVar[tuple[Setting, ...]] = tuple((damping,) for damping in DAMPINGS)

    def _learn(self, table: TrainingTable, setting: Setting) -> NDArray[np.float64]:
        return table.item_means(setting[0])

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> NDArray[np.float64]:
        return learnt + biases(learnt, user_rows, setting[0])[:, None]


class Popularity(Recommender):
    """The item count. It ranks, and predicts no rating."""

    name = "popularity"
    rates: ClassVar[bool] = False

    def _learn(self, table: TrainingTable, _setting: Setting) -> NDArray[np.float64]:
        return table.support

    def _serve(self, learnt: Any, user_rows: UserRows, _setting: Setting) -> NDArray[np.float64]:
        return np.tile(learnt, (user_rows.n_users, 1))


@brief
class Averages(NamedTuple):
    """Fitted averages; other recommenders learn from the residuals."""

    item_means: NDArray[np.float64]
    # That of the users' biases
    damping: float

    def rest(self, user_rows: UserRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each row's bias, and the residuals of its ratings."""
        bias = biases(self.item_means, user_rows, self.damping)
        left = np.empty(user_rows.values.size)
        for start, end in blocks_of(user_rows.indptr):
            rows = user_rows.between(start, end)
            above = rows.values - self.item_means[rows.indices]
            of_block = slice(user_rows.indptr[start], user_rows.indptr[end])
            np.subtract(above, np.repeat(bias[start:end], np.diff(rows.indptr)), left[of_block])
        return bias, left


class OnAverages(Recommender):
    """A recommender that learns from the residuals of averages, once their dampings are chosen."""

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Choose the averages' settings, then its own, then learn from the whole table."""
        inner = inner_splits(table) if inner is None else inner
        self._dampings = ItemMeansAndBias()._choose(inner, share=0.0)[:2]
        return super().fit(table, inner)

    def _averages(self, table: TrainingTable) -> Averages:
        (of_items,), (of_users,) = self._dampings
        return Averages(table.item_means(of_items), of_users)


def biases(
    item_means: NDArray[np.float64], user_rows: UserRows, damping: float
) -> NDArray[np.float64]:
    """Return each row's mean offset from the items' means, shape (n_users,), damped towards 0.

    >>> user_rows = UserRows(np.array([0, 2]), np.array([0, 1], np.int32), np.array([5.0, 3.0]))
    >>> biases(np.array([3.0, 3.0]), user_rows, damping=2.0)  # (2 + 0) / (2 + 2)
    array([0.5])
    """
    sums = np.zeros(user_rows.n_users)
    for start, end in blocks_of(user_rows.indptr):
        rows = user_rows.between(start, end)
        above = rows.values - item_means[rows.indices]
        sums[start:end] = np.bincount(rows.row_of(), weights=above, minlength=end - start)
    counts = np.diff(user_rows.indptr) + damping
    return np.divide(sums, counts, out=np.zeros(user_rows.n_users), where=counts > 0)


def effort_of_products(table: TrainingTable, n_inner: float, a_pair: float) -> float:
    """Return the operations of multiplying the columns of a table, and of its inner hold-outs.

    `a_pair` is of two values in a row, if rows are filled so little that they are multiplied so.
    """
    rows, n = table.rows, min(table.n_items, MOST_COMPARED)
    is_dense = rows.indices.size > _SPARSE * rows.n_users * table.n_items
    pairs = np.square(np.diff(rows.indptr), dtype=np.float64).sum()
    one = 0.2 * rows.n_users * float(n) ** 2 if is_dense else a_pair * float(pairs)
    return times_learned(table, n_inner) * one


# Items × items cells; above it (25,000 items) the three tables would need 15 GiB.
_MOST_CELLS = 25_000**2
# Of a table with more items, so many are compared with each other.
MOST_COMPARED = 5_000
# Rating points that are no more than rounding.
_ROUNDING = 1e-9
# Similarities are rounded to this many digits.
_DIGITS = 9
# Rows that are filled further than this are multiplied as dense ones.
_SPARSE = 0.1
# Share of a step's remaining progress bar for comparing items.
_COUNTING = 0.7
# Cells of a dense tile of rows: 32 MiB.
_TILE_CELLS = 1 << 22


@brief
class _LearnedNeighbours(NamedTuple):
    averages: Averages
    compared: NDArray[np.int64]
    similar: sparse.csr_array


@brief
class _Counted(NamedTuple):
    table: TrainingTable
    compared: NDArray[np.int64]
    cosines: NDArray[np.float64]
    n_common: NDArray[np.float64]


class ItemNeighbours(OnAverages):
    """Averages plus the residuals of the nearest items.

    The similarity of two items is the cosine of their residuals over the users who have both (the
    adjusted cosine, with the items' means subtracted as well), times ``n / (n + damping)`` for n
    such users. Only an item's most similar items with a positive cosine count. A user's rating is
    predicted from the neighbours that the user rated, weighted by similarity, with weight `pull` on
    the averages.

    Notes
    -----
    Time and memory are quadratic in the number of compared items. In a table with more than 5,000
    items, the 5,000 with the highest item counts are compared; averages alone predict the others.
    """

    name = "item neighbours"
    # Damping of the similarity and neighbours kept; for serving, the pull.
    learning_settings: ClassVar[tuple[Setting, ...]] = ((50.0, 50.0), (50.0, 200.0))
    serving_settings: ClassVar[tuple[Setting, ...]] = ((0.1,), (0.5,), (2.0,))

    def _learn(self, table: TrainingTable, setting: Setting) -> _LearnedNeighbours:
        damping, kept = setting
        averages = self._averages(table)
        counted = self._count(table, averages)
        similar = counted.cosines * (counted.n_common / (counted.n_common + damping))
        # With few users many cosines are equal up to rounding, which must not decide which are
        # kept.
        np.round(similar, _DIGITS, out=similar)
        keep_highest(similar, int(kept))
        return _LearnedNeighbours(averages, counted.compared, sparse.csr_array(similar))

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: to compare items, mostly."""
        n_compared = min(table.n_items, MOST_COMPARED)
        # The whole table, and as many hold-outs as errors are measured on.
        n_tables = 1.0 + min(n_inner, -(-LEAST_ROWS * PARTS // table.rows.n_users))
        comparing = 450.0 * n_tables * n_compared**2
        multiplying = effort_of_products(table, n_tables - 1.0, 20.0)
        return super().effort(table, n_inner) + comparing + multiplying

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Choose the averages' settings, then its own, then learn from the whole table."""
        self._counted: _Counted | None = None
        super().fit(table, inner)
        self._counted = None
        return self

    def _count(self, table: TrainingTable, averages: Averages) -> "_Counted":
        """Compare all pairs of items, once for all settings that are tried on a table."""
        if self._counted is None or self._counted.table is not table:
            compared = most_carried(table.support, MOST_COMPARED)
            if compared.size < table.n_items:
                rest = _rest_on_items(table, averages, compared)
                cosines, n_common = item_cosines(rest, rest.rows.values)
            else:
                cosines, n_common = item_cosines(table, averages.rest(table.rows)[1])
            self._counted = _Counted(table, compared, cosines, n_common)
        return self._counted

    def _serve(
        self, learnt: _LearnedNeighbours, user_rows: UserRows, setting: Setting
    ) -> NDArray[np.float64]:
        bias, sums, weight = self._ask(learnt, user_rows)
        sums /= weight + setting[0]
        item_means, compared = learnt.averages.item_means, learnt.compared
        if compared.size < item_means.size:
            sums = _spread(sums, compared, item_means.size)
        sums += item_means
        sums += bias[:, None]
        return sums

    def _try(
        self,
        learnt: _LearnedNeighbours,
        user_rows: UserRows,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
    ) -> Iterator[NDArray[np.float64]]:
        """Compute the neighbours' predictions once for all pulls."""
        bias, sums, weight = self._ask(learnt, user_rows)
        item_means = learnt.averages.item_means
        # The others have no neighbours.
        place = np.full(item_means.size, -1)
        place[learnt.compared] = np.arange(learnt.compared.size)
        place = place[items]
        sums, weight = (np.where(place < 0, 0, each[rows, place]) for each in (sums, weight))
        for (pull,) in self.serving_settings:
            yield sums / (weight + pull) + item_means[items] + bias[rows]

    def _ask(
        self, learnt: _LearnedNeighbours, user_rows: UserRows
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return biases, and the neighbours' predictions for compared items with their weights."""
        averages, compared, similar = learnt
        bias, left = averages.rest(user_rows)
        n_items = averages.item_means.size
        rated, rest = (user_rows.matrix(n_items, values) for values in (np.ones(left.size), left))
        if compared.size < n_items:
            rated, rest = rated[:, compared], rest[:, compared]
        return bias, multiply_rows(rest, similar), multiply_rows(rated, similar)


# For each pair of items: products of values, squares of the first, and users, each summed.
_PairSums: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def item_cosines(
    table: TrainingTable, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosine of each pair of items over the users who have both, and their number.

    Each row is weighted by the number of its users. Cosines are 0 where no user has both items,
    where the values are 0 up to rounding, and on the diagonal.
    """
    n = table.n_items
    if n * n > _MOST_CELLS:
        raise RecveilError(
            f"{n:,} items are too many to compare each with each; expected 25,000 at most; "
            f"leave out this recommender",
            code="table.too-large",
        )
    multiply = _multiply_sparse
    if values.size > _SPARSE * table.rows.n_users * n:
        multiply = _multiply_tiles
    products, squares, n_common = multiply(table, values)
    np.rint(n_common, out=n_common)
    lengths = squares * squares.T
    np.sqrt(lengths, out=lengths)
    # Where averages explain everything, residuals are rounding errors without meaningful cosines.
    real = lengths > _ROUNDING**2 * n_common
    cosines = np.divide(products, lengths, out=products, where=real)
    cosines[~real] = 0
    np.fill_diagonal(cosines, 0)
    return cosines, n_common


def _multiply_sparse(table: TrainingTable, values: NDArray[np.float64]) -> _PairSums:
    once = np.broadcast_to(1.0, values.size)
    (squares,) = multiply_columns(table.rows, table.n_items, [(values**2, table.weights)])
    rooted = values * np.sqrt(table.weights)
    # Weights are equal within a row, so these two are symmetric.
    pairs = (rooted, rooted), (once, table.weights)
    products, n_common = multiply_columns(table.rows, table.n_items, pairs, symmetric=True)
    return products, squares, n_common


def multiply_columns(
    rows: UserRows | sparse.csr_array,
    n_items: int,
    pairs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    *,
    symmetric: bool = False,
) -> list[NDArray[np.float64]]:
    """Return ``leftᵀ right`` for pairs of values of the same cells, summed in SciPy's order."""
    # Of a symmetric result only the upper half is summed, for which items ascend in each row.
    result = [np.zeros((n_items, n_items)) for _ in pairs]
    for start, end in blocks_of(rows.indptr):
        block = slice(int(rows.indptr[start]), int(rows.indptr[end]))
        indptr = rows.indptr[start : end + 1].astype(np.int64) - block.start
        indices = rows.indices[block].astype(np.int32)
        order = np.argsort(indices, kind="stable")
        row_of = np.repeat(np.arange(end - start, dtype=np.int32), np.diff(indptr))[order]
        starts = np.concatenate([[0], np.cumsum(np.bincount(indices, minlength=n_items))])
        first = order if symmetric else indptr[row_of]
        for (left, right), sums in zip(pairs, result, strict=True):
            factors = left[block][order], np.ascontiguousarray(right[block])
            _add_rows(starts, row_of, first, factors[0], indptr, indices, factors[1], sums)
    if symmetric:
        for sums in result:
            mirror(sums)
    return result


def multiply_rows(
    rows: sparse.csr_array, numbers: sparse.csr_array | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Multiply rows with a matrix, in SciPy's order: as dense ones, if they are filled far."""
    if rows.nnz > _SPARSE * rows.shape[0] * rows.shape[1]:
        full = numbers if isinstance(numbers, np.ndarray) else numbers.toarray()
        return np.asarray(rows.toarray() @ full, np.float64)
    sums = np.zeros((rows.shape[0], numbers.shape[1]))
    left = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
    if isinstance(numbers, np.ndarray):
        _add_dense(*left, np.ascontiguousarray(numbers), sums)
    else:
        right = numbers.indptr.astype(np.int64), numbers.indices.astype(np.int32), numbers.data
        _add_sparse(*left, *right, sums)
    return sums


# Columns of a dense matrix that are multiplied at once.
_COLUMNS = 128


@compiled()
def _add_dense(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    numbers: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    for start in range(0, numbers.shape[1], _COLUMNS):
        to = start + _COLUMNS
        for row in range(indptr.size - 1):
            added = sums[row, start:to]
            cell, end = indptr[row], indptr[row + 1]
            # Four cells at a time, added one after another: a fourth of the loads and stores.
            while cell + 4 <= end:
                a, b, c, d = values[cell], values[cell + 1], values[cell + 2], values[cell + 3]
                of_a = numbers[indices[cell], start:to]
                of_b = numbers[indices[cell + 1], start:to]
                of_c = numbers[indices[cell + 2], start:to]
                of_d = numbers[indices[cell + 3], start:to]
                for column in range(added.size):
                    two = (added[column] + a * of_a[column]) + b * of_b[column]
                    added[column] = (two + c * of_c[column]) + d * of_d[column]
                cell += 4
            while cell < end:
                value, right = values[cell], numbers[indices[cell], start:to]
                for column in range(added.size):
                    added[column] += value * right[column]
                cell += 1


@compiled()
def _add_sparse(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    starts: NDArray[Any],
    columns: NDArray[Any],
    numbers: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    for row in range(indptr.size - 1):
        added = sums[row]
        for cell in range(indptr[row], indptr[row + 1]):
            value, item = values[cell], indices[cell]
            for at in range(starts[item], starts[item + 1]):
                added[columns[at]] += value * numbers[at]


@compiled()
def _add_rows(
    starts: NDArray[Any],
    row_of: NDArray[Any],
    first: NDArray[Any],
    left: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    right: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    for item in range(starts.size - 1):
        added = sums[item]
        for cell in range(starts[item], starts[item + 1]):
            row, value = row_of[cell], left[cell]
            for other in range(first[cell], indptr[row + 1]):
                added[indices[other]] += value * right[other]


def _multiply_tiles(table: TrainingTable, values: NDArray[np.float64]) -> _PairSums:
    n = table.n_items
    products, squares, n_common = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    step = max(1, _TILE_CELLS // n)
    for start in track(range(0, table.rows.n_users, step), "Comparing items", share=_COUNTING):
        end = min(start + step, table.rows.n_users)
        own = slice(table.rows.indptr[start], table.rows.indptr[end])
        rows, sizes = table.rows.take(np.arange(start, end)), table.sizes[start:end, None]
        x = rows.matrix(n, values[own]).toarray()
        carried = rows.matrix(n, np.ones(rows.values.size)).toarray()
        # A matrix times itself takes half of the time; hence the roots.
        roots = np.sqrt(sizes)
        rooted, carried_by = x * roots, carried * roots
        products += rooted.T @ rooted
        squares += (x * x).T @ (carried * sizes)
        n_common += carried_by.T @ carried_by
    return products, squares, n_common


def most_carried(support: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the positions of the items with the largest support, ascending; at most so many.

    >>> most_carried(np.array([3.0, 9.0, 3.0, 5.0]), 3)
    array([0, 1, 3])
    """
    if support.size <= most:
        return np.arange(support.size)
    return np.sort(np.argsort(-support, kind="stable")[:most])


def _rest_on_items(
    table: TrainingTable, averages: Averages, items: NDArray[np.int64]
) -> TrainingTable:
    """Return a table of the residuals of averages, on some of the items alone, made in blocks."""
    place = np.full(table.n_items, -1, np.int32)
    place[items] = np.arange(items.size, dtype=np.int32)
    lengths, places, left = [], [], []
    for start, end in blocks_of(table.rows.indptr):
        rows = table.rows.between(start, end)
        of_block = place[rows.indices]
        kept = of_block >= 0
        lengths.append(np.bincount(rows.row_of()[kept], minlength=end - start))
        places.append(of_block[kept])
        left.append(averages.rest(rows)[1][kept])
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    rest = UserRows(indptr, np.concatenate(places), np.concatenate(left))
    return TrainingTable(rest, table.sizes, items.size, table.n_users, table.scale)


def _spread(
    scores: NDArray[np.float64], compared: NDArray[np.int64], n_items: int
) -> NDArray[np.float64]:
    everything = np.zeros((len(scores), n_items))
    everything[:, compared] = scores
    return everything


def keep_highest(similar: NDArray[np.float64], kept: int) -> None:
    """Set to 0, in each column, what is not positive or not among the `kept` highest.

    Values that equal the last one kept stay as well.
    """
    n = len(similar)
    similar[similar < 0] = 0
    if kept < n:
        similar[similar < np.partition(similar, n - kept, axis=0)[n - kept]] = 0


_SEED = 0


@brief
class _Learnt(NamedTuple):
    averages: Averages
    item_factors: NDArray[np.float64]
    unit: float


class RidgeFactors(OnAverages):
    """Averages plus ``user factors · item factors``.

    The item factors come from the table alone: rows and items alternate in a ridge regression on
    each other's factors, with rows weighted by the number of their users. A user to serve is folded
    in by the row regression on their own ratings.

    Parameters
    ----------
    rank : int
    n_rounds : int
        Number of alternations.

    Notes
    -----
    All rows share one penalty, and all items another, so that a table with row sizes gives the same
    fit as the same table with one row per user.
    """

    # Penalties of learning and of folding in, for ratings in points of a 1-to-5 scale.
    learning_settings: ClassVar[tuple[Setting, ...]] = tuple((2.0**p,) for p in range(3, 7))
    serving_settings: ClassVar[tuple[Setting, ...]] = tuple((2.0**p,) for p in range(8))

    def __init__(self, rank: int = 10, n_rounds: int = 5) -> None:
        self.rank = rank
        self.n_rounds = n_rounds
        self.name = f"ridge factors, rank {rank}"
        # While it is fitted: what was learnt from each hold-out
        self._tried: dict[tuple[TrainingTable, Setting], _Learnt] | None = None

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: one regression for each row and item."""
        rows, columns = table.rows.n_users, table.n_items
        n_values = table.rows.indices.size
        # For full rows and columns, the missing entries are subtracted.
        entries = min(n_values, float(rows) * columns - n_values)
        learning = entries * (self.rank**2 + 300.0) + 0.2 * (rows + columns) * self.rank**3
        learning += 4.0 * n_values * self.rank if table.is_full else 0.0
        times = self.n_rounds * times_learned(table, len(self.learning_settings) + 1.0)
        return super().effort(table, n_inner) + times * learning

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Learn as the others, but once from each hold-out, for errors and for lists."""
        self._tried = {}
        super().fit(table, inner)
        self._tried = None
        return self

    def _learn(self, table: TrainingTable, setting: Setting) -> _Learnt:
        if self._tried is None:
            return self._alternate(table, setting)
        if (table, setting) not in self._tried:
            self._tried[table, setting] = self._alternate(table, setting)
        return self._tried[table, setting]

    def _alternate(self, table: TrainingTable, setting: Setting) -> _Learnt:
        (penalty,) = setting
        averages = self._averages(table)
        unit = table.scale.range / 4 or 1.0
        left = averages.rest(table.rows)[1]
        left /= unit
        by_row = table.rows.matrix(table.n_items, left)
        by_item = by_row.T.tocsr()
        ones, weights = np.ones(table.n_items), table.sizes.astype(np.float64)
        rng = np.random.default_rng(_SEED)
        of_items = rng.standard_normal((table.n_items, self.rank)) / np.sqrt(self.rank)
        of_items[table.support == 0] = 0
        for _ in range(self.n_rounds):
            of_rows = regress(by_row.indptr, by_row.indices, by_row.data, ones, of_items, penalty)
            of_items = regress(
                by_item.indptr, by_item.indices, by_item.data, weights, of_rows, penalty
            )
        return _Learnt(averages, of_items, unit)

    def _serve(self, learnt: _Learnt, user_rows: UserRows, setting: Setting) -> NDArray[np.float64]:
        averages, of_items, unit = learnt
        bias, left = averages.rest(user_rows)
        ones = np.ones(len(of_items))
        folded = regress(
            user_rows.indptr, user_rows.indices, left / unit, ones, of_items, setting[0]
        )
        scores = (unit * folded) @ of_items.T
        scores += averages.item_means
        scores += bias[:, None]
        return scores

    def _try(
        self,
        learnt: _Learnt,
        user_rows: UserRows,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
    ) -> Iterator[NDArray[np.float64]]:
        """Fold users in with all penalties at once, and score only the requested cells."""
        averages, of_items, unit = learnt
        bias, left = averages.rest(user_rows)
        ones = np.ones(len(of_items))
        penalties = np.array([penalty for (penalty,) in self.serving_settings])
        all_folded = regress_each(
            user_rows.indptr, user_rows.indices, left / unit, ones, of_items, penalties
        )
        for folded in all_folded:
            scores = unit * dot_cells(folded, of_items, rows, items)
            yield scores + averages.item_means[items] + bias[rows]


def regress(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any],
    factors: NDArray[Any],
    penalty: float,
) -> NDArray[np.float64]:
    """Solve the regressions of `regress_each` for one penalty, shape (n_rows, rank)."""
    penalties = np.array([penalty], np.float64)
    return np.asarray(regress_each(indptr, indices, targets, weights, factors, penalties)[0])


@compiled()
def dot_cells(
    left: NDArray[Any], right: NDArray[Any], rows: NDArray[Any], items: NDArray[Any]
) -> NDArray[Any]:
    """Return ``left[row] · right[item]`` for pairs of row and item, shape (n_cells,)."""
    result = np.zeros(rows.size)
    for cell in range(rows.size):
        row, item = rows[cell], items[cell]
        for factor in range(left.shape[1]):
            result[cell] += left[row, factor] * right[item, factor]
    return result


@compiled()
def regress_each(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any],
    factors: NDArray[Any],
    penalties: NDArray[Any],
) -> NDArray[Any]:
    """Solve ``(FᵀWF + penalty) x = FᵀWy`` for each penalty and row, F being its entries' factors.

    With fewer entries than factors, x is ``Fᵀ (FFᵀ + penalty W⁻¹)⁻¹ y``, a smaller system; else
    FᵀWF is summed over the row's entries, or taken from all less the missing ones. Shape
    (n_penalties, n_rows, rank).
    """
    n_rows, (n, rank) = indptr.size - 1, factors.shape
    solved = np.zeros((penalties.size, n_rows, rank))
    weighted = factors * weights.reshape(n, 1)
    everything = products_of(factors, weights, np.arange(n))
    present = np.zeros(n, np.bool_)
    for row in range(n_rows):
        own = indices[indptr[row] : indptr[row + 1]].astype(np.int64)
        wanted = targets[indptr[row] : indptr[row + 1]]
        if own.size == 0:
            continue
        if own.size < rank:
            few = factors[own]
            products = few @ few.T
            for place in range(penalties.size):
                system = products.copy()
                for entry in range(own.size):
                    system[entry, entry] += penalties[place] / weights[own[entry]]
                solved[place, row] = few.T @ solve_positive(system, wanted)
            continue
        if 2 * own.size <= n:
            products = products_of(factors, weights, own)
        else:
            present[own] = True
            missing = np.flatnonzero(~present)
            present[own] = False
            products = everything - products_of(factors, weights, missing)
        right = weighted[own].T @ wanted
        for place in range(penalties.size):
            system = products.copy()
            for factor in range(rank):
                system[factor, factor] += penalties[place]
            solved[place, row] = solve_positive(system, right)
    return solved


@compiled()
def products_of(factors: NDArray[Any], weights: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Return FᵀWF of some rows: one triangle, four rows at a time, and its mirror image."""
    rank, whole = factors.shape[1], rows.size // 4 * 4
    result = np.zeros((rank, rank))
    for at in range(0, whole, 4):
        a, b, c, d = rows[at], rows[at + 1], rows[at + 2], rows[at + 3]
        of_a, of_b, of_c, of_d = factors[a], factors[b], factors[c], factors[d]
        for i in range(rank):
            sums = result[i]
            x, y = weights[a] * of_a[i], weights[b] * of_b[i]
            z, w = weights[c] * of_c[i], weights[d] * of_d[i]
            for j in range(i + 1):
                sums[j] += x * of_a[j] + y * of_b[j] + z * of_c[j] + w * of_d[j]
    for at in range(whole, rows.size):
        of_a = factors[rows[at]]
        for i in range(rank):
            x = weights[rows[at]] * of_a[i]
            for j in range(i + 1):
                result[i, j] += x * of_a[j]
    for i in range(rank):
        for j in range(i):
            result[j, i] = result[i, j]
    return result


@compiled()
def solve_positive(system: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Solve a system with a positive definite matrix by its Cholesky factor."""
    factor, solved = np.linalg.cholesky(system), right.copy()
    for i in range(right.size):
        for j in range(i):
            solved[i] -= factor[i, j] * solved[j]
        solved[i] /= factor[i, i]
    for i in range(right.size - 1, -1, -1):
        solved[i] /= factor[i, i]
        for j in range(i):
            solved[j] -= factor[i, j] * solved[i]
    return solved
