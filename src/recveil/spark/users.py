"""People's numbers: 0, 1, ... for people among executors, in an order that the table fixes."""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.spark.input import Lake
from recveil.spark.session import if_it_lives

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Ratings of one partition, about: it takes some hundred megabytes while it is sorted.
_RATINGS_OF_A_PARTITION = 1 << 20
# Ratings that are summed up at once.
_RATINGS_AT_ONCE = 1 << 20
# A sum is made once by each of so many tasks a core: each holds a whole one.
_TASKS_A_CORE = 2
# Numbers of a sum that travel together: 4 MB, before they are packed.
_NUMBERS_OF_A_PIECE = 1 << 19
_NUMBER = 8
_CODEC = pa.Codec("zstd", compression_level=1)
_PIECES = "place long, shape string, sum binary"
_PEOPLE = "user string, items array<int>, ratings array<float>"

Whole = NDArray[np.int64]


@brief
class QueriedItemSums(NamedTuple):
    """What is known of the items that people are asked about."""

    # Their ids
    items: NDArray[Any]
    # Which of them each item of the table is
    places: NDArray[np.integer]
    # Of somebody with more ratings, the first so many count
    most_items: int


class DistributedUsers:
    """People among executors, in rows of their own."""

    def __init__(self, frame: "DataFrame", scale: RatingScale, n_items: int, n_people: int) -> None:
        self.frame = frame
        self.scale = scale
        self.n_items = n_items
        self.n_people = n_people
        self._kept = [frame]

    def keep(self, frame: "DataFrame") -> "DataFrame":
        """Keep what was found of them where it is, in memory or on disks, until `let_go`."""
        from pyspark import StorageLevel

        self._kept.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def let_go(self) -> None:
        """Let executors forget these people, and all that was found of them."""
        with if_it_lives():
            for frame in self._kept:
                frame.unpersist()

    def add_up(self, sums: Callable[..., Whole], *known: Any) -> Whole:
        """Return ``sums(some, *known)``, added up over all people.

        Each task sums up its people, and yields one array in pieces; those of one place are added
        two by two, in executors, until one of each is left. Whole numbers: the result is that of
        one machine, to the last bit.
        """
        work = partial(_sums_of, scale=self.scale, n_items=self.n_items, sums=sums, known=known)
        return added_up(self.frame.select("items", "ratings"), work)

    def __repr__(self) -> str:
        return f"DistributedUsers({self.n_people:,} people, {self.n_items:,} items)"


