"""Groups of users among executors, by embedding or by co-rated items.

GeCom sorts users by their number of ratings, then by their items. The k-th user ends a group, with
all who rated the same items. So the start of a group depends on the number that still wait for one:
0, 1, ... or k - 1. Each partition reports what becomes of each of these; the driver composes the
reports from first to last, and sends each partition the starts of its groups.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.clustering import KGather
from recveil.methods.k_corating.gecom import filling_costs, form_groups, unions
from recveil.release.records import Groups
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.spark.embeddings import as_matrix, find_bins, into_bins
from recveil.spark.users import DistributedUsers, NumberedUsers, partition_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Users per file, about, and the largest number of files.
_A_PART, _MOST_PARTS = 1 << 14, 1 << 12
# Groups are sorted by random keys of this many bits, of which the upper ones give the part.
KEY_BITS, _PART_BITS = 62, 32
# Random streams.
_BINS, _GROUPING, _ORDER = 1, 2, 3


@brief
class DistributedGroups(NamedTuple):
    """Groups of users among executors."""

    # The columns `part`, `key` (equal within a group) and `number`
    frame: "DataFrame"
    # The values of `part`, in published order
    parts: NDArray[np.int64]
    # Counts for each part
    users: NDArray[np.int64]
    groups: NDArray[np.int64]
    # The least group size
    k: int
    # The root of all random streams, with the table's digest
    secret: tuple[int, ...]

    def firsts(self, *, in_groups: bool) -> NDArray[np.int64]:
        """Return the number of records before each part."""
        records = self.groups if in_groups else self.users
        return np.asarray(np.cumsum(records) - records)

    def _facts(self) -> dict[str, object]:
        return {"parts": self.parts.size, "groups": int(self.groups.sum()), "k": self.k}


def gather_groups(
    users: DistributedUsers, embedded: "DataFrame", k: int, secret: tuple[int, ...]
) -> DistributedGroups:
    """Gather users with near embeddings in groups of at least k."""
    bins = find_bins(embedded, users.n_users, k, np.random.default_rng([*secret, _BINS]))
    work = of_table(_gathered_bin, k=k, secret=secret, n_parts=parts_for(users.n_users))
    schema = "part long, key long, number long"
    frame = users.keep(into_bins(embedded, bins).groupBy("bin").applyInArrow(work, schema))
    return count_groups(frame, users.n_users, k, secret)


def count_groups(
    frame: "DataFrame", n_users: int, k: int, secret: tuple[int, ...]
) -> DistributedGroups:
    """Count the users and groups of each part."""
    from pyspark.sql import functions as sql

    sizes = frame.groupBy("part", "key").count()
    counts = sizes.groupBy("part").agg(
        sql.sum("count").alias("users"),
        sql.count(sql.lit(1)).alias("groups"),
        sql.min("count").alias("least"),
    )
    table = counts.toArrow().combine_chunks().sort_by("part")
    parts, in_parts, groups, least = (
        table[name].to_numpy() for name in ("part", "users", "groups", "least")
    )
    if in_parts.sum() != n_users or least.min() < k:
        raise RecveilError(
            f"{n_users:,} users and k = {k} gave groups of {in_parts.sum():,} users, the smallest "
            f"of {least.min():,}; this is a fault in recveil, please report it",
            code="internal.fault",
        )
    return DistributedGroups(frame, parts, in_parts, groups, k, secret)


def parts_for(n_users: int) -> int:
    """Return the largest number of parts for this number of users."""
    return min(_MOST_PARTS, -(-n_users // _A_PART))


def parts_of(keys: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Return the part of each group by its random key; parts ascend with keys.

    >>> parts_of(np.array([0, 3 << 60]), 4)
    array([0, 3])
    """
    return np.asarray(((keys >> (KEY_BITS - _PART_BITS)) * n_parts) >> _PART_BITS)


