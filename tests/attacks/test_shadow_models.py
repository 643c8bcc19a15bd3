"""How well somebody fits a release, in many ways."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from recveil.attacks import Adversary, AttackTarget
from recveil.attacks.knowledge import know_everything
from recveil.attacks.membership.inference import only
from recveil.attacks.membership.shadow_models import ShadowScorer, learn_population
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Pseudonymizer
from recveil.ratings import Ratings


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=60, n_items=25, n_ratings=500, seed=1)


def released(ratings, users=None, anonymizer=None):
    some = ratings if users is None else only(ratings, users)
    return AttackTarget.from_release((anonymizer or Pseudonymizer()).anonymize(some), ratings)


def dense(ratings):
    table = np.zeros((ratings.n_users, ratings.n_items))
    table[ratings.user_positions(), ratings.indices] = ratings.values
    return table


def tastes(table, mean):
    weights = np.where(table == 0, 0, np.where(table >= mean, 1, 0.4))
    return weights / np.sqrt((weights**2).sum(axis=1, keepdims=True))


class TestPopulation:
    def test_two_halves_tell_what_all_tell(self, ratings):
        everybody = learn_population([released(ratings)])
        first = np.arange(0, 60, 2)
        pair = learn_population([released(ratings, first), released(ratings, first + 1)])
        assert_allclose(pair.shares, everybody.shares)
        assert_allclose(pair.means, everybody.means)
        assert pair.mean == pytest.approx(everybody.mean)
        for kind, products in everybody.products.items():
            assert_allclose(pair.products[kind], products, atol=1e-12)

    def test_a_row_of_five_people_counts_five_times(self, ratings):
        table = released(ratings, anonymizer=PredictiveAnonymizer(k=5, seed=1))
        people = learn_population([table])
        assert_allclose(people.shares, 1)  # padded: all rows hold all items
        assert_allclose(people.means, table.item_means())

    def test_it_shows_nothing_of_itself(self, ratings):
        assert "array" not in repr(learn_population([released(ratings)]))


class TestScores:
    def test_products_are_those_of_the_matrix(self, ratings):
        """The quadratic form of all products, as it is written down."""
        users = np.arange(30)
        people, table = learn_population([released(ratings)]), released(ratings, users)
        known = know_everything(ratings, np.arange(60))
        scores = ShadowScorer(people, known, Adversary(), ratings.scale).score(table)
        own = tastes(dense(ratings), people.mean)
        matrix = own[users].T @ own[users] / 30
        usual = own.T @ own / 60
        damped = usual + 3.0 * np.trace(usual) / len(usual) * np.eye(len(usual))
        test = np.linalg.solve(damped, own.T).T
        expected = np.einsum("ui,ij,uj->u", test, matrix, test)
        assert_allclose(scores["liked, damped by 3, products"], expected, rtol=1e-6)
        assert_allclose(scores["liked, nearest"], (test @ own[users].T).max(axis=1), rtol=1e-6)

    def test_counts_are_worked_out_by_hand(self):
        two = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 3])
        known = know_everything(two, np.arange(2))
        scorer = ShadowScorer(learn_population([released(two)]), known, Adversary(), two.scale)
        scores = scorer.by_counts(np.array([1.0, 1.0]), np.array([0.5, 1.0]), 1)
        weights = np.array([1 / (0.25 + 0.03), 1 / 0.03])
        assert_allclose(scores["counts, doubt 0.03"], [weights.mean(), weights[1]])

    def test_who_is_in_a_raw_table_is_nearest_to_their_own_row(self, ratings):
        users = np.arange(0, 60, 2)
        people = learn_population([released(ratings)])
        known = know_everything(ratings, np.arange(60))
        scorer = ShadowScorer(people, known, Adversary(), ratings.scale)
        inside = scorer.score(released(ratings, users))["ratings, nearest"]
        outside = scorer.score(released(ratings, users + 1))["ratings, nearest"]
        assert (inside[users] > outside[users]).mean() > 0.95
        assert (inside[users + 1] < outside[users + 1]).mean() > 0.9

    def test_all_are_numbers_for_one_item_and_for_a_constant_table(self):
        one = Ratings.from_columns([1, 2, 3], ["a", "a", "a"], [3, 3, 3])
        known = know_everything(one, np.arange(3))
        people = learn_population([released(one)])
        scores = ShadowScorer(people, known, Adversary(), one.scale).score(released(one))
        assert all(np.isfinite(score).all() for score in scores.values())
