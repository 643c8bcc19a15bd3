"""What the fast and the slow tests of `test_attack_target.py` share."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings


def with_text_ids(ratings):
    return Ratings(
        np.array([f"u{user:03d}" for user in range(ratings.n_users)], object),
        np.array([f"i{item:03d}" for item in range(ratings.n_items)], object),
        ratings.indptr,
        ratings.indices,
        ratings.values,
        None,
        ratings.scale,
    )


@pytest.fixture(scope="module")
def small():
    return make_ratings(n_users=60, n_items=30, n_ratings=700, seed=3)


@pytest.fixture
def written(small, tmp_path):
    PredictiveAnonymizer(k=4, seed=1).anonymize(small).write(tmp_path / "out")
    return tmp_path / "out"
