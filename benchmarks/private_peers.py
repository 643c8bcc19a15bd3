"""What recommenders keep under differential privacy: recveil's synthetic users, and peers.

    python benchmarks/private_peers.py path/to/ml-100k [--item-features items.csv] [--folds 5]
        [--ml1m path/to/ml-1m] [--epsilons 10 3 1] [--only NAME ...] [--tune]

All protect a user with all ratings (add or remove one), with the same epsilon and delta 1e-6. All
learn from the same folds and serve the same users from their own ratings: lists are a share of the
best nDCG@10 on raw ratings, RMSE is above the best on raw ratings.

Peers publish numbers of items, with which each user's own ratings give scores:

- item sums: noisy item means and popularity alone.
- private ALS: alternating least squares with noisy normal equations of items (Chien et al. 2021);
  for lists, with a weight of unrated items.
- item-item: noisy item means, and noisy products of users' rows (McSherry & Mironov 2009), read by
  their largest eigenvectors, and for lists by EASE, too.
- DP-SGD: matrix factorization by clipped gradients of sampled users (Abadi et al. 2016).

A method of marginals (MST, AIM) does not fit: a user would be in the marginals of all items.

What favours the peers: lists and RMSE are two releases with all of the budget each, but for those
called one release, which have half of the squared privacy loss each. The settings (`SETTINGS`) are
the best on the test ratings of fold 1 (`--tune`); those of one release, with a loss between, are
the best of them on each fold. Where the same noisy numbers can be read in several ways, the best on
the test ratings of each fold counts, as it does for recveil's recommenders. Noise is
floating-point.
"""

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from arguments import folder_with, parser_of
from synthetic_users import (
    STARS,
    Setting,
    drawn_table,
    folds_of_100k,
    interval_text,
    judge,
    splits_of_1m,
)

from recveil.evaluation.fidelity_metrics import rmse
from recveil.evaluation.ranking_metrics import list_items, ndcg, relevant_items
from recveil.evaluation.recipient import Served
from recveil.evaluation.split import HeldOut, TrainingTable, UserRows
from recveil.io.item_features import read_item_features
from recveil.methods.synthetic.synthesizer import Budget
from recveil.ratings import Ratings

DELTA = 1e-6
# The centre of the scale, the largest distance from it, and the usual one.
CENTRE, FAR, USUAL = 3.0, 2.0, 1.3
# Weight of a rated item that is not liked.
RATED = 0.4
# Spread of items' means, and pull of users' offsets and items' means to 0, in ratings.
SPREAD, PULL = 0.5, 5.0
TILE = 1000

Numbers = NDArray[np.float64]
Choice = dict[str, float]
Scores = Callable[["Known"], Numbers]
Step = Callable[[NDArray[np.bool_], Numbers], tuple[Numbers, Numbers]]


class Known(NamedTuple):
    """Users' ratings, as matrices of users by items."""

    rated: sparse.csr_array
    distances: sparse.csr_array
    likes: sparse.csr_array

    @classmethod
    def of(cls, rows: UserRows, n_items: int) -> "Known":
        """Take ratings from 1 to 5."""
        likes = np.where(rows.values >= STARS.liked_from, 1.0, RATED)
        made = (np.ones_like(rows.values), rows.values - CENTRE, likes)
        return cls(*(rows.matrix(n_items, values) for values in made))

    def sizes(self) -> Numbers:
        """Return the number of ratings of each user, at least 1, shape (n_users, 1)."""
        return np.maximum(np.diff(self.rated.indptr), 1.0)[:, None]


class Job(NamedTuple):
    """What a peer learns from, how, and what it may spend."""

    known: Known
    budget: Budget
    choice: Choice
    rng: np.random.Generator


# The sums that get noise: one user adds a vector of length at most 1 to each.


def item_sums(known: Known) -> Numbers:
    """Sum each item's weights, and weighted distances over the usual one, shape (2, n_items)."""
    usual = np.sqrt(by_user(known.distances.power(2)) / known.sizes()) / USUAL
    weights = np.sqrt(0.5 / known.sizes())
    counts = known.rated.multiply(weights).sum(axis=0)
    distances = known.distances.multiply(weights / USUAL / np.maximum(usual, 1))
    return np.stack([counts, distances.sum(axis=0)])


