"""Releases by Spark next to the local engine: time, bytes shuffled, and what a plan foretold.

python benchmarks/spark.py --millions 1 10                           invented ratings, on local[2]
python benchmarks/spark.py --release simple k-corating --millions 1 10
python benchmarks/spark.py --cluster                                 two workers, of this machine
python benchmarks/spark.py --master spark://host:7077 --engines spark

Needs pip install "recveil[spark]" and Java. The invented table keeps its 17,770 items (--items)
and 209 ratings a user at every size. Each engine runs in a process of its own, and verifies its
release. The seconds and bytes of each phase at the first size give what `spark_plan` foretells of
the others, and those at the last one what it foretells of a table for a thousand cores.
`spark_worth.py` compares what releases are worth. The largest process of a cluster is
looked for among the driver's alone.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from spark_plan import PHASES, Size, predicted

from recveil.datasets import make_ratings
from recveil.ratings import RatingScale

USERS, RATINGS = 480_189, 100_480_507
STARS = RatingScale(1, 5, 1)
RELEASES: dict[str, dict[str, Any]] = {
    "drawn": {"epsilon": 20.0, "item_catalog": "as-rated", "ledger": "none"},
    "simple": {"k": 5, "method": "predictive", "homogenize": "simple"},
    "padded": {"k": 5, "method": "predictive"},
    "k-corating": {"k": 5, "method": "k-corating"},
    "sparse": {"k": 5, "method": "sparse"},
}
ALWAYS: dict[str, Any] = {"scale": STARS, "force": True, "allow_large": True}


def main() -> None:
    """Read the options; measure, or let children measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", nargs="+", default=["drawn"], choices=RELEASES)
    parser.add_argument("--millions", type=int, nargs="+", default=[1], help="of ratings")
    parser.add_argument("--items", type=int, default=17_770, help="of the invented tables")
    parser.add_argument("--master", default="local[2]", help="where Spark runs")
    parser.add_argument(
        "--cluster", action="store_true", help="begin two workers, of one core each"
    )
    parser.add_argument("--memory", default="2g", help="of Spark's driver, and of each worker")
    parser.add_argument("--engines", nargs="+", default=["local", "spark"], choices=MEASURES)
    parser.add_argument("--folder", type=Path, help="keep the data here; temporary if not given")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)  # what a child is asked
    options = parser.parse_args()
    if options.measure:
        engine, kind, table = options.measure
        print(json.dumps(MEASURES[engine](kind, Path(table), options)))
        return
    with tempfile.TemporaryDirectory() as temporary, cluster_of(options, Path(temporary)):
        for kind in options.release:
            compare(kind, options.folder or Path(temporary), options)


@contextmanager
def cluster_of(options: argparse.Namespace, folder: Path) -> Iterator[None]:
    """Begin the cluster that was asked for, the one of the tests, and let children find it."""
    if not options.cluster:
        yield
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "spark"))
    from standalone_cluster import cluster_in

    with cluster_in(folder / "cluster", options.memory) as cluster:
        options.master = cluster.master
        os.environ |= cluster.environment
        yield


def compare(kind: str, folder: Path, options: argparse.Namespace) -> None:
    """Measure both engines at all sizes, and say what the first foretold of the others."""
    first: tuple[Size, dict[str, Any]] | None = None
    for millions in options.millions:
        table = folder / f"ratings-{millions}.parquet"
        if not table.exists():
            invent(table, millions, options.items)
        print(f"\n{kind}: {millions} million ratings", flush=True)
        for engine in options.engines:
            found = asked(engine, kind, table, options)
            print(
                f"{engine}: {found['seconds']:.0f} s, verified in {found['verified']:.0f} s, "
                f"{found['gigabytes']:.1f} GB in the largest process, {found['labels']:,} labels",
                flush=True,
            )
            if engine == "spark":
                size = Size(**found["size"])
                first = first or (size, found)
                show(kind, first, size, found)
                last = size, found
    if first is None:
        return
    pairs = 10_000 if kind == "drawn" else 0
    largest = Size(users=10**9, items=10**7, ratings=10**11, pairs=pairs, tasks=2_000)
    print("\n10^9 people, 10^7 items, 10^11 ratings, 1,000 cores")
    for phase, cost in predicted(kind, *last, largest, cores=1_000).items():
        print(f"{phase:<10}{cost.seconds / 3600:>12.2f} h{cost.bytes / 1e12:>12.3f} TB")


