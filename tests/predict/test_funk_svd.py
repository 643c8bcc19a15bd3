import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import get_num_threads, set_num_threads

from error_assertions import raises
from recveil.predict import FunkSVD
from recveil.predict.funk_svd import _learn_one, _learn_together, _part_bounds
from recveil.ratings import Ratings, RatingScale


def test_one_step_by_hand():
    # One rating of 1 (in learning units), user factor 0.5, item factor 0.2, no biases yet:
    # predicted 0.1, error 0.9; rate 0.1, pull 0.5, bias pull 0.
    # biases: 0 + 0.1 * 0.9 = 0.09
    # user factor: 0.5 + 0.1 * (0.9 * 0.2 - 0.5 * 0.5) = 0.5 + 0.1 * -0.07 = 0.493
    # item factor: 0.2 + 0.1 * (0.9 * 0.5 - 0.5 * 0.2) = 0.2 + 0.1 * 0.35 = 0.235
    f = np.float32
    biases = [np.zeros(1, f), np.zeros(1, f)]
    factors = [np.array([[0.5]], f), np.array([[0.2]], f)]
    order, begins, ends, indices = np.array([[0], [0], [1], [0]])
    values = np.array([1], f)
    _learn_together(
        order, begins, ends, indices, values, *biases, *factors, f(0.1), f(0.1), f(0.5), f(0)
    )
    assert np.allclose([*biases, *map(np.ravel, factors)], [[0.09], [0.09], [0.493], [0.235]])


def test_one_sequential_step_by_hand():
    # As above with what earlier factors left, 1: the same factors, and no bias moves.
    f = np.float32
    of_user, of_item = np.array([0.5], f), np.array([0.2], f)
    order, indptr, indices = np.array([0]), np.array([0, 1]), np.array([0], np.int32)
    _learn_one(order, indptr, indices, np.array([1], f), of_user, of_item, f(0.1), f(0.5))
    assert np.allclose([of_user, of_item], [[0.493], [0.235]])


def test_against_truncated_svd_on_a_full_matrix():
    # Without pull and with all cells rated, SGD must reach what the best rank-2 matrix reaches.
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 20)) + 0.1 * rng.normal(size=(30, 20))
    users, items = np.divmod(np.arange(600), 20)
    scale = RatingScale(-10, 10)
    ratings = Ratings.from_columns(users, items, matrix.ravel(), scale=scale)
    predictor = FunkSVD(2, 2_000, 0.05, 0.999, regularization=0, bias_regularization=0)
    error = predictor.fit(ratings).predict(users, items) - matrix.ravel()
    left, strengths, right = np.linalg.svd(matrix)
    best = left[:, :2] * strengths[:2] @ right[:2] - matrix
    assert np.mean(error**2) <= np.mean(best**2) * 1.02


def test_without_biases_it_predicts_products_of_factors_alone():
    # Chang et al., section 4.1: r = u · o. The best rank-2 matrix is that of the SVD of raw values.
    rng = np.random.default_rng(4)
    matrix = 3 + rng.normal(size=(30, 2)) @ rng.normal(size=(2, 20)) / 2
    users, items = np.divmod(np.arange(600), 20)
    ratings = Ratings.from_columns(users, items, matrix.ravel(), scale=RatingScale(-9, 9))
    predictor = FunkSVD(2, 2_000, 0.05, 0.999, regularization=0, biases=False).fit(ratings)
    padding = predictor.padding()
    assert not padding.item_offset.any()
    assert not padding.user_factors[:, -1].any()  # the user bias
    left, strengths, right = np.linalg.svd(matrix)
    best = left[:, :2] * strengths[:2] @ right[:2] - matrix
    assert np.mean((padding.rows(slice(None)) - matrix) ** 2) <= np.mean(best**2) * 1.02


