"""Thesis (Chen 2012), Fig. 3.5 and Figs. 2.3, 2.4 and 2.8: what an anonymized table retains.

    python experiments/thesis_figure_3_5.py path/to/ml-100k

Prints the number of entries after bisecting k-gather (BKG) and homogenizing, mean over five seeds.
Claim: it increases with k. Prints what the methods that chapter 2 rejects would retain: suppression
(Fig. 2.3), generalization (Fig. 2.4), and a grid over the most rated items (Fig. 2.8).
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
    "claim about it. The figure is a plot only. Chapter 2 has toy tables, so the same is "
    "counted on the groups of k = 2 (Fig. 2.3) and 4 (2.4), seed 0: an item that some members of a "
    "group did not rate is suppressed, or generalized to the whole scale. Fig. 2.8: a cell of the "
    "grid is what a user gave d of the most rated items, a rating or none; k = 5."
)
AXES = ("k", "entries, thousands")
SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
SEEDS = range(5)
DIMENSIONS = (1, 2, 5, 10)
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
        *of_chapter_2(folder),
    ]


def of_chapter_2(folder: Path) -> list[Row]:
    """Return what suppression, generalization and a grid retain."""
    table = np.zeros((ratings_of(folder).n_users, ratings_of(folder).n_items))
    for user, row in enumerate(table):
        items, values = ratings_of(folder).row(user)
        row[items] = values
    rows = []
    for figure, k in (("2.3", 2), ("2.4", 4)):
        labels = BisectingKGather(k, random_state=0).fit(points_of(folder)).labels_
        groups = [table[labels == label] for label in np.unique(labels)]
        kept = sum(int((group > 0)[:, (group > 0).all(axis=0)].sum()) for group in groups)
        by_some = sum(int((group > 0).any(axis=0).sum()) for group in groups)
        by_all = sum(int((group > 0).all(axis=0).sum()) for group in groups)
        what = f"Fig. {figure}: k = {k}"
        rows += [
            Row(f"{what}: ratings left by suppression", kept / (table > 0).sum(), form=".1%"),
            Row(f"{what}: generalized to the whole scale", 1 - by_all / by_some, form=".1%"),
        ]
    most_rated = np.argsort(-(table > 0).sum(axis=0), kind="stable")
    for d in DIMENSIONS:
        _, sizes = np.unique(table[:, most_rated[:d]], axis=0, return_counts=True)
        dense = sizes[sizes >= 5].sum() / len(table)
        rows.append(Row(f"Fig. 2.8: d = {d}: users in cells of at least 5", dense, form=".1%"))
    return rows


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
