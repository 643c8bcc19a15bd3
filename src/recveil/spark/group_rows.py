"""Rows that groups of users share, made and written by executors, part by part.

The private parts are written in the same order, and so with the same pseudonyms.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypedDict
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from recveil.methods.base import rounded
from recveil.methods.k_corating.fills import Learned
from recveil.methods.k_corating.rows import CoRatedRows, Protect
from recveil.methods.predictive.homogenize import homogenize_padded, homogenize_simple
from recveil.publish.folder import Written, evenly, rating_writer, tables
from recveil.ratings import Ratings
from recveil.release.coverage import FEWEST_RATINGS
from recveil.release.exact_ratings import ExactRatingCounts, ExactRatings
from recveil.release.manifest import CLASSES, SHORT_USERS, FileEntry, class_list, part_name
from recveil.release.private_folder import PARTS
from recveil.release.records import Groups, Records, item_keys
from recveil.release.sides import FileFormat, Published, Sides
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.spark.clusters import DistributedGroups, of_table, reject_small
from recveil.spark.embeddings import ItemFactors
from recveil.spark.users import (
    DistributedUsers,
    NumberedUsers,
    partition_number,
    ratings_of,
    sums_of_items,
)
from recveil.spark.verification import check_by_executors
from recveil.verification import Verification

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Without a scale step, ratings are summed in integer units of this part of the range.
_STEPS = 1 << 20
# Random streams for redistributed values, and for the order of users in a group.
_DEALT, _MEMBERS = 31, 21
_IN_ORDER = [("key", "ascending"), ("number", "ascending")]


class GroupRows(Protocol):
    """How the rows of groups are made, with all that executors need."""

    @property
    def published(self) -> Published:
        """The published side, without what only the driver calls."""

    @property
    def k(self) -> int:
        """The least group size."""

    @property
    def step(self) -> float | None:
        """The step of published values."""

    @property
    def are_shared(self) -> bool:
        """Whether a group has one row, instead of one per user."""

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> "PartRows":
        """Make the rows of a part, which contains whole groups."""


class PartRows(NamedTuple):
    """The rows of a part, in published order."""

    blocks: Iterator[Records]
    # The numbers of `ExactRatingCounts`, for rows whose values may equal ratings
    exact: list[int]


def in_published_order(
    table: pa.Table, part: int, secret: tuple[int, ...]
) -> tuple[pa.Table, Groups]:
    """Sort the users of a part into published order; return them with their groups."""
    table = table.sort_by(_IN_ORDER)
    shuffle = np.random.default_rng([*secret, _MEMBERS, part]).random(table.num_rows)
    table = table.take(np.lexsort((shuffle, table["key"].to_numpy())))
    keys = table["key"].to_numpy()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1, [keys.size]])
    return table, Groups(np.arange(keys.size), starts.astype(np.int64))


def _users_of(
    table: pa.Table, part: int, secret: tuple[int, ...], published: Published, k: int
) -> tuple[Ratings, Groups, NDArray[np.int64]]:
    """Return the ratings of a part's users, their groups, and their numbers."""
    table, groups = in_published_order(table, part, secret)
    reject_small(groups.sizes, k)
    ratings = ratings_of(table, published.scale, published.items.size)
    return ratings, groups, table["number"].to_numpy()


