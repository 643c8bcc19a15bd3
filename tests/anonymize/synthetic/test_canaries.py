"""Somebody extreme shows no more than was promised; where half of the noise is missing, they do."""

import math

import numpy as np
import pytest

from recveil.anonymize.synthetic.gaussian import NoiseSource
from recveil.anonymize.synthetic.mechanism import Mechanism
from recveil.errors import RecveilError
from recveil.release.ledger import Ledger, Query

GRID = 2.0**-20
DELTA = 0.05  # far too large to publish with; so is the share of canaries that 500 runs can tell
SIGMA = 1.0
N_ITEMS = 12
PROMISED = Ledger((Query("moments", "which items are rated together", 1.0, SIGMA, 78),))


def outer(weights: np.ndarray) -> np.ndarray:
    """One person's matrix, of length 1, in steps rounded toward zero."""
    unit = weights / np.linalg.norm(weights)
    return np.trunc(np.outer(unit, unit) / GRID).astype(np.int64)


rng = np.random.default_rng(1)
# Forty people who like a few items each, and somebody who likes only what nobody else does.
OTHERS = sum(outer(np.r_[rng.random(9) < 0.4, np.zeros(3)] + 1e-9) for _ in range(40))
CANARY = outer(np.r_[np.zeros(9), np.ones(3)])


def moments(noise_of=lambda seed: seed, sigma=SIGMA, times=1):
    """Return how to run the query of moments, with or without a bug; its score is the best one."""

    def score(seed: int, is_there: bool) -> float:
        mechanism = Mechanism(NoiseSource.repeatable(noise_of(seed)), {"moments": sigma})
        exact = OTHERS + times * CANARY * is_there
        told = mechanism.measure_symmetric("moments", "which items", exact, GRID)
        # The likelihood ratio: how much of the canary's matrix is in what is told.
        return float(np.vdot(told, CANARY) * GRID)

    return score


class TestMoments:
    def test_no_more_than_promised_and_nearly_all_of_it(self, canary):
        shown = canary(moments(), DELTA)
        assert 0.6 * PROMISED.mu < shown.mu <= PROMISED.mu
        assert 0.2 < shown.epsilon <= PROMISED.epsilon(DELTA)

    def test_half_of_the_noise_is_caught(self, canary):
        shown = canary(moments(sigma=SIGMA / 2), DELTA)
        assert shown.mu > PROMISED.mu
        assert shown.epsilon > PROMISED.epsilon(DELTA)

    def test_noise_of_both_halves_of_the_matrix_averaged_is_caught(self, canary):
        """Noise over the root of two on all cells, and then the mean of both halves."""

        def score(seed, is_there):
            noise = np.random.default_rng(seed).normal(0, SIGMA / math.sqrt(2), (N_ITEMS, N_ITEMS))
            told = (OTHERS + CANARY * is_there) * GRID + (noise + noise.T) / 2
            return float(np.vdot(told, CANARY) * GRID)

        assert canary(score, DELTA).mu > PROMISED.mu

    def test_somebody_who_is_not_bounded_is_caught(self, canary):
        assert canary(moments(times=3), DELTA).mu > PROMISED.mu

    def test_the_same_noise_every_time_is_caught(self, canary):
        assert canary(moments(noise_of=lambda seed: 7), DELTA).mu > PROMISED.mu

    def test_without_a_canary_nothing_is_shown(self, canary):
        shown = canary(moments(times=0), DELTA)
        assert shown.mu < 0.1
        assert shown.epsilon == 0


class TestNamedItems:
    """Somebody who alone rated an item is given away by its name, as rarely as was paid for."""

    SIGMA, PAID = 1.5, 0.02
    PROMISED = Ledger((Query("items", "how many people rated each item", 1.0, 1.5, 1),), 0.02)

    def names(self, paid):
        def score(seed, is_there):
            mechanism = Mechanism(NoiseSource.repeatable(seed), {"items": self.SIGMA})
            sums = np.array([[90.0], [30.0]] + [[1.0]] * is_there) / GRID
            try:
                items, _ = mechanism.measure_items(
                    "items", "which items", sums.astype(np.int64), GRID, delta=paid, most_items=1
                )
            except RecveilError:
                return 0.0
            return float(2 in items)

        return score

    def test_no_more_than_promised(self, canary):
        shown = canary(self.names(self.PAID), DELTA, threshold_delta=self.PAID)
        assert shown.epsilon <= self.PROMISED.epsilon(DELTA)
        assert shown.mu <= self.PROMISED.mu

    def test_a_threshold_that_is_too_low_is_caught(self, canary):
        shown = canary(self.names(0.3), DELTA, threshold_delta=self.PAID)
        assert shown.epsilon > self.PROMISED.epsilon(DELTA)


class TestTheBoundsThemselves:
    @pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
    def test_two_normal_curves(self, canary, mu):
        """In 100 repetitions hardly one bound is above what holds."""

        def above(start):
            def score(seed, is_there):
                return np.random.default_rng([start, seed]).normal(mu * is_there)

            return canary(score, DELTA, runs=200).mu > mu

        assert sum(above(start) for start in range(60)) <= 7

    def test_what_always_tells_them_is_as_far_as_runs_can_see(self, canary):
        shown = canary(lambda seed, is_there: float(is_there), 0.0, runs=1_000)
        # None of 500 passes without them: at most 0.0074, by 1 - 0.025 ** (1 / 500).
        assert shown.epsilon == pytest.approx(math.log((1 - 0.00735) / 0.00735), abs=0.01)
