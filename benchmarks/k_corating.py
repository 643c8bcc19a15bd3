"""How long k-coRating takes, from ratings in memory to a verified release, and how much memory.

python benchmarks/k_corating.py              1 and 10 million ratings at k = 9; several k at 1
python benchmarks/k_corating.py --movielens  70,000 users, 10 million ratings: similarity, trust
python benchmarks/k_corating.py --netflix    480,189 users, 100 million ratings: item means

Everything is invented, so that anyone can run it. The release is streamed to Parquet in a
temporary folder (--folder), read back and verified, and removed. Of the two times in a column,
the first is the clock's and the second the processor's, of all threads together.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from recveil.datasets import make_ratings
from recveil.methods import KCoRater
from recveil.ratings import Ratings

# Ten times the users with ten times the ratings: what a group of k fills stays the same.
SMALL = (7_000, 10_000, 1_000_000)
MOVIELENS = (70_000, 10_000, 10_000_000)
NETFLIX = (480_189, 17_770, 100_480_507)
KS = (3, 9, 27, 81)
T = TypeVar("T")


class Seconds(NamedTuple):
    """What a clock on the wall says, and what the processors worked."""

    wall: float
    worked: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} ({self.worked:.1f})"


def main() -> None:
    """Read the options, anonymize, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--movielens", action="store_true", help="similarity and trust")
    which.add_argument("--netflix", action="store_true", help="the size of the Netflix Prize data")
    parser.add_argument("--fill", choices=["similarity", "trust"], help="one of the two alone")
    parser.add_argument("--k", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where releases are written and removed")
    options = parser.parse_args()

    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}")
    # Compile before the clock runs.
    anonymize(make_ratings(200, 100, 3_000), 3, "item-mean", options)
    print(
        "| ratings | fill | k | cells, million | grouping, fitting (s) | filling, writing, "
        "verifying (s) | a million cells (s) |\n|---|---|---|---|---|---|---|"
    )
    if options.netflix:
        row(make_ratings(*NETFLIX, seed=1), options.k, "item-mean", options)
    elif options.movielens:
        movielens(options)
    else:
        row(make_ratings(*MOVIELENS, seed=1), options.k, "item-mean", options)
        ratings = make_ratings(*SMALL, seed=1)
        for k in KS:
            row(ratings, k, "item-mean", options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"peak memory, the making of the data included: {peak:.1f} GB")


def movielens(options: argparse.Namespace) -> None:
    """Fill with the two that ask neighbours, sixty of them."""
    small, ratings = make_ratings(200, 100, 3_000), make_ratings(*MOVIELENS, seed=1)
    for fill in [options.fill] if options.fill else ["similarity", "trust"]:
        anonymize(small, 3, fill, options)  # compile
        row(ratings, options.k, fill, options)


def row(ratings: Ratings, k: int, fill: str, options: argparse.Namespace) -> None:
    """Anonymize once and print a line of the table."""
    cells, first, second = anonymize(ratings, k, fill, options)
    rate = (first.wall + second.wall) / cells * 1e6
    print(
        f"| {ratings.n_ratings:,} | {fill} | {k} | {cells / 1e6:.1f} | {first} | {second} "
        f"| {rate:.2f} |",
        flush=True,
    )


def anonymize(
    ratings: Ratings, k: int, fill: str, options: argparse.Namespace
) -> tuple[int, Seconds, Seconds]:
    """Return the published cells, and the time for the grouping and for all that follows."""
    rater = KCoRater(k, fill, threads=options.threads, seed=1)
    release, first = timed(lambda: rater.anonymize(ratings))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        verification, second = timed(lambda: release.write(Path(folder) / "release"))
    if not verification.holds:
        raise SystemExit(f"the release does not keep its claim: {verification.violations[0]}")
    return int(release.private.settings["cells"]), first, second


def timed(work: Callable[[], T]) -> tuple[T, Seconds]:
    """Return what the work returns, and the seconds that it took."""
    wall, worked = time.perf_counter(), time.process_time()
    result = work()
    return result, Seconds(time.perf_counter() - wall, time.process_time() - worked)


if __name__ == "__main__":
    main()
