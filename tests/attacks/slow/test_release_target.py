import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks.release_target import ReleasedTable
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


def test_ratings_of_others(small, written):
    fewer = Ratings.from_columns(small.users, [small.items[0]] * small.n_users, [3] * small.n_users)
    with raises("release.mismatch", "ratings.parquet", f"item {small.items[1]}"):
        ReleasedTable.from_folder(written, fewer)
    with raises("release.mismatch", "item '1'"):
        ReleasedTable.from_folder(written, with_text_ids(small))
    shifted = Ratings(
        small.users + 1, small.items, small.indptr, small.indices, small.values, None, small.scale
    )
    with raises("release.mismatch", f"user {small.users[0]}"):
        ReleasedTable.from_folder(written, shifted)
