"""The attacks on releases that promise nothing: records of one user, values off the scale."""

import numpy as np
import pytest

from recveil.attacks import (
    Adversary,
    AttackTarget,
    Candidates,
    Likelihood,
    ScoreboardRH,
    attack_release,
    draw_knowledge,
    infer_membership,
)
from recveil.attacks.reidentification.likelihood import find_nearest
from recveil.auditing.table_attacks import run_attack
from recveil.datasets import make_ratings
from recveil.methods import BASELINES, AdditiveNoise, Pseudonymizer, RotationPerturbation
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records

KNOWS = Adversary(known=6, right=5, rating_error=1)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=150, n_items=60, n_ratings=3000, seed=4)


def released(anonymizer, ratings):
    return AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)


@pytest.mark.parametrize("name", BASELINES)
class TestEveryBaseline:
    def test_membership_is_measured(self, name, ratings):
        result = infer_membership(ratings, BASELINES[name](1), KNOWS, seed=1)
        assert result.members > 0
        assert 0 <= result.auc.rate <= 1


class TestRaw:
    def test_is_attacked_as_the_raw_table_is(self, ratings):
        table = released(Pseudonymizer(seed=1), ratings)
        known = draw_knowledge(ratings, KNOWS, np.arange(150), seed=3)
        all_users = np.arange(150)
        for attack in (ScoreboardRH(), Likelihood.of(KNOWS)):
            raw = attack.attack(Candidates.from_ratings(ratings), known, all_users)
            found = attack.attack(table.candidates, known, table.record_of)
            assert np.array_equal(found.target_is_top, raw.target_is_top)
            assert np.array_equal(found.tied_users, raw.tied_users)
            assert np.array_equal(found.score, raw.score)

    def test_the_best_attack_finds_no_fewer_than_the_audit(self, ratings):
        audited = run_attack(ratings, Candidates.from_ratings(ratings), KNOWS, np.arange(150))
        table = released(Pseudonymizer(seed=1), ratings)
        result = attack_release(ratings, table, KNOWS, np.arange(150))
        assert result.reidentified.rate >= max(audited.top1.rate, audited.likeliest.rate) > 0.5
        assert result.exact.rate == 1
        assert result.rating_errors.rmse == 0

    def test_users_who_are_alike_share_a_class(self):
        # Users 0 and 1 gave the same ratings, and nothing distinguishes them.
        ratings = Ratings.from_columns([0, 0, 1, 1, 2], [7, 8, 7, 8, 7], [5, 1, 5, 1, 2])
        table = released(Pseudonymizer(seed=1), ratings)
        assert table.record_of[0] == table.record_of[1] != table.record_of[2]
        assert sorted(table.candidates.sizes.tolist()) == [1, 2]


class TestLabelsOffTheScale:
    def test_noise_hides_few(self, ratings):
        table = released(AdditiveNoise(scale=0.3, seed=1), ratings)
        assert table.values.max() > 5
        result = attack_release(ratings, table, KNOWS, np.arange(150))
        assert result.reidentified.rate > 0.5

    def test_labels_are_read_as_the_ends_of_the_scale(self):
        # User 0 gave a and b 5, published as 7 and 9.5; user 1 gave them 1. An adversary who knows
        # that one gave b 5 is nearer to 1 (4 off) than to 9.5 (4.5 off), but not if they know the
        # scale. And then the row reveals the other rating exactly, the item mean does not:
        # (7 + 1) / 2 = 4 for a, and (9.5 + 1) / 2 = 5.25, read as 5, for b.
        scale = RatingScale(1, 5, 1)
        ratings = Ratings.from_columns([0, 0, 1, 1], [7, 8, 7, 8], [5, 5, 1, 1], scale=scale)
        rows = np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.array([7.0, 9.5, 1, 1])
        records = Records(np.ones(2, np.int64), *rows)
        table = AttackTarget(
            Candidates.from_records([records], 2, scale), *rows, np.arange(2), 1, np.ones(2)
        )
        of_mean = set()
        for seed in range(10):  # in some they know a, in the others b
            result = attack_release(ratings, table, Adversary(known=1), np.array([0]), seed)
            assert result.class_reidentified.rate == 1
            assert result.rating_errors.with_value == 1
            assert result.rating_errors.rmse == 0
            assert result.exact.rate == 0  # the label itself is not the rating
            of_mean.add(result.rating_errors.item_mean_rmse)
        assert of_mean == {0.0, 1.0}

    def test_very_many_labels_are_searched_on_a_grid_as_wide_as_they_are(self):
        rng = np.random.default_rng(1)
        values = rng.normal(3, 10, 70_000)
        rows = np.arange(701) * 100, np.tile(np.arange(100, dtype=np.int32), 700), values
        records = Records(np.ones(700, np.int64), *rows)
        found = Candidates.from_records([records], 100, RatingScale(1, 5, 1))
        assert found.codes.dtype == np.uint16
        step = (values.max() - values.min()) / (2**16 - 1)
        by_item = values.reshape(700, 100).T.ravel()
        assert np.abs(found.levels[found.codes] - by_item).max() <= step / 2 + 1e-12

    def test_nearest_by_hand(self):
        # The rating 5 is known. The labels 9 and -3 are 4 and 8 off: user 0's record is nearer.
        scale = RatingScale(1, 5, 1)
        ratings = Ratings.from_columns([0, 1], [7, 7], [5, 1], scale=scale)
        records = Records(
            np.ones(2, np.int64), np.arange(3), np.zeros(2, np.int32), np.array([9.0, -3.0])
        )
        candidates = Candidates.from_records([records], 1, scale)
        known = draw_knowledge(ratings, Adversary(known=1), np.array([0]))
        assert find_nearest(candidates, known, np.arange(2)).best.tolist() == [0]


def test_read_as_ratings_a_rotated_table_identifies_no_user(ratings):
    # Which is why a rate on it says nothing: see what undoes it in the tests of the rotation.
    table = released(RotationPerturbation(seed=1), ratings)
    assert attack_release(ratings, table, KNOWS, np.arange(150)).reidentified.rate < 0.1