def added_up(
    frame: "DataFrame", work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> Whole:
    """Return what tasks yield of the rows of a frame, one array `in_pieces` each, added up."""
    cores = frame.sparkSession.sparkContext.defaultParallelism
    tasks = min(frame.rdd.getNumPartitions(), _TASKS_A_CORE * cores)
    pieces = frame.coalesce(tasks).mapInArrow(work, _PIECES)
    found = pieces.rdd.map(_by_place).reduceByKey(_added, tasks)
    return _put_together(found.collect())


def distribute_users(lake: Lake, asked: QueriedItemSums) -> DistributedUsers:
    """Gather each person's ratings in a row, and keep these rows where they are."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sql

    spark = lake.rows.sparkSession
    places = pa.table({"item": lake.raw, "place": asked.places[lake.codes].astype(np.int32)})
    named = sql.broadcast(spark.createDataFrame(places))
    n_parts = -(-lake.n_ratings // _RATINGS_OF_A_PARTITION) + 1
    rows = (
        lake.rows.join(named, "item")
        .select("user", "place", "rating")
        .repartition(n_parts, "user")
        .sortWithinPartitions("user", "place")
    )
    work = partial(_gathered, most_items=asked.most_items)
    frame = rows.mapInArrow(work, _PEOPLE).persist(StorageLevel.MEMORY_AND_DISK)
    return DistributedUsers(frame, lake.scale, asked.items.size, frame.count())


def _gathered(batches: Iterator[pa.RecordBatch], most_items: int) -> Iterator[pa.RecordBatch]:
    """Gather sorted rows of user, place and rating into one row a person."""
    carried, last = None, None
    for batch in batches:
        table = pa.table(batch)
        if carried is not None:
            table = pa.concat_tables([carried, table])
        starts = _starts(table)
        whole = int(starts[-2]) if starts.size > 1 else 0
        last = _reject_pieces(table, starts, last)
        yield from _rows(table.slice(0, whole), starts[:-1], most_items)
        carried = table.slice(whole)
    if carried is not None:
        yield from _rows(carried, _starts(carried), most_items)


def _starts(table: pa.Table) -> NDArray[np.int64]:
    """Return where the rows of each user begin, and the number of rows."""
    codes = table["user"].combine_chunks().dictionary_encode().indices.to_numpy()
    return np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [codes.size]]).astype(np.int64)


def _reject_pieces(
    table: pa.Table, starts: NDArray[np.int64], last: pa.Scalar | None
) -> pa.Scalar | None:
    """Refuse a person in two pieces, whom sums would count twice; return who came last.

    Rows are sorted, so that whoever comes next is above the one before. The last person of a batch
    may go on in the next.
    """
    if not table.num_rows:
        return last
    users = table["user"].combine_chunks().take(pa.array(starts[:-1]))
    in_order = pc.all(pc.less(users[:-1], users[1:])).as_py() is not False
    if not in_order or (last is not None and not pc.less_equal(last, users[0]).as_py()):
        raise RecveilError(
            "the rows of a person do not stand together once they are sorted; give ids of users as "
            "plain text or whole numbers",
            code="id.type",
        )
    return users[-1]


def _rows(table: pa.Table, starts: NDArray[np.int64], most_items: int) -> Iterator[pa.RecordBatch]:
    if not table.num_rows:
        return
    places, ratings = table["place"].to_numpy(), table["rating"].to_numpy()
    again = np.flatnonzero(np.diff(places) <= 0) + 1
    if not np.isin(again, starts).all():
        raise RecveilError(
            "somebody rated an item more than once; duplicates (--duplicates) are not settled by "
            "Spark: leave one rating of each user and item",
            code="rating.duplicate",
        )
    if np.diff(starts).max() > most_items:
        within = np.arange(places.size) - np.repeat(starts[:-1], np.diff(starts))
        kept = within < most_items
        places, ratings = places[kept], ratings[kept]
        firsts = starts[:-1]
        starts = np.concatenate([[0], np.cumsum(np.minimum(np.diff(starts), most_items))])
    else:
        firsts = starts[:-1]
    offsets = pa.array(starts.astype(np.int32))
    yield pa.RecordBatch.from_arrays(
        [
            table["user"].combine_chunks().take(pa.array(firsts)),
            pa.ListArray.from_arrays(offsets, pa.array(places, pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(ratings, pa.float32())),
        ],
        names=["user", "items", "ratings"],
    )


def ratings_of(table: pa.Table, scale: RatingScale, n_items: int) -> Ratings:
    """Return some people's rows as `Ratings`, whose users and items are numbers from 0 on."""
    items, ratings = table["items"].combine_chunks(), table["ratings"].combine_chunks()
    indptr = items.offsets.to_numpy().astype(np.int64)
    return Ratings(
        np.arange(table.num_rows),
        np.arange(n_items),
        indptr - indptr[0],
        items.flatten().to_numpy(),
        ratings.flatten().to_numpy(),
        None,
        scale,
    )


def some_at_a_time(
    batches: Iterator[pa.RecordBatch], most: int = _RATINGS_AT_ONCE
) -> Iterator[pa.Table]:
    """Put batches of people together until they have about so many ratings."""
    held: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            n += len(batch.column("items").flatten())
        if n >= most:
            yield pa.Table.from_batches(held)
            held, n = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _sums_of(
    batches: Iterator[pa.RecordBatch],
    scale: RatingScale,
    n_items: int,
    sums: Callable[..., Whole],
    known: tuple[Any, ...],
) -> Iterator[pa.RecordBatch]:
    total: Whole | None = None
    for table in some_at_a_time(batches):
        found = sums(ratings_of(table, scale, n_items), *known)
        if total is None:
            total = found
        else:
            total += found
    if total is not None:
        yield from in_pieces(total)


# A piece of a sum: where it begins, and its numbers.
_Piece = tuple[str, bytes]


def in_pieces(total: Whole) -> Iterator[pa.RecordBatch]:
    """Cut a sum up, as a large one would fill the memory of Java; what is 0 is left out."""
    shape, numbers = json.dumps(total.shape), total.reshape(-1)
    for first in range(0, max(numbers.size, 1), _NUMBERS_OF_A_PIECE):
        piece = numbers[first : first + _NUMBERS_OF_A_PIECE]
        if piece.any() or not first:  # the first tells the shape
            columns = {"place": [first], "shape": [shape], "sum": [_packed(piece)]}
            yield pa.RecordBatch.from_pydict(columns)


def _packed(numbers: Whole) -> bytes:
    held = np.ascontiguousarray(numbers)
    return held.size.to_bytes(8, "little") + bytes(_CODEC.compress(held.tobytes()))


def _unpacked(content: bytes) -> Whole:
    size = _NUMBER * int.from_bytes(content[:8], "little")
    return np.frombuffer(_CODEC.decompress(content[8:], size), np.int64)


def _by_place(row: Any) -> tuple[int, _Piece]:
    return int(row["place"]), (str(row["shape"]), bytes(row["sum"]))


def _added(one: _Piece, other: _Piece) -> _Piece:
    return one[0], _packed(_unpacked(one[1]) + _unpacked(other[1]))


def _put_together(pieces: list[tuple[int, _Piece]]) -> Whole:
    shape = json.loads(pieces[0][1][0])
    total = np.zeros(shape, np.int64)
    numbers = total.reshape(-1)
    for place, (_, content) in pieces:
        piece = _unpacked(content)
        numbers[place : place + piece.size] = piece
    return total


_COUNTED = "part long, people long, letters long, digest binary"
_NUMBERED = "number long, user string, items array<int>, ratings array<float>"


@brief
class NumberedUsers(NamedTuple):
    """People, each with a number."""

    # The columns `number`, `user`, `items` (places, ascending) and `ratings`
    frame: "DataFrame"
    # Of who gave what to which item: whoever does not have the table cannot guess it
    digest: bytes
    # Of a user's id, in bytes
    mean_length: float

    def secret(self, seed: int) -> tuple[int, int]:
        """Return what all that is drawn follows from: the seed and the table together.

        Nobody undoes the order who knows the seed alone.
        """
        return seed, int.from_bytes(self.digest, "big")

    def _facts(self) -> dict[str, object]:
        return {"columns": len(self.frame.columns)}


def number_users(people: DistributedUsers) -> NumberedUsers:
    """Give each person a number, in the order in which they lie.

    Which partition a person is in follows from their id and the number of ratings, and there people
    are sorted: whatever the partitions of the table were, they get the same number.
    """
    rows = people.frame.mapInArrow(_counted, _COUNTED).toArrow().to_pylist()
    rows.sort(key=lambda row: row["part"])
    counts = np.array([row["people"] for row in rows], np.int64)
    if counts.sum() != people.n_people:
        raise RecveilError(
            f"{people.n_people:,} people became {counts.sum():,}: the table changed while it was "
            f"read; run it again on one that nobody writes to",
            code="input.changed",
        )
    firsts = np.cumsum(counts) - counts
    digest = hashlib.blake2b(b"".join(row["digest"] for row in rows), digest_size=32).digest()
    frame = people.frame.mapInArrow(partial(_numbered, firsts=firsts), _NUMBERED)
    letters = sum(row["letters"] for row in rows)
    return NumberedUsers(frame, digest, letters / max(1, people.n_people))


def partition_number() -> int:
    """Return which partition a task works on; 0, where there are no tasks."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the people of a partition, and digest their rows, however they are cut into batches."""
    digests = [hashlib.blake2b(digest_size=32) for _ in range(5)]
    people = letters = 0
    for batch in batches:
        users = pc.cast(batch.column("user"), pa.binary())
        items, ratings = batch.column("items"), batch.column("ratings")
        lengths = pc.binary_length(users)
        texts = pc.binary_join(pa.ListArray.from_arrays([0, len(users)], users), b"")
        parts = (
            lengths.to_numpy(zero_copy_only=False).astype("<i4"),
            texts[0].as_buffer(),
            pc.list_value_length(items).to_numpy(zero_copy_only=False).astype("<i4"),
            items.flatten().to_numpy(zero_copy_only=False).astype("<i4"),
            ratings.flatten().to_numpy(zero_copy_only=False).astype("<f4"),
        )
        for digest, part in zip(digests, parts, strict=True):
            digest.update(memoryview(part))
        people += batch.num_rows
        letters += pc.sum(lengths).as_py() or 0
    whole = b"".join(digest.digest() for digest in digests)
    yield pa.RecordBatch.from_pydict(
        {
            "part": [partition_number()],
            "people": [people],
            "letters": [letters],
            "digest": pa.array([whole], pa.binary()),
        }
    )


def _numbered(
    batches: Iterator[pa.RecordBatch], firsts: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    following = int(firsts[partition_number()])
    for batch in batches:
        numbers = pa.array(np.arange(following, following + batch.num_rows))
        following += batch.num_rows
        columns = [batch.column(name) for name in ("user", "items", "ratings")]
        yield pa.RecordBatch.from_arrays(
            [numbers, *columns], names=["number", "user", "items", "ratings"]
        )
