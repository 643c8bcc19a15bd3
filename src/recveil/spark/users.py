"""Users among executors: their rows, sums over them, and numbers in a fixed order."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.methods.synthetic.options import counted_ratings
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.spark.input import Lake
from recveil.spark.session import if_running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

from typing import Protocol

from recveil.methods.release_summary import ReleaseSummary
from recveil.publish.folder import Writing
from recveil.release.sides import Sides

# Ratings per partition, about, which takes some hundred megabytes while it is sorted.
_RATINGS_OF_A_PARTITION = 1 << 20
# Ratings per call of a sum.
_RATINGS_AT_ONCE = 1 << 20
# Tasks per core that compute a sum, of which each has a whole array.
_TASKS_A_CORE = 2
# Numbers per piece of a sum: 4 MB, before compression.
_NUMBERS_OF_A_PIECE = 1 << 19
_NUMBER = 8
_CODEC = pa.Codec("zstd", compression_level=1)
_PIECES = "place long, shape string, sum binary"
_USERS = "user string, items array<int>, ratings array<float>"

Whole = NDArray[np.int64]


@brief
class QueriedItemSums(NamedTuple):
    """The items that sums are about."""

    # Ids
    items: NDArray[Any]
    # The position of each item of the table among them
    places: NDArray[np.integer]
    # Of a user with more ratings, so many count
    most_items: int


class DistributedUsers:
    """Users among executors, one row each."""

    def __init__(self, frame: "DataFrame", scale: RatingScale, n_items: int, n_users: int) -> None:
        self.frame = frame
        self.scale = scale
        self.n_items = n_items
        self.n_users = n_users
        self._frames = [frame]

    def keep(self, frame: "DataFrame") -> "DataFrame":
        """Keep a frame in memory or on disks until `let_go`."""
        from pyspark import StorageLevel

        self._frames.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def let_go(self) -> None:
        """Release all frames that were kept."""
        with if_running():
            for frame in self._frames:
                frame.unpersist()

    def add_up(self, sums: Callable[..., Whole], *arguments: Any) -> Whole:
        """Return ``sums(ratings, *arguments)``, added over all users.

        Each task sums its users and yields one integer array in pieces; executors add the pieces of
        a position in pairs. Integer sums equal those of one machine to the last bit.
        """
        work = partial(
            _sums_of, scale=self.scale, n_items=self.n_items, sums=sums, arguments=arguments
        )
        return sum_frame(self.frame.select("items", "ratings"), work)

    def __repr__(self) -> str:
        return f"DistributedUsers({self.n_users:,} users, {self.n_items:,} items)"


def sum_frame(
    frame: "DataFrame", work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> Whole:
    """Return the sum of the arrays that tasks yield `in_pieces` from the rows of a frame."""
    cores = frame.sparkSession.sparkContext.defaultParallelism
    tasks = min(frame.rdd.getNumPartitions(), _TASKS_A_CORE * cores)
    pieces = frame.coalesce(tasks).mapInArrow(work, _PIECES)
    pieces_found = pieces.rdd.map(_by_place).reduceByKey(_added, tasks)
    return _merge_pieces(pieces_found.collect())


def distribute_users(lake: Lake, queried: QueriedItemSums) -> DistributedUsers:
    """Gather each user's ratings in a row, and keep these rows."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sql

    spark = lake.rows.sparkSession
    places = pa.table({"item": lake.raw, "place": queried.places[lake.codes].astype(np.int32)})
    named = sql.broadcast(spark.createDataFrame(places))
    n_parts = -(-lake.n_ratings // _RATINGS_OF_A_PARTITION) + 1
    rows = (
        lake.rows.join(named, "item")
        .select("user", "place", "rating")
        .repartition(n_parts, "user")
        .sortWithinPartitions("user", "place")
    )
    work = partial(_gathered, most_items=queried.most_items)
    frame = rows.mapInArrow(work, _USERS).persist(StorageLevel.MEMORY_AND_DISK)
    return DistributedUsers(frame, lake.scale, queried.items.size, frame.count())


def _gathered(batches: Iterator[pa.RecordBatch], most_items: int) -> Iterator[pa.RecordBatch]:
    """Gather sorted rows of user, place and rating into one row per user."""
    rest, last = None, None
    for batch in batches:
        table = pa.table(batch)
        if rest is not None:
            table = pa.concat_tables([rest, table])
        starts = _starts(table)
        whole = int(starts[-2]) if starts.size > 1 else 0
        last = _reject_pieces(table, starts, last)
        yield from _rows(table.slice(0, whole), starts[:-1], most_items)
        rest = table.slice(whole)
    if rest is not None:
        yield from _rows(rest, _starts(rest), most_items)


def _starts(table: pa.Table) -> NDArray[np.int64]:
    """Return where the rows of each user begin, and the number of rows."""
    codes = table["user"].combine_chunks().dictionary_encode().indices.to_numpy()
    return np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [codes.size]]).astype(np.int64)


