"""Customized k-anonymity: chapter 6 of the thesis (Chen 2012), with half of the users at level 1.

    python experiments/customized_k.py RATINGS [TRIES]

Prints, for bisecting one-k-gather (BOKG) and for `LevelGather`, as means over the tries (ten if not
given), each of which draws its own levels, its own split, and its own seeds:

1. how many users of level 1 stand alone, and how many users are in groups of each size (Fig. 6.1);
2. the mean absolute error (MAE) of predictions learned from the homogenized rows, one row a group,
   on a fifth of the ratings that was held back: for users of level 1, for those of level k, and for
   all (Fig. 6.2); beside conventional k-anonymity by bisecting k-gather (BKG), for the same people,
   and the means of the items, which is all that one group of everybody would leave.

The thesis adjusted the passes of its predictor to each k; here `FunkSVD` keeps its defaults.
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from recveil.anonymize.homogenize import Groups, homogenize_simple
from recveil.group import BisectingKGather, BisectingOneKGather, LevelGather
from recveil.io import read_ratings
from recveil.predict import FunkSVD, ItemMean
from recveil.ratings import Ratings, RatingScale

NAMES = ("BKG", "BOKG", "LevelGather")


def draw_levels(n_users: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Give half of the users (471 of 943) level 1, the others k."""
    levels = np.full(n_users, k)
    levels[rng.permutation(n_users)[: n_users // 2]] = 1
    return levels


def group(name: str, points: np.ndarray, levels: np.ndarray, seed: int) -> np.ndarray:
    """Return the labels that a grouping gives; BKG puts everybody at the highest level."""
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


def split(ratings: Ratings, rng: np.random.Generator) -> tuple[Ratings, np.ndarray]:
    """Hold back a fifth of the ratings; return the others, and who is held back."""
    held = rng.random(ratings.n_ratings) < 0.2
    kept = np.bincount(ratings.user_positions()[~held], minlength=ratings.n_users)
    indptr = np.concatenate([[0], np.cumsum(kept)])
    train = Ratings(
        ratings.users,
        ratings.items,
        indptr,
        ratings.indices[~held],
        ratings.values[~held],
        None,
        ratings.scale,
    )
    return train, held


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


def absolute_errors(
    train: Ratings, labels: np.ndarray, ratings: Ratings, held: np.ndarray, seed: int
) -> np.ndarray:
    """Learn from the groups' rows, and predict what was held back of their members."""
    predictor = FunkSVD(seed=seed).fit(homogenize(train, labels))
    rows = labels[ratings.user_positions()[held]]
    return np.abs(predictor.predict(rows, ratings.indices[held]) - ratings.values[held])


def show_utility(ratings: Ratings, all_k: tuple[int, ...], tries: int) -> None:
    """Print the MAE of users of level 1, of level k, and of all."""
    errors: dict[Any, list[Any]] = defaultdict(list)
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        train, held = split(ratings, rng)
        users = ratings.user_positions()[held]
        points = FunkSVD(seed=seed).fit(train).padding().coordinates()
        alone = np.arange(ratings.n_users)
        found = absolute_errors(train, alone, ratings, held, seed)
        errors["nobody grouped"].append(found.mean())
        means = ItemMean().fit(train).predict(users, ratings.indices[held])
        errors["item means"].append(np.abs(means - ratings.values[held]).mean())
        for k in all_k:
            levels = draw_levels(ratings.n_users, k, rng)
            of_level_one = levels[users] == 1
            for name in NAMES:
                labels = group(name, points, levels, seed)
                found = absolute_errors(train, labels, ratings, held, seed)
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


def main(file: Path, tries: int = 10) -> None:
    """Print the tables."""
    ratings = read_ratings(file, times=False, duplicates="last")
    print(f"{ratings.n_users // 2} of {ratings.n_users} users at level 1, {tries} tries")
    for k in (5, 10):
        show_distribution(ratings, k, tries)
    show_utility(ratings, (2, 3, 5, 10, 15, 20), tries)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
