"""Membership inference from published noisy answers, next to that from synthetic users alone.

    python experiments/published_answers.py path/to/u.data [--epsilons 20 3]

Makes 32 releases of random halves of the users with `--publish-answers` and as many without, and
prints the AUC of members against others with 95 % intervals, the true positive rate at 1 % false
positives, the control, and the bound of the guarantee on the AUC.
"""

from functools import partial

from arguments import parser_of, ratings_file

from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.io import read_ratings
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.release.ledger import share_below

SHADOWS, SEED = 32, 0


def make(seed, epsilon, *, has_answers):
    """Return the anonymizer of one half."""
    options = {"item_catalog": "as-rated", "publish_answers": has_answers}
    return Synthesizer(epsilon, seed=seed, **options)


def main() -> None:
    """Print a row per epsilon, release and number of known ratings."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[20.0, 3.0])
    parser.add_argument("--scale", default="1:5:1")
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, scale=options.scale, times=False)
    print("| epsilon | published | known | AUC | TPR at 1 % FPR | control | bound |")
    print("|---|---|---|---|---|---|---|")
    for epsilon in options.epsilons:
        bound = share_below(make(0, epsilon, has_answers=True).planned().mu / 2**0.5)
        for has_answers in (False, True):
            maker = partial(make, epsilon=epsilon, has_answers=has_answers)
            for known, found in attack_by_shadows(ratings, maker, SHADOWS, SEED).by_known.items():
                auc, rate = found.inferred.auc, found.inferred.tpr_at_1.rate
                print(
                    f"| {epsilon:g} | {'and answers' if has_answers else 'users'} | {known} | "
                    f"{auc.rate:.2f} ({auc.low:.2f} to {auc.high:.2f}) | {rate:.0%} | "
                    f"{found.null_auc.rate:.2f} | {bound:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
