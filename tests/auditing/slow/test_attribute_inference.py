"""Attributes inferred from synthetic users, and the coverage of intervals without a relation."""

import numpy as np
import pytest

from recveil.auditing.attribute_inference import infer_user_attributes
from recveil.datasets import make_ratings
from shared.auditing_attribute_inference import audit_folder


def test_synthetic_users_reveal_nothing_of_members(tmp_path):
    audited = audit_folder(tmp_path, epsilon=20, item_catalog="as-rated")
    (found,) = audited.attribute_inference
    assert found.in_release.excess.low < 0.15  # the noise is secret, so that it has no seed
    assert "more for members than nonmembers" in audited.to_html()


def test_intervals_contain_a_random_guess_where_there_is_no_relation():
    covered = []
    for seed in range(20):
        ratings = make_ratings(n_users=200, n_items=60, n_ratings=3_000, seed=seed % 5)
        codes = np.random.default_rng(seed).integers(0, 2 + 2 * (seed % 2), 200)
        (found,) = infer_user_attributes(ratings, {"x": ["abcd"[of] for of in codes]}, seed=seed)
        for each in found.predictions:
            covered += [area.low <= 0.5 <= area.high for area in (each.auc, each.control)]
    assert sum(covered) / len(covered) >= 0.9


@pytest.mark.parametrize("n_positives", [8, 30])
def test_the_better_learner_does_not_infer_a_rare_value_without_a_relation(n_positives):
    excluded = 0
    for seed in range(40):
        ratings = make_ratings(n_users=300, n_items=100, n_ratings=6_000, seed=seed)
        texts = ["b"] * 300
        for user in np.random.default_rng(seed + 1_000).choice(300, n_positives, replace=False):
            texts[user] = "a"
        (found,) = infer_user_attributes(ratings, {"x": texts}, seed=seed)
        auc = found.strongest.auc
        excluded += not auc.low <= 0.5 <= auc.high
    assert excluded <= 5  # of 40; by 95% intervals, more in 1% of runs
