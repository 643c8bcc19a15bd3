"""What recommenders keep that learn from synthetic users, at the size of the Netflix Prize data.

    python experiments/synthetic_netflix.py                          480,189 users, epsilon 1
    python experiments/synthetic_netflix.py --users 48000 --epsilon 10      a tenth, in minutes

The ratings are invented (`recveil.datasets.make_ratings`): users choose and rate by eight factors,
by how popular items are, and by chance. A fifth of the ratings of some users is held out. As many
users as there are are drawn at epsilon; recommenders learn from them as from the raw ratings, and
serve the users with held-out ratings from what is left of their own.

Recommenders are those of recveil that work at this size, on the items with the most ratings; what
is held out counts on these items. A thousand rows of each table are not learned from, and serve to
choose settings. Intervals (95 %) are over the users served, of one draw.
"""

import argparse
import time
from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from arguments import parser_of
from numpy.typing import NDArray

from recveil.datasets import make_ratings
from recveil.evaluation.rankers import Ease, ItemCosine
from recveil.evaluation.rating_predictors import ItemMeansAndBias, Popularity, RidgeFactors, Setting
from recveil.evaluation.recipient import Served, serve
from recveil.evaluation.split import HeldOut, InnerSplit, TrainingTable, UserRows
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings
from recveil.release.records import Records

USERS, ITEMS, RATINGS = 480_189, 17_770, 100_480_507
HELD_SHARE, ROWS_TO_CHOOSE_BY = 0.2, 1_000


class LearntOnce(RidgeFactors):
    """Ridge factors with one penalty of learning, learnt from a table once."""

    learning_settings = ((32.0,),)

    def __init__(self, rank: int = 10) -> None:
        super().__init__(rank)
        self._found: WeakKeyDictionary[TrainingTable, Any] = WeakKeyDictionary()

    def _learn(self, table: TrainingTable, setting: Setting) -> Any:
        if table not in self._found:
            self._found[table] = super()._learn(table, setting)
        return self._found[table]


class Task(NamedTuple):
    """Who is served: with what they are known by, and what is held out of it.

    Attributes
    ----------
    place_of : ndarray of int64, shape (n_items,)
        Rank of an item among the most rated ones, by its position; -1 if it is not among them.
    n_items : int
        How many these are.
    users : UserRows
    test : HeldOut
    """

    place_of: NDArray[np.int64]
    n_items: int
    users: UserRows
    test: HeldOut


def hold_out(ratings: Ratings, n_served: int, seed: int) -> tuple[Ratings, NDArray[np.bool_]]:
    """Return the ratings without those that are held out, and which those are.

    Each user's first rating stays, so that none is left without.
    """
    rng = np.random.default_rng(seed)
    served = np.zeros(ratings.n_users, np.bool_)
    served[rng.choice(ratings.n_users, min(n_served, ratings.n_users), replace=False)] = True
    held = served[ratings.user_positions()]
    held &= rng.random(ratings.n_ratings, np.float32) < HELD_SHARE
    held[ratings.indptr[:-1]] = False
    before = np.concatenate([[0], np.cumsum(~held)])
    train = Ratings(
        ratings.users,
        ratings.items,
        before[ratings.indptr],
        ratings.indices[~held],
        ratings.values[~held],
        None,
        ratings.scale,
    )
    return train, held


def task_of(ratings: Ratings, train: Ratings, held: NDArray[np.bool_], n_items: int) -> Task:
    """Choose the most rated items, and put the users who are served on them."""
    place_of = np.full(ratings.n_items, -1, np.int64)
    best = np.sort(np.argsort(-train.support, kind="stable")[:n_items])
    place_of[best] = np.arange(best.size)
    served, row_of = np.unique(ratings.user_positions()[held], return_inverse=True)
    items = place_of[ratings.indices[held]]
    values = ratings.values[held].astype(np.float64)
    on = items >= 0
    own = UserRows.from_ratings(train).take(served)
    users = on_places([Records(np.ones(served.size, np.int64), *own)], place_of)
    return Task(place_of, best.size, users, HeldOut(row_of[on], items[on], values[on]))


def on_places(blocks: Iterable[Records], place_of: NDArray[np.int64]) -> UserRows:
    """Return the rows of some blocks, on the most rated items alone."""
    lengths, indices, values = [np.zeros(1, np.int64)], [], []
    for block in blocks:
        places = place_of[block.indices]
        kept = places >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        lengths.append(np.diff(before[block.indptr]))
        indices.append(places[kept].astype(np.int32))
        values.append(block.values[kept])
    return UserRows(
        np.concatenate(lengths).cumsum(), np.concatenate(indices), np.concatenate(values)
    )