def test_without_biases_users_and_items_without_ratings_get_the_mean_factors():
    scale = RatingScale(1, 5, 1)
    ratings = Ratings([1, 2, 3], [1, 2, 3], [0, 2, 4, 4], [0, 1, 0, 1], [2, 4, 3, 5], None, scale)
    padding = FunkSVD(rank=2, biases=False).fit(ratings).padding()
    assert np.allclose(padding.user_factors[2], padding.user_factors[:2].mean(axis=0))
    assert np.allclose(padding.item_factors[2], padding.item_factors[:2].mean(axis=0))


def rmse(predictor, ratings):
    predicted = predictor.predict(ratings.user_positions(), ratings.indices)
    return np.sqrt(np.mean((predicted - ratings.values) ** 2))


def test_a_shared_pass_learns_as_well(invented, monkeypatch):
    whole = rmse(FunkSVD(rank=5).fit(invented), invented)
    monkeypatch.setattr("recveil.predict.funk_svd._MIN_SHARED_RATINGS", 1)
    shared = FunkSVD(rank=5).fit(invented)
    assert rmse(shared, invented) == pytest.approx(whole, rel=0.02)
    assert rmse(shared, invented) < 0.9 * invented.values.std()


@given(data=st.data(), n_parts=st.integers(1, 6))
def test_the_parts_of_the_items_hold_every_rating_once(data, n_parts):
    n_items = data.draw(st.integers(1, 9))
    row = st.sets(st.integers(0, n_items - 1))
    rows = [sorted(row) for row in data.draw(st.lists(row, min_size=1, max_size=8))]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([item for row in rows for item in row], np.int32)
    bounds = _part_bounds(indptr, indices, n_items, n_parts)
    assert np.array_equal(bounds[0], indptr[:-1])
    assert np.array_equal(bounds[-1], indptr[1:])
    items_of = [
        {item for b, e in zip(begins, ends, strict=True) for item in indices[b:e]}
        for begins, ends in itertools.pairwise(bounds)
    ]
    assert (np.diff(bounds, axis=0) >= 0).all()
    assert sum(map(len, items_of)) == len(set().union(*items_of))  # no item in two parts


@pytest.mark.parametrize("sharing_from", [1, 10**9])
@pytest.mark.parametrize("sequential", [False, True])
def test_the_number_of_threads_changes_nothing(invented, sequential, sharing_from, monkeypatch):
    monkeypatch.setattr("recveil.predict.funk_svd._MIN_SHARED_RATINGS", sharing_from)
    before, found = get_num_threads(), []
    try:
        for threads in (1, before):
            set_num_threads(threads)
            predictor = FunkSVD(rank=5, n_epochs=4, sequential=sequential).fit(invented)
            found.append(predictor.padding().item_factors)
    finally:
        set_num_threads(before)
    assert np.array_equal(*found)


def test_seeds_differ(invented):
    first, second = (FunkSVD(rank=3, n_epochs=1, seed=s).fit(invented).padding() for s in (1, 2))
    assert not np.array_equal(first.item_factors, second.item_factors)


def test_settings_serve_every_scale(invented):
    # The same ratings on a scale of 0 to 100 are predicted equally well, point for point.
    wide = Ratings(
        *(invented.users, invented.items, invented.indptr, invented.indices),
        *((invented.values - 1) * 25, None, RatingScale(0, 100, 25)),
    )
    narrow = FunkSVD(rank=5).fit(invented).padding().rows(slice(None))
    assert np.allclose(
        (narrow - 1) * 25, FunkSVD(rank=5).fit(wide).padding().rows(slice(None)), atol=0.2
    )


def test_divergence_is_an_error(invented):
    with raises("argument.value") as caught:
        FunkSVD(rank=3, learning_rate=50, decay=1).fit(invented)
    assert "learning_rate=50" in str(caught.value)


def test_nothing_to_learn_from_is_an_error():
    empty = Ratings([1], [1], [0, 0], [], [], None, RatingScale(1, 5, 1))
    with raises("table.no-ratings"):
        FunkSVD().fit(empty)
