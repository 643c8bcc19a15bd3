"""Narayanan & Shmatikov, Fig. 5: who is not in the data must be noticed, too.

    python experiments/narayanan_figure_5.py path/to/ml-100k

Prints how often a user is found, and how often it is noticed that their record was taken out.
Claim: both with high probability. Then the lead at which both errors are equal (Definition 3) is
chosen on half of the users, as `audit --eccentricity auto` does, and judged on the other half.
"""

from pathlib import Path

from narayanan import DATED, IN_WORDS, chart, figures_of, point, ratings_of, row
from page import Row, main

from recveil.attacks import Adversary, Candidates, choose_targets
from recveil.auditing.decision import calibrate

TITLE = "Narayanan & Shmatikov, Fig. 5: in the data, or not"
READING = (
    "Each person is looked for twice: in the whole table, and in one without their record. Found "
    "means that the right record leads by 1.5 standard deviations; noticed, that no other does. "
    "'High probability' is not printed as a number; ours is 80 %."
)
AXES = (IN_WORDS, "share handled rightly")
ENDS = {" (in the data)": "in the data", " (not in the data)": "not in the data"}


def run(folder: Path) -> list[Row]:
    """Return both shares, and the claims."""
    figure, rows = figures_of(folder)["5"], []
    for known in ("2 of 2", "8 of 8"):
        rows += [row(point(figure, f"dates ±14 days{end}", known)) for end in ENDS]
    for dates in ("dates ±3 days", "dates ±14 days"):
        for end in ENDS:
            one = point(figure, dates + end, "6 of 8")
            rows.append(
                row(one)._replace(
                    label=f"claim: probably right: 6 of 8, {dates}{end}, at least 80 %",
                    holds=one.y >= 0.8,
                    fails=f"only {one.y:.1%} are handled rightly.",
                )
            )
    return rows + equal_errors(folder) + chart(figure, ENDS)


def equal_errors(folder: Path) -> list[Row]:
    """Return both error rates of users held out: at the lead chosen on the others, and at 1.5."""
    ratings = ratings_of(folder)
    targets = choose_targets(ratings.n_users, ratings.n_users, seed=0)
    rows = []
    for days in (3, 14):
        adversary = Adversary(known=8, right=6, rating_error=0, date_error=days)
        both = calibrate(ratings, Candidates.from_ratings(ratings), adversary, targets)
        for errors, by in ((both.chosen, "equal errors"), (both.default, "the paper's")):
            for what, rate in (
                ("not matched", errors.false_reject),
                ("matched although not in the data", errors.false_accept),
            ):
                label = (
                    f"6 of 8, dates ±{days} days, users held out, lead {errors.eccentricity:.2f} "
                    f"({by}): {what}"
                )
                rows.append(Row(label, rate.rate, form=".1%", interval=(rate.low, rate.high)))
    return rows


if __name__ == "__main__":
    main(run, __doc__, *DATED)