def _gathered_bin(table: pa.Table, k: int, secret: tuple[int, ...], n_parts: int) -> pa.Table:
    """Gather the users of a bin in groups, and draw a key for each group."""
    table = table.sort_by("number")
    number_of_bin = int(table["bin"][0].as_py())
    if table.num_rows < k:
        raise RecveilError(
            f"{table.num_rows} users in a bin cannot form a group of k = {k}; this "
            f"is a fault in recveil, please report it",
            code="internal.fault",
        )
    rng = np.random.default_rng([*secret, _GROUPING, number_of_bin])
    groups = KGather(min_size=k, random_state=rng).fit(as_matrix(table["place"])).labels_
    reject_small(np.bincount(groups), k)
    rng = np.random.default_rng([*secret, _ORDER, number_of_bin])
    keys = rng.integers(1 << KEY_BITS, size=groups.max() + 1)[groups]
    return pa.table({"part": parts_of(keys, n_parts), "key": keys, "number": table["number"]})


def of_table(work: Callable[..., pa.Table], **known: Any) -> Callable[[pa.Table], pa.Table]:
    """Return a function of a table alone, as Spark inspects the types of parameters.

    >>> of_table(lambda table, n: table.slice(0, n), n=1)(pa.table({"part": [7, 8]})).num_rows
    1
    """

    def worked(table: pa.Table) -> pa.Table:
        return work(table, **known)

    return worked


def reject_small(sizes: NDArray[np.int64], k: int) -> None:
    """Raise if a group has fewer than k users."""
    if sizes.min() < k:
        raise RecveilError(
            f"a group of {sizes.min()} users, and k = {k}; nothing is published; this is a fault "
            f"in recveil, please report it",
            code="internal.fault",
        )


# Mean ratings per partition. Partitions have equal numbers of users, so the last has more ratings.
_RATINGS_OF_A_PARTITION = 1 << 18
# Classes of users with the same items are split beyond twice this size.
_A_PIECE = 1 << 14
# Keys are drawn in series of this length.
_DRAWN_AT_ONCE = 1 << 16
# Random streams.
_PLACES, _PIECES = 11, 12

_ENDS = "part long, large long, users long, ends binary"
_LEFTOVER = "number long, items array<int>"
_COSTS = "number long, cost long, class long"
_GROUPED = "part long, key long, number long"


@brief
class CoRatedGroups(NamedTuple):
    """GeCom's groups among executors."""

    groups: DistributedGroups
    # Published values, about: a group in two partitions counts twice
    cells: int

    def _facts(self) -> dict[str, object]:
        return {**self.groups._facts(), "cells": self.cells}


@brief
class _Begins(NamedTuple):
    """What precedes each partition, and totals."""

    # Classes of k users, groups of others, and users who wait for others
    large: NDArray[np.int64]
    whole: NDArray[np.int64]
    waiting: NDArray[np.int64]
    # In all
    n_large: int
    n_whole: int
    # The class of k that each leftover user joins
    joined: dict[int, int]

    def _facts(self) -> dict[str, object]:
        return {"classes": self.n_large, "groups": self.n_whole}


def gather_corated(
    users: DistributedUsers,
    numbered: NumberedUsers,
    n_ratings: int,
    k: int,
    secret: tuple[int, ...],
) -> CoRatedGroups:
    """Cluster users by GeCom as `recveil.methods.k_corating.gecom` does, in another order."""
    frame = users.keep(_sort(numbered, n_ratings))
    begins = _begins(frame, k)
    cells = partial(_cells, k=k, begins=begins, n_items=users.n_items)
    n_cells = sum(frame.mapInArrow(cells, "cells long").toArrow()["cells"].to_pylist())
    embedded = partial(
        _draw_group_keys,
        k=k,
        begins=begins,
        secret=secret,
        n_parts=parts_for(users.n_users),
        most=max(_A_PIECE, k),
    )
    grouped = users.keep(frame.mapInArrow(embedded, _GROUPED))
    return CoRatedGroups(count_groups(grouped, users.n_users, k, secret), n_cells)


def _sort(numbered: NumberedUsers, n_ratings: int) -> "DataFrame":
    """Sort users by the number of their items, then by these; equal ones share a partition."""
    from pyspark.sql import functions as sql

    n_partitions = 1 + n_ratings // _RATINGS_OF_A_PARTITION
    order = ("length", "items")
    return (
        numbered.frame.select("number", "items", sql.size("items").alias("length"))
        .repartitionByRange(n_partitions, *order)
        .sortWithinPartitions(*order, "number")
        .select("number", "items")
    )


