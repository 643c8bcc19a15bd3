"""People's numbers: 0, 1, ... for people among executors, in an order that the table fixes."""

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.spark.spread_people import SpreadPeople

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COUNTED = "part long, people long, letters long, digest binary"
_NUMBERED = "number long, user string, items array<int>, ratings array<float>"


@brief
class NumberedPeople(NamedTuple):
    """People, each with a number.

    Attributes
    ----------
    frame : DataFrame
        The columns `number`, `user`, `items` (places, ascending) and `ratings`.
    digest : bytes
        Of who gave what to which item: whoever does not have the table cannot guess it.
    mean_length : float
        Of a user's id, in bytes.
    """

    frame: "DataFrame"
    digest: bytes
    mean_length: float

    def secret(self, seed: int) -> tuple[int, int]:
        """Return what all that is drawn follows from: the seed and the table together.

        Nobody undoes the order who knows the seed alone.
        """
        return seed, int.from_bytes(self.digest, "big")

    def _facts(self) -> dict[str, object]:
        return {"columns": len(self.frame.columns)}


def number_people(people: SpreadPeople) -> NumberedPeople:
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
    return NumberedPeople(frame, digest, letters / max(1, people.n_people))


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