def like_counts(known: Known) -> Numbers:
    """Sum users' likes over their length, shape (n_items,)."""
    return known.likes.multiply(1 / lengths(known.likes)).sum(axis=0)


def products(rows: sparse.csr_array, least: Numbers | float = 0.0) -> Numbers:
    """Sum the products of each row with itself, over its squared length, or more."""
    return (rows.T @ rows.multiply(1 / np.maximum(lengths(rows) ** 2, least))).toarray()


def equations(
    rows: sparse.csr_array, targets: sparse.csr_array, users: Numbers
) -> tuple[Numbers, Numbers]:
    """Sum the normal equations of each item, of users who are at most 1 long.

    Rows have a weight for each rating, of which a user's squares count as 1 together.
    """
    squares = rows.power(2)
    far = by_user(squares.multiply(targets.power(2))) / lengths(rows) ** 2
    weights = rows.multiply(1 / lengths(rows) / np.sqrt(np.maximum(2, 1 + far))).tocsr()
    rank = users.shape[1]
    left = (weights.T @ outer(users)).reshape(-1, rank, rank)
    return left, weights.multiply(targets).T @ users


def gradients(residuals: Numbers, users: Numbers, clip: float) -> Numbers:
    """Sum the users' gradients of item factors, cut to a length of `clip`, over `clip`."""
    length = np.linalg.norm(residuals, axis=1) * np.linalg.norm(users, axis=1)
    return residuals.T @ (users / np.maximum(length, clip)[:, None])


def by_user(rows: sparse.sparray) -> Numbers:
    """Return the sum of each row, shape (n_users, 1)."""
    return np.asarray(rows.sum(axis=1))[:, None]


def lengths(rows: sparse.sparray) -> Numbers:
    """Return the length of each row, shape (n_users, 1), a little above 0 if it is empty."""
    return np.sqrt(np.maximum(by_user(rows.power(2)), 1e-12))


def outer(vectors: Numbers) -> Numbers:
    """Return the products of each vector with itself, flat."""
    return np.einsum("ui,uj->uij", vectors, vectors).reshape(len(vectors), -1)


def noisy(sums: Numbers, mu: float, rng: np.random.Generator) -> Numbers:
    """Add the noise of a privacy loss of mu to a sum."""
    return sums + rng.normal(0, 1 / mu, sums.shape)


def noisy_symmetric(sums: Numbers, mu: float, rng: np.random.Generator) -> Numbers:
    """Add it to symmetric matrices: each cell off the diagonal is there twice."""
    noise = rng.normal(0, 1 / mu, sums.shape)
    return sums + (noise + np.swapaxes(noise, -1, -2)) / 2


def split_loss(mu: float, share: float, n: int = 1) -> tuple[float, float]:
    """Split a privacy loss: that of a first query with a share of it, and of n others, each."""
    return mu * math.sqrt(share), mu * math.sqrt((1 - share) / n)


class Means(NamedTuple):
    """Noisy item sums, and the items' means that follow, as distances from the centre."""

    counts: Numbers
    means: Numbers

    @classmethod
    def query(cls, known: Known, mu: float, rng: np.random.Generator) -> "Means":
        """Shrink means by how far the noise, and few ratings, would move them."""
        counts, sums = noisy(item_sums(known), mu, rng)
        overall = USUAL * sums.sum() / max(counts.sum(), 1)
        weight = np.maximum(counts, 1 / mu)
        noise = (USUAL / mu / SPREAD / weight) ** 2 + PULL * 0.07 / weight
        means = overall + (USUAL * sums / weight - overall) / (1 + noise)
        return cls(counts, np.clip(means, -FAR, FAR))

    def residuals(self, known: Known) -> tuple[Numbers, sparse.csr_array]:
        """Return the means with users' offsets, and how far ratings are from them."""
        rows = known.distances - known.rated.multiply(self.means).tocsr()
        offsets = by_user(rows) / (known.sizes() + PULL)
        return self.means + offsets, (rows - known.rated.multiply(offsets)).tocsr()

    def scores(self, items: Numbers | None = None, ridge: float = 1.0) -> Scores:
        """Return what predicts ratings, with factors of items if there are any."""

        def predict(known: Known) -> Numbers:
            averages, residuals = self.residuals(known)
            if items is None:
                return CENTRE + averages
            return CENTRE + averages + solve_users(known.rated, residuals, items, ridge) @ items.T

        return predict