def _begins(frame: "DataFrame", k: int) -> _Begins:
    """Compute where groups begin in each partition."""
    counts = (
        frame.mapInArrow(partial(_report_ends, k=k), _ENDS).toArrow().sort_by("part").to_pylist()
    )
    large, whole, waiting = (np.zeros(len(counts) + 1, np.int64) for _ in range(3))
    for at, row in enumerate(counts):
        ends = np.frombuffer(row["ends"], np.int64).reshape(k, 2)
        more, waiting[at + 1] = ends[waiting[at]]
        whole[at + 1] = whole[at] + more
        large[at + 1] = large[at] + row["large"]
    begins = _Begins(large[:-1], whole[:-1], waiting[:-1], int(large[-1]), int(whole[-1]), {})
    if sum(row["users"] for row in counts) and not begins.n_whole:
        return begins._replace(joined=_join_nearest(frame, k, begins))
    return begins


def _join_nearest(frame: "DataFrame", k: int, begins: _Begins) -> dict[int, int]:
    """Let fewer than k users join the classes where this fills the fewest cells."""
    leftover = frame.mapInArrow(partial(_leftover, k=k), _LEFTOVER).toArrow().to_pylist()
    work = partial(_costs, k=k, leftover=leftover, firsts=begins.large)
    costs = frame.mapInArrow(work, _COSTS).toArrow().to_pylist()
    nearest = sorted(costs, key=lambda row: (row["cost"], row["class"]), reverse=True)
    return {row["number"]: row["class"] for row in nearest}  # the last entry wins


@brief
class _SortedUsers(NamedTuple):
    """The sorted users of a partition, and the size of each class of equal ones."""

    numbers: NDArray[np.int64]
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> "_SortedUsers":
        nonempty = [batch for batch in batches if batch.num_rows]
        if not nonempty:
            empty = np.zeros(0, np.int64)
            return cls(empty, np.zeros(1, np.int64), empty.astype(np.int32), empty)
        table = pa.Table.from_batches(nonempty)
        rated = table["items"].combine_chunks()
        indptr = rated.offsets.to_numpy().astype(np.int64)
        indptr, items = indptr - indptr[0], rated.flatten().to_numpy()
        starts = np.flatnonzero(_differs(indptr, items))
        return cls(
            table["number"].to_numpy(), indptr, items, np.diff(np.append(starts, indptr.size - 1))
        )

    def groups(self, k: int, begins: _Begins) -> NDArray[np.int64]:
        """Return the group of each user: first classes of k, then other groups."""
        part, large = partition_number(), self.sizes >= k
        of_class = np.zeros(self.sizes.size, np.int64)
        of_class[large] = begins.large[part] + np.arange(large.sum())
        if begins.n_whole:
            others, _, _ = form_groups(self.sizes[~large], k, int(begins.waiting[part]))
            # Users who still wait at the end join the last group.
            others = np.minimum(begins.whole[part] + others, begins.n_whole - 1)
            of_class[~large] = begins.n_large + others
        groups = np.repeat(of_class, self.sizes)
        if not begins.n_whole:
            leftover = np.flatnonzero(np.repeat(~large, self.sizes))
            groups[leftover] = [begins.joined[number] for number in self.numbers[leftover].tolist()]
        return groups

    def _facts(self) -> dict[str, object]:
        return {"users": self.numbers.size, "classes": self.sizes.size}


