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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from recveil.methods.base import rounded
from recveil.methods.k_corating.rows import CoRatedRows, Protect
from recveil.methods.predictive.homogenize import homogenize_padded, homogenize_simple
from recveil.publish.folder import Written, evenly, rating_writer, tables
from recveil.ratings import Ratings
from recveil.release.exact_ratings import ExactRatingCounts, ExactRatings
from recveil.release.manifest import CLASSES, FileEntry, class_list, part_name
from recveil.release.private_folder import PARTS
from recveil.release.records import Groups, Records, item_keys
from recveil.release.sides import FileFormat, Published, Sides
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.spark.clusters import SpreadGroups, of_table, reject_small
from recveil.spark.embeddings import ItemFactors
from recveil.spark.part_files import UNFINISHED, put_into, remove_unfinished
from recveil.spark.users import (
    DistributedUsers,
    NumberedUsers,
    Whole,
    partition_number,
    ratings_of,
)
from recveil.spark.verification import check_by_executors
from recveil.verification import Verification

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Where a scale has no steps, ratings are added up in whole steps of so small a part of it.
_STEPS = 1 << 20
# Labels that are dealt anew are so by a stream of its own, and so is in which order the people of a
# group stand.
_DEALT, _MEMBERS = 31, 21
_IN_ORDER = [("key", "ascending"), ("number", "ascending")]


class GroupRows(Protocol):
    """How the rows of groups are made; all that executors need for it."""

    @property
    def published(self) -> Published:
        """Without what only the driver calls."""

    @property
    def k(self) -> int:
        """The least that a group has."""

    @property
    def step(self) -> float | None:
        """That of the labels."""

    @property
    def are_shared(self) -> bool:
        """Whether a group has one row, and not each of its people their own."""

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> "PartRows":
        """Make the rows of the groups of a part, of whom nobody is in another one."""


class PartRows(NamedTuple):
    """The rows of a part, in published order."""

    blocks: Iterator[Records]
    # The numbers of `ExactRatingCounts`, of rows whose labels may be ratings as they were given
    given: list[int]


def in_published_order(
    table: pa.Table, part: int, secret: tuple[int, ...]
) -> tuple[pa.Table, Groups]:
    """Put the people of a part in published order; return them, and their groups."""
    table = table.sort_by(_IN_ORDER)
    luck = np.random.default_rng([*secret, _MEMBERS, part]).random(table.num_rows)
    table = table.take(np.lexsort((luck, table["key"].to_numpy())))
    keys = table["key"].to_numpy()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1, [keys.size]])
    return table, Groups(np.arange(keys.size), starts.astype(np.int64))


def _users_of(
    table: pa.Table, part: int, secret: tuple[int, ...], published: Published, k: int
) -> tuple[Ratings, Groups]:
    """Return the ratings of the people of a part, and the groups that they are in."""
    table, groups = in_published_order(table, part, secret)
    reject_small(groups.sizes, k)
    return ratings_of(table, published.scale, published.items.size), groups


@brief
class SharedRows(NamedTuple):
    """One row for each group, of means."""

    # Without what only the driver calls
    published: Published
    homogenize: Literal["padded", "simple"]
    # That of the labels
    step: float | None
    # For padded rows
    known: ItemFactors | None
    k: int

    @property
    def are_shared(self) -> bool:
        """Say that people share them, always."""
        return True

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Make the rows of the groups of a part, of whom nobody is in another one.

        Labels of simple ones may be ratings as they were given, which are counted: of an item that
        one person alone rated, the mean is their rating.
        """
        ratings, groups = _users_of(table, part, secret, self.published, self.k)
        if self.known is None:
            held = list(self._rounded(homogenize_simple(ratings, groups)))
            given = ExactRatingCounts.of(ratings, groups, held, self.step)
            return PartRows(iter(held), given.numbers.tolist())
        padding = self.known.padding(self.known.of_people(ratings), ratings.scale)
        all_items = np.arange(ratings.n_items, dtype=np.int32)
        padded = homogenize_padded(ratings, padding, groups, rated=all_items)
        return PartRows(self._rounded(padded), [])

    def _rounded(self, blocks: Iterator[Records]) -> Iterator[Records]:
        for block in blocks:
            labels = rounded(block.values, self.published.scale, self.step)
            yield Records(block.sizes, block.indptr, block.indices, labels)

    def _facts(self) -> dict[str, object]:
        return {"": self.homogenize, "k": self.k}


@brief
class FilledRows(NamedTuple):
    """A row for each person: what they rated, and fills where others of their group rated."""

    # Without what only the driver calls
    published: Published
    # That of the labels
    step: float | None
    known: "KnownMeans"
    k: int
    round_fills: bool
    protect: Protect
    # What all that is drawn follows from, together with the table
    secret: tuple[int, ...]

    @property
    def are_shared(self) -> bool:
        """Not even where they are equal: k-coRating gives each person a record."""
        return False

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Make the rows of the groups of a part, of whom nobody is in another one.

        That labels are ratings as they were given is said of all of them, and none is counted.
        """
        ratings, groups = _users_of(table, part, secret, self.published, self.k)
        rng = np.random.default_rng([*self.secret, _DEALT, part])
        rows = CoRatedRows.of(
            ratings,
            self.known,
            groups,
            round_fills=self.round_fills,
            protect=self.protect,
            seed=int(rng.integers(2**62)),
        )
        return PartRows((rows.rows(first, last) for first, last in rows.blocks()), [])

    def _facts(self) -> dict[str, object]:
        return {"": "filled", "k": self.k}


