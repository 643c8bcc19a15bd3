"""Narayanan & Shmatikov, Fig. 7: what one known item reveals, by its rank in popularity.

    python experiments/narayanan_figure_7.py path/to/ml-100k (or path/to/ml-1m)

Prints how many bits an item reveals about who rated it. Claims: the rarer, the more; a rating
within one point reveals more than none, a date within 14 days more still.
"""

from pathlib import Path

import numpy as np
from narayanan import FILES, chart, figures_of, ratings_of
from page import Row, main

from recveil.attacks import information_by_rank

TITLE = "Narayanan & Shmatikov, Fig. 7: what one item reveals"
READING = (
    "Bits that the knowledge of one item reveals, by the item's rank (1 is the most rated one). "
    "The figure is a plot only, no number is printed. Each figure of ours is a mean of the "
    "items of the named ranks."
)
AXES = ("rank of the item", "bits learned", "log")
RANKS = ((1, 10), (11, 100), (101, 1000))
KINDS: dict[str, tuple[float | None, int | None]] = {
    "item alone": (None, None),
    "and the rating ±1": (1, None),
    "and the date ±14 days": (None, 14),
}


def run(folder: Path) -> list[Row]:
    """Return the bits by rank, and the claims."""
    ratings, bits = ratings_of(folder), {}
    for name, (rating_error, date_error) in KINDS.items():
        if date_error is not None and ratings.days is None:
            continue
        by_rank = information_by_rank(ratings, rating_error, date_error).bits
        bits[name] = np.array([by_rank[first - 1 : last].mean() for first, last in RANKS])
    rows = [
        Row(f"bits, ranks {first} to {last}, {name}", float(result[place]), form=".2f")
        for place, (first, last) in enumerate(RANKS)
        for name, result in bits.items()
    ]
    alone, with_rating, *with_date = bits.values()
    steps = {
        "the rarer, the more: least rise from ranks to rarer ones, above 0": np.diff(alone),
        "a rating tells more than none: least difference, above 0": with_rating - alone,
    }
    for result in with_date:
        steps["a date tells more than a rating: least difference, above 0"] = result - with_rating
    for name, differences in steps.items():
        least = float(differences.min())
        sentence = f"the least difference is {least:.2f} bits."
        rows.append(Row(f"claim: {name}", least, None, least > 0, sentence, ".2f"))
    return rows + chart(figures_of(folder)["7"])


if __name__ == "__main__":
    main(run, __doc__, *FILES)
