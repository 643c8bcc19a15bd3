"""What do two releases of the same people tell together that neither tells alone?

    python experiments/two_releases.py RATINGS [--k 5] [--homogenize padded] [--seeds 0 1]

Anonymizes the same table twice and holds the releases against each other, as
`recveil audit --release A --against B` does. Prints who is alone in the two groups of a person, who
finds both rows, and which items both rows tell, each beside its control.
"""

import argparse

import numpy as np

from recveil.anonymize import PredictiveAnonymizer
from recveil.attack import (
    PRESETS,
    Interval,
    Mean,
    ReleasedTable,
    find_in_both,
    intersect,
    tell_links,
)
from recveil.io import read_ratings


def main() -> None:
    """Make two releases, and print what they tell together."""
    parser = argparse.ArgumentParser()
    parser.add_argument("ratings")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--homogenize", default="padded")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1))
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, times=False, duplicates="last")
    tables = []
    for seed in options.seeds:
        maker = PredictiveAnonymizer(options.k, options.homogenize, seed=seed)
        tables.append(ReleasedTable.from_release(maker.anonymize(ratings), ratings))
    everybody = np.arange(ratings.n_users)
    found = intersect(*tables, promised=np.full(ratings.n_users, options.k))
    print("| what | by both | beside it |\n|---|---|---|")
    print(f"| alone in both groups | {told(found.alone)} | {found.alone_in_one:.1%} in one |")
    print(f"| share both with fewer than k | {told(found.below_k)} | none in one, by its promise |")
    print(f"| people in both groups | {found.mean_people.mean:.2f} | at least {options.k} in one |")
    for name, adversary in PRESETS.items():
        both = find_in_both(ratings, *tables, adversary, everybody)
        control = f"{both.person_in_one.rate:.1%} by one, {both.stranger.rate:.1%} by a stranger's"
        print(f"| both rows, by {name} | {told(both.both)} | {both.first.rate:.1%} in one |")
        print(f"| the person, by {name} | {told(both.person_in_both)} | {control} |")
    links = tell_links(ratings, *tables, everybody)
    if links is not None:
        control = f"{told(links.one)} by one, {told(links.stranger)} by a stranger's"
        print(f"| told items that were rated | {told(links.both)} | {control} |")


def told(share: Interval | Mean) -> str:
    """Write a share with its interval."""
    rate = share.rate if isinstance(share, Interval) else share.mean
    return f"{rate:.1%} ({share.low:.1%} to {share.high:.1%})"


if __name__ == "__main__":
    main()
