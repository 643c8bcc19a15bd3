"""Nothing is asked twice, and what is told afterwards is a matter of the answers alone."""

import numpy as np

from recveil.datasets import make_ratings
from recveil.methods.synthetic.budget import Budget
from recveil.methods.synthetic.gaussian_noise import NoiseSource
from recveil.methods.synthetic.mechanism import Mechanism, WithoutNoise
from recveil.methods.synthetic.noisy_sums import SHARES, NoisySums, Public, measure
from recveil.ratings import Ratings, RatingScale

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


class TestChosenItems:
    def test_an_item_of_one_person_is_never_told(self):
        """Somebody alone rated five items; none stands out in 200 runs."""
        users = np.concatenate([RATINGS.user_positions(), np.full(25, 300)])
        items = np.concatenate([RATINGS.indices, np.arange(20, 45)])
        values = np.concatenate([RATINGS.values, np.full(25, 5)])
        ratings = Ratings.from_columns(users, items, values, scale=STARS)
        assert ratings.n_items == 45
        for seed in range(200):
            found = measured(ratings, 30.0, seed, CHOSEN)
            assert found.told.max() < 40
            assert not found.items.popularity[40:].any()
