"""Releases of halves of the users, and the membership inference that they permit."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.auditing.shadow_releases import (
    _by_user_count,
    attack_by_shadows,
    shadow_maker,
)
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Pseudonymizer, anonymize
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import Manifest

pytestmark = pytest.mark.usefixtures("rough_fit")


@pytest.fixture(scope="module")
def ratings():
    made = make_ratings(n_users=120, n_items=80, n_ratings=3_000, seed=1)
    scale = RatingScale(1, 5, 1)
    return Ratings(made.users, made.items, made.indptr, made.indices, made.values, None, scale)


class TestAttack:
    def test_raw_rows_reveal_everything(self, ratings):
        found = attack_by_shadows(ratings, lambda seed: Pseudonymizer(), 8)
        assert found.by_known["all"].inferred.auc.rate > 0.99
        assert found.by_known["8"].inferred.tpr_at_1.rate > 0.9
        # Item counts reveal some of it, and random labels nothing.
        assert 0.55 < found.by_known["all"].counts_auc.rate < 0.99
        assert abs(found.by_known["all"].null_auc.rate - 0.5) < 0.1

    def test_each_user_and_group_has_a_figure(self, ratings):
        found = attack_by_shadows(ratings, lambda seed: Pseudonymizer(), 8).by_known["all"]
        assert found.of_users.users == tuple(range(120))
        assert np.mean([each.rate for each in found.of_users.auc]) > 0.98
        assert abs(np.mean([each.rate for each in found.of_users.control]) - 0.5) < 0.1
        names = [group.name for group in found.by_user_count]
        assert names == ["newcomers", "second quarter", "third quarter", "heavy users"]
        assert sum(group.figure.trials for group in found.by_user_count) == 120
        assert all(group.figure.rate > 0.95 for group in found.by_user_count)

    def test_exposed_newcomers_are_found(self):
        rng = np.random.default_rng(1)
        first = rng.random((200, 8)) < 0.5
        inside = np.stack([first, ~first], axis=2).reshape(200, 16)
        drawn = rng.random((200, 8)) < 0.5
        control = np.stack([drawn, ~drawn], axis=2).reshape(200, 16)
        activity, targets = np.arange(200), np.arange(200)
        noise = rng.normal(size=(200, 16))
        scores = noise + 2 * inside * (activity < 50)[:, None]
        groups = _by_user_count(scores, noise, inside, control, activity, targets)
        assert [group.figure.trials for group in groups] == [50] * 4  # 5% are too few
        assert groups[0].figure.low > 0.8
        for group in groups[1:]:
            assert group.figure.low < 0.5 < group.figure.high
        assert all(group.control.low < 0.5 < group.control.high for group in groups)

    def test_who_has_fewer_ratings_is_skipped(self):
        all_users = np.repeat(np.arange(30), 9)[:-8]  # the last one has a single rating
        items = np.tile(np.arange(9), 30)[:-8]
        values = np.random.default_rng(1).integers(1, 6, all_users.size)
        found = attack_by_shadows(
            Ratings.from_columns(all_users, items, values), lambda seed: Pseudonymizer(), 8
        )
        assert (found.by_known["8"].n_users, found.by_known["8"].skipped) == (29, 1)
        assert (found.by_known["all"].n_users, found.by_known["all"].skipped) == (30, 0)

    def test_no_user_with_eight_ratings(self):
        all_users = np.repeat(np.arange(20), 3)
        table = Ratings.from_columns(all_users, np.tile(np.arange(3), 20), all_users % 5 + 1)
        found = attack_by_shadows(table, lambda seed: Pseudonymizer(), 8)
        assert list(found.by_known) == ["all"]

    def test_too_few_users_are_refused(self):
        few = Ratings.from_columns([1, 2], ["a", "b"], [3, 4])
        with raises("table.too-few-users") as caught:
            attack_by_shadows(few, lambda seed: Pseudonymizer(), 8)
        assert "2 users" in str(caught.value)

    def test_halves_smaller_than_k_are_refused_by_name(self, ratings):
        with raises("table.too-few-users") as caught:
            attack_by_shadows(ratings, lambda seed: PredictiveAnonymizer(k=70, seed=seed), 8)
        assert "60 users" in str(caught.value)


class TestMaker:
    def test_it_draws_as_many_users_for_each(self, ratings):
        release = Synthesizer(None, n_users=600, item_catalog="as-rated", seed=1).anonymize(ratings)
        manifest = Manifest.of(release.published)
        written = Manifest(
            manifest.claim,
            manifest.layout,
            manifest.settings,
            manifest.scale,
            counts={"users": 600},
        )
        assert shadow_maker(written, ratings.n_users)(1).n_users == 300
        assert shadow_maker(written, ratings.n_users)(2).seed == 2

    def test_as_many_as_counted_by_default(self, ratings):
        release = Synthesizer(20.0, item_catalog="as-rated", seed=1).anonymize(ratings)
        made = shadow_maker(Manifest.of(release.published), ratings.n_users)(1)
        assert (made.n_users, made.epsilon) == (None, 20.0)

    def test_a_model_is_drawn_from_at_length(self, ratings):
        release = Synthesizer(None, item_catalog="as-rated", seed=1).anonymize(ratings)
        made = shadow_maker(Manifest.of(release.published, "model"), ratings.n_users)(1)
        assert made.n_users == 300

    def test_what_cannot_be_made_again_is_refused(self, ratings):
        levels = np.full(ratings.n_users, 5)
        release = PredictiveAnonymizer(k=5, privacy_levels=levels, seed=1).anonymize(ratings)
        with raises("release.unsupported"):
            shadow_maker(Manifest.of(release.published), ratings.n_users)


@pytest.fixture(scope="module")
def folder(ratings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shadows") / "out"
    anonymize(ratings, folder, k=5, method="predictive", seed=1)
    return folder


class TestAudit:
    def test_without_a_requested_number(self, ratings, folder):
        found = audit(ratings, release=folder, targets=20, curves=False)
        assert found.to_dict()["release"]["shadows"] is None

    def test_what_makes_no_sense_is_refused(self, ratings, folder):
        with raises("option.required"):
            audit(ratings, shadows=32)
        with raises("option.value") as caught:
            audit(ratings, release=folder, shadows=9)
        assert "is 9" in str(caught.value)
