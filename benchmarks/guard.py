"""Whether a stage became slower than its stored reference (make bench-guard, in .ci/run).

python benchmarks/guard.py                compare; exits with 1 above 1.3 times the reference
python benchmarks/guard.py --renew        store the figures of this machine as its reference

Six stages at 1 million generated ratings. A figure is the least CPU seconds (user and system, of
children too) of three runs over those of a calibration kernel of the same process, so that a slower
clock moves both. Other work on the cores only adds, hence the least; a stage above the limit gets
three more runs. Each kind of machine has a reference of its own; without one nothing is judged.
"""

import argparse
import json
import os
import platform
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

from recveil.attacks import (
    PRESETS,
    Candidates,
    ScoreboardRH,
    choose_targets,
    draw_knowledge,
)
from recveil.datasets import make_ratings
from recveil.io import read_ratings, write_ratings
from recveil.methods import Synthesizer, anonymize
from recveil.ratings import Ratings
from recveil.runtime.errors import ReadingWarning
from recveil.verification import verify

REFERENCE = Path(__file__).with_name("guard.json")
LIMIT, N_RUNS, N_MORE_RUNS = 1.3, 3, 3
SHAPE = (4_802, 17_770, 1_004_805)
Work = Callable[[], object]


class Row(NamedTuple):
    """A stage next to its reference, both as multiples of the calibration kernel."""

    stage: str
    reference: float
    now: float

    @property
    def ratio(self) -> float:
        """How many times the reference the stage takes now."""
        return self.now / self.reference

    @property
    def is_slower(self) -> bool:
        """Whether that is above the limit."""
        return self.ratio > LIMIT


def main() -> int:
    """Measure all stages; print the table, or store the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--renew", action="store_true", help="store the figures as the reference")
    options = parser.parse_args()
    kind = machine_kind()
    references = json.loads(REFERENCE.read_text("utf-8")) if REFERENCE.exists() else {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        stages, measure = make_stages(Path(folder)), Measure()
        now = measure.run(stages, N_RUNS)
        if options.renew:
            text = json.dumps({**references, kind: now}, indent=4, sort_keys=True)
            REFERENCE.write_text(f"{text}\n", "utf-8")
            print(f"Stored as the reference of {kind}")
            return 0
        if kind not in references:
            print(f"Nothing judged: no reference for {kind}; make bench-guard-reference adds it")
            return 0
        rows = compare(references[kind], now)
        if slower := {row.stage: stages[row.stage] for row in rows if row.is_slower}:
            rows = compare(references[kind], measure.run(slower, N_MORE_RUNS))
    print(table(rows))
    return int(any(row.is_slower for row in rows))


def compare(reference: dict[str, float], now: dict[str, float]) -> list[Row]:
    """Put every stage next to its reference; both must have the same stages."""
    if reference.keys() != now.keys():
        differing = ", ".join(sorted(reference.keys() ^ now.keys()))
        raise SystemExit(f"stages differ from the reference: {differing}; renew it")
    return [Row(name, reference[name], figure) for name, figure in now.items()]


def table(rows: list[Row]) -> str:
    """Return a line per stage; those above the limit are marked."""
    lines = [f"{'stage':<20}{'reference':>10}{'now':>10}{'ratio':>8}"]
    for row in rows:
        mark = f"  above {LIMIT}" if row.is_slower else ""
        lines.append(
            f"{row.stage:<20}{row.reference:>10.2f}{row.now:>10.2f}{row.ratio:>8.2f}{mark}"
        )
    return "\n".join(lines)


def machine_kind() -> str:
    """Return the processor, with its family and model, and the number of cores."""
    cpu_info = Path("/proc/cpuinfo")
    lines = cpu_info.read_text("utf-8").splitlines() if cpu_info.exists() else []
    pairs = (line.partition(":")[::2] for line in lines)
    # Of the first core, as all are alike; a virtual machine's name may be that of a family alone.
    first = {name.strip(): value.strip() for name, value in reversed(list(pairs))}
    name = first.get("model name", platform.machine())
    numbers = "-".join(first[key] for key in ("cpu family", "model") if key in first)
    return f"{name} {numbers}, {os.cpu_count()} cores"


# Measuring ----------------------------------------------------------------------------------------


def cpu_seconds(work: Work) -> float:
    """Return the CPU seconds of some work, its children included."""
    before = _used()
    work()
    return _used() - before


def _used() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(of.ru_utime + of.ru_stime for of in used)


def repeated(n: int, work: Work) -> Work:
    """Return work that lasts long enough to be measured."""

    def run() -> None:
        for _ in range(n):
            work()

    return run


class Measure:
    """The least CPU seconds of every stage and of the calibration kernel, which runs in between."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        # All of it fits into a core's cache, so that other work on the cores moves it little.
        self._numbers = rng.random((100, 10_000))
        self._places = rng.integers(0, 10_000, 8_000_000, np.int32)
        self._matrix = rng.random((800, 800))
        self._calibrate()  # compiles
        self.kernel, self.stages = np.inf, dict[str, float]()

    def run(self, stages: dict[str, Work], n_runs: int) -> dict[str, float]:
        """Run stages some more times, and return all figures."""
        for _ in range(n_runs):
            for name, work in stages.items():
                self.kernel = min(self.kernel, cpu_seconds(self._calibrate))
                self.stages[name] = min(self.stages.get(name, np.inf), cpu_seconds(work))
        return {name: round(least / self.kernel, 3) for name, least in self.stages.items()}

    def _calibrate(self) -> None:
        """Gather in a compiled loop, multiply, sort."""
        for _ in range(4):
            _sum_at(self._numbers[0], self._places)
            self._matrix @ self._matrix
            for _ in range(4):
                np.sort(self._numbers, axis=1)


@numba.njit(cache=True)
def _sum_at(numbers: np.ndarray, places: np.ndarray) -> float:
    total = 0.0
    for place in places:
        total += numbers[place] * total % 3
    return total


# Stages -------------------------------------------------------------------------------------------


def make_stages(folder: Path) -> dict[str, Work]:
    """Generate the data; run every stage on a few ratings, which compiles, and return them."""
    small = make_ratings(300, 200, 6_000, seed=0)
    for work in _stages(small, folder / "small", epsilon=20).values():
        work()
    return _stages(make_ratings(*SHAPE, seed=1), folder)


def _stages(ratings: Ratings, folder: Path, epsilon: float = 1) -> dict[str, Work]:
    folder.mkdir(exist_ok=True)
    path, padded = folder / "ratings.parquet", folder / "padded"
    write_ratings(ratings, path)
    targets = choose_targets(ratings.n_users, None, seed=1)
    knowledge = draw_knowledge(ratings, PRESETS["public-profile"], targets, seed=1)
    records = np.arange(ratings.n_users)

    def attack() -> object:
        candidates = Candidates.from_ratings(ratings)
        return ScoreboardRH(threads=2).attack(candidates, knowledge, records)

    def check() -> None:
        if not verify(padded).holds:
            raise SystemExit("the release does not verify")

    return {
        "read": repeated(10, lambda: read_ratings(path)),
        "sparse, k = 5": lambda: anonymize(path, folder / "sparse", k=5, seed=1, force=True),
        "padded, k = 50": lambda: anonymize(
            *(path, padded),
            **{"k": 50, "method": "predictive", "homogenize": "padded", "seed": 1, "force": True},
        ),
        "epsilon 1": lambda: Synthesizer(epsilon, item_catalog="as-rated", seed=1).anonymize(
            ratings
        ),
        "attack": repeated(10, attack),
        "verify": repeated(5, check),
    }


if __name__ == "__main__":
    sys.exit(main())
