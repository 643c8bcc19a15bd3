"""Synthetic users, sampled by executors from noisy sums over the users."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.methods.base import check_seed, seed_or_random
from recveil.methods.release_summary import ReleaseSummary, SyntheticSummary
from recveil.methods.synthetic.options import check_synthetic_options, parse_epsilon
from recveil.methods.synthetic.sum_queries import Public
from recveil.methods.synthetic.synthesizer import Synthesizer, reject_few
from recveil.methods.synthetic.user_model import SampledBatches
from recveil.publish.folder import Written
from recveil.publish.history import Promised
from recveil.publish.privacy_ledger import PrivacyTotal, hash_users
from recveil.release.manifest import part_name
from recveil.release.private_folder import PARTS
from recveil.release.records import Groups
from recveil.release.sides import FileFormat, Private, Published, Sides
from recveil.runtime.errors import RecveilError
from recveil.spark.group_rows import (
    describe_written,
    remove_unfinished,
    replace_part,
    require_parts,
    write_part,
)
from recveil.spark.input import Lake
from recveil.spark.users import (
    DistributedUsers,
    QueriedItemSums,
    ReleasePlan,
    distribute_users,
    partition_number,
)
from recveil.spark.verification import check_by_executors
from recveil.verification import Verification

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SyntheticMaking:
    """Samples synthetic users from a model that is fitted to noisy sums."""

    def __init__(self, k: int | None, options: Mapping[str, Any], seed: int | None) -> None:
        del k  # the claim is differential privacy, which has no k
        self._maker = _synthesizer(options, seed)

    def gather(self, lake: Lake) -> tuple[DistributedUsers, Callable[[], ReleasePlan]]:
        """Gather users on the queried items."""
        maker = self._maker
        maker.check_scale(lake.scale)
        maker.check_items(lake.items)
        public, items, places = maker.public_items(lake.items)
        users = distribute_users(lake, QueriedItemSums(items, places, public.most_items))
        if maker.epsilon is None:
            reject_few(users.n_users)
            if not lake.scale.unary and lake.values.size == 1:
                raise RecveilError(
                    f"all ratings are {lake.values[0]:g}: likes, not supported yet as ratings; "
                    f"read them as likes (--likes), without a scale",
                    code="table.kind",
                )
        return users, lambda: self._make(users, public, items)

    def privacy_total(
        self, users: DistributedUsers, history: Iterable[Promised]
    ) -> PrivacyTotal | None:
        """Return what all recorded runs on these users and this one spend."""
        hashes = partial(_hash_by_executors, users)
        total = self._maker.privacy_total(hashes, history=history)
        return total and replace(total, n_users=users.n_users)

    def _make(self, users: DistributedUsers, public: Public, items: NDArray[Any]) -> ReleasePlan:
        maker = self._maker
        recording = maker.recording(partial(_hash_by_executors, users))
        model = maker.learn(users, public, items, users.n_users, recording)
        batches = SampledBatches.of(maker.drawn(model))
        published = maker.published(model, batches)
        private = Private(
            *(np.empty(0), Groups.empty(), maker.seed, maker.used(model)),
            record_output=None if recording is None else recording.place,
        )
        release = Sides(published, private)
        by = SyntheticWriter(users.frame.sparkSession, users, batches)
        summary = ReleaseSummary(published, SyntheticSummary.of(release))
        return ReleasePlan(release, by, lambda: summary)


def _hash_by_executors(users: DistributedUsers, key: bytes) -> NDArray[np.uint64]:
    """Return the keyed hashes of all users, for the ledger: 8 bytes each."""
    work = partial(_hash_batches, key=key)
    hashed = users.frame.select("user").mapInArrow(work, "hash long").toArrow()
    return hashed["hash"].to_numpy().view(np.uint64)


def _hash_batches(batches: Iterator[pa.RecordBatch], key: bytes) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        hashes = hash_users(batch.column(0).cast(pa.string()).to_pylist(), key)
        yield pa.RecordBatch.from_pydict({"hash": hashes.view(np.int64)})


def _synthesizer(options: Mapping[str, Any], seed: int | None) -> Synthesizer:
    """Return the synthesizer; raise if its options are inconsistent."""
    check_synthetic_options(options)
    epsilon = parse_epsilon(options["epsilon"])
    others = {name: value for name, value in options.items() if name != "epsilon"}
    if epsilon is not None and seed is not None:
        raise RecveilError(
            "seed (--seed): with epsilon (--epsilon) the noise must be secret, as an adversary who "
            "guesses the seed removes the noise; leave it out",
            code="option.conflict",
        )
    check_seed(seed)
    maker = Synthesizer(epsilon, seed=seed_or_random(seed) if epsilon is None else None, **others)
    maker.check_options()
    return maker


_WRITTEN = (
    "part long, records long, n_values long, n_long long, present binary, sha256 string, bytes long"
)


class SyntheticWriter:
    """Writes synthetic users and the private list of real users by executors; verifies both."""

    def __init__(
        self, spark: "SparkSession", users: DistributedUsers, sampled: SampledBatches
    ) -> None:
        self._spark = spark
        self._users = users
        self._sampled = sampled
        self.n_long = 0

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
        bare = replace(
            published, blocks=self._sampled.blocks, model=None, expect=None, answers=None
        )
        work = partial(_write_batches, published=bare, sampled=self._sampled, folder=str(folder))
        rows = self._spark.range(0, n, 1, n).mapInArrow(work, _WRITTEN).toArrow().to_pylist()
        rows.sort(key=lambda row: row["part"])
        remove_unfinished(folder)
        require_parts([row["part"] for row in rows], n)
        n_users = sum(row["records"] for row in rows)
        self.n_long = sum(row["n_long"] for row in rows)
        return describe_written(rows, published.items, {"users": n_users})

    def write_users(self, release: Sides, folder: Path, layout: str) -> Mapping[str, object]:
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
