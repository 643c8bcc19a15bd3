import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import PRESETS, Adversary, draw_knowledge
from recveil.attacks.knowledge import like_levels, with_likes
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale


@given(st.integers(1, 12), st.sampled_from([0.5, 1.0, 2.0]))
def test_a_word_leaves_open_its_own_kind_and_no_other(n_steps, step):
    scale = RatingScale(1, 1 + n_steps * step, step)
    middle, not_liked, liked, error = like_levels(scale)
    for level in scale.levels:
        own, other = (liked, not_liked) if level > middle else (not_liked, liked)
        assert abs(level - own) <= error + 1e-9
        assert abs(level - other) > error - 1e-9


def test_on_five_stars_by_hand():
    ratings = Ratings.from_columns(
        [1, 1, 1], ["a", "b", "c"], [4, 3, 1], scale=RatingScale(1, 5, 1)
    )
    known = draw_knowledge(ratings, Adversary(known=3, likes_only=True), np.array([0]))
    assert sorted(known.values.tolist()) == [2.0, 2.0, 4.5]


def test_a_wrong_word_is_the_other_one():
    ratings = make_ratings(n_users=30, n_items=20, n_ratings=300, seed=1)
    adversary = Adversary(known=2, right=0, likes_only=True)
    known = draw_knowledge(ratings, adversary, np.arange(30))
    truth = ratings.csr[np.repeat(known.targets, 2), known.items]
    middle, _, liked, _ = like_levels(ratings.scale)
    assert ((known.values == liked) != (np.asarray(truth).ravel() > middle)).all()


def test_the_presets_suit_the_scale():
    ratings = Ratings.from_columns([1, 1], ["a", "b"], [0.5, 5], scale=RatingScale(0.5, 5, 0.5))
    assert with_likes(ratings, PRESETS["likes"]).rating_error == 1.0
    assert with_likes(ratings, PRESETS["paper"]) is PRESETS["paper"]
    assert (PRESETS["likes"].known, PRESETS["likes-16"].known) == (8, 16)


def test_likes_are_about_ratings():
    with raises("option.conflict"):
        Adversary(rating_error=None, likes_only=True)
