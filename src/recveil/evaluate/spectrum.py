"""Spectrum: what a table tells of its items together, taken apart once for all list makers.

The labels become numbers of 0 and more (`liked` or `valued`), the rows a matrix in which a row
stands as often as people are behind it. Its singular vectors serve every strength of EASE and
every rank of PureSVD, so that a whole grid costs one decomposition.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from recveil.brief import brief
from recveil.evaluate.top_lists import relevance_threshold
from recveil.evaluate.training import TrainingTable, UserRows
from recveil.ratings import RatingScale

# A table with more rows, and items, than this is taken apart on so many items alone.
MOST_TOLD = 5_000
# Shares of the largest singular value that are no more than rounding.
_ROUNDING = 1e-9
# Rows that are filled further than this are multiplied as dense ones, a tile at a time (32 MiB).
_SPARSE, _TILE_CELLS = 0.1, 1 << 22

Numbers: TypeAlias = NDArray[np.float64]
Form: TypeAlias = Callable[[UserRows, RatingScale], Numbers]


def liked(rows: UserRows, scale: RatingScale) -> Numbers:
    """Return 1 for each label that says "liked", else 0, shape (n_labels,).

    Examples
    --------
    >>> rows = UserRows(np.array([0, 2]), np.array([0, 1], np.int32), np.array([5.0, 3.0]))
    >>> liked(rows, RatingScale(1, 5, 1))
    array([1., 0.])
    """
    return (rows.values >= relevance_threshold(scale)).astype(np.float64)


def valued(rows: UserRows, scale: RatingScale) -> Numbers:
    """Return each label as a share of the highest, shape (n_labels,); the lowest is a fifth.

    A label is never 0: that somebody rated an item at all says more than how.

    Examples
    --------
    >>> rows = UserRows(np.array([0, 2]), np.array([0, 1], np.int32), np.array([5.0, 1.0]))
    >>> valued(rows, RatingScale(1, 5, 1))
    array([1. , 0.2])
    """
    above = (rows.values - scale.low) / (scale.range or 1.0)
    return (above + 0.25) / 1.25


@brief
class Spectrum(NamedTuple):
    """The directions in which a table's rows lie.

    Attributes
    ----------
    vectors : ndarray of float64, shape (n_told, rank)
        Orthonormal columns, the longest direction first.
    squares : ndarray of float64, shape (rank,)
        Squared singular values, descending, all above 0.
    told : ndarray of int64, shape (n_told,)
        Positions of the items that are told apart; all of them in a table of up to `MOST_TOLD`
        items or rows, else so many: those with most in their labels.
    n_items : int
    scale : RatingScale
        Of the table, and of the people to serve.
    form : callable
        `liked` or `valued`.
    """

    vectors: Numbers
    squares: Numbers
    told: NDArray[np.int64]
    n_items: int
    scale: RatingScale
    form: Form

    @classmethod
    def of(cls, table: TrainingTable, form: Form) -> "Spectrum":
        """Take a table apart; a row counts for as many people as stand behind it.

        Examples
        --------
        >>> rows = UserRows(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([5.0, 5.0]))
        >>> table = TrainingTable.from_rows(rows, np.array([1, 4]), 2, RatingScale(1, 5, 1))
        >>> Spectrum.of(table, liked).squares
        array([4., 1.])
        """
        rooted = form(table.rows, table.scale) * np.sqrt(table.weights)
        return cls.of_matrix(table.rows.matrix(table.n_items, rooted), table.scale, form)

    @classmethod
    def of_matrix(cls, matrix: sparse.csr_array, scale: RatingScale, form: Form) -> "Spectrum":
        """Take numbers apart that a table was turned into, shape (n_rows, n_items).

        People are served by `form`, whatever the numbers of the rows are.
        """
        n_items = matrix.shape[1]
        told = np.arange(n_items)
        if min(matrix.shape) > MOST_TOLD:
            mass = np.bincount(matrix.indices, matrix.data**2, minlength=n_items)
            told = np.sort(np.argsort(-mass, kind="stable")[:MOST_TOLD])
            matrix = matrix[:, told]
        return cls(*_take_apart(matrix), told, n_items, scale, form)

    def of_people(self, people: UserRows) -> Numbers:
        """Return rows of people on the items that are told apart, shape (n_users, n_told)."""
        rows = people.matrix(self.n_items, self.form(people, self.scale))
        return np.asarray(rows[:, self.told].toarray(), np.float64)

    def spread(self, scores: Numbers) -> Numbers:
        """Return scores of all items, shape (n_users, n_items): the others come last."""
        if self.told.size == self.n_items:
            return scores
        lowest = scores.min(axis=1, keepdims=True) - 1
        everything = np.repeat(lowest, self.n_items, axis=1)
        everything[:, self.told] = scores
        return everything


# A table's spectra live as long as the table.
_FOUND: WeakKeyDictionary[TrainingTable, dict[Form, Spectrum]] = WeakKeyDictionary()


def spectrum_of(table: TrainingTable, form: Form) -> Spectrum:
    """Return the spectrum of a table's labels in a form, taken apart once for all who ask."""
    found = _FOUND.setdefault(table, {})
    if form not in found:
        found[form] = Spectrum.of(table, form)
    return found[form]


def _take_apart(matrix: sparse.csr_array) -> tuple[Numbers, Numbers]:
    """Return a matrix's right singular vectors and squared singular values, by its smaller side."""
    n_rows, n = matrix.shape
    if n_rows < n:
        squares, left = _largest_first(_products(matrix.T.tocsr()))
        vectors = (matrix.T @ left) / np.sqrt(squares)
        return vectors, squares
    squares, vectors = _largest_first(_products(matrix))
    return vectors, squares


def _largest_first(products: Numbers) -> tuple[Numbers, Numbers]:
    squares, vectors = linalg.eigh(products, overwrite_a=True, check_finite=False, driver="evd")
    real = squares > _ROUNDING * max(squares[-1], np.finfo(float).tiny)
    return squares[real][::-1].copy(), vectors[:, real][:, ::-1].copy()


def _products(matrix: sparse.csr_array) -> Numbers:
    """Return ``matrixᵀ matrix`` as a dense array."""
    n_rows, n = matrix.shape
    if matrix.nnz <= _SPARSE * n_rows * n:
        return np.asarray((matrix.T @ matrix).toarray(), np.float64)
    found, step = np.zeros((n, n)), max(1, _TILE_CELLS // n)
    for start in range(0, n_rows, step):
        tile = matrix[start : start + step].toarray()
        found += tile.T @ tile
    return found
