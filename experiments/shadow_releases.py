"""Membership inference by shadow releases, for releases of several methods.

    python experiments/shadow_releases.py path/to/u.data [--methods sparse,synthetic-20] [--likes]

Makes 32 releases of random halves of the users with each method, and prints the AUC of members
against others, of whom eight or all ratings are known, with 95 % intervals, the true positive rate
at 1 and 5 % false positives, what exact item counts alone would reveal, and the control.
"""

from arguments import parser_of, ratings_file

from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.io import read_ratings
from recveil.methods.registry import make_variant

METHODS = (
    *("raw", "k-corating-random", "simple", "padded", "item-means", "sparse"),
    *("synthetic-exact", "synthetic-50", "synthetic-20", "synthetic-10", "synthetic-3"),
)
SHADOWS, SEED = 32, 0


def main() -> None:
    """Print a row per method and number of known ratings."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--scale", default="1:5:1")
    parser.add_argument("--likes", action="store_true", help="as implicit feedback")
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, scale=options.scale, times=False)
    ratings = ratings.as_likes() if options.likes else ratings
    print("| release | known | AUC | TPR at 1 % | TPR at 5 % FPR | exact counts | control |")
    print("|---|---|---|---|---|---|---|")
    for method in options.methods.split(","):

        def make(seed: int, method: str = method):
            return make_variant(method, options.k, seed)

        for known, found in attack_by_shadows(ratings, make, SHADOWS, SEED).by_known.items():
            auc, rates = found.inferred.auc, (found.inferred.tpr_at_1, found.inferred.tpr_at_5)
            print(
                f"| {method} | {known} | {auc.rate:.2f} ({auc.low:.2f} to {auc.high:.2f}) | "
                f"{' | '.join(f'{rate.rate:.0%}' for rate in rates)} | "
                f"{found.counts_auc.rate:.2f} | {found.null_auc.rate:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
