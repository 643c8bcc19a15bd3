"""How many ratings does simple homogenizing publish as they are?

    python experiments/lone_ratings.py RATINGS [RATINGS ...]

A rating is published as it is where no other user in its group rated the item, and where all who
rated it agree, or their rounded mean is the rating. The last column says how often a label that is
a value of the scale is the exact rating of all users in the group who rated the item.
"""

from pathlib import Path

from arguments import parser_of, ratings_file

from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.components import GROUPINGS


def main(files: list[Path]) -> None:
    """Print a row for each file and k."""
    print(f"Grouping: {next(iter(GROUPINGS))}, the default\n")
    print(
        "| data | k | nobody else rated it | people with such a rating | published exactly | sure |"
    )
    print("|---|---|---|---|---|---|")
    for file in files:
        ratings = read_ratings(file, times=False, duplicates="last")
        for k in (2, 5, 10, 50):
            release = PredictiveAnonymizer(k, "simple", seed=0).anonymize(ratings)
            lone = release.private.lone_ratings
            if lone is not None:
                shares = lone.rating_share, lone.user_share, lone.exact_share, lone.label_share or 0
                result = " | ".join(f"{share:.1%}" for share in shares)
                print(f"| {file.parent.name} | {k} | {result} |")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file, nargs="+")
    main(parser.parse_args().ratings)
