"""Numbered ratings: a table in Spark in the order that `Ratings` has, asked for by position."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.ratings.times import whole_days
from recveil.spark.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Ratings of one partition, about.
_RATINGS_OF_A_PARTITION = 1 << 20
_NUMBERED = "record int, item int, rating float, day int"
_TALLIED = "part int, ratings long, activity binary"
_FETCHED = "place long, item int, rating float, day int"


class NumberedRatings:
    """Ratings among executors, each at its place; what `Ratings` is asked for, but for its arrays.

    The columns `indices`, `values` and `days` are asked for some places at a time. What was asked
    for is remembered: the rows of those who are looked for. Here stands how many ratings each
    person has, and nothing else that grows with people.

    Parameters
    ----------
    lake : Lake
    frame : DataFrame
        The columns `record` (counted within the partition), `item`, `rating` and `day`, in order.
    activity : ndarray of int64, shape (n_users,)
    support : ndarray of int64, shape (n_items,)
    first_places, first_records : ndarray of int64, shape (n_partitions,)
        The place of the first rating of each partition, and the position of its first person.
    """

    def __init__(
        self,
        lake: Lake,
        frame: "DataFrame",
        activity: NDArray[np.int64],
        support: NDArray[np.int64],
        first_places: NDArray[np.int64],
        first_records: NDArray[np.int64],
    ) -> None:
        self.frame = frame
        self.scale, self.items, self.levels = lake.scale, lake.items, lake.values
        self.activity, self.support = activity, support
        self.indptr = np.concatenate([[0], np.cumsum(activity)]).astype(np.int64)
        self.first_places, self.first_records = first_places, first_records
        self.indices = FarColumn(self, "item")
        self.values = FarColumn(self, "rating")
        self.days = FarColumn(self, "day") if "time" in lake.rows.columns else None
        self._places = np.empty(0, np.int64)
        self._held: dict[str, NDArray[Any]] = {}

    n_users = property(lambda self: self.activity.size, doc="Number of users.")
    n_items = property(lambda self: self.support.size, doc="Number of items.")
    n_ratings = property(lambda self: int(self.indptr[-1]), doc="Number of ratings.")
    is_unary = property(lambda self: self.scale.unary, doc="Whether they are likes.")

    @property
    def density(self) -> float:
        """Share of the user × item cells that carry a rating, between 0 and 1."""
        return float(self.n_ratings / max(1, self.n_users * self.n_items))

    def fetch(self, places: NDArray[np.int64], name: str) -> NDArray[Any]:
        """Return what a column has at some places."""
        missing = np.setdiff1d(places, self._places)
        if missing.size or not self._held:
            work = partial(_fetched, places=missing, first_places=self.first_places)
            found = self.frame.mapInArrow(work, _FETCHED).toArrow()
            if found.num_rows != missing.size:
                raise RecveilError(
                    f"{found.num_rows:,} of {missing.size:,} ratings were found again; the table "
                    f"changed meanwhile: run it again on one that rests",
                    code="input.changed",
                )
            self._remember(found)
        return self._held[name][np.searchsorted(self._places, places)]

    def _remember(self, found: pa.Table) -> None:
        new = {name: found[name].to_numpy() for name in ("item", "rating", "day")}
        places = np.concatenate([self._places, found["place"].to_numpy()])
        order = np.argsort(places)
        self._places = places[order]
        self._held = {
            name: np.concatenate([self._held.get(name, column[:0]), column])[order]
            for name, column in new.items()
        }

    def __repr__(self) -> str:
        return f"NumberedRatings({self.n_users:,} people, {self.n_items:,} items)"


class FarColumn:
    """A column that is asked for some places at a time.

    Parameters
    ----------
    ratings : NumberedRatings
    name : str
    """

    def __init__(self, ratings: NumberedRatings, name: str) -> None:
        self._ratings, self._name = ratings, name

    def __getitem__(self, places: NDArray[np.int64]) -> NDArray[Any]:
        return self._ratings.fetch(np.asarray(places, np.int64), self._name)

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise RecveilError(
            "an adversary who is off by nearly half of the scale, and wrong sometimes: not by "
            "Spark where the ratings do not fit here; give another rating_error (--rating-error)",
            code="option.unsupported",
        )

    def __repr__(self) -> str:
        return f"FarColumn({self._name!r})"


def number_ratings(lake: Lake, *, users_are_whole: bool) -> NumberedRatings:
    """Sort the ratings of a table among executors, and number people and ratings.

    Parameters
    ----------
    lake : Lake
    users_are_whole : bool
        Whether ids of users are whole numbers, and follow each other as such; else as text.

    Raises
    ------
    RecveilError
        If somebody rated an item more than once.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as sql

    spark = lake.rows.sparkSession
    places = pa.table({"item": lake.raw, "place": lake.codes.astype(np.int32)})
    time = sql.col("time") if "time" in lake.rows.columns else sql.lit(0)
    user = sql.col("user").cast("long") if users_are_whole else sql.col("user")
    n_parts = -(-lake.n_ratings // _RATINGS_OF_A_PARTITION) + 1
    frame = (
        lake.rows.join(sql.broadcast(spark.createDataFrame(places)), "item")
        .select(user.alias("user"), "place", "rating", time.alias("time"))
        .repartitionByRange(n_parts, "user")
        .sortWithinPartitions("user", "place")
        .mapInArrow(_numbered, _NUMBERED)
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    rows = frame.mapInArrow(_tallied, _TALLIED).toArrow().sort_by("part").to_pylist()
    if frame.select("rating").distinct().count() > lake.values.size:
        raise RecveilError(
            "ratings with more than 1,000 different values: not by Spark where they do not fit "
            "here; round them",
            code="rating.too-many-values",
        )
    counts = frame.groupBy("item").count().toArrow()
    support = np.zeros(lake.items.size, np.int64)
    support[counts["item"].to_numpy()] = counts["count"].to_numpy()
    of_parts = [np.frombuffer(row["activity"], np.int32) for row in rows]
    n_partitions = 1 + max(row["part"] for row in rows)
    people, ratings = np.zeros(n_partitions, np.int64), np.zeros(n_partitions, np.int64)
    for row, activity in zip(rows, of_parts, strict=True):
        people[row["part"]], ratings[row["part"]] = activity.size, row["ratings"]
    return NumberedRatings(
        lake,
        frame,
        np.concatenate(of_parts).astype(np.int64),
        support,
        np.cumsum(ratings) - ratings,
        np.cumsum(people) - people,
    )


def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give each person of a partition, whose rows are sorted, a number."""
    last_user, last_place, number = None, -1, -1
    for batch in batches:
        if not batch.num_rows:
            continue
        users, places = batch.column("user"), batch.column("place").to_numpy()
        begins = np.ones(len(users), bool)
        begins[1:] = pc.not_equal(users[1:], users[:-1]).to_numpy(zero_copy_only=False)
        begins[0] = users[0] != last_user
        before = np.concatenate([[last_place], places[:-1]])
        if (~begins & (places <= before)).any():
            raise RecveilError(
                "somebody rated an item more than once; duplicates (--duplicates) are not settled "
                "by Spark: leave one rating of each user and item",
                code="rating.duplicate",
            )
        records = number + np.cumsum(begins)
        yield pa.RecordBatch.from_pydict(
            {
                "record": pa.array(records, pa.int32()),
                "item": pa.array(places, pa.int32()),
                "rating": batch.column("rating").cast(pa.float32()),
                "day": pa.array(_days(batch.column("time")), pa.int32()),
            }
        )
        last_user, last_place, number = users[-1], int(places[-1]), int(records[-1])


def _days(times: pa.Array) -> NDArray[np.int64]:
    """Return the days of Unix times in seconds, dates or timestamps."""
    if pa.types.is_integer(times.type):
        return times.to_numpy().astype(np.int64) // 86_400
    return whole_days(pa.chunked_array([times]))


def _tallied(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the ratings of a partition, and those of each of its people."""
    counts: list[NDArray[np.int64]] = []
    for batch in batches:
        counts.append(batch.column("record").to_numpy())
    records = np.concatenate(counts) if counts else np.empty(0, np.int32)
    if records.size:
        activity = np.bincount(records).astype(np.int32)
        row = {"part": part_number(), "ratings": records.size, "activity": activity.tobytes()}
        yield pa.RecordBatch.from_pylist([row], pa.schema(_TALLIED_TYPES))


_TALLIED_TYPES = [("part", pa.int32()), ("ratings", pa.int64()), ("activity", pa.binary())]


def part_number() -> int:
    """Return the number of the partition that is worked on, in an executor."""
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        raise RecveilError(
            "no task of Spark runs here; call it from an executor", code="internal.fault"
        )
    return int(task.partitionId())


def _fetched(
    batches: Iterator[pa.RecordBatch], places: NDArray[np.int64], first_places: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """Yield those of a partition's ratings that are asked for."""
    at: int | None = None
    for batch in batches:
        at = int(first_places[part_number()]) if at is None else at
        asked = slice(*np.searchsorted(places, [at, at + batch.num_rows]))
        here = pa.array(places[asked] - at)
        columns = [batch.column(name).take(here) for name in ("item", "rating", "day")]
        yield pa.RecordBatch.from_arrays(
            [pa.array(places[asked]), *columns], ["place", "item", "rating", "day"]
        )
        at += batch.num_rows
