"""Narayanan & Shmatikov, Fig. 9: does it matter how rare the known items are?

    python experiments/narayanan_figure_9.py path/to/ml-100k (or path/to/ml-1m)

Prints the share of users found by ratings within one point and dates within 14 days. Claim: the
popularity of the known items makes no dramatic difference.
"""

from pathlib import Path

from narayanan import BOTH, FILES, IN_WORDS, MEASURES, chart, figures_of, of_attacked, point, row
from page import Row, main

TITLE = "Narayanan & Shmatikov, Fig. 9: rarer items, rough ratings and dates"
READING = (
    f"{MEASURES} Shares are of the users with enough ratings in the pool, the chart's of all. "
    "'Not dramatic' is read as a factor of at most 1.25 between any items and those outside the"
    " top 500, a third of MovieLens 100K's items."
)
AXES = (IN_WORDS, "share of users re-identified")
POOLS = ("any item", "outside the top 100", "outside the top 500")


def run(folder: Path) -> list[Row]:
    """Return who is found, and the claims."""
    figure, rows = figures_of(folder)["9"], []
    for known in ("4 of 4", "8 of 8"):
        for end in BOTH:
            found = [of_attacked(folder, point(figure, pool + end, known)) for pool in POOLS]
            rows += [row(one) for one in found]
            factor = found[-1].y / found[0].y
            rows.append(
                Row(
                    f"claim: no dramatic effect: {known}{end}, top 500 left out / any item, "
                    "within 0.8 and 1.25",
                    *(factor, None, 0.8 <= factor <= 1.25),
                    f"with rarer items {factor:.2f} times as many are found ({known}{end}).",
                    ".2f",
                )
            )
    return rows + chart(figure, BOTH)


if __name__ == "__main__":
    main(run, __doc__, *FILES)
