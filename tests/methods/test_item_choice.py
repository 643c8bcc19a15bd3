"""Embeddings by item choice: places of users and log odds of items, against plain versions."""

import numpy as np
from scipy import optimize, sparse

from recveil.datasets import make_ratings
from recveil.methods.sparse.item_choice import _PULL, embed_users, fit_log_odds, learn_embeddings


def test_log_odds_are_those_of_a_plain_optimizer():
    rng = np.random.default_rng(1)
    regressors = np.hstack([np.ones((12, 1)), rng.standard_normal((12, 3))])
    sizes = rng.integers(20, 40, 12).astype(float)
    counts = rng.binomial(sizes.astype(int)[:, None], 0.3, (12, 4)).astype(float)
    found = fit_log_odds(regressors, sparse.csc_array(counts), sizes)
    for item in range(4):
        raters = counts[:, item].sum()
        usual = np.log((raters + 0.5) / (sizes.sum() - raters + 0.5))
        start, pull = np.array([usual, 0, 0, 0]), np.array([1e-3, _PULL, _PULL, _PULL])

        def loss(weights, item=item, start=start, pull=pull):
            odds = regressors @ weights
            result = sizes * np.logaddexp(0, odds) - counts[:, item] * odds
            return result.sum() + (pull * (weights - start) ** 2).sum() / 2

        assert np.allclose(found[item], optimize.minimize(loss, start).x, atol=1e-3)


def test_tiles_change_nothing(monkeypatch):
    ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    places, labels = embed_users(ratings, 4, seed=0), np.arange(60) % 3
    items = np.flatnonzero(ratings.support)
    whole = learn_embeddings(ratings, places, labels, items, ratings.activity)
    monkeypatch.setattr("recveil.methods.sparse.item_choice._TILE_CELLS", 1)
    again = learn_embeddings(ratings, places, labels, items, ratings.activity)
    assert np.allclose(again.slopes, whole.slopes, atol=1e-8)


def test_places_are_the_singular_vectors_of_bounded_rows():
    """The distances between places of full rank are those between weighted rows."""
    ratings = make_ratings(n_users=30, n_items=12, n_ratings=150, seed=2)
    rows = np.zeros((30, 12))
    users = ratings.user_positions()
    rows[users, ratings.indices] = np.where(ratings.values >= 4, 1.0, 0.4)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows *= np.maximum(ratings.support, 1) ** -0.25
    places = embed_users(ratings, 12, seed=0).astype(float)
    assert np.allclose(places @ places.T, rows @ rows.T, atol=1e-5)


def test_an_item_is_fitted_the_same_whatever_others_are():
    ratings = make_ratings(n_users=30, n_items=60, n_ratings=90, seed=2)
    places, labels = embed_users(ratings, 4, 0), np.arange(30) % 2
    items = np.flatnonzero(ratings.support)
    whole = learn_embeddings(ratings, places, labels, items, ratings.activity)
    some = learn_embeddings(ratings, places, labels, items[::3], ratings.activity)
    assert np.array_equal(some.items, items[::3])
    assert np.allclose(some.slopes, whole.slopes[::3], atol=1e-8)


def test_drawn_embeddings_vary_as_users_do_within_groups():
    rng = np.random.default_rng(1)
    ratings = make_ratings(n_users=400, n_items=40, n_ratings=6_000, seed=1)
    labels = np.arange(400) % 4
    all_users = rng.standard_normal((400, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    all_users = (all_users + 5 * rng.standard_normal((4, 2))[labels]).astype(np.float32)
    embeddings = learn_embeddings(
        ratings, all_users, labels, np.flatnonzero(ratings.support), ratings.activity
    )
    groups = np.repeat(np.arange(4), 5_000)
    drawn = embeddings.drawn(groups, np.full(groups.size, 9.0), rng)[:, 1:-1]
    apart = drawn - embeddings.places[groups]
    exact = all_users / all_users.std(axis=0)
    exact -= np.array([exact[labels == group].mean(axis=0) for group in range(4)])[labels]
    assert np.allclose(np.cov(apart.T), np.cov(exact.T), atol=0.02)
