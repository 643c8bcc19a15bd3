"""Thesis (Chen 2012), Fig. 6.1: who stands alone under bisecting one-k-gather (BOKG).

    python experiments/thesis_figure_6_1.py path/to/ml-100k

Prints how many of the 471 users of level 1 are published alone, and how many users of both levels
are in groups of each other size (a group of s counts s users); means of ten tries. Claims: about a
third of them in both cases, slightly more at k = 10 than at k = 5.
"""

from pathlib import Path

import numpy as np
from customized_k import draw_levels, group
from page import Row, main
from thesis import POINTS, TRIES, points_of

TITLE = "Thesis, Fig. 6.1: users of level 1 who stand alone"
READING = (
    "All of MovieLens 100K; half of the users, 471, have level 1, the others k; ten tries, as "
    f"in the thesis, whose distribution is a plot only. {POINTS} σ is the RMS distance to the "
    "centroid, recomputed after each removal."
)
AXES = ("size of the group", "users")
PAPER = {5: 130, 10: 140}


def run(folder: Path) -> list[Row]:
    """Return who stands alone, and the claims."""
    points = points_of(folder)
    rows, alone = [], {}
    for k, paper in PAPER.items():
        counts = np.zeros(2 * k)
        for seed in range(TRIES):
            levels = draw_levels(len(points), k, np.random.default_rng(seed))
            labels = group("BOKG", points, levels, seed)
            sizes = np.bincount(labels)
            counts += np.bincount(sizes[labels], minlength=2 * k) / TRIES
        alone[k] = float(counts[1])
        share = alone[k] / (len(points) // 2)
        rows += [
            Row(f"users of level 1 who stand alone, k = {k}", alone[k], paper, form=".0f"),
            Row(
                f"claim: about a third of level 1: share, k = {k}, within 0.25 and 0.42",
                *(share, paper / 471, 0.25 <= share <= 0.42),
                f"at k = {k}, {share:.1%} of the users of level 1 stand alone.",
                ".1%",
            ),
        ]
        rows += [
            Row(
                f"k = {k}: users in groups of {size}" if size > 1 else "",
                float(counts[size]),
                form=".1f",
                series=f"k = {k}",
                x=size,
            )
            for size in range(1, 2 * k)
        ]
    more = alone[10] - alone[5]
    rows.append(
        Row(
            "claim: slightly more at k = 10: k = 10 - k = 5, above 0",
            *(more, 10, more > 0),
            f"at k = 10 there are {-more:.0f} fewer.",
            ".0f",
        )
    )
    return rows


if __name__ == "__main__":
    main(run, __doc__)
