"""Group writing: the rows that groups of people share, made and written by executors, part by part.

People's rows travel once, to the part that their group is in; what is published of them is made
there. In the same order, and so under the same pseudonyms, parts of the private twin are written.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.publish.folder import Written
from recveil.publish.tables import evenly, rating_writer, tables
from recveil.release.as_given import AsGiven, GivenCounts
from recveil.release.class_list import class_list
from recveil.release.manifest import CLASSES, FileEntry, part_name
from recveil.release.records import Records, item_keys
from recveil.release.sides import FileFormat, Published, Sides
from recveil.release.who_is_who import PARTS
from recveil.spark.group_rows import GroupRows, in_published_order
from recveil.spark.part_writing import UNFINISHED, put_into, remove_unfinished
from recveil.spark.people_numbers import NumberedPeople, partition_number
from recveil.spark.rechecking import check_by_executors
from recveil.spark.spread_groups import SpreadGroups, of_table
from recveil.spark.spread_people import SpreadPeople
from recveil.verify import Verification

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Of each part a row that says what was written, and a row for each class of its records.
_WRITTEN = (
    "part long, records long, labels long, seen binary, sha256 string, bytes long, "
    "given array<long>, digest binary, people long"
)
_TOLD = ("part", "records", "labels", "seen", "sha256", "bytes", "given")


class GroupsByExecutors:
    """Writes the rows of groups, and who is in them, by executors; they check it, too.

    Parameters
    ----------
    people : SpreadPeople
    numbered : NumberedPeople
        The same people.
    groups : callable
        Gathers their groups, once it is certain that they will be written.
    rows : GroupRows
    rows_of : callable, optional
        Returns what rows are made of, a frame with the column `part`, once groups are known; if not
        given, these are the rows of people.
    used : callable, optional
        Takes the number of labels, and returns the settings that the owner is to have.
    """

    def __init__(
        self,
        people: SpreadPeople,
        numbered: NumberedPeople,
        groups: Callable[[], SpreadGroups],
        rows: GroupRows,
        rows_of: Callable[[], "DataFrame"] | None = None,
        used: Callable[[int], dict[str, Any]] | None = None,
    ) -> None:
        self._people = people
        self._numbered = numbered
        self._gather = groups
        self._rows = rows
        self._rows_of = rows_of or self._rows_of_people
        self._groups: SpreadGroups | None = None
        self._used = used
        self.given: AsGiven | None = None
        self.n_labels = 0

    @property
    def groups(self) -> SpreadGroups:
        """Who is in which group; found when first asked for."""
        if self._groups is None:
            self._groups = self._gather()
        return self._groups

    def write_ratings(
        self, published: Published, folder: Path, file_format: FileFormat, *, in_groups: bool
    ) -> Written:
        """Make and write the rows of each part where there is room, and the list of classes.

        Raises
        ------
        RecveilError
            If an executor cannot write to the folder, or somebody is missing.
        """
        del published, file_format  # they are those that the rows were begun with
        rows, groups = self._rows, self.groups
        work = of_table(
            _write_part,
            rows=rows,
            in_groups=in_groups,
            parts=groups.parts,
            firsts=self._firsts(in_groups=in_groups),
            secret=groups.secret,
            keys=item_keys(rows.published.items),
            folder=str(folder),
        )
        found = self._people.keep(self._rows_of().groupBy("part").applyInArrow(work, _WRITTEN))
        told = found.where("digest is null").select(*_TOLD).toArrow().to_pylist()
        told.sort(key=lambda row: row["part"])
        self._refuse_missing(told, in_groups=in_groups)
        counts = _write_classes(found.where("digest is not null"), folder)
        remove_unfinished(folder)
        self.n_labels = sum(row["labels"] for row in told)
        if told[0]["given"]:
            numbers = np.sum([row["given"] for row in told], axis=0)
            self.given = GivenCounts(numbers, (rows.step or 0.0) / 2).shares()
        seen = _all_seen(told, rows.published.items.size)
        return Written(
            files={part_name(row["part"]): FileEntry(row["sha256"], row["bytes"]) for row in told},
            counts={
                "users": self._people.n_people,
                "records": sum(row["records"] for row in told),
                "labels": self.n_labels,
                "items": int(seen.sum()),
                "duplicates_dropped": 0,
                **counts,
            },
            items=rows.published.items[seen].tolist(),
        )

    def _rows_of_people(self) -> "DataFrame":
        return self._numbered.frame.join(self.groups.frame, "number")

    def _firsts(self, *, in_groups: bool) -> NDArray[np.int64]:
        """Return how many records stand before each part."""
        return self.groups.firsts(in_groups=in_groups and self._rows.are_shared)

    def _refuse_missing(self, told: list[dict[str, Any]], *, in_groups: bool) -> None:
        """Refuse to go on unless each part is written, with all of its records."""
        in_one = in_groups and self._rows.are_shared
        expected = self.groups.groups if in_one else self.groups.people
        found = [(row["part"], row["records"]) for row in told]
        if found != list(enumerate(expected.tolist())):
            raise RecveilError(
                f"{sum(n for _, n in found):,} records in {len(found):,} parts were written; "
                f"expected {expected.sum():,} in {expected.size:,}; run it again",
                code="spark.parts-missing",
            )

    def write_people(self, release: Sides, folder: Path, layout: str) -> dict[str, Any]:
        """Write who is behind which record, in parts as the ratings are, and what rows show."""
        groups, in_groups = self.groups, layout == "groups"
        work = of_table(
            _write_who,
            # Rows need not travel again, and labels are not looked at.
            published=bare(release.published),
            parts=groups.parts,
            firsts=self._firsts(in_groups=in_groups),
            secret=groups.secret,
            in_one=in_groups and self._rows.are_shared,
            folder=str(folder),
        )
        joined = self._numbered.frame.select("number", "user").join(groups.frame, "number")
        found = joined.groupBy("part").applyInArrow(work, "part long").toArrow()
        remove_unfinished(folder)
        n = groups.parts.size
        if sorted(found["part"].to_pylist()) != list(range(n)):
            raise RecveilError(
                f"{found.num_rows} of {n} parts were written; run it again",
                code="spark.parts-missing",
            )
        shown = {} if self.given is None else {"lone_ratings": self.given._asdict()}
        used = {} if self._used is None else {"settings": self._used(self.n_labels)}
        return {PARTS: n, **shown, **used}

    def verify(self, folder: Path, private: Path) -> Verification:
        """Check what was written."""
        spark = self._people.frame.sparkSession
        return check_by_executors(spark, folder, private=private)


def bare(published: Published) -> Published:
    """Return it without what only the driver calls."""
    return replace(published, blocks=_no_blocks, model=None, expect=None)


def _no_blocks() -> Iterator[Records]:
    raise RecveilError(
        "these rows are made by executors; read the folder with Release.read",
        code="spark.not-collected",
    )


def _write_part(
    table: pa.Table,
    rows: GroupRows,
    in_groups: bool,
    parts: NDArray[np.int64],
    firsts: NDArray[np.int64],
    secret: tuple[int, ...],
    keys: NDArray[np.uint64],
    folder: str,
) -> pa.Table:
    """Write one part, and tell what stands there, and the class of each group."""
    part = int(np.searchsorted(parts, table["part"][0].as_py()))
    blocks, given = rows.of(table, part, secret)
    seen = np.zeros(rows.published.items.size, bool)
    classes: Counter[bytes] = Counter()
    counts = {"records": 0, "labels": 0}
    about = rows.published.claim.about

    def noted() -> Iterator[Records]:
        for block in blocks:
            seen[block.indices] = True
            for digest, people in zip(
                about.digests(block, keys), block.sizes.tolist(), strict=True
            ):
                classes[digest] += people
            yield block

    def pieces() -> Iterator[pa.Table]:
        first = int(firsts[part])
        for piece, n in tables(rows.published, noted(), in_groups=in_groups, n_before=first):
            counts["records"] += n
            counts["labels"] += piece.num_rows
            yield piece

    with put_into(folder, part_name(part)) as file:
        with rating_writer(file, "parquet", rows.published, in_groups=in_groups) as writer:
            for piece in evenly(pieces()):
                writer.write_table(piece)
        entry = FileEntry.of(file)
    told = {"part": part, **counts, "seen": np.packbits(seen).tobytes(), "given": given}
    told |= {"sha256": entry.sha256, "bytes": entry.bytes}
    return _as_rows(told, classes)


def _as_rows(told: dict[str, Any], classes: Counter[bytes]) -> pa.Table:
    """Return one row that tells of a part, and one for each class of records."""
    n = len(classes)
    types = {"part": pa.int64(), "records": pa.int64(), "labels": pa.int64(), "seen": pa.binary()}
    types |= {"sha256": pa.string(), "bytes": pa.int64(), "given": pa.list_(pa.int64())}
    columns = {name: pa.array([told[name]] + [None] * n, kind) for name, kind in types.items()}
    columns["digest"] = pa.array([None, *classes], pa.binary())
    columns["people"] = pa.array([None, *classes.values()], pa.int64())
    return pa.table(columns)


def _all_seen(told: list[dict[str, Any]], n_items: int) -> NDArray[np.bool_]:
    """Say which items stand in any part."""
    seen = np.zeros(n_items, bool)
    for row in told:
        seen |= np.unpackbits(np.frombuffer(row["seen"], np.uint8), count=n_items).astype(bool)
    return seen


def _write_classes(records: "DataFrame", folder: Path) -> dict[str, int]:
    """Write the list of classes, in pieces that follow each other; count them."""
    from pyspark.sql import functions as sql

    classes = records.groupBy("digest").agg(sql.sum("people").alias("people"))
    counted = classes.agg(
        sql.count(sql.lit(1)).alias("classes"),
        sql.sum((sql.col("people") == 1).cast("long")).alias("alone"),
    ).first()
    listed = classes.select(sql.lower(sql.hex("digest")).alias("digest"), "people")
    work = partial(_write_piece, folder=str(folder))
    written = listed.orderBy("digest").mapInArrow(work, "piece long").toArrow()
    with (folder / CLASSES).open("wb") as whole:
        whole.write(class_list({}))
        for piece in sorted(written["piece"].to_pylist()):
            with (folder / _piece_name(piece)).open("rb") as part:
                shutil.copyfileobj(part, whole)
    return {name: int((counted and counted[name]) or 0) for name in ("classes", "alone")}


def _piece_name(number: int) -> str:
    return f"{UNFINISHED}classes-{number:07d}"


def _write_piece(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Write the classes of a partition as lines."""
    number = partition_number()
    schema = pa.schema({"digest": pa.string(), "people": pa.int64()})
    plain = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    with (
        put_into(folder, _piece_name(number)) as file,
        pa_csv.CSVWriter(str(file), schema, write_options=plain) as writer,
    ):
        for batch in batches:
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
    yield pa.RecordBatch.from_pydict({"piece": [number]})


def _write_who(
    table: pa.Table,
    published: Published,
    parts: NDArray[np.int64],
    firsts: NDArray[np.int64],
    secret: tuple[int, ...],
    in_one: bool,
    folder: str,
) -> pa.Table:
    """Write who is behind the records of a part, of which each group may have one."""
    part = int(np.searchsorted(parts, table["part"][0].as_py()))
    table, groups = in_published_order(table, part, secret)
    first = int(firsts[part])
    n_records = groups.sizes.size if in_one else groups.members.size
    names = np.array(published.pseudonyms(first, first + n_records), dtype=object)
    if in_one:
        names = np.repeat(names, groups.sizes)
    who = pa.table({"user_id": table["user"].cast(pa.string()), "published_id": pa.array(names)})
    with put_into(folder, part_name(part, "assignment")) as file:
        pq.write_table(who, file)
    return pa.table({"part": [part]})
