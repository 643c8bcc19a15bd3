"""Support order: people sorted among executors by what they rated, and groups that follow from it.

GeCom takes people by the number of their ratings, and then by their items. Whoever comes k-th ends
a group, with all who rated the same. So where a group begins depends on all who came before. But of
them only their number matters, of those who still wait for others: 0, 1, ... or k - 1. Each
partition of the sorted people says what becomes of each of these k numbers. The driver puts that
together from the first partition to the last, and tells each where its groups begin.
"""

from collections.abc import Callable, Iterable, Iterator
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


# A file holds so many people, about, and there are at most so many files.
_A_PART, _MOST_PARTS = 1 << 14, 1 << 12
# Groups stand in the order of such numbers, drawn for each: so many bits, of which these say which
# part a group is in.
KEY_BITS, _PART_BITS = 62, 32
# What is drawn, each by a stream of its own.
_BINS, _GROUPING, _ORDER = 1, 2, 3


@brief
class SpreadGroups(NamedTuple):
    """Groups among executors."""

    # The columns `part`, `key` (equal for those who are in one group) and `number`
    frame: "DataFrame"
    # What `part` says, in published order
    parts: NDArray[np.int64]
    # How many there are in each part
    people: NDArray[np.int64]
    groups: NDArray[np.int64]
    # The least that a group has
    k: int
    # What all that is drawn follows from, together with the table
    secret: tuple[int, ...]

    def firsts(self, *, in_groups: bool) -> NDArray[np.int64]:
        """Return how many records stand before each part."""
        records = self.groups if in_groups else self.people
        return np.asarray(np.cumsum(records) - records)

    def _facts(self) -> dict[str, object]:
        return {"parts": self.parts.size, "groups": int(self.groups.sum()), "k": self.k}


def gather_groups(
    people: DistributedUsers, placed: "DataFrame", k: int, secret: tuple[int, ...]
) -> SpreadGroups:
    """Gather people who are near each other in groups of at least k."""
    bins = find_bins(placed, people.n_people, k, np.random.default_rng([*secret, _BINS]))
    work = of_table(_gathered_bin, k=k, secret=secret, n_parts=parts_for(people.n_people))
    schema = "part long, key long, number long"
    frame = people.keep(into_bins(placed, bins).groupBy("bin").applyInArrow(work, schema))
    return count_groups(frame, people.n_people, k, secret)


def count_groups(
    frame: "DataFrame", n_people: int, k: int, secret: tuple[int, ...]
) -> SpreadGroups:
    """Count who is in groups, in each part."""
    from pyspark.sql import functions as sql

    sizes = frame.groupBy("part", "key").count()
    told = sizes.groupBy("part").agg(
        sql.sum("count").alias("people"),
        sql.count(sql.lit(1)).alias("groups"),
        sql.min("count").alias("least"),
    )
    table = told.toArrow().combine_chunks().sort_by("part")
    parts, in_parts, groups, least = (
        table[name].to_numpy() for name in ("part", "people", "groups", "least")
    )
    if in_parts.sum() != n_people or least.min() < k:
        raise RecveilError(
            f"groups of {in_parts.sum():,} people, the smallest of {least.min():,}, came of "
            f"{n_people:,} people and k = {k}; this is a fault in recveil, please report it",
            code="internal.fault",
        )
    return SpreadGroups(frame, parts, in_parts, groups, k, secret)


