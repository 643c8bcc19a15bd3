"""Places by what users chose are those of the local engine, whatever tasks users are in."""

import numpy as np
from users_here import UsersHere, some_of

from recveil.datasets import make_ratings
from recveil.methods.sparse.item_choice import embed_users
from recveil.ratings import RatingScale
from recveil.spark.sparse import learn_preferences

STARS = RatingScale(1, 5, 1)


def inner(places):
    return places.astype(float) @ places.T.astype(float)


def test_of_all_embeddings_they_are_those_of_the_local_engine():
    """With no more items than dimensions, nothing is left out, and all distances are the same."""
    ratings = make_ratings(120, 20, 900, seed=2, scale=STARS)
    chosen = learn_preferences(UsersHere(ratings), ratings.support, np.random.default_rng(0))
    here = embed_users(ratings, 24, seed=0)
    assert np.allclose(inner(chosen.embed(ratings)), inner(here), atol=1e-5)


def test_they_explain_as_much_as_singular_vectors_do():
    ratings = make_ratings(200, 90, 4_000, seed=2, scale=STARS)
    chosen = learn_preferences(UsersHere(ratings), ratings.support, np.random.default_rng(0))
    assert np.allclose(chosen.directions.T @ chosen.directions, np.eye(24), atol=1e-9)
    here = embed_users(ratings, 24, seed=0)
    result = (chosen.embed(ratings).astype(float) ** 2).sum()
    assert result > 0.999 * (here.astype(float) ** 2).sum()


def test_tasks_change_no_bit():
    ratings = make_ratings(120, 40, 1_500, seed=2, scale=STARS)
    one, other = (
        learn_preferences(UsersHere(ratings, cut), ratings.support, np.random.default_rng(3))
        for cut in (20, 90)
    )
    assert np.array_equal(one.directions, other.directions)
    places = one.embed(ratings)
    assert np.array_equal(one.embed(some_of(ratings, 30, 50)), places[30:50])


def test_fewer_users_and_items_than_embeddings_are_no_error():
    ratings = make_ratings(6, 4, 11, seed=1, scale=STARS)
    chosen = learn_preferences(UsersHere(ratings, 3), ratings.support, np.random.default_rng(0))
    here = embed_users(ratings, 24, seed=0)
    assert np.allclose(inner(chosen.embed(ratings)), inner(here), atol=1e-5)
