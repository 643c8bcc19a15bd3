"""Narayanan & Shmatikov, Fig. 12: knowing roughly how many items the user rated.

    python experiments/narayanan_figure_12.py path/to/ml-100k (or path/to/ml-1m)

Prints the share of users found with and without that knowledge. Claim: it can more than double
what is found. Then the same with the date of the user's first rating (section 5), known within 14
days.
"""

from pathlib import Path

from narayanan import (
    BOTH,
    FILES,
    IN_WORDS,
    MEASURES,
    chart,
    figures_of,
    point,
    ratings_of,
    row,
    share_found,
)
from page import Row, main

from recveil.attacks import Adversary

TITLE = "Narayanan & Shmatikov, Fig. 12: knowing how many items the user rated"
READING = (
    f"Ratings within one point, dates within 14 days where there are dates; the number of ratings "
    f"within 50 %. {MEASURES} Whoever is found already by everything else cannot be found twice as "
    "often: the factor is that of the best attack, too, but only the paper's measure is judged."
)
AXES = (IN_WORDS, "share of users re-identified")


def run(folder: Path) -> list[Row]:
    """Return who is found, and the claim."""
    figure = figures_of(folder)["12"]
    rows: list[Row] = []
    factors: dict[str, list[float]] = {end: [] for end in BOTH}
    for known in ("2 of 2", "4 of 4", "8 of 8"):
        for end in BOTH:
            pair = [
                point(figure, f"{what}{end}", known) for what in ("unknown", "known within 50 %")
            ]
            rows += [row(one, label=f"{one.x}, number {one.series}") for one in pair]
            factors[end].append(pair[1].y / max(pair[0].y, 1e-9))
    most = max(factors[", matched"])
    rows += [
        Row("largest factor, best attack", max(factors[", best attack"]), form=".2f"),
        Row(
            "claim: it can more than double the matches: largest factor, matched, above 2",
            *(most, None, most > 2),
            f"the largest factor is {most:.2f}.",
            ".2f",
        ),
    ]
    return rows + first_date(folder) + chart(figure, BOTH)


def first_date(folder: Path) -> list[Row]:
    """Return who is found with the date of the first rating."""
    if ratings_of(folder).days is None:
        return []
    return [
        row(one, label=f"{one.x}, first date known within 14 days{end}")
        for known in (2, 4, 8)
        for one, end in zip(
            share_found(
                folder, Adversary(known, rating_error=1, date_error=14, first_date_error=14)
            ),
            BOTH,
            strict=True,
        )
    ]


if __name__ == "__main__":
    main(run, __doc__, *FILES)