def show(kind: str, first: tuple[Size, dict[str, Any]], size: Size, found: dict[str, Any]) -> None:
    """Print what each phase took, and what was foretold of it."""
    print(f"{size.users:,} people, {size.items:,} items")
    result = predicted(kind, *first, size)
    print("{:<10}{:>10}{:>12}{:>12}{:>14}".format("phase", "s", "foretold", "MB", "foretold"))
    for phase in PHASES[kind]:
        took = found["phases"].get(phase, {"seconds": 0.0, "bytes": 0})
        row = took["seconds"], result[phase].seconds, took["bytes"] / 1e6, result[phase].bytes / 1e6
        print("{:<10}{:>10.1f}{:>12.1f}{:>12.1f}{:>14.1f}".format(phase, *row), flush=True)
    print(f"{'else':<10}{found['else']:>10.1f}", flush=True)


def invent(table: Path, millions: int, n_items: int) -> None:
    """Write an invented table of the Netflix Prize's shape."""
    n_ratings = millions * 1_000_000
    n_users = round(USERS * n_ratings / RATINGS)
    ratings = make_ratings(n_users, n_items, n_ratings, seed=1, scale=STARS)
    pq.write_table(ratings.to_arrow().select(["user_id", "item_id", "rating"]), table)


def asked(engine: str, kind: str, table: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Let a child measure."""
    command = [sys.executable, __file__, "--measure", engine, kind, str(table)]
    command += ["--master", options.master, "--memory", options.memory]
    done = subprocess.run(  # noqa: S603  # this file, and no shell
        command, stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure_local(kind: str, table: Path, _: argparse.Namespace) -> dict[str, Any]:
    """Make a release in this process."""
    from recveil.methods import anonymize
    from recveil.verification import verify

    out = table.with_suffix(f".{kind}.local")
    started = time.perf_counter()
    anonymize(table, out, seed=_seed(kind), **RELEASES[kind], **ALWAYS)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _checked(out, {"seconds": seconds, "gigabytes": peak * 1024 / 1e9}, verify)


def measure_spark(kind: str, table: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Make a release by Spark, and say what each phase took."""
    from recveil.spark import anonymize, verify

    phases = Phases()
    watch(phases, kind)
    out = table.with_suffix(f".{kind}.spark")
    with tempfile.TemporaryDirectory() as log:
        arguments = ["--driver-memory", options.memory, "--conf", "spark.eventLog.enabled=true"]
        arguments += ["--conf", "spark.eventLog.compress=false"]
        arguments += ["--conf", f"spark.eventLog.dir=file://{log}"]
        os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*arguments, "pyspark-shell"])
        started = time.perf_counter()
        given = RELEASES[kind] | ALWAYS
        made = anonymize(table, out, seed=_seed(kind), master=options.master, **given)
        seconds = time.perf_counter() - started
        phases.add_bytes(Path(log))
        # Java has ended with its session, and Python's workers with it.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        found = {"seconds": seconds, "gigabytes": peak * 1024 / 1e9, **_of(made, kind)}
        found |= phases.result(seconds, "learn" if kind == "drawn" else "else")
        return _checked(out, found, lambda path: verify(path, master=options.master))


