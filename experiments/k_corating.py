"""What k-coRating costs and what it protects: its paper's table and figures, and attacks beyond.

    python experiments/k_corating.py ML_100K [PART ...] [--folds N] [--no-round]

ML_100K is the folder of MovieLens 100K, with u.data and the five folds u1.base to u5.test. Without
a part all are printed, in a quarter of an hour; each one takes a few minutes at most.

- table: RMSE on the five folds against k, for four fills and five recommenders. "eq. 2, 198 users"
  asks the 198 users most alike of all, with whom the paper's baseline is met; "eq. 2, all users"
  all who are alike at all; "10 raters" the ten most alike who rated the item, as they are; "tuned"
  60 of them with significance weighting and biases. Each is learned from the release of a fold's
  base part, without its fills of cells that the test part asks for; the second number takes such a
  fill as the prediction. The share of test cells that were filled is printed next to it.
- time: seconds of a processor against the number of ratings (Fig. 1) and k (Fig. 2), for invented
  users. Two threads need about half as long.
- attack: how many users are found with n of m ratings right (Fig. 3). "Believed" are guesses of
  Scoreboard-RH that lead by 1.5 standard deviations, as in the paper, "wrong" those among them that
  err; then who is found by its best record whatever the lead, and by the likeliest record. Then
  again after the adversary has struck out what may be fills: values off the scale, where fills were
  not rounded; labels that the rest of the release predicts; the most frequent value of each item.
- groups: cells filled and users found for several ways to choose who shares a set of items.
- protect: what protected labels cost in RMSE and what they bring. "Told" is the share of a target's
  ratings that the adversary did not know and guesses exactly, by the best of three ways: the label
  of the row that they found; the commonest label of its group; the commonest of those that are not
  the item's commonest in the whole release, as a fill would be. Taking
  the latter label for all users, without any attack, gives the share under "without attack".
"""

import argparse
import collections
import itertools
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from arguments import folder_with, parser_of
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Candidates,
    Knowledge,
    Likelihood,
    ScoreboardRH,
    draw_knowledge,
)
from recveil.attacks.inference.fill_detection import STRIKES, strike_out
from recveil.clustering import MDAV, BisectingKGather
from recveil.clustering.k_gather import KGather
from recveil.datasets import make_ratings
from recveil.io import read_ratings
from recveil.methods import Groups, KCoRater, Release
from recveil.methods.k_corating.gecom import gecom, union_of_items
from recveil.predict import FunkSVD, UserKNN
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records

N_USERS, N_ITEMS, SCALE = 943, 1682, RatingScale(1, 5, 1)
FILLS = "trust", "similarity", "item-mean", "random"
RECOMMENDERS: dict[str, Any] = {
    "eq. 2, 198 users": UserKNN(198, neighbours="global", min_overlap=1, significance=1),
    "eq. 2, all users": UserKNN(N_USERS - 1, neighbours="global", min_overlap=1, significance=1),
    "10 raters": UserKNN(10, min_overlap=1, significance=1),
    "tuned": UserKNN(centre="biases", significance=100),
    "FunkSVD": FunkSVD(),
}
EIGHT = Adversary(known=8, name="8 of 8")
ITEMS_ONLY = Adversary(known=8, rating_error=None, name="8 items")
STRUCK = [
    ("similarity", "values off the scale"),
    ("similarity", "values that the other rows predict"),
    ("item-mean", "the most frequent value of each item"),
]
FEWER = [Adversary(known=m, right=n, name=f"{n} of {m}") for n, m in ((2, 2), (4, 4), (6, 8))]


class Fold(NamedTuple):
    """A part to learn from and the cells to predict, as positions."""

    base: Ratings
    users: NDArray[Any]
    items: NDArray[Any]
    truth: NDArray[Any]


