"""What do padded rows reveal of who rated what, who is where, and who is in the data?

    python experiments/residual.py RATINGS [--k 5] [--seed 0]

A padded row is a mean of predictions, which are smooth, and of ratings, which are not: what a
smooth fit of all rows leaves over reveals the ratings. Prints, as a table in Markdown, what the
residual attack of an audit makes of such a release, each figure next to its baseline or control,
with 95 % intervals. Nothing private is used, but to judge.
"""

import numpy as np
from arguments import parser_of, ratings_file

from recveil.attacks import (
    PRESETS,
    AttackTarget,
    Interval,
    attack_release,
    hold_out,
    infer_cells,
    infer_memberships,
)
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings

ADVERSARIES = ("bystander", "paper", "public-profile", "insider")


def main() -> None:
    """Make a release, and print what it reveals."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, times=False, duplicates="last")
    anonymizer = PredictiveAnonymizer(options.k, "padded", seed=options.seed)
    table = AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)
    print("| what is told | by residuals | beside it |\n|---|---|---|")
    print_cells(ratings, table)
    print_users(ratings, table, options.seed)
    held_out = hold_out(ratings, anonymizer, seed=options.seed)
    for known, result in infer_memberships(ratings, held_out, seed=options.seed).items():
        print(
            f"| who is in the data, {known} ratings known (AUC) | {as_area(result.auc)} | "
            f"{as_area(result.null_auc)} when drawn by lot |"
        )
        print(
            f"| the same: members found, at 5 % false positives | {as_share(result.tpr_at_5)} | "
            f"5.0% by a blind guess |"
        )


def print_cells(ratings: Ratings, table: AttackTarget) -> None:
    """Print what is revealed of who rated what."""
    result = infer_cells(ratings, table)
    if result is None:
        print("| cells | no smooth fit of so few rows | |")
        return
    print(f"| cells really rated (area) | {as_area(result.auc)} | {result.popularity_auc:.2f} |")
    print(
        f"| cells really rated, found at 95 % precision | {as_share(result.recall_at_95)} | "
        f"{result.popularity_recall_at_95:.1%} by popularity |"
    )
    print(
        f"| lone ratings, found so and exact | {as_share(result.lone_exact)} | "
        f"{result.popularity_lone_exact:.1%} by popularity and the usual rating |"
    )
    print(f"| lone ratings, exact where the cell is known | {as_share(result.lone_known)} | |")


def print_users(ratings: Ratings, table: AttackTarget, seed: int) -> None:
    """Print how many groups are found; next to it, by the best of the other attacks."""
    all_users = np.arange(ratings.n_users)
    for name in ADVERSARIES:
        adversary = PRESETS[name].without_dates()
        found = attack_release(ratings, table, adversary, all_users, seed)
        others = max(
            result.rate for attack, result in found.by_attack.items() if attack != found.attack
        )
        print(
            f"| the right group, {name} | {as_share(found.class_reidentified)} by {found.attack} | "
            f"the person: {found.reidentified.rate:.1%}, by the next best attack {others:.1%} |"
        )


def as_share(result: Interval) -> str:
    """Write a share with its interval."""
    return f"{result.rate:.1%} ({result.low:.1%} to {result.high:.1%})"


def as_area(result: Interval) -> str:
    """Write an area under the curve with its interval."""
    return f"{result.rate:.2f} ({result.low:.2f} to {result.high:.2f})"


if __name__ == "__main__":
    main()
