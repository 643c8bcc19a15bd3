"""Verification of releases that no one machine reads completely."""

import json
import operator
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa

from recveil.release.dates import period_of
from recveil.release.earlier_formats import class_list_header
from recveil.release.manifest import (
    CLASSES,
    MANIFEST,
    PRIVATE_MANIFEST,
    RATINGS,
    SHORT_USERS,
    Manifest,
)
from recveil.release.manifest_reader import read_manifest
from recveil.release.private_folder import assignment_files, read_assignment
from recveil.runtime.errors import RecveilError
from recveil.runtime.memory import MemoryLimitError
from recveil.runtime.safe_repr import brief
from recveil.spark.input import address_of
from recveil.spark.session import spark_session
from recveil.verification import Verification
from recveil.verification.equivalence_classes import DistinctRows, ItemCounts
from recveil.verification.ids_in_items import IdsInItems, line_breaks_in_items
from recveil.verification.means import MOST_USERS, ImputedValues, MeansOfLevels
from recveil.verification.not_covered import limits_of_items, limits_of_release
from recveil.verification.other_files import (
    check_item_table,
    foreign_files,
    has_clusters,
    n_short_users,
    wrong_card,
    wrong_counts,
    wrong_files,
    wrong_formulas,
    wrong_items,
    wrong_settings,
)
from recveil.verification.private_data import (
    PrivateSide,
    PublishedNames,
    find_values,
    limits_of_search,
    require_same_release,
)
from recveil.verification.published_file import Block, Pseudonyms, PublishedFile
from recveil.verification.release_folder import check_published
from recveil.verification.results import MOST_KEPT, Limit, Violation, Violations
from recveil.verification.value_limits import LimitedValues

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


FOUND = (
    "part long, right boolean, n_values long, records long, lengths string, prefix string, "
    "first long, next long, items string, imputed string, violations string, left_out long, "
    "unread string"
)


