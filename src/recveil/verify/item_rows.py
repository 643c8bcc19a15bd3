"""Item rows: which items each row of a table holds, as two arrays."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief


@brief
class ItemRows(NamedTuple):
    """Which items each row holds; whoever only checks a release needs no library for sparse tables.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_rows + 1,)
        Row r holds ``indices[indptr[r] : indptr[r + 1]]``.
    indices : ndarray of int64, shape (n_entries,)
        Items, ascending in each row, none twice.
    n_items : int

    Examples
    --------
    >>> rows = ItemRows.of([[1, 0, 1], [0, 1, 0]])
    >>> rows.indptr, rows.indices, rows.n_items
    (array([0, 2, 3]), array([0, 2, 1]), 3)
    >>> rows.take(np.array([1])).indices, rows.columns().indices
    (array([1]), array([0, 1, 0]))
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    n_items: int

    @classmethod
    def of(cls, support: Any) -> Self:
        """Take such rows as they are, or from a matrix.

        Parameters
        ----------
        support : ItemRows, or sparse or dense matrix, shape (n_rows, n_items)
            A stored zero of a sparse matrix is an entry.
        """
        if isinstance(support, cls):
            return support
        if hasattr(support, "tocoo"):
            entries = support.tocoo()
            rows, items, shape = entries.row, entries.col, support.shape
        else:
            table = np.atleast_2d(np.asarray(support))
            (rows, items), shape = np.nonzero(table), table.shape
        n_items = int(shape[1])
        cells = np.unique(rows.astype(np.int64) * n_items + items)
        return cls.of_cells(cells // max(n_items, 1), cells % max(n_items, 1), *map(int, shape))

    @classmethod
    def of_cells(
        cls, rows: NDArray[np.int64], items: NDArray[np.int64], n_rows: int, n_items: int
    ) -> Self:
        """Take cells that stand in order, none twice."""
        return cls(np.searchsorted(rows, np.arange(n_rows + 1)), items, n_items)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many items each row holds."""
        return np.diff(self.indptr)

    @property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return np.repeat(np.arange(self.indptr.size - 1), self.lengths)

    def take(self, which: NDArray[Any]) -> Self:
        """Return some rows, in the order given."""
        lengths = self.lengths[which]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.indptr[which] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return self._replace(indptr=indptr, indices=self.indices[places])

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return the rows with some of their entries."""
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return self._replace(indptr=indptr, indices=self.indices[kept])

    def renamed(self, place: NDArray[Any], n_items: int) -> Self:
        """Return the rows with ``place[item]`` in the stead of each item, no two alike."""
        cells = np.sort(self.row_of * max(n_items, 1) + place[self.indices])
        return self._replace(indices=cells % max(n_items, 1), n_items=n_items)

    def columns(self) -> Self:
        """Return for each item the rows that hold it, ascending."""
        order = np.argsort(self.indices, kind="stable")
        n_rows = self.indptr.size - 1
        return self.of_cells(self.indices[order], self.row_of[order], self.n_items, n_rows)