def solve_users(
    rated: sparse.csr_array,
    targets: sparse.csr_array,
    items: Numbers,
    ridge: float,
    unrated: float = 0.0,
) -> Numbers:
    """Return users' factors by least squares from their own ratings."""
    rank = items.shape[1]
    left = (rated @ outer(items)).reshape(-1, rank, rank)
    left += ridge * np.eye(rank) + unrated * items.T @ items
    return np.linalg.solve(left, (targets @ items)[..., None])[..., 0]


def clip_users(users: Numbers) -> Numbers:
    """Cut factors to length 1."""
    return users / np.maximum(np.linalg.norm(users, axis=1, keepdims=True), 1)


def rankers_of(items: Numbers, popularity: Numbers, ridge: float, unrated: float) -> list[Scores]:
    """Return rankers of likes by factors, with some weights of popularity."""

    def ranker(weight: float) -> Scores:
        return lambda known: (
            solve_users(known.rated, known.likes, items, ridge, unrated) @ items.T
            + weight * popularity / popularity.max()
        )

    return [ranker(weight) for weight in (0.0, 0.1, 0.3, 1.0)]


def initial_factors(
    counts: Numbers, selected: NDArray[np.bool_], rank: int, rng: np.random.Generator
) -> Numbers:
    """Return factors of items to start from: popularity, and chance."""
    items = rng.normal(0, 0.1, (selected.size, rank))
    items[:, 0] = counts / counts.max()
    return items * selected[:, None]


def select_items(counts: Numbers, mu: float, times: float) -> NDArray[np.bool_]:
    """Mark items with counts of so many times the noise, at least ten."""
    return counts >= min(times / mu, np.partition(counts, -10)[-10])


# The peers: each makes predictors of ratings, or rankers, with all of the budget.


def sums_ratings(job: Job) -> list[Scores]:
    """Predict by item means and users' offsets."""
    return [Means.query(job.known, job.budget.mu, job.rng).scores()]


def sums_lists(job: Job) -> list[Scores]:
    """Rank by popularity."""
    counts = noisy(like_counts(job.known), job.budget.mu, job.rng)
    return [lambda known: np.tile(counts, (known.rated.shape[0], 1))]


def als_ratings(job: Job) -> list[Scores]:
    """Learn factors of what item means leave."""
    known, budget, choice, rng = job
    rank, passes = int(choice["rank"]), int(choice["passes"])
    of_means, mu = split_loss(budget.mu, choice["means"], passes)
    means = Means.query(known, of_means, rng)
    residuals = means.residuals(known)[1]
    selected = select_items(means.counts, of_means, choice["items"])
    rows = known.rated.multiply(selected * np.maximum(means.counts, 1 / of_means) ** -0.25).tocsr()
    items = rng.normal(0, 0.5, (selected.size, rank)) * selected[:, None]
    for _ in range(passes):
        users = clip_users(solve_users(known.rated, residuals, items, rank))
        left, right = equations(rows, residuals, users)
        left, right = noisy_symmetric(left, mu, rng), noisy(right, mu, rng)
        items = solve_items(left, right, choice["ridge"] * (1 + 1 / mu)) * selected[:, None]
    return [means.scores(items, rank * ridge) for ridge in (0.5, 1.0, 2.0, 4.0)]


def als_lists(job: Job) -> list[Scores]:
    """Learn factors of likes, with all other items as zeros of a lower weight."""
    known, budget, choice, rng = job
    rank, passes, unrated = int(choice["rank"]), int(choice["passes"]), choice["unrated"]
    of_counts, mu = split_loss(budget.mu, choice["counts"], passes)
    counts = noisy(like_counts(known), of_counts, rng)
    selected = select_items(counts, of_counts, choice["items"])
    rows = known.rated.multiply(selected * np.maximum(counts, 1 / of_counts) ** -0.25).tocsr()
    items = initial_factors(counts, selected, rank, rng)
    for _ in range(passes):
        users = clip_users(solve_users(known.rated, known.likes, items, 1.0, unrated))
        left, right = equations(rows, known.likes, users)
        left = noisy_symmetric(left, mu * math.sqrt(0.9), rng)
        right = noisy(right, mu * math.sqrt(0.9), rng)
        gram = noisy_symmetric(users.T @ users, mu * math.sqrt(0.1), rng)
        left += unrated * choice["weight"] * gram
        items = solve_items(left, right, choice["ridge"] * (1 + 1 / mu)) * selected[:, None]
        # Turned so that users are as long in each direction, of which popularity is one.
        values, vectors = np.linalg.eigh(gram)
        values = np.maximum(values / values.sum() * rank, 0.3)
        items = items @ (vectors * np.sqrt(values)) @ vectors.T
    return rankers_of(items, counts, 1.0, unrated)


