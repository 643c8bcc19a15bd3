"""Narayanan & Shmatikov, Fig. 10: mistakes about which items the user rated.

    python experiments/narayanan_figure_10.py path/to/ml-100k

Prints the share of users found where wrong entries are wrong values, and where they are items that
the user never rated. The text prints no number and no claim of its own.
"""

from pathlib import Path

from narayanan import BOTH, DATED, IN_WORDS, MEASURES, chart, figures_of, point, ratings_of, row
from page import Row, main

TITLE = "Narayanan & Shmatikov, Fig. 10: more errors"
READING = (
    f"Ratings within one point, dates within 14 days. {MEASURES} The paper does not say how much "
    "more noise costs, so that only a bound of ours is judged: six of eight still find a hundred "
    "times as many users as a blind guess."
)
AXES = (IN_WORDS, "share of users re-identified")


def run(folder: Path) -> list[Row]:
    """Return who is found, and whether it is far more than a random guess."""
    figure, rows = figures_of(folder)["10"], []
    blind = 1 / ratings_of(folder).n_users
    for known in ("3 of 4", "4 of 6", "6 of 8"):
        for kind in ("wrong value", "item never rated"):
            rows += [row(point(figure, kind + end, known)) for end in BOTH]
    least = point(figure, "item never rated, matched", "6 of 8").y / blind
    rows.append(
        Row(
            "claim: errors do not protect: 6 of 8, never rated, matched / blind guess, "
            "at least 100",
            *(least, None, least >= 100),
            f"{least:.0f} times as many.",
            ".0f",
        )
    )
    return rows + chart(figure, BOTH)


if __name__ == "__main__":
    main(run, __doc__, *DATED)
