"""What do two releases of the same users reveal together that neither reveals alone?

    python experiments/two_releases.py RATINGS [--k 5] [--methods padded sparse ...] [--seeds 0 1]

Anonymizes the same users twice and compares the releases, as `recveil audit --release --against`
does. Prints for each method which share of the users is alone in the intersection of their two
groups, and which share is in an intersection of fewer than k users. With `--share 0.9`, the second
release is made from 90 % of the ratings, as if the table had changed. With `--attacks`, also who
finds both rows, and which items both rows reveal, each with its control.
"""

import numpy as np
from arguments import parser_of, ratings_file

from recveil.attacks import (
    PRESETS,
    AttackTarget,
    Interval,
    Mean,
    infer_links,
    intersect,
    reidentify_in_both,
)
from recveil.io import read_ratings
from recveil.methods.registry import make_variant
from recveil.ratings import Ratings

METHODS = ("padded", "padded-bisecting", "k-corating-item-mean", "sparse")


def main() -> None:
    """Make two releases by each method, and print what they reveal together."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--attacks", action="store_true")
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, times=False, duplicates="last")
    again = some_of(ratings, options.share)
    print("| method | alone in both groups | fewer than k in both | users in both, mean |")
    print("|---|---|---|---|")
    pairs = {}
    for method in options.methods:
        first, second = (
            AttackTarget.from_release(make_variant(method, options.k, seed).anonymize(table), table)
            for seed, table in zip(options.seeds, (ratings, again), strict=True)
        )
        found = intersect(first, second, promised=np.full(ratings.n_users, options.k))
        print(
            f"| {method} | {result(found.unique)} | {result(found.below_k)} "
            f"| {found.mean_users.mean:.2f} |",
            flush=True,
        )
        if options.attacks:
            pairs[method] = first, second
    for method, (first, second) in pairs.items():
        print_attacks(method, ratings, first, second)


def some_of(ratings: Ratings, share: float) -> Ratings:
    """Return a random share of the ratings, with at least one of each user."""
    if share >= 1:
        return ratings
    draws = np.random.default_rng(2).random(ratings.values.size)
    draws[ratings.indptr[:-1]] = 0.0
    kept = draws < share
    return Ratings.from_columns(
        ratings.users[ratings.user_positions()[kept]],
        ratings.items[ratings.indices[kept]],
        ratings.values[kept],
        scale=ratings.scale,
    )


def print_attacks(method: str, ratings: Ratings, first: AttackTarget, second: AttackTarget) -> None:
    """Print who finds both rows, and which items both rows reveal."""
    all_users = np.arange(ratings.n_users)
    print(f"\n{method}:\n\n| what | by both | control |\n|---|---|---|")
    for name, adversary in PRESETS.items():
        both = reidentify_in_both(ratings, first, second, adversary, all_users)
        control = (
            f"{both.reidentified_by_one.rate:.1%} by one, {both.control.rate:.1%} by a stranger's"
        )
        print(f"| both rows, by {name} | {result(both.both)} | {both.first.rate:.1%} in one |")
        print(f"| the user, by {name} | {result(both.reidentified_by_both)} | {control} |")
    links = infer_links(ratings, first, second, all_users)
    if links is not None:
        control = f"{result(links.one)} by one, {result(links.control)} by a stranger's"
        print(f"| revealed items that were rated | {result(links.both)} | {control} |")


def result(share: Interval | Mean) -> str:
    """Write a share with its interval."""
    rate = share.rate if isinstance(share, Interval) else share.mean
    return f"{rate:.1%} ({share.low:.1%} to {share.high:.1%})"


if __name__ == "__main__":
    main()