def judge(rows: UserRows, task: Task, train: Ratings) -> Served:
    """Let recommenders learn from rows, and serve."""
    sizes = np.ones(rows.n_users, np.int64)
    rest, inner = choose_by_few(TrainingTable.from_rows(rows, sizes, task.n_items, train.scale))
    recommenders = (Popularity(), ItemMeansAndBias(), LearntOnce(), Ease("liked"), ItemCosine())
    return serve([r.fit(rest, [inner]) for r in recommenders], task.users, task.test)


def choose_by_few(table: TrainingTable) -> tuple[TrainingTable, InnerSplit]:
    """Return the table without some rows, and these, with a fifth of their labels held out."""
    rng = np.random.default_rng(0)
    few = np.zeros(table.rows.n_users, np.bool_)
    few[rng.choice(few.size, min(ROWS_TO_CHOOSE_BY, few.size // 5), replace=False)] = True
    left = np.flatnonzero(~few)
    sizes = table.sizes[left]
    rows, n_users = table.rows.take(left), int(sizes.sum())
    rest = TrainingTable(rows, sizes, table.n_items, n_users, table.scale)
    known = table.rows.take(np.flatnonzero(few))
    held = rng.random(known.values.size) < HELD_SHARE
    cells = HeldOut(
        known.row_of()[held],
        known.indices[held].astype(np.int64),
        # Labels in tenths are judged as the nearest rating: users who are served give ratings.
        table.scale.round(known.values[held], table.scale.step),
    )
    return rest, InnerSplit(rest, known.where(~held), cells)


def drawn_rows(train: Ratings, epsilon: float, seed: int, task: Task) -> UserRows:
    """Draw as many users as there are, and put them on the most rated items."""
    release = Synthesizer(epsilon, item_catalog="as-rated", seed=seed).anonymize(train).published
    place_of = task.place_of[np.searchsorted(train.items, release.items)]
    return on_places(release.blocks(), place_of)


def interval(of: NDArray[Any], next_to: NDArray[Any]) -> tuple[float, float]:
    """Return the ratio of two means over the same users, and half of its 95 % interval."""
    ratio = of.mean() / next_to.mean()
    off = (of - ratio * next_to).std(ddof=1) / np.sqrt(of.size) / next_to.mean()
    return float(ratio), float(1.96 * off)


def print_kept(raw: Served, drawn: Served) -> tuple[float, float, float]:
    """Print what the best recommenders keep: lists, and RMSE; return the former's interval."""
    both = [(of, of.per_user) for of in (raw, drawn) if of.per_user is not None]
    gains = [figures.ndcg[of.best_ranker] for of, figures in both]
    judged = ~np.isnan(gains[0])
    kept, half = interval(gains[1][judged], gains[0][judged])
    print(f"lists keep {kept:.1%} ({kept - half:.1%} to {kept + half:.1%}) of raw's best")
    squares = [figures.squares[of.best] for of, figures in both]
    ratio, off = interval(squares[1], squares[0])
    low, high = np.sqrt([ratio - off, ratio + off]) - 1
    print(f"RMSE is {np.sqrt(ratio) - 1:.2%} ({low:.2%} to {high:.2%}) above raw's best")
    return kept, kept - half, kept + half


def print_served(name: str, served: Served) -> None:
    """Print a line for each recommender."""
    for recommender, utility in served.utilities.items():
        print(
            f"{name} | {recommender} | {utility.ndcg:.4f} | {utility.rmse:.4f} | "
            f"{', '.join(f'{number:g}' for number in utility.setting)}",
            flush=True,
        )


def main(options: argparse.Namespace) -> None:
    """Invent ratings, draw users, and compare what both teach."""
    started = time.process_time()
    n_ratings = round(RATINGS * options.users / USERS)
    ratings = make_ratings(options.users, ITEMS, n_ratings, seed=options.seed)
    train, held = hold_out(ratings, options.served, options.seed)
    task = task_of(ratings, train, held, options.items)
    share = train.support[task.place_of >= 0].sum() / train.n_ratings
    print(f"{ratings}; {task.n_items:,} items with {share:.1%} of the ratings", flush=True)
    del ratings, held
    print("\nlearned from | recommender | nDCG@10 | RMSE | settings")
    records = Records(np.ones(train.n_users, np.int64), *UserRows.from_ratings(train))
    raw = judge(on_places([records], task.place_of), task, train)
    del records
    print_served("raw", raw)
    drawn = judge(drawn_rows(train, options.epsilon, options.seed, task), task, train)
    print_served(f"epsilon {options.epsilon:g}", drawn)
    print_kept(raw, drawn)
    print(f"{time.process_time() - started:.0f} s of the processors")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--served", type=int, default=20_000, help="users with held-out ratings")
    parser.add_argument("--items", type=int, default=4_000, help="the most rated ones")
    parser.add_argument("--seed", type=int, default=1)
    main(parser.parse_args())