class Opened(NamedTuple):
    """A release as its recipient sees it, its rows put back to the positions of their owners."""

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    labels: NDArray[np.float64]
    n_items: int

    @classmethod
    def of(cls, ratings: Ratings) -> Self:
        """Take ratings as a release that left everything as it was."""
        labels = ratings.values.astype(np.float64)
        return cls(ratings.indptr, ratings.indices, labels, ratings.n_items)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The owner of each label's row."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))

    def dense(self) -> NDArray[np.float64]:
        """Return all labels in a table with nan where none is."""
        table = np.full((self.indptr.size - 1, self.n_items), np.nan)
        table[self.owners, self.items] = self.labels
        return table

    def without(self, dropped: NDArray[np.bool_]) -> "Opened":
        """Leave labels out."""
        counts = np.bincount(self.owners[~dropped], minlength=self.indptr.size - 1)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Opened(indptr, self.items[~dropped], self.labels[~dropped], self.n_items)

    def ratings(self) -> Ratings:
        """Return the labels as ratings to learn from."""
        scale = RatingScale(SCALE.low, SCALE.high)
        names = np.arange(self.indptr.size - 1), np.arange(self.n_items)
        return Ratings(*names, self.indptr, self.items, self.labels, None, scale)

    def candidates(self) -> tuple[Candidates, NDArray[np.int64]]:
        """Return the different rows as records to be searched, and the record of each row."""
        rows, record_of, sizes = np.unique(
            np.nan_to_num(self.dense()), axis=0, return_inverse=True, return_counts=True
        )
        lengths, items = (rows > 0).sum(axis=1), np.nonzero(rows)[1].astype(np.int32)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        records = Records(sizes.astype(np.int64), indptr, items, rows[rows > 0])
        return Candidates.from_records([records], self.n_items, SCALE), record_of.ravel()

    def groups(self) -> NDArray[np.int64]:
        """Return a number for each row, the same for rows of the same items."""
        rated = np.packbits(~np.isnan(self.dense()), axis=1)
        return np.unique(rated, axis=0, return_inverse=True)[1].ravel()


def main() -> None:
    """Print the parts that were asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=folder_with("u1.base"), help="the folder of MovieLens 100K")
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help=", ".join(PARTS))
    parser.add_argument("--folds", type=int, default=5, help="take the first so many folds")
    parser.add_argument("--no-round", action="store_true", help="table: fills off the scale")
    options = parser.parse_args()
    for name in options.part or PARTS:
        start = time.perf_counter()
        PARTS[name](options)
        print(f"\n({name}: {time.perf_counter() - start:.0f} s)\n", flush=True)


def table_3(options: argparse.Namespace) -> None:
    """Print RMSE against k for each fill."""
    folds = [read_fold(options.folder, number) for number in range(1, options.folds + 1)]
    bare = [errors(fold, Opened.of(fold.base)) for fold in folds]
    heading("fill", "k", "cells", "test cells filled", *RECOMMENDERS)
    line("none", "", 1, "", *(f"{error:.4f}" for error in np.mean(bare, axis=0)[:, 0]))
    for name, k in itertools.product(FILLS, (3, 9, 21, 100)):
        found, filled, growth = [], [], []
        for fold in folds:
            rater = KCoRater(k, name, round_fills=not options.no_round, seed=1)
            opened = open_release(rater.anonymize(fold.base))
            found.append(errors(fold, opened))
            filled.append((~np.isnan(opened.dense()[fold.users, fold.items])).mean())
            growth.append(opened.items.size / fold.base.n_ratings)
        means = [f"{apart:.4f} / {taken:.4f}" for apart, taken in np.mean(found, axis=0)]
        line(name, k, f"{np.mean(growth):.1f}", f"{np.mean(filled):.0%}", *means)


def errors(fold: Fold, opened: Opened, *names: str) -> NDArray[np.float64]:
    """Return recommenders' RMSE: by their own predictions, and with fills in place of these."""
    return judge(fold, opened, [RECOMMENDERS[name] for name in names or RECOMMENDERS])


def judge(fold: Fold, opened: Opened, recommenders: Iterable[Any]) -> NDArray[np.float64]:
    """Do the same for recommenders of one's own; shape (n_recommenders, 2)."""
    cells = fold.users * opened.n_items + fold.items
    there = opened.owners * opened.n_items + opened.items
    learned = opened.without(np.isin(there, cells)).ratings()
    at = np.minimum(np.searchsorted(there, cells), there.size - 1)
    fills = np.where(there[at] == cells, opened.labels[at], np.nan)
    found = []
    for recommender in recommenders:
        predicted = recommender.fit(learned).predict(fold.users, fold.items)
        taken = np.where(np.isnan(fills), predicted, fills)
        found.append([np.sqrt(np.mean((way - fold.truth) ** 2)) for way in (predicted, taken)])
    return np.array(found)


def times(_: argparse.Namespace) -> None:
    """Print seconds against ratings, and against k."""
    heading("ratings", "k", "cells", "grouping", "item-mean", "similarity, fitting included")
    tables = [make_ratings(n, 2_000, 100 * n, seed=1) for n in (1_000, 2_000, 4_000)]
    for ratings, k in [*((ratings, 9) for ratings in tables), *((tables[1], k) for k in (3, 27))]:
        clock = [time.process_time()]
        cells = count_cells(ratings, gecom(ratings, k))
        clock.append(time.process_time())
        for fill in ("item-mean", "similarity"):
            collections.deque(KCoRater(k, fill, seed=1).anonymize(ratings).published.blocks(), 0)
            clock.append(time.process_time())
        seconds = (f"{took:.2f} s" for took in np.diff(clock))
        line(f"{ratings.n_ratings:,}", k, f"{cells:,}", *seconds)


