"""Thesis (Chen 2012), Fig. 3.5: how many entries the anonymized table has.

    python experiments/thesis_figure_3_5.py path/to/ml-100k

Prints the number of entries after bisecting k-gather (BKG) and homogenizing, mean over five seeds.
Claim: it increases with k.
"""

from pathlib import Path

import numpy as np
from page import Row, main
from thesis import POINTS, points_of, ratings_of

from recveil.clustering import BisectingKGather
from recveil.methods import Groups, homogenize_simple

TITLE = "Thesis, Fig. 3.5: entries of the anonymized table"
READING = (
    f"All of MovieLens 100K, as in the thesis. {POINTS} A homogenized cell exists only where "
    "a user of the group rated. 'Entries' are counted with one row a user. A recipient learns no "
    "more than from one row a group, which is counted, too, and not judged: the thesis makes no "
    "claim about it. The figure is a plot only."
)
AXES = ("k", "entries, thousands")
SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
SEEDS = range(5)
BY_USER, BY_GROUP = "one row a user", "one row a group"


def run(folder: Path) -> list[Row]:
    """Return the entries at each k, and the claim."""
    found = {k: np.mean([entries(folder, k, seed) for seed in SEEDS], axis=0) for k in SIZES}
    rows = []
    for k, both in found.items():
        for name, number in zip((BY_USER, BY_GROUP), both.tolist(), strict=True):
            rows.append(Row(f"entries, k = {k}, {name}", number, form=",.0f"))
            rows.append(Row("", number / 1000, series=name, x=k))
    steps = np.diff([found[k] for k in SIZES], axis=0)
    least, most = float(steps[:, 0].min()), float(steps[:, 1].max())
    return [
        *rows,
        Row(
            f"claim: entries increase with k: smallest step, {BY_USER}, above 0",
            *(least, None, least > 0),
            "entries do not increase with k.",
            ",.0f",
        ),
        # Not in the thesis: what a recipient learns from.
        Row(f"largest step, {BY_GROUP}", most, form=",.0f"),
    ]


def entries(folder: Path, k: int, seed: int) -> tuple[int, int]:
    """Count the cells with one row a user, and with one row a group."""
    ratings, labels = ratings_of(folder), np.arange(ratings_of(folder).n_users)
    if k > 1:
        labels = BisectingKGather(k, random_state=seed).fit(points_of(folder)).labels_
    by_user = by_group = 0
    for block in homogenize_simple(ratings, Groups.from_labels(labels)):
        lengths = np.diff(block.indptr)
        by_user += int((lengths * block.sizes).sum())
        by_group += int(lengths.sum())
    return by_user, by_group


if __name__ == "__main__":
    main(run, __doc__)
