"""Item lists: candidates that fit on no machine, their lists of items spread over executors."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.attack import Candidates
from recveil.attack.candidates import Work
from recveil.attack.own_rows import own_rows
from recveil.attack.sought import Sought
from recveil.brief import brief
from recveil.ratings import Ratings
from recveil.spark.numbered_ratings import NumberedRatings, part_number
from recveil.spark.searchers import Found, put_together

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

# Entries of the lists that one task is given, about, and targets that it looks for, at most.
_ENTRIES_OF_A_TASK = 1 << 26
_TARGETS_OF_A_TASK = 256
# Entries of one piece of a list.
_ENTRIES_OF_A_PIECE = 1 << 18
_BY_ITEM = "record int, item int, code int, day int"
_PIECES = "item int, first int, content binary"
_BY_RECORD = "part int, told binary"
_BY_RECORD_TYPES = [("part", pa.int32()), ("told", pa.binary())]
# 2 ** 64 divided by the golden ratio, and the factors of a well known mixer of 64 bits.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXED = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


@brief
class _Kept(NamedTuple):
    """What each task has to know of all records."""

    n_items: int
    levels: NDArray[np.float64]
    has_days: bool
    sizes: NDArray[np.int64]
    activity: NDArray[np.int64]
    is_first: NDArray[np.bool_] | None  # of merged records, which ones the lists keep
    class_of: NDArray[np.int64] | None


class ItemLists:
    """The lists of all items in pieces, wherever there is room; a task is sent those it needs.

    Parameters
    ----------
    ratings : NumberedRatings
    """

    def __init__(self, ratings: NumberedRatings) -> None:
        from pyspark import StorageLevel

        self.ratings = ratings
        self._context = ratings.frame.sparkSession.sparkContext
        n_parts = ratings.frame.rdd.getNumPartitions()
        work = partial(_coded, first_records=ratings.first_records, levels=ratings.levels)
        self._pieces: DataFrame = (
            ratings.frame.mapInArrow(work, _BY_ITEM)
            .repartition(n_parts, "item")
            .sortWithinPartitions("item", "record")
            .mapInArrow(_in_pieces, _PIECES)
            .persist(StorageLevel.MEMORY_AND_DISK)
        )
        self._held: FarCandidates | None = None
        self._kept: Broadcast[_Kept] | None = None

    def look(self, candidates: "FarCandidates", work: Work, sought: Sought) -> Found:
        """Let each task look for some targets in the lists of the items that are known of them."""
        kept = self._sent(candidates)
        cuts = cut_by_entries(sought, candidates.support)
        wanted = _wanted(sought, cuts)
        sent = self._context.broadcast((work, sought, cuts))
        try:
            pieces = self._pieces.rdd.flatMap(partial(_for_tasks, wanted=wanted))
            tasks = pieces.partitionBy(len(cuts), int)
            found = tasks.mapPartitionsWithIndex(partial(_look, kept=kept, sent=sent)).collect()
            return put_together([each for _, each in sorted(found, key=lambda told: told[0])])
        finally:
            sent.destroy()

    def of_records(self, name: str, **known: Any) -> NDArray[Any]:
        """Return numbers of each record, which executors work out from its row."""
        work = partial(_of_rows, name=name, **known)
        rows = self.ratings.frame.mapInArrow(work, _BY_RECORD).toArrow().sort_by("part")
        kind = np.uint64 if name == "digests" else np.int64
        return np.concatenate([np.frombuffer(told, kind) for told in rows["told"].to_pylist()])

    def _sent(self, candidates: "FarCandidates") -> "Broadcast[_Kept]":
        if self._kept is None or candidates is not self._held:
            self._forget()
            kept = _Kept(
                self.ratings.n_items,
                candidates.levels,
                candidates.ends is not None,
                candidates.sizes,
                candidates.activity,
                candidates.is_first,
                candidates.class_of,
            )
            self._kept, self._held = self._context.broadcast(kept), candidates
        return self._kept

    def _forget(self) -> None:
        if self._kept is not None:
            self._kept.destroy()
        self._kept, self._held = None, None

    def close(self) -> None:
        """Let executors forget what they hold."""
        self._forget()
        self._pieces.unpersist()


@brief
@dataclass(frozen=True, eq=False)
class FarCandidates(Candidates):
    """Candidates whose lists lie elsewhere: `records` and `codes` are empty here.

    Parameters
    ----------
    indptr, records, codes, levels, days, sizes, activity
        See `Candidates`.
    lists : ItemLists
    ends : tuple of int, or None
        The first and the last day.
    is_first, class_of : ndarray, or None
        Where identical records were merged: which of all records are kept, and as which.
    """

    lists: ItemLists
    ends: tuple[int, int] | None = None
    is_first: NDArray[np.bool_] | None = None
    class_of: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, ratings: NumberedRatings) -> Self:
        """List ratings by item, among executors."""
        from pyspark.sql import functions as sql

        ends = None
        if ratings.days is not None:
            found = ratings.frame.agg(sql.min("day"), sql.max("day")).first()
            ends = (int(found[0]), int(found[1])) if found is not None else None
        return cls(
            indptr=np.concatenate([[0], np.cumsum(ratings.support)]),
            records=np.empty(0, np.int32),
            codes=np.empty(0, np.min_scalar_type(max(ratings.levels.size - 1, 0))),
            levels=ratings.levels.astype(np.float64),
            days=None,
            sizes=np.ones(ratings.n_users, np.int64),
            activity=ratings.activity,
            lists=ItemLists(ratings),
            ends=ends,
        )

    @property
    def support(self) -> NDArray[np.int64]:
        """Number of people whose record carries each item, before records were merged."""
        return np.diff(self.indptr) * (1 if self.class_of is not None else int(self.sizes[0]))

    @property
    def day_ends(self) -> tuple[int, int] | None:
        """The first and the last day of all labels; None if there are none."""
        return self.ends

    def look(self, work: Work, sought: Sought, threads: int) -> Found:
        """Let executors do it, one thread a task."""
        del threads
        return self.lists.look(self, work, sought)

    def lengths_outside(self, top: int) -> NDArray[np.int64]:
        """Count each record's labels outside the so many most rated items."""
        if not top:
            return self.activity
        counts = np.ones(self.indptr.size - 1, bool)
        counts[np.argsort(-self.support, kind="stable")[:top]] = False
        return self.lists.of_records("lengths", counts=counts)

    def carries(
        self, items: NDArray[np.integer[Any]], records: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell of pairs of an item and a record (-1 for none) whether the record carries it."""
        n_items, ratings = self.indptr.size - 1, self.lists.ratings
        those = np.unique(records[records >= 0])
        rows = own_rows(cast("Ratings", ratings), those)  # it has what is asked for
        there = np.repeat(those, np.diff(rows.indptr)) * n_items + rows.items
        return (records >= 0) & np.isin(records * n_items + items, there)

    def classes(self) -> NDArray[np.int64]:
        """Give records with the same items and labels the same number, by a digest of 128 bits."""
        digests = self.lists.of_records("digests", levels=self.levels).reshape(-1, 2)
        order = np.lexsort(digests.T)
        begins = np.ones(order.size, np.int64)
        begins[1:] = (np.diff(digests[order].view(np.int64), axis=0) != 0).any(axis=1)
        class_of = np.empty(order.size, np.int64)
        class_of[order] = np.cumsum(begins) - 1
        return class_of

    def _of_first(
        self, is_first: NDArray[np.bool_], class_of: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> Self:
        """Keep the first record of each class, under the number of the class."""
        return replace(
            self,
            sizes=sizes,
            activity=self.activity[is_first],
            ends=None,
            is_first=is_first,
            class_of=class_of,
        )


def cut_by_entries(sought: Sought, support: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut those sought so that the lists of each part's items are not too long for one task."""
    cuts, first, items, entries = [], 0, set[int](), 0
    known = sought.knowledge
    for target in range(sought.own.size):
        own = set(known.items[known.indptr[target] : known.indptr[target + 1]].tolist()) - items
        more = int(support[list(own)].sum())
        full = entries + more > _ENTRIES_OF_A_TASK or target - first == _TARGETS_OF_A_TASK
        if full and target > first:
            cuts.append((first, target))
            first, items, entries = target, set(), 0
        items |= own
        entries += more
    return [*cuts, (first, sought.own.size)]


def _wanted(sought: Sought, cuts: list[tuple[int, int]]) -> dict[int, list[int]]:
    """Return which tasks ask for each item."""
    known, wanted = sought.knowledge, dict[int, list[int]]()
    for task, (first, end) in enumerate(cuts):
        for item in np.unique(known.items[known.indptr[first] : known.indptr[end]]).tolist():
            wanted.setdefault(item, []).append(task)
    return wanted


def _for_tasks(piece: Any, wanted: dict[int, list[int]]) -> Iterator[tuple[int, Any]]:
    for task in wanted.get(piece["item"], ()):
        yield task, (piece["item"], piece["first"], bytes(piece["content"]))


def _look(
    number: int, pieces: Iterator[tuple[int, Any]], kept: "Broadcast[_Kept]", sent: Any
) -> Iterator[tuple[int, Found]]:
    """Look for the targets of one task, in an executor."""
    work, sought, cuts = sent.value
    candidates = _candidates_of([piece for _, piece in pieces], kept.value)
    yield number, tuple(work(candidates, sought.part(*cuts[number]), 1))


def _candidates_of(pieces: list[tuple[int, int, bytes]], kept: _Kept) -> Candidates:
    """Put the lists of some items together; all others are empty."""
    lengths = np.zeros(kept.n_items, np.int64)
    columns: list[NDArray[np.int32]] = [np.empty((3, 0), np.int32)]
    for item, _, content in sorted(pieces):
        entries = np.frombuffer(content, np.int32).reshape(3, -1)
        if kept.is_first is not None and kept.class_of is not None:
            entries = entries[:, kept.is_first[entries[0]]]
            entries = np.stack([kept.class_of[entries[0]].astype(np.int32), *entries[1:]])
        lengths[item] += entries.shape[1]
        columns.append(entries)
    records, codes, days = np.concatenate(columns, axis=1)
    return Candidates(
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        records=records,
        codes=codes.astype(np.min_scalar_type(max(kept.levels.size - 1, 0))),
        levels=kept.levels,
        days=days if kept.has_days else None,
        sizes=kept.sizes,
        activity=kept.activity,
    )


def _coded(
    batches: Iterator[pa.RecordBatch],
    first_records: NDArray[np.int64],
    levels: NDArray[np.float64],
) -> Iterator[pa.RecordBatch]:
    """Give each record its number among all, and each label that of its level."""
    for batch in batches:
        first = int(first_records[part_number()]) if batch.num_rows else 0
        codes = np.searchsorted(levels, batch.column("rating").to_numpy())
        records = batch.column("record").to_numpy() + first
        columns = [pa.array(records, pa.int32()), batch.column("item"), pa.array(codes, pa.int32())]
        names = ["record", "item", "code", "day"]
        yield pa.RecordBatch.from_arrays([*columns, batch.column("day")], names)


def _in_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the lists of items, whose entries come sorted, in pieces."""
    for batch in batches:
        items = batch.column("item").to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(items)) + 1).tolist(), items.size]
        columns = [batch.column(name).to_numpy() for name in ("record", "code", "day")]
        entries = np.stack(columns).astype(np.int32)
        for start, end in itertools.pairwise(cuts):
            for at in range(start, end, _ENTRIES_OF_A_PIECE):
                piece = entries[:, at : min(at + _ENTRIES_OF_A_PIECE, end)]
                row = {"item": [int(items[at])], "first": [int(piece[0, 0])]}
                told = {"content": [np.ascontiguousarray(piece).tobytes()]}
                yield pa.RecordBatch.from_pydict(row | told, _PIECES_SCHEMA)


_PIECES_SCHEMA = pa.schema([("item", pa.int32()), ("first", pa.int32()), ("content", pa.binary())])


def _of_rows(batches: Iterator[pa.RecordBatch], name: str, **known: Any) -> Iterator[Any]:
    """Work out numbers of each record of a partition: whole rows, or pieces of them, add up."""
    told: NDArray[Any] = np.zeros(0)
    total: NDArray[Any] | None = None
    for batch in batches:
        records = batch.column("record").to_numpy()
        told = (_lengths if name == "lengths" else _digests)(batch, records, **known)
        if total is None:
            total = told
        else:
            longer = np.zeros((max(len(total), len(told)), *told.shape[1:]), told.dtype)
            longer[: len(total)] = total
            longer[: len(told)] += told
            total = longer
    if total is not None:
        row = {"part": part_number(), "told": np.ascontiguousarray(total).tobytes()}
        yield pa.RecordBatch.from_pylist([row], pa.schema(_BY_RECORD_TYPES))


def _lengths(
    batch: pa.RecordBatch, records: NDArray[np.int32], counts: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Count the items of each record that count."""
    counted = records[counts[batch.column("item").to_numpy()]]
    return np.bincount(counted, minlength=records[-1] + 1).astype(np.int64)


def _digests(
    batch: pa.RecordBatch, records: NDArray[np.int32], levels: NDArray[np.float64]
) -> NDArray[np.uint64]:
    """Add up two mixed numbers of each item and label of a record."""
    codes = np.searchsorted(levels, batch.column("rating").to_numpy()).astype(np.uint64)
    cells = batch.column("item").to_numpy().astype(np.uint64) << np.uint64(16) | codes
    sums = np.zeros((records[-1] + 1, 2), np.uint64)
    for lane in range(2):
        with np.errstate(over="ignore"):
            np.add.at(sums[:, lane], records, _mixed(2 * cells + np.uint64(lane + 1)))
    return sums


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix numbers, so that sums of them tell apart what was added up."""
    mixed = numbers * _GOLDEN
    for shift, factor in _MIXED:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
