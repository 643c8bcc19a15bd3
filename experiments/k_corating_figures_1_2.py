"""k-coRating, Figs. 1 and 2: the time that GeCom takes.

    python experiments/k_corating_figures_1_2.py path/to/ml-100k

Prints seconds against the number of ratings, against k, and against the number of threads. Claims:
the time stays below a bound that does not depend on k; more cells are filled for multiples of k
(Lemma 2), and so grows the work of finding the items of each group (Lemma 1). Both lemmas are also
judged on twelve users, six pairs of whom rated the same three items.
"""

import collections
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from k_corating import SCALE, count_cells
from page import Row, main

from recveil.io import read_ratings
from recveil.methods import KCoRater
from recveil.methods.k_corating.gecom import gecom, union_of_items
from recveil.ratings import Ratings

TITLE = "k-coRating, Figs. 1 and 2: GeCom's time"
READING = (
    "The figures are plots only. Timed is all of GeCom: grouping, and filling every cell (item "
    "means). Seconds of a processor, the best of three runs, which depend on the machine (a "
    "fall by a few milliseconds may be chance): compare directions only, and note the load "
    "(processes that wanted to run) that stands in the table. Fig. 1: random users of "
    "MovieLens 100K, k as large as their number. The paper's bound for n users with $ ratings "
    "of at most w items each is read as $log n + $log w + 4$ + nw, with w the number of items; "
    "times may grow 1.5 times as fast, which is our bound for 'nicely follow'. The paper says "
    "that its parallel version scales well, and reports nothing; our threads fill by similarity, "
    "which is not its Algorithm 3 with workloads, so their times, by the clock on the wall, judge "
    "nothing. Lemma 1's f(k) is the sum over all groups of "
    "their ratings times the logarithm of the number of items in their union; the paper's groups "
    "are those of M2, and of M1 all are full. PaGeCom as printed: each workload is grouped by "
    "itself."
)
AXES = ("k", "seconds of a processor")
SHARES = (0.25, 0.5, 0.75, 1.0)
SIZES = (3, 6, 9, 12, 15, 18, 21, 24, 30, 60, 100, 200, 400, 943)
RUNS = 3
# A pair of users rated the items of each: at k = 3, groups end at pairs, those of k = 6 elsewhere.
PAIRS = ("abc", "abd", "bcd", "efg", "efh", "fgh")


def run(folder: Path) -> list[Row]:
    """Return the times, and the claims."""
    ratings = read_ratings(folder / "u.data", times=False, scale=SCALE)
    seconds(lambda: fill_all(ratings, 3), time.process_time)  # compiles, once
    load = os.getloadavg()[0]
    rows = [
        Row("processors of the machine", os.cpu_count() or 1, form=".0f"),
        Row("load while it was measured", load, form=".1f"),
    ]
    return rows + by_ratings(ratings) + by_k(ratings) + by_pairs() + by_threads(ratings)


def seconds(work: Callable[[], None], clock: Callable[[], float]) -> float:
    """Return the least time of some runs."""
    times = []
    for _ in range(RUNS):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def fill_all(ratings: Ratings, k: int, fill: str = "item-mean", threads: int = 1) -> None:
    """Group and fill, and throw the cells away."""
    rater = KCoRater(k, fill, threads=threads, seed=1)
    collections.deque(rater.anonymize(ratings).published.blocks(), 0)


def some_users(ratings: Ratings, share: float) -> Ratings:
    """Return a random share of the users, with all their ratings."""
    n_users = round(share * ratings.n_users)
    chosen = np.sort(np.random.default_rng(0).permutation(ratings.n_users)[:n_users])
    users, items, values = [], [], []
    for user in chosen.tolist():
        rated, given = ratings.row(user)
        users += [user] * rated.size
        items += rated.tolist()
        values += given.tolist()
    return Ratings.from_columns(users, items, values, scale=SCALE)


def bound(ratings: Ratings) -> float:
    """Return the paper's bound, in steps."""
    n, w, all_ratings = ratings.n_users, ratings.n_items, ratings.n_ratings
    return all_ratings * (np.log(n) + np.log(w) + 4) + n * w


def steps_of_unions(ratings: Ratings, k: int) -> float:
    """Return f(k) of Lemma 1: what it takes to sort the ratings of each group by item."""
    groups = gecom(ratings, k)
    widths = np.diff(union_of_items(ratings, groups)[0])
    given = np.add.reduceat(ratings.activity[groups.members], groups.starts[:-1])
    return float(given @ np.log(widths))


def by_ratings(ratings: Ratings) -> list[Row]:
    """Fig. 1."""
    times, bounds, rows = [], [], []
    for share in SHARES:
        some = some_users(ratings, share)
        times.append(seconds(lambda some=some: fill_all(some, some.n_users), time.process_time))
        bounds.append(bound(some))
        rows.append(Row(f"Fig. 1: {some.n_ratings:,} ratings, seconds", times[-1], form=".3f"))
    growth = times[-1] / times[0] / (bounds[-1] / bounds[0])
    sentence = f"times grow {growth:.2f} times as fast as the bound."
    label = "claim: time grows as the bound: growth of time / of the bound, at most 1.5"
    return [*rows, Row(label, growth, None, growth <= 1.5, sentence, ".2f")]


