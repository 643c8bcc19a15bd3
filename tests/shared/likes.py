"""What the fast and the slow tests of `test_likes.py` share."""

import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.methods import anonymize

METHODS = ("k-corating", "sparse")


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=120, n_items=60, n_ratings=2_400, seed=1)


@pytest.fixture(scope="module")
def likes(ratings):
    return ratings.as_likes()


@pytest.fixture(scope="module")
def made(tmp_path_factory, likes, ratings):
    folder = tmp_path_factory.mktemp("likes")
    for method in METHODS:
        anonymize(likes, folder / method, k=5, method=method, seed=1)
    anonymize(ratings, folder / "ratings", k=5, method="sparse", seed=1)
    anonymize(likes, folder / "drawn", epsilon=60, item_catalog="as-rated")
    anonymize(likes, folder / "model", epsilon=60, item_catalog="as-rated", layout="model")
    return folder


@pytest.fixture(scope="module")
def audited(likes, made):
    return {
        name: audit(likes, release=made / name, targets=120, curves=False).to_dict()
        for name in METHODS
    }
