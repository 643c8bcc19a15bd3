"""Narayanan & Shmatikov, Fig. 6: what is left to be learned, exact ratings.

    python experiments/narayanan_figure_6.py path/to/ml-100k

Prints how many bits still separate the adversary from a name. Claims: of 19 bits about 3 are left
after two ratings with dates within three days; six of eight leave a fraction of one bit.
"""

from pathlib import Path

from narayanan import IN_WORDS, bits_of_everybody, chart, figures_of, point, row
from page import Row, main

TITLE = "Narayanan & Shmatikov, Fig. 6: bits still needed, exact ratings"
READING = (
    "A bit halves the number of people who come into question. Nobody known leaves 19 bits of the "
    "paper's 480,189 people, and 9.9 of ours: shares of these are compared. The paper's 'around 3 "
    "bits' are 16 % of 19; the bound of 25 % is ours. 'A fraction of a bit' is read as below 1."
)
AXES = (IN_WORDS, "bits still needed")


def run(folder: Path) -> list[Row]:
    """Return the bits, and the claims."""
    figure, whole = figures_of(folder)["6"], bits_of_everybody(folder)
    rows = [Row("bits, nothing known", whole, 19.0, form=".2f")]
    for known, paper in (("2 of 2", 3.0), ("8 of 8", None)):
        for dates in ("dates ±3 days", "dates ±14 days"):
            given = paper if dates == "dates ±3 days" else None
            rows.append(row(point(figure, dates, known), ".2f", given))
    share = point(figure, "dates ±3 days", "2 of 2").y / whole
    rows.append(
        Row(
            "claim: two ratings leave little: bits left / all, dates ±3 days, at most 25 %",
            *(share, 3 / 19, share <= 0.25),
            f"{share:.0%} of the bits are left.",
            ".1%",
        )
    )
    for dates in ("dates ±3 days", "dates ±14 days"):
        one = point(figure, dates, "6 of 8")
        rows.append(
            row(one, ".2f")._replace(
                label=f"claim: six of eight leave a fraction of a bit: {dates}, below 1",
                holds=one.y < 1,
                fails=f"{one.y:.2f} bits are left.",
            )
        )
    return rows + chart(figure)


if __name__ == "__main__":
    main(run, __doc__)
