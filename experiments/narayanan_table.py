"""Narayanan & Shmatikov, the table of users with ratings outside the most rated items.

    python experiments/narayanan_table.py path/to/ml-100k (or path/to/ml-1m)

Prints how many users rated at least one, five, ten items outside the X most rated ones. Claim:
most users rated fairly rare items.
"""

from pathlib import Path

import numpy as np
from narayanan import FILES, NETFLIX_ITEMS, ratings_of
from page import Row, main

TITLE = "Narayanan & Shmatikov, table: ratings outside the most rated items"
READING = (
    "X = 100, 500 and 1000 of Netflix's 17,770 items are 0.6, 2.8 and 5.6 %. Ours are counted "
    "twice: outside as many items, and outside the same share of items, which is what compares."
    " A claim holds within ten points of the paper's share, or above."
)
AXES = None
LEAST = (1, 5, 10)
PAPER = {100: (1.0, 0.97, 0.93), 500: (0.99, 0.90, 0.80), 1000: (0.97, 0.83, 0.70)}


def run(folder: Path) -> list[Row]:
    """Return the shares, and the claims."""
    ratings, rows = ratings_of(folder), []
    for top, papers in PAPER.items():
        same_share = round(ratings.n_items * top / NETFLIX_ITEMS)
        for least, paper in zip(LEAST, papers, strict=True):
            share = share_outside(folder, same_share, least)
            rows.append(
                Row(
                    f"claim: at least {least} outside the top {same_share} ({top} of 17,770), "
                    f"at least {paper - 0.1:.0%}",
                    *(share, paper, share >= paper - 0.1),
                    f"{share:.1%} have at least {least} ratings outside the top {same_share}.",
                    ".1%",
                )
            )
    for top in PAPER:
        for least in LEAST:
            share = share_outside(folder, top, least)
            rows.append(Row(f"at least {least} outside the top {top}", share, form=".1%"))
    return rows


def share_outside(folder: Path, top: int, least: int) -> float:
    """Return the share of users with so many ratings outside the most rated items."""
    ratings = ratings_of(folder)
    rare = np.ones(ratings.n_items, bool)
    rare[np.argsort(-ratings.support, kind="stable")[:top]] = False
    users = np.repeat(np.arange(ratings.n_users), ratings.activity)
    counts = np.bincount(users[rare[ratings.indices]], minlength=ratings.n_users)
    return float((counts >= least).mean())


if __name__ == "__main__":
    main(run, __doc__, *FILES)