@brief
class ClassRows(NamedTuple):
    """One row for each class, drawn from the tastes of its crowd; see `crowd_rows`."""

    # Without what only the driver calls
    published: Published
    # That of the labels
    step: float | None
    k: int

    @property
    def are_shared(self) -> bool:
        """Say that people share them, always."""
        return True

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Put the rows of the classes of a part in published order."""
        del part, secret  # nothing more is drawn
        table = table.sort_by("key").combine_chunks()
        sizes = table["people"].to_numpy()
        reject_small(sizes, self.k)
        items, labels = (table[name].combine_chunks() for name in ("items", "labels"))
        starts = items.offsets.to_numpy().astype(np.int64)
        block = Records(
            sizes, starts - starts[0], items.flatten().to_numpy(), labels.flatten().to_numpy()
        )
        return PartRows(iter([block]), [])

    def _facts(self) -> dict[str, object]:
        return {"": "drawn", "k": self.k}


@brief
class KnownMeans(NamedTuple):
    """What `recveil.predict.ItemMean` learns, from sums.

    Examples
    --------
    >>> KnownMeans(np.array([3.5, 1], np.float32)).predict([0, 0], [1, 0])
    array([1. , 3.5], dtype=float32)
    """

    means: NDArray[np.float32]

    @classmethod
    def of(cls, people: DistributedUsers) -> "KnownMeans":
        """Ask executors; sums of whole numbers are the same in whatever order."""
        scale = people.scale
        unit = scale.step or scale.range / _STEPS or 1.0
        support, steps = people.add_up(sums_of_items, scale.low, unit)
        # The sum first, and then the quotient: as ItemMean works it out.
        sums = support * scale.low + steps * unit
        overall = sums.sum() / max(1, support.sum())
        means = np.where(support > 0, sums / np.maximum(support, 1), overall)
        return cls(means.astype(np.float32))

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return the mean of each item, whoever asks."""
        del users
        return self.means[np.asarray(items)]

    def _facts(self) -> dict[str, object]:
        return {"items": self.means.size}


def sums_of_items(ratings: Ratings, low: float, unit: float) -> Whole:
    """Count the ratings of each item, and add up how many units above the lowest they are."""
    steps = np.rint((ratings.values.astype(np.float64) - low) / unit)
    n = ratings.n_items
    sums = [np.bincount(ratings.indices, minlength=n), np.bincount(ratings.indices, steps, n)]
    return np.array(sums).astype(np.int64)


# Of each part a row that says what was written, and a row for each class of its records.
_WRITTEN = (
    "part long, records long, labels long, seen binary, sha256 string, bytes long, "
    "given array<long>, digest binary, people long"
)
_TOLD = ("part", "records", "labels", "seen", "sha256", "bytes", "given")


class GroupsByExecutors:
    """Writes the rows of groups, and who is in them, by executors; they check it, too."""

    def __init__(
        self,
        people: DistributedUsers,
        numbered: NumberedUsers,
        groups: Callable[[], SpreadGroups],
        rows: GroupRows,
        rows_of: Callable[[], "DataFrame"] | None = None,
        used: Callable[[int], dict[str, Any]] | None = None,
    ) -> None:
        self._people = people
        self._numbered = numbered
        self._gather = groups
        self._rows = rows
        self._rows_of = rows_of or self._rows_of_users_of
        self._groups: SpreadGroups | None = None
        self._used = used
        self.given: ExactRatings | None = None
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
        """Make and write the rows of each part where there is room, and the list of classes."""
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
        self._reject_missing(told, in_groups=in_groups)
        counts = _write_classes(found.where("digest is not null"), folder)
        remove_unfinished(folder)
        self.n_labels = sum(row["labels"] for row in told)
        if told[0]["given"]:
            numbers = np.sum([row["given"] for row in told], axis=0)
            self.given = ExactRatingCounts(numbers, (rows.step or 0.0) / 2).shares()
        seen = _all_read(told, rows.published.items.size)
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

    def _rows_of_users_of(self) -> "DataFrame":
        return self._numbered.frame.join(self.groups.frame, "number")

    def _firsts(self, *, in_groups: bool) -> NDArray[np.int64]:
        """Return how many records stand before each part."""
        return self.groups.firsts(in_groups=in_groups and self._rows.are_shared)

    def _reject_missing(self, told: list[dict[str, Any]], *, in_groups: bool) -> None:
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

    def write_users(self, release: Sides, folder: Path, layout: str) -> dict[str, Any]:
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


def _all_read(told: list[dict[str, Any]], n_items: int) -> NDArray[np.bool_]:
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
