"""What the fast and the slow tests of `test_sum_queries.py` share."""

from recveil.datasets import make_ratings
from recveil.methods.synthetic.gaussian_mechanism import Mechanism, WithoutNoise
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.sum_queries import (
    SHARES,
    NoisySums,
    Public,
    measure,
)
from recveil.methods.synthetic.synthesizer import Budget
from recveil.ratings import RatingScale

STARS = RatingScale(1, 5, 1)

RATINGS = make_ratings(300, 40, 5_000, seed=3, scale=STARS)

CATALOGUE = Public(True, 40)

CHOSEN = Public(False, 1_000, 1e-7)


def asked(epsilon=20.0, seed=1, public=CATALOGUE):
    budget = Budget.of(epsilon, 1e-6, threshold_delta=public.threshold_delta)
    sigmas = budget.sigmas(SHARES)
    return Mechanism(NoiseSource.repeatable(seed), sigmas), sigmas


def measured(ratings=RATINGS, epsilon=20.0, seed=1, public=CATALOGUE) -> NoisySums:
    if epsilon is None:
        return measure(ratings, WithoutNoise(), public, dict.fromkeys(SHARES, 0.0))
    mechanism, sigmas = asked(epsilon, seed, public)
    return measure(ratings, mechanism, public, sigmas)
