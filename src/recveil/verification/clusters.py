"""A lower bound on the number of clusters of users, whose rows share the value of each item."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.ratings.rating_scale import distinct
from recveil.runtime.compiled import compiled
from recveil.verification.diversity import ItemRows

# Values are compared this often at most, in seconds. Of 480,000 users with 200 ratings each, that
# nearly suffices.
MOST_COMPARISONS = 10**9


class DistinctRows:
    """The items and values of each class, collected block by block; equal rows are kept once."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._code_of: dict[float, int] = {}
        self._lengths: list[NDArray[np.int64]] = []
        self._pairs: list[NDArray[np.int64]] = []
        self.n_bytes = 0

    def add(
        self,
        digests: Sequence[bytes],
        indptr: NDArray[np.int64],
        items: NDArray[Any],
        values: NDArray[np.float64],
    ) -> None:
        """Add records in compressed rows, with the numbers of their items, the same in all blocks.

        Records with one digest have equal items and values.
        """
        new = []
        for record, digest in enumerate(digests):
            if digest not in self._known:
                self._known.add(digest)
                new.append(record)
        few = distinct(values)
        codes = [self._code_of.setdefault(value, len(self._code_of)) for value in few.tolist()]
        of_values = np.array(codes, np.int64)[np.searchsorted(few, values)]
        pairs = items.astype(np.int64) << 32 | of_values
        rows = ItemRows(indptr, pairs, 0).take(np.array(new, np.int64))
        self._lengths.append(rows.lengths)
        self._pairs.append(rows.indices)
        self.n_bytes += rows.indices.nbytes

    def fewest_clusters(self) -> int:
        """Return a number of rows of which any two have different values of an item.

        No two of them belong to one cluster. They are the rows with the values of one item, or, if
        these are more, the rows that are taken by length, the longest first, each if it has another
        value of an item than each row taken before.
        """
        if not self._pairs:
            return 0
        coded = pa.chunked_array(self._pairs).dictionary_encode().combine_chunks()
        _, item_of, n_values = np.unique(
            coded.dictionary.to_numpy() >> 32, return_inverse=True, return_counts=True
        )
        most = int(n_values.max(initial=0))
        if most < 2:
            return most
        pairs, lengths = coded.indices.to_numpy(), np.concatenate(self._lengths)
        # Items that most rows have come first: they distinguish two rows soonest.
        counts = np.bincount(item_of, weights=np.bincount(pairs))
        place_of = _places(-counts[item_of])
        cells = np.repeat(_places(-lengths) * place_of.size, lengths)
        cells += place_of[pairs]
        cells.sort()
        cells %= place_of.size
        indptr = np.concatenate([[0], np.cumsum(np.sort(lengths)[::-1])])
        item_at = np.empty_like(item_of)
        item_at[place_of] = item_of
        return max(most, _disagreeing(indptr, cells, item_at, MOST_COMPARISONS))


def _places(keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each key in ascending order; equal ones keep their order."""
    places = np.empty(keys.size, np.int64)
    places[np.argsort(keys, kind="stable")] = np.arange(keys.size)
    return places


@compiled()
def _disagreeing(
    indptr: NDArray[Any], pairs: NDArray[Any], item_of: NDArray[Any], most_comparisons: int
) -> int:
    """Take each row that has another value of an item than each row taken before; count them."""
    pair_of = np.full(item_of.max() + 1, -1)  # per item of the row
    taken = np.empty(indptr.size - 1, np.int64)
    n_taken = comparisons = 0
    for row in range(indptr.size - 1):
        cells = pairs[indptr[row] : indptr[row + 1]]
        pair_of[item_of[cells]] = cells
        for place in range(n_taken):
            start, end = indptr[taken[place]], indptr[taken[place] + 1]
            at = start
            while at < end and pair_of[item_of[pairs[at]]] in (-1, pairs[at]):
                at += 1
            comparisons += at - start + 1
            if at == end:
                break
        else:
            taken[n_taken] = row
            n_taken += 1
        pair_of[item_of[cells]] = -1
        if comparisons > most_comparisons:
            break
    return n_taken
