"""Equivalence classes of published records, the items they hold, and the fewest clusters."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from recveil.ratings.rating_scale import distinct
from recveil.runtime.compiled import compiled
from recveil.verification.diversity import ItemRows
from recveil.verification.results import Violation


class Classes:
    """Equivalence classes, collected block by block, and the number of users in each.

    Records are compared by a digest of 128 bits (BLAKE2b), so they need not be kept. Two different
    records collide with probability 10⁻³⁸ per comparison.
    """

    def __init__(self) -> None:
        self.user_counts: Counter[bytes] = Counter()
        self.largest: dict[bytes, int] = {}
        self.records: list[tuple[bytes, str, int]] = []
        self.promised: dict[bytes, int] = {}

    def add(
        self,
        digests: Sequence[bytes],
        sizes: Sequence[int],
        user_ids: Sequence[str],
        rows: Sequence[int],
        promised: Sequence[int] | None = None,
    ) -> None:
        """Add records: digest, user count, published id, and first row (from 1).

        Records that promise different numbers of users must have different digests.
        """
        for digest, size in zip(digests, sizes, strict=True):
            self.user_counts[digest] += size
            self.largest[digest] = max(size, self.largest.get(digest, 0))
        self.records += zip(digests, user_ids, rows, strict=True)
        if promised is not None:
            self.promised.update(zip(digests, promised, strict=True))

    def count_once(self) -> bool:
        """Correct user counts where each record of a class may count all of its users.

        A file that lists a group user by user may repeat its size in each row. So a class has as
        many users as its largest record says, or as it has records, whichever is more. Return
        whether any count changed.
        """
        before = self.users
        records = Counter(digest for digest, _, _ in self.records)
        self.user_counts = Counter(
            {digest: max(self.largest[digest], records[digest]) for digest in self.user_counts}
        )
        return self.users != before

    @property
    def smallest(self) -> int:
        """Return the user count of the smallest class; 0 if there are no classes."""
        return min(self.user_counts.values(), default=0)

    @property
    def users(self) -> int:
        """Return the user count of all classes."""
        return self.user_counts.total()

    @property
    def singletons(self) -> int:
        """Return the number of classes of a single user."""
        return sum(n_users == 1 for n_users in self.user_counts.values())

    def below(
        self, k: int, locate: Callable[[int], str], what: str = "values"
    ) -> Iterator[Violation]:
        """Yield every record whose class has fewer than `k` users, or fewer than it promises."""
        for digest, user_id, row in self.records:
            required = max(k, self.promised.get(digest, k))
            if (n_users := self.user_counts[digest]) < required:
                sharing = "1 user" if n_users == 1 else f"{n_users} users"
                problem = f"its {what} are shared by {sharing}; at least {required} required"
                yield Violation(locate(row), row, user_id, problem)


class Supports:
    """The items of published classes, collected block by block; of equal rows, one is kept."""

    def __init__(self) -> None:
        self.place_of: dict[bytes, int] = {}  # the row of each class
        self._place: dict[bytes, int] = {}
        self._rows: list[NDArray[np.int32]] = []
        self._counts: list[int] = []

    def add(self, digests: Sequence[bytes], indptr: ArrayLike, items: ArrayLike) -> None:
        """Add records in compressed rows; records with one digest are one class and count once.

        Digests are equal if and only if all ratings are. Items have the same numbers in all blocks.
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
        """Return the number of classes per distinct row, shape (n_rows,)."""
        return np.array(self._counts, dtype=np.int64)

    def rows(self, n_items: int | None = None) -> ItemRows:
        """Return the distinct rows."""
        rows = [np.empty(0, np.int32), *self._rows]
        indptr = np.cumsum([row.size for row in rows], dtype=np.int64)
        indices = np.concatenate(rows).astype(np.int64)
        if n_items is None:
            n_items = int(indices.max(initial=-1)) + 1
        return ItemRows(indptr, indices, n_items)


class ItemCounts:
    """The number of values of each item, collected block by block.

    >>> counts = ItemCounts()
    >>> counts.add(np.array([0, 0, 1]))
    >>> counts.add(np.array([1, 1, 2]))
    >>> counts.rarest
    1
    """

    def __init__(self) -> None:
        self._counts = np.zeros(0, np.int64)

    def add(self, items: NDArray[np.int32]) -> None:
        """Add values, by the numbers of their items, the same in all blocks."""
        before, self._counts = self._counts, np.bincount(items, minlength=self._counts.size)
        self._counts[: before.size] += before

    @property
    def rarest(self) -> int:
        """The number of values of the rarest item; 0 without items."""
        return int(self._counts.min()) if self._counts.size else 0

    def to_list(self) -> list[int]:
        """Return the number of values of each item."""
        return list(self._counts.tolist())


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


@compiled(plain_if_small=True)
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
