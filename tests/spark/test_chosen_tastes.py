"""Places by what people chose are those of the local engine, whatever tasks people are in."""

import numpy as np
from people_here import PeopleHere, some_of

from recveil.datasets import make_ratings
from recveil.methods.sparse.item_choice import embed_users
from recveil.ratings import RatingScale
from recveil.spark.sparse import learn_preferences

STARS = RatingScale(1, 5, 1)


def inner(places):
    return places.astype(float) @ places.T.astype(float)


def test_of_all_tastes_they_are_those_of_the_local_engine():
    """With no more items than tastes, nothing is left out, and all distances are the same."""
    ratings = make_ratings(120, 20, 900, seed=2, scale=STARS)
    chosen = learn_preferences(PeopleHere(ratings), ratings.support, np.random.default_rng(0))
    here = embed_users(ratings, 24, seed=0)
    assert np.allclose(inner(chosen.embed(ratings)), inner(here), atol=1e-5)


def test_they_tell_as_much_as_singular_vectors_do():
    ratings = make_ratings(200, 90, 4_000, seed=2, scale=STARS)
    chosen = learn_preferences(PeopleHere(ratings), ratings.support, np.random.default_rng(0))
    assert np.allclose(chosen.directions.T @ chosen.directions, np.eye(24), atol=1e-9)
    here = embed_users(ratings, 24, seed=0)
    told = (chosen.embed(ratings).astype(float) ** 2).sum()
    assert told > 0.999 * (here.astype(float) ** 2).sum()


def test_tasks_change_no_bit():
    ratings = make_ratings(120, 40, 1_500, seed=2, scale=STARS)
    one, other = (
        learn_preferences(PeopleHere(ratings, cut), ratings.support, np.random.default_rng(3))
        for cut in (20, 90)
    )
    assert np.array_equal(one.directions, other.directions)
    places = one.embed(ratings)
    assert np.array_equal(one.embed(some_of(ratings, 30, 50)), places[30:50])


def test_fewer_people_and_items_than_tastes_are_no_error():
    ratings = make_ratings(6, 4, 11, seed=1, scale=STARS)
    chosen = learn_preferences(PeopleHere(ratings, 3), ratings.support, np.random.default_rng(0))
    here = embed_users(ratings, 24, seed=0)
    assert np.allclose(inner(chosen.embed(ratings)), inner(here), atol=1e-5)
