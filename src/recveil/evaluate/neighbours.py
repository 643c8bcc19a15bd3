"""Item neighbours: what a person gave to items that are rated alike tells what they would give."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.evaluate.means import Averages, OnAverages
from recveil.evaluate.recommender import Setting
from recveil.evaluate.training import LEAST_ROWS, PARTS, InnerSplit, TrainingTable, UserRows
from recveil.progress import track

# Items × items cells; above it (25,000 items) the three tables would need 15 GiB.
_MOST_CELLS = 25_000**2
# Of a table with more items, so many are compared with each other.
MOST_COMPARED = 5_000
# Rating points that are no more than rounding.
_ROUNDING = 1e-9
# Similarities are told apart by so many digits.
_DIGITS = 9
# Rows that are filled further than this are multiplied as dense ones.
_SPARSE = 0.1
# Share of what is left of a step that the bar gives to comparing items.
_COUNTING = 0.7
# Cells of a dense tile of rows: 32 MiB.
_TILE_CELLS = 1 << 22


@brief
class _Learnt(NamedTuple):
    averages: Averages
    compared: NDArray[np.int64]
    similar: NDArray[np.float64]


@brief
class _Counted(NamedTuple):
    table: TrainingTable
    compared: NDArray[np.int64]
    cosines: NDArray[np.float64]
    people: NDArray[np.float64]


class ItemNeighbours(OnAverages):
    """Averages plus what the nearest items' ratings differ from their averages by.

    Two items are similar by the cosine of what averages leave of their ratings, over the people
    who carry both (the adjusted cosine, with the items' means taken off as well), times
    ``n / (n + damping)`` for n such people. Only an item's most similar ones count, and only if
    the cosine is positive. A person's rating is predicted from those of them that they rated,
    weighted by similarity, with `pull` more weight on what averages say.

    Notes
    -----
    Time and memory are quadratic in the items that are compared. Of a table with more than 5,000
    items, the 5,000 that most people carry are compared; averages alone predict the others.
    """

    name = "item neighbours"
    # Damping of the similarity and neighbours kept; for serving, the pull.
    learning_settings: ClassVar[tuple[Setting, ...]] = ((50.0, 50.0), (50.0, 200.0))
    serving_settings: ClassVar[tuple[Setting, ...]] = ((0.1,), (0.5,), (2.0,))

    def _learn(self, table: TrainingTable, setting: Setting) -> _Learnt:
        damping, kept = setting
        averages = self._averages(table)
        counted = self._count(table, averages)
        similar = counted.cosines * (counted.people / (counted.people + damping))
        # Few people make many cosines equal but for rounding, which must not say who is kept.
        np.round(similar, _DIGITS, out=similar)
        keep_highest(similar, int(kept))
        return _Learnt(averages, counted.compared, similar)

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: to compare items, mostly."""
        squares, rows = float(min(table.n_items, MOST_COMPARED)) ** 2, table.rows.n_users
        # The whole table, and as many hold-outs as errors are measured on.
        times = 1.0 + min(n_inner, -(-LEAST_ROWS * PARTS // rows))
        return super().effort(table, n_inner) + times * squares * (1_300.0 + 0.6 * rows)

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Choose the averages' settings, then its own, then learn from the whole table."""
        self._counted: _Counted | None = None
        super().fit(table, inner)
        self._counted = None
        return self

    def _count(self, table: TrainingTable, averages: Averages) -> "_Counted":
        """Compare all pairs of items, once for all settings that are tried on a table."""
        if self._counted is None or self._counted.table is not table:
            left = averages.rest(table.rows)[1]
            compared = most_carried(table.support, MOST_COMPARED)
            if compared.size < table.n_items:
                cosines, people = item_cosines(*_on_items(table, left, compared))
            else:
                cosines, people = item_cosines(table, left)
            self._counted = _Counted(table, compared, cosines, people)
        return self._counted

    def _serve(self, learnt: _Learnt, people: UserRows, setting: Setting) -> NDArray[np.float64]:
        bias, told, weight = self._ask(learnt, people)
        told /= weight + setting[0]
        told += learnt.averages.item_means
        told += bias[:, None]
        return told

    def _try(
        self,
        learnt: _Learnt,
        people: UserRows,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
    ) -> Iterator[NDArray[np.float64]]:
        """Ask the neighbours once for all pulls."""
        bias, told, weight = self._ask(learnt, people)
        told, weight = told[rows, items], weight[rows, items]
        for (pull,) in self.serving_settings:
            yield told / (weight + pull) + learnt.averages.item_means[items] + bias[rows]

    def _ask(
        self, learnt: _Learnt, people: UserRows
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the people's biases, and what neighbours tell of each item, with its weight."""
        averages, compared, similar = learnt
        bias, left = averages.rest(people)
        n_items = averages.item_means.size
        rated, rest = (people.matrix(n_items, values) for values in (np.ones(left.size), left))
        if compared.size < n_items:
            rated, rest = rated[:, compared], rest[:, compared]
        if rest.nnz > _SPARSE * people.n_users * compared.size:
            told, weight = rest.toarray() @ similar, rated.toarray() @ similar
        else:
            told, weight = rest @ similar, rated @ similar
        if compared.size < n_items:
            told, weight = (_spread(each, compared, n_items) for each in (told, weight))
        return bias, told, weight


def item_cosines(
    table: TrainingTable, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosine of each pair of items over the people who carry both, and their number.

    Parameters
    ----------
    table : TrainingTable
        A row counts for as many people as stand behind it.
    values : ndarray of float64, shape (n_labels,)
        In place of its labels.

    Returns
    -------
    cosines, people : ndarray of float64, shape (n_items, n_items)
        Cosines are 0 where nobody carries both, where the values are 0 but for rounding, and on
        the diagonal.
    """
    n = table.n_items
    if n * n > _MOST_CELLS:
        raise RecveilError(
            f"{n:,} items are too many to compare each with each; expected 25,000 at most; "
            f"leave out this recommender",
            code="table.too-large",
        )
    products, squares, people = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
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
        people += carried_by.T @ carried_by
    people = np.rint(people)
    lengths = np.sqrt(squares * squares.T)
    # Where averages explain everything, what they leave is rounding, whose cosines mean nothing.
    real = lengths > _ROUNDING**2 * people
    cosines = np.divide(products, lengths, out=np.zeros((n, n)), where=real)
    np.fill_diagonal(cosines, 0)
    return cosines, people


def most_carried(support: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the positions of the items with the largest support, ascending; at most so many.

    Examples
    --------
    >>> most_carried(np.array([3.0, 9.0, 3.0, 5.0]), 3)
    array([0, 1, 3])
    """
    if support.size <= most:
        return np.arange(support.size)
    return np.sort(np.argsort(-support, kind="stable")[:most])


def _on_items(
    table: TrainingTable, values: NDArray[np.float64], items: NDArray[np.int64]
) -> tuple[TrainingTable, NDArray[np.float64]]:
    """Return a table, and values in place of its labels, on some of the items alone."""
    place = np.full(table.n_items, -1, np.int32)
    place[items] = np.arange(items.size, dtype=np.int32)
    kept = place[table.rows.indices] >= 0
    rows = table.rows.where(kept)
    rows = rows._replace(indices=place[rows.indices])
    return TrainingTable(rows, table.sizes, items.size, table.n_people, table.scale), values[kept]


def _spread(
    scores: NDArray[np.float64], compared: NDArray[np.int64], n_items: int
) -> NDArray[np.float64]:
    """Return the scores of all items: 0 for those that were not compared."""
    everything = np.zeros((len(scores), n_items))
    everything[:, compared] = scores
    return everything


def keep_highest(similar: NDArray[np.float64], kept: int) -> None:
    """Set to 0, in each column, what is not positive or not among the `kept` highest.

    Values that equal the last one kept stay as well.

    Examples
    --------
    >>> similar = np.array([[0.0, 0.5], [0.2, -0.3], [0.1, 0.4]])
    >>> keep_highest(similar, 1)
    >>> similar
    array([[0. , 0.5],
           [0.2, 0. ],
           [0. , 0. ]])
    """
    n = len(similar)
    similar[similar < 0] = 0
    if kept < n:
        similar[similar < np.partition(similar, n - kept, axis=0)[n - kept]] = 0
