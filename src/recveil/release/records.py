"""Published records and groups, and the pseudonyms of their users and items.

User ids are numbers in published order, with a prefix that is unique to the release; hidden items
are numbers in a random order.
"""

import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.runtime.safe_repr import brief

PREFIX = re.compile(r"p[0-9a-f]{4}-")
ITEM_PREFIX = re.compile(r"i[0-9a-f]{4}-")


@brief
class Groups(NamedTuple):
    """The members of each group, in published order.

    Attributes
    ----------
    members : ndarray of int64, shape (n_users,)
        User positions, group after group.
    starts : ndarray of int64, shape (n_groups + 1,)
        Group g is ``members[starts[g]:starts[g + 1]]``.
    """

    members: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def from_labels(cls, labels: ArrayLike, order: ArrayLike | None = None) -> Self:
        """Collect the users of each group, 0 to n_groups - 1, in a given order.

        Examples
        --------
        >>> groups = Groups.from_labels([0, 1, 0, 1, 1], order=[1, 0])
        >>> groups.members, groups.starts
        (array([1, 3, 4, 0, 2]), array([0, 3, 5]))
        """
        labels = np.asarray(labels, dtype=np.int64)
        n_groups = int(labels.max()) + 1
        rank = np.arange(n_groups)
        if order is not None:
            rank[np.asarray(order)] = np.arange(n_groups)
        places = rank[labels]
        sizes = np.bincount(places, minlength=n_groups)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(np.argsort(places, kind="stable"), starts)

    @classmethod
    def empty(cls) -> Self:
        """Return an empty set of groups, for records that belong to no user.

        Examples
        --------
        >>> Groups.empty().members.size
        0
        """
        return cls(np.empty(0, np.int64), np.zeros(1, np.int64))

    def _facts(self) -> dict[str, object]:
        return {"users": self.members.size, "groups": self.starts.size - 1}

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of members of each group, shape (n_groups,)."""
        return np.diff(self.starts)


@brief
@dataclass(frozen=True, eq=False)
class Records:
    """A block of published records, in compressed rows."""

    sizes: NDArray[np.int64]  # users per record
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]  # positions of items, ascending in each record
    values: NDArray[np.float64]
    # Number of users that each record promises, if it varies
    promised: NDArray[np.int64] | None = None
    # The published dates, in days since 1970-01-01
    days: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return self.sizes.size

    def only(self, kept: NDArray[np.bool_]) -> "Records":
        """Return the same records with the selected values only.

        >>> block = Records(np.array([1]), np.array([0, 2]), np.array([0, 3]), np.array([4.0, 2.5]))
        >>> block.only(np.array([False, True])).indices
        array([3])
        """
        before = np.concatenate([[0], np.cumsum(kept)])
        indptr = before[self.indptr].astype(np.int64)
        labels = self.indices[kept], self.values[kept]
        days = None if self.days is None else self.days[kept]
        return Records(self.sizes, indptr, *labels, self.promised, days)

    def digests(self, keys: NDArray[np.uint64], *, items_only: bool = False) -> list[bytes]:
        """Return 16 bytes per record that are equal only for equal values, dates and promises.

        `keys` are from `item_keys`. With `items_only`, only the items must be equal.
        """
        indices = np.ascontiguousarray(self.indices)
        cells: list[NDArray[Any]] = [self.values.astype("<f8", copy=False)]
        if self.days is not None:
            cells.append(self.days.astype("<i4", copy=False))
        promises: Iterable[bytes] = itertools.repeat(b"")
        if self.promised is not None:
            promises = (promise.tobytes() for promise in self.promised.astype("<i8"))
        digests: list[bytes] = []
        items = rest = None
        for (start, end), promise in zip(
            itertools.pairwise(self.indptr.tolist()), promises, strict=False
        ):
            # Members of a group are contiguous: comparing is far quicker than hashing again.
            row_items = indices[start:end].tobytes()
            if row_items != items:
                items, of_items = row_items, _blake(keys[indices[start:end]].tobytes())
                rest = None
            of_cells = () if items_only else (each[start:end].tobytes() for each in cells)
            row_rest = b"".join((*of_cells, promise))
            if row_rest != rest:
                rest, digest = row_rest, _blake(of_items + row_rest)
            digests.append(digest)
        return digests


def item_keys(items: NDArray[Any] | Sequence[Any]) -> NDArray[np.uint64]:
    """Return 16 bytes per item id that depend on its text alone, shape (n_items, 2)."""
    digests = b"".join(_blake(str(label).encode()) for label in items)
    return np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)


def _blake(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def pseudonyms(prefix: str, n_users: int, first: int, last: int) -> list[str]:
    """Return the user ids of the records `first` to `last - 1`, counted from 0.

    >>> pseudonyms("pd9c2-", 943, 7, 9)
    ['pd9c2-007', 'pd9c2-008']
    """
    width = len(str(n_users))
    return [f"{prefix}{row:0{width}d}" for row in range(first, last)]


def fresh_prefix(
    users: NDArray[Any], rng: np.random.Generator, letter: Literal["p", "i"] = "p"
) -> str:
    """Draw a prefix for one release, with which no pseudonym equals an original id.

    Another release of the same users gets another prefix, so the two cannot be joined by accident.
    """
    while True:
        prefix = f"{letter}{rng.integers(16**4):04x}-"
        if users.dtype != object or not any(label.startswith(prefix) for label in users):
            return prefix


def hides_items(settings: Mapping[str, Any]) -> bool:
    """Return whether the items of a release with these settings have pseudonyms.

    >>> hides_items({"method": "k-coRating", "items": "pseudonyms"})
    True
    """
    return settings.get("items") == "pseudonyms"
