"""Chang et al., Table 2: how ratings are distributed before and after padding.

    python experiments/chang_table_2.py path/to/ml-100k

Prints which share of all cells holds which rating. Claim: padding leaves no null, and changes the
distribution.
"""

from pathlib import Path

from chang import ratings_of
from page import Row, main

from recveil.evaluation import rating_histogram
from recveil.predict import FunkSVD

TITLE = "Chang et al., Table 2: ratings before and after padding"
READING = (
    "All of MovieLens 100K, padded by `FunkSVD`; a padded cell counts for the nearest rating. The "
    "paper's 0 means null. Netflix is fuller of nulls (98.8 %) than MovieLens 100K (93.7 %)."
)
AXES = None
# Percent: null, then ratings 1 to 5.
BEFORE = (98.84, 0.053, 0.117, 0.334, 0.390, 0.267)
AFTER = (0, 0.79, 14.12, 46.71, 33.49, 4.89)
NAMES = ("null", "1", "2", "3", "4", "5")


def run(folder: Path) -> list[Row]:
    """Return the table and its claims."""
    ratings = ratings_of(folder)
    found = rating_histogram(ratings, FunkSVD().fit(ratings).padding())
    before = (found.null_original, *found.original)
    after = (found.null_padded, *found.padded)
    rows = []
    for when, ours, papers in (("before", before, BEFORE), ("after", after, AFTER)):
        for name, share, paper in zip(NAMES, ours, papers, strict=True):
            rows.append(Row(f"{when} padding: {name}", float(share), paper / 100, form=".3%"))
    peaks = [int(max(range(1, 6), key=shares.__getitem__)) for shares in (before, after)]
    ends = [(shares[1] + shares[5]) / sum(shares[1:]) for shares in (before, after)]
    return [
        *rows,
        Row(
            "claim: padding leaves no null",
            *(after[0], 0.0, after[0] == 0),
            f"{after[0]:.2%} of the cells stay null.",
            ".2%",
        ),
        Row("commonest rating before padding", peaks[0], 4, form="d"),
        Row(
            "claim: the distribution changes: commonest rating after padding is 3",
            *(peaks[1], 3, peaks[1] == 3),
            f"the commonest rating after padding is {peaks[1]}.",
            "d",
        ),
        Row("1 and 5 among all ratings, before", float(ends[0]), 0.320 / 1.161, form=".1%"),
        Row(
            "claim: padding moves to the middle: 1 and 5 among all ratings, after, fewer than "
            "before",
            *(float(ends[1]), 5.68 / 100, bool(ends[1] < ends[0])),
            "ends of the scale are not rarer after padding.",
            ".1%",
        ),
    ]


if __name__ == "__main__":
    main(run, __doc__)