@compiled()
def _differs(indptr: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
    """Return which users rated other items than the user before."""
    n_users = indptr.size - 1
    differs = np.ones(n_users, np.bool_)
    for user in range(1, n_users):
        before, start = indptr[user - 1], indptr[user]
        width = indptr[user + 1] - start
        if start - before == width:
            at = 0
            while at < width and items[before + at] == items[start + at]:
                at += 1
            differs[user] = at < width
    return differs


def _report_ends(batches: Iterator[pa.RecordBatch], k: int) -> Iterator[pa.RecordBatch]:
    """Compute how each number of waiting users continues through the partition."""
    sizes = _SortedUsers.of(batches).sizes
    others = sizes[sizes < k]
    ends = np.array([form_groups(others, k, waiting)[1:] for waiting in range(k)], np.int64)
    yield pa.RecordBatch.from_pydict(
        {
            "part": [partition_number()],
            "large": [int((sizes >= k).sum())],
            "users": [int(others.sum())],
            "ends": pa.array([ends.tobytes()], pa.binary()),
        }
    )


def _leftover(batches: Iterator[pa.RecordBatch], k: int) -> Iterator[pa.RecordBatch]:
    """Yield users who are too few for a class, and in all for a group."""
    users = _SortedUsers.of(batches)
    leftover = np.flatnonzero(np.repeat(users.sizes < k, users.sizes))
    items = [users.items[users.indptr[at] : users.indptr[at + 1]] for at in leftover.tolist()]
    yield pa.RecordBatch.from_pydict(
        {
            "number": users.numbers[leftover],
            "items": pa.array(items, pa.list_(pa.int32())),
        }
    )


def _costs(
    batches: Iterator[pa.RecordBatch],
    k: int,
    leftover: list[Mapping[str, Any]],
    firsts: NDArray[np.int64],
) -> Iterator[pa.RecordBatch]:
    """Yield the class of a partition that costs each leftover user the fewest fills."""
    users = _SortedUsers.of(batches)
    large = users.sizes >= k
    if not large.any():
        return
    # The first user of a class represents it.
    first_of = (np.cumsum(users.sizes) - users.sizes)[large]
    widths = np.diff(users.indptr)
    starts = np.concatenate([[0], np.cumsum(widths[first_of])])
    items = users.items[np.repeat(np.isin(np.arange(widths.size), first_of), widths)]
    for user in leftover:
        costs = filling_costs(np.array(user["items"]), starts, items, users.sizes[large])
        nearest = int(np.argmin(costs))
        place = int(firsts[partition_number()]) + nearest
        yield pa.RecordBatch.from_pydict(
            {"number": [user["number"]], "cost": [int(costs[nearest])], "class": [place]}
        )


def _cells(
    batches: Iterator[pa.RecordBatch], k: int, begins: _Begins, n_items: int
) -> Iterator[pa.RecordBatch]:
    """Count the published values of a partition's users."""
    users = _SortedUsers.of(batches)
    cells = 0
    if users.numbers.size:
        groups = Groups.from_labels(users.groups(k, begins))
        shape = (groups.members, groups.starts, users.indptr, users.items, n_items)
        cells = int((np.diff(unions(*shape)[0]) * groups.sizes).sum())
    yield pa.RecordBatch.from_pydict({"cells": [cells]})


def _draw_group_keys(
    batches: Iterator[pa.RecordBatch],
    k: int,
    begins: _Begins,
    secret: tuple[int, ...],
    n_parts: int,
    most: int,
) -> Iterator[pa.RecordBatch]:
    """Draw the key of each user's group."""
    users = _SortedUsers.of(batches)
    groups = users.groups(k, begins)
    keys = _draw_keys(groups, secret)
    firsts = np.cumsum(users.sizes) - users.sizes
    for at in np.flatnonzero(users.sizes >= 2 * most).tolist():
        members = slice(int(firsts[at]), int(firsts[at] + users.sizes[at]))
        keys[members] = _in_pieces(keys[members], int(groups[members.start]), most, secret)
    yield pa.RecordBatch.from_pydict(
        {"part": parts_of(keys, n_parts), "key": keys, "number": users.numbers}
    )


def _draw_keys(groups: NDArray[np.int64], secret: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the key of each group, which is the same in all tasks."""
    keys, series = np.empty(groups.size, np.int64), groups // _DRAWN_AT_ONCE
    for number in np.unique(series).tolist():
        rng = np.random.default_rng([*secret, _PLACES, number])
        series_keys = rng.integers(1 << KEY_BITS, size=_DRAWN_AT_ONCE)
        members = series == number
        keys[members] = series_keys[groups[members] % _DRAWN_AT_ONCE]
    return keys


def _in_pieces(
    keys: NDArray[np.int64], group: int, most: int, secret: tuple[int, ...]
) -> NDArray[np.int64]:
    """Split a class at random into pieces of at least `most` users, and less than twice as many."""
    rng = np.random.default_rng([*secret, _PIECES, group])
    n_pieces = keys.size // most
    of_piece = rng.integers(1 << KEY_BITS, size=n_pieces)
    of_piece[0] = keys[0]  # users who joined the class are in the first piece
    return np.asarray(of_piece[rng.permutation(keys.size) * n_pieces // keys.size])
