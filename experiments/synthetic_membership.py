"""What do dates and attributes of synthetic users reveal about who is in the data?

    python experiments/synthetic_membership.py u.data [--epsilons 20 3] [--seed 0]

Makes 32 releases of random halves of the users, with dates by month and an attribute at random, and
prints the AUC of membership inference by shadow releases, with 95% intervals, of adversaries who
know eight or all ratings of a user, without and with their days and their attribute.
"""

from functools import cache

import numpy as np
from arguments import parser_of, ratings_file

from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.io import read_ratings
from recveil.methods import Synthesizer
from recveil.methods.published_users import DeclaredAttributes, public_columns

ABOUT, SHADOWS = public_columns(["group=A,B"]), 32
RANGE = "1997-09:1998-04"


class Again:
    """Releases that are made once by seed; their dates are known if `dates` is set."""

    def __init__(self, made, dates):
        self.anonymize, self.dates = made, dates


def main() -> None:
    """Print a row per epsilon and knowledge."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[20.0, 3.0])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, scale="1:5:1", times=True)
    texts = np.random.default_rng(options.seed).choice(["A", "B"], ratings.n_users).tolist()
    known = DeclaredAttributes(ratings.users, {"group": texts}, ABOUT, 1)
    print("| epsilon | compared | 8 ratings | all | control, all |")
    print("|---|---|---|---|---|")
    for epsilon in options.epsilons:

        @cache
        def made(seed: int, epsilon: float = epsilon):
            more = {"dates": "month", "date_range": RANGE, "attributes": known, "seed": seed}
            return cache_first(Synthesizer(epsilon, item_catalog="as-rated", **more))

        for name, dates, attributes in (
            ("ratings", None, None),
            ("and days", "month", None),
            ("and attribute", None, known),
            ("and both", "month", known),
        ):

            def make(seed: int, dates: str | None = dates):
                return Again(made(seed), dates)

            found = attack_by_shadows(ratings, make, SHADOWS, options.seed, attributes=attributes)
            areas = [each.inferred.auc for each in found.by_known.values()]
            cells = [f"{each.rate:.3f} ({each.low:.3f} to {each.high:.3f})" for each in areas]
            null = found.by_known["all"].null_auc.rate
            print(f"| {epsilon:g} | {name} | {' | '.join(cells)} | {null:.3f} |", flush=True)


def cache_first(maker: Synthesizer):
    """Return a function that makes the release once."""
    found = []

    def anonymize(ratings):
        found[:] = found or [maker.anonymize(ratings)]
        return found[0]

    return anonymize


if __name__ == "__main__":
    main()
