"""What do attributes of users in a release of sparse rows cost, and whom do they help to find?

    python experiments/release_attributes.py RATINGS [--k 5]

The attributes are drawn, with shares as among the users of MovieLens 1M and independent of their
ratings: the hardest case, since clusters are then divided at random. Prints the share of the users
with each attribute published, the lists of the best recommender on the release as a share of those
on the raw ratings, and how many users' classes an adversary with 8 exact ratings finds, without and
with the attributes, and with those of random other users.
"""

from dataclasses import replace

import numpy as np
from arguments import parser_of, ratings_file
from two_releases import result

from recveil.attacks import Adversary, AttackTarget, attack_release
from recveil.evaluation import Evaluator
from recveil.evaluation.split import split_ratings
from recveil.io import read_ratings
from recveil.methods import SparseRows
from recveil.methods.published_users import DeclaredAttributes
from recveil.ratings import Ratings
from recveil.release.user_table import SUPPRESSED, UserColumns

SHARES = {
    "gender": {"M": 0.72, "F": 0.28},
    "age": {
        **{"25-34": 0.35, "35-44": 0.2, "18-24": 0.18, "45-49": 0.09, "50-55": 0.08},
        **{"56+": 0.06, "under 18": 0.04},
    },
    "plan": {"free": 0.4, "basic": 0.3, "pro": 0.2, "max": 0.1},
}
PUBLISHED = {
    "none": None,
    "gender": UserColumns(("gender",)),
    "gender, age": UserColumns(("gender", "age")),
    "gender, plan (l = 2)": UserColumns(("gender", "plan"), "plan", 2),
    "plan (l = 2)": UserColumns(("plan",), "plan", 2),
}


def main() -> None:
    """Print a row per set of attributes."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--k", type=int, default=5)
    given = parser.parse_args()
    ratings = read_ratings(given.ratings)
    drawn = draw(ratings)
    split = split_ratings(ratings, 0.2, seed=0)
    evaluator = Evaluator(split, n_targets=10, seed=0, with_membership=False)
    print("| attributes | published | lists | class | with attributes | of others |")
    print("|---|---|---|---|---|---|")
    for name, about in PUBLISHED.items():
        declared = about and DeclaredAttributes(
            ratings.users, {each: drawn[each] for each in about.names}, about, given.k
        )
        anonymizer = SparseRows(given.k, seed=0, attributes=declared)
        release = anonymizer.anonymize(ratings)
        cells = [shares_of(release), f"{lists(evaluator, anonymizer, split.train):.1%}"]
        table = AttackTarget.from_release(release, ratings)
        others = np.random.default_rng(1).permutation(ratings.n_users)
        for known in (
            {},
            declared.columns if declared else {},
            {each: [drawn[each][at] for at in others] for each in about.names} if about else {},
        ):
            known_table = replace(table, known_attributes=known)
            users = np.arange(ratings.n_users)
            found = attack_release(ratings, known_table, Adversary(known=8), users)
            cells.append(result(found.class_reidentified))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def draw(ratings: Ratings) -> dict[str, list[str]]:
    """Draw the attributes of the users."""
    rng = np.random.default_rng(0)
    return {
        name: rng.choice([*shares], ratings.n_users, p=[*shares.values()]).tolist()
        for name, shares in SHARES.items()
    }


def shares_of(release: object) -> str:
    """Return the share of the users with each attribute."""
    table = release.published.user_table
    shown = {} if table is None else table.columns
    return ", ".join(
        f"{name} {np.mean([text != SUPPRESSED for text in texts]):.1%}"
        for name, texts in shown.items()
    )


def lists(evaluator: Evaluator, anonymizer: SparseRows, train: Ratings) -> float:
    """Return the lists of the best recommender on the release, as a share of those on raw."""
    evaluation = evaluator.evaluate(anonymizer.anonymize(train))
    best = [
        np.nanmax([one.ndcg for one in of.utilities.values()])
        for of in (evaluation.raw, evaluation.release)
    ]
    return float(best[1] / best[0])


if __name__ == "__main__":
    main()
