"""Equivalence classes of published records and the items they hold."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
        """Yield every record whose class has fewer than `k` users, or fewer than it promises.

        `what` describes what the records of a class share.
        """
        for digest, user_id, row in self.records:
            required = max(k, self.promised.get(digest, k))
            if (n_users := self.user_counts[digest]) < required:
                sharing = "1 user" if n_users == 1 else f"{n_users} users"
                problem = f"its {what} are shared by {sharing}; at least {required} required"
                yield Violation(locate(row), row, user_id, problem)


class Supports:
    """The items of published classes, collected block by block; equal rows are kept once.

    All rows of a padded release are full, so it takes the memory of one row.
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
            One per record; equal if and only if all ratings of the records are.
        indptr : array-like of int, shape (n_records + 1,)
        items : array-like of int, shape (n_values,)
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