def figure_3(options: argparse.Namespace) -> None:
    """Print who is found in the releases, and by what."""
    ratings = read_ratings(options.folder / "u.data")
    heading("fill", "k", "known", "believed", "wrong", "best record", "likeliest")
    releases = itertools.product(("similarity", "item-mean"), (3, 9, 21, 100))
    for fill, k in [("as they are", 1), *releases]:
        opened = Opened.of(ratings)
        if k > 1:
            opened = open_release(KCoRater(k, fill, seed=1).anonymize(ratings))
        for adversary in (*FEWER, EIGHT, ITEMS_ONLY):
            line(fill, k, adversary.name, *look(opened, ratings, adversary))
    print()
    heading("ignored", "fill", "k", "known", "believed", "wrong", "best record", "likeliest")
    for (fill, ignored), k in itertools.product(STRUCK, (9, 100)):
        rater = KCoRater(k, fill, round_fills="scale" not in ignored, seed=1)
        opened = open_release(rater.anonymize(ratings))
        for adversary in (EIGHT, ITEMS_ONLY):
            line(ignored, fill, k, adversary.name, *look(opened, ratings, adversary, ignored))


def look(opened: Opened, ratings: Ratings, adversary: Adversary, ignored: str = "") -> list[str]:
    """Return what the attacks find: of all users, those with too few ratings included."""
    known = draw_knowledge(ratings, adversary, np.arange(ratings.n_users), seed=0)
    candidates, record_of = opened.candidates()
    if ignored:
        candidates = strike_out(candidates, STRIKES[ignored](candidates, SCALE), SCALE)
    guesses = ScoreboardRH().attack(candidates, known, record_of)
    believed = (guesses.eccentricity >= 1.5) & (guesses.best >= 0)
    wrong = believed & ~guesses.target_is_top
    likeliest = Likelihood.of(adversary).attack(candidates, known, record_of)
    best = [(found.target_is_top / found.tied_users).sum() for found in (guesses, likeliest)]
    shares = (believed.sum(), wrong.sum(), *best)
    return [f"{share / known.requested:.1%}" for share in shares]