def parts_for(n_people: int) -> int:
    """Return in how many parts, at most, so many people are written."""
    return min(_MOST_PARTS, -(-n_people // _A_PART))


def parts_of(keys: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Return the part of each group by what was drawn for it: parts ascend as these do.

    Examples
    --------
    >>> parts_of(np.array([0, 3 << 60]), 4)
    array([0, 3])
    """
    return np.asarray(((keys >> (KEY_BITS - _PART_BITS)) * n_parts) >> _PART_BITS)


def _gathered_bin(table: pa.Table, k: int, secret: tuple[int, ...], n_parts: int) -> pa.Table:
    """Gather the people of a bin in groups, and draw where each group will stand."""
    table = table.sort_by("number")
    number_of_bin = int(table["bin"][0].as_py())
    if table.num_rows < k:
        raise RecveilError(
            f"{table.num_rows} people are left in a bin, who cannot form a group of k = {k}; this "
            f"is a fault in recveil, please report it",
            code="internal.fault",
        )
    drawing = np.random.default_rng([*secret, _GROUPING, number_of_bin])
    labels = KGather(min_size=k, random_state=drawing).fit(as_matrix(table["place"])).labels_
    reject_small(np.bincount(labels), k)
    drawing = np.random.default_rng([*secret, _ORDER, number_of_bin])
    keys = drawing.integers(1 << KEY_BITS, size=labels.max() + 1)[labels]
    return pa.table({"part": parts_of(keys, n_parts), "key": keys, "number": table["number"]})


def of_table(work: Callable[..., pa.Table], **known: Any) -> Callable[[pa.Table], pa.Table]:
    """Return what takes a table alone, and says so: Spark looks at the types of its parameters.

    Examples
    --------
    >>> of_table(lambda table, n: table.slice(0, n), n=1)(pa.table({"part": [7, 8]})).num_rows
    1
    """

    def worked(table: pa.Table) -> pa.Table:
        return work(table, **known)

    return worked


def reject_small(sizes: NDArray[np.int64], k: int) -> None:
    """Raise a RecveilError if a group has fewer than k people."""
    if sizes.min() < k:
        raise RecveilError(
            f"a group of {sizes.min()} people, and k = {k}; nothing is published; this is a fault "
            f"in recveil, please report it",
            code="internal.fault",
        )


# Ratings of a partition, about. People are as many in each, so that the last has several times it.
_RATINGS_OF_A_PARTITION = 1 << 18
# People who all rated the same need not stay together: more than twice so many are taken apart.
_A_PIECE = 1 << 14
# Numbers that say where groups stand are drawn so many at a time.
_DRAWN_AT_ONCE = 1 << 16
# What is drawn, each by a stream of its own.
_PLACES, _PIECES = 11, 12

_PASSED = "part long, large long, people long, ends binary"
_LEFT = "number long, items array<int>"
_COSTS = "number long, cost long, class long"
_GROUPED = "part long, key long, number long"


@brief
class CoRatedGroups(NamedTuple):
    """GeCom's groups among executors."""

    groups: SpreadGroups
    # How many labels their rows will have, about: a group that two partitions have a share of
    # counts as two
    cells: int

    def _facts(self) -> dict[str, object]:
        return {**self.groups._facts(), "cells": self.cells}


@brief
class _Begins(NamedTuple):
    """What came before each partition, and what there is in all."""

    # Classes of k people; groups of others; and people who wait for others
    large: NDArray[np.int64]
    whole: NDArray[np.int64]
    waiting: NDArray[np.int64]
    # In all
    n_large: int
    n_whole: int
    # Of people who are too few for a group: the class of k that each joins
    joined: dict[int, int]

    def _facts(self) -> dict[str, object]:
        return {"classes": self.n_large, "groups": self.n_whole}


def gather_corated(
    people: DistributedUsers,
    numbered: NumberedUsers,
    n_ratings: int,
    k: int,
    secret: tuple[int, ...],
) -> CoRatedGroups:
    """Cluster users by GeCom, as `recveil.methods.k_corating.gecom` does, in another order.

    But people who all rated the same are taken apart where there are very many: each piece is a
    group.
    """
    frame = people.keep(_sort(numbered, n_ratings))
    begins = _begins(frame, k)
    cells = partial(_cells, k=k, begins=begins, n_items=people.n_items)
    n_cells = sum(frame.mapInArrow(cells, "cells long").toArrow()["cells"].to_pylist())
    placed = partial(
        _placed,
        k=k,
        begins=begins,
        secret=secret,
        n_parts=parts_for(people.n_people),
        most=max(_A_PIECE, k),
    )
    grouped = people.keep(frame.mapInArrow(placed, _GROUPED))
    return CoRatedGroups(count_groups(grouped, people.n_people, k, secret), n_cells)


def _sort(numbered: NumberedUsers, n_ratings: int) -> "DataFrame":
    """Sort people by the number of their items, then by these; the same are in one partition.

    Last by their number, which decides nothing but must not be left to chance.
    """
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
    """Find out where groups begin in each partition."""
    told = frame.mapInArrow(partial(_passed, k=k), _PASSED).toArrow().sort_by("part").to_pylist()
    large, whole, waiting = (np.zeros(len(told) + 1, np.int64) for _ in range(3))
    for at, row in enumerate(told):
        ends = np.frombuffer(row["ends"], np.int64).reshape(k, 2)
        more, waiting[at + 1] = ends[waiting[at]]
        whole[at + 1] = whole[at] + more
        large[at + 1] = large[at] + row["large"]
    begins = _Begins(large[:-1], whole[:-1], waiting[:-1], int(large[-1]), int(whole[-1]), {})
    if sum(row["people"] for row in told) and not begins.n_whole:
        return begins._replace(joined=_join_nearest(frame, k, begins))
    return begins


def _join_nearest(frame: "DataFrame", k: int, begins: _Begins) -> dict[int, int]:
    """Let fewer than k people join the classes where the fewest cells must be filled for them."""
    left = frame.mapInArrow(partial(_left, k=k), _LEFT).toArrow().to_pylist()
    work = partial(_costs, k=k, left=left, firsts=begins.large)
    costs = frame.mapInArrow(work, _COSTS).toArrow().to_pylist()
    nearest = sorted(costs, key=lambda row: (row["cost"], row["class"]), reverse=True)
    return {row["number"]: row["class"] for row in nearest}  # the last one stays


@brief
class _People(NamedTuple):
    """The people of a partition, sorted, and how many of them each class has."""

    numbers: NDArray[np.int64]
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> "_People":
        """Take them from all batches together."""
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            nobody = np.zeros(0, np.int64)
            return cls(nobody, np.zeros(1, np.int64), nobody.astype(np.int32), nobody)
        table = pa.Table.from_batches(held)
        rated = table["items"].combine_chunks()
        indptr = rated.offsets.to_numpy().astype(np.int64)
        indptr, items = indptr - indptr[0], rated.flatten().to_numpy()
        starts = np.flatnonzero(_differs(indptr, items))
        return cls(
            table["number"].to_numpy(), indptr, items, np.diff(np.append(starts, indptr.size - 1))
        )

    def groups(self, k: int, begins: _Begins) -> NDArray[np.int64]:
        """Return which group each of them is in: first classes of k, then groups of others."""
        part, large = partition_number(), self.sizes >= k
        of_class = np.zeros(self.sizes.size, np.int64)
        of_class[large] = begins.large[part] + np.arange(large.sum())
        if begins.n_whole:
            others, _, _ = form_groups(self.sizes[~large], k, int(begins.waiting[part]))
            # Those who still wait at the end of all join the last group.
            others = np.minimum(begins.whole[part] + others, begins.n_whole - 1)
            of_class[~large] = begins.n_large + others
        groups = np.repeat(of_class, self.sizes)
        if not begins.n_whole:
            left = np.flatnonzero(np.repeat(~large, self.sizes))
            groups[left] = [begins.joined[number] for number in self.numbers[left].tolist()]
        return groups

    def _facts(self) -> dict[str, object]:
        return {"people": self.numbers.size, "classes": self.sizes.size}


@compiled()
def _differs(indptr: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
    """Say who rated other items than the person before."""
    n_people = indptr.size - 1
    differs = np.ones(n_people, np.bool_)
    for person in range(1, n_people):
        before, own = indptr[person - 1], indptr[person]
        width = indptr[person + 1] - own
        if own - before == width:
            at = 0
            while at < width and items[before + at] == items[own + at]:
                at += 1
            differs[person] = at < width
    return differs


def _passed(batches: Iterator[pa.RecordBatch], k: int) -> Iterator[pa.RecordBatch]:
    """Say what becomes of each number of people who wait when the partition begins."""
    sizes = _People.of(batches).sizes
    others = sizes[sizes < k]
    ends = np.array([form_groups(others, k, waiting)[1:] for waiting in range(k)], np.int64)
    yield pa.RecordBatch.from_pydict(
        {
            "part": [partition_number()],
            "large": [int((sizes >= k).sum())],
            "people": [int(others.sum())],
            "ends": pa.array([ends.tobytes()], pa.binary()),
        }
    )


def _left(batches: Iterator[pa.RecordBatch], k: int) -> Iterator[pa.RecordBatch]:
    """Yield those who are too few to be a class, and, in all, to be a group."""
    people = _People.of(batches)
    left = np.flatnonzero(np.repeat(people.sizes < k, people.sizes))
    items = [people.items[people.indptr[at] : people.indptr[at + 1]] for at in left.tolist()]
    yield pa.RecordBatch.from_pydict(
        {
            "number": people.numbers[left],
            "items": pa.array(items, pa.list_(pa.int32())),
        }
    )


def _costs(
    batches: Iterator[pa.RecordBatch],
    k: int,
    left: list[dict[str, Any]],
    firsts: NDArray[np.int64],
) -> Iterator[pa.RecordBatch]:
    """Yield the class of a partition where the fewest cells must be filled for each of the left."""
    people = _People.of(batches)
    large = people.sizes >= k
    if not large.any():
        return
    # Who comes first in a class stands for all of it.
    first_of = (np.cumsum(people.sizes) - people.sizes)[large]
    widths = np.diff(people.indptr)
    starts = np.concatenate([[0], np.cumsum(widths[first_of])])
    items = people.items[np.repeat(np.isin(np.arange(widths.size), first_of), widths)]
    for person in left:
        costs = filling_costs(np.array(person["items"]), starts, items, people.sizes[large])
        nearest = int(np.argmin(costs))
        place = int(firsts[partition_number()]) + nearest
        yield pa.RecordBatch.from_pydict(
            {"number": [person["number"]], "cost": [int(costs[nearest])], "class": [place]}
        )


def _cells(
    batches: Iterator[pa.RecordBatch], k: int, begins: _Begins, n_items: int
) -> Iterator[pa.RecordBatch]:
    """Count the labels that the rows of a partition's people will have."""
    people = _People.of(batches)
    cells = 0
    if people.numbers.size:
        groups = Groups.from_labels(people.groups(k, begins))
        shape = (groups.members, groups.starts, people.indptr, people.items, n_items)
        cells = int((np.diff(unions(*shape)[0]) * groups.sizes).sum())
    yield pa.RecordBatch.from_pydict({"cells": [cells]})


def _placed(
    batches: Iterator[pa.RecordBatch],
    k: int,
    begins: _Begins,
    secret: tuple[int, ...],
    n_parts: int,
    most: int,
) -> Iterator[pa.RecordBatch]:
    """Draw where the group of each person of a partition will stand."""
    people = _People.of(batches)
    groups = people.groups(k, begins)
    keys = _drawn(groups, secret)
    firsts = np.cumsum(people.sizes) - people.sizes
    for at in np.flatnonzero(people.sizes >= 2 * most).tolist():
        own = slice(int(firsts[at]), int(firsts[at] + people.sizes[at]))
        keys[own] = _in_pieces(keys[own], int(groups[own.start]), most, secret)
    yield pa.RecordBatch.from_pydict(
        {"part": parts_of(keys, n_parts), "key": keys, "number": people.numbers}
    )


def _drawn(groups: NDArray[np.int64], secret: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the number of each group, which is the same wherever it is asked for."""
    keys, series = np.empty(groups.size, np.int64), groups // _DRAWN_AT_ONCE
    for number in np.unique(series).tolist():
        rng = np.random.default_rng([*secret, _PLACES, number])
        drawn = rng.integers(1 << KEY_BITS, size=_DRAWN_AT_ONCE)
        own = series == number
        keys[own] = drawn[groups[own] % _DRAWN_AT_ONCE]
    return keys


def _in_pieces(
    keys: NDArray[np.int64], group: int, most: int, secret: tuple[int, ...]
) -> NDArray[np.int64]:
    """Take a class apart by chance, in pieces of `most` people and fewer than twice as many."""
    rng = np.random.default_rng([*secret, _PIECES, group])
    n_pieces = keys.size // most
    of_piece = rng.integers(1 << KEY_BITS, size=n_pieces)
    of_piece[0] = keys[0]  # who joined the class from elsewhere is in the first
    return np.asarray(of_piece[rng.permutation(keys.size) * n_pieces // keys.size])