def _reject_pieces(
    table: pa.Table, starts: NDArray[np.int64], last: pa.Scalar | None
) -> pa.Scalar | None:
    """Raise if a user occurs in two pieces, which sums would count twice; return the last user.

    Rows are sorted, so each user follows the previous one. The last user of a batch may continue in
    the next.
    """
    if not table.num_rows:
        return last
    users = table["user"].combine_chunks().take(pa.array(starts[:-1]))
    in_order = pc.all(pc.less(users[:-1], users[1:])).as_py() is not False
    if not in_order or (last is not None and not pc.less_equal(last, users[0]).as_py()):
        raise RecveilError(
            "the rows of a user are not adjacent once they are sorted; give user ids as "
            "plain text or whole numbers",
            code="id.type",
        )
    return users[-1]


def _rows(table: pa.Table, starts: NDArray[np.int64], most_items: int) -> Iterator[pa.RecordBatch]:
    if not table.num_rows:
        return
    places, ratings = table["place"].to_numpy(), table["rating"].to_numpy()
    repeats = np.flatnonzero(np.diff(places) <= 0) + 1
    if not np.isin(repeats, starts).all():
        raise duplicate_error()
    firsts = starts[:-1]
    if np.diff(starts).max() > most_items:
        is_counted = counted_ratings(starts, most_items)
        places, ratings = places[is_counted], ratings[is_counted]
        starts = np.concatenate([[0], np.cumsum(np.minimum(np.diff(starts), most_items))])
    offsets = pa.array(starts.astype(np.int32))
    yield pa.RecordBatch.from_arrays(
        [
            table["user"].combine_chunks().take(pa.array(firsts)),
            pa.ListArray.from_arrays(offsets, pa.array(places, pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(ratings, pa.float32())),
        ],
        names=["user", "items", "ratings"],
    )


def duplicate_error() -> RecveilError:
    """Return the error for a user who rated an item more than once."""
    return RecveilError(
        "a user rated an item more than once; duplicates (--duplicates) are not resolved by "
        "Spark: keep one rating per user and item",
        code="rating.duplicate",
    )


def ratings_of(table: pa.Table, scale: RatingScale, n_items: int) -> Ratings:
    """Return rows of users as `Ratings`, with numbers from 0 as users and items."""
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


def sums_of_items(ratings: Ratings, low: float, unit: float) -> Whole:
    """Return each item's count, and the sum of its ratings above `low` in integer units."""
    steps = np.rint((ratings.values.astype(np.float64) - low) / unit)
    n = ratings.n_items
    sums = [np.bincount(ratings.indices, minlength=n), np.bincount(ratings.indices, steps, n)]
    return np.array(sums).astype(np.int64)


def some_at_a_time(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combine batches until they have about this number of ratings."""
    pending: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
            n += len(batch.column("items").flatten())
        if n >= _RATINGS_AT_ONCE:
            yield pa.Table.from_batches(pending)
            pending, n = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


def _sums_of(
    batches: Iterator[pa.RecordBatch],
    scale: RatingScale,
    n_items: int,
    sums: Callable[..., Whole],
    arguments: tuple[Any, ...],
) -> Iterator[pa.RecordBatch]:
    tables = some_at_a_time(batches)
    yield from add_up(sums(ratings_of(table, scale, n_items), *arguments) for table in tables)


def add_up(parts: Iterable[Whole]) -> Iterator[pa.RecordBatch]:
    """Yield the sum of arrays in pieces; nothing without arrays."""
    total: Whole | None = None
    for part in parts:
        total = part if total is None else np.add(total, part, out=total)
    if total is not None:
        yield from in_pieces(total)


# A piece of a sum: the shape of the whole, and packed numbers.
_Piece = tuple[str, bytes]


def in_pieces(total: Whole) -> Iterator[pa.RecordBatch]:
    """Split a sum, as a large one would fill Java's memory; pieces of zeros are left out."""
    shape, numbers = json.dumps(total.shape), total.reshape(-1)
    for first in range(0, max(numbers.size, 1), _NUMBERS_OF_A_PIECE):
        piece = numbers[first : first + _NUMBERS_OF_A_PIECE]
        if piece.any() or not first:  # the first one has the shape
            columns = {"place": [first], "shape": [shape], "sum": [_packed(piece)]}
            yield pa.RecordBatch.from_pydict(columns)


def _packed(numbers: Whole) -> bytes:
    flat = np.ascontiguousarray(numbers)
    return flat.size.to_bytes(8, "little") + bytes(_CODEC.compress(flat.tobytes()))


def _unpacked(content: bytes) -> Whole:
    size = _NUMBER * int.from_bytes(content[:8], "little")
    return np.frombuffer(_CODEC.decompress(content[8:], size), np.int64)


def _by_place(row: Any) -> tuple[int, _Piece]:
    return int(row["place"]), (str(row["shape"]), bytes(row["sum"]))


def _added(one: _Piece, other: _Piece) -> _Piece:
    return one[0], _packed(_unpacked(one[1]) + _unpacked(other[1]))


def _merge_pieces(pieces: list[tuple[int, _Piece]]) -> Whole:
    shape = json.loads(pieces[0][1][0])
    total = np.zeros(shape, np.int64)
    numbers = total.reshape(-1)
    for place, (_, content) in pieces:
        piece = _unpacked(content)
        numbers[place : place + piece.size] = piece
    return total


_COUNTED = "part long, users long, n_bytes long, digest binary"
_NUMBERED = "number long, user string, items array<int>, ratings array<float>"


@brief
class NumberedUsers(NamedTuple):
    """Users with numbers."""

    # The columns `number`, `user`, `items` (positions, ascending) and `ratings`
    frame: "DataFrame"
    # Of all ratings: it cannot be guessed without the table
    digest: bytes
    # Mean length of a user id in bytes
    mean_length: float

    def secret(self, seed: int) -> tuple[int, int]:
        """Return the root of all random streams: the seed, and a digest of the table."""
        return seed, int.from_bytes(self.digest, "big")

    def _facts(self) -> dict[str, object]:
        return {"columns": len(self.frame.columns)}


def number_users(users: DistributedUsers) -> NumberedUsers:
    """Assign numbers to users in the order in which they are stored.

    The partition of a user follows from the id and the number of ratings, and users are sorted
    there: the numbers do not depend on the partitions of the table.
    """
    rows = users.frame.mapInArrow(_counted, _COUNTED).toArrow().to_pylist()
    rows.sort(key=lambda row: row["part"])
    counts = np.array([row["users"] for row in rows], np.int64)
    if counts.sum() != users.n_users:
        raise RecveilError(
            f"{users.n_users:,} users became {counts.sum():,}: the table changed while it was "
            f"read; run it again on one that does not change",
            code="input.changed",
        )
    firsts = np.cumsum(counts) - counts
    digest = hashlib.blake2b(b"".join(row["digest"] for row in rows), digest_size=32).digest()
    frame = users.frame.mapInArrow(partial(_numbered, firsts=firsts), _NUMBERED)
    n_bytes = sum(row["n_bytes"] for row in rows)
    return NumberedUsers(frame, digest, n_bytes / max(1, users.n_users))


def partition_number() -> int:
    """Return the partition of the current task; 0 outside of tasks."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the users of a partition, and digest their rows, independent of batches."""
    digests = [hashlib.blake2b(digest_size=32) for _ in range(5)]
    n_users = n_bytes = 0
    for batch in batches:
        ids = pc.cast(batch.column("user"), pa.binary())
        items, ratings = batch.column("items"), batch.column("ratings")
        lengths = pc.binary_length(ids)
        texts = pc.binary_join(pa.ListArray.from_arrays([0, len(ids)], ids), b"")
        parts = (
            lengths.to_numpy(zero_copy_only=False).astype("<i4"),
            texts[0].as_buffer(),
            pc.list_value_length(items).to_numpy(zero_copy_only=False).astype("<i4"),
            items.flatten().to_numpy(zero_copy_only=False).astype("<i4"),
            ratings.flatten().to_numpy(zero_copy_only=False).astype("<f4"),
        )
        for digest, part in zip(digests, parts, strict=True):
            digest.update(memoryview(part))
        n_users += batch.num_rows
        n_bytes += pc.sum(lengths).as_py() or 0
    whole = b"".join(digest.digest() for digest in digests)
    yield pa.RecordBatch.from_pydict(
        {
            "part": [partition_number()],
            "users": [n_users],
            "n_bytes": [n_bytes],
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


class DistributedWriting(Writing, Protocol):
    """Writer of a release by executors."""

    # Users whose published row has at least `FEWEST_RATINGS` values, once it is written
    n_long: int


@brief
class ReleasePlan(NamedTuple):
    """A release that executors are to write."""

    # The private side has no ids, which are in its parts alone
    release: Sides
    # Writes and verifies it
    by: DistributedWriting
    # Returns the figures for the publisher, once it is written
    summary: Callable[[], ReleaseSummary]

    def _facts(self) -> dict[str, object]:
        return self.release._facts()


class Making(Protocol):
    """A method with its options, which are checked before the table is read."""

    def gather(self, lake: Lake) -> tuple[DistributedUsers, Callable[[], ReleasePlan]]:
        """Reject unsuitable tables; gather the users, and return what plans their release."""