def check_parts(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Check the parts with these numbers; yield a row of `FOUND` for each."""
    manifest, _ = read_manifest(Path(folder, MANIFEST))
    paths = [Path(folder, name) for name in manifest.ratings_files]
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield pa.RecordBatch.from_pylist([_check_part(number, paths[number], manifest)])


class PartScan(TypedDict):
    """What an executor found in a part; texts but for the last are JSON."""

    part: int
    right: bool
    n_values: int
    records: int
    lengths: str
    prefix: str
    first: int
    next: int
    # Each item and its number of values
    items: str
    imputed: str
    violations: str
    left_out: int
    unread: str


def _check_part(number: int, path: Path, manifest: Manifest) -> PartScan:
    right = manifest.files[path.name].is_right(path)
    violations = Violations()
    file = PublishedFile(path, manifest, manifest.claim.about)
    file.pseudonyms = Pseudonyms(manifest.counts.get("users"), in_part=True)
    item_counts, imputed = ItemCounts(), ImputedValues(manifest)
    records, unread = 0, ""
    try:
        for block in file.blocks(violations):
            records += len(block.user_ids)
            item_counts.add(block.items)
            imputed.add(block.items, block.values)
    except MemoryLimitError:  # not a property of the file
        raise
    except RecveilError as error:
        unread = str(error)
    return {
        "part": number,
        "right": right,
        "n_values": file.n_values,
        "records": records,
        "lengths": json.dumps([*file.lengths.items()]),
        "prefix": file.pseudonyms.prefix,
        "first": file.pseudonyms.first,
        "next": file.pseudonyms.next,
        # An unreadable part may have read items that no block has.
        "items": json.dumps([*zip(file.items, item_counts.to_list(), strict=False)]),
        "imputed": json.dumps(imputed.to_dict()),
        "violations": json.dumps([list(violation) for violation in violations]),
        "left_out": violations.left_out,
        "unread": unread,
    }


def merge_parts(
    rows: Sequence[PartScan], manifest: Manifest, violations: Violations
) -> tuple[dict[str, int], list[Any], Counter[int]]:
    """Return counts, all item ids and record counts by length; collect violations of parts."""
    items: Counter[Any] = Counter()
    lengths: Counter[int] = Counter()
    expected, prefix = 0, rows[0]["prefix"] if rows else ""
    for row, name in zip(rows, manifest.ratings_files, strict=True):
        violations += (Violation(*violation) for violation in json.loads(row["violations"]))
        violations.left_out += row["left_out"]
        if row["unread"] and row["right"]:
            raise RecveilError(
                f"{row['unread']}; fetch or write the release again", code="release.damaged"
            )
        if row["unread"]:
            what = row["unread"].removeprefix(f"{name}: ")
            violations.append(Violation(name, None, None, f"changed, and {what}"))
        elif (row["prefix"], row["first"]) != (prefix, expected):
            problem = "its user ids do not continue those of the part before"
            violations.append(Violation(name, 1, None, problem))
        expected = row["next"]
        for item, n_values in json.loads(row["items"]):
            items[item] += n_values
        for length, n_records in json.loads(row["lengths"]):
            lengths[length] += n_records
    counts = {
        "records": sum(row["records"] for row in rows),
        "values": sum(row["n_values"] for row in rows),
        "items": len(items),
        "rarest": min(items.values(), default=0),
    }
    return counts, sorted(items, key=str), lengths


_ROWS = (
    "digest binary, row binary, n_users long, promised long, possible long, part long, at long, "
    "user string"
)
_LINES = re.compile(rb"(?:[0-9a-f]{32},[1-9][0-9]*\n)*")
_AT_ONCE = 1 << 24
# So many rows are compared on the driver to count their clusters.
_MOST_ROWS = 1 << 13


@brief
class ClassesCounted(NamedTuple):
    """Counts of equivalence classes."""

    # Users, classes, classes of a single user, and the size of the smallest class
    users: int
    classes: int
    singletons: int
    smallest: int


def class_frame(spark: "SparkSession", folder: Path, n_files: int) -> "DataFrame":
    """Return all classes of a release: digest, users, least users, and the first record.

    The least number is the claimed one; `possible` has those that the values can average, as bits.

    Records form one class if their digests are equal *and* their values are: different records with
    the same digest are two classes.
    """
    from pyspark.sql import functions as sql

    result = spark.range(0, n_files, 1, n_files).mapInArrow(
        partial(_class_rows, folder=str(folder)), _ROWS
    )
    return result.groupBy("digest", "row").agg(
        sql.sum("n_users").alias("n_users"),
        sql.max("promised").alias("promised"),
        sql.max("possible").alias("possible"),
        sql.min(sql.struct("part", "at", "user")).alias("first"),
    )


def count_classes(frame: "DataFrame") -> ClassesCounted:
    """Count users and classes."""
    from pyspark.sql import functions as sql

    result = frame.agg(
        sql.sum("n_users").alias("users"),
        sql.count(sql.lit(1)).alias("classes"),
        sql.sum((sql.col("n_users") == 1).cast("long")).alias("singletons"),
        sql.min("n_users").alias("smallest"),
    ).first()
    names = ("users", "classes", "singletons", "smallest")
    return ClassesCounted(*(int((result and result[name]) or 0) for name in names))


def note_small(
    frame: "DataFrame", k: int, manifest: Manifest, what: str, violations: Violations
) -> None:
    """Report each class of fewer than k users, or fewer than claimed, by its first record."""
    from pyspark.sql import functions as sql

    needed = sql.greatest(sql.lit(k), sql.coalesce("promised", sql.lit(0)))
    small = frame.where(sql.col("n_users") < needed).withColumn("needed", needed)
    names = manifest.ratings_files
    for row in small.orderBy("first").limit(MOST_KEPT).drop("row").collect():
        n_users, first = row["n_users"], row["first"]
        size = "1 user" if n_users == 1 else f"{n_users} users"
        problem = f"its {what} are shared by {size}; at least {row['needed']} required"
        name = names[first["part"]]
        is_text = name.endswith(".csv")
        where = f"{name} line {first['at'] + 1}" if is_text else f"{name} row {first['at']}"
        violations.append(Violation(where, first["at"], first["user"], problem))
    violations.left_out += max(0, small.count() - MOST_KEPT)


def note_means(frame: "DataFrame", manifest: Manifest, violations: Violations) -> None:
    """Report the first class whose values are no means of as many levels as it has users."""
    is_impossible = (
        f"n_users between 1 and {MOST_USERS} and "
        f"(shiftright(possible, cast(n_users - 1 as int)) & 1) = 0"
    )
    found = frame.where(is_impossible).orderBy("first").first()
    if found is not None:
        violations.append(MeansOfLevels(manifest).violation(found["n_users"]))


def limits_broken(
    spark: "SparkSession", frame: "DataFrame", folder: Path, manifest: Manifest
) -> Iterator[Violation]:
    """Report classes and items outside the limits of values that a release states."""
    from pyspark.sql import functions as sql

    limited, n_files = LimitedValues(manifest), len(manifest.ratings_files)
    if limited.limits is None:
        return
    work = partial(_limited_rows, folder=str(folder))
    if limited.has_means:
        ends = spark.range(0, n_files, 1, n_files).mapInArrow(work, _ENDS)
        sizes = frame.groupBy("digest").agg(sql.sum("n_users").alias("n_users"))
        cells = (
            ends.groupBy("digest")
            .agg(sql.min("lowest").alias("lowest"), sql.max("highest").alias("highest"))
            .join(sizes, "digest")
        )
    else:
        n_levels = round(manifest.scale.range / (manifest.scale.step or 1.0)) + 1
        levels = [f"n{level}" for level in range(n_levels)]
        schema = ", ".join(["digest binary, item string", *(f"{name} long" for name in levels)])
        counts = spark.range(0, n_files, 1, n_files).mapInArrow(work, schema)
        sums = [sql.sum(name).alias(name) for name in levels]
        counts = counts.groupBy("digest", "item").agg(*sums)
        of_items = counts.groupBy("item").agg(
            *(sql.sum(name).alias(f"all_{name}") for name in levels)
        )
        cells = counts.join(of_items, "item").drop("digest", "item")
    counted = cells.mapInArrow(
        partial(_count_broken, folder=str(folder)), "broken long, cells long"
    )
    found = counted.agg(sql.sum("broken"), sql.sum("cells")).first()
    n_broken, n_cells = (int(number or 0) for number in found or (0, 0))
    yield from limited.report(n_broken, n_cells, str(manifest.ratings_file))


_ENDS = "digest binary, lowest double, highest double"


def _limited_rows(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Yield the ends of each class of parts with these numbers, or the levels of each cell."""
    manifest, _ = read_manifest(Path(folder, MANIFEST))
    for batch in batches:
        for number in batch.column(0).to_pylist():
            path = Path(folder, manifest.ratings_files[number])
            file, limited = (
                PublishedFile(path, manifest, manifest.claim.about),
                LimitedValues(manifest),
            )
            for block in file.blocks(Violations()):
                limited.add(block.stated_digests, block.indptr, block.items, block.values)
            if limited.has_means:
                rows = [*zip(*limited.ends(), strict=True)] or [(), (), ()]
                kinds = (pa.binary(), pa.float64(), pa.float64())
                names = ["digest", "lowest", "highest"]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(one, kind) for one, kind in zip(rows, kinds, strict=True)], names
                )
            elif (found := limited.cells())[0]:
                digests, items, counts = found
                columns = {
                    "digest": pa.array(digests, pa.binary()),
                    "item": pa.array([str(file.items[item]) for item in items], pa.string()),
                    **{f"n{level}": pa.array(one) for level, one in enumerate(counts.T)},
                }
                yield pa.RecordBatch.from_pydict(columns)


