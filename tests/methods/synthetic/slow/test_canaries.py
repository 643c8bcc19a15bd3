"""An extreme user shows no more than was promised, but does where half of the noise is missing."""

import contextlib
import math
import os

import numpy as np
import pytest

from recveil.methods.synthetic.bounded_sums import FINE, like_sums
from recveil.methods.synthetic.gaussian_mechanism import Mechanism
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.learning import QUERY
from recveil.methods.synthetic.sum_queries import (
    SHARES,
    SHARES_OF_LIKES,
    Public,
    measure,
    measure_likes,
)
from recveil.methods.synthetic.synthesizer import Budget, Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import LIKES
from recveil.release.ledger import Ledger, Query, epsilon_of
from recveil.runtime.errors import RecveilError

# Of single queries, and of whole releases, which take longer.
RUNS, FEW_RUNS = (20_000, 4_000) if os.environ.get("RECVEIL_TORTURE") else (1_000, 100)

GRID = 2.0**-20
DELTA = 0.05  # far too large to publish with; so is the share of canaries that 500 runs can detect
SIGMA = 1.0
N_ITEMS = 12
PROMISED = Ledger((Query("moments", "which items are rated together", 1.0, SIGMA, 78),))


def outer(weights: np.ndarray) -> np.ndarray:
    """One user's matrix, of length 1, in steps rounded toward zero."""
    unit = weights / np.linalg.norm(weights)
    return np.trunc(np.outer(unit, unit) / GRID).astype(np.int64)


rng = np.random.default_rng(1)
# Forty users who like a few items each, and a user who likes only what no other user does.
OTHERS = sum(outer(np.r_[rng.random(9) < 0.4, np.zeros(3)] + 1e-9) for _ in range(40))
CANARY = outer(np.r_[np.zeros(9), np.ones(3)])


def moments(noise_of=lambda seed: seed, sigma=SIGMA, times=1):
    """Return how to run the query of moments, with or without a bug; its score is the best one."""

    def score(seed: int, is_there: bool) -> float:
        mechanism = Mechanism(NoiseSource.repeatable(noise_of(seed)), {"moments": sigma})
        exact = OTHERS + times * CANARY * is_there
        result = mechanism.measure_symmetric("moments", "which items", exact, GRID)
        # The likelihood ratio: how much of the canary's matrix is in the output.
        return float(np.vdot(result, CANARY) * GRID)

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
            result = (OTHERS + CANARY * is_there) * GRID + (noise + noise.T) / 2
            return float(np.vdot(result, CANARY) * GRID)

        assert canary(score, DELTA).mu > PROMISED.mu

    def test_a_user_who_is_not_bounded_is_caught(self, canary):
        assert canary(moments(times=3), DELTA).mu > PROMISED.mu

    def test_the_same_noise_every_time_is_caught(self, canary):
        assert canary(moments(noise_of=lambda seed: 7), DELTA).mu > PROMISED.mu

    def test_without_a_canary_nothing_is_shown(self, canary):
        shown = canary(moments(times=0), DELTA)
        assert shown.mu < 0.1
        assert shown.epsilon == 0


class TestNamedItems:
    """The name of an item with one rater reveals that user, as rarely as delta allows."""

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


class TestAllQueries:
    """Thirty users with three of twelve items each, and one who gave six of them the highest.

    The score is the best there is: the likelihood ratio of all answers together. Each query after
    the first follows from answers before, so that the adversary asks with the same answers again
    what the exact sums would have been, with and without the canary.
    """

    PROMISED = 2.0  # mu: less noise hides how many users there are, of so few
    PUBLIC = Public(True, N_ITEMS)
    SHARES, MEASURE, SCALE = SHARES, staticmethod(measure), RatingScale(1, 5, 1)
    HIGHEST = 5

    def table(self, is_there):
        rng = np.random.default_rng(5)
        rows = [np.sort(rng.choice(N_ITEMS, 3, replace=False)) for _ in range(30)]
        rows += [np.arange(6)] * is_there  # all twelve would be popularity, and no embedding
        values = np.concatenate([rng.integers(1, 5, 90), np.full(6 * is_there, 5)])
        values = np.minimum(values, self.HIGHEST)
        users, items = np.arange(len(rows)), np.arange(N_ITEMS)
        indptr = np.concatenate([[0], np.cumsum([row.size for row in rows])])
        return Ratings(users, items, indptr, np.concatenate(rows), values, None, self.SCALE)

    def asked(self, ratings, mechanism, sigmas):
        with contextlib.suppress(RecveilError):  # what is refused was decided by answers, too
            self.MEASURE(ratings, mechanism, self.PUBLIC, sigmas)
        return mechanism

    def likelihood_ratio(self, heard_by, stated_again, noise=1.0):
        tables = self.table(False), self.table(True)
        whole = {name: 1 / self.PROMISED / math.sqrt(share) for name, share in self.SHARES.items()}
        sigmas = {name: noise * sigma for name, sigma in whole.items()}

        def score(seed, is_there):
            result = self.asked(tables[is_there], heard_by(seed, sigmas), sigmas).answers
            out, within = (self.asked(of, stated_again(result), sigmas).exact for of in tables)
            return sum(
                np.vdot(result[name] - (out[name] + within[name]) / 2, within[name] - out[name])
                / sigmas[name] ** 2
                for name in result
            )

        return score

    def test_the_canary_is_nearly_as_extreme_as_can_be(self, heard_by, stated_again):
        sigmas = dict.fromkeys(self.SHARES, 1e-3)
        result = self.asked(self.table(True), heard_by(1, sigmas), sigmas).answers
        out, within = (
            self.asked(self.table(there), stated_again(result), sigmas).exact
            for there in (False, True)
        )
        # How far they rate by embedding is asked afterwards; test_embedding_vectors looks at that.
        asked = [name for name in self.SHARES if name != QUERY]
        lengths = {name: np.linalg.norm(within[name] - out[name]) for name in asked}
        assert max(lengths.values()) <= 1
        assert min(lengths.values()) > 0.99

    def test_no_more_than_promised_and_most_of_it(self, canary, heard_by, stated_again):
        shown = canary(self.likelihood_ratio(heard_by, stated_again), DELTA)
        assert 0.6 * self.PROMISED < shown.mu <= self.PROMISED
        assert shown.epsilon <= epsilon_of(self.PROMISED, DELTA)

    def test_half_of_the_noise_is_caught(self, canary, heard_by, stated_again):
        shown = canary(
            self.likelihood_ratio(heard_by, stated_again, noise=0.5), DELTA, runs=RUNS // 2
        )
        assert shown.mu > self.PROMISED


