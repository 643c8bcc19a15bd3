import itertools
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
    items_needed_in_sample,
    nearest_similarity,
    sparsity_of_sample,
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


def test_the_lineup_of_a_table_without_similar_users_is_as_small_as_promised():
    # All users have rated everything at random, so that the target's support is the union.
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
    # The gap in Lemma 1: by Definition 1 no two users are similar, so Theorem 2 promises that
    # all users are found by `m` items. But user 0 has rated all items, and is in every lineup.
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


def test_a_sample_needs_what_the_database_does_and_its_proof_less():
    # 8 and 2 records: log2 of 32 and of 8.
    assert items_needed_in_sample(8, 2, epsilon=0.25, delta=0.5) == (5, 3)
    for n_records, n_released in ((8, 9), (8, 0)):
        with raises("argument.value") as caught:
            items_needed_in_sample(n_records, n_released, 0.25, 0.5)
        assert str(caught.value).startswith("n_released is ")


def test_theorem_4_on_a_sample():
    """The target's record is output if it was released, and no record if it was not."""
    n_users, n_items, epsilon = 200, 300, 0.05
    values = np.random.default_rng(0).integers(1, 3, (n_users, n_items))
    users, items = np.divmod(np.arange(values.size), n_items)
    ratings = Ratings.from_columns(users, items, values.ravel(), scale=RatingScale(1, 2, 1))
    delta = 1 - epsilon - nearest_similarity(ratings, rating_error=0).max()
    m = items_needed_in_sample(n_users, 50, epsilon, delta).proven
    assert m < items_needed(n_users, epsilon, delta)
    rows = slice(0, 50 * n_items)
    sample = Ratings.from_columns(users[rows], items[rows], values.ravel()[rows], scale="1:2:1")
    knowledge = draw_knowledge(ratings, Adversary(known=m), np.arange(n_users))
    record_of = np.where(np.arange(n_users) < 50, np.arange(n_users), -1)
    sets = Scoreboard().attack(Candidates.from_ratings(sample), knowledge, record_of)
    assert np.mean(sets.records[:50] == 1) >= 1 - epsilon
    assert np.mean(sets.records[50:] == 0) >= 1 - epsilon


def neighbours_released(neighbour, n_released):
    """The number of records whose neighbour is in the sample, too, for every sample."""
    samples = itertools.combinations(range(len(neighbour)), n_released)
    return np.array(
        [sum(neighbour[record] in sample for record in sample) for sample in map(set, samples)]
    )


@pytest.mark.parametrize("gamma", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(
    "neighbour",
    [
        [1, 0, 3, 2, 5, 4, 7, 6],  # pairs
        [1, 0, 0, 0, 0, 0, 0, 0],  # all are near to one record
        [1, 0, None, None, None, None, None, None],
    ],
)
def test_what_is_proven_of_a_sample_holds_for_every_structure(neighbour, gamma):
    n_records, delta = len(neighbour), np.mean([each is not None for each in neighbour])
    for n_released in range(1, n_records):
        bound = sparsity_of_sample(n_records, n_released, min(delta, 1 - 1e-9), gamma)
        counts = neighbours_released(neighbour, n_released)
        expected = delta * n_released * (n_released - 1) / (n_records - 1)
        assert counts.mean() == pytest.approx(expected)
        assert bound.share == pytest.approx(delta * gamma * n_released / n_records)
        assert np.mean(counts > bound.share * n_released - 1e-6) >= bound.proven - 1e-6


def test_the_stated_probability_does_not_hold_for_a_pair():
    bound = sparsity_of_sample(2, 1, delta=0.999, gamma=0.5)
    assert neighbours_released([1, 0], 1).max() == 0  # sparse, whichever is released
    assert (bound.stated, bound.proven) == (0.5, 0)
    for arguments in ((2, 3, 0.5, 0.5), (2, 1, 1, 0.5), (2, 1, 0.5, 0), (0, 0, 0.5, 0.5)):
        with raises("argument.value"):
            sparsity_of_sample(*arguments)
