"""Published records in an inverted index, for attacks to search."""

import hashlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.knowledge import Query
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief

# Searches candidates for the targets with that many threads; each returned array has one entry per
# target.
Work = Callable[["Candidates", Query, int], tuple[NDArray[Any], ...]]
# Values are stored as a code of one or two bytes; more distinct values are rounded.
_MOST_LEVELS = 1 << 16
# Records whose content is compared at once; their values take memory.
_RECORDS_AT_A_TIME = 1 << 14


@brief
@dataclass(frozen=True, eq=False)
class Candidates:
    """An inverted index: for each item, the records that have it, with value and day.

    An attack reads only the records with a known item, never a users × users table.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_items + 1,)
        Item i is in the records at ``indptr[i]:indptr[i + 1]``.
    records : ndarray of int32, shape (n_values,)
        Positions of records, ascending for each item.
    codes : ndarray of uint8 or uint16, shape (n_values,)
        Index of the value in `levels`.
    levels : ndarray of float64, shape (n_levels,)
        The distinct values, ascending.
    days : ndarray of int32, shape (n_values,), or None
    sizes : ndarray of int64, shape (n_records,)
        Number of users of each record.
    activity : ndarray of int64, shape (n_records,)
        Number of values of each record.
    date_width : int
        Days of the period of which each day is the middle; 0 where days are exact.
    cluster_size : int
        Smallest number of users of a cluster whose records share their values, as published; 0 if
        there is none.
    """

    indptr: NDArray[np.int64]
    records: NDArray[np.int32]
    codes: NDArray[Any]
    levels: NDArray[np.float64]
    days: NDArray[np.int32] | None
    sizes: NDArray[np.int64]
    activity: NDArray[np.int64]
    date_width: int = field(default=0, kw_only=True)
    cluster_size: int = field(default=0, kw_only=True)

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> Self:
        """Index raw ratings, as if they had been published with the ids removed.

        Examples
        --------
        >>> found = Candidates.from_ratings(Ratings.from_columns([1, 1, 2], [7, 9, 7], [4, 2, 5]))
        >>> found.indptr, found.records, found.levels[found.codes]
        (array([0, 2, 3]), array([0, 1, 0], dtype=int32), array([4., 5., 2.]))
        """
        return cls._build(
            indptr=ratings.indptr,
            indices=ratings.indices,
            values=ratings.values,
            days=ratings.days,
            sizes=np.ones(ratings.n_users, np.int64),
            n_items=ratings.n_items,
            scale=ratings.scale,
        )

    @classmethod
    def from_records(
        cls,
        blocks: Iterable[Records],
        n_items: int,
        scale: RatingScale,
        *,
        date_width: int = 0,
        cluster_size: int = 0,
    ) -> Self:
        """Index published records; their item positions are those of `n_items` items."""
        parts = list(blocks)
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        dated = [part.days for part in parts if part.days is not None]
        days = np.concatenate(dated) if dated else None
        return cls._build(
            indptr=np.concatenate([[0], np.cumsum(lengths)]),
            indices=np.concatenate([part.indices for part in parts]),
            values=np.concatenate([part.values for part in parts]),
            days=days,
            sizes=np.concatenate([part.sizes for part in parts]),
            n_items=n_items,
            scale=scale,
            date_width=date_width,
            cluster_size=cluster_size,
        )

    @classmethod
    def _build(
        cls,
        *,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        days: NDArray[np.int32] | None,
        sizes: NDArray[np.int64],
        n_items: int,
        scale: RatingScale,
        date_width: int = 0,
        cluster_size: int = 0,
    ) -> Self:
        levels = np.unique(values)
        if levels.size > _MOST_LEVELS:
            # Noise and rotations move values beyond the ends of the scale.
            low = min(scale.low, float(levels[0]))
            grid = (max(scale.high, float(levels[-1])) - low) / (_MOST_LEVELS - 1)
            values = np.rint((values - low) / grid) * grid + low
            levels = np.unique(values)
        codes = np.searchsorted(levels, values).astype(np.min_scalar_type(max(levels.size - 1, 0)))
        no_days = np.empty(0, np.int32)
        by_item = _list_by_item(indptr, indices, codes, no_days if days is None else days, n_items)
        return cls(
            indptr=by_item[0],
            records=by_item[1],
            codes=by_item[2],
            levels=levels.astype(np.float64),
            days=None if days is None else by_item[3],
            sizes=sizes,
            activity=np.diff(indptr),
            date_width=date_width,
            cluster_size=cluster_size,
        )

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self.sizes.size

    @property
    def n_items(self) -> int:
        """Number of items, including those without a record."""
        return self.indptr.size - 1

    @property
    def items(self) -> NDArray[np.int32]:
        """Item of each value, shape (n_values,)."""
        return np.repeat(np.arange(self.n_items, dtype=np.int32), np.diff(self.indptr))

    @property
    def values(self) -> NDArray[np.float64]:
        """The published values, shape (n_values,)."""
        return self.levels[self.codes]

    @property
    def n_users(self) -> int:
        """Number of users of all records."""
        return int(self.sizes.sum())

    @property
    def support(self) -> NDArray[np.int64]:
        """Number of users whose record has each item, shape (n_items,)."""
        if (self.sizes == 1).all():
            return np.diff(self.indptr)
        cumulated = np.concatenate([[0], np.cumsum(self.sizes[self.records])])
        return cumulated[self.indptr[1:]] - cumulated[self.indptr[:-1]]

    @cached_property
    def first_days(self) -> NDArray[np.int32]:
        """Day of the first value of each record, shape (n_records,); empty without days.

        Examples
        --------
        >>> ratings = Ratings.from_columns([1, 1, 2], [7, 9, 7], [4, 2, 5], [14001, 14000, 14002])
        >>> Candidates.from_ratings(ratings).first_days
        array([14000, 14002], dtype=int32)
        """
        if self.days is None:
            return np.empty(0, np.int32)
        first = np.full(self.n_records, np.iinfo(np.int32).max, np.int32)
        np.minimum.at(first, self.records, self.days)
        return first

    @property
    def day_ends(self) -> tuple[int, int] | None:
        """First and last day; None if there are none."""
        if self.days is None or not self.days.size:
            return None
        return int(self.days.min()), int(self.days.max())

    def search(self, work: Work, query: Query, threads: int) -> tuple[NDArray[Any], ...]:
        """Run a search over these records; remote candidates run it where they are."""
        return work(self, query, threads)

    def lengths_outside(self, top: int) -> NDArray[np.int64]:
        """Count each record's values outside the `top` most rated items.

        Examples
        --------
        >>> found = Candidates.from_ratings(Ratings.from_columns([1, 1, 2], [7, 9, 7], [4, 2, 5]))
        >>> found.lengths_outside(0), found.lengths_outside(1)
        (array([2, 1]), array([1, 0]))
        """
        lengths = self.activity.copy()
        for item in np.argsort(-self.support, kind="stable")[:top].tolist():
            lengths[self.records[self.indptr[item] : self.indptr[item + 1]]] -= 1
        return lengths

    def classes(self) -> NDArray[np.int64]:
        """Return the same number for records with the same items and values, shape (n_records,).

        Examples
        --------
        >>> Candidates.from_ratings(Ratings.from_columns([1, 2, 3], "aab", [4, 4, 4])).classes()
        array([0, 0, 1])
        """
        by_record = np.argsort(self.records, kind="stable")
        items, ends = self.items, np.concatenate([[0], np.cumsum(self.activity)])
        numbers: dict[bytes, int] = {}
        result = np.empty(self.n_records, np.int64)
        for start in range(0, self.n_records, _RECORDS_AT_A_TIME):
            bounds = ends[start : start + _RECORDS_AT_A_TIME + 1]
            cells = by_record[bounds[0] : bounds[-1]]
            pairs = np.stack([items[cells], self.codes[cells]], axis=1).astype(np.int32)
            contents = (pairs[a:b] for a, b in itertools.pairwise((bounds - bounds[0]).tolist()))
            for record, content in enumerate(contents, start):
                digest = hashlib.blake2b(content.data, digest_size=16).digest()
                result[record] = numbers.setdefault(digest, len(numbers))
        return result

    def merged(self, class_of: NDArray[np.int64]) -> tuple[Self, NDArray[np.int64]]:
        """Merge the records of each class into one, with all of their users.

        Parameters
        ----------
        class_of : ndarray of int64, shape (n_records,)
            Records with the same number are identical.

        Returns
        -------
        Candidates
            Without days.
        ndarray of int64, shape (n_records,)
            Position of each record's merged record.

        Examples
        --------
        >>> found = Candidates.from_ratings(Ratings.from_columns([1, 2, 3], "aab", [4, 4, 4]))
        >>> merged, class_of = found.merged(found.classes())
        >>> merged.sizes, class_of
        (array([2, 1]), array([0, 0, 1]))
        """
        _, first, class_of = np.unique(class_of, return_index=True, return_inverse=True)
        # Numbered by their first members, so that each item's records still ascend.
        class_of, first = np.argsort(np.argsort(first))[class_of], np.sort(first)
        is_first = np.zeros(self.n_records, bool)
        is_first[first] = True
        sizes = np.bincount(class_of, weights=self.sizes).astype(np.int64)
        return self._of_first(is_first, class_of, sizes), class_of

    def only(self, records: NDArray[np.int64]) -> Self:
        """Return some of the records, in ascending order."""
        number = np.full(self.n_records, -1)
        number[records] = np.arange(records.size)
        kept = number[self.records] >= 0
        return replace(
            self,
            indptr=np.concatenate([[0], np.cumsum(kept)])[self.indptr],
            records=number[self.records[kept]].astype(np.int32),
            codes=self.codes[kept],
            days=None if self.days is None else self.days[kept],
            sizes=self.sizes[records],
            activity=self.activity[records],
        )

    def _of_first(
        self, is_first: NDArray[np.bool_], class_of: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> Self:
        """Keep the first record of each class, under the number of the class."""
        kept = is_first[self.records]
        return replace(
            self,
            indptr=np.concatenate([[0], np.cumsum(kept)])[self.indptr],
            records=class_of[self.records[kept]].astype(np.int32),
            codes=self.codes[kept],
            days=None,
            sizes=sizes,
            activity=self.activity[is_first],
        )

    def carries(
        self, items: NDArray[np.integer[Any]], records: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return, for pairs of an item and a record (-1 for none), whether the record has the item.

        Examples
        --------
        >>> found = Candidates.from_ratings(Ratings.from_columns([1, 1, 2], [7, 9, 7], [4, 2, 5]))
        >>> found.carries(np.array([0, 1, 1]), np.array([1, 1, -1]))
        array([ True, False, False])
        """
        return _carries(self.indptr, self.records, items, records)


@compiled()
def _carries(
    indptr: NDArray[Any], listed: NDArray[Any], items: NDArray[Any], records: NDArray[Any]
) -> NDArray[Any]:
    found = np.zeros(items.size, np.bool_)
    for pair in range(items.size):
        carriers = listed[indptr[items[pair]] : indptr[items[pair] + 1]]
        place = np.searchsorted(carriers, records[pair])
        found[pair] = place < carriers.size and carriers[place] == records[pair]
    return found


@compiled()
def _list_by_item(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    codes: NDArray[Any],
    days: NDArray[Any],
    n_items: int,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Transpose rows by record into lists by item (a counting sort)."""
    starts = np.zeros(n_items + 1, np.int64)
    for item in indices:
        starts[item + 1] += 1
    for item in range(n_items):
        starts[item + 1] += starts[item]
    following = starts[:-1].copy()
    records = np.empty(indices.size, np.int32)
    item_codes, item_days = np.empty_like(codes), np.empty_like(days)
    for record in range(indptr.size - 1):
        for at in range(indptr[record], indptr[record + 1]):
            place = following[indices[at]]
            following[indices[at]] += 1
            records[place] = record
            item_codes[place] = codes[at]
            if days.size:
                item_days[place] = days[at]
    return starts, records, item_codes, item_days