def solve_items(left: Numbers, right: Numbers, ridge: float) -> Numbers:
    """Solve the items' normal equations without the negative eigenvalues that noise gave them."""
    values, vectors = np.linalg.eigh(left)
    turned = np.einsum("mij,mi->mj", vectors, right) / (np.maximum(values, 0) + ridge)
    return np.einsum("mij,mj->mi", vectors, turned)


def item_item_ratings(job: Job) -> list[Scores]:
    """Take factors from the products of distances from item means."""
    known, budget, choice, rng = job
    of_means, mu = split_loss(budget.mu, choice["means"])
    means = Means.query(known, of_means, rng)
    selected = np.flatnonzero(select_items(means.counts, of_means, choice["items"]))
    rows = means.residuals(known)[1][:, selected]
    sums = noisy_symmetric(products(rows, np.diff(rows.indptr)[:, None]), mu, rng)
    # How many users rated both of two items is about the product of their counts.
    counts = np.maximum(means.counts[selected], 1 / of_means)[:, None]
    root = math.sqrt(counts.sum())
    values, vectors = signal_directions(sums, mu)
    # Few counts say little: the noise of a vector's entry, over what it is usually.
    noise = choice["pull"] * root / mu / np.sqrt(values)
    factors = vectors * np.sqrt(values) * counts / (counts**2 + noise**2) * root
    scorers = [means.scores()]
    for rank, times in itertools.product((1, 2, 4, 8), (0.1, 0.2, 0.3, 0.5)):
        items = np.zeros((means.means.size, min(rank, values.size)))
        items[selected] = factors[:, :rank] * times
        scorers.append(means.scores(items, 1.0))
    return scorers


def item_item_lists(job: Job) -> list[Scores]:
    """Read the products of likes by EASE and by eigenvectors."""
    known, budget, choice, rng = job
    of_counts, mu = split_loss(budget.mu, choice["counts"])
    counts = noisy(like_counts(known), of_counts, rng)
    selected = np.flatnonzero(select_items(counts, of_counts, choice["items"]))
    sums = noisy_symmetric(products(known.likes[:, selected]), mu, rng)

    scorers = []
    values, vectors = signal_directions(sums, mu)
    for rank in (1, 2, 4, 8, 16, 32, 64):
        weights = vectors[:, :rank] @ vectors[:, :rank].T
        scorers.append(item_item_ranker(weights, selected, counts))
    low = (vectors * values) @ vectors.T
    # Noise on the diagonal is a pull of EASE.
    for times in (0.3, 1.0, 3.0, 10.0, 30.0):
        pull = times * (0.3 + math.sqrt(selected.size) / mu / 10)
        pulled = low + np.diag(np.maximum(np.diag(sums - low), 0) + pull)
        scorers.append(item_item_ranker(ease_weights(pulled), selected, counts))
    return scorers


def item_item_ranker(weights: Numbers, selected: NDArray[np.int64], counts: Numbers) -> Scores:
    """Return what ranks selected items by their weights, and all others by counts after them."""

    def scores(known: Known) -> Numbers:
        scores_of_selected = known.likes[:, selected] @ weights
        lowest = scores_of_selected.min(axis=1, keepdims=True) - 1
        result = lowest + counts / np.abs(counts).max()
        result[:, selected] = scores_of_selected
        return result

    return scores


def ease_weights(pulled: Numbers) -> Numbers:
    """Return the weights of EASE for products of items with its pull on the diagonal."""
    inverse = np.linalg.inv(pulled)
    return np.eye(len(pulled)) - inverse / np.diag(inverse)


def signal_directions(sums: Numbers, mu: float) -> tuple[Numbers, Numbers]:
    """Return the largest eigenvalues above those of noise, without its part, and their vectors."""
    values, vectors = np.linalg.eigh(sums)
    edge = math.sqrt(2 * len(sums)) / mu
    n = min(max(np.count_nonzero(values > edge), 1), 64)
    values, vectors = np.maximum(values[: -n - 1 : -1], edge), vectors[:, : -n - 1 : -1]
    return (values + np.sqrt(values**2 - edge**2)) / 2, vectors


