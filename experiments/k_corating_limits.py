"""k-CoRating, Definition 4, and l-diversity and t-closeness of co-rated rows (future work).

    python experiments/k_corating_limits.py path/to/ml-100k

Prints, for diversity 2 and 3 and closeness 0.2, the share of ratings that are suppressed, and the
share of the published items of classes that are outside the limit by real ratings alone. No claim:
the paper defines neither. Prints the values that GeCom fills on small random tables as multiples of
the optimum (Definition 4), which is NP-hard to find (Theorem 1).
"""

from pathlib import Path

import numpy as np
from k_corating import SCALE, count_cells
from narayanan import ratings_of
from page import Row, main
from thesis_worst_case import ROWS, TABLES, K, optimum

from recveil.methods import KCoRater
from recveil.methods.k_corating.gecom import gecom
from recveil.ratings import Ratings

TITLE = "k-CoRating, Definition 4 and Conclusion: the optimum, and limits of the values of an item"
READING = (
    "k = 5, GeCom. `verify` counts ratings and fills alike, since a file does not show which is "
    "which; by real ratings alone is what an adversary sees who recognizes fills. Definition 4: a "
    "hundred tables of nine users and eight items, a cell rated with probability 0.4, k = 3; the "
    "optimum by brute force over all groups of at least k users."
)
AXES = None

LIMITS: tuple[dict[str, float], ...] = ({"diversity": 2}, {"diversity": 3}, {"closeness": 0.2})


def run(folder: Path) -> list[Row]:
    """Return both shares for each limit and two fills."""
    ratings, rows = ratings_of(folder), []
    for fill in ("item-mean", "random"):
        for limit in LIMITS:
            release = KCoRater(5, fill, seed=0, **limit).anonymize(ratings)
            cost = release.private.settings["suppressed"]
            label = f"{fill}, {', '.join(f'{name} {level:g}' for name, level in limit.items())}"
            lost, outside = cost["ratings"] / ratings.n_ratings, cost["outside"] / cost["items"]
            rows += [
                Row(f"{label}: ratings suppressed", lost, form=".1%"),
                Row(f"{label}: items of classes outside by ratings alone", outside, form=".1%"),
            ]
    return rows + against_optimum()


def against_optimum() -> list[Row]:
    """Return GeCom's filled values / the fewest possible."""
    rng, ratios = np.random.default_rng(0), []
    for _ in range(TABLES):
        rated = rng.random((ROWS, 8)) < 0.4
        rated[np.arange(ROWS), rng.integers(8, size=ROWS)] = True
        users, items = np.nonzero(rated)
        ratings = Ratings.from_columns(users, items, np.full(users.size, 3.0), scale=SCALE)
        cells = optimum(
            lambda group, rated=rated: float(group.size * rated[group].any(axis=0).sum()),
            lambda a, b: a + b,
            ROWS,
            K,
        )
        filled = count_cells(ratings, gecom(ratings, K)) - ratings.n_ratings
        fewest = cells - ratings.n_ratings
        # A table may need no fills; then none is optimal, and some are infinitely worse.
        ratios.append(filled / fewest if fewest else np.inf if filled else 1.0)
    return [
        Row("GeCom's fills / the fewest (Definition 4), mean", float(np.mean(ratios)), form=".3f"),
        Row("GeCom's fills / the fewest (Definition 4), highest", max(ratios), form=".3f"),
    ]


if __name__ == "__main__":
    main(run, __doc__)
