import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import (
    Adversary,
    Candidates,
    Scoreboard,
    draw_knowledge,
    items_needed,
    items_needed_for_candidate_set,
    nearest_similarity,
)
from recveil.ratings import Ratings, RatingScale

SHARES = st.floats(0.01, 0.99)


def test_by_hand():
    assert items_needed(1_000, epsilon=0.001, delta=0.9) == 6  # 10^3 records, 10^-3, 1 digit each
    assert items_needed(1_001, epsilon=0.001, delta=0.9) == 7
    assert items_needed(8, epsilon=0.25, delta=0.5) == 5
    assert items_needed_for_candidate_set(10_000, delta=0.9, k=11) == 3
    assert items_needed_for_candidate_set(8, delta=0.5, k=2) == 3
    assert items_needed_for_candidate_set(9, delta=0.5, k=2) == 4


def test_a_lineup_as_large_as_the_table_needs_nothing():
    assert items_needed_for_candidate_set(5, delta=0.5, k=6) == 0
    assert items_needed_for_candidate_set(5, delta=0.5, k=60) == 0


@given(n_records=st.integers(1, 10**9), epsilon=SHARES, delta=SHARES)
def test_it_is_the_least_number_that_bounds_the_false_matches(n_records, epsilon, delta):
    m = items_needed(n_records, epsilon, delta)
    assert n_records * (1 - delta) ** m <= epsilon * (1 + 1e-6)
    assert n_records * (1 - delta) ** (m - 1) > epsilon * (1 - 1e-6)


@given(n_records=st.integers(2, 10**9), delta=SHARES, k=st.integers(2, 1_000))
def test_it_is_the_least_number_that_leaves_k_in_expectation(n_records, delta, k):
    m = items_needed_for_candidate_set(n_records, delta, k)
    assert n_records * (1 - delta) ** m <= (k - 1) * (1 + 1e-6)
    assert m == 0 or n_records * (1 - delta) ** (m - 1) > (k - 1) * (1 - 1e-6)


def test_the_lineup_of_a_table_without_similar_people_is_as_small_as_promised():
    # Everybody has rated everything at random, so that the target's support is the union.
    n_users, n_items, epsilon = 200, 300, 0.05
    values = np.random.default_rng(0).integers(1, 3, (n_users, n_items))
    users, items = np.divmod(np.arange(values.size), n_items)
    ratings = Ratings.from_columns(users, items, values.ravel(), scale=RatingScale(1, 2, 1))
    delta = 1 - epsilon - nearest_similarity(ratings, rating_error=0).max()
    everyone, found = np.arange(n_users), Candidates.from_ratings(ratings)

    m = items_needed(n_users, epsilon, delta)
    knowledge = draw_knowledge(ratings, Adversary(known=m), everyone)
    lineups = Scoreboard().attack(found, knowledge, everyone)
    assert np.mean(lineups.tied_users == 1) >= 1 - epsilon

    m = items_needed_for_candidate_set(n_users, delta, k=5)
    knowledge = draw_knowledge(ratings, Adversary(known=m), everyone)
    lineups = Scoreboard().attack(found, knowledge, everyone)
    assert lineups.chance.mean() >= 1 / 5
    assert lineups.bits.mean() <= math.log2(5)


def test_a_record_that_holds_everything_matches_whatever_is_known():
    # The gap in Lemma 1: by Definition 1 nobody is similar to anybody, so Theorem 2 promises that
    # everybody is found by `m` items. But user 0 has rated all items, and is in every lineup.
    items = np.arange(200)
    users = np.concatenate([np.zeros(200, int), 1 + items // 20])
    ratings = Ratings.from_columns(users, np.tile(items, 2), np.ones(400))
    epsilon, delta = 0.1, 0.75
    assert nearest_similarity(ratings).max() == 0.1 < 1 - epsilon - delta
    m = items_needed(ratings.n_users, epsilon, delta)
    knowledge = draw_knowledge(ratings, Adversary(known=m), np.arange(1, 11))
    assert knowledge.targets.size == 10
    lineups = Scoreboard().attack(Candidates.from_ratings(ratings), knowledge, np.arange(11))
    assert lineups.tied_users.tolist() == [2] * 10


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, math.nan])
def test_shares_lie_between_0_and_1(share):
    with raises("argument.value") as caught:
        items_needed(10, share, 0.5)
    assert "epsilon" in str(caught.value)
    with raises("argument.value") as caught:
        items_needed(10, 0.5, share)
    assert "delta" in str(caught.value)
    with raises("argument.value") as caught:
        items_needed_for_candidate_set(10, share, 2)
    assert "delta" in str(caught.value)


def test_bad_numbers():
    with raises("argument.value") as caught:
        items_needed(0, 0.5, 0.5)
    assert "n_records" in str(caught.value)
    with raises("argument.value") as caught:
        items_needed_for_candidate_set(0, 0.5, 2)
    assert "n_records" in str(caught.value)
    with raises("argument.value") as caught:
        items_needed_for_candidate_set(10, 0.5, 1)
    assert "k is 1" in str(caught.value)