def _of(made: Any, kind: str) -> dict[str, Any]:
    """Return how large a table was, and how it was asked."""
    pairs = 0
    if kind == "drawn":
        queries = {query.name: query for query in made.release.published.claim.ledger.queries}
        pairs = int(np.sqrt(2 * queries["moments"].values))
    # As many as there are partitions of users, and two a core at most.
    tasks = min(-(-made.n_ratings // 2**20) + 1, 4)
    return {"size": Size(made.n_users, made.n_items, made.n_ratings, pairs, tasks)._asdict()}


def _seed(kind: str) -> int | None:
    """Return what is drawn by: with epsilon noise is drawn in secret."""
    return None if kind == "drawn" else 1


def _checked(out: Path, found: dict[str, Any], verify: Callable[[Path], Any]) -> dict[str, Any]:
    started = time.perf_counter()
    if not verify(out).holds:
        raise SystemExit(f"{out} does not hold")
    result = json.loads((out / "release.json").read_text())["counts"]["labels"]
    return found | {"verified": time.perf_counter() - started, "labels": result}


def watch(phases: "Phases", kind: str) -> None:
    """Note how long each phase works; of phases within each other, the inner one counts."""
    from recveil.spark import (
        _anonymize,
        group_making,
        group_rows,
        sparse,
        synthetic,
    )
    from recveil.spark import (
        group_making as corated_making,
    )
    from recveil.spark.group_rows import ItemMeans
    from recveil.spark.synthetic import SyntheticWriter
    from recveil.spark.users import DistributedUsers

    _anonymize.lake_of = phases.of("look", _anonymize.lake_of)
    for module in (synthetic, group_making):
        module.distribute_users = phases.of("gather", module.distribute_users)
    if kind == "drawn":
        DistributedUsers.add_up = phases.of("sums", DistributedUsers.add_up)
    for making in (group_making, sparse):
        making.learn_factors = phases.of("factors", making.learn_factors)
        making.refine_factors = phases.of("moves", making.refine_factors)
    sparse.learn_preferences = phases.of("embedding", sparse.learn_preferences)
    sparse.gather_clusters = phases.of("clusters", sparse.gather_clusters)
    sparse.learn_rule = phases.of("rule", sparse.learn_rule)
    group_making.gather_groups = phases.of("groups", group_making.gather_groups)
    corated_making.gather_corated = phases.of("groups", corated_making.gather_corated)
    ItemMeans.of = phases.of("means", ItemMeans.of)
    SyntheticWriter.write_ratings = phases.of("draw", SyntheticWriter.write_ratings)
    writers = SyntheticWriter, group_rows.GroupWriter
    writers[1].write_ratings = phases.of("rows", writers[1].write_ratings)
    for writer in writers:
        writer.write_users = phases.of("twin", writer.write_users)
        writer.verify = phases.of("check", writer.verify)


class Phases:
    """Seconds and shuffled bytes of the parts of a run."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}
        self._spans: list[tuple[str, float, float]] = []
        self._within = [0.0]  # seconds of phases within the one that works

    def of(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that notes how long it works."""

        def noted(*given: Any, **named: Any) -> Any:
            began = time.time()
            self._within.append(0.0)
            try:
                return function(*given, **named)
            finally:
                ended = time.time()
                own = ended - began - self._within.pop()
                self._within[-1] += ended - began
                self._note(name, own, began, ended)

        return noted

    def _note(self, name: str, seconds: float, began: float, ended: float) -> None:
        phase = self.found.setdefault(name, {"seconds": 0.0, "bytes": 0})
        phase["seconds"] += seconds
        self._spans.append((name, began, ended))

    def result(self, seconds: float, rest: str) -> dict[str, Any]:
        """Return what was found; what is left of all seconds is another phase."""
        known = sum(phase["seconds"] for phase in self.found.values())
        self.found[rest] = {"seconds": seconds - known, "bytes": 0}
        return {"phases": self.found, "else": self.found.get("else", {"seconds": 0.0})["seconds"]}

    def add_bytes(self, log: Path) -> None:
        """Add what each stage shuffled, by the log of Spark's events."""
        for file in log.rglob("*"):
            for line in file.read_text().splitlines() if file.is_file() else ():
                if '"SparkListenerTaskEnd"' in line:
                    self._add(json.loads(line))

    def _add(self, event: dict[str, Any]) -> None:
        wrote = event.get("Task Metrics", {}).get("Shuffle Write Metrics", {})
        at = event["Task Info"]["Finish Time"] / 1000
        # Those within others ended before them, and so come first.
        for name, began, ended in self._spans:
            if began <= at <= ended + 0.01:
                self.found[name]["bytes"] += wrote.get("Shuffle Bytes Written", 0)
                return


MEASURES = {"local": measure_local, "spark": measure_spark}


if __name__ == "__main__":
    main()