@cache
def noise_of_steps(epsilon: float, mu: float, first: float, share: float, steps: int) -> float:
    """Return the noise of DP-SGD that, with a first query, meets the guarantee."""
    if share == 1:
        return math.sqrt(steps / (mu**2 - first**2))
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant

    def event(noise: float) -> dp.DpEvent:
        step = dp.PoissonSampledDpEvent(share, dp.GaussianDpEvent(noise))
        return dp.ComposedDpEvent(
            [dp.GaussianDpEvent(1 / first), dp.SelfComposedDpEvent(step, steps)]
        )

    bracket = dp.ExplicitBracketInterval(0.2, 1000.0)
    make = lambda: PLDAccountant(value_discretization_interval=1e-3)  # noqa: E731
    return dp.calibrate_dp_mechanism(make, event, epsilon, DELTA, bracket, tol=1e-2)


def sgd_ratings(job: Job) -> list[Scores]:
    """Learn factors of what item means leave."""
    known, budget, choice, rng = job
    rank = int(choice["rank"])
    of_means, _ = split_loss(budget.mu, choice["means"])
    means = Means.query(known, of_means, rng)
    residuals = means.residuals(known)[1]
    selected = select_items(means.counts, of_means, choice["items"]).astype(float)
    items = rng.normal(0, 0.3, (selected.size, rank)) * selected[:, None]

    def step(some: NDArray[np.bool_], items: Numbers) -> tuple[Numbers, Numbers]:
        rated, targets = known.rated[some], residuals[some]
        users = clip_users(solve_users(rated, targets, items, rank))
        return (targets - rated.multiply(users @ items.T)).toarray() * selected, users

    items = descend(items, step, of_means, job)
    return [means.scores(items, rank * ridge) for ridge in (0.5, 1.0, 2.0, 4.0)]


def sgd_lists(job: Job) -> list[Scores]:
    """Learn factors of likes, with all other items as zeros of a lower weight."""
    known, budget, choice, rng = job
    rank, unrated = int(choice["rank"]), choice["unrated"]
    of_counts, _ = split_loss(budget.mu, choice["counts"])
    counts = noisy(like_counts(known), of_counts, rng)
    selected = select_items(counts, of_counts, choice["items"]).astype(float)
    items = initial_factors(counts, selected, rank, rng)

    def step(some: NDArray[np.bool_], items: Numbers) -> tuple[Numbers, Numbers]:
        rated, likes = known.rated[some], known.likes[some]
        users = clip_users(solve_users(rated, likes, items, 1.0, unrated))
        scores = users @ items.T
        residuals = (likes - rated.multiply(scores * (1 - unrated))).toarray() - unrated * scores
        # The first factor stays: popularity, which would take most of the length.
        return residuals * selected, users * (np.arange(rank) > 0)

    items = descend(items, step, of_counts, job)
    return rankers_of(items, counts, 1.0, unrated)


