"""Chang et al., Fig. 3: sizes of bins around real users and around virtual centres.

    python experiments/chang_figure_3.py path/to/ml-100k

Prints, as means over ten samples, the smallest and the largest bin as shares of the mean size.
Claim: bins around virtual centres are of more even sizes.
"""

from pathlib import Path

import numpy as np
from chang import ratings_of
from numpy.typing import NDArray
from page import Row, main

from recveil.clustering.bounded_k_means import (
    bounded_assignment,
    bounded_t_means,
    nearest_centre,
)
from recveil.predict import FunkSVD

TITLE = "Chang et al., Fig. 3: sizes of bins around real users and around virtual centres"
READING = (
    "The bins of step 2.3: all users, each at the nearest of t = √943 centres that bounded t-means "
    "finds on half of the users, with the lower bound ⌊s/2t⌋. A virtual centre is the mean of its "
    "cluster (divided by its size; the printed formula divides by n); a real one the member "
    "nearest to that, in every round. The plot's data are not printed; the text says that sizes go "
    "from 50 to 2000 with real centres and from around 200 to 900 with virtual ones, where the "
    "mean is 480,189 / √480,189 = 693. The chart shows the first sample."
)
AXES = ("bin, by size", "users in the bin")
SAMPLES = 10
# The paper's smallest, largest and mean size.
PAPER = {"real users": (50, 2000, 693), "virtual centres": (200, 900, 693)}
Points = NDArray[np.float32]


def run(folder: Path) -> list[Row]:
    """Return the sizes and the claim."""
    ratings = ratings_of(folder)
    points = FunkSVD().fit(ratings).padding().coordinates()
    t = round(ratings.n_users**0.5)
    rows, unevenness = [], {}
    for name, (low, high, mean) in PAPER.items():
        sizes = np.array([bin_sizes(points, t, name, seed) for seed in range(SAMPLES)])
        expected = ratings.n_users / t
        for what, ours, paper in (
            ("smallest", sizes.min(axis=1), low / mean),
            ("largest", sizes.max(axis=1), high / mean),
        ):
            share = float(ours.mean() / expected)
            rows.append(Row(f"{what} bin / mean size, {name}", share, paper, form=".2f"))
        unevenness[name] = float(sizes.std(axis=1).mean() / expected)
        rows.append(Row(f"standard deviation / mean size, {name}", unevenness[name], form=".2f"))
        for rank, size in enumerate(sorted(sizes[0].tolist(), reverse=True), start=1):
            rows.append(Row("", size, series=name, x=rank))
    ratio = unevenness["virtual centres"] / unevenness["real users"]
    rows.append(
        Row(
            "claim: virtual centres give more even bins: standard deviation, virtual / real, "
            "below 1",
            *(ratio, None, ratio < 1),
            "bins around virtual centres are not of more even sizes on 943 users.",
            ".2f",
        )
    )
    return rows


def bin_sizes(points: Points, t: int, kind: str, seed: int) -> NDArray[np.int64]:
    """Return how many users are nearest to each centre."""
    rng = np.random.default_rng(seed)
    sample = points[np.sort(rng.choice(len(points), len(points) // 2, replace=False))]
    lower_bound = len(sample) // (2 * t)
    if kind == "real users":
        centres = real_centres(sample, t, lower_bound, rng)
    else:
        centres = bounded_t_means(sample, t, lower_bound, 10, rng).centres
    return np.bincount(nearest_centre(points, centres)[0], minlength=t)


def real_centres(sample: Points, t: int, lower_bound: int, rng: np.random.Generator) -> Points:
    """Move each centre to the member nearest to the mean, for ten rounds."""
    centres = sample[rng.choice(len(sample), t, replace=False)]
    for _ in range(10):
        labels = bounded_assignment(sample, centres, lower_bound)
        members = [sample[labels == cluster] for cluster in range(t)]
        nearest = [nearest_centre(own.mean(axis=0)[None], own)[0][0] for own in members]
        centres = np.stack([own[i] for own, i in zip(members, nearest, strict=True)])
    return centres


if __name__ == "__main__":
    main(run, __doc__)
