import numpy as np
import pytest

from recveil.attacks import AttackTarget
from recveil.attacks.inference.fills import (
    RECALLS,
    Cells,
    infer_fills,
    mark_real,
    measure_fills,
)
from recveil.datasets import make_ratings
from recveil.methods import KCoRater
from recveil.ratings import Ratings, RatingScale


def release(ratings, **settings):
    return AttackTarget.from_release(KCoRater(k=5, seed=1, **settings).anonymize(ratings), ratings)


@pytest.fixture(scope="module")
def habits():
    """Users with habits: the pattern of fills by item means can be learned."""
    return make_ratings(n_users=200, n_items=60, n_ratings=3000, seed=3)


@pytest.fixture(scope="module")
def noise():
    """No user has habits: items and ratings are random."""
    rng = np.random.default_rng(2)
    rated = rng.random((240, 60)) < 0.25
    users, items = np.nonzero(rated)
    values = rng.integers(1, 6, users.size)
    return Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))


class TestPlanted:
    def test_item_means_are_detected(self, habits):
        result = measure_fills(habits, release(habits), np.arange(200), known_share=0.1, seed=1)
        assert result.precision[0.1].low > result.by_popularity[0.1].high
        assert result.precision[0.5].low > result.base_rate
        assert result.reidentified.rate > result.reidentified_by_items.rate

    def test_the_same_seed_gives_the_same_result(self, habits):
        table = release(habits)
        first, second = (measure_fills(habits, table, np.arange(200), 0.1, 4) for _ in range(2))
        assert first == second


class TestNull:
    def test_random_fills_among_random_ratings_are_not_detected(self, noise):
        """Ratings are as random as fills: only a random guess is left."""
        table = release(noise, fill="random")
        result = measure_fills(noise, table, np.arange(240), known_share=0.1, seed=1)
        for recall in RECALLS:
            assert result.precision[recall].low <= result.base_rate + 0.02
        assert result.reidentified.low <= max(result.reidentified_by_items.high, 1 / 5)

    def test_shuffled_truth_is_not_learned(self, habits):
        table = release(habits)
        cells = Cells(table.candidates, habits.scale)
        truth = np.random.default_rng(0).permutation(mark_real(habits, table))
        likely = infer_fills(cells, np.arange(20), truth)
        judged = cells.records >= 20
        top = likely >= np.quantile(likely[judged], 0.8)
        assert abs(truth[judged & top].mean() - truth.mean()) < 0.06