def _count_broken(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Count the classes, or the cells with the levels of their items, outside the limits."""
    manifest, _ = read_manifest(Path(folder, MANIFEST))
    limited = LimitedValues(manifest)
    n_broken = n_cells = 0
    for batch in batches:
        n_cells += batch.num_rows
        if limited.has_means:
            columns = (batch.column(name).to_pylist() for name in ("lowest", "highest", "n_users"))
            n_broken += sum(not limited.is_possible(*one) for one in zip(*columns, strict=True))
        elif limited.limits is not None:
            levels = np.array([column.to_numpy() for column in batch.columns]).T
            counts, of_items = np.split(levels, 2, axis=1)
            n_broken += int(limited.limits.broken(counts, np.arange(len(counts)), of_items).sum())
    yield pa.RecordBatch.from_pydict({"broken": [n_broken], "cells": [n_cells]})


def note_list(
    spark: "SparkSession", frame: "DataFrame", folder: Path, number: int, violations: Violations
) -> None:
    """Compare classes.csv with the classes, both ways, and check its bytes."""
    from pyspark.sql import functions as sql

    file = folder / CLASSES
    if not file.is_file():
        return
    twice = frame.groupBy("digest").count().where("count > 1").count()
    if twice:
        problem = f"{twice:,} digests belong to different records; each must belong to one class"
        violations.append(Violation(CLASSES, None, None, problem))
    right = is_written_in_order(file, number)
    if right:
        schema = "digest string, n_users long"
        listed = spark.read.csv(address_of(file), header=True, schema=schema)
        listed_classes = frame.select(sql.lower(sql.hex("digest")).alias("digest"), "n_users")
        both = listed_classes.alias("own").join(listed.alias("listed"), "digest", "full_outer")
        differs = ~sql.col("own.n_users").eqNullSafe(sql.col("listed.n_users"))
        right = both.where(differs).limit(1).count() == 0
    if not right:
        problem = "not the list of the classes of these ratings, line for line"
        violations.append(Violation(CLASSES, None, None, problem))


def is_written_in_order(file: Path, number: int) -> bool:
    """Check whether a list of classes has a format of recveil, with ascending digests."""
    last, header = b"", class_list_header(number)
    with file.open("rb") as stream:
        if stream.read(len(header)) != header:
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
    """Yield the classes of parts with these numbers, with the row of their records."""
    manifest, _ = read_manifest(Path(folder, MANIFEST))
    paths = [Path(folder, name) for name in manifest.ratings_files]
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file = PublishedFile(paths[number], manifest, manifest.claim.about)
            means, result = MeansOfLevels(manifest), dict[tuple[bytes, bytes], list[Any]]()
            for block in file.blocks(Violations()):
                _note(block, file, means, result)
            yield _as_batch(result, number)


def _note(
    block: Block,
    file: PublishedFile,
    means: MeansOfLevels,
    result: dict[tuple[bytes, bytes], list[Any]],
) -> None:
    """Add the users of each record to those of its digest and row."""
    with_labels = "rating" in file.claim.compared
    texts = [str(item).encode() for item in file.items]
    items, values = block.items.tolist(), block.values.astype("<f8")
    possible = means.of_records(block.indptr, block.values)
    for record, (digest, size) in enumerate(zip(block.digests, block.sizes, strict=True)):
        cells = slice(block.indptr[record], block.indptr[record + 1])
        row = b"\0".join([texts[item] for item in items[cells]])
        row += b"\0\0" + values[cells].tobytes() if with_labels else b""
        promised = 0 if block.promised is None else block.promised[record]
        key = (digest, row + promised.to_bytes(8, "little", signed=True))
        first = (block.rows[record], block.user_ids[record])
        entry = result.setdefault(key, [0, promised, possible[record], *first])
        entry[0] += size


def _as_batch(result: dict[tuple[bytes, bytes], list[Any]], number: int) -> pa.RecordBatch:
    users, promised, possible, position, user = (
        zip(*result.values(), strict=True) if result else ((), (), (), (), ())
    )
    return pa.RecordBatch.from_pydict(
        {
            "digest": pa.array([digest for digest, _ in result], pa.binary()),
            "row": pa.array([row for _, row in result], pa.binary()),
            "n_users": pa.array(users, pa.int64()),
            "promised": pa.array(promised, pa.int64()),
            "possible": pa.array(possible, pa.int64()),
            "part": pa.array([number] * len(result), pa.int64()),
            "at": pa.array(position, pa.int64()),
            "user": pa.array(user, pa.string()),
        }
    )


# Users per piece whose ids are searched at once, about.
_USERS_AT_ONCE = 1 << 20
_SCANNED = "violations string, unknown long, met long, users long"


def verify(
    path: str | PathLike[str],
    *,
    k: int | None = None,
    private: str | PathLike[str] | None = None,
    master: str | None = None,
) -> Verification:
    """Check a release by Spark, each of its files by an executor.

    Parameters
    ----------
    path : path
        The published folder; all machines see it at the same path.
    k : int, optional
        The least number of users per row; by default that of the release.
    private : path, optional
        The private folder of a release of synthetic users, whose values must not occur in the
        release.
    master : str, optional
        Where Spark runs; see `recveil.spark.anonymize`.

    Returns
    -------
    Verification
        The verdict of `recveil.verification.verify`, in the same words; but of a class that is too
        small, one record is named.

    Raises
    ------
    RecveilError
        If it is no release, Spark does not support the check, or a file or Spark fails.

    Examples
    --------
    >>> verify("ratings.csv")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: ratings.csv: no release (it has no release.json), and Spark ...
    """
    folder = Path(path)
    if not (folder / MANIFEST).is_file():
        raise RecveilError(
            f"{folder}: no release (it has no release.json), and Spark checks releases alone; "
            f"leave engine (--engine) out",
            code="release.not-found",
        )
    manifest, _ = read_manifest(folder / MANIFEST)
    _reject_not_offered(manifest, k, is_private=private is not None)
    with spark_session(master) as spark:
        side = None if private is None else Path(private).resolve()
        return check_by_executors(spark, folder.resolve(), k=k, private=side)


def _reject_not_offered(manifest: Manifest, k: int | None, *, is_private: bool) -> None:
    has_users = manifest.contains_users
    refused = {
        "layout (--layout) model": manifest.layout == "model",
        f"l (--l) of {manifest.claim.l}, diversity": has_users and manifest.claim.l > 1,
        "private (--private), of a release of users' rows": has_users and is_private,
        "k (--k), of synthetic users": not has_users and k is not None,
        "k (--k) below 1": k is not None and k < 1,
        "a release that follows another one": bool(manifest.previous),
        "a release with dates": period_of(manifest.settings) is not None,
    }
    for what, is_so in refused.items():
        if is_so:
            raise RecveilError(
                f"{what}: not checked by Spark; leave it out, or leave engine (--engine) out",
                code="option.unsupported",
            )


def check_by_executors(
    spark: "SparkSession", folder: Path, *, k: int | None = None, private: Path | None = None
) -> Verification:
    """Check a release, and whether it contains private values."""
    names, readers = PublishedNames([], [], [], []), _Executors(spark)
    manifest, _ = read_manifest(folder / MANIFEST)
    if manifest.user_columns is not None:
        raise RecveilError(
            f"{folder.name}: has attributes of users, which Spark does not check yet; leave engine "
            f"(--engine) out",
            code="release.unsupported",
        )
    if manifest.contains_users:
        result = check_shared(folder, readers, k)
        if k is not None and not result.holds:
            claimed = check_shared(folder, _Executors(spark), None)
            result = replace(result, k_claimed=claimed.k_required if claimed.holds else None)
        if private is None or not readers.all_read:
            return result
        values = _private_values(spark, folder, private, readers.items, has_users=True)
        return result.with_private(*values)
    result = check_published(folder, names, readers=readers)
    if private is None:
        return result
    return result.with_private(
        *_private_values(spark, folder, private, names.items, has_users=False)
    )


def check_shared(folder: Path, readers: "_Executors", k: int | None) -> Verification:
    """Check a release of shared rows by the functions of `recveil.verification`, on executors."""
    manifest, problems = read_manifest(folder / MANIFEST)
    claim, ratings_name = manifest.claim, str(manifest.ratings_file)
    required = claim.k if k is None else k
    for name in manifest.ratings_files or (RATINGS[0],):
        if not (folder / name).is_file():
            raise RecveilError(
                f"{folder}: no {name}; fetch or write the release again", code="release.damaged"
            )
    checksums = readers.checksums(folder, manifest)
    violations = Violations()
    violations += (Violation(MANIFEST, None, None, problem) for problem in problems)
    violations += wrong_files(folder, manifest, checksums)
    violations += foreign_files(folder, manifest)
    if not problems:  # else the card is wrong as well
        violations += wrong_card(folder, manifest, ratings_name)
    counts, items, lengths = readers.drawn(folder, manifest, violations)
    counted = ClassesCounted(0, 0, 0, 0)
    if readers.all_read:
        frame = class_frame(readers.spark, folder, len(manifest.ratings_files)).persist()
        try:
            counted = count_classes(frame)
            note_small(frame, required, manifest, claim.about.shared_parts, violations)
            note_means(frame, manifest, violations)
            violations += readers.imputed(manifest)
            violations += limits_broken(readers.spark, frame, folder, manifest)
            note_list(readers.spark, frame, folder, manifest.number, violations)
            if has_clusters(manifest):
                counts["clusters"] = _fewest_clusters(readers.spark, folder, manifest, frame)
        finally:
            frame.unpersist()
        counts |= {
            "users": counted.users,
            "classes": counted.classes,
            "singletons": counted.singletons,
            SHORT_USERS: n_short_users(lengths),
        }
        violations += wrong_counts(manifest, counts)
        violations += wrong_settings(manifest, counts)
        violations += wrong_items(manifest, items, ratings_name)
        violations += wrong_formulas(manifest, items)
        violations += line_breaks_in_items(items, ratings_name)
    of_table, table_limits = check_item_table(folder, manifest, items)
    violations += of_table if readers.all_read else []
    return Verification(
        claim=claim.kind,
        k_required=required,
        k_achieved=counted.smallest,
        users=counted.users,
        records=counts["records"] if readers.all_read else 0,
        classes=counted.classes,
        layout=manifest.layout,
        compared=[*claim.about.columns(likes=manifest.scale.unary), *(["k"] * claim.levels)]
        if readers.all_read
        else [],
        violations=violations.to_list(),
        checksums=checksums,
        singletons=counted.singletons,
        has_levels=claim.levels,
        not_covered=[
            *limits_of_release(manifest, ratings_name),
            *_limits_of_clusters(manifest, counted.classes),
            *([*limits_of_items(items), *table_limits] if readers.all_read else []),
        ],
        value_limits=LimitedValues(manifest).checked if readers.all_read else None,
    )


def _limits_of_clusters(manifest: Manifest, n_rows: int) -> list[Limit]:
    """Return whether only some rows are compared to count clusters."""
    if not has_clusters(manifest) or n_rows <= _MOST_ROWS:
        return []
    return [Limit("longest-rows", (_MOST_ROWS, n_rows))]


def _fewest_clusters(
    spark: "SparkSession", folder: Path, manifest: Manifest, frame: "DataFrame"
) -> int:
    """Return how many clusters the values prove: those of an item, or of the longest rows."""
    from pyspark.sql import functions as sql

    paths = [address_of(folder / name) for name in manifest.ratings_files]
    if paths[0].endswith(".csv"):
        table = spark.read.csv(paths, header=True, multiLine=True, escape='"')
    else:
        table = spark.read.parquet(*paths)
    pairs = table.select("item_id", "rating").distinct()
    largest = pairs.groupBy("item_id").count().agg({"count": "max"}).first()
    longest = frame.orderBy(sql.length("row").desc(), "first").limit(_MOST_ROWS)
    chosen = sql.broadcast(longest.select(sql.col("first.user").alias("user_id")))
    cells = table.join(chosen, "user_id").select("user_id", "item_id", "rating").toArrow()
    columns = [each.combine_chunks().dictionary_encode() for each in cells.sort_by("user_id")]
    users, items, values = (each.indices.to_numpy() for each in columns)
    rows, starts = DistinctRows(), np.flatnonzero(np.diff(users, prepend=-1))
    digests = [user.encode() for user in columns[0].dictionary.to_pylist()]
    rows.add(digests, np.append(starts, users.size), items, values.astype(np.float64))
    return max(int(largest[0] or 0) if largest else 0, rows.fewest_clusters())


class _Executors:
    """Reader of a release by executors, in one job."""

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        self.items: list[Any] = []
        self._rows: list[PartScan] = []

    @property
    def all_read(self) -> bool:
        """Whether each part could be read."""
        return not any(row["unread"] for row in self._rows)

    def checksums(self, folder: Path, manifest: Manifest) -> dict[str, bool]:
        """Check for each file whether it has the recorded digest."""
        n = len(manifest.ratings_files)
        work = partial(check_parts, folder=str(folder))
        result = self.spark.range(0, n, 1, n).mapInArrow(work, FOUND).toArrow().to_pylist()
        self._rows = sorted(result, key=lambda row: row["part"])
        right = {manifest.ratings_files[row["part"]]: row["right"] for row in self._rows}
        return {
            name: right[name] if name in right else entry.is_right(folder / name)
            for name, entry in manifest.files.items()
        }

    def drawn(
        self, folder: Path, manifest: Manifest, violations: Violations
    ) -> tuple[dict[str, int], list[Any], Counter[int]]:
        """Report violations of rows; return counts, item ids, and records by length."""
        del folder  # it was read for the checksums
        counts, self.items, lengths = merge_parts(self._rows, manifest, violations)
        return {**counts, "users": counts["records"]}, self.items, lengths

    def imputed(self, manifest: Manifest) -> Iterator[Violation]:
        """Report that values are not those of the stated fill."""
        values, number_of = ImputedValues(manifest), {item: i for i, item in enumerate(self.items)}
        for row in self._rows:
            numbers = [number_of[item] for item, _ in json.loads(row["items"])]
            values.merge(json.loads(row["imputed"]), np.array(numbers, np.int64))
        return values.violations()


def _merge_scans(rows: list[Mapping[str, Any]]) -> tuple[list[Violation], list[Limit]]:
    """Combine the violations of all pieces, and what was not searched."""
    result = {tuple(each): None for row in rows for each in json.loads(row["violations"])}
    met = IdsInItems("", sum(row["unknown"] for row in rows), sum(row["met"] for row in rows))
    limits = limits_of_search(sum(row["users"] for row in rows), met)
    if len(rows) > 1:
        limits.append(Limit("pieces", (len(rows),)))
    return [Violation(*each) for each in result], limits


def _private_values(
    spark: "SparkSession", folder: Path, private: Path, items: list[Any], *, has_users: bool
) -> tuple[list[Violation], list[Limit]]:
    """Search a release for private values: of the users of each part, or of pieces of all users."""
    private_info = _read_private_info(folder, private)
    files = assignment_files(private_info)
    n = len(files)
    if not has_users:
        frame = spark.read.parquet(*[address_of(private / name) for name in files])
        n = min(n, -(-frame.count() // _USERS_AT_ONCE) or 1)
    scan = _scan_part if has_users else partial(_scan, n_pieces=n)
    work = partial(
        scan,
        folder=str(folder),
        private=str(private),
        items=items,
        private_info=private_info,
    )
    rows = spark.range(0, n, 1, n).mapInArrow(work, _SCANNED).toArrow().to_pylist()
    return _merge_scans(rows)


def _read_private_info(folder: Path, private: Path) -> Mapping[str, Any]:
    """Read private.json; raise if it belongs to another release."""
    try:
        private_info = dict(json.loads((private / PRIVATE_MANIFEST).read_text("utf-8")))
        digest = private_info["release"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecveilError(
            f"{private}: cannot be read as the private folder of a release; expected the one that "
            f"recveil wrote with it",
            code="private.damaged",
        ) from error
    require_same_release(folder, private, digest)
    return private_info


def _scan(
    batches: Iterator[pa.RecordBatch],
    n_pieces: int,
    folder: str,
    private: str,
    items: list[Any],
    private_info: Mapping[str, Any],
) -> Iterator[pa.RecordBatch]:
    names = assignment_files(private_info)
    for batch in batches:
        for piece in batch.column(0).to_pylist():
            table = read_assignment(Path(private), names[piece::n_pieces], ["user_id"])
            users = table["user_id"].to_pylist()
            side = _side(users, [None] * len(users), private_info.get("seed"))
            published = PublishedNames([], [], items, [])
            yield _as_row(*find_values(Path(folder), published, side), len(users))


def _scan_part(
    batches: Iterator[pa.RecordBatch],
    folder: str,
    private: str,
    items: list[Any],
    private_info: Mapping[str, Any],
) -> Iterator[pa.RecordBatch]:
    """Search for private values of each part's users, and for their order in its records."""
    manifest, _ = read_manifest(Path(folder, MANIFEST))
    names, paths = (
        assignment_files(private_info),
        [Path(folder, name) for name in manifest.ratings_files],
    )
    for batch in batches:
        for number in batch.column(0).to_pylist():
            table = read_assignment(Path(private), names[number : number + 1])
            users, records = (table[name].to_pylist() for name in table.column_names)
            published = PublishedNames([], [], items, [])
            file = PublishedFile(paths[number], manifest, manifest.claim.about)
            for block in file.blocks(Violations()):
                published.user_ids.extend(block.user_ids)
                published.shared.extend(block.digests)
            if set(records) != set(published.user_ids):
                raise RecveilError(
                    f"{names[number]} does not list the users of {paths[number].name}; this is a "
                    f"fault in recveil, please report it",
                    code="internal.fault",
                )
            side = _side(users, records, private_info)
            yield _as_row(*find_values(Path(folder), published, side), len(users))


def _side(users: list[Any], records: list[str | None], seed: object) -> PrivateSide:
    return PrivateSide(users, records, [], [], seed if type(seed) is int else None)


def _as_row(violations: list[Violation], in_items: IdsInItems, n_users: int) -> pa.RecordBatch:
    row = {
        "violations": json.dumps([list(each) for each in violations]),
        "unknown": in_items.n_undecided,
        "met": in_items.n_matched,
        "users": n_users,
    }
    return pa.RecordBatch.from_pylist([row])
