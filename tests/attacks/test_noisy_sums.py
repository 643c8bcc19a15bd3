"""The best test of membership by noisy sums, against normal densities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

from recveil.attacks.membership.noisy_sums import SumProducts, log_odds_by_sums
from recveil.attacks.membership.shadow_models import (
    Ratios,
    decide_members,
    infer_members,
    judge_members,
    likelihood_ratios,
    shuffle_membership,
)


def log_odds(vectors, known, off, targets, **kind):
    part = SumProducts.of(vectors, known, off, **{"is_symmetric": False, **kind})
    return log_odds_by_sums([part], targets, vectors.shape[0])


def test_one_user_by_hand():
    """A sum of 2 with, 0 without, noise 1: the log-odds of 3 are 3 · 2 - 2² / 2 = 4."""
    vector = np.array([[2.0]])
    off = np.array([3.0]) - 0.5 * 2.0
    assert_allclose(log_odds(vector, vector, off, np.array([0])), [4.0])


def test_another_user_adds_to_the_noise():
    """Another user with the same vector adds 2² / 4 to the variance, and 1 to the mean."""
    vectors = np.array([[2.0], [2.0]])
    off = np.array([3.0]) - 0.5 * 4.0
    expected = ((3 - 1) * 2 - 2**2 / 2) / (1 + 2**2 / 4)
    assert_allclose(log_odds(vectors, vectors[:1], off, np.array([0])), [expected])


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_log_odds_are_those_of_the_densities(as_rows):
    rng = np.random.default_rng(1)
    vectors, noisy = rng.normal(size=(7, 4)), rng.normal(size=4)
    targets = np.array([2, 5])
    off = noisy - vectors.sum(axis=0) / 2
    found = log_odds(as_rows(vectors), as_rows(vectors[targets]), off, targets)
    for target, odds in zip(targets, found, strict=True):
        others = np.delete(vectors, target, axis=0)
        mean, covariance = others.sum(axis=0) / 2, others.T @ others / 4 + np.eye(4)
        inside, outside = (
            stats.multivariate_normal(mean + shift, covariance).logpdf(noisy)
            for shift in (vectors[target], 0)
        )
        assert_allclose(odds, inside - outside)


def test_sums_of_products_are_those_of_outer_products():
    rng = np.random.default_rng(2)
    vectors, noisy = rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    noisy, targets = noisy + noisy.T, np.arange(5)
    outer = np.einsum("ui,uj->uij", vectors, vectors).reshape(5, 9)
    found = log_odds(vectors, vectors, noisy, targets, is_symmetric=True)
    assert_allclose(found, log_odds(outer, outer, noisy.ravel(), targets))


def test_independent_sums_are_one_longer_sum():
    rng = np.random.default_rng(3)
    vectors, off, targets = rng.normal(size=(6, 5)), rng.normal(size=5), np.arange(6)
    parts = [
        SumProducts.of(vectors[:, cut], vectors[:, cut], off[cut], is_symmetric=False)
        for cut in (slice(2), slice(2, 5))
    ]
    whole = log_odds(vectors, vectors, off, targets)
    assert_allclose(log_odds_by_sums(parts, targets, 6), whole)


def test_some_of_the_users_are_scaled_to_all():
    """Two equal users among four of whom two are read: their variance counts twice."""
    vectors, off = np.array([[2.0], [2.0]]), np.array([1.0])
    part = SumProducts.of(vectors, vectors[:1], off, is_symmetric=False)
    # S without the target's row: 1 + 2 · (2² + 2²) / 4 - 2² / 4 = 4; off with half of the row.
    assert_allclose(log_odds_by_sums([part], np.array([0]), 4), [((1 + 1) * 2 - 2**2 / 2) / 4])


def made(separation, seed=1, n_users=200, n_releases=16):
    """Return log-odds of the best test of one sum per user, and membership."""
    rng = np.random.default_rng(seed)
    first = rng.random((n_users, n_releases // 2)) < 0.5
    inside = np.stack([first, ~first], axis=2).reshape(n_users, n_releases)
    score = rng.normal(size=inside.shape) + separation * inside
    return separation * score - separation**2 / 2, inside, rng


class TestChoice:
    def test_log_odds_beat_scores_without_information(self):
        odds, inside, rng = made(2.0)
        scores = {str(at): rng.normal(size=inside.shape) for at in range(40)}
        found = decide_members(likelihood_ratios(scores, inside), inside, odds)
        auc = judge_members(found, inside).auc
        assert auc.low < stats.norm.cdf(2 / np.sqrt(2)) < auc.high
        assert infer_members(likelihood_ratios(scores, inside), inside).auc.low < 0.55

    def test_scores_beat_log_odds_without_information(self):
        score, inside, rng = made(2.0)
        ratios = Ratios(("one",), score[..., None])
        found = decide_members(ratios, inside, rng.normal(size=inside.shape))
        assert judge_members(found, inside).auc.rate > 0.9

    def test_random_membership_is_not_inferred(self):
        odds, inside, rng = made(2.0)
        control = shuffle_membership(inside, 1)
        ratios = likelihood_ratios({"one": rng.normal(size=inside.shape)}, control)
        auc = judge_members(decide_members(ratios, control, odds), control).auc
        assert auc.low < 0.5 < auc.high
