"""Narayanan & Shmatikov, Fig. 4: who is found by exact ratings and rough dates.

    python experiments/narayanan_figure_4.py path/to/ml-100k

Prints the share of users found by n right ratings of m known ones. Claims: six of eight with dates
within 14 days find 99 %, two with dates within three days 68 %.
"""

from pathlib import Path

from narayanan import (
    BOTH,
    DATED,
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

from recveil.attacks import Adversary, Candidates, choose_targets
from recveil.auditing import tune_widths

TITLE = "Narayanan & Shmatikov, Fig. 4: exact ratings, rough dates"
READING = (
    f"All 943 users are looked for. {MEASURES} The lead that an adversary waits for is a property "
    "of the data: here two standard deviations' worth of users are few. Claims hold within five "
    "points of the paper's share, or above. Widths are the paper's, for Netflix; those that "
    "re-identify most of one half of the users, as its footnote 6 asks, are judged on the other."
)
AXES = (IN_WORDS, "share of users re-identified")
PAPER = {("6 of 8", "dates ±14 days"): 0.99, ("2 of 2", "dates ±3 days"): 0.68}
ADVERSARIES = (
    Adversary(known=8, right=6, rating_error=0, date_error=14),
    Adversary(known=2, rating_error=0, date_error=3),
)


def run(folder: Path) -> list[Row]:
    """Return who is found, and the claims."""
    figure = figures_of(folder)["4"]
    rows = [Row("blind guess", 1 / ratings_of(folder).n_users, form=".1%")]
    for (known, dates), paper in PAPER.items():
        for measure in BOTH:
            one = point(figure, dates + measure, known)
            rows.append(
                row(one)._replace(
                    label=f"claim: {known}, {dates}{measure}: at least {paper - 0.05:.0%}",
                    paper=paper,
                    holds=one.y >= paper - 0.05,
                    fails=f"{known}, {dates}: {one.y:.1%}{measure}; most others are found by their "
                    "score, too, but without the paper's lead.",
                )
            )
    rows += [one for adversary in ADVERSARIES for one in tuned(folder, adversary)]
    for right in (8, 6):
        plain = Adversary(8, right, rating_error=0, date_error=14, algorithm="scoreboard")
        one, _ = share_found(folder, plain)
        rows.append(row(one, label=f"{one.x}, dates ±14 days, matched by the plain Scoreboard"))
    for known in ("4 of 4", "3 of 4", "8 of 8"):
        rows += [row(point(figure, f"dates ±14 days{end}", known)) for end in BOTH]
    return rows + chart(figure, BOTH)


def tuned(folder: Path, adversary: Adversary) -> list[Row]:
    """Return who is matched in one half of the users, with widths tuned on the other and before."""
    ratings = ratings_of(folder)
    targets = choose_targets(ratings.n_users, ratings.n_users, seed=0)
    chosen = tune_widths(ratings, Candidates.from_ratings(ratings), adversary, targets)
    x = f"{adversary.n_right} of {adversary.known}"
    known = f"{x}, dates ±{adversary.date_error} days, matched, users held out"
    widths = f"{chosen.rating_width:g} points and {chosen.day_width:g} days"
    rates = {
        f"{known}, widths tuned to {widths}": chosen.matched_after,
        f"{known}, the paper's widths": chosen.matched_before,
    }
    return [
        Row(label, rate.rate, form=".1%", interval=(rate.low, rate.high))
        for label, rate in rates.items()
    ]


if __name__ == "__main__":
    main(run, __doc__, *DATED)
