"""How well a user fits a release, in many ways."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from recveil.attacks import Adversary, AttackTarget
from recveil.attacks.knowledge import know_everything
from recveil.attacks.membership.inference import only
from recveil.attacks.membership.shadow_models import JointCounts, ShadowScorer, learn_population
from recveil.attacks.statistics import area_under_curve
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


def embeddings(table, mean):
    weights = np.where(table == 0, 0, np.where(table >= mean, 1, 0.4))
    return weights / np.sqrt((weights**2).sum(axis=1, keepdims=True))


class TestPopulation:
    def test_two_halves_give_the_same_as_all(self, ratings):
        population = learn_population([released(ratings)])
        first = np.arange(0, 60, 2)
        pair = learn_population([released(ratings, first), released(ratings, first + 1)])
        assert_allclose(pair.shares, population.shares)
        assert_allclose(pair.means, population.means)
        assert pair.mean == pytest.approx(population.mean)
        for kind, products in population.products.items():
            assert_allclose(pair.products[kind], products, atol=1e-12)

    def test_a_row_of_five_users_counts_five_times(self, ratings):
        table = released(ratings, anonymizer=PredictiveAnonymizer(k=5, seed=1))
        population = learn_population([table])
        assert_allclose(population.shares, 1)  # padded: all rows hold all items
        assert_allclose(population.means, table.item_means())

    def test_it_shows_nothing_of_itself(self, ratings):
        assert "array" not in repr(learn_population([released(ratings)]))


class TestScores:
    def test_products_are_those_of_the_matrix(self, ratings):
        """The quadratic form of all products, as it is written down."""
        users = np.arange(30)
        population, table = learn_population([released(ratings)]), released(ratings, users)
        known = know_everything(ratings, np.arange(60))
        scores = ShadowScorer(population, known, Adversary(), ratings.scale).score(table)
        own = embeddings(dense(ratings), population.mean)
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
        population = learn_population([released(ratings)])
        known = know_everything(ratings, np.arange(60))
        scorer = ShadowScorer(population, known, Adversary(), ratings.scale)
        inside = scorer.score(released(ratings, users))["ratings, nearest"]
        outside = scorer.score(released(ratings, users + 1))["ratings, nearest"]
        assert (inside[users] > outside[users]).mean() > 0.95
        assert (inside[users + 1] < outside[users + 1]).mean() > 0.9

    def test_all_are_numbers_for_one_item_and_for_a_constant_table(self):
        one = Ratings.from_columns([1, 2, 3], ["a", "a", "a"], [3, 3, 3])
        known = know_everything(one, np.arange(3))
        population = learn_population([released(one)])
        scores = ShadowScorer(population, known, Adversary(), one.scale).score(released(one))
        assert all(np.isfinite(score).all() for score in scores.values())


class TestJointCounts:
    """The test of all item counts together, against its definition and where it must succeed."""

    @pytest.fixture
    def table(self):
        """More items than users, so that exact counts have one solution."""
        return (np.random.default_rng(4).random((40, 90)) < 0.2).astype(float)

    def test_against_the_definition(self, table):
        rows, targets = sparse.csr_array(table), np.array([3, 7])
        known = np.zeros((2, 90))
        for place, target in enumerate(targets):
            known[place, np.flatnonzero(table[target])[:5]] = 1
        counts = table[::2].sum(axis=0)
        scores = JointCounts(rows, sparse.csr_array(known), targets).score(counts, 20)
        published = counts > 0
        for place, target in enumerate(targets):
            others = np.delete(table, target, axis=0)[:, published]
            covariance = 0.25 * others.T @ others + 2.0 * np.eye(others.shape[1])
            off = counts[published] - 0.5 * others.sum(axis=0)
            expected = known[place, published] @ np.linalg.solve(covariance, off)
            assert scores["joint counts, noise 2"][place] == pytest.approx(expected, rel=1e-6)

    def test_exact_counts_reveal_members_who_are_fewer_than_items(self, table):
        rng, users = np.random.default_rng(5), np.arange(40)
        rows = sparse.csr_array(table)
        joint = JointCounts(rows, rows, users)
        inside = np.zeros(40, bool)
        inside[rng.permutation(40)[:20]] = True
        score = joint.score(table[inside].sum(axis=0), 20, (0.3,))["joint counts, noise 0.3"]
        assert area_under_curve(score[inside], score[~inside]).rate > 0.97

    def test_counts_of_others_reveal_nothing(self, table):
        rows = sparse.csr_array(table)
        outsiders = (np.random.default_rng(6).random((20, 90)) < 0.2).sum(axis=0).astype(float)
        score = JointCounts(rows, rows, np.arange(40)).score(outsiders, 20, (0.3,))
        inside = np.random.default_rng(7).random(40) < 0.5
        area = area_under_curve(
            *(score["joint counts, noise 0.3"][side] for side in (inside, ~inside))
        )
        assert area.low < 0.5 < area.high

    def test_more_rows_than_half_of_the_users_are_scaled(self, table):
        """A release of five synthetic users per user has the same scores."""
        rows = sparse.csr_array(table)
        joint, counts = JointCounts(rows, rows, np.arange(40)), table[:20].sum(axis=0)
        one, five = joint.score(counts, 20), joint.score(5 * counts, 100)
        assert_allclose(one["joint counts, noise 8"], five["joint counts, noise 8"])