def tally(opened: Opened, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the labels of each group, item and value of the scale."""
    counts = np.zeros((groups.max() + 1, N_ITEMS, SCALE.levels.size), np.int64)
    np.add.at(counts, (groups[opened.owners], opened.items, levels_of(opened.labels)), 1)
    return counts


def levels_of(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of the nearest value of the scale."""
    return np.rint(labels - SCALE.low).astype(np.int64)


def groupings(options: argparse.Namespace) -> None:
    """Print cells filled and users found for several groupings."""
    ratings = read_ratings(options.folder / "u.data")
    supports = (ratings.csr.toarray() > 0).astype(np.float32)
    embeddings = FunkSVD().fit(ratings).padding().coordinates()
    ways = {
        "bisecting, supports": (BisectingKGather, supports),
        "MDAV, supports": (MDAV, supports),
        "k-gather, supports": (KGather, supports),
        "MDAV, tastes": (MDAV, embeddings),
        "k-gather, tastes": (KGather, embeddings),
    }
    heading("k", "groups", "cells filled", "against GeCom", "8 of 8", "8 items")
    for k in (3, 9, 21):
        first = 0
        for name in ("GeCom", *ways):
            groups = gecom(ratings, k)
            if name in ways:
                grouping, points = ways[name]
                labels = grouping(min_size=k, random_state=1).fit(points).labels_
                groups = Groups.from_labels(labels)
            filled = count_cells(ratings, groups) - ratings.n_ratings
            first = first or filled
            rater = KCoRater(k, "similarity", seed=1)
            rater._group = lambda *_, made=groups: made
            opened = open_release(rater.anonymize(ratings))
            found = (look(opened, ratings, adversary)[-1] for adversary in (EIGHT, ITEMS_ONLY))
            line(k, name, f"{filled:,}", f"{filled / first - 1:+.1%}", *found)


def protections(options: argparse.Namespace) -> None:
    """Print what protected labels cost and bring."""
    ratings = read_ratings(options.folder / "u.data")
    folds = [read_fold(options.folder, number) for number in range(1, options.folds + 1)]
    attacks = "row found", "group found", "told", "without attack"
    heading("k", "fill", "labels", "RMSE tuned", "RMSE FunkSVD", *attacks)
    for k, fill, labels in itertools.product(
        (3, 9, 21), ("similarity", "item-mean"), ("none", "mean", "shuffle")
    ):
        rater = KCoRater(k, fill, protect=labels, seed=1)
        found = [
            errors(fold, open_release(rater.anonymize(fold.base)), "tuned", "FunkSVD")[:, 0]
            for fold in folds
        ]
        opened = open_release(rater.anonymize(ratings))
        costs = (f"{error:.4f}" for error in np.mean(found, axis=0))
        line(k, fill, labels, *costs, *(f"{share:.1%}" for share in learn(opened, ratings)))


def learn(opened: Opened, ratings: Ratings) -> Iterator[float]:
    """Yield shares: of people, row and group found; of ratings, inferred, and without attack."""
    known = draw_knowledge(ratings, EIGHT, np.arange(ratings.n_users), seed=0)
    candidates, record_of = opened.candidates()
    # Means lie off the ratings that they hide, so that closeness is tried, too.
    attacks = [ScoreboardRH(), *(Likelihood.of(EIGHT, spread) for spread in (0.0, 0.5, 1.0))]
    tried = [attack.attack(candidates, known, record_of) for attack in attacks]
    best = max(tried, key=lambda guesses: float((guesses.target_is_top / guesses.tied_users).sum()))
    groups, first_row = opened.groups(), np.unique(record_of, return_index=True)[1]
    row = np.where(best.best >= 0, first_row[best.best], -1)
    counts = tally(opened, groups)
    group = fit_groups(counts, np.bincount(groups), known)
    by_row = (row >= 0) & (groups[row] == groups[known.targets])
    yield (best.target_is_top / best.tied_users).sum() / known.requested
    yield max(by_row.sum(), (group == groups[known.targets]).sum()) / known.requested
    of_all = counts.sum(axis=0).argmax(axis=1)
    often, apart = counts.argmax(axis=2), counts.copy()
    apart[:, np.arange(N_ITEMS), of_all] = 0
    apart = np.where(apart.any(axis=2), apart.argmax(axis=2), of_all)
    rows, result = opened.dense(), []
    for place, target in enumerate(known.targets.tolist()):
        items, truth = ratings.row(target)
        other = ~np.isin(items, known.items[known.indptr[place] : known.indptr[place + 1]])
        items, truth = items[other], levels_of(truth[other])
        labels = rows[row[place], items] if row[place] >= 0 else of_all[items] + SCALE.low
        # A row of a wrong group may lack the item.
        by_row = np.where(np.isnan(labels), of_all[items], levels_of(np.nan_to_num(labels)))
        guesses = by_row, often[group[place], items], apart[group[place], items], of_all[items]
        result.append([(guess == truth).mean() for guess in guesses])
    *by_attack, by_nothing = np.mean(result, axis=0)
    yield max(by_attack)
    yield by_nothing


def fit_groups(
    counts: NDArray[np.int64], sizes: NDArray[np.int64], known: Knowledge
) -> NDArray[np.int64]:
    """Return the group in which most users have each known rating; whose they are is not asked."""
    logarithms = np.log((counts + 0.1) / (sizes[:, None, None] + 0.5))
    assert known.values is not None  # noqa: S101
    values = levels_of(known.values)
    fits = [
        logarithms[:, known.items[first:last], values[first:last]].sum(axis=1).argmax()
        for first, last in itertools.pairwise(known.indptr.tolist())
    ]
    return np.array(fits)


def open_release(release: Release) -> Opened:
    """Collect the rows of a release, in the order of their owners."""
    blocks = list(release.published.blocks())
    lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
    items = np.concatenate([block.indices for block in blocks])
    labels = np.concatenate([block.values for block in blocks])
    owners = np.repeat(release.private.groups.members, lengths)
    order = np.argsort(owners, kind="stable")
    n_users = release.private.groups.members.size
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_users))])
    return Opened(indptr, items[order], labels[order], release.published.items.size)


def read_fold(folder: Path, number: int) -> Fold:
    """Read one fold; users and items are the same in all of them."""
    base, test = (np.loadtxt(folder / f"u{number}.{part}", np.int64) for part in ("base", "test"))
    base = base[np.lexsort((base[:, 1], base[:, 0]))]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(base[:, 0] - 1, minlength=N_USERS))])
    learned = Ratings(
        np.arange(N_USERS), np.arange(N_ITEMS), indptr, base[:, 1] - 1, base[:, 2], None, SCALE
    )
    return Fold(learned, test[:, 0] - 1, test[:, 1] - 1, test[:, 2].astype(np.float64))


def count_cells(ratings: Ratings, groups: Groups) -> int:
    """Count the cells of a release, those that were rated included."""
    return int((np.diff(union_of_items(ratings, groups)[0]) * groups.sizes).sum())


def heading(*names: str) -> None:
    """Print the head of a table."""
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))


def line(*cells: object) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


PARTS = {"table": table_3, "time": times, "attack": figure_3}
PARTS |= {"groups": groupings, "protect": protections}

if __name__ == "__main__":
    main()
