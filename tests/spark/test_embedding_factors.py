"""A user's factors are what least squares finds, and distances those between padded rows."""

import numpy as np
import pyarrow as pa
import pytest
from users_here import some_of

from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale
from recveil.spark.embeddings import (
    FACTOR_PENALTY,
    USER_PENALTY,
    ItemFactors,
    _residuals,
    as_lists,
    as_matrix,
)
from recveil.spark.users import sums_of_items

RATINGS = make_ratings(30, 20, 200, seed=2, scale=RatingScale(1, 5, 1))


@pytest.fixture
def known():
    rng = np.random.default_rng(0)
    offset = rng.uniform(2, 4, 20).astype(np.float32)
    return ItemFactors.of(offset, rng.normal(size=(20, 4)), RATINGS.scale)


def test_each_user_solves_a_ridge_regression(known):
    found = known.fit_users(RATINGS)
    for user in range(RATINGS.n_users):
        own = slice(RATINGS.indptr[user], RATINGS.indptr[user + 1])
        items = RATINGS.indices[own]
        left = RATINGS.values[own].astype(float) - known.offset[items]
        factors = np.hstack([known.factors[items, :4].astype(float), np.ones((items.size, 1))])
        square = factors.T @ factors + (FACTOR_PENALTY * items.size + USER_PENALTY) * np.eye(5)
        assert np.allclose(found[user], np.linalg.solve(square, factors.T @ left), atol=1e-5)


def test_the_same_ratings_on_a_wider_scale_give_the_same(known):
    wide = RatingScale(0, 100, 25)
    ratings = Ratings.from_columns(
        RATINGS.user_positions(), RATINGS.indices, (RATINGS.values - 1) * 25, scale=wide
    )
    same = ItemFactors.of((known.offset - 1) * 25, known.factors[:, :4], wide)
    assert np.allclose(same.fit_users(ratings), known.fit_users(RATINGS), atol=1e-5)
    (here,), (there,) = (
        list(_residuals(iter([batch_of(each)]), each.scale, 20, factors.offset))
        for each, factors in ((RATINGS, known), (ratings, same))
    )
    assert np.allclose(there["rating"].to_numpy(), here["rating"].to_numpy(), atol=1e-5)


def batch_of(ratings):
    """The rows of users, as executors have them."""
    offsets = pa.array(ratings.indptr.astype(np.int32))
    columns = {"items": ratings.indices.astype(np.int32), "ratings": ratings.values}
    lists = {
        name: pa.ListArray.from_arrays(offsets, pa.array(values))
        for name, values in columns.items()
    }
    return pa.RecordBatch.from_pydict({"number": pa.array(range(ratings.n_users)), **lists})


def test_places_are_as_far_apart_as_padded_rows(known):
    factors = known.fit_users(RATINGS)
    places = known.embed(RATINGS)
    padding = known.padding(factors, RATINGS.scale)
    rows = factors @ padding.item_factors.T
    apart = np.linalg.norm(rows[0] - rows[1:], axis=1)
    assert np.allclose(np.linalg.norm(places[0] - places[1:], axis=1), apart, rtol=1e-4)
    assert np.array_equal(known.embed(some_of(RATINGS, 5, 9)), places[5:9])


def test_sums_of_items_add_up():
    whole = sums_of_items(RATINGS, 1, 4 / 2**20)
    assert np.array_equal(whole[0], RATINGS.support)
    above = np.bincount(RATINGS.indices, RATINGS.values - 1) / 4
    assert np.allclose(whole[1] / 2**20, above)


def test_columns_of_lists_are_matrices():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(as_matrix(as_lists(rows).slice(1)), rows[1:])
