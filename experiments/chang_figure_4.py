"""Chang et al., Fig. 4: four measures of how alike users are, before and after clustering.

    python experiments/chang_figure_4.py path/to/ml-100k

Prints the mean of each measure over 10,000 pairs of any two users and of two users of one group,
and how far the two distributions overlap. Claims: within a cluster the distributions are shifted to
the left; a lax measure (closeness-1.0) makes all users look alike; the paper's own is finer.
"""

from pathlib import Path

import numpy as np
from chang import ratings_of
from page import Row, main

from recveil.clustering import PredictiveGrouping
from recveil.evaluation import similarity_distributions
from recveil.predict import FunkSVD

TITLE = "Chang et al., Fig. 4: similarity before and after clustering"
READING = (
    "Padded rows of all of MovieLens 100K; the paper took all pairs of 5000 users, and one single "
    "cluster of unprinted size; ours are 10,000 random pairs, and pairs within the groups of "
    "`PredictiveGrouping` at k = 50. All measures are distances (0 = identical), which is why the "
    "figure moves to the left. The weights of 'weighted similarity' are not printed: ours is 1 - d "
    "for a difference d, so that the paper's own is to it what its name says. The figure is a plot "
    "only, no number is printed. 'Overlap' is the part that both distributions share in bins of "
    "0.05: the smaller, the better a measure tells pairs of one group from others."
)
AXES = ("distance", "share of pairs")


def run(folder: Path) -> list[Row]:
    """Return means, overlaps and claims."""
    ratings = ratings_of(folder)
    padding = FunkSVD().fit(ratings).padding()
    labels = PredictiveGrouping(50, random_state=0).fit(padding.coordinates()).labels_
    found = similarity_distributions(ratings, padding, labels)
    overlaps = np.minimum(found.before, found.after).sum(axis=1)
    rows = []
    for name, before, after in zip(
        found.measures, found.mean_before, found.mean_after, strict=True
    ):
        rows += [
            Row(f"{name}: mean, any two users", float(before)),
            Row(f"{name}: mean, two of one group", float(after)),
            Row(
                f"claim: clustering shifts {name} to the left: after / before, below 1",
                *(float(after / before), None, bool(after < before)),
                f"clustering does not shift {name}.",
            ),
        ]
    for name, overlap in zip(found.measures, overlaps, strict=True):
        rows.append(Row(f"{name}: overlap of the two distributions", float(overlap), form=".1%"))
    lax, own = found.measures.index("closeness-1.0"), found.measures.index("weighted-squared")
    means = found.mean_before
    rows += [
        Row(
            "claim: closeness-1.0 makes users look alike: its mean / that of weighted-squared, "
            "below 1",
            *(float(means[lax] / means[own]), None, bool(means[lax] < means[own])),
            "closeness-1.0 does not make users look more alike than the paper's own measure.",
        ),
        Row(
            "claim: the paper's own is finer: overlap of weighted-squared - that of "
            "closeness-1.0, below 0",
            *(float(overlaps[own] - overlaps[lax]), None, bool(overlaps[own] < overlaps[lax])),
            f"weighted-squared tells pairs of one group from others no better than closeness-1.0: "
            f"its distributions overlap by {overlaps[own]:.1%}, those of closeness-1.0 by "
            f"{overlaps[lax]:.1%}. On padded rows it keeps to few bins.",
            ".1%",
        ),
    ]
    return rows + curves(found)


def curves(found) -> list[Row]:
    """Return the chart's points: the middles of the bins."""
    middles = (found.edges[1:] + found.edges[:-1]) / 2
    return [
        Row("", float(share), series=series, x=round(float(middle), 3), panel=name)
        for place, name in enumerate(found.measures)
        for series, bins in (("any two", found.before), ("of one group", found.after))
        for middle, share in zip(middles, bins[place], strict=True)
    ]


if __name__ == "__main__":
    main(run, __doc__)
