"""What the fast and the slow tests of `test_attacked_synthetic.py` share."""

import numpy as np
import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale


@pytest.fixture(scope="module")
def ratings():
    made = make_ratings(n_users=300, n_items=80, n_ratings=9_000, seed=3)
    columns = np.repeat(made.users, made.activity), made.items[made.indices], made.values
    return Ratings.from_columns(*columns, scale=RatingScale(1, 5, 1))  # named, not read off


@pytest.fixture(scope="module")
def folder(tmp_path_factory, synthetic, ratings):
    folder = tmp_path_factory.mktemp("drawn")
    anonymize(ratings, folder / "noisy", epsilon=10.0)
    anonymize(ratings, folder / "exact", epsilon="none")
    return folder


@pytest.fixture(scope="module")
def audited(folder, ratings):
    return audit(ratings, release=folder / "noisy", targets=60, curves=False)


@pytest.fixture(scope="module")
def found(audited):
    return audited.to_dict()


@pytest.fixture(scope="module")
def model(tmp_path_factory, synthetic, ratings):
    folder = tmp_path_factory.mktemp("model") / "model"
    anonymize(ratings, folder, epsilon=30.0, layout="model")
    return folder