def descend(items: Numbers, step: Step, first: float, job: Job) -> Numbers:
    """Add noisy gradients of Poisson-sampled users; return the mean of the second half.

    The steps have the budget that a first query of that privacy loss leaves.
    """
    known, budget, choice, rng = job
    share, steps, clip = choice["share"], int(choice["steps"]), choice["clip"]
    # Sampled steps compose to more than their losses say: all else that is published counts here.
    whole = max(budget.mu, Budget.of(budget.epsilon, DELTA).mu)
    first = math.sqrt(first**2 + whole**2 - budget.mu**2)
    noise = noise_of_steps(budget.epsilon, whole, first, share, steps)
    total = np.zeros_like(items)
    for at in range(steps):
        moved = gradients(*step(rng.random(known.rated.shape[0]) < share, items), clip)
        rate = choice["way"] / steps / share
        items = items + rate * noisy(moved, 1 / noise, rng) * (items != 0)
        total += items * (at >= steps // 2)
    return total / (steps - steps // 2)


class Peer(NamedTuple):
    """A way to learn, and the settings to choose from."""

    learn: Callable[[Job], list[Scores]]
    lists: bool
    grid: dict[str, tuple[float, ...]]

    def best(
        self, train: Ratings, test: HeldOut, budget: Budget, values: tuple[float, ...], seed: int
    ) -> float:
        """Return the best RMSE, or nDCG@10, of what is learned from training ratings."""
        rng = np.random.default_rng([seed, int(self.lists)])
        choice = dict(zip(self.grid, values, strict=True))
        rows = UserRows.from_ratings(train)
        scorers = self.learn(Job(Known.of(rows, train.n_items), budget, choice, rng))
        users, row_of = np.unique(test.users, return_inverse=True)
        served = rows.take(users)
        tiles = [
            served.take(np.arange(start, min(start + TILE, served.n_users)))
            for start in range(0, served.n_users, TILE)
        ]
        known = [Known.of(tile, train.n_items) for tile in tiles]
        figures = []
        for scorer in scorers:
            scores = [scorer(each) for each in known]
            if self.lists:
                tops = [list_items(*pair) for pair in zip(scores, tiles, strict=True)]
                relevant = relevant_items(test, users, STARS.liked_from)
                figures.append(float(np.nanmean(ndcg(np.concatenate(tops), relevant))))
            else:
                predicted = np.concatenate(scores)[row_of, test.items]
                figures.append(rmse(np.clip(predicted, STARS.low, STARS.high), test.values))
        return max(figures) if self.lists else min(figures)


_ALS = {"rank": (4, 8), "passes": (2, 4), "items": (6,), "ridge": (3, 10)}
_SGD = {"rank": (4,), "share": (0.25, 1), "steps": (40,), "clip": (2,), "items": (3,)}
PEERS: dict[str, tuple[Peer, Peer]] = {
    "item sums": (Peer(sums_ratings, False, {}), Peer(sums_lists, True, {})),
    "private ALS": (
        Peer(als_ratings, False, _ALS | {"means": (0.6, 0.9)}),
        Peer(
            als_lists, True, _ALS | {"counts": (0.1, 0.5), "unrated": (0.3, 1), "weight": (0.3, 1)}
        ),
    ),
    "item-item": (
        Peer(
            item_item_ratings,
            False,
            {"means": (0.5, 0.7, 0.9), "items": (6, 15, 30), "pull": (0.2, 0.7)},
        ),
        Peer(item_item_lists, True, {"counts": (0.05, 0.2, 0.5), "items": (3, 6, 15)}),
    ),
    "DP-SGD": (
        Peer(sgd_ratings, False, _SGD | {"means": (0.6, 0.9), "way": (0.1, 0.3)}),
        Peer(
            sgd_lists, True, _SGD | {"counts": (0.1, 0.5), "unrated": (0.1, 0.3), "way": (0.1, 0.3)}
        ),
    ),
}


def tune(train: Ratings, test: HeldOut, epsilon: float, only: list[str]) -> None:
    """Print each peer's best settings, with noise of another seed than the figures."""
    for name in only:
        for peer in PEERS.get(name, ()):
            choices = list(itertools.product(*peer.grid.values()))
            budget = Budget.of(epsilon, DELTA)
            figures = [peer.best(train, test, budget, choice, 100) for choice in choices]
            at = int(np.argmax(figures) if peer.lists else np.argmin(figures))
            print(name, peer.lists, epsilon, choices[at], round(figures[at], 4), flush=True)


# Of each peer, for ratings or lists: by epsilon, in the order of its grid.
SETTINGS: dict[tuple[str, bool], dict[float, tuple[float, ...]]] = {
    ("item sums", False): {10: (), 3: (), 1: ()},
    ("item sums", True): {10: (), 3: (), 1: ()},
    ("private ALS", False): {10: (8, 2, 6, 10, 0.9), 3: (4, 4, 6, 10, 0.9), 1: (4, 2, 6, 3, 0.9)},
    ("private ALS", True): {
        10: (4, 4, 6, 3, 0.1, 0.3, 0.3),
        3: (8, 2, 6, 3, 0.1, 0.3, 1),
        1: (4, 2, 6, 10, 0.5, 0.3, 1),
    },
    ("item-item", False): {10: (0.9, 30, 0.7), 3: (0.9, 30, 0.7), 1: (0.9, 6, 0.7)},
    ("item-item", True): {10: (0.05, 3), 3: (0.2, 6), 1: (0.5, 3)},
    ("DP-SGD", False): {
        10: (4, 0.25, 40, 2, 3, 0.9, 0.1),
        3: (4, 0.25, 40, 2, 3, 0.9, 0.1),
        1: (4, 1, 40, 2, 3, 0.6, 0.1),
    },
    ("DP-SGD", True): {
        10: (4, 1, 40, 2, 3, 0.1, 0.3, 0.3),
        3: (4, 1, 40, 2, 3, 0.1, 0.3, 0.1),
        1: (4, 1, 40, 2, 3, 0.5, 0.3, 0.1),
    },
}

Make = Callable[[Ratings, HeldOut, float, int], tuple[float, float]]


def best_of(served: Served) -> tuple[float, float]:
    """Return the best nDCG@10 and RMSE of some recommenders."""
    utilities = served.utilities.values()
    return max(np.nan_to_num([u.ndcg for u in utilities])), np.nanmin([u.rmse for u in utilities])


def recveil(features: Path | None = None) -> Make:
    """Return what makes synthetic users, and serves with recommenders that learn from them."""
    public = read_item_features(features) if features else None

    def make(train: Ratings, test: HeldOut, epsilon: float, seed: int) -> tuple[float, float]:
        setting = Setting("", epsilon, features=public)
        return best_of(judge(drawn_table(train, setting, seed), train, test))

    return make


def peer(name: str, share: float) -> Make:
    """Return what learns both ways, with a share of the squared privacy loss each."""

    def make(train: Ratings, test: HeldOut, epsilon: float, seed: int) -> tuple[float, float]:
        whole = Budget.of(epsilon, DELTA)
        budget = replace(whole, mu=whole.mu * math.sqrt(share))
        best = []
        for each in PEERS[name]:
            tuned = SETTINGS[name, each.lists]
            choices = [tuned[epsilon]] if share == 1 else set(tuned.values())
            results = [each.best(train, test, budget, choice, seed) for choice in choices]
            best.append(max(results) if each.lists else min(results))
        return best[1], best[0]

    return make


def makers_of(features: Path | None, only: list[str] | None) -> dict[str, Make]:
    """Return recveil and the peers, or some of them."""
    makers = {"recveil": recveil()}
    if features:
        makers["recveil, item features"] = recveil(features)
    for name in PEERS:
        makers |= {name: peer(name, 1), f"{name}, one release": peer(name, 0.5)}
    return {name: make for name, make in makers.items() if only is None or name in only}


def compare(
    name: str,
    parts: Iterator[tuple[Ratings, HeldOut]],
    epsilons: list[float],
    makers: dict[str, Make],
) -> None:
    """Print a table for one data set, and each fold's figures to the error stream before."""
    figures: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for seed, (train, test) in enumerate(parts):
        raw = best_of(judge(TrainingTable.from_ratings(train), train, test))
        for (maker, make), epsilon in itertools.product(makers.items(), epsilons):
            lists, error = make(train, test, epsilon, seed)
            figures.setdefault((maker, epsilon), []).append((lists / raw[0], error / raw[1] - 1))
            print(seed, maker, epsilon, lists, error, *raw, sep="\t", file=sys.stderr, flush=True)
    print(f"\n**{name}**: lists retained; RMSE above raw's best\n")
    print("| with", *(f"epsilon {epsilon:g}" for epsilon in epsilons), sep=" | ", end=" |\n")
    print("|---|" + "---:|" * len(epsilons))
    for maker in makers:
        both = (zip(*figures[maker, epsilon], strict=True) for epsilon in epsilons)
        cells = ("; ".join(interval_text(list(part), ".1%") for part in parts) for parts in both)
        print(f"| {maker}", *cells, sep=" | ", end=" |\n")


def main() -> None:
    """Read the options, tune or compare."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=folder_with("u1.base"))
    parser.add_argument("--ml1m", type=folder_with("ratings.csv"))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[10.0, 3.0, 1.0])
    parser.add_argument("--item-features", type=Path)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    if options.tune:
        train, test = next(folds_of_100k(options.folder, 1))
        for epsilon in options.epsilons:
            tune(train, test, epsilon, options.only or list(PEERS))
        return
    makers = makers_of(options.item_features, options.only)
    if options.ml1m:
        compare("MovieLens 1M", splits_of_1m(options.ml1m, 1), options.epsilons, makers)
    else:
        parts = folds_of_100k(options.folder, options.folds)
        compare("MovieLens 100K", parts, options.epsilons, makers)


if __name__ == "__main__":
    main()
