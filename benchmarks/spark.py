"""Drawn people by Spark beside the local engine: time, bytes shuffled, and what a plan foretold.

python benchmarks/spark.py --millions 1 10                      invented ratings, on local[2]
python benchmarks/spark.py --millions 1 --master spark://host:7077
python benchmarks/spark.py --movielens ml-100k/u.data           what releases of both are worth
python benchmarks/spark.py --movielens ml-100k/u.data --k 5     the same of rows of groups

Needs pip install "recveil[spark]" and Java. The invented table keeps its 17,770 items (--items)
and 209 ratings a person at every size. Each engine runs in a process of its own. The seconds and
bytes of each phase at the first size give what `spark_plan` foretells of the others.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from spark_plan import PHASES, Size, foretold

from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale

USERS, RATINGS = 480_189, 100_480_507
STARS = RatingScale(1, 5, 1)
OPTIONS: dict[str, Any] = {"epsilon": 20.0, "catalogue": "as-rated", "scale": STARS, "force": True}


def main() -> None:
    """Read the options; measure, or let children measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--millions", type=int, nargs="+", default=[1], help="of ratings")
    parser.add_argument("--items", type=int, default=17_770, help="of the invented tables")
    parser.add_argument("--master", default="local[2]", help="where Spark runs")
    parser.add_argument("--memory", default="2g", help="of Spark's driver")
    parser.add_argument("--folder", type=Path, help="keep the data here; temporary if not given")
    parser.add_argument("--movielens", type=Path, help="compare what releases of it are worth")
    parser.add_argument("--k", type=int, help="groups of k, in the stand of drawn people")
    parser.add_argument("--homogenize", default="padded", help="with --k: padded or simple")
    parser.add_argument("--seeds", type=int, default=5, help="releases of it by each engine")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)  # what a child is asked
    options = parser.parse_args()
    if options.measure:
        engine, table = options.measure
        print(json.dumps(MEASURES[engine](Path(table), options)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if options.movielens:
            compare_worth(options.movielens, folder, options)
        else:
            compare_time(folder, options)


def compare_time(folder: Path, options: argparse.Namespace) -> None:
    """Measure both engines at all sizes, and say what the first foretold of the others."""
    first: tuple[Size, dict[str, Any]] | None = None
    for millions in options.millions:
        table = folder / f"ratings-{millions}.parquet"
        if not table.exists():
            invent(table, millions, options.items)
        here, there = (asked(engine, table, options) for engine in ("local", "spark"))
        size = Size(**there["size"])
        print(f"\n{millions} million ratings, {size.people:,} people, {size.items:,} items")
        print(f"local: {here['seconds']:.0f} s, {here['gigabytes']:.1f} GB")
        print(f"Spark ({options.master}): {there['seconds']:.0f} s")
        first = first or (size, there)
        told = foretold(*first, size)
        print("{:<10}{:>10}{:>12}{:>12}{:>14}".format("phase", "s", "foretold", "MB", "foretold"))
        for phase in PHASES:
            found = there["phases"][phase]
            row = found["seconds"], told[phase].seconds, found["bytes"] / 1e6
            print(
                "{:<10}{:>10.1f}{:>12.1f}{:>12.1f}{:>14.1f}".format(
                    phase, *row, told[phase].bytes / 1e6
                )
            )
    if first is None:
        return
    largest = Size(people=10**9, items=10**7, ratings=10**11, pairs=10_000, tasks=2_000)
    print("\n10^9 people, 10^7 items, 10^11 ratings, 1,000 cores")
    for phase, cost in foretold(*first, largest, cores=1_000).items():
        print(f"{phase:<10}{cost.seconds / 3600:>12.2f} h{cost.bytes / 1e12:>12.3f} TB")


def invent(table: Path, millions: int, n_items: int) -> None:
    """Write an invented table of the Netflix Prize's shape."""
    n_ratings = millions * 1_000_000
    n_users = round(USERS * n_ratings / RATINGS)
    ratings = make_ratings(n_users, n_items, n_ratings, seed=1, scale=STARS)
    pq.write_table(ratings.to_arrow().select(["user_id", "item_id", "rating"]), table)


def asked(engine: str, table: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Let a child measure."""
    command = [sys.executable, __file__, "--measure", engine, str(table)]
    command += ["--master", options.master, "--memory", options.memory]
    done = subprocess.run(  # noqa: S603  # this file, and no shell
        command, stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure_local(table: Path, _: argparse.Namespace) -> dict[str, Any]:
    """Make a release in this process."""
    from recveil.anonymize import anonymize

    started = time.perf_counter()
    anonymize(table, table.with_suffix(".local"), **OPTIONS)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": time.perf_counter() - started, "gigabytes": peak}


def measure_spark(table: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Make a release by Spark, and say what each phase took."""
    from recveil.spark import anonymize, drawn_making, releasing
    from recveil.spark.part_writing import ByExecutors
    from recveil.spark.spread_people import SpreadPeople

    phases = Phases()
    releasing.lake_of = phases.of("look", releasing.lake_of)
    drawn_making.spread_people = phases.of("gather", drawn_making.spread_people)
    SpreadPeople.add_up = phases.of("sums", SpreadPeople.add_up)
    ByExecutors.write_ratings = phases.of("draw", ByExecutors.write_ratings)
    ByExecutors.write_people = phases.of("twin", ByExecutors.write_people)
    ByExecutors.verify = phases.of("check", ByExecutors.verify)
    with tempfile.TemporaryDirectory() as log:
        arguments = ["--driver-memory", options.memory, "--conf", "spark.eventLog.enabled=true"]
        arguments += ["--conf", "spark.eventLog.compress=false"]
        arguments += ["--conf", f"spark.eventLog.dir=file://{log}"]
        os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*arguments, "pyspark-shell"])
        started = time.perf_counter()
        made = anonymize(table, table.with_suffix(".spark"), master=options.master, **OPTIONS)
        seconds = time.perf_counter() - started
        phases.add_bytes(Path(log))
    known = sum(phase["seconds"] for phase in phases.found.values())
    phases.found["learn"] = {"seconds": seconds - known, "bytes": 0}
    told = made.release.published
    queries = {query.name: query.values for query in told.claim.ledger.queries}
    pairs = int(np.sqrt(2 * queries["moments"]))
    # As many as there are partitions of people, and two a core at most.
    tasks = min(-(-made.n_ratings // 2**20) + 1, 4)
    size = {
        "people": made.n_people,
        "items": made.n_items,
        "ratings": made.n_ratings,
        "pairs": pairs,
        "tasks": tasks,
    }
    return {"seconds": seconds, "phases": phases.found, "size": size}


class Phases:
    """Seconds and shuffled bytes of the parts of a run."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}
        self._spans: list[tuple[str, float, float]] = []

    def of(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that notes how long it works."""

        def noted(*given: Any, **named: Any) -> Any:
            began = time.time()
            try:
                return function(*given, **named)
            finally:
                ended = time.time()
                phase = self.found.setdefault(name, {"seconds": 0.0, "bytes": 0})
                phase["seconds"] += ended - began
                self._spans.append((name, began, ended))

        return noted

    def add_bytes(self, log: Path) -> None:
        """Add what each stage shuffled, by the log of Spark's events."""
        for file in log.rglob("*"):
            for line in file.read_text().splitlines() if file.is_file() else ():
                if '"SparkListenerTaskEnd"' in line:
                    self._add(json.loads(line))

    def _add(self, event: dict[str, Any]) -> None:
        wrote = event.get("Task Metrics", {}).get("Shuffle Write Metrics", {})
        at = event["Task Info"]["Finish Time"] / 1000
        for name, began, ended in self._spans:
            if began <= at <= ended + 0.5:
                self.found[name]["bytes"] += wrote.get("Shuffle Bytes Written", 0)
                return


MEASURES = {"local": measure_local, "spark": measure_spark}


def compare_worth(file: Path, folder: Path, options: argparse.Namespace) -> None:
    """Compare what recipients get from releases of either engine, made by the same rule."""
    from recveil.anonymize import PredictiveAnonymizer, Synthesizer
    from recveil.evaluate import Evaluator, split_ratings
    from recveil.io import read_ratings
    from recveil.spark import anonymize
    from recveil.spark.spark_session import spark_session

    split = split_ratings(read_ratings(file, scale=STARS), share=0.2, seed=1)
    evaluator = Evaluator(split, with_membership=False, n_targets=50)
    found: dict[str, list[tuple[float, float]]] = {"local": [], "spark": []}
    given: dict[str, Any] = {"epsilon": "none", "catalogue": "as-rated"}
    if options.k:
        given = {"k": options.k, "homogenize": options.homogenize}
    with spark_session(options.master) as session:
        for seed in range(options.seeds):
            if options.k:
                maker: Any = PredictiveAnonymizer(options.k, options.homogenize, seed=seed)
            else:
                maker = Synthesizer(None, catalogue="as-rated", seed=seed)
            maker.anonymize(split.train).write(folder / f"local-{seed}", allow_large=True)
            frame = session.createDataFrame(_columns(split.train))
            there = folder / f"spark-{seed}"
            anonymize(frame, there, seed=seed, scale=STARS, allow_large=True, **given)
    for seed in range(options.seeds):
        for engine, results in found.items():
            worth = evaluator.evaluate(folder / f"{engine}-{seed}").to_json()
            results.append(_served(worth))
            print(engine, seed, results[-1], flush=True)
    for at, name in enumerate(("RMSE", "nDCG@10")):
        means = {engine: np.mean([each[at] for each in all_]) for engine, all_ in found.items()}
        differs = means["spark"] / means["local"] - 1
        print(f"{name}: local {means['local']:.4f}, Spark {means['spark']:.4f} ({differs:+.2%})")


def _columns(ratings: Ratings) -> Any:
    return ratings.to_arrow().select(["user_id", "item_id", "rating"])


def _served(worth: dict[str, Any]) -> tuple[float, float]:
    best = worth["recipient"]["best"]["release"]
    return best["rmse"], best["ndcg@10"]


if __name__ == "__main__":
    main()
