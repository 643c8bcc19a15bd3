"""How much more the likeliest record finds than Scoreboard-RH, and both against releases.

python experiments/stronger_attack.py RATINGS [--grouping NAME]
"""

from dataclasses import replace

import numpy as np
from arguments import parser_of, ratings_file
from numpy.typing import NDArray

from recveil.attacks import (
    PRESETS,
    Adversary,
    AttackTarget,
    Candidates,
    Likelihood,
    ScoreboardRH,
    attack_release,
    choose_targets,
    draw_knowledge,
    infer_membership,
)
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.components import GROUPINGS
from recveil.ratings import Ratings

OTHERS = [
    Adversary(known=2, name="2 exact"),
    Adversary(known=4, name="4 exact"),
    Adversary(known=4, rating_error=1, name="4, off by 1"),
    Adversary(known=8, right=6, rating_error=1, name="6 of 8, off by 1"),
    Adversary(known=6, right=3, rating_error=1, wrong_kind="item", name="3 of 6, never rated"),
]


def main() -> None:
    """Print one table for the raw ratings and one for releases."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file, help="a file of ratings")
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--grouping", choices=GROUPINGS, default=next(iter(GROUPINGS)))
    arguments = parser.parse_args()
    ratings = read_ratings(arguments.ratings)
    targets = choose_targets(ratings.n_users, arguments.targets, seed=0)
    adversaries = [*PRESETS.values(), *OTHERS]
    if ratings.days is None:
        adversaries = [adversary.without_dates() for adversary in adversaries]
    raw_table(ratings, adversaries, targets)
    releases(ratings, adversaries, targets, arguments.grouping)


def raw_table(ratings: Ratings, adversaries: list[Adversary], targets: NDArray[np.int64]) -> None:
    """Compare the two attacks on the table as it is."""
    candidates, record_of = Candidates.from_ratings(ratings), np.arange(ratings.n_users)
    print("| adversary | skipped | Scoreboard-RH | likeliest |\n|---|---|---|---|")
    for adversary in adversaries:
        known = draw_knowledge(ratings, adversary, targets, seed=0)
        rates = []
        for attack in (ScoreboardRH(), Likelihood.of(adversary)):
            guesses = attack.attack(candidates, known, record_of)
            rates.append((guesses.target_is_top / guesses.tied_users).sum() / targets.size)
        print(f"| {adversary.name} | {known.skipped} | {rates[0]:.1%} | {rates[1]:.1%} |")


def releases(
    ratings: Ratings, adversaries: list[Adversary], targets: NDArray[np.int64], grouping: str
) -> None:
    """Say which attack finds most in releases, and whether it distinguishes members from others."""
    print(f"\nReleases with the grouping {grouping}:\n")
    print("| release | adversary | attack | group found | person found | AUC of membership |")
    print("|---|---|---|---|---|---|")
    for homogenize in ("simple", "padded"):
        for k in (5, 20):
            anonymizer = PredictiveAnonymizer(k, homogenize, grouping=grouping, seed=1)
            table = AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)
            for adversary in adversaries:
                undated = replace(adversary, date_error=None)
                found = attack_release(ratings, table, undated, targets)
                result = infer_membership(ratings, anonymizer, undated)
                print(
                    f"| {homogenize}, k = {k} | {adversary.name} | {found.attack} "
                    f"| {found.class_reidentified.rate:.1%} | {found.reidentified.rate:.1%} "
                    f"| {result.auc.rate:.2f} ({result.auc.low:.2f} to {result.auc.high:.2f}) |"
                )


if __name__ == "__main__":
    main()
