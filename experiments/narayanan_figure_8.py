"""Narayanan & Shmatikov, Fig. 8: exact ratings without dates.

    python experiments/narayanan_figure_8.py path/to/ml-100k (or path/to/ml-1m)

Prints the share of users found. Claims: two items are no longer enough; six of eight outside the
500 most rated ones find 84 %.
"""

from pathlib import Path

from narayanan import (
    BOTH,
    FILES,
    IN_WORDS,
    MEASURES,
    NETFLIX_ITEMS,
    chart,
    figures_of,
    point,
    ratings_of,
    row,
    share_found,
)
from page import Row, main

from recveil.attacks import Adversary
from recveil.auditing.curves import Point

TITLE = "Narayanan & Shmatikov, Fig. 8: exact ratings, no dates"
READING = (
    f"{MEASURES} Shares are of the users with enough ratings in the pool; outside MovieLens "
    "100K's top 500 these are 554 of 943. 500 items are a third of its items and 2.8 % of "
    "Netflix's, so that the 2.8 % most rated items are left out, too. 'No longer enough' is "
    "read as less than half of the users; the paper's pools are the items outside the top 100 and "
    "outside the top 500. The chart shows shares of all who were looked for."
)
AXES = (IN_WORDS, "share of users re-identified")
PAPER = 0.84
# The paper's pools leave out so many of the most rated of Netflix's 17,770 items.
PAPER_TOPS = (100, 500)


def run(folder: Path) -> list[Row]:
    """Return who is found, and the claims."""
    figure, n_items = figures_of(folder)["8"], ratings_of(folder).n_items
    rows = [
        row(point(figure, f"any item{end}", known))
        for known in ("2 of 2", "6 of 8")
        for end in BOTH
    ]
    pools = []
    for top in PAPER_TOPS:
        scaled = round(n_items * top / NETFLIX_ITEMS)
        pools += [
            (top, f"the top {top}"),
            (scaled, f"the top {scaled} ({top / NETFLIX_ITEMS:.1%})"),
        ]
    pools = [(top, f"outside {name.replace('%', ' %')}") for top, name in pools]
    for top, name in pools:
        two = Adversary(known=2, right=2, rating_error=0, outside_top=top)
        for one, end in zip(share_found(folder, two), BOTH, strict=True):
            rows.append(too_few(name, one, end))
    for top, name in pools[2:]:
        eight = Adversary(known=8, right=6, rating_error=0, outside_top=top)
        for one, end in zip(share_found(folder, eight), BOTH, strict=True):
            rows.append(claim(name, one, end))
    return rows + chart(figure, BOTH)


def too_few(pool: str, one: Point, end: str) -> Row:
    """Return whether two items find less than half."""
    return row(one)._replace(
        label=f"claim: two items are not enough: 2 of 2, {pool}{end}, below 50 %",
        holds=one.y < 0.5,
        fails=f"{pool}, two items find {one.y:.1%}{end}; among so few users two are often enough.",
    )


def claim(pool: str, one: Point, end: str) -> Row:
    """Return whether six of eight find most users."""
    made = row(one)
    return made._replace(
        label=f"claim: 6 of 8 find most: {pool}{end}, at least 79 %",
        paper=PAPER,
        holds=made.ours >= PAPER - 0.05,
        fails=f"{pool}, {made.ours:.1%} are found{end}.",
    )


if __name__ == "__main__":
    main(run, __doc__, *FILES)
