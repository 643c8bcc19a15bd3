"""Narayanan & Shmatikov, Fig. 11: what is left to be learned, exact ratings without dates.

    python experiments/narayanan_figure_11.py path/to/ml-100k (or path/to/ml-1m)

Prints how many bits still separate the adversary from a name, for items outside the most rated
ones. Claim: in the worst case, too, fewer than half of the bits are left.
"""

from pathlib import Path

from narayanan import FILES, IN_WORDS, bits_of_all_users, chart, figures_of, row
from page import Row, main

TITLE = "Narayanan & Shmatikov, Fig. 11: bits still needed, exact ratings without dates"
READING = (
    "The paper's table of experiments: exact ratings, no dates, known items outside the 100 or 500 "
    "most rated ones; its caption says 'same parameters as in Fig. 6', which have dates. Items of "
    "any popularity are drawn, too, and not judged. Means over the users with enough ratings in "
    "the pool. The figure is a plot only."
)
AXES = (IN_WORDS, "bits still needed")


def run(folder: Path) -> list[Row]:
    """Return the bits, and the claim."""
    figure, whole = figures_of(folder)["11"], bits_of_all_users(folder)
    rows = [Row("bits, nothing known", whole, 19.0, form=".2f")]
    rows += [row(one, ".2f") for one in figure.points if one.x in ("2 of 2", "8 of 8")]
    rare = [one for one in figure.points if one.series != "any item"]
    worst = max(one.y for one in rare) / whole
    for one in rare:
        if one.x == "2 of 2":
            rows.append(Row(f"bits left / all, 2 of 2, {one.series}", one.y / whole, form=".1%"))
    rows.append(
        Row(
            "claim: the worst case leaves less than half: bits left / all, below 50 %",
            *(worst, None, worst < 0.5),
            f"{worst:.0%} of the bits are left.",
            ".1%",
        )
    )
    return rows + chart(figure)


if __name__ == "__main__":
    main(run, __doc__, *FILES)
