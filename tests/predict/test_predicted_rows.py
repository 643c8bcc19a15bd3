"""Rows of predictors without factors: the same as those with factors give, cell by cell."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.predict import FunkSVD, ItemMean, PredictedRows, UserKNN, padded_by


@pytest.fixture(scope="module")
def both(invented):
    """One predictor's padding, and its rows asked for cell by cell."""
    predictor = FunkSVD(rank=5, n_epochs=5).fit(invented)
    return predictor.padding(), PredictedRows.of(predictor, invented)


def test_rows_and_cells_are_those_of_the_padding(both):
    padding, rows = both
    for users in ([3, 7], slice(2, 5), np.arange(300) % 50 == 0):
        assert np.allclose(rows.rows(users), padding.rows(users), atol=1e-5)
    assert np.allclose(rows.cells([1, 2], [3, 4]), padding.cells([1, 2], [3, 4]), atol=1e-5)


def test_a_tile_with_its_offset_is_a_piece_of_the_rows(both):
    users, items = np.array([9, 4, 4]), np.array([2, 0, 8])
    for padded in both:
        tile = padded.tile(padded.take(users), items) + padded.offset(items)
        tile = np.clip(tile, padded.scale.low, padded.scale.high)
        assert np.allclose(tile, padded.rows(users)[:, items], atol=1e-5)


def test_coordinates_of_few_items_are_the_rows(invented):
    rows = PredictedRows.of(UserKNN().fit(invented), invented)
    assert np.array_equal(rows.coordinates(), rows.rows(slice(None)))


def test_coordinates_of_many_items_keep_distances():
    ratings = make_ratings(n_users=60, n_items=900, n_ratings=6_000, seed=2)
    rows = PredictedRows.of(FunkSVD(rank=5).fit(ratings), ratings, seed=1)
    coordinates, whole = rows.coordinates(), rows.rows(slice(None))
    assert coordinates.shape == (60, 256)
    first, second = np.triu_indices(60, 1)
    near, true = (
        np.linalg.norm(points[first] - points[second], axis=1) for points in (coordinates, whole)
    )
    assert np.abs(near / true - 1).max() < 0.25  # 5.7 standard deviations
    assert np.abs(near / true - 1).mean() < 0.06
    assert np.array_equal(coordinates, rows.coordinates())


def test_factors_are_used_where_there_are_some(invented):
    assert not isinstance(padded_by(ItemMean().fit(invented), invented), PredictedRows)
    assert isinstance(padded_by(UserKNN().fit(invented), invented), PredictedRows)
