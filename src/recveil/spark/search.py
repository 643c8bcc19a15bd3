"""Attacks on ratings that fit on no machine, run by executors."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.attacks import Candidates
from recveil.attacks.candidates import Work
from recveil.attacks.knowledge import Query, target_rows
from recveil.io import Reading
from recveil.io.columns.columns import NOT_SAID, Columns, find_columns
from recveil.io.columns.times import whole_days
from recveil.io.ingestion import ReadColumn, has_value
from recveil.io.source import ROLES
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import brief
from recveil.spark.input import Lake, lake_of
from recveil.spark.users import duplicate_error, partition_number

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession


# Ratings per partition, about.
_RATINGS_OF_A_PARTITION = 1 << 20
_NUMBERED = "record int, item int, rating float, day int"
_TALLIED = "part long, ratings long, activity binary"
_FETCHED = "place long, item int, rating float, day int"


class NumberedRatings:
    """Ratings among executors, numbered, with the interface of `Ratings` but for whole arrays.

    `indices`, `values` and `days` fetch and cache the ratings at some positions. `frame` has the
    columns `record` (within the partition), `item`, `rating` and `day`; `first_places` and
    `first_records` are positions of each partition's first rating and user.
    """

    def __init__(
        self,
        lake: Lake,
        frame: "DataFrame",
        activity: NDArray[np.int64],
        support: NDArray[np.int64],
        first_places: NDArray[np.int64],
        first_records: NDArray[np.int64],
    ) -> None:
        self.frame = frame
        self.scale, self.items, self.levels = lake.scale, lake.items, lake.values
        self.activity, self.support = activity, support
        self.indptr = np.concatenate([[0], np.cumsum(activity)]).astype(np.int64)
        self.first_places, self.first_records = first_places, first_records
        self.indices = RemoteColumn(self, "item")
        self.values = RemoteColumn(self, "rating")
        self.days = RemoteColumn(self, "day") if "time" in lake.rows.columns else None
        self._places = np.empty(0, np.int64)
        self._cached: dict[str, NDArray[Any]] = {}

    n_users = property(lambda self: self.activity.size, doc="Number of users.")
    n_items = property(lambda self: self.support.size, doc="Number of items.")
    n_ratings = property(lambda self: int(self.indptr[-1]), doc="Number of ratings.")
    is_unary = property(lambda self: self.scale.unary, doc="Whether they are likes.")

    @property
    def density(self) -> float:
        """Share of the user × item cells that have a rating, between 0 and 1."""
        return float(self.n_ratings / max(1, self.n_users * self.n_items))

    def fetch(self, places: NDArray[np.int64], name: str) -> NDArray[Any]:
        """Return the values of a column at some positions."""
        missing = np.setdiff1d(places, self._places)
        if missing.size or not self._cached:
            work = partial(_fetched, places=missing, first_places=self.first_places)
            result = self.frame.mapInArrow(work, _FETCHED).toArrow()
            if result.num_rows != missing.size:
                raise RecveilError(
                    f"{result.num_rows:,} of {missing.size:,} ratings were fetched; the table "
                    f"has changed: run it again on one that does not change",
                    code="input.changed",
                )
            self._remember(result)
        return self._cached[name][np.searchsorted(self._places, places)]

    def _remember(self, result: pa.Table) -> None:
        new = {name: result[name].to_numpy() for name in ("item", "rating", "day")}
        places = np.concatenate([self._places, result["place"].to_numpy()])
        order = np.argsort(places)
        self._places = places[order]
        self._cached = {
            name: np.concatenate([self._cached.get(name, column[:0]), column])[order]
            for name, column in new.items()
        }

    def __repr__(self) -> str:
        return f"NumberedRatings({self.n_users:,} users, {self.n_items:,} items)"


class RemoteColumn:
    """A column whose values are fetched by position."""

    def __init__(self, ratings: NumberedRatings, name: str) -> None:
        self._ratings, self._name = ratings, name

    def __getitem__(self, places: NDArray[np.int64]) -> NDArray[Any]:
        return self._ratings.fetch(np.asarray(places, np.int64), self._name)

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise RecveilError(
            "an adversary with errors of nearly half of the scale and wrong ratings: not by "
            "Spark where the ratings do not fit here; give another rating_error (--rating-error)",
            code="option.unsupported",
        )

    def __repr__(self) -> str:
        return f"RemoteColumn({self._name!r})"


def number_ratings(lake: Lake, *, users_are_whole: bool) -> NumberedRatings:
    """Sort the ratings of a table among executors, and number users and ratings."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sql

    spark = lake.rows.sparkSession
    places = pa.table({"item": lake.raw, "place": lake.codes.astype(np.int32)})
    time = sql.col("time") if "time" in lake.rows.columns else sql.lit(0)
    user = sql.col("user").cast("long") if users_are_whole else sql.col("user")
    n_parts = -(-lake.n_ratings // _RATINGS_OF_A_PARTITION) + 1
    frame = (
        lake.rows.join(sql.broadcast(spark.createDataFrame(places)), "item")
        .select(user.alias("user"), "place", "rating", time.alias("time"))
        .repartitionByRange(n_parts, "user")
        .sortWithinPartitions("user", "place")
        .mapInArrow(_numbered, _NUMBERED)
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    rows = frame.mapInArrow(_tallied, _TALLIED).toArrow().sort_by("part").to_pylist()
    if frame.select("rating").distinct().count() > lake.values.size:
        raise RecveilError(
            "ratings with more than 1,000 different values: not by Spark where they do not fit "
            "here; round them",
            code="rating.too-many-values",
        )
    counts = frame.groupBy("item").count().toArrow()
    support = np.zeros(lake.items.size, np.int64)
    support[counts["item"].to_numpy()] = counts["count"].to_numpy()
    of_parts = [np.frombuffer(row["activity"], np.int32) for row in rows]
    n_partitions = 1 + max(row["part"] for row in rows)
    users, ratings = np.zeros(n_partitions, np.int64), np.zeros(n_partitions, np.int64)
    for row, activity in zip(rows, of_parts, strict=True):
        users[row["part"]], ratings[row["part"]] = activity.size, row["ratings"]
    return NumberedRatings(
        lake,
        frame,
        np.concatenate(of_parts).astype(np.int64),
        support,
        np.cumsum(ratings) - ratings,
        np.cumsum(users) - users,
    )


def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Assign numbers to the users of a partition, whose rows are sorted."""
    last_user, last_place, number = None, -1, -1
    for batch in batches:
        if not batch.num_rows:
            continue
        users, places = batch.column("user"), batch.column("place").to_numpy()
        begins = np.ones(len(users), bool)
        begins[1:] = pc.not_equal(users[1:], users[:-1]).to_numpy(zero_copy_only=False)
        begins[0] = users[0] != last_user
        before = np.concatenate([[last_place], places[:-1]])
        if (~begins & (places <= before)).any():
            raise duplicate_error()
        records = number + np.cumsum(begins)
        yield pa.RecordBatch.from_pydict(
            {
                "record": pa.array(records, pa.int32()),
                "item": pa.array(places, pa.int32()),
                "rating": batch.column("rating").cast(pa.float32()),
                "day": pa.array(_days(batch.column("time")), pa.int32()),
            }
        )
        last_user, last_place, number = users[-1], int(places[-1]), int(records[-1])


def _days(times: pa.Array) -> NDArray[np.int64]:
    """Return the days of Unix times in seconds, dates or timestamps."""
    if pa.types.is_integer(times.type):
        return times.to_numpy().astype(np.int64) // 86_400
    return whole_days(pa.chunked_array([times]))


def _tallied(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the ratings of a partition, and of each of its users."""
    columns = [batch.column("record").to_numpy() for batch in batches]
    records = np.concatenate(columns) if columns else np.empty(0, np.int32)
    if records.size:
        activity = np.bincount(records).astype(np.int32)
        row = {"part": partition_number(), "ratings": records.size, "activity": activity.tobytes()}
        yield pa.RecordBatch.from_pylist([row])


def _fetched(
    batches: Iterator[pa.RecordBatch], places: NDArray[np.int64], first_places: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """Yield a partition's ratings at the requested positions."""
    at: int | None = None
    for batch in batches:
        at = int(first_places[partition_number()]) if at is None else at
        selection = slice(*np.searchsorted(places, [at, at + batch.num_rows]))
        here = pa.array(places[selection] - at)
        columns = [batch.column(name).take(here) for name in ("item", "rating", "day")]
        yield pa.RecordBatch.from_arrays(
            [pa.array(places[selection]), *columns], ["place", "item", "rating", "day"]
        )
        at += batch.num_rows


# Targets per task, at most; and tasks per core, so that no core is idle for long.
_TARGETS_OF_A_TASK = 256
_TASKS_A_CORE = 2

Arrays = tuple[NDArray[Any], ...]


class Searchers:
    """Executors with a copy of one table's candidates at a time."""

    def __init__(self, spark: "SparkSession") -> None:
        self._context = spark.sparkContext
        self._cached: Candidates | None = None
        self._index: Broadcast[Candidates] | None = None

    def search(self, candidates: Candidates, work: Work, query: Query) -> Arrays:
        """Search all targets by executors; the result is that of one machine."""
        index = self._share(candidates)
        request = self._context.broadcast((work, query))
        cuts = cut_evenly(query.target_records.size, self._context.defaultParallelism)
        try:
            tasks = self._context.parallelize(cuts, len(cuts))
            return concatenate_results(
                tasks.map(partial(_search_part, index=index, request=request)).collect()
            )
        finally:
            request.destroy()

    def _share(self, candidates: Candidates) -> "Broadcast[Candidates]":
        """Broadcast candidates, unless executors have them."""
        if self._index is None or candidates is not self._cached:
            self.close()
            self._index = self._context.broadcast(Candidates(**_fields_of(candidates)))
            self._cached = candidates
        return self._index

    def close(self) -> None:
        """Release the copies."""
        if self._index is not None:
            self._index.destroy()
        self._index, self._cached = None, None


def _fields_of(candidates: Candidates) -> dict[str, Any]:
    return {field.name: getattr(candidates, field.name) for field in fields(Candidates)}


@brief
@dataclass(frozen=True, eq=False)
class DistributedCandidates(Candidates):
    """Candidates that executors search."""

    searchers: Searchers

    @classmethod
    def of(cls, candidates: Candidates, searchers: Searchers) -> Self:
        """Return the same candidates, searched by executors."""
        return cls(**_fields_of(candidates), searchers=searchers)

    def search(self, work: Work, query: Query, threads: int) -> Arrays:
        """Search by executors, one thread per task."""
        del threads
        return self.searchers.search(self, work, query)


def cut_evenly(n_targets: int, cores: int) -> list[tuple[int, int]]:
    """Split targets into tasks; return the first target and the end of each."""
    size = min(_TARGETS_OF_A_TASK, -(-n_targets // (_TASKS_A_CORE * cores))) or 1
    return [(at, min(at + size, n_targets)) for at in range(0, n_targets, size)] or [(0, 0)]


def concatenate_results(result: list[Arrays]) -> Arrays:
    """Concatenate the results of tasks, in the order of targets."""
    return tuple(np.concatenate(arrays) for arrays in zip(*result, strict=True))


def _search_part(cut: tuple[int, int], index: "Broadcast[Candidates]", request: Any) -> Arrays:
    work, query = request.value
    return tuple(work(index.value, query.part(*cut), 1))


# Entries of the lists that one task gets, about.
_ENTRIES_OF_A_TASK = 1 << 26
# Entries of one piece of a list.
_ENTRIES_OF_A_PIECE = 1 << 18
_BY_ITEM = "record int, item int, code int, day int"
_PIECES = "item long, first long, content binary"
_BY_RECORD = "part long, numbers binary"
# 2 ** 64 divided by the golden ratio, and the factors of a well known mixer of 64 bits.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXED = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


@brief
class _RecordTable(NamedTuple):
    """What each task needs to know of all records."""

    n_items: int
    levels: NDArray[np.float64]
    has_days: bool
    sizes: NDArray[np.int64]
    activity: NDArray[np.int64]
    is_first: NDArray[np.bool_] | None  # the first record of each class of merged records
    class_of: NDArray[np.int64] | None


class ItemLists:
    """The lists of all items in pieces among executors; a task gets those it needs."""

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
        self._cached: RemoteCandidates | None = None
        self._table: Broadcast[_RecordTable] | None = None

    def search(self, candidates: "RemoteCandidates", work: Work, query: Query) -> Arrays:
        """Search some targets per task, in the lists of the items that are known of them."""
        table = self._share(candidates)
        cuts = cut_by_entries(query, candidates.support)
        tasks_by_item = _tasks_by_item(query, cuts)
        request = self._context.broadcast((work, query, cuts))
        try:
            pieces = self._pieces.rdd.flatMap(partial(_for_tasks, tasks_by_item=tasks_by_item))
            tasks = pieces.partitionBy(len(cuts), int)
            result = tasks.mapPartitionsWithIndex(
                partial(_look, table=table, request=request)
            ).collect()
            return concatenate_results(
                [each for _, each in sorted(result, key=lambda pair: pair[0])]
            )
        finally:
            request.destroy()

    def of_records(self, name: str, **known: Any) -> NDArray[Any]:
        """Return numbers of each record, which executors compute from its row."""
        work = partial(_of_rows, name=name, **known)
        rows = self.ratings.frame.mapInArrow(work, _BY_RECORD).toArrow().sort_by("part")
        kind = np.uint64 if name == "digests" else np.int64
        return np.concatenate(
            [np.frombuffer(numbers, kind) for numbers in rows["numbers"].to_pylist()]
        )

    def _share(self, candidates: "RemoteCandidates") -> "Broadcast[_RecordTable]":
        if self._table is None or candidates is not self._cached:
            self._forget()
            table = _RecordTable(
                self.ratings.n_items,
                candidates.levels,
                candidates.ends is not None,
                candidates.sizes,
                candidates.activity,
                candidates.is_first,
                candidates.class_of,
            )
            self._table, self._cached = self._context.broadcast(table), candidates
        return self._table

    def _forget(self) -> None:
        if self._table is not None:
            self._table.destroy()
        self._table, self._cached = None, None

    def close(self) -> None:
        """Release the lists."""
        self._forget()
        self._pieces.unpersist()


@brief
@dataclass(frozen=True, eq=False)
class RemoteCandidates(Candidates):
    """Candidates whose lists are among executors; `records` and `codes` are empty here."""

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
            result = ratings.frame.agg(sql.min("day"), sql.max("day")).first()
            ends = (int(result[0]), int(result[1])) if result is not None else None
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
        """Number of users whose record has each item, before records were merged."""
        return np.diff(self.indptr) * (1 if self.class_of is not None else int(self.sizes[0]))

    @property
    def day_ends(self) -> tuple[int, int] | None:
        """The first and the last day of all ratings; None if there are none."""
        return self.ends

    def search(self, work: Work, query: Query, threads: int) -> Arrays:
        """Search by executors, one thread per task."""
        del threads
        if query.knowledge.first_days is not None:
            raise RecveilError(
                "first_date_error (--first-date-error): not by Spark for a table that does not fit "
                "on this machine; leave it out",
                code="option.unsupported",
            )
        return self.lists.search(self, work, query)

    def lengths_outside(self, top: int) -> NDArray[np.int64]:
        """Count each record's ratings outside the `top` most rated items."""
        if not top:
            return self.activity
        counts = np.ones(self.indptr.size - 1, bool)
        counts[np.argsort(-self.support, kind="stable")[:top]] = False
        return self.lists.of_records("lengths", counts=counts)

    def carries(
        self, items: NDArray[np.integer[Any]], records: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Check for pairs of an item and a record (-1 for none) whether the record has the item."""
        n_items, ratings = self.indptr.size - 1, self.lists.ratings
        wanted_records = sorted_unique(records[records >= 0])
        # `ratings` has the attributes that are read
        rows = target_rows(cast("Ratings", ratings), wanted_records)
        cells = np.repeat(wanted_records, np.diff(rows.indptr)) * n_items + rows.items
        return (records >= 0) & np.isin(records * n_items + items, cells)

    def classes(self) -> NDArray[np.int64]:
        """Return equal numbers for records with equal rows, by a digest of 128 bits."""
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


def cut_by_entries(query: Query, support: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Split targets into tasks whose items' lists are not too long."""
    cuts, first, items, entries = [], 0, set[int](), 0
    known = query.knowledge
    for target in range(query.target_records.size):
        new_items = (
            set(known.items[known.indptr[target] : known.indptr[target + 1]].tolist()) - items
        )
        more = int(support[list(new_items)].sum())
        full = entries + more > _ENTRIES_OF_A_TASK or target - first == _TARGETS_OF_A_TASK
        if full and target > first:
            cuts.append((first, target))
            first, items, entries = target, set(), 0
        items |= new_items
        entries += more
    return [*cuts, (first, query.target_records.size)]


def _tasks_by_item(query: Query, cuts: list[tuple[int, int]]) -> dict[int, list[int]]:
    known, tasks_by_item = query.knowledge, dict[int, list[int]]()
    for task, (first, end) in enumerate(cuts):
        for item in np.unique(known.items[known.indptr[first] : known.indptr[end]]).tolist():
            tasks_by_item.setdefault(item, []).append(task)
    return tasks_by_item


def _for_tasks(piece: Any, tasks_by_item: dict[int, list[int]]) -> Iterator[tuple[int, Any]]:
    for task in tasks_by_item.get(piece["item"], ()):
        yield task, (piece["item"], piece["first"], bytes(piece["content"]))


def _look(
    number: int, pieces: Iterator[tuple[int, Any]], table: "Broadcast[_RecordTable]", request: Any
) -> Iterator[tuple[int, Arrays]]:
    """Search the targets of one task, in an executor."""
    work, query, cuts = request.value
    candidates = _candidates_of([piece for _, piece in pieces], table.value)
    yield number, tuple(work(candidates, query.part(*cuts[number]), 1))


def _candidates_of(pieces: list[tuple[int, int, bytes]], table: _RecordTable) -> Candidates:
    """Combine the lists of some items; all others are empty."""
    lengths = np.zeros(table.n_items, np.int64)
    columns: list[NDArray[np.int32]] = [np.empty((3, 0), np.int32)]
    for item, _, content in sorted(pieces):
        entries = np.frombuffer(content, np.int32).reshape(3, -1)
        if table.is_first is not None and table.class_of is not None:
            entries = entries[:, table.is_first[entries[0]]]
            entries = np.stack([table.class_of[entries[0]].astype(np.int32), *entries[1:]])
        lengths[item] += entries.shape[1]
        columns.append(entries)
    records, codes, days = np.concatenate(columns, axis=1)
    return Candidates(
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        records=records,
        codes=codes.astype(np.min_scalar_type(max(table.levels.size - 1, 0))),
        levels=table.levels,
        days=days if table.has_days else None,
        sizes=table.sizes,
        activity=table.activity,
    )


def _coded(
    batches: Iterator[pa.RecordBatch],
    first_records: NDArray[np.int64],
    levels: NDArray[np.float64],
) -> Iterator[pa.RecordBatch]:
    """Add the overall number of each record, and the level of each rating."""
    for batch in batches:
        first = int(first_records[partition_number()]) if batch.num_rows else 0
        codes = np.searchsorted(levels, batch.column("rating").to_numpy())
        records = batch.column("record").to_numpy() + first
        columns = [pa.array(records, pa.int32()), batch.column("item"), pa.array(codes, pa.int32())]
        names = ["record", "item", "code", "day"]
        yield pa.RecordBatch.from_arrays([*columns, batch.column("day")], names)


def _in_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the sorted lists of items in pieces."""
    for batch in batches:
        items = batch.column("item").to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(items)) + 1).tolist(), items.size]
        columns = [batch.column(name).to_numpy() for name in ("record", "code", "day")]
        entries = np.stack(columns).astype(np.int32)
        for start, end in itertools.pairwise(cuts):
            for at in range(start, end, _ENTRIES_OF_A_PIECE):
                piece = entries[:, at : min(at + _ENTRIES_OF_A_PIECE, end)]
                row: dict[str, list[Any]] = {"item": [int(items[at])], "first": [int(piece[0, 0])]}
                row["content"] = [np.ascontiguousarray(piece).tobytes()]
                yield pa.RecordBatch.from_pydict(row)


def _of_rows(batches: Iterator[pa.RecordBatch], name: str, **known: Any) -> Iterator[Any]:
    """Compute numbers of each record of a partition; pieces of a row add up."""
    numbers: NDArray[Any] = np.zeros(0)
    total: NDArray[Any] | None = None
    for batch in batches:
        records = batch.column("record").to_numpy()
        numbers = (_lengths if name == "lengths" else _digests)(batch, records, **known)
        if total is None:
            total = numbers
        else:
            longer = np.zeros((max(len(total), len(numbers)), *numbers.shape[1:]), numbers.dtype)
            longer[: len(total)] = total
            longer[: len(numbers)] += numbers
            total = longer
    if total is not None:
        row = {"part": partition_number(), "numbers": np.ascontiguousarray(total).tobytes()}
        yield pa.RecordBatch.from_pylist([row])


def _lengths(
    batch: pa.RecordBatch, records: NDArray[np.int32], counts: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Count the selected items of each record."""
    counted = records[counts[batch.column("item").to_numpy()]]
    return np.bincount(counted, minlength=records[-1] + 1).astype(np.int64)


def _digests(
    batch: pa.RecordBatch, records: NDArray[np.int32], levels: NDArray[np.float64]
) -> NDArray[np.uint64]:
    """Add up two mixed numbers of each item and rating of a record."""
    codes = np.searchsorted(levels, batch.column("rating").to_numpy()).astype(np.uint64)
    cells = batch.column("item").to_numpy().astype(np.uint64) << np.uint64(16) | codes
    sums = np.zeros((records[-1] + 1, 2), np.uint64)
    for lane in range(2):
        with np.errstate(over="ignore"):
            np.add.at(sums[:, lane], records, _mixed(2 * cells + np.uint64(lane + 1)))
    return sums


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix numbers, so that sums distinguish sets of them."""
    mixed = numbers * _GOLDEN
    for shift, factor in _MIXED:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


_OF_TABLES = (*ROLES, "likes", "scale")
# As in `encode_ids`, ids are numbers if all of them are written as such.
_WHOLE = r"\A(0|-?[1-9][0-9]{0,17})\z"


@contextmanager
def remote_table(
    frame: "DataFrame", name: str, reading: Mapping[str, Any]
) -> Iterator[tuple[Reading, Candidates]]:
    """Yield a table that stays among executors, and its candidates."""
    options = {
        key: value for key, value in reading.items() if has_value(value) and value != "error"
    }
    if strange := [key for key in options if key not in _OF_TABLES]:
        flags = ", ".join(f"--{key.replace('_', '-')}" for key in strange)
        raise RecveilError(
            f"{flags}: not for ratings that do not fit here; leave that out",
            code="option.unsupported",
        )
    named = {role: options[role] for role in ROLES if role in options}
    found = find_columns(frame.columns, name, feedback=NOT_SAID, **named)
    _reject_unnamed_times(frame, found)
    lake = lake_of(frame, **options, times=True)
    if not lake.scale.unary and "scale" not in options:
        raise RecveilError(
            f"scale (--scale): {lake.scale} was read off ratings that do not fit here; name it",
            code="scale.inferred",
        )
    numbered = number_ratings(lake, users_are_whole=_are_whole(frame, found.user, lake.rows))
    # It has all attributes of ratings that are read here.
    ratings = cast("Ratings", numbered)
    roles = {
        role: col
        for role, col in found.by_role().items()
        if role != "rating" or not lake.scale.unary
    }
    columns = tuple(ReadColumn(role, column, ()) for role, column in roles.items())
    try:
        candidates = RemoteCandidates.of(numbered)
        try:
            yield Reading(ratings, name, columns, scale_given="scale" in options), candidates
        finally:
            candidates.lists.close()
    finally:
        numbered.frame.unpersist()


def _reject_unnamed_times(frame: "DataFrame", result: Columns) -> None:
    """Raise if a column may contain times, without which re-identification is underestimated."""
    others = [name for name in frame.columns if name not in result.by_role().values()]
    if result.time is None and others:
        raise RecveilError(
            f"no time column, but {quoted(others[0])} may hold times; name it with time (--time), "
            f"or drop it if it has no rating times",
            code="column.ambiguous",
        )


def _are_whole(frame: "DataFrame", user: str, rows: "DataFrame") -> bool:
    """Check whether all user ids are whole numbers, as `Ratings` reads them."""
    from pyspark.sql import functions as sql

    if frame.schema[user].dataType.typeName() in ("byte", "short", "integer", "long"):
        return True
    answer = rows.agg(sql.bool_and(sql.col("user").rlike(_WHOLE))).first()
    return answer is not None and bool(answer[0])
