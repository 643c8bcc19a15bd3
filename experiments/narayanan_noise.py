"""Narayanan & Shmatikov, section 4: the publisher's and the adversary's noise as one noise.

    python experiments/narayanan_noise.py path/to/ml-100k

Prints the share of users whose record is matched if the publisher adds noise to all ratings and
dates and the adversary's knowledge has noise of its own, and if the table is published unchanged
and the adversary's knowledge has the sum of both. Claim: the adversary's task is the same.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from narayanan import DATED, ratings_of
from numpy.typing import NDArray
from page import Row, main

from recveil.attacks import (
    Adversary,
    Candidates,
    Knowledge,
    ScoreboardRH,
    draw_knowledge,
    wilson_interval,
)
from recveil.auditing.decision import count_matches
from recveil.ratings import Ratings, RatingScale

TITLE = "Narayanan & Shmatikov, section 4: one noise"
READING = (
    "Noise is uniform over whole points and days. The scale is widened, so that no noise is cut "
    "off at its ends. Eight known ratings, all of them of items that the user rated; a match leads "
    "by 1.5 standard deviations, and the top score counts without a lead. The publisher's noise "
    "also moves the other users' records, which the paper's equivalence leaves out. 'The same' is "
    "not printed as a number; ours is five points."
)
AXES = ("days of noise, and a point per seven days", "share of users")

POINTS = (1, 2, 4)
DAYS_PER_POINT = 7
OF_ADVERSARY = Adversary(known=8, rating_error=1, date_error=7)
DRAWS = 3


def noisy(
    values: NDArray[Any], days: NDArray[Any], points: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Add the publisher's noise to ratings and days."""
    within = DAYS_PER_POINT * points
    moved = values + rng.integers(-points, points, values.shape, endpoint=True)
    shifted = days + rng.integers(-within, within, days.shape, endpoint=True)
    return moved.astype(values.dtype), shifted.astype(days.dtype)


def widened(ratings: Ratings) -> Ratings:
    """Return the ratings on a scale that has room for all noise."""
    room = max(POINTS) + int(OF_ADVERSARY.rating_error or 0)
    scale = RatingScale(ratings.scale.low - room, ratings.scale.high + room, 1)
    return ratings.with_scale(scale)


def matched(candidates: Candidates, knowledge: Knowledge) -> tuple[float, float]:
    """Count the users whose record is matched, and whose record has the top score."""
    guesses = ScoreboardRH().attack(candidates, knowledge, np.arange(candidates.n_users))
    matches = count_matches(OF_ADVERSARY, guesses, candidates, knowledge)
    return matches.right, float(guesses.chance.sum())


def run(folder: Path) -> list[Row]:
    """Return the shares with noise in the table and in the knowledge, and the claim."""
    ratings = widened(ratings_of(folder))
    exact, targets = Candidates.from_ratings(ratings), np.arange(ratings.n_users)
    rows, apart = [], {"matched": 0.0, "top score": 0.0}
    for points in POINTS:
        counts = np.zeros((2, 2))
        for seed in range(DRAWS):
            rng = np.random.default_rng([seed, points])
            values, days = noisy(ratings.values, ratings.days, points, rng)
            published = Candidates.from_ratings(
                Ratings(
                    *(ratings.users, ratings.items, ratings.indptr, ratings.indices, values, days),
                    scale=ratings.scale,
                )
            )
            known = draw_knowledge(ratings, OF_ADVERSARY, targets, seed)
            values, days = noisy(known.values, known.days, points, rng)
            counts[0] += matched(published, known)
            counts[1] += matched(exact, replace(known, values=values, days=days))
        n = DRAWS * known.requested
        for measure, (of_table, of_knowledge) in zip(apart, counts.T, strict=True):
            for where, count in (("publisher's", of_table), ("adversary's", of_knowledge)):
                # The draws repeat the users: the interval is that of one draw.
                share = wilson_interval(count / DRAWS, known.requested)
                rows.append(
                    Row(
                        f"±{points} points, ±{DAYS_PER_POINT * points} days, {where}: {measure}",
                        *(count / n, None, None, "", ".1%"),
                        series=f"{where} noise, {measure}",
                        x=DAYS_PER_POINT * points,
                        interval=(share.low, share.high),
                    )
                )
            apart[measure] = max(apart[measure], abs(of_table - of_knowledge) / n)
    return rows + [
        Row(
            f"claim: one noise: largest difference, {measure}, at most 5 points",
            *(share, None, share <= 0.05),
            f"with a record on top, the shares differ by {share:.1%}.",
            ".1%",
        )
        for measure, share in apart.items()
    ]


if __name__ == "__main__":
    main(run, __doc__, *DATED)
