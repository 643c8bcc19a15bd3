"""Part writing: the large files of a release, written by executors, a part each."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recveil.methods.synthetic.user_model import SampledBatches
from recveil.publish.folder import Written, evenly, rating_writer, tables
from recveil.release.manifest import FileEntry, part_name
from recveil.release.private_folder import PARTS
from recveil.release.records import Records
from recveil.release.sides import FileFormat, Published, Sides
from recveil.runtime.errors import RecveilError
from recveil.spark.users import DistributedUsers
from recveil.spark.verification import check_by_executors
from recveil.verification import Verification

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WRITTEN = "part long, records long, labels long, seen binary, sha256 string, bytes long"
# What is being written has such a name, which no file of a release has.
UNFINISHED = ".unfinished-"


class ByExecutors:
    """Writes drawn people, and who is in the data, by executors; they check it, too."""

    def __init__(
        self, spark: "SparkSession", people: DistributedUsers, crowds: SampledBatches
    ) -> None:
        self._spark = spark
        self._people = people
        self._crowds = crowds

    def write_ratings(
        self, published: Published, folder: Path, file_format: FileFormat, *, in_groups: bool
    ) -> Written:
        """Sample and write each cluster where there is room; a repeated task writes the same."""
        if file_format != "parquet" or in_groups:
            raise RecveilError(
                "file format 'csv': Spark writes Parquet; leave it out", code="option.unsupported"
            )
        n = self._crowds.n_blocks
        # What is not needed there is not sent there: sums over people above all.
        bare = replace(published, blocks=self._crowds.blocks, model=None, expect=None)
        work = partial(_write_batches, published=bare, crowds=self._crowds, folder=str(folder))
        rows = self._spark.range(0, n, 1, n).mapInArrow(work, _WRITTEN).toArrow().to_pylist()
        rows.sort(key=lambda row: row["part"])
        remove_unfinished(folder)
        if [row["part"] for row in rows] != list(range(n)):
            raise RecveilError(
                f"{len(rows)} of {n} parts were written; run it again", code="spark.parts-missing"
            )
        seen = np.zeros(published.items.size, bool)
        for row in rows:
            seen |= np.unpackbits(np.frombuffer(row["seen"], np.uint8), count=seen.size).astype(
                bool
            )
        return Written(
            files={part_name(row["part"]): FileEntry(row["sha256"], row["bytes"]) for row in rows},
            counts={
                "users": sum(row["records"] for row in rows),
                "labels": sum(row["labels"] for row in rows),
                "items": int(seen.sum()),
            },
            items=published.items[seen].tolist(),
        )

    def write_users(self, release: Sides, folder: Path, layout: str) -> dict[str, Any]:
        """Write whose ratings these were: nobody is behind any record."""
        del release, layout
        frame = self._people.frame.select("user")
        work = partial(_write_users, folder=str(folder))
        found = frame.mapInArrow(work, "part long").toArrow()["part"].to_pylist()
        remove_unfinished(folder)
        n = frame.rdd.getNumPartitions()
        if sorted(found) != list(range(n)):
            raise RecveilError(
                f"{len(found)} of {n} parts were written; run it again", code="spark.parts-missing"
            )
        return {PARTS: n}

    def verify(self, folder: Path, private: Path) -> Verification:
        """Check what was written."""
        return check_by_executors(self._spark, folder, private=private)


def _write_batches(
    batches: Iterator[pa.RecordBatch], published: Published, crowds: SampledBatches, folder: str
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield pa.RecordBatch.from_pylist([_write_batch(published, crowds, number, folder)])


def _write_batch(
    published: Published, crowds: SampledBatches, number: int, folder: str
) -> Mapping[str, Any]:
    """Write one crowd to a file of its own, and tell what stands there."""
    seen = np.zeros(published.items.size, bool)
    counts = {"records": 0, "labels": 0}

    def noted() -> Iterator[Records]:
        for block in crowds.block(number):
            seen[block.indices] = True
            yield block

    def pieces() -> Iterator[pa.Table]:
        first = crowds.first_of(number)
        for table, n_records in tables(published, noted(), in_groups=False, n_before=first):
            counts["records"] += n_records
            counts["labels"] += table.num_rows
            yield table

    with put_into(folder, part_name(number)) as file:
        with rating_writer(file, "parquet", published, in_groups=False) as writer:
            for table in evenly(pieces()):
                writer.write_table(table)
        entry = FileEntry.of(file)
    return {
        "part": number,
        **counts,
        "seen": np.packbits(seen).tobytes(),
        "sha256": entry.sha256,
        "bytes": entry.bytes,
    }


def _write_users(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Write the ids of a partition's people; each partition is a part, if it has people or not."""
    from pyspark import TaskContext

    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    schema = pa.schema({"user_id": pa.string(), "published_id": pa.string()})
    with (
        put_into(folder, part_name(number, "assignment")) as file,
        pq.ParquetWriter(file, schema) as writer,
    ):
        for batch in batches:
            nobody = pa.nulls(batch.num_rows, pa.string())
            users = batch.column("user").cast(pa.string())
            writer.write_table(pa.table([users, nobody], schema=schema))
    yield pa.RecordBatch.from_pydict({"part": [number]})


@contextmanager
def put_into(folder: str, name: str) -> Iterator[Path]:
    """Give a name to write to, and rename it once it is whole: a killed task leaves no part."""
    file, unfinished = Path(folder, name), Path(folder, f"{UNFINISHED}{uuid4().hex}")
    if not file.parent.is_dir():
        raise RecveilError(
            f"{file.parent}: an executor does not see this folder; choose an output that all "
            f"machines see at the same path",
            code="output.not-writable",
        )
    try:
        yield unfinished
        unfinished.replace(file)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise RecveilError(
            f"{file.parent}: an executor cannot write here ({error.strerror or error}); make room, "
            f"or choose another output",
            code="output.not-writable",
        ) from error
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove what killed tasks left."""
    for left in folder.glob(f"{UNFINISHED}*"):
        left.unlink(missing_ok=True)