class TestAllQueriesOfLikes(TestAllQueries):
    """The same users, of whom it is only known what they like, and one who likes six."""

    SHARES, MEASURE, SCALE = SHARES_OF_LIKES, staticmethod(measure_likes), LIKES
    HIGHEST = 1

    def test_a_query_that_was_not_charged_is_caught(self, canary):
        """The same sum of likes published once more, besides a mechanism that keeps its promise."""
        tables = [self.table(there) for there in (False, True)]
        sigma = 1 / self.PROMISED

        def score(seed, is_there):
            result = 0.0
            for part in range(2):
                heard = Mechanism(NoiseSource.repeatable(2 * seed + part), {"sums": sigma})
                sums = like_sums(tables[is_there])
                result += heard.measure("sums", "how much each item was liked", sums, FINE)[
                    :6
                ].sum()
            return result

        assert canary(score, DELTA).mu > self.PROMISED


@pytest.mark.usefixtures("rough_fit")  # it leaves time for more runs
class TestDrawnUsers:
    """The same user, searched for in the users that a whole release draws."""

    TABLES = TestAllQueries()

    EPSILON = 6.0
    DELTA = 0.01  # more is refused

    def ratings_drawn(self, seed, is_there):
        """How often a release rates as highly as no other user does."""
        ratings = self.TABLES.table(is_there)
        drawing = Synthesizer(
            self.EPSILON, self.DELTA, item_catalog="as-rated", n_users=200, seed=seed
        )
        try:
            blocks = list(drawing.anonymize(ratings).published.blocks())
        except RecveilError:
            return 0.0
        return self.looks_like_them(blocks)

    def looks_like_them(self, blocks):
        return float(sum((block.values > 4.2).sum() for block in blocks))

    def test_no_more_than_promised(self, canary):
        shown = canary(self.ratings_drawn, self.DELTA, runs=FEW_RUNS)
        assert shown.epsilon <= self.EPSILON
        assert shown.mu <= Budget.of(self.EPSILON, self.DELTA).mu

    def test_hardly_any_noise_is_caught(self, canary, monkeypatch):
        def too_little(budget, shares, real=Budget.sigmas):
            return {name: 0.01 * sigma for name, sigma in real(budget, shares).items()}

        monkeypatch.setattr(Budget, "sigmas", too_little)
        shown = canary(self.ratings_drawn, self.DELTA, runs=FEW_RUNS)
        assert shown.mu > Budget.of(self.EPSILON, self.DELTA).mu


class TestDrawnLikers(TestDrawnUsers):
    """The same of likes: a user who likes everything, among users who like three items each."""

    TABLES = TestAllQueriesOfLikes()

    def looks_like_them(self, blocks):
        """How many users like as much as no other user does."""
        return float(sum((np.diff(block.indptr) > 5).sum() for block in blocks))


class TestTheBoundsThemselves:
    @pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
    def test_two_normal_curves(self, canary, mu):
        """In 100 repetitions hardly one bound is above what holds."""

        def above(start):
            def score(seed, is_there):
                return np.random.default_rng([start, seed]).normal(mu * is_there)

            return canary(score, DELTA, runs=200).mu > mu

        assert sum(above(start) for start in range(60)) <= 7

    def test_what_always_reveals_them_is_as_far_as_runs_can_see(self, canary):
        shown = canary(lambda seed, is_there: float(is_there), 0.0, runs=1_000)
        # None of 500 passes without them: at most 0.0074, by 1 - 0.025 ** (1 / 500).
        assert shown.epsilon == pytest.approx(math.log((1 - 0.00735) / 0.00735), abs=0.01)
