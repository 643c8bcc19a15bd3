from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import (
    choose_targets,
    information_by_rank,
    nearest_similarity,
    share_at_least,
)
from recveil.attacks.reidentification import sparsity
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale

ERRORS = st.sampled_from([(None, None), (0, None), (1, None), (None, 20), (0, 3), (1, 400)])


def agree(ratings, one, other, rating_error, date_error):
    """Whether two ratings of the same item, at these places, agree."""
    if rating_error is not None:
        apart = abs(float(ratings.values[one]) - float(ratings.values[other]))
        if apart > rating_error + 1e-3:
            return False
    return date_error is None or abs(int(ratings.days[one]) - ratings.days[other]) <= date_error


def places(ratings, user):
    row = range(ratings.indptr[user], ratings.indptr[user + 1])
    return {ratings.indices[at]: at for at in row}


def slow_nearest(ratings, target, rating_error, date_error):
    own, similarities = places(ratings, target), [0.0]
    for user in range(ratings.n_users):
        other = places(ratings, user)
        if user != target and own.keys() | other.keys():
            agreeing = sum(
                agree(ratings, own[item], other[item], rating_error, date_error)
                for item in own.keys() & other.keys()
            )
            similarities.append(agreeing / len(own.keys() | other.keys()))
    return max(similarities)


@settings(deadline=None)  # the first call compiles
@given(errors=ERRORS, seed=st.integers(0, 1_000))
def test_nearest_similarity_is_the_same_as_comparing_all_pairs(errors, seed):
    ratings = make_ratings(n_users=15, n_items=10, n_ratings=60, seed=seed)
    expected = [slow_nearest(ratings, user, *errors) for user in range(15)]
    assert nearest_similarity(ratings, None, *errors).tolist() == expected


@settings(deadline=None)  # the first call compiles
@given(errors=ERRORS, seed=st.integers(0, 1_000))
def test_information_is_the_same_as_counting_raters(errors, seed):
    ratings = make_ratings(n_users=15, n_items=10, n_ratings=60, seed=seed)
    information = information_by_rank(ratings, *errors)
    assert (np.diff(information.support) <= 0).all()
    for item, support, bits in zip(*information, strict=True):
        raters = np.flatnonzero(ratings.indices == item)
        counts = [sum(agree(ratings, one, other, *errors) for other in raters) for one in raters]
        assert support == len(raters)
        assert bits == pytest.approx(np.mean(np.log2(15 / np.array(counts))), abs=1e-12)


def test_similarity_by_hand():
    users, items = [0, 0, 0, 1, 1, 2], list("abcbcd")
    ratings = Ratings.from_columns(users, items, [5, 4, 3, 4, 1, 2], days=[1, 1, 1, 8, 9, 1])
    assert nearest_similarity(ratings).tolist() == [2 / 3, 2 / 3, 0]
    assert nearest_similarity(ratings, rating_error=1).tolist() == [1 / 3, 1 / 3, 0]
    assert nearest_similarity(ratings, date_error=7).tolist() == [1 / 3, 1 / 3, 0]
    assert nearest_similarity(ratings, rating_error=0, date_error=6).tolist() == [0, 0, 0]


def test_identical_users_and_one_alone():
    ratings = Ratings.from_columns([0, 0, 1, 1, 2], list("ababc"), [5, 3, 5, 3, 1])
    assert nearest_similarity(ratings, rating_error=0).tolist() == [1, 1, 0]
    assert nearest_similarity(Ratings.from_columns([0], ["a"], [5])).tolist() == [0]


def test_users_without_ratings_are_similar_to_no_user():
    ratings = Ratings(
        list("uvw"), ["a"], [0, 0, 1, 1], [0], [5], days=None, scale=RatingScale(1, 5, 1)
    )
    assert nearest_similarity(ratings).tolist() == [0, 0, 0]


def test_comparing_more_never_makes_users_more_similar(invented):
    errors = [(None, None), (1, None), (0, None), (0, 14), (0, 3)]
    nearest = [nearest_similarity(invented, None, *error) for error in errors]
    assert all((b <= a).all() for a, b in pairwise(nearest))
    information = [information_by_rank(invented, *error).bits for error in errors]
    assert all((b >= a).all() for a, b in pairwise(information))


def test_targets_are_drawn_and_threads_do_not_matter(invented):
    everyone = nearest_similarity(invented, threads=1)
    some = nearest_similarity(invented, 100, seed=3, threads=4)
    assert (some == everyone[choose_targets(invented.n_users, 100, seed=3)]).all()


def test_share_at_least_counts_equal_ones_and_divides_by_all():
    similarities = np.array([0.5, 0.2, 0.5, 0.0])
    assert share_at_least(similarities, [0, 0.2, 0.5, 0.51, 1]).tolist() == [1, 0.75, 0.5, 0, 0]
    assert np.isnan(share_at_least([], [0, 1])).all()


def test_structure_alone_gives_the_share_of_raters(invented):
    information = information_by_rank(invented)
    assert information.bits == pytest.approx(np.log2(invented.n_users / information.support))


def test_ties_go_by_position_and_unrated_items_are_left_out():
    ratings = Ratings(
        list("uv"), list("abcd"), [0, 2, 4], [1, 3, 0, 3], [1, 1, 1, 1], None, RatingScale(1, 5, 1)
    )
    information = information_by_rank(ratings)
    assert information.items.tolist() == [3, 0, 1]
    assert information.support.tolist() == [2, 1, 1]
    assert information.bits.tolist() == [0, 1, 1]


@pytest.mark.parametrize("at_a_time", [1, 7, 100])
def test_information_does_not_depend_on_how_much_is_done_at_a_time(
    invented, monkeypatch, at_a_time
):
    expected = information_by_rank(invented, 1, 14)
    monkeypatch.setattr(sparsity, "_RATINGS_AT_A_TIME", at_a_time)
    assert all(map(np.array_equal, information_by_rank(invented, 1, 14), expected))


def test_one_rating_a_chunk_with_unrated_items_at_both_ends(monkeypatch):
    monkeypatch.setattr(sparsity, "_RATINGS_AT_A_TIME", 1)
    ratings = Ratings(["u"], list("abcd"), [0, 2], [1, 2], [1, 2], [5, 6], RatingScale(1, 5, 1))
    assert information_by_rank(ratings, 0, 0).items.tolist() == [1, 2]


def test_bad_settings():
    ratings = Ratings.from_columns([0], ["a"], [5])
    for function in (
        information_by_rank,
        lambda ratings, *errors: nearest_similarity(ratings, None, *errors),
    ):
        with raises("argument.value") as caught:
            function(ratings, -1)
        assert "rating_error" in str(caught.value)
        with raises("argument.value") as caught:
            function(ratings, 0, -2)
        assert "date_error" in str(caught.value)
        with raises("time.missing"):
            function(ratings, 0, 14)
