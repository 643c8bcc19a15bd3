"""Item neighbours: what a person gave to items that are rated alike tells what they would give."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.evaluate.means import Averages, OnAverages
from recveil.evaluate.recommender import Setting
from recveil.evaluate.training import InnerSplit, TrainingTable, UserRows

# Items × items cells; above it (25,000 items) the three tables would need 15 GiB.
_MOST_CELLS = 25_000**2
# Rating points that are no more than rounding.
_ROUNDING = 1e-9
# Similarities are told apart by so many digits.
_DIGITS = 9
# Rows that are filled further than this are multiplied as dense ones.
_SPARSE = 0.1
# Cells of a dense tile of rows: 32 MiB.
_TILE_CELLS = 1 << 22


@brief
class _Learnt(NamedTuple):
    averages: Averages
    similar: NDArray[np.float64]


@brief
class _Counted(NamedTuple):
    table: TrainingTable
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
    Memory is quadratic in items; more than 25,000 are refused.
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
        return _Learnt(averages, similar)

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
            cosines, people = item_cosines(table, left)
            self._counted = _Counted(table, cosines, people)
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
        averages, similar = learnt
        bias, left = averages.rest(people)
        n_items = len(similar)
        rated, rest = (people.matrix(n_items, values) for values in (np.ones(left.size), left))
        if left.size > _SPARSE * people.n_users * n_items:
            return bias, rest.toarray() @ similar, rated.toarray() @ similar
        return bias, rest @ similar, rated @ similar


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
            f"leave out this recommender"
        )
    products, squares, people = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    step = max(1, _TILE_CELLS // n)
    for start in range(0, table.rows.n_users, step):
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
