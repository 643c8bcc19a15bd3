"""The attacks on releases that promise nothing: records of one user, values off the scale."""

import numpy as np
import pytest

from recveil.attacks import (
    Adversary,
    AttackTarget,
    attack_release,
)
from recveil.datasets import make_ratings
from recveil.methods import BASELINES

KNOWS = Adversary(known=6, right=5, rating_error=1)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=150, n_items=60, n_ratings=3000, seed=4)


def released(anonymizer, ratings):
    return AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)


@pytest.mark.parametrize("name", BASELINES)
class TestEveryBaseline:
    def test_promises_users_nothing(self, name, ratings):
        table = released(BASELINES[name](1), ratings)
        assert table.k == 1
        result = attack_release(ratings, table, KNOWS, np.arange(150))
        # A user whom the release left out cannot be found in it.
        assert result.bound == pytest.approx(np.mean(table.record_of >= 0))
        assert 0 <= result.reidentified.rate <= 1