@brief
class SharedRows(NamedTuple):
    """One row of means per group."""

    published: Published
    homogenize: Literal["padded", "simple"]
    # The step of values
    step: float | None
    # For padded rows
    item_factors: ItemFactors | None
    k: int

    @property
    def are_shared(self) -> bool:
        """True."""
        return True

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Make the rows of a part, which contains whole groups."""
        ratings, groups, _ = _users_of(table, part, secret, self.published, self.k)
        if self.item_factors is None:
            blocks = list(self._rounded(homogenize_simple(ratings, groups)))
            exact = ExactRatingCounts.of(ratings, groups, blocks, self.step)
            return PartRows(iter(blocks), exact.numbers.tolist())
        padding = self.item_factors.padding(self.item_factors.fit_users(ratings), ratings.scale)
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
    """One row per user, with the user's ratings, and fills where others of the group rated."""

    published: Published
    # The step of values
    step: float | None
    # The means of items, or a broadcast predictor, which knows users by their numbers
    fill: Any
    k: int
    round_fills: bool
    protect: Protect
    # The root of all random streams, with the table's digest
    secret: tuple[int, ...]

    @property
    def are_shared(self) -> bool:
        """False, even where rows are equal: k-coRating publishes a record per user."""
        return False

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Make the rows of a part, which contains whole groups."""
        ratings, groups, numbers = _users_of(table, part, secret, self.published, self.k)
        rng = np.random.default_rng([*self.secret, _DEALT, part])
        fill = self.fill
        if not isinstance(fill, ItemMeans):
            fill = NumberedFill(fill.value, numbers)
        rows = CoRatedRows.of(
            ratings,
            fill,
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
    """One row per class, sampled from the embeddings of its cluster."""

    published: Published
    # The step of values
    step: float | None
    k: int

    @property
    def are_shared(self) -> bool:
        """True."""
        return True

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Sort the rows of a part into published order."""
        del part, secret  # nothing is random here
        table = table.sort_by("key").combine_chunks()
        sizes = table["users"].to_numpy()
        reject_small(sizes, self.k)
        items, values = (table[name].combine_chunks() for name in ("items", "values"))
        starts = items.offsets.to_numpy().astype(np.int64)
        block = Records(
            sizes, starts - starts[0], items.flatten().to_numpy(), values.flatten().to_numpy()
        )
        return PartRows(iter([block]), [])

    def _facts(self) -> dict[str, object]:
        return {"": "drawn", "k": self.k}


@brief
class ItemMeans(NamedTuple):
    """`recveil.predict.ItemMean`, learned from sums.

    >>> ItemMeans(np.array([3.5, 1], np.float32)).predict([0, 0], [1, 0])
    array([1. , 3.5], dtype=float32)
    """

    means: NDArray[np.float32]

    @classmethod
    def of(cls, users: DistributedUsers) -> "ItemMeans":
        """Compute the means by executors; integer sums do not depend on their order."""
        scale = users.scale
        unit = scale.step or scale.range / _STEPS or 1.0
        support, steps = users.add_up(sums_of_items, scale.low, unit)
        # The sum first, then the quotient, as ItemMean computes it.
        sums = support * scale.low + steps * unit
        overall = sums.sum() / max(1, support.sum())
        means = np.where(support > 0, sums / np.maximum(support, 1), overall)
        return cls(means.astype(np.float32))

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return the mean of each item, for any user."""
        del users
        return self.means[np.asarray(items)]

    def _facts(self) -> dict[str, object]:
        return {"items": self.means.size}


@brief
class NumberedFill(NamedTuple):
    """A predictor that was fitted to all users, for some of them."""

    predictor: Learned
    # The position of each of these users among all
    numbers: NDArray[np.int64]

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return predictions for pairs of these users and items."""
        return self.predictor.predict(self.numbers[np.asarray(users)], items)

    def _facts(self) -> dict[str, object]:
        return {"users": self.numbers.size}


class PartReport(TypedDict):
    """A report on a written part, as executors return it."""

    part: int
    records: int
    n_values: int
    # Users whose row has at least `FEWEST_RATINGS` values
    n_long: int
    # Bits of the published items that occur in it
    present: bytes
    sha256: str
    bytes: int


# One row per part with a report, and one per class of its records.
_WRITTEN = (
    "part long, records long, n_values long, n_long long, present binary, sha256 string, "
    "bytes long, exact array<long>, digest binary, users long"
)
_REPORT = ("part", "records", "n_values", "n_long", "present", "sha256", "bytes", "exact")


