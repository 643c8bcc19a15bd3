"""How long FunkSVD takes to learn as much as its peers, and they as it.

python benchmarks/factorization.py                  1 million invented ratings
python benchmarks/factorization.py --millions 1 10

All learn 50 factors and biases from nine tenths of the ratings. Each one's step size and pull
are chosen on the first size among twelve, by the RMSE of 20 passes on the tenth held out. Then each
learns with ever more passes. The end prints the time of the fewest passes that come within 0.002 of
the best RMSE of all. The peers come with
pip install "recveil[bench]".
"""

import argparse
import itertools
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.datasets import make_ratings
from recveil.evaluation import HeldOut, rmse, split_ratings
from recveil.predict import FunkSVD
from recveil.ratings import Ratings

USERS_A_MILLION, ITEMS = 4_802, 17_770
RANK = 50
PASSES = (5, 10, 15, 20, 25, 30, 40, 60)
NEAR = 0.002
FORMAT = "{:<18}{:>8}{:>12}{:>10}{:>10}"


class Model(NamedTuple):
    """What every contender learns."""

    mean: float
    biases: tuple[NDArray[Any], NDArray[Any]]
    factors: tuple[NDArray[Any], NDArray[Any]]

    def error(self, test: HeldOut) -> float:
        """Return the RMSE of the clipped predictions."""
        (of_users, of_items), (users, items) = self.biases, self.factors
        products = np.einsum("ij,ij->i", users[test.users], items[test.items])
        predicted = self.mean + of_users[test.users] + of_items[test.items] + products
        return rmse(np.clip(predicted, 1, 5), test.values)


Learn = Callable[[Any, int, float, float], Model]


def surprise_table(train: Ratings) -> Any:
    """Build what scikit-surprise learns from."""
    from surprise import Trainset

    by_user: dict[int, list[tuple[int, float]]] = {}
    for user in range(train.n_users):
        items, values = train.row(user)
        by_user[user] = list(zip(items.tolist(), values.tolist(), strict=True))
    same = {position: position for position in range(max(train.n_users, train.n_items))}
    return Trainset(by_user, {}, train.n_users, train.n_items, train.n_ratings, (1, 5), same, same)


def learn_surprise(table: Any, passes: int, rate: float, pull: float) -> Model:
    """Learn with scikit-surprise."""
    from surprise import SVD

    model = SVD(RANK, passes, lr_all=rate, reg_all=pull, random_state=1).fit(table)
    return Model(table.global_mean, (model.bu, model.bi), (model.pu, model.qi))


def cornac_table(train: Ratings) -> Any:
    """Build what cornac learns from."""
    from cornac.data import Dataset

    users = {position: position for position in range(train.n_users)}
    items = {position: position for position in range(train.n_items)}
    positions = train.user_positions().astype(np.int64), train.indices.astype(np.int64)
    return Dataset(train.n_users, train.n_items, users, items, (*positions, train.values))


def learn_cornac(table: Any, passes: int, rate: float, pull: float) -> Model:
    """Learn with cornac, on as many threads as there are cores: they race for the factors."""
    from cornac.models import MF

    # A seed would take the threads away.
    model = MF(
        k=RANK, backend="cpu", max_iter=passes, learning_rate=rate, lambda_reg=pull, num_threads=0
    ).fit(table)
    factors = (model.u_factors, model.i_factors)
    return Model(model.global_mean, (model.u_biases, model.i_biases), factors)


def learn_ours(train: Any, passes: int, rate: float, pull: float) -> Model:
    """Learn with recveil; steps shrink to a tenth over the passes, as in 30 by default."""
    decay = 0.93 ** (30 / passes)
    model = FunkSVD(RANK, passes, rate, decay, pull, seed=1).fit(train).padding()
    users, items = model.user_factors.astype(np.float64), model.item_factors.astype(np.float64)
    return Model(0.0, (np.zeros(len(users)), model.item_offset), (users, items))


CONTENDERS: dict[str, tuple[Callable[[Ratings], Any], Learn, tuple[float, ...]]] = {
    "recveil": (lambda train: train, learn_ours, (0.02, 0.03, 0.05)),
    "cornac MF": (cornac_table, learn_cornac, (0.005, 0.01, 0.02)),
    "surprise SVD": (surprise_table, learn_surprise, (0.005, 0.01, 0.02)),
}
PULLS = (0.04, 0.05, 0.06, 0.08)


def main() -> None:
    """Read the options, let each program learn, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--millions", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    chosen: dict[str, tuple[float, float]] = {}
    learn_ours(make_ratings(200, 50, 2_000), 1, 0.01, 0.1)  # compile
    for millions in options.millions:
        ratings = make_ratings(millions * USERS_A_MILLION, ITEMS, millions * 1_000_000, seed=1)
        compare(ratings, chosen)


def compare(ratings: Ratings, chosen: dict[str, tuple[float, float]]) -> None:
    """Print each contender's way to the best RMSE; note the settings of those not seen before."""
    train, test = split_ratings(ratings, 0.1, seed=1)[:2]
    print(f"\n{ratings.n_ratings:,} ratings, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(FORMAT.format("contender", "passes", "RMSE", "seconds", "a pass"))
    ways: dict[str, list[tuple[float, float]]] = {}
    for name, (table_of, learn, rates) in CONTENDERS.items():
        settings = itertools.product(rates, PULLS)
        table = table_of(train)
        if name not in chosen:
            chosen[name] = min(settings, key=lambda setting: learn(table, 20, *setting).error(test))
        ways[name] = []
        for passes in PASSES:
            start = time.perf_counter()
            model = learn(table, passes, *chosen[name])
            seconds = time.perf_counter() - start
            ways[name].append((model.error(test), seconds))
            figures = f"{ways[name][-1][0]:.4f}", f"{seconds:.2f}", f"{seconds / passes:.3f}"
            print(FORMAT.format(name, passes, *figures), flush=True)
    best = min(error for way in ways.values() for error, _ in way)
    print(f"Within {NEAR} of the best RMSE, {best:.4f}:")
    for name, way in ways.items():
        seconds = min((s for error, s in way if error <= best + NEAR), default=None)
        reached = "never" if seconds is None else f"{seconds:.2f} s"
        rate, pull = chosen[name]
        print(f"{name:<18}{reached:>10}  (step {rate:g}, pull {pull:g})")


if __name__ == "__main__":
    main()
