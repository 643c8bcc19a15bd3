"""How good groups are, how long they take to form, and how much memory.

python benchmarks/groups.py ml-100k/u.data          the users of MovieLens 100K and invented rows
python benchmarks/groups.py --rows 60000 --clusters 1 --quadratic

Users are placed twice: by their factors as learned, and by the coordinates that
`PredictiveAnonymizer` groups, in which distances are those of padded rows.

Every measurement runs in a process of its own, so that the memory is the algorithm's alone; what
numba compiles is compiled before. Quiet cores give the shortest times. The peers come with
pip install "recveil[bench]".
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import recveil.clustering
from recveil.clustering import (
    MDAV,
    MHM,
    BisectingKGather,
    BoundedTMeans,
    KGather,
    KMember,
    PredictiveGrouping,
    RGather,
    UnionSplit,
    armse,
    group_sizes,
    maximum_radius,
    sse_ratio,
)
from recveil.clustering.r_gather import MOST_ROWS
from recveil.io import read_ratings
from recveil.predict import FunkSVD

Make = Callable[[int, int, int], Any]  # from rows, k and seed to a clusterer


class Algorithm(NamedTuple):
    """A clusterer, and whether its time is quadratic in the rows."""

    make: Make
    quadratic: bool


def constrained(n: int, k: int, seed: int) -> Any:
    """Make k-means by minimum-cost flow, with the sizes that our groups have; one start."""
    from k_means_constrained import KMeansConstrained

    return KMeansConstrained(
        n // k, size_min=k, size_max=2 * k - 1, n_init=1, random_state=seed, n_jobs=1
    )


def bisecting_means(n: int, k: int, seed: int) -> Any:
    """Make scikit-learn's bisecting k-means: as many groups, but nothing keeps them at k."""
    from sklearn.cluster import BisectingKMeans

    return BisectingKMeans(n // k, random_state=seed)


def ours(name: str) -> Make:
    """Return how to make a grouping of recveil with its defaults."""
    return lambda _, k, seed: getattr(recveil.clustering, name)(k, random_state=seed)


ALGORITHMS = {
    KGather.__name__: Algorithm(ours("KGather"), quadratic=False),
    BisectingKGather.__name__: Algorithm(ours("BisectingKGather"), quadratic=False),
    PredictiveGrouping.__name__: Algorithm(ours("PredictiveGrouping"), quadratic=False),
    MDAV.__name__: Algorithm(ours("MDAV"), quadratic=True),
    MHM.__name__: Algorithm(ours("MHM"), quadratic=True),
    RGather.__name__: Algorithm(ours("RGather"), quadratic=True),
    KMember.__name__: Algorithm(ours("KMember"), quadratic=True),
    UnionSplit.__name__: Algorithm(ours("UnionSplit"), quadratic=True),
    BoundedTMeans.__name__: Algorithm(ours("BoundedTMeans"), quadratic=True),
    "k-means-constrained": Algorithm(constrained, quadratic=True),
    "sklearn BisectingKMeans": Algorithm(bisecting_means, quadratic=False),
}

COLUMNS = (
    "k",
    "algorithm",
    "ARMSE",
    "SSE/SST",
    "to MDAV",
    "radius",
    "sizes",
    "wall s",
    "CPU s",
    "peak MB",
)
FORMAT = "{:>3}  {:<24}{:>9}{:>9}{:>9}{:>9}{:>10}{:>9}{:>9}{:>9}"


class Figures(NamedTuple):
    """What one measurement found: means over the seeds, but for the peak and the sizes."""

    armse: float
    sse_ratio: float
    radius: float
    smallest: int
    largest: int
    wall: float
    cpu: float
    peak: float


def main() -> None:
    """Read the options, measure each algorithm on both tables, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("movielens", nargs="?", help="u.data of MovieLens 100K; left out if absent")
    parser.add_argument("--rows", type=int, default=480_189, help="invented rows; 0 for none")
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5, 10, 50])
    parser.add_argument("--seeds", type=int, default=3, help="runs on MovieLens; others run once")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=int, default=900, help="most seconds of a measurement")
    parser.add_argument("--only", nargs="+", choices=list(ALGORITHMS), default=list(ALGORITHMS))
    parser.add_argument(
        "--quadratic", action="store_true", help="the quadratic ones on the invented rows too"
    )
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)  # what a child is asked
    options = parser.parse_args()
    if options.measure:
        name, file, k, seeds = options.measure
        print(json.dumps(measure(name, Path(file), int(k), int(seeds))))
        return
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        if options.movielens:
            file = Path(folder, "movielens.npy")
            padding = FunkSVD(seed=0).fit(read_ratings(options.movielens)).padding()
            for title, X in (
                ("user factors", padding.user_factors),
                ("user coordinates", padding.coordinates()),
            ):
                np.save(file, X)
                title = f"MovieLens 100K, {title}"
                print_table(title, file, options, options.only, options.seeds)
        if options.rows:
            file = Path(folder, "invented.npy")
            np.save(file, invented_rows(options.rows, options.features, options.clusters))
            names = [n for n in options.only if options.quadratic or not ALGORITHMS[n].quadratic]
            print_table(f"invented, {options.clusters} clusters", file, options, names, 1)


def invented_rows(rows: int, features: int, clusters: int) -> NDArray[np.float32]:
    """Draw rows around centres: both have a standard deviation of 1 in each direction."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((clusters, features), dtype=np.float32)
    X = rng.standard_normal((rows, features), dtype=np.float32)
    X += centres[rng.integers(clusters, size=rows)]
    return X


def print_table(
    title: str, file: Path, options: argparse.Namespace, names: list[str], seeds: int
) -> None:
    """Measure and print line by line; the SSE also as a multiple of MDAV's, where that ran."""
    n, d = np.load(file, mmap_mode="r").shape
    print(f"\n{title}: {n:,} × {d}, mean of {seeds} seeds")
    print(FORMAT.format(*COLUMNS))
    for k in options.k:
        mdav = None
        for name in sorted(names, key=lambda name: name != "MDAV"):
            found = measure_in_child(name, file, k, seeds, options)
            if isinstance(found, str):
                print(f"{k:>3}  {name:<24}{found}", flush=True)
                continue
            mdav = found.sse_ratio if name == "MDAV" else mdav
            line = (
                f"{found.armse:.4f}",
                f"{found.sse_ratio:.4f}",
                f"{found.sse_ratio / mdav:.3f}" if mdav else "",
                f"{found.radius:.4f}",
                f"{found.smallest}-{found.largest}",
                f"{found.wall:.3f}",
                f"{found.cpu:.3f}",
                f"{found.peak:.0f}",
            )
            print(FORMAT.format(k, name, *line), flush=True)


def measure_in_child(
    name: str, file: Path, k: int, seeds: int, options: argparse.Namespace
) -> Figures | str:
    """Run `measure` in a process of its own; return a remark if it brought no figures."""
    if name == "k-means-constrained" and not find_spec("k_means_constrained"):
        return 'not installed; pip install "recveil[bench]"'
    threads = {
        variable: str(options.threads)
        for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    }
    command = [sys.executable, __file__, "--measure", name, str(file), str(k), str(seeds)]
    try:
        child = subprocess.run(  # noqa: S603
            command,
            env={**os.environ, **threads},
            stdout=subprocess.PIPE,
            timeout=options.limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {options.limit} s"
    if child.returncode:
        return f"failed with exit status {child.returncode}"
    return Figures(*json.loads(child.stdout))


def measure(name: str, file: Path, k: int, seeds: int) -> Figures:
    """Group the rows of a file, once for each seed."""
    X = np.load(file)
    make = ALGORITHMS[name].make
    sample = X[: max(4 * k, 300)]
    make(len(sample), k, 0).fit(sample)  # compile
    runs: list[Figures] = []
    for seed in range(seeds):
        clusterer = make(len(X), k, seed)
        before = reset_peak()
        cpu, wall = time.process_time(), time.perf_counter()
        labels = clusterer.fit(X).labels_
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = (status("VmHWM") - before) / 1e6
        sizes = group_sizes(labels)
        radius = maximum_radius(X, labels) if len(X) <= MOST_ROWS else float("nan")  # quadratic
        quality = armse(X, labels), sse_ratio(X, labels), radius
        runs.append(Figures(*quality, sizes.smallest, sizes.largest, wall, cpu, peak))
    means, lowest, highest = (
        Figures(*summary(runs, axis=0).tolist()) for summary in (np.mean, np.min, np.max)
    )
    return means._replace(
        smallest=int(lowest.smallest), largest=int(highest.largest), peak=highest.peak
    )


def reset_peak() -> float:
    """Let the process's peak of memory begin anew; return the bytes in use now."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def status(field: str) -> float:
    """Return a figure of the process's memory, in bytes; not a number if it is not Linux."""
    if sys.platform != "linux":
        return float("nan")
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * float(line.split()[1])
    return float("nan")


if __name__ == "__main__":
    main()
