"""What the tables and figures of Chang et al. share: a hold-out, and releases made without it."""

from functools import cache
from pathlib import Path

import numpy as np

from recveil.attacks import AttackTarget
from recveil.evaluation import (
    Missing,
    NullRule,
    SimilarUsers,
    Split,
    find_similar_users,
    split_ratings,
)
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings

# Every figure is the mean over these hold-outs, each with its own release.
SEEDS = (0, 1, 2)
RULES: tuple[NullRule, ...] = ("zero", "lowest", "skip", "item_mean")
# The paper's padded rows lack nothing. Ours lack the items unrated in training, for which
# a predictor that learned from the raw ratings has nothing but means, too. For simple rows, 0 is
# what Table 1's 2.37 suggests.
READ: dict[str, NullRule] = {"padded": "item_mean", "simple": "zero"}
RULE_NAMES = {
    "zero": "null = 0",
    "lowest": "null = lowest rating",
    "skip": "nulls skipped",
    "item_mean": "null = item's mean",
}
# What an item counts as that a user rated and a row lacks, when rows are compared with a user.
MISSING: dict[Missing, str] = {"opposite": "missing = opposite", "skip": "common items alone"}
HOLD_OUT = (
    "Netflix's challenge set (1.4 % of its ratings) is read as a random fifth of each person's "
    "ratings (`split_ratings`); means over three such splits, each with a release of its own. "
    "Releases: `FunkSVD`, `PredictiveGrouping` (Algorithm 1), labels not rounded. Compared with a "
    "person are the classes of identical rows; a release has one row a group."
)


@cache
def ratings_of(folder: Path) -> Ratings:
    """Read all of MovieLens 100K."""
    return read_ratings(folder / "u.data", times=False)


@cache
def split_of(folder: Path, seed: int) -> Split:
    """Hold out a fifth of the ratings."""
    return split_ratings(ratings_of(folder), seed=seed)


@cache
def released(folder: Path, homogenize: str, k: int, seed: int) -> AttackTarget:
    """Anonymize what was not held out, as in the paper's Algorithm 1."""
    train = split_of(folder, seed).train
    anonymizer = PredictiveAnonymizer(
        k, homogenize, grouping="predictive", round_values="none", seed=seed
    )
    return AttackTarget.from_release(anonymizer.anonymize(train), train)


@cache
def similar_users(
    folder: Path, homogenize: str, k: int, seed: int, missing: Missing = "opposite"
) -> SimilarUsers:
    """Find each user's most similar record, and the rank of their own."""
    table = released(folder, homogenize, k, seed)
    return find_similar_users(table, split_of(folder, seed).train, missing=missing)


def null_share(table: AttackTarget) -> float:
    """Return which share of the cells of all published rows is empty."""
    n_items = table.candidates.indptr.size - 1
    return float(1 - table.indices.size / (n_items * (table.indptr.size - 1)))


def mean(numbers: list[float]) -> float:
    """Return the mean."""
    return float(np.mean(numbers))
