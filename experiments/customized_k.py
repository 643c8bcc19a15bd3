"""Customized k-anonymity: chapter 6 of the thesis (Chen 2012), with half of the users at level 1.

    python experiments/customized_k.py RATINGS [TRIES]

Prints, for bisecting one-k-gather (BOKG) and for `LevelGather`, as means over the tries (ten if not
given), each of which draws its own levels, its own split, and its own seeds:

1. how many users of level 1 stand alone, and how many users are in groups of each size (Fig. 6.1);
2. the mean absolute error (MAE) of predictions learned from the homogenized rows, one row a group,
   on a fifth of all ratings that was held back: for users of level 1, for those of level k,
   and for all (Fig. 6.2); the same of conventional k-anonymity by bisecting k-gather (BKG), and of
   the means of the items, which is all that one group of all users would leave;
3. the sum of squared distances of all users to their groups' centres (SSE) for several mixtures of
   levels, and the part of it that falls to the users of the highest level;
4. how many are found by an adversary who knows eight of their ratings exactly, in releases with
   half of the users at level 1 and half at 5 (one seed): those of level 1 who stand alone, those of
   level 1 who are in a group, and those of level 5.

The thesis adjusted the passes of its predictor to each k; here `FunkSVD` keeps its defaults.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from arguments import parser_of, ratings_file

from recveil.attacks import Adversary, AttackTarget, attack_release
from recveil.clustering import BisectingKGather, BisectingOneKGather, LevelGather, sse
from recveil.evaluation import HeldOut, split_ratings
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.predict import FunkSVD, ItemMean
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Groups

NAMES = ("BKG", "BOKG", "LevelGather")
# The lower level, the higher one, and how many users have it (None: half of them).
MIXTURES: dict[str, tuple[int, int, int | None]] = {
    "half 1, half 5": (1, 5, None),
    "half 1, half 10": (1, 10, None),
    "half 5, half 10": (5, 10, None),
    "20 users 50, the others 5": (5, 50, 20),
    "all 5": (5, 5, None),
}


def draw_levels(n_users: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Give half of the users (471 of 943) level 1, the others k."""
    levels = np.full(n_users, k)
    levels[rng.permutation(n_users)[: n_users // 2]] = 1
    return levels


def group(name: str, points: np.ndarray, levels: np.ndarray, seed: int) -> np.ndarray:
    """Return the labels that a grouping gives; BKG puts all users at the highest level."""
    k = int(levels.max())
    if name == "BKG":
        return BisectingKGather(k, random_state=seed).fit(points).labels_
    grouping = (BisectingOneKGather if name == "BOKG" else LevelGather)(k, random_state=seed)
    return grouping.fit(points, levels=levels).labels_


def show_distribution(ratings: Ratings, k: int, tries: int) -> None:
    """Print how many users are in groups of each size."""
    points = FunkSVD().fit(ratings).padding().coordinates()
    users: dict[str, Any] = {name: np.zeros(2 * k) for name in NAMES[1:]}
    for seed in range(tries):
        levels = draw_levels(ratings.n_users, k, np.random.default_rng(seed))
        for name in users:
            labels = group(name, points, levels, seed)
            sizes = np.bincount(labels)
            users[name] += np.bincount(sizes[labels], minlength=2 * k) / tries
    sizes_found = [1, *range(k, 2 * k)]
    print(f"\nUsers in groups of each size, k = {k}; size 1: users of level 1 who stand alone\n")
    print("| size |", " | ".join(map(str, sizes_found)), "|")
    print("|---|" + "---|" * len(sizes_found))
    for name, counts in users.items():
        print(f"| {name} |", " | ".join(f"{counts[size]:.0f}" for size in sizes_found), "|")


def homogenize(train: Ratings, labels: np.ndarray) -> Ratings:
    """Return one row a group: the mean of the members who rated an item."""
    blocks = list(homogenize_simple(train, Groups.from_labels(labels)))
    counts = np.concatenate([np.diff(block.indptr) for block in blocks])
    return Ratings(
        np.arange(counts.size),
        train.items,
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([block.values for block in blocks]),
        None,
        RatingScale(train.scale.low, train.scale.high, None),
    )


def absolute_errors(train: Ratings, labels: np.ndarray, test: HeldOut, seed: int) -> np.ndarray:
    """Learn from the groups' rows, and predict what was held back of their members."""
    predictor = FunkSVD(seed=seed).fit(homogenize(train, labels))
    return np.abs(predictor.predict(labels[test.users], test.items) - test.values)


def show_utility(ratings: Ratings, all_k: tuple[int, ...], tries: int) -> None:
    """Print the MAE of users of level 1, of level k, and of all."""
    errors: dict[Any, list[Any]] = defaultdict(list)
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        train, test = split_ratings(ratings, seed=seed)
        points = FunkSVD(seed=seed).fit(train).padding().coordinates()
        alone = np.arange(ratings.n_users)
        errors["nobody grouped"].append(absolute_errors(train, alone, test, seed).mean())
        means = ItemMean().fit(train).predict(test.users, test.items)
        errors["item means"].append(np.abs(means - test.values).mean())
        for k in all_k:
            levels = draw_levels(ratings.n_users, k, rng)
            of_level_one = levels[test.users] == 1
            for name in NAMES:
                labels = group(name, points, levels, seed)
                found = absolute_errors(train, labels, test, seed)
                means = [found[of_level_one].mean(), found[~of_level_one].mean(), found.mean()]
                errors[name, k].append(means)
    print("\nMAE on ratings that were held back\n")
    for name in ("nobody grouped", "item means"):
        print(f"- {name}: {np.mean(errors[name]):.4f}")
    kinds = [f"{name}, {who}" for name in NAMES for who in ("level 1", "level k", "all")]
    print("\n| k |", " | ".join(kinds), "|")
    print("|---|" + "---|" * len(kinds))
    for k in all_k:
        means = np.concatenate([np.mean(errors[name, k], axis=0) for name in NAMES])
        print(f"| {k} |", " | ".join(f"{mean:.4f}" for mean in means), "|", flush=True)


def show_spread(ratings: Ratings, tries: int) -> None:
    """Print the SSE of mixtures of levels, and which part of it the highest level has."""
    points = FunkSVD().fit(ratings).padding().coordinates()
    print("\nSSE of all users (of those with the highest level)\n")
    print("| levels |", " | ".join(NAMES), "|\n|---|" + "---|" * len(NAMES))
    for title, (low, high, n_high) in MIXTURES.items():
        n_high = n_high or ratings.n_users - ratings.n_users // 2
        found: dict[str, list[Any]] = {name: [] for name in NAMES}
        for seed in range(tries):
            rng = np.random.default_rng(seed)
            levels = np.full(ratings.n_users, low)
            levels[rng.permutation(ratings.n_users)[:n_high]] = high
            for name in NAMES if low in (1, high) else ("BKG", "LevelGather"):
                labels = group(name, points, levels, seed)
                of_high = own_sse(points, labels)[levels == high].sum()
                found[name].append([sse(points, labels), of_high])
        means = [np.mean(both, axis=0) if both else None for both in found.values()]
        cells = ["-" if m is None else f"{m[0]:,.0f} ({m[1]:,.0f})" for m in means]
        print(f"| {title} |", " | ".join(cells), "|")


def own_sse(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return each user's squared distance to their group's centre."""
    sums = np.zeros((labels.max() + 1, points.shape[1]))
    np.add.at(sums, labels, points.astype(np.float64))
    centres = sums / np.bincount(labels)[:, None]
    return ((points - centres[labels]) ** 2).sum(axis=1)


def show_found(ratings: Ratings) -> None:
    """Print who is found in releases with levels: their row, and themselves."""
    levels = draw_levels(ratings.n_users, 5, np.random.default_rng(0))
    known = Adversary(known=8)
    print("\nFound by eight exact ratings: the row (the person)\n")
    print("| release | level 1, alone | level 1, in a group | level 5 |\n|---|---|---|---|")
    for homogenize in ("simple", "padded"):
        for name in ("one-k-gather", "level-gather"):
            anonymizer = PredictiveAnonymizer(
                5, homogenize, grouping=name, privacy_levels=levels, seed=0
            )
            table = AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)
            alone = np.bincount(table.record_of)[table.record_of] == 1
            cells = []
            for who in (alone, (levels == 1) & ~alone, levels == 5):
                found = attack_release(ratings, table, known, np.flatnonzero(who))
                cells.append(f"{found.class_reidentified.rate:.1%} ({found.reidentified.rate:.1%})")
            print(f"| {homogenize}, {name} |", " | ".join(cells), "|", flush=True)


def main(file: Path, tries: int) -> None:
    """Print the tables."""
    ratings = read_ratings(file, times=False, duplicates="last")
    print(f"{ratings.n_users // 2} of {ratings.n_users} users at level 1, {tries} tries")
    for k in (5, 10):
        show_distribution(ratings, k, tries)
    show_utility(ratings, (2, 3, 5, 10, 15, 20), tries)
    show_spread(ratings, tries)
    show_found(ratings)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("tries", type=int, nargs="?", default=10)
    options = parser.parse_args()
    main(options.ratings, options.tries)
