"""Canaries: does an extreme user show in the output of a mechanism more than was promised?

A mechanism runs many times on a small table with them and without them, and each run gets a score,
high where it looks as if they were there. On half of the runs the best threshold is chosen; on the
other half, how often scores with and without them pass it bounds what was kept, from below.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
import pytest
from scipy.stats import beta, norm

from recveil.methods.synthetic.gaussian_mechanism import Mechanism
from recveil.methods.synthetic.gaussian_sampler import NoiseSource

# In `make test` a minute at most; `make torture` looks longer.
RUNS = 20_000 if os.environ.get("RECVEIL_TORTURE") else 1_000
CONFIDENCE = 0.95


class Shown(NamedTuple):
    """What was kept at most: both are right in 95 % of cases, if each run is on its own.

    Attributes
    ----------
    epsilon : float
        A lower bound of epsilon at the given delta, whatever the mechanism.
    mu : float
        A lower bound of the price, for a mechanism of normal noise; sharper.
    """

    epsilon: float
    mu: float


class Rates(NamedTuple):
    """How often a score passes a threshold: with a user at least, and without them at most."""

    least_with: np.ndarray
    most_without: np.ndarray

    def epsilon(self, delta: float) -> np.ndarray:
        """Both ways: passing means that they are there, not passing that they are not."""
        ways = [
            np.log(np.maximum(self.least_with - delta, 1e-300) / self.most_without),
            np.log(np.maximum(1 - self.most_without - delta, 1e-300) / (1 - self.least_with)),
        ]
        return np.maximum(np.maximum(*ways), 0)

    def mu(self, delta: float) -> np.ndarray:
        """A test of two normal curves at a distance mu has no better rates than these."""
        least = np.maximum(self.least_with - delta, 0)
        return np.maximum(norm.ppf(least) - norm.ppf(self.most_without), 0)


def rates(with_them: np.ndarray, without: np.ndarray, thresholds: np.ndarray) -> Rates:
    """Clopper & Pearson's bounds, each wrong in one of 40 cases."""
    tail = (1 - CONFIDENCE) / 2
    passed = [
        scores.size - np.searchsorted(np.sort(scores), thresholds)
        for scores in (with_them, without)
    ]
    least = beta.ppf(tail, passed[0], with_them.size - passed[0] + 1)
    most = beta.ppf(1 - tail, passed[1] + 1, without.size - passed[1])
    return Rates(np.nan_to_num(least, nan=0.0), np.nan_to_num(most, nan=1.0))


def look_for(
    score: Callable[[int, bool], float],
    delta: float,
    *,
    runs: int = RUNS,
    threshold_delta: float = 0.0,
) -> Shown:
    """Return what a mechanism kept at most.

    Parameters
    ----------
    score : callable
        Takes a seed, a new one each time, and whether the canary is in the table; runs the
        mechanism, and returns how much its output looks like the canary.
    delta : float
        The promised one.
    runs : int
        With the canary; and as many without.
    threshold_delta : float
        A part of delta that is not the noise's.
    """
    with_them = np.array([score(2 * run, True) for run in range(runs)])
    without = np.array([score(2 * run + 1, False) for run in range(runs)])
    thresholds = np.unique(np.concatenate([with_them[::2], without[::2]]))
    chosen = rates(with_them[::2], without[::2], thresholds)
    by_epsilon = thresholds[[chosen.epsilon(delta).argmax()]]
    by_mu = thresholds[[chosen.mu(threshold_delta).argmax()]]
    return Shown(
        float(rates(with_them[1::2], without[1::2], by_epsilon).epsilon(delta)[0]),
        float(rates(with_them[1::2], without[1::2], by_mu).mu(threshold_delta)[0]),
    )


@pytest.fixture(autouse=True)
def one_thread():
    """Tests of little tables run in parallel; threads would wait for each other."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(scope="session")
def canary():
    """Return `look_for`: what a mechanism kept at most, of an extreme user."""
    return look_for


@pytest.fixture(scope="session")
def check_query():
    """Check that noise of sigma hides a user by whom two exact answers differ, to mu 1 / sigma."""
    sigma, delta = 0.7, 0.05

    def check(with_them: np.ndarray, without: np.ndarray, grid: float) -> None:
        def score_with(noise: float) -> Callable[[int, bool], float]:
            def score(seed: int, is_there: bool) -> float:
                mechanism = Mechanism(NoiseSource.repeatable(seed), {"q": noise})
                answer = mechanism.measure("q", "q", with_them if is_there else without, grid)
                return float(np.vdot(answer, (with_them - without) * grid))

            return score

        assert 0.6 / sigma < look_for(score_with(sigma), delta).mu <= 1 / sigma
        assert look_for(score_with(sigma / 2), delta).mu > 1 / sigma

    return check


class Heard(Mechanism):
    """A mechanism whose answers can be looked up."""

    def __init__(self, seed, sigmas):
        super().__init__(NoiseSource.repeatable(seed), sigmas)
        self.answers = {}

    def measure(self, name, *query, **options):
        self.answers[name] = super().measure(name, *query, **options)
        return self.answers[name]

    def measure_symmetric(self, name, *query, **options):
        self.answers[name] = super().measure_symmetric(name, *query, **options)
        return self.answers[name].copy()

    def measure_items(self, name, *query, **options):
        self.answers[name] = super().measure_items(name, *query, **options)
        return self.answers[name]


class StatedAgain:
    """Repeats earlier answers, and keeps the exact ones."""

    def __init__(self, answers):
        self.answers, self.exact = dict(answers), {}

    def measure(self, name, what, exact, grid, **_):
        assert name not in self.exact
        self.exact[name] = exact * grid
        return self.answers[name]

    measure_items = measure

    def measure_symmetric(self, name, what, exact, grid):
        upper = np.triu(exact)
        return self.measure(name, what, upper + np.triu(upper, 1).T, grid)


@pytest.fixture(scope="session")
def heard_by():
    """Return a mechanism whose answers can be looked up, of a seed and sigmas."""
    return Heard


@pytest.fixture(scope="session")
def stated_again():
    """Return what answers as before, and keeps the exact answers."""
    return StatedAgain