def by_k(ratings: Ratings) -> list[Row]:
    """Fig. 2."""
    times = [seconds(lambda k=k: fill_all(ratings, k), time.process_time) for k in SIZES]
    cells = {k: count_cells(ratings, gecom(ratings, k)) for k in SIZES}
    rows = [
        Row(f"Fig. 2: k = {k}, seconds", took, series="GeCom", x=k, form=".3f")
        for k, took in zip(SIZES, times, strict=True)
    ]
    rows += [Row(f"cells at k = {k}", cells[k], form=",") for k in (3, 21, 100, 943)]
    falls = int((np.diff(times) < 0).sum())
    filled = [count_cells(ratings, gecom(ratings, k)) for k in range(3, 101)]
    filled_falls = int((np.diff(filled) < 0).sum())
    unions = {k: steps_of_unions(ratings, k) for k in {*SIZES, *range(3, 101)}}
    union_falls = sum(unions[k + 1] < unions[k] for k in range(3, 100))
    top = ratings.n_ratings * np.log(ratings.n_items)
    pairs = [(a, b) for a in SIZES for b in SIZES if b > a and b % a == 0]
    grown = sum(cells[b] >= cells[a] for a, b in pairs) / len(pairs)
    united = sum(unions[b] >= unions[a] for a, b in pairs) / len(pairs)
    rows += [Row(f"f({k}) / its bound", unions[k] / top, form=".3f") for k in (3, 21, 100, 943)]
    rows += [
        Row(
            f"cells at k = 21, PaGeCom with {n} workloads",
            count_cells(ratings, gecom(ratings, 21, n)),
            form=",",
        )
        for n in (2, 8)
    ]
    most = max(times) / times[-1]
    return [
        *rows,
        Row(
            "Fig. 2: steps at which the time falls, 0 to 3 by the run",
            falls,
            form=".0f",
        ),
        Row(
            "claim: the bound does not depend on k: longest time / at k = all users, at most 1.5",
            *(most, None, most <= 1.5),
            f"some k takes {most:.2f} times as long as k = all users.",
            ".2f",
        ),
        Row(
            "claim (Lemma 1): f is not strictly increasing: k of 3 to 99 at which f(k + 1) is "
            "below f(k), 1 or more",
            *(union_falls, None, union_falls >= 1),
            "f grows at every step.",
            ".0f",
        ),
        Row(
            "claim (Lemma 1): f of a multiple of k is at least f(k): share of pairs, 100 %",
            *(united, 1.0, united == 1),
            f"that is so for {united:.0%} of the pairs.",
            ".0%",
        ),
        Row(
            "claim (Lemma 2): a multiple of k fills at least as many cells: share of pairs, 100 %",
            *(grown, 1.0, grown == 1),
            f"that is so for {grown:.0%} of the pairs.",
            ".0%",
        ),
        Row(
            "claim (Lemma 2): cells are not strictly increasing in k: k of 3 to 99 at which k + 1 "
            "has fewer, 1 or more",
            *(filled_falls, None, filled_falls >= 1),
            "cells grow at every step.",
            ".0f",
        ),
        Row(
            "claim (Lemma 2): cells at k = all users / the bound, users times items, at most 1",
            *(cells[943] / (ratings.n_users * ratings.n_items), 1.0),
            *(cells[943] <= ratings.n_users * ratings.n_items, "", ".2f"),
        ),
    ]


def by_pairs() -> list[Row]:
    """Judge both lemmas where users rated the same items."""
    users, items = zip(
        *((user, item) for user in range(12) for item in PAIRS[user // 2]), strict=True
    )
    ratings = Ratings.from_columns(users, items, [3.0] * len(users), scale=SCALE)
    found = [
        ("Lemma 1): f", [steps_of_unions(ratings, k) for k in (3, 6)]),
        ("Lemma 2): cells", [float(count_cells(ratings, gecom(ratings, k))) for k in (3, 6)]),
    ]
    return [
        Row(
            f"claim ({what} of six pairs of users with equal items: k = 6 / k = 3, at least 1",
            *(double / single, None, double >= single),
            "groups of 3 do not end where groups of 6 do, as users with equal items stay together.",
            ".3f",
        )
        for what, (single, double) in found
    ]


def by_threads(ratings: Ratings) -> list[Row]:
    """Time the parallel version."""
    took = {
        threads: seconds(
            lambda n=threads: fill_all(ratings, 21, "similarity", n), time.perf_counter
        )
        for threads in (1, 2)
    }
    rows = [
        Row(f"fills by similarity, k = 21, {n} threads, seconds", t, form=".2f")
        for n, t in took.items()
    ]
    gain = took[1] / took[2]
    return [*rows, Row("threads (not Algorithm 3): one / two, seconds", gain, form=".2f")]


if __name__ == "__main__":
    main(run, __doc__)
