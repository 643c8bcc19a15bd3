"""Users who like items are drawn as the rule says: none is a real user, and none is empty."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.methods.synthetic.gaussian_mechanism import WithoutNoise
from recveil.methods.synthetic.learning import learn_likes
from recveil.methods.synthetic.sum_queries import SHARES_OF_LIKES, Public, measure_likes

LIKED = make_ratings(800, 50, 12_000, seed=6).as_likes()


def drawn(model, n_users, seed=1):
    blocks = list(model.draw(n_users, np.random.default_rng(seed)))
    counts = np.concatenate([np.diff(block.indptr) for block in blocks])
    items = np.concatenate([block.indices for block in blocks])
    return counts, items, np.concatenate([block.values for block in blocks])


@pytest.fixture(scope="module")
def learnt():
    nothing = dict.fromkeys(SHARES_OF_LIKES, 0.0)
    measured = measure_likes(LIKED, WithoutNoise(), Public(True, 50), nothing)
    return learn_likes(measured, np.random.default_rng(1))


class TestLearnt:
    """Users drawn by the rule that was learnt without noise are like those it came from."""

    def test_how_much_they_like_and_what(self, learnt):
        counts, items, _ = drawn(learnt, 4_000)
        assert counts.mean() == pytest.approx(LIKED.n_ratings / 800, rel=0.1)
        true = np.bincount(LIKED.indices, minlength=50) / 800
        found = np.bincount(items, minlength=50) / 4_000
        assert np.abs(found - true).max() < 0.1
        assert np.corrcoef(found, true)[0, 1] > 0.98
