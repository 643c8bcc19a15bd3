"""Class checking: who shares a row with how many, counted by Spark: by digest, and by the row."""

import operator
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from recveil.brief import brief
from recveil.release.form import read_manifest
from recveil.release.manifest import CLASSES, MANIFEST, Manifest
from recveil.spark.part_checking import content_paths
from recveil.spark.part_reading import address_of
from recveil.verify.published_file import Block, PublishedFile
from recveil.verify.verification import MOST_KEPT, Found, Violation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = "digest binary, row binary, people long, promised long, part long, at long, user string"
_HEADER = b"digest,people\n"
_LINES = re.compile(rb"(?:[0-9a-f]{32},[1-9][0-9]*\n)*")
_AT_ONCE = 1 << 24


@brief
class ClassesCounted(NamedTuple):
    """What Spark counted of classes of records.

    Attributes
    ----------
    users, classes, alone, smallest : int
        People, classes, those of a single person, and the people of the smallest.
    """

    users: int
    classes: int
    alone: int
    smallest: int


def class_frame(spark: "SparkSession", folder: Path, n_files: int) -> "DataFrame":
    """Return all classes of a release: digest, people, what is promised, and the first record.

    Records are one class if their digests are equal *and* they are, value by value: two that differ
    and meet in a digest are two classes here.
    """
    from functools import partial

    from pyspark.sql import functions as sql

    found = spark.range(0, n_files, 1, n_files).mapInArrow(
        partial(_class_rows, folder=str(folder)), _ROWS
    )
    return found.groupBy("digest", "row").agg(
        sql.sum("people").alias("people"),
        sql.max("promised").alias("promised"),
        sql.min(sql.struct("part", "at", "user")).alias("first"),
    )


def count_classes(frame: "DataFrame") -> ClassesCounted:
    """Count them."""
    from pyspark.sql import functions as sql

    found = frame.agg(
        sql.sum("people").alias("users"),
        sql.count(sql.lit(1)).alias("classes"),
        sql.sum((sql.col("people") == 1).cast("long")).alias("alone"),
        sql.min("people").alias("smallest"),
    ).first()
    names = ("users", "classes", "alone", "smallest")
    return ClassesCounted(*(int((found and found[name]) or 0) for name in names))


def note_small(
    frame: "DataFrame", k: int, manifest: Manifest, what: str, violations: Found
) -> None:
    """Name each class of fewer than k people, or than it promises, by its first record."""
    from pyspark.sql import functions as sql

    needed = sql.greatest(sql.lit(k), sql.coalesce("promised", sql.lit(0)))
    small = frame.where(sql.col("people") < needed).withColumn("needed", needed)
    names = manifest.ratings_files
    for row in small.orderBy("first").limit(MOST_KEPT).drop("row").collect():
        people, first = row["people"], row["first"]
        sharing = "1 person" if people == 1 else f"{people} people"
        problem = f"its {what} are shared by {sharing}; at least {row['needed']} required"
        name = names[first["part"]]
        is_text = name.endswith(".csv")
        where = f"{name} line {first['at'] + 1}" if is_text else f"{name} row {first['at']}"
        violations.append(Violation(where, first["at"], first["user"], problem))
    violations.left_out += max(0, small.count() - MOST_KEPT)


def note_list(spark: "SparkSession", frame: "DataFrame", folder: Path, violations: Found) -> None:
    """Compare classes.csv with the classes, both ways, and how it is written, byte for byte."""
    from pyspark.sql import functions as sql

    file = folder / CLASSES
    if not file.is_file():
        return
    twice = frame.groupBy("digest").count().where("count > 1").count()
    if twice:
        problem = f"{twice:,} digests are those of records that differ; each must be of one class"
        violations.append(Violation(CLASSES, None, None, problem))
    right = is_written_in_order(file)
    if right:
        schema = "digest string, people long"
        listed = spark.read.csv(address_of(file), header=True, schema=schema)
        own = frame.select(sql.lower(sql.hex("digest")).alias("digest"), "people")
        both = own.alias("own").join(listed.alias("listed"), "digest", "full_outer")
        differs = ~sql.col("own.people").eqNullSafe(sql.col("listed.people"))
        right = both.where(differs).limit(1).count() == 0
    if not right:
        problem = "not the list of the classes of these ratings, line for line"
        violations.append(Violation(CLASSES, None, None, problem))


def is_written_in_order(file: Path) -> bool:
    r"""Say whether a list of classes is written as recveil writes one, digests ascending.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "classes.csv")
    ...     _ = file.write_text("digest,people\n" + "0" * 32 + ",5\n" + "1" * 32 + ",07\n")
    ...     is_written_in_order(file)
    False
    """
    last = b""
    with file.open("rb") as stream:
        if stream.read(len(_HEADER)) != _HEADER:
            return False
        while lines := stream.readlines(_AT_ONCE):
            if not _LINES.fullmatch(b"".join(lines)):
                return False
            digests = [last, *(line[:32] for line in lines)]
            if not all(map(operator.lt, digests, digests[1:])):
                return False
            last = digests[-1]
    return True


def _class_rows(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Yield the classes of each part whose number comes, with the row that their records share."""
    manifest, _ = read_manifest(Path(folder, MANIFEST))
    paths = content_paths(Path(folder), manifest)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file = PublishedFile(paths[number], manifest, manifest.claim.about)
            found: dict[tuple[bytes, bytes], list[Any]] = {}
            for block in file.blocks(Found()):
                _note(block, file, found)
            yield _as_batch(found, number)


def _note(block: Block, file: PublishedFile, found: dict[tuple[bytes, bytes], list[Any]]) -> None:
    """Add the people of each record to those of its digest and row."""
    with_labels = "rating" in file.claim.compared
    texts = [str(item).encode() for item in file.items]
    items, values = block.items.tolist(), block.values.astype("<f8")
    for record, (digest, size) in enumerate(zip(block.digests, block.sizes, strict=True)):
        own = slice(block.indptr[record], block.indptr[record + 1])
        row = b"\0".join([texts[item] for item in items[own]])
        row += b"\0\0" + values[own].tobytes() if with_labels else b""
        promised = 0 if block.promised is None else block.promised[record]
        key = (digest, row + promised.to_bytes(8, "little", signed=True))
        held = found.setdefault(key, [0, promised, block.rows[record], block.user_ids[record]])
        held[0] += size


def _as_batch(found: dict[tuple[bytes, bytes], list[Any]], number: int) -> pa.RecordBatch:
    people, promised, at, user = zip(*found.values(), strict=True) if found else ((), (), (), ())
    return pa.RecordBatch.from_pydict(
        {
            "digest": pa.array([digest for digest, _ in found], pa.binary()),
            "row": pa.array([row for _, row in found], pa.binary()),
            "people": pa.array(people, pa.int64()),
            "promised": pa.array(promised, pa.int64()),
            "part": pa.array([number] * len(found), pa.int64()),
            "at": pa.array(at, pa.int64()),
            "user": pa.array(user, pa.string()),
        }
    )
