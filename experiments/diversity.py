"""What diversity costs, and what it brings: (b, l)-diversity of a simple release.

    python experiments/diversity.py RATINGS [TRIES]

The groups are those of bisecting k-gather, k = 5, homogenized without padding; l = 3. Prints, for
nothing added, for several b and sizes of a bundle, and for three groups that get every item:

- how many edges (an item in a group's row) the bundles would take, how many were added after
  pruning, their harm (the mean distance of an added label from its item's mean), and the seconds
  that choosing them took;
- who guesses: how often an adversary names a user's group who knows two of its items. They look
  for the rows that hold both, and take one at random ("blind") or the shortest. "Rare" items stand
  in at most ten groups before anything is added, "any" are drawn from all that the user rated;
- the RMSE of `FunkSVD` learned from the rows, one row a user, on a fifth of all ratings,
  held back before padding and grouping: mean over the tries (three if not given), each of which
  draws its own fifth and its own seeds;
- then, of releases with the defaults, the share of all users who are found by adversaries who know
  two or eight of their items, or these with their exact ratings.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from arguments import parser_of, ratings_file
from scipy import sparse

from recveil.attacks import Adversary, AttackTarget, attack_release
from recveil.clustering import BisectingKGather
from recveil.evaluation import HeldOut, split_ratings
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.predictive.diversity import (
    Coverage,
    add_edges,
    diversify,
    gather_coverage,
    padded_labels,
)
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.predict import FunkSVD
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Groups
from recveil.verification.diversity import check_diversity

K, L = 5, 3
KNOWN = 2  # items, to those who guess
RARE = 10
TRIALS = 4000


class Rows(NamedTuple):
    """Groups, what they hold, and the label that a group would give an item."""

    groups: Groups
    coverage: Coverage
    label_of: Callable[[Any, Any], np.ndarray]


class Added(NamedTuple):
    """Edges that were added, how many there were before pruning, and how far off their labels are.

    `edges` is a csr_array of labels, shape (n_groups, n_items).
    """

    edges: Any
    bundled: int
    harm: float


class Setting(NamedTuple):
    """What to add. Without a size, a bundle has l groups; 0 means one bundle of all groups."""

    name: str
    b: int = 0
    bundle: int | None = None


SETTINGS = [
    Setting("nothing added"),
    Setting("b = 1", 1),
    Setting("b = 2, bundles of 3 (default)", 2),
    Setting("b = 2, bundles of 6", 2, 6),
    Setting("b = 2, bundles of 15", 2, 15),
    Setting("b = 2, one bundle", 2, 0),
    Setting("b = 3, bundles of 3 (default)", 3),
    Setting("b = 3, bundles of 6", 3, 6),
    Setting("three full rows", -1),
]


def form_groups(ratings: Ratings, seed: int) -> Rows:
    """Pad, group, and note which group holds which item."""
    padding = FunkSVD(seed=seed).fit(ratings).padding()
    labels = BisectingKGather(K, random_state=seed).fit(padding.coordinates()).labels_
    groups = Groups.from_labels(labels)
    coverage = gather_coverage(homogenize_simple(ratings, groups), ratings.n_items)
    return Rows(groups, coverage, lambda rows, items: padded_labels(padding, groups, rows, items))


def add(rows: Rows, setting: Setting) -> Added:
    """Choose the edges that a setting adds."""
    n_groups = rows.coverage.support.shape[0]
    if setting.b == 0:
        return Added(sparse.csr_array(rows.coverage.support.shape), 0, float("nan"))
    if setting.b < 0:
        return fill_rows(rows)
    size = n_groups if setting.bundle == 0 else setting.bundle
    added = diversify(rows.coverage, setting.b, L, rows.label_of, bundle_size=size)
    return Added(added.edges, added.bundled, added.harm)


def fill_rows(rows: Rows) -> Added:
    """Give the l groups with the most items every item that any user rated."""
    support, means = rows.coverage.support, rows.coverage.item_means
    chosen = np.argsort(-np.diff(support.indptr), kind="stable")[:L]
    lacks = np.zeros(support.shape, dtype=bool)
    lacks[chosen] = ~np.isnan(means) & (support[chosen].toarray() == 0)
    at, items = np.nonzero(lacks)
    labels = rows.label_of(at, items)
    indptr = np.concatenate([[0], np.cumsum(lacks.sum(axis=1))])
    edges = sparse.csr_array((labels, items.astype(np.int32), indptr), shape=support.shape)
    return Added(edges, edges.nnz, float(np.abs(labels - means[items]).mean()))


def held_items(rows: Rows, edges: Any) -> np.ndarray:
    """Return which group holds which item, shape (n_groups, n_items)."""
    marks = sparse.csr_array((np.ones(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
    return rows.coverage.support.toarray() + marks.toarray() > 0


def guesses(ratings: Ratings, rows: Rows, holds: np.ndarray, most: float) -> tuple[float, float]:
    """Return how often the adversary is right, blindly and by the shortest row.

    They know two items of a random user that stood in at most so many groups.
    """
    group_of = np.empty(ratings.n_users, dtype=np.int64)
    group_of[rows.groups.members] = np.repeat(np.arange(len(holds)), rows.groups.sizes)
    n_holders = np.bincount(rows.coverage.support.indices, minlength=ratings.n_items)
    length = holds.sum(axis=1)
    rng = np.random.default_rng(0)
    right = np.zeros(2)
    trials = 0
    while trials < TRIALS:
        user = rng.integers(ratings.n_users)
        own = ratings.row(user)[0]
        own = own[n_holders[own] <= most]
        if len(own) < KNOWN:
            continue
        trials += 1
        fitting = np.flatnonzero(holds[:, rng.choice(own, KNOWN, replace=False)].all(axis=1))
        shortest = fitting[length[fitting] == length[fitting].min()]
        right += 1 / fitting.size, (shortest == group_of[user]).mean()
    return right[0] / TRIALS, right[1] / TRIALS


def one_row_a_user(train: Ratings, rows: Rows, edges: Any) -> Ratings:
    """Give each user the row of their group."""
    (block,) = add_edges(homogenize_simple(train, rows.groups), edges)
    labels = np.empty(train.n_users, dtype=np.int64)
    labels[rows.groups.members] = np.repeat(np.arange(len(block)), rows.groups.sizes)
    shape = len(block), train.n_items
    # Places instead of labels: a label of 0 would be lost.
    places = np.arange(block.indices.size)
    expanded = sparse.csr_array((places, block.indices, block.indptr), shape=shape)[labels]
    return Ratings(
        train.users,
        train.items,
        expanded.indptr.astype(np.int64),
        expanded.indices,
        block.values[expanded.data],
        None,
        RatingScale(train.scale.low, train.scale.high, None),
    )


def rmse_of(table: Ratings, test: HeldOut, seed: int) -> float:
    """Learn from a table, and predict what was held back."""
    predicted = FunkSVD(seed=seed).fit(table).predict(test.users, test.items)
    return float(np.sqrt(np.mean((predicted - test.values) ** 2)))


def errors(ratings: Ratings, tries: int) -> dict[str, float]:
    """Return the RMSE of each setting on what was held back, and without any grouping."""
    found: dict[str, list[float]] = {name: [] for name in ["", *(s.name for s in SETTINGS)]}
    for seed in range(tries):
        train, test = split_ratings(ratings, seed=seed)
        rows = form_groups(train, seed)
        found[""].append(rmse_of(train, test, seed))
        for setting in SETTINGS:
            table = one_row_a_user(train, rows, add(rows, setting).edges)
            found[setting.name].append(rmse_of(table, test, seed))
    return {name: float(np.mean(values)) for name, values in found.items()}


ADVERSARIES = [
    Adversary(known=2, rating_error=None, name="2 items"),
    Adversary(known=2, name="2 ratings"),
    Adversary(known=8, rating_error=None, name="8 items"),
    Adversary(known=8, name="8 ratings"),
]


def show_found(ratings: Ratings) -> None:
    """Print who is found in releases, by the attack that finds most."""
    print("\n| people found | " + " | ".join(known.name for known in ADVERSARIES) + " |")
    print("|---" + len(ADVERSARIES) * "|---" + "|")
    for b, least in ((1, 1), (1, L), (2, L), (3, L)):
        anonymizer = PredictiveAnonymizer(K, "simple", grouping="bisecting", b=b, l=least, seed=0)
        table = AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)
        all_users = np.arange(ratings.n_users)
        shares = [
            attack_release(ratings, table, known, all_users).reidentified.rate
            for known in ADVERSARIES
        ]
        cells = " | ".join(f"{share:.1%}" for share in shares)
        print(f"| {f'b = {b}, l = {least}' if least > 1 else 'none'} | {cells} |", flush=True)


def main(file: Path, tries: int) -> None:
    """Print a row for each setting."""
    ratings = read_ratings(file, times=False, duplicates="last")
    rows = form_groups(ratings, seed=0)
    rmse = errors(ratings, tries)  # also compiles what is timed below
    n_groups, n_edges = rows.coverage.support.shape[0], rows.coverage.support.nnz
    print(f"{n_groups} groups with {n_edges:,} edges; RMSE without grouping {rmse['']:.4f}\n")
    print("| l = 3 | bundled | added | harm | seconds | rare, blind | rare, shortest |", end="")
    print(" any, blind | any, shortest | RMSE |\n|---" + 9 * "|---" + "|")
    for setting in SETTINGS:
        start = time.perf_counter()
        added = add(rows, setting)
        seconds = time.perf_counter() - start
        holds = held_items(rows, added.edges)
        if setting.b and not check_diversity(holds, abs(setting.b), L).holds:
            raise SystemExit(f"{setting.name}: not diverse")
        rare, common = (guesses(ratings, rows, holds, most) for most in (RARE, np.inf))
        shares = " | ".join(f"{share:.2f}" for share in (*rare, *common))
        print(
            f"| {setting.name} | {added.bundled:,} | {added.edges.nnz:,} | {added.harm:.3f} "
            f"| {seconds:.2f} | {shares} | {rmse[setting.name]:.4f} |",
            flush=True,
        )
    show_found(ratings)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("tries", type=int, nargs="?", default=3)
    options = parser.parse_args()
    main(options.ratings, options.tries)
