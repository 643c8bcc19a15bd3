"""Supports: which items each published class holds, collected block by block."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.verify.item_rows import ItemRows


class Supports:
    """Collects the items of published classes, block by block; equal rows are kept once.

    Padded releases of any size take the memory of one row, because all their rows are full.

    Examples
    --------
    >>> supports = Supports()
    >>> supports.add([b"x", b"y"], indptr=[0, 2, 4], items=[0, 2, 0, 2])
    >>> supports.add([b"x", b"z"], indptr=[0, 2, 3], items=[0, 2, 1])  # x is no new class
    >>> supports.rows().indptr, supports.rows().indices, supports.n_groups
    (array([0, 2, 3]), array([0, 2, 1]), array([2, 1]))
    """

    def __init__(self) -> None:
        self.place_of: dict[bytes, int] = {}  # the row of each class
        self._place: dict[bytes, int] = {}
        self._rows: list[NDArray[np.int32]] = []
        self._counts: list[int] = []

    def add(self, digests: Sequence[bytes], indptr: ArrayLike, items: ArrayLike) -> None:
        """Add records in compressed rows; records with one digest are one class and count once.

        Parameters
        ----------
        digests : sequence of bytes
            One for each record, equal if and only if all its labels are.
        indptr : array-like of int, shape (n_records + 1,)
        items : array-like of int, shape (n_labels,)
            Numbers of items, the same in all blocks.
        """
        bounds = np.asarray(indptr).tolist()
        numbers = np.asarray(items, dtype=np.int32)
        for record, digest in enumerate(digests):
            if digest in self.place_of:
                continue
            row = np.unique(numbers[bounds[record] : bounds[record + 1]])
            place = self._place.setdefault(row.tobytes(), len(self._rows))
            if place == len(self._rows):
                self._rows.append(row)
                self._counts.append(0)
            self._counts[place] += 1
            self.place_of[digest] = place

    @property
    def n_groups(self) -> NDArray[np.int64]:
        """How many classes have each row's items, shape (n_rows,)."""
        return np.array(self._counts, dtype=np.int64)

    def rows(self, n_items: int | None = None) -> ItemRows:
        """Return the distinct rows.

        Parameters
        ----------
        n_items : int, optional
            One more than the largest number seen, if not given.
        """
        rows = [np.empty(0, np.int32), *self._rows]
        indptr = np.cumsum([row.size for row in rows], dtype=np.int64)
        indices = np.concatenate(rows).astype(np.int64)
        if n_items is None:
            n_items = int(indices.max(initial=-1)) + 1
        return ItemRows(indptr, indices, n_items)
