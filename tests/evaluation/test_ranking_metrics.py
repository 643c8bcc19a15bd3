import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from error_assertions import raises
from recveil.evaluation import (
    HeldOut,
    UserRows,
    coverage,
    ndcg,
    ranking,
    recall,
    relevant_items,
    top_items,
)


def rows_of(dense) -> UserRows:
    """Compressed rows of what is not 0."""
    dense = np.asarray(dense, float)
    users, items = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(users, minlength=len(dense)))])
    return UserRows(indptr, items.astype(np.int32), dense[users, items])


nothing = rows_of(np.zeros((1, 6)))


class TestTopItems:
    def test_ties_go_to_the_lower_position(self):
        assert top_items(np.array([[1.0, 2.0, 2.0, 0.0, 2.0, 1.0]]), nothing, 4).tolist() == [
            [1, 2, 4, 0]
        ]

    def test_what_was_seen_is_left_out_and_gaps_are_marked(self):
        seen = rows_of([[0, 1, 1, 0, 1, 1]])
        assert top_items(np.arange(6.0)[None], seen, 3).tolist() == [[3, 0, -1]]

    @settings(deadline=None, max_examples=60)
    @given(seed=st.integers(0, 10_000), n=st.integers(1, 12), levels=st.integers(1, 9))
    def test_against_a_stable_sort(self, seed, n, levels):
        rng = np.random.default_rng(seed)
        scores = rng.integers(levels, size=(4, 9)).astype(float)
        seen = rng.random((4, 9)) < 0.3
        expected = np.full((4, n), -1)
        for user in range(4):
            left = [
                item for item in np.argsort(-scores[user], kind="stable") if not seen[user, item]
            ]
            expected[user, : len(left)] = left[:n]
        assert (top_items(scores, rows_of(seen), n) == expected).all()

    def test_senseless_questions_are_refused(self):
        with raises("argument.value"):
            top_items(np.zeros((1, 6)), nothing, 0)
        with raises("argument.value"):
            top_items(np.full((1, 6), np.nan), nothing, 1)
        with raises("argument.shape") as caught:
            top_items(np.zeros((2, 6)), nothing, 1)
        assert "2 users" in str(caught.value)


class TestMeasures:
    def test_by_hand(self):
        # Relevant: items 1, 3, 5. The list 3, 0, 1, 2 has them at places 1 and 3.
        top = np.array([[3, 0, 1, 2]])
        relevant = rows_of([[0, 1, 0, 1, 0, 1]])
        gained = 1 / math.log2(2) + 1 / math.log2(4)
        ideal = 1 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
        assert ndcg(top, relevant)[0] == pytest.approx(gained / ideal, abs=1e-12)
        assert recall(top, relevant)[0] == pytest.approx(2 / 3, abs=1e-12)
        assert coverage(top, 6) == pytest.approx(4 / 6, abs=1e-12)

    def test_graded_gains_against_frozen_values_of_scikit_learn(self):
        # ndcg_score([[3, 2, 0, 1, 0, 2]], [[.1, .9, .8, .3, .2, .7]], k=...) of scikit-learn 1.9.1
        gains, scores = rows_of([[3, 2, 0, 1, 0, 2]]), np.array([[0.1, 0.9, 0.8, 0.3, 0.2, 0.7]])
        frozen = {2: 0.46927872602275655, 4: 0.6026622438171646, 6: 0.7903855272678881}
        for n, expected in frozen.items():
            assert ndcg(top_items(scores, nothing, n), gains)[0] == pytest.approx(
                expected, abs=1e-9
            )

    @settings(deadline=None, max_examples=60)
    @given(seed=st.integers(0, 10_000), n=st.integers(1, 10))
    def test_ndcg_is_that_of_scikit_learn(self, seed, n):
        rng = np.random.default_rng(seed)
        scores = rng.random((5, 10))
        gains = rng.integers(0, 4, (5, 10)).astype(float)
        gains[:, 0] = 1  # all users have something relevant
        found = ndcg(top_items(scores, rows_of(np.zeros((5, 10))), n), rows_of(gains))
        assert found.mean() == pytest.approx(ndcg_score(gains, scores, k=n), abs=1e-9)

    def test_the_best_list_has_1_even_if_more_is_relevant_than_fits(self):
        relevant = rows_of([[1, 1, 1, 0]])
        assert ndcg(np.array([[2, 0]]), relevant)[0] == pytest.approx(1, abs=1e-12)
        assert recall(np.array([[2, 0]]), relevant)[0] == pytest.approx(2 / 3, abs=1e-12)

    def test_users_with_nothing_relevant_are_left_out_and_counted(self):
        relevant = rows_of([[0, 0, 0], [0, 0, 1]])
        top = np.array([[0, 1], [1, 2]])
        assert np.isnan(ndcg(top, relevant)).tolist() == [True, False]
        found = ranking(top, relevant, 4)
        assert found.recall == 1
        assert found.ndcg == pytest.approx(1 / math.log2(3), abs=1e-12)
        assert (found.coverage, found.n, found.n_users, found.n_without) == (0.75, 2, 1, 1)
        empty = ranking(top[:1], relevant.take(np.array([0])), 4)
        assert np.isnan(empty.ndcg)
        assert np.isnan(empty.recall)


def test_the_threshold_belongs_to_what_is_relevant():
    test = HeldOut(np.array([0, 0, 2, 5]), np.array([1, 3, 0, 2]), np.array([4.0, 3.9, 5.0, 5.0]))
    found = relevant_items(test, np.array([0, 2, 4]), 4)
    assert found.indptr.tolist() == [0, 1, 2, 2]
    assert found.indices.tolist() == [1, 0]