class GroupWriter:
    """Writes the rows and the members of groups by executors; verifies both."""

    def __init__(
        self,
        users: DistributedUsers,
        numbered: NumberedUsers,
        groups: Callable[[], DistributedGroups],
        rows: GroupRows,
        rows_of: Callable[[], "DataFrame"] | None = None,
        used: Callable[[int], Mapping[str, object]] | None = None,
    ) -> None:
        self._users = users
        self._numbered = numbered
        self._gather = groups
        self._rows = rows
        self._rows_of = rows_of or (lambda: numbered.frame.join(self.groups.frame, "number"))
        self._groups: DistributedGroups | None = None
        self._used = used
        self.exact_ratings: ExactRatings | None = None
        self.n_long = 0
        self.n_labels = 0

    @property
    def groups(self) -> DistributedGroups:
        """The groups, gathered at the first access."""
        if self._groups is None:
            self._groups = self._gather()
        return self._groups

    def write_ratings(
        self, published: Published, folder: Path, file_format: FileFormat, *, in_groups: bool
    ) -> Written:
        """Make and write the rows of each part in a task, and the list of classes."""
        del published, file_format  # `rows` has them
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
        written = self._users.keep(self._rows_of().groupBy("part").applyInArrow(work, _WRITTEN))
        reports = written.where("digest is null").select(*_REPORT).toArrow().to_pylist()
        reports.sort(key=lambda row: row["part"])
        self._reject_missing(reports, in_groups=in_groups)
        counts = _write_classes(written.where("digest is not null"), folder)
        remove_unfinished(folder)
        self.n_labels = sum(row["n_values"] for row in reports)
        self.n_long = sum(row["n_long"] for row in reports)
        if reports[0]["exact"]:
            numbers = np.sum([row["exact"] for row in reports], axis=0)
            self.exact_ratings = ExactRatingCounts(numbers, (rows.step or 0.0) / 2).shares()
        return describe_written(
            reports,
            rows.published.items,
            {
                "users": self._users.n_users,
                "records": sum(row["records"] for row in reports),
                "duplicates_dropped": 0,
                **counts,
            },
        )

    def _firsts(self, *, in_groups: bool) -> NDArray[np.int64]:
        """Return the number of records before each part."""
        return self.groups.firsts(in_groups=in_groups and self._rows.are_shared)

    def _reject_missing(self, reports: list[PartReport], *, in_groups: bool) -> None:
        """Raise unless each part is written with all its records."""
        in_one = in_groups and self._rows.are_shared
        expected = self.groups.groups if in_one else self.groups.users
        written = [(row["part"], row["records"]) for row in reports]
        if written != list(enumerate(expected.tolist())):
            raise RecveilError(
                f"{sum(n for _, n in written):,} records in {len(written):,} parts were written; "
                f"expected {expected.sum():,} in {expected.size:,}; run it again",
                code="spark.parts-missing",
            )

    def write_users(self, release: Sides, folder: Path, layout: str) -> Mapping[str, object]:
        """Write the private parts, which map users to records, and what rows reveal."""
        groups, in_groups = self.groups, layout == "groups"
        work = of_table(
            _write_members,
            # Ids and groups suffice.
            published=bare(release.published),
            parts=groups.parts,
            firsts=self._firsts(in_groups=in_groups),
            secret=groups.secret,
            in_one=in_groups and self._rows.are_shared,
            folder=str(folder),
        )
        joined = self._numbered.frame.select("number", "user").join(groups.frame, "number")
        written = joined.groupBy("part").applyInArrow(work, "part long").toArrow()
        remove_unfinished(folder)
        n = groups.parts.size
        require_parts(written["part"].to_pylist(), n)
        lone_ratings = (
            {} if self.exact_ratings is None else {"lone_ratings": self.exact_ratings._asdict()}
        )
        used = {} if self._used is None else {"settings": self._used(self.n_labels)}
        return {PARTS: n, **lone_ratings, **used}

    def verify(self, folder: Path, private: Path) -> Verification:
        """Verify what was written."""
        spark = self._users.frame.sparkSession
        return check_by_executors(spark, folder, private=private)


def bare(published: Published) -> Published:
    """Return the published side without what only the driver calls."""
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
    """Write one part; return a report on it, and the class of each record."""
    part = int(np.searchsorted(parts, table["part"][0].as_py()))
    blocks, exact = rows.of(table, part, secret)
    classes: Counter[bytes] = Counter()
    about = rows.published.claim.about

    def noted() -> Iterator[Records]:
        for block in blocks:
            sizes = block.sizes.tolist()
            for digest, size in zip(about.digests(block, keys), sizes, strict=True):
                classes[digest] += size
            yield block

    first = int(firsts[part])
    report = write_part(rows.published, noted(), folder, part, in_groups=in_groups, first=first)
    return _as_rows({**report, "exact": exact}, classes)


def _as_rows(reports: Mapping[str, object], classes: Counter[bytes]) -> pa.Table:
    """Return one row with the report on a part, and one per class of records."""
    n = len(classes)
    types = {
        "part": pa.int64(),
        "records": pa.int64(),
        "n_values": pa.int64(),
        "n_long": pa.int64(),
        "present": pa.binary(),
    }
    types |= {"sha256": pa.string(), "bytes": pa.int64(), "exact": pa.list_(pa.int64())}
    columns = {name: pa.array([reports[name]] + [None] * n, kind) for name, kind in types.items()}
    columns["digest"] = pa.array([None, *classes], pa.binary())
    columns["users"] = pa.array([None, *classes.values()], pa.int64())
    return pa.table(columns)


