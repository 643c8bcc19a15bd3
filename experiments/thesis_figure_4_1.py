"""Thesis (Chen 2012), Fig. 4.1: ARMSE of bisecting k-gather (BKG) for k = 3, 5 and 10.

    python experiments/thesis_figure_4_1.py path/to/ml-100k

Prints the mean and the range of twenty runs. Claims: ARMSE rises with k, sort of linearly, and runs
differ by little.
"""

from pathlib import Path

import numpy as np
from page import Row, main
from thesis import POINTS, armse_of

TITLE = "Thesis, Fig. 4.1: ARMSE of bisecting k-gather"
READING = (
    f"All of MovieLens 100K, as in the thesis; twenty runs. {POINTS} ARMSE is the mean over groups "
    "of the RMS distance to the centroid. The figure is a plot only; the text prints a largest "
    "difference between runs of around 0.0005. The only ARMSE that it prints is the worst of "
    "bounded t-means (BTM) at k = 3, about 0.018 (Fig. 4.2), which serves as the unit: 2.8 % of it."
)
AXES = ("run", "ARMSE")
SIZES = (3, 5, 10)
PAPER_RANGE = 0.0005 / 0.018


def run(folder: Path) -> list[Row]:
    """Return means and ranges, and the claims."""
    rows, found = [], {k: armse_of(folder, "BKG", k) for k in SIZES}
    means = {k: float(runs.mean()) for k, runs in found.items()}
    for k, runs in found.items():
        rows.append(Row(f"mean ARMSE, k = {k}", means[k]))
        points = enumerate(runs.tolist(), start=1)
        rows += [Row("", one, series=f"k = {k}", x=i) for i, one in points]
    first, second = (means[5] - means[3]) / 2, (means[10] - means[5]) / 5
    rows += [
        Row(
            "claim: it rises with k: smallest step between k = 3, 5 and 10, above 0",
            *(min(2 * first, 5 * second), None, min(first, second) > 0),
            "ARMSE does not rise with k.",
        ),
        Row(
            "claim: sort of linear: slope from 5 to 10 / slope from 3 to 5, within 0.5 and 2",
            *(second / first, None, 0.5 <= second / first <= 2),
            f"the rise levels off: from k = 5 to 10 a step of one in k adds {second / first:.2f} "
            f"times as much as from 3 to 5.",
            ".2f",
        ),
    ]
    unit = float(armse_of(folder, "BTM", 3).max())
    for k, runs in found.items():
        apart = float(np.ptp(runs) / unit)
        rows.append(
            Row(
                f"claim: runs differ little: range at k = {k} / BTM's worst, k = 3, at most 2.8 %",
                *(apart, PAPER_RANGE, apart <= PAPER_RANGE),
                f"at k = {k} twenty runs differ by {apart:.1%} of the unit, and by "
                f"{np.ptp(runs) / means[k]:.1%} of their own mean.",
                ".1%",
            )
        )
    return rows


if __name__ == "__main__":
    main(run, __doc__)
