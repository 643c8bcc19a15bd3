"""A person's factors are what least squares finds, and distances those between padded rows."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.ratings import RatingScale
from recveil.spark.taste_factors import (
    PULL,
    TasteFactors,
    _sums_of_items,
    as_lists,
    as_matrix,
)

RATINGS = make_ratings(30, 20, 200, seed=2, scale=RatingScale(1, 5, 1))


@pytest.fixture
def known():
    rng = np.random.default_rng(0)
    offset = rng.uniform(2, 4, 20).astype(np.float32)
    return TasteFactors.of(offset, rng.normal(size=(20, 4)).astype(np.float32))


def test_each_person_solves_a_ridge_regression(known):
    found = known.of_people(RATINGS)
    for user in range(RATINGS.n_users):
        own = slice(RATINGS.indptr[user], RATINGS.indptr[user + 1])
        items = RATINGS.indices[own]
        left = RATINGS.values[own].astype(float) - known.offset[items]
        bias = left.sum() / (items.size + 5)
        factors = known.factors[items].astype(float)
        square = factors.T @ factors + PULL * items.size * np.eye(4)
        expected = np.linalg.solve(square, factors.T @ (left - bias))
        assert np.allclose(found[user], [*expected, bias], atol=1e-5)


def test_places_are_as_far_apart_as_padded_rows(known):
    factors = known.of_people(RATINGS)
    places = known.places_of(factors)
    padding = known.padding(factors, RATINGS.scale)
    rows = factors @ padding.item_factors.T
    apart = np.linalg.norm(rows[0] - rows[1:], axis=1)
    assert np.allclose(np.linalg.norm(places[0] - places[1:], axis=1), apart, rtol=1e-4)
    assert np.array_equal(known.places_of(factors[5:9]), places[5:9])


def test_sums_of_items_add_up():
    whole = _sums_of_items(RATINGS, RATINGS.scale)
    assert np.array_equal(whole[0], RATINGS.support)
    above = np.bincount(RATINGS.indices, RATINGS.values - 1) / 4
    assert np.allclose(whole[1] / 2**20, above)


def test_columns_of_lists_are_matrices():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(as_matrix(as_lists(rows).slice(1)), rows[1:])
