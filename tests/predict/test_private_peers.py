"""The private peers of `benchmarks`: what one user adds, and what is left without noise."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.evaluation import split_ratings
from recveil.evaluation.split import UserRows
from recveil.methods.synthetic.synthesizer import Budget
from recveil.release.ledger import epsilon_of

PATH = Path(__file__).parents[2] / "benchmarks" / "private_peers.py"
SPEC = importlib.util.spec_from_file_location("private_peers", PATH)
assert SPEC is not None
assert SPEC.loader is not None
peers = importlib.util.module_from_spec(SPEC)
sys.modules["private_peers"] = peers
SPEC.loader.exec_module(peers)

N_ITEMS, RANK = 12, 3
EXTREMES = {
    "everything, highest": (range(N_ITEMS), [5.0] * N_ITEMS),
    "everything, lowest": (range(N_ITEMS), [1.0] * N_ITEMS),
    "everything, both": (range(N_ITEMS), [1.0, 5.0] * (N_ITEMS // 2)),
    "one, highest": ([0], [5.0]),
    "one, in the middle": ([3], [3.0]),
    "two, apart": ([0, 11], [1.0, 5.0]),
    "nothing": ([], []),
}


def table(user=None):
    """Return twenty users, and one more."""
    made = make_ratings(20, N_ITEMS, 100, seed=1)
    rows = UserRows.from_ratings(made)
    if user is not None:
        items, values = user
        rows = UserRows(
            np.append(rows.indptr, rows.indptr[-1] + len(items)),
            np.append(rows.indices, np.array(items, np.int32)),
            np.append(rows.values, np.array(values, float)),
        )
    return peers.Known.of(rows, N_ITEMS)


def factors(known):
    """Return users as long as they may be: what they are depends on each alone."""
    vectors = np.random.default_rng(5).normal(0, 9, (N_ITEMS, RANK))
    users = peers.clip_users(known.distances @ vectors + 1e3)
    assert np.linalg.norm(users, axis=1).max() == pytest.approx(1)
    return users


def equations(known):
    weights = known.rated.multiply(np.linspace(0.1, 7, N_ITEMS)).tocsr()
    return np.concatenate(
        [part.ravel() for part in peers.equations(weights, 3 * known.distances, factors(known))]
    )


def residuals(known):
    means = peers.Means(np.ones(N_ITEMS), np.linspace(-2, 2, N_ITEMS))
    return means.residuals(known)[1]


SUMS = {
    "item sums": peers.item_sums,
    "like counts": lambda known: peers.like_counts(known),
    "products of likes": lambda known: peers.products(known.likes),
    "products of distances": lambda known: peers.products(
        residuals(known), np.diff(known.rated.indptr)[:, None]
    ),
    "equations": equations,
    "everyone": lambda known: factors(known).T @ factors(known),
    "gradients": lambda known: peers.gradients(
        10 * residuals(known).toarray(), 0.9 * factors(known), 0.01
    ),
    "gradients of likes": lambda known: peers.gradients(
        known.likes.toarray() - 0.5, factors(known), 2.0
    ),
}


@pytest.mark.parametrize("user", EXTREMES)
@pytest.mark.parametrize("name", SUMS)
def test_one_user_adds_at_most_one(name, user):
    moved = SUMS[name](table(EXTREMES[user])) - SUMS[name](table())
    assert np.linalg.norm(moved) <= 1 + 1e-9


@pytest.mark.parametrize("name", SUMS)
def test_the_bound_is_reached_nearly(name):
    """Without a factor in between that would only add noise."""
    most = max(
        np.linalg.norm(SUMS[name](table(user)) - SUMS[name](table())) for user in EXTREMES.values()
    )
    assert most > 0.7


@pytest.mark.parametrize("name", peers.PEERS)
@pytest.mark.parametrize("of_lists", [False, True])
def test_without_noise_it_is_as_good_as_not_private(name, of_lists):
    train, test = split_ratings(make_ratings(300, 40, 6000, seed=1), 0.2, seed=1)
    peer = peers.PEERS[name][of_lists]
    choice = tuple(values[-1] for values in peer.grid.values())
    figures = [
        peer.best(train, test, Budget(epsilon, 1e-6, 0.0, mu), choice, 1)
        for epsilon, mu in ((1e3, 1e3), (1e3, 1e12), (0.1, 0.01))
    ]
    assert figures[0] == pytest.approx(figures[1], rel=0.02)
    assert (figures[2] < figures[0]) == of_lists


def test_noise_is_as_large_as_the_budget_asks():
    rng = np.random.default_rng(1)
    flat = peers.noisy(np.zeros((400, 400)), 0.5, rng)
    assert flat.std() == pytest.approx(2, rel=0.02)
    square = peers.noisy_symmetric(np.zeros((400, 400)), 0.5, rng)
    assert (square == square.T).all()
    assert np.diag(square).std() == pytest.approx(2, rel=0.1)
    assert square[np.triu_indices(400, 1)].std() == pytest.approx(2 / np.sqrt(2), rel=0.02)
    first, other = peers.split_loss(0.7, 0.3, 4)
    assert np.hypot(first, 2 * other) == pytest.approx(0.7)


def test_noise_of_sampled_steps_is_less_but_meets_the_guarantee():
    dp = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    budget = Budget.of(3.0, 1e-6)
    first, _ = peers.split_loss(budget.mu, 0.5)
    every = peers.noise_of_steps(3.0, budget.mu, first, 1, 10)
    assert epsilon_of(np.hypot(first, np.sqrt(10) / every), 1e-6) == pytest.approx(3, rel=1e-6)
    sampled = peers.noise_of_steps(3.0, budget.mu, first, 0.25, 10)
    assert sampled < every
    accountant = PLDAccountant()
    accountant.compose(dp.GaussianDpEvent(1 / first))
    step = dp.PoissonSampledDpEvent(0.25, dp.GaussianDpEvent(sampled))
    accountant.compose(dp.SelfComposedDpEvent(step, 10))
    assert accountant.get_epsilon(1e-6) <= 3.01
