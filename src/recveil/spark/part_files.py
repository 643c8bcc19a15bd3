"""The large files of a release, of which executors write a part each."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.methods.synthetic.user_model import SampledBatches
from recveil.publish.folder import Written, evenly, rating_writer, tables
from recveil.release.manifest import FileEntry, part_name
from recveil.release.private_folder import PARTS
from recveil.release.records import Records
from recveil.release.sides import FileFormat, Published, Sides
from recveil.runtime.errors import RecveilError
from recveil.spark.users import DistributedUsers, partition_number
from recveil.spark.verification import check_by_executors
from recveil.verification import Verification

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WRITTEN = "part long, records long, labels long, present binary, sha256 string, bytes long"
# Prefix of incomplete files, which no file of a release has.
UNFINISHED = ".unfinished-"


class SyntheticWriter:
    """Writes synthetic users and the private list of real users by executors; verifies both."""

    def __init__(
        self, spark: "SparkSession", users: DistributedUsers, sampled: SampledBatches
    ) -> None:
        self._spark = spark
        self._users = users
        self._sampled = sampled

    def write_ratings(
        self, published: Published, folder: Path, file_format: FileFormat, *, in_groups: bool
    ) -> Written:
        """Sample and write each batch in a task; a repeated task writes the same bytes."""
        if file_format != "parquet" or in_groups:
            raise RecveilError(
                "file format 'csv': Spark writes Parquet; leave it out", code="option.unsupported"
            )
        n = self._sampled.n_blocks
        # Executors get only what they need, without the sums over users above all.
        bare = replace(published, blocks=self._sampled.blocks, model=None, expect=None)
        work = partial(_write_batches, published=bare, sampled=self._sampled, folder=str(folder))
        rows = self._spark.range(0, n, 1, n).mapInArrow(work, _WRITTEN).toArrow().to_pylist()
        rows.sort(key=lambda row: row["part"])
        remove_unfinished(folder)
        require_parts([row["part"] for row in rows], n)
        n_users = sum(row["records"] for row in rows)
        return describe_written(rows, published.items, {"users": n_users})

    def write_users(self, release: Sides, folder: Path, layout: str) -> dict[str, Any]:
        """Write the ids of the real users, who have no published record."""
        del release, layout
        frame = self._users.frame.select("user")
        work = partial(_write_users, folder=str(folder))
        parts = frame.mapInArrow(work, "part long").toArrow()["part"].to_pylist()
        remove_unfinished(folder)
        n = frame.rdd.getNumPartitions()
        require_parts(parts, n)
        return {PARTS: n}

    def verify(self, folder: Path, private: Path) -> Verification:
        """Verify what was written."""
        return check_by_executors(self._spark, folder, private=private)


def _write_batches(
    batches: Iterator[pa.RecordBatch], published: Published, sampled: SampledBatches, folder: str
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            first = sampled.first_of(number)
            report = write_part(
                published, sampled.block(number), folder, number, in_groups=False, first=first
            )
            yield pa.RecordBatch.from_pylist([report])


def write_part(
    published: Published,
    blocks: Iterator[Records],
    folder: str,
    part: int,
    *,
    in_groups: bool,
    first: int,
) -> dict[str, Any]:
    """Write the records of a part, numbered from `first`; return a report on its file."""
    present = np.zeros(published.items.size, bool)
    counts = {"records": 0, "labels": 0}

    def noted() -> Iterator[Records]:
        for block in blocks:
            present[block.indices] = True
            yield block

    def pieces() -> Iterator[pa.Table]:
        for piece, n in tables(published, noted(), in_groups=in_groups, n_before=first):
            counts["records"] += n
            counts["labels"] += piece.num_rows
            yield piece

    with replace_part(folder, part_name(part)) as file:
        with rating_writer(file, "parquet", published, in_groups=in_groups) as writer:
            for piece in evenly(pieces()):
                writer.write_table(piece)
        entry = FileEntry.of(file)
    return {
        "part": part,
        **counts,
        "present": np.packbits(present).tobytes(),
        "sha256": entry.sha256,
        "bytes": entry.bytes,
    }


def describe_written(
    reports: list[dict[str, Any]], items: NDArray[Any], counts: Mapping[str, int]
) -> Written:
    """Combine the reports on all parts."""
    present = np.zeros(items.size, bool)
    for row in reports:
        bits = np.frombuffer(row["present"], np.uint8)
        present |= np.unpackbits(bits, count=items.size).astype(bool)
    return Written(
        files={part_name(row["part"]): FileEntry(row["sha256"], row["bytes"]) for row in reports},
        counts={
            "values": sum(row["labels"] for row in reports),
            "items": int(present.sum()),
            **counts,
        },
        items=items[present].tolist(),
    )


def require_parts(written: Collection[int], n: int) -> None:
    """Raise unless each of `n` parts is written."""
    if sorted(written) != list(range(n)):
        raise RecveilError(
            f"{len(written)} of {n} parts were written; run it again", code="spark.parts-missing"
        )


def _write_users(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Write the ids of a partition's users; each partition is a part, even without users."""
    number = partition_number()
    schema = pa.schema({"user_id": pa.string(), "published_id": pa.string()})
    with (
        replace_part(folder, part_name(number, "assignment")) as file,
        pq.ParquetWriter(file, schema) as writer,
    ):
        for batch in batches:
            no_ids = pa.nulls(batch.num_rows, pa.string())
            ids = batch.column("user").cast(pa.string())
            writer.write_table(pa.table([ids, no_ids], schema=schema))
    yield pa.RecordBatch.from_pydict({"part": [number]})


@contextmanager
def replace_part(folder: str, name: str) -> Iterator[Path]:
    """Yield a temporary name, and rename the file when it is complete."""
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
    """Remove the files of killed tasks."""
    for file in folder.glob(f"{UNFINISHED}*"):
        file.unlink(missing_ok=True)
