"""Thesis (Chen 2012), sections 3.2 and 8.2: how far are groups from the optimum of k-gather?

    python experiments/thesis_worst_case.py path/to/ml-100k

Prints the largest radius (Definition 1) and the SSE of groupings as multiples of the optimum, by
brute force on random tables of nine rows, on a family of tables that is bad for bisecting k-gather
(BKG), and the radii on MovieLens 100K; and how the time of BKG grows. Claim: it grows as n log n
where rows are evenly spread (Lemma 1), and at most as n³ in its worst case (Lemma 2), rows of which
each cut parts off at most k.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from page import Row, main
from thesis import points_of

from recveil.clustering import (
    MDAV,
    MHM,
    BisectingKGather,
    BoundedTMeans,
    RGather,
    armse,
    maximum_radius,
    sse,
)

TITLE = "Thesis, sections 3.2 and 8.2: groups against the optimum"
READING = (
    "The radius of a group is the distance of the farthest member from the best row of the table. "
    "A hundred tables of nine normally distributed points in the plane, k = 3. The bad table has k "
    "rows at -1, k at 1, and k at ±d: BKG cuts at the centroid, through the rows in the middle, "
    "and is content with two groups of k to 2k - 1 rows. MovieLens 100K: k = 5, positions as in "
    "Fig. 4.2. Times are the fastest of three, of groups of 5. In the worst case of Lemma 2, each "
    "row has a 1 in a column of its own, of 1,000: less the centroid, two of n rows have the "
    "product -1/n, so that a row's bisection parts off this row alone, and there are n/k cuts. The "
    "proof counts the distances of all cuts together, n²/2, and multiplies them by the number of "
    "cuts once more; n²/(2k) rows are compared."
)
AXES: tuple[str, ...] = ()
GROUPINGS = {
    "BKG": BisectingKGather,
    "BTM": BoundedTMeans,
    "MDAV": MDAV,
    "MHM": MHM,
    "r-gather": RGather,
}
TABLES, ROWS, K = 100, 9, 3
MEASURES = {"largest radius": maximum_radius, "SSE": sse}
Cost = Callable[[NDArray[np.int64]], float]


def optimum(cost: Cost, combine: Callable[[float, float], float], n: int, k: int) -> float:
    """Return the lowest cost of all groupings with at least k rows a group."""
    rows_of = [np.flatnonzero((rows >> np.arange(n)) & 1) for rows in range(1 << n)]
    costs = [cost(rows) if rows.size >= k else np.inf for rows in rows_of]
    best = [0.0] + [np.inf] * ((1 << n) - 1)  # of the rows that are bits of the place
    for rows in range(1, 1 << n):
        part = rows
        while part:
            if part & rows & -rows and costs[part] < np.inf:  # the group of the first row
                best[rows] = min(best[rows], combine(costs[part], best[rows ^ part]))
            part = (part - 1) & rows
    return best[-1]


def optima(X: NDArray[Any]) -> dict[str, float]:
    """Return the lowest largest radius and the lowest SSE, each of its own grouping."""
    distances = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
    radius: Cost = lambda rows: float(distances[:, rows].max(axis=1).min())  # noqa: E731
    spread: Cost = lambda rows: sse(X[rows], np.zeros(rows.size))  # noqa: E731
    return {
        "largest radius": optimum(radius, max, len(X), K),
        "SSE": optimum(spread, lambda a, b: a + b, len(X), K),
    }


def bad_table(distance: float, k: int = K) -> NDArray[np.float64]:
    """Return three tight clusters of k rows, of which BKG cuts the one in the middle."""
    middle = np.where(np.arange(k) < (k + 1) // 2, -distance, distance)
    return np.concatenate([np.full(k, -1.0), middle, np.full(k, 1.0)]).reshape(-1, 1)


def worst_rows(n: int) -> NDArray[np.float32]:
    """Return n rows with a 1 in a column of their own, of which each cut parts off one."""
    return np.eye(n, 1_000, dtype=np.float32)


def seconds(X: NDArray[Any]) -> float:
    """Return the processor time of BKG, the fastest of three runs."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        BisectingKGather(5, random_state=0).fit(X.reshape(len(X), -1))
        taken.append(time.process_time() - start)
    return min(taken)


def growth() -> list[Row]:
    """Return how BKG's time grows, and the claims."""
    few, many = 16_000, 128_000
    bound = many * np.log(many) / (few * np.log(few))
    even = seconds(np.arange(many)) / seconds(np.arange(few)) / bound
    few, many = 125, 1_000
    worst = np.log(seconds(worst_rows(many)) / seconds(worst_rows(few)))
    power = float(worst / np.log(many / few))
    return [
        Row(
            "claim: Lemma 1: BKG's time, 128,000 / 16,000 evenly spaced rows, / that of n log n, "
            "at most 1.5",
            *(even, None, even <= 1.5, f"it grows {even:.2f} times as fast.", ".2f"),
        ),
        Row(
            "claim: Lemma 2: BKG's time, 125 to 1,000 rows that each cut parts off by one, as a "
            "power of n, at most 3",
            *(power, None, power <= 3, f"it grows as n to the power of {power:.2f}.", ".2f"),
        ),
    ]


def run(folder: Path) -> list[Row]:
    """Return mean and largest multiples of the optimum, and the radii on MovieLens."""
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(ROWS, 2)) for _ in range(TABLES)]
    lowest = [optima(X) for X in tables]
    rows = []
    for name, grouping in GROUPINGS.items():
        labels = [grouping(K, random_state=0).fit(X).labels_ for X in tables]
        for what, measure in MEASURES.items():
            ratios = [
                measure(X, found) / best[what]
                for X, found, best in zip(tables, labels, lowest, strict=True)
            ]
            holds = max(ratios) <= 2 if (name, what) == ("r-gather", "largest radius") else None
            rows += [
                Row(f"{name}: {what} / optimum, mean", float(np.mean(ratios)), form=".3f"),
                Row(f"{name}: {what} / optimum, highest", max(ratios), None, holds, form=".3f"),
            ]
    for distance in (0.1, 0.01, 0.001):
        X = bad_table(distance)
        best = optima(X)["largest radius"]
        for name, grouping in GROUPINGS.items():
            radius = maximum_radius(X, grouping(K, random_state=0).fit(X).labels_)
            label = f"bad table, d = {distance:g}: {name}: largest radius / optimum"
            rows.append(Row(label, radius / best, form=".1f"))
    points = points_of(folder)
    for name, grouping in GROUPINGS.items():
        found = grouping(5, random_state=0).fit(points).labels_
        rows += [
            Row(f"MovieLens 100K: {name}: largest radius", maximum_radius(points, found)),
            Row(f"MovieLens 100K: {name}: ARMSE", armse(points, found)),
        ]
    return rows + growth()


if __name__ == "__main__":
    main(run, __doc__)
