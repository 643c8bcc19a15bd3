"""Narayanan & Shmatikov, Figs. 2 and 3: how many users rated how much.

    python experiments/narayanan_figures_2_3.py path/to/ml-100k (or path/to/ml-1m)

Prints how many users have how many ratings. Claims: the numbers do not fall steadily, but jump at
20; and the tail is thick.
"""

from pathlib import Path

import numpy as np
from narayanan import FILES, NETFLIX_USERS, ratings_of
from page import Row, main

TITLE = "Narayanan & Shmatikov, Figs. 2 and 3: users by their number of ratings"
READING = (
    "The paper prints no number of the plots; the text says that the curve jumps at 20 ratings,"
    " and that thousands of the 480,189 users have more than 1000. Netflix has 209 ratings a "
    "person, so that 1000 are 4.8 times the mean; ours are counted beyond 4.8 times our mean, "
    "and 'thousands' is read as at least 2000 of 480,189. MovieLens kept users with at least "
    "20 ratings by rule, so that its jump says nothing of a selection that was not told. The "
    "chart counts users by five ratings at a time."
)
AXES = ("number of ratings", "users, by five ratings", "log")
TIMES_MEAN = 1000 / (100_480_507 / NETFLIX_USERS)
THOUSANDS = 2000 / NETFLIX_USERS


def run(folder: Path) -> list[Row]:
    """Return the counts, and the claims."""
    activity = ratings_of(folder).activity
    counts = np.bincount(activity, minlength=1001)
    before, after = int(counts[15:20].sum()), int(counts[20:25].sum())
    tail = float((activity > TIMES_MEAN * activity.mean()).mean())
    rows = [
        Row("users with 1 to 19 ratings", int(counts[1:20].sum()), form=","),
        Row("users with 20 to 24 ratings", after, form=","),
        Row("users with more than 1000 ratings", int((activity > 1000).sum()), form=","),
        Row("ratings a person, mean", float(activity.mean()), 209.3, form=".1f"),
        Row(
            "claim: a jump at 20: users with 20 to 24 - with 15 to 19 ratings, above 0",
            *(after - before, None, after > before),
            "there are fewer users with 20 to 24 ratings than with 15 to 19.",
            ",",
        ),
        Row(
            "claim: a thick tail: users beyond 4.8 times the mean, at least 0.42 %",
            *(tail, THOUSANDS, tail >= THOUSANDS),
            f"only {tail:.2%} of the users rated so much.",
            ".2%",
        ),
    ]
    by_fives = counts[:1000].reshape(-1, 5).sum(axis=1).tolist()
    return rows + [Row("", users, x=5 * at + 2) for at, users in enumerate(by_fives)]


if __name__ == "__main__":
    main(run, __doc__, *FILES)
