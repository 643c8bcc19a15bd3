"""How many ratings does simple homogenizing publish as they are?

    python experiments/lone_ratings.py RATINGS [RATINGS ...]

A rating is published as it is where nobody else in its group rated the item.
"""

import sys
from pathlib import Path

from recveil.anonymize import PredictiveAnonymizer
from recveil.anonymize.predictive import GROUPINGS
from recveil.io import read_ratings


def main(files: list[Path]) -> None:
    """Print a row for each file and k."""
    print(f"Grouping: {next(iter(GROUPINGS))}, the default\n")
    print("| data | k | ratings published as they are | people with such a rating |")
    print("|---|---|---|---|")
    for file in files:
        ratings = read_ratings(file, times=False, duplicates="last")
        for k in (2, 5, 10, 50):
            release = PredictiveAnonymizer(k, "simple", seed=0).anonymize(ratings)
            lone = release.private.lone_ratings
            if lone is not None:
                name = f"{file.parent.name}"
                print(f"| {name} | {k} | {lone.rating_share:.1%} | {lone.user_share:.1%} |")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main([Path(argument) for argument in sys.argv[1:]])