def _write_classes(records: "DataFrame", folder: Path) -> dict[str, int]:
    """Write the list of classes from consecutive pieces; return their counts."""
    from pyspark.sql import functions as sql

    classes = records.groupBy("digest").agg(sql.sum("users").alias("users"))
    counted = classes.agg(
        sql.count(sql.lit(1)).alias("classes"),
        sql.sum((sql.col("users") == 1).cast("long")).alias("singletons"),
    ).first()
    listed = classes.select(sql.lower(sql.hex("digest")).alias("digest"), "users")
    work = partial(_write_piece, folder=str(folder))
    written = listed.orderBy("digest").mapInArrow(work, "piece long").toArrow()
    with (folder / CLASSES).open("wb") as whole:
        whole.write(class_list({}))
        for piece in sorted(written["piece"].to_pylist()):
            with (folder / _piece_name(piece)).open("rb") as part:
                shutil.copyfileobj(part, whole)
    return {name: int((counted and counted[name]) or 0) for name in ("classes", "singletons")}


def _piece_name(number: int) -> str:
    return f"{UNFINISHED}classes-{number:07d}"


def _write_piece(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Write the classes of a partition as lines."""
    number = partition_number()
    schema = pa.schema({"digest": pa.string(), "users": pa.int64()})
    plain = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    with (
        replace_part(folder, _piece_name(number)) as file,
        pa_csv.CSVWriter(str(file), schema, write_options=plain) as writer,
    ):
        for batch in batches:
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
    yield pa.RecordBatch.from_pydict({"piece": [number]})


def _write_members(
    table: pa.Table,
    published: Published,
    parts: NDArray[np.int64],
    firsts: NDArray[np.int64],
    secret: tuple[int, ...],
    in_one: bool,
    folder: str,
) -> pa.Table:
    """Write the private part that maps users to records."""
    part = int(np.searchsorted(parts, table["part"][0].as_py()))
    table, groups = in_published_order(table, part, secret)
    first = int(firsts[part])
    n_records = groups.sizes.size if in_one else groups.members.size
    names = np.array(published.pseudonyms(first, first + n_records), dtype=object)
    if in_one:
        names = np.repeat(names, groups.sizes)
    members = pa.table(
        {"user_id": table["user"].cast(pa.string()), "published_id": pa.array(names)}
    )
    with replace_part(folder, part_name(part, "assignment")) as file:
        pq.write_table(members, file)
    return pa.table({"part": [part]})


# Prefix of incomplete files, which no file of a release has.
UNFINISHED = ".unfinished-"


def write_part(
    published: Published,
    blocks: Iterator[Records],
    folder: str,
    part: int,
    *,
    in_groups: bool,
    first: int,
) -> PartReport:
    """Write the records of a part, numbered from `first`; return a report on its file."""
    present = np.zeros(published.items.size, bool)
    counts = {"records": 0, "n_values": 0, "n_long": 0}

    def noted() -> Iterator[Records]:
        for block in blocks:
            present[block.indices] = True
            counts["n_long"] += int(block.sizes[np.diff(block.indptr) >= FEWEST_RATINGS].sum())
            yield block

    def pieces() -> Iterator[pa.Table]:
        for piece, n in tables(published, noted(), in_groups=in_groups, n_before=first):
            counts["records"] += n
            counts["n_values"] += piece.num_rows
            yield piece

    with replace_part(folder, part_name(part)) as file:
        with rating_writer(file, "parquet", published, in_groups=in_groups) as writer:
            for piece in evenly(pieces()):
                writer.write_table(piece)
        entry = FileEntry.of(file)
    return {
        "part": part,
        "records": counts["records"],
        "n_values": counts["n_values"],
        "n_long": counts["n_long"],
        "present": np.packbits(present).tobytes(),
        "sha256": entry.sha256,
        "bytes": entry.bytes,
    }


def describe_written(
    reports: list[PartReport], items: NDArray[Any], counts: Mapping[str, int]
) -> Written:
    """Combine the reports on all parts."""
    present = np.zeros(items.size, bool)
    for row in reports:
        bits = np.frombuffer(row["present"], np.uint8)
        present |= np.unpackbits(bits, count=items.size).astype(bool)
    return Written(
        files={part_name(row["part"]): FileEntry(row["sha256"], row["bytes"]) for row in reports},
        counts={
            "values": sum(row["n_values"] for row in reports),
            "items": int(present.sum()),
            SHORT_USERS: counts["users"] - sum(row["n_long"] for row in reports),
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
