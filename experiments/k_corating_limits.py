"""k-CoRating, Conclusion: l-diversity and t-closeness of co-rated rows, which are future work.

    python experiments/k_corating_limits.py path/to/ml-100k

Prints, for diversity 2 and 3 and closeness 0.2, the share of ratings that are suppressed, and the
share of the published items of classes that are outside the limit by real ratings alone. No claim:
the paper defines neither.
"""

from pathlib import Path

from narayanan import ratings_of
from page import Row, main

from recveil.methods import KCoRater

TITLE = "k-CoRating, Conclusion: limits of the values of an item"
READING = (
    "k = 5, GeCom. `verify` counts ratings and fills alike, since a file does not show which is "
    "which; by real ratings alone is what an adversary sees who recognizes fills."
)
AXES = None

LIMITS: tuple[dict[str, float], ...] = ({"diversity": 2}, {"diversity": 3}, {"closeness": 0.2})


def run(folder: Path) -> list[Row]:
    """Return both shares for each limit and two fills."""
    ratings, rows = ratings_of(folder), []
    for fill in ("item-mean", "random"):
        for limit in LIMITS:
            release = KCoRater(5, fill, seed=0, **limit).anonymize(ratings)
            cost = release.private.settings["suppressed"]
            label = f"{fill}, {', '.join(f'{name} {level:g}' for name, level in limit.items())}"
            lost, outside = cost["ratings"] / ratings.n_ratings, cost["outside"] / cost["items"]
            rows += [
                Row(f"{label}: ratings suppressed", lost, form=".1%"),
                Row(f"{label}: items of classes outside by ratings alone", outside, form=".1%"),
            ]
    return rows


if __name__ == "__main__":
    main(run, __doc__)
