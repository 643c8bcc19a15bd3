"""Narayanan & Shmatikov, Fig. 1: how similar the most similar other user is.

    python experiments/narayanan_figure_1.py path/to/ml-100k (or path/to/ml-1m)

Prints the share of users for whom some user has at least a similarity. Claim: the vast majority has
no user above 0.5, even if only the items are compared.
"""

from pathlib import Path

from narayanan import FILES, chart, figures_of, ratings_of
from page import Row, main

from recveil.attacks import nearest_similarity, share_at_least

TITLE = "Narayanan & Shmatikov, Fig. 1: the most similar other person"
READING = (
    "The paper's data are those of the Netflix Prize: 480,189 users, 1.2 % of all cells; "
    "MovieLens 100K has 943, and 6.3 %. Similarity is the number of items on which two users "
    "agree over the number of items that either rated. 'Vast majority' is read as 95 %."
)
AXES = ("similarity to the nearest", "share of users with at least that")
MOST = 0.05
KINDS: dict[str, tuple[float | None, int | None]] = {
    "items alone": (None, None),
    "items and ratings": (0, None),
    "items, ratings and dates ±14 days": (0, 14),
}


def run(folder: Path) -> list[Row]:
    """Return the shares above 0.5, and the claims."""
    ratings, shares = ratings_of(folder), {}
    for name, (rating_error, date_error) in KINDS.items():
        if date_error is None or ratings.days is not None:
            nearest = nearest_similarity(ratings, None, rating_error, date_error)
            # Above, not at: a hair beyond one half.
            shares[name] = float(share_at_least(nearest, [0.5 + 1e-9])[0])
    rows = [Row(f"nearest above 0.5, {name}", one, form=".2%") for name, one in shares.items()]
    found, stricter = shares["items alone"], shares["items and ratings"]
    rows += [
        Row(
            "claim: few users have a nearest above 0.5: items alone, at most 5 %",
            *(found, None, found <= MOST),
            f"{found:.1%} of the users have somebody more similar than 0.5.",
            ".2%",
        ),
        Row(
            "claim: ratings make users more alone: with ratings / items alone, at most 1",
            *(stricter / max(found, 1e-9), None, stricter <= found),
            "with ratings more users have a similar one.",
            ".3f",
        ),
    ]
    return rows + chart(figures_of(folder)["1"])


if __name__ == "__main__":
    main(run, __doc__, *FILES)
