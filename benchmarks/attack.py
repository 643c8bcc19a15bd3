"""How long Scoreboard-RH takes to attack users, and how much memory.

python benchmarks/attack.py            1 million ratings, against plain numpy and scipy
python benchmarks/attack.py --netflix  480,189 users, 100 million ratings, every one attacked

Everything is invented, so that anyone can run it. Quiet cores give the shortest times.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks import (
    PRESETS,
    Candidates,
    Knowledge,
    ScoreboardRH,
    choose_targets,
    draw_knowledge,
)
from recveil.datasets import make_ratings
from recveil.ratings import Ratings

SMALL = (6_000, 4_000, 1_000_000)
NETFLIX = (480_189, 17_770, 100_480_507)
T = TypeVar("T")
# The plain version takes so long that a part of the targets has to do.
PLAIN_TARGETS = 500


def main() -> None:
    """Read the options, attack, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--netflix", action="store_true", help="the size of the Netflix Prize data")
    parser.add_argument("--targets", type=int, help="attack so many people; all if not given")
    parser.add_argument("--preset", choices=list(PRESETS), default="public-profile")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    ratings = make_ratings(*(NETFLIX if options.netflix else SMALL), seed=1)
    print(f"{ratings}\n{options.preset}, {options.threads} threads, load {os.getloadavg()[0]:.1f}")
    knowledge, to_draw = timed(lambda: draw(ratings, options.preset, options.targets))
    candidates, to_list = timed(lambda: Candidates.from_ratings(ratings))
    attacker, record_of = ScoreboardRH(threads=options.threads), np.arange(ratings.n_users)
    attacker.attack(candidates, draw(ratings, options.preset, 1), record_of)  # compile
    guesses, to_attack = timed(lambda: attacker.attack(candidates, knowledge, record_of))
    n_targets = knowledge.targets.size

    row("people attacked", f"{n_targets:,} ({knowledge.skipped:,} know too little)")
    row("found", f"{np.mean(guesses.best == knowledge.targets):.1%}")
    row("drawing the knowledge", f"{to_draw:.1f} s")
    row("listing the records by item", f"{to_list:.1f} s")
    row("attacking", f"{to_attack:.1f} s")
    row("attacking one person", f"{1e3 * to_attack / n_targets:.4f} ms")
    if options.targets is not None:
        row("so for everybody", f"{to_attack / n_targets * ratings.n_users:.0f} s (extrapolated)")
    if options.netflix:
        print_memory(ratings)
    else:
        compare(ratings, knowledge, guesses.best, to_attack / n_targets)


def row(name: str, value: str) -> None:
    """Print one line of the table."""
    print(f"{name:<30} {value}")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what the work returns, and the seconds that it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def draw(ratings: Ratings, preset: str, n_targets: int | None) -> Knowledge:
    """Draw what the adversary knows about all users, or about so many."""
    return draw_knowledge(
        ratings, PRESETS[preset], choose_targets(ratings.n_users, n_targets, seed=1), seed=1
    )


def print_memory(ratings: Ratings) -> None:
    """Print the process's peak, which includes the making of the data."""
    arrays = (ratings.indptr, ratings.indices, ratings.values, ratings.days)
    data = sum(array.nbytes for array in arrays if array is not None) / 1e9
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    row("data", f"{data:.1f} GB")
    row("peak over the data", f"{peak - data:.1f} GB")


def compare(ratings: Ratings, known: Knowledge, best: NDArray[np.int64], seconds: float) -> None:
    """Attack some of the targets the plain way, and print how much longer that takes."""
    if known.values is None or known.days is not None:
        print("The plain version only takes ratings without dates: no comparison.")
        return
    n_targets = min(PLAIN_TARGETS, known.targets.size)
    for matrix in (ratings.csr, ratings.csr.tocsc()):
        start = time.perf_counter()
        plain = [attack_plainly(matrix, known, target) for target in range(n_targets)]
        plain_seconds = (time.perf_counter() - start) / n_targets
        row(f"plainly from {matrix.format}, one person", f"{1e3 * plain_seconds:.4f} ms")
        row("times as long", f"{plain_seconds / seconds:.0f}")
        # Rounding may break ties one way or the other, hence perhaps not all.
        row("same best guess", f"{np.mean(best[:n_targets] == np.array(plain)):.1%}")


def attack_plainly(matrix: sparse.sparray, known: Knowledge, target: int) -> int:
    """Return the best guess from one dense vector of scores, with all that `Guesses` reports."""
    assert known.values is not None  # noqa: S101
    entries = slice(known.indptr[target], known.indptr[target + 1])
    # No rating of the scale is 0, so that a 0 says that there is none.
    labels = matrix[:, known.items[entries]].toarray()
    weights = 1 / np.log(np.maximum((labels != 0).sum(axis=0), 2))
    scores = np.exp(-np.abs(labels - known.values[entries]) / 1.5) * (labels != 0) @ weights
    own = known.targets[target]
    second, top = np.partition(scores, -2)[-2:]
    _eccentricity = (top - second) / scores.std()
    likelihoods = np.exp((scores - scores.max()) / scores.std())
    _bits = -np.log2(likelihoods[own] / likelihoods.sum())
    winners = np.flatnonzero(scores == scores.max())
    return int(winners[0]) if winners.size == 1 else -1


if __name__ == "__main__":
    main()
