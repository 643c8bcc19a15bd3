"""How close are the members of a group? Groupings on the user factors of a table.

    python experiments/group_quality.py RATINGS

Prints the sum of squared distances to the groups' centres as a share of that to the overall
centre (SSE/SST), mean over five seeds.
"""

import sys
from pathlib import Path

import numpy as np

from recveil.group import BisectingKGather, BoundedTMeans, PredictiveGrouping
from recveil.io import read_ratings
from recveil.predict import FunkSVD


def spread(points: np.ndarray, labels: np.ndarray) -> float:
    """Return SSE/SST of a grouping."""
    sizes = np.bincount(labels)[:, None]
    sums = np.zeros((sizes.size, points.shape[1]))
    np.add.at(sums, labels, points)
    within = ((points - (sums / sizes)[labels]) ** 2).sum()
    return float(within / ((points - points.mean(axis=0)) ** 2).sum())


def main(file: Path) -> None:
    """Print a row for each grouping."""
    ratings = read_ratings(file, times=False, duplicates="last")
    points = FunkSVD().fit(ratings).padding().coordinates().astype(np.float64)
    sizes = (3, 5, 10, 50)
    print("| grouping |", " | ".join(f"k = {k}" for k in sizes), "|")
    print("|---|" + "---|" * len(sizes))
    for grouping in (BisectingKGather, PredictiveGrouping, BoundedTMeans):
        shares = [
            np.mean(
                [spread(points, grouping(k, random_state=s).fit_predict(points)) for s in range(5)]
            )
            for k in sizes
        ]
        print(f"| `{grouping.__name__}` |", " | ".join(f"{share:.3f}" for share in shares), "|")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
