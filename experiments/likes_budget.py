"""Which share of the budget serves lists best that are learned from users drawn from likes?

    python experiments/likes_budget.py [--seeds 3]

Draws users from invented likes, with several splits of the noise between how often items are liked
(item sums) and which go together (moments), lets recommenders learn from them, and serves the same
users from their own likes, of which a fifth is held out. Prints what lists keep of the best on the
raw likes, in percent. No real table is used: the split is a public rule, the same for all users.
"""

from typing import NamedTuple

import numpy as np
from arguments import parser_of

from recveil.evaluation.recipient import fit_all, serve
from recveil.evaluation.split import HeldOut, TrainingTable, UserRows, split_ratings
from recveil.methods.synthetic.gaussian_mechanism import Mechanism
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.learning import learn_likes
from recveil.methods.synthetic.sum_queries import SHARES_OF_LIKES, Public, measure_likes
from recveil.methods.synthetic.synthesizer import Budget
from recveil.ratings import Ratings

ITEM_SHARES = (0.03, 0.06, 0.1, 0.2, 0.35)
EPSILONS = (3.0, 10.0, 30.0)


class Invented(NamedTuple):
    """An invented table: how many of what, and how far users choose by embedding."""

    n_users: int
    items: int
    each: int
    embedding: float

    def likes(self, seed: int) -> Ratings:
        """Let all users choose by popularity, eight embeddings and chance."""
        rng = np.random.default_rng(seed)
        wishes = np.exp(rng.normal(size=self.n_users))
        counts = np.clip(np.rint(self.each * wishes / wishes.mean()), 2, self.items // 2)
        embeddings = [rng.normal(size=(n, 8)) / 8**0.25 for n in (self.n_users, self.items)]
        odds = self.embedding * embeddings[0] @ embeddings[1].T + 1.2 * rng.normal(size=self.items)
        ranked = np.argsort(-(odds + rng.gumbel(size=odds.shape)), axis=1)
        own = [row[: int(count)] for row, count in zip(ranked, counts, strict=True)]
        users = np.repeat(np.arange(self.n_users), [items.size for items in own])
        return Ratings.from_columns(users, np.concatenate(own))


TABLES = (
    Invented(1_000, 300, 40, 1.5),
    Invented(3_000, 300, 30, 1.5),
    Invented(10_000, 300, 20, 1.0),
)


def shares_with(item_share: float) -> dict[str, float]:
    """Return the split with another share of item sums, taken from the moments'."""
    fixed = {name: SHARES_OF_LIKES[name] for name in ("users by user count", "item kinds")}
    return {**fixed, "item sums": item_share, "moments": 1 - item_share - sum(fixed.values())}


def best_lists(table: TrainingTable, train: Ratings, test: HeldOut) -> float:
    """Return the nDCG@10 of the best recommender that learns from a table."""
    served = serve(fit_all(table), UserRows.from_ratings(train), test)
    return max(np.nan_to_num([found.ndcg for found in served.utilities.values()]))


def drawn_table(train: Ratings, epsilon: float, item_share: float, seed: int) -> TrainingTable:
    """Draw as many users as there are, with one split of the noise."""
    sigmas = Budget.of(epsilon, 1e-6).sigmas(shares_with(item_share))
    mechanism = Mechanism(NoiseSource.repeatable(seed), sigmas)
    rng = np.random.default_rng(seed)
    measured = measure_likes(train, mechanism, Public(True, train.n_items), sigmas)
    rule = learn_likes(measured, rng)
    blocks = list(rule.draw(train.n_users, rng))
    indptr = np.concatenate([[0], *(np.diff(block.indptr) for block in blocks)]).cumsum()
    items = measured.released[np.concatenate([block.indices for block in blocks])].astype(np.int32)
    rows = UserRows(indptr, items, np.ones(items.size))
    return TrainingTable.from_rows(
        rows, np.ones(train.n_users, np.int64), train.n_items, train.scale
    )


def main(seeds: int) -> None:
    """Print a row for each table and epsilon, a column for each share."""
    print("| people | epsilon |", " | ".join(f"{share:.0%}" for share in ITEM_SHARES), "|")
    print("|---:|---:|" + "---:|" * len(ITEM_SHARES))
    everything = []
    for table in TABLES:
        kept = np.zeros((len(EPSILONS), len(ITEM_SHARES)))
        for seed in range(seeds):
            likes = table.likes(seed)
            train, test = split_ratings(likes, 0.2, seed=seed)
            raw = best_lists(TrainingTable.from_ratings(train), train, test)
            for row, epsilon in enumerate(EPSILONS):
                for column, share in enumerate(ITEM_SHARES):
                    drawn = drawn_table(train, epsilon, share, seed)
                    kept[row, column] += best_lists(drawn, train, test) / raw / seeds
        for epsilon, row in zip(EPSILONS, kept, strict=True):
            cells = " | ".join(f"{100 * share:.1f}" for share in row)
            print(f"| {table.n_users:,} | {epsilon:g} | {cells} |", flush=True)
        everything.append(kept)
    cells = " | ".join(f"{100 * share:.1f}" for share in np.mean(everything, axis=(0, 1)))
    print(f"| all | all | {cells} |")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    main(parser.parse_args().seeds)
