"""Releases of halves of the users, and the membership inference that they permit."""

import numpy as np
import pytest

from recveil.auditing import audit
from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Pseudonymizer, anonymize
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import bounds_of
from recveil.release.manifest_reader import known_manifest

pytestmark = pytest.mark.usefixtures("rough_fit")


@pytest.fixture(scope="module")
def ratings():
    made = make_ratings(n_users=120, n_items=80, n_ratings=3_000, seed=1)
    scale = RatingScale(1, 5, 1)
    return Ratings(made.users, made.items, made.indptr, made.indices, made.values, None, scale)


class OfOthers:
    """Releases without any of the users: the same strangers, drawn anew."""

    def __init__(self, ratings, seed):
        shuffled = np.random.default_rng(seed).permutation(ratings.n_ratings)
        indices = ratings.indices.copy()
        for user in range(ratings.n_users):
            own = slice(ratings.indptr[user], ratings.indptr[user + 1])
            rng = np.random.default_rng([seed, user])
            indices[own] = np.sort(rng.choice(ratings.n_items, own.stop - own.start, replace=False))
        self._others = Ratings(
            ratings.users,
            ratings.items,
            ratings.indptr,
            indices,
            ratings.values[shuffled],
            None,
            ratings.scale,
        )

    def anonymize(self, _):
        return Pseudonymizer().anonymize(self._others)


def maker(seed, kind=Synthesizer, **options):
    return kind(20.0, item_catalog="as-rated", seed=seed, **options)


class TestAttack:
    def test_exact_sums_of_few_users_reveal_members(self, ratings):
        found = attack_by_shadows(
            ratings, lambda seed: Synthesizer(None, item_catalog="as-rated", seed=seed), 8
        )
        assert found.by_known["all"].inferred.auc.low > 0.55
        # One such interval in twenty misses it, and seeds are fixed: a bit of room.
        by_lot = found.by_known["all"].null_auc
        assert by_lot.low - 0.02 < 0.5 < by_lot.high + 0.02

    def test_published_answers_are_attacked_too(self, ratings):
        """More than from users alone, and no more than the bound of the guarantee."""
        alone = attack_by_shadows(ratings, maker, 16)
        both = attack_by_shadows(ratings, lambda seed: maker(seed, publish_answers=True), 16)
        assert (alone.has_answers, both.has_answers) == (False, True)
        alone, both = alone.by_known["all"], both.by_known["all"]
        assert both.inferred.auc.low > alone.inferred.auc.high
        bound = bounds_of(maker(1).anonymize(ratings).published.claim)["most_auc"]
        assert 0.8 < both.inferred.auc.rate < bound
        assert both.null_auc.low - 0.02 < 0.5 < both.null_auc.high + 0.02

    def test_published_answers_of_others_reveal_nothing(self, ratings):
        class Others(Synthesizer):
            def anonymize(self, _):
                return super().anonymize(make_ratings(60, 80, 1_500, seed=self.seed))

        found = attack_by_shadows(
            ratings, lambda seed: maker(seed, publish_answers=True, kind=Others), 16
        )
        assert found.has_answers
        for result in found.by_known.values():
            assert result.inferred.auc.low < 0.5 < result.inferred.auc.high

    def test_a_release_of_others_reveals_nothing(self, ratings):
        found = attack_by_shadows(ratings, lambda seed: OfOthers(ratings, seed), 16)
        for result in found.by_known.values():
            assert result.inferred.auc.low < 0.5 < result.inferred.auc.high
            assert result.inferred.tpr_at_5.rate < 0.1

    def test_a_group_of_all_users_reveals_no_more_than_its_means(self, ratings):
        """All users share one row of exact means, to which each user contributes."""
        all_users = attack_by_shadows(
            ratings, lambda seed: PredictiveAnonymizer(k=60, seed=seed), 16
        )
        few = attack_by_shadows(ratings, lambda seed: PredictiveAnonymizer(k=5, seed=seed), 16)
        assert all_users.by_known["8"].inferred.auc.rate < few.by_known["8"].inferred.auc.rate

    def test_the_same_seed_gives_the_same_result(self, ratings):
        first, second = (
            attack_by_shadows(ratings, lambda seed: PredictiveAnonymizer(k=5, seed=seed), 8, seed=3)
            for _ in range(2)
        )
        assert first == second


@pytest.fixture(scope="module")
def folder(ratings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shadows") / "out"
    anonymize(ratings, folder, k=5, method="predictive", seed=1)
    return folder


class TestAudit:
    def test_it_stands_in_the_findings(self, ratings, folder):
        found = audit(ratings, release=folder, shadows=8, targets=20, curves=False)
        plain = found.to_dict()["release"]["shadows"]
        assert (plain["n"], plain["users"]) == (8, 120)
        for known in ("8", "all"):
            assert {"auc", "tpr_at_1", "tpr_at_5", "counts_auc", "null_auc"} < set(plain[known])
            assert plain[known]["auc"]["low"] <= plain[known]["auc"]["rate"]
        result = " ".join(found.published.to_dict()["verdict"])
        assert "8 releases, each of one half of the 120 users" in result
        assert "Exact counts of who rated each item" in result
        assert known_manifest(folder).claim.k == 5

    def test_of_drawn_users(self, ratings, tmp_path):
        release = Synthesizer(None, item_catalog="as-rated", seed=1).anonymize(ratings)
        release.write(tmp_path / "out")
        found = audit(ratings, release=tmp_path / "out", shadows=8, targets=20, curves=False)
        assert "all" in found.to_dict()["release"]["shadows"]
        assert "shadow" not in repr(found)

    def test_answers_are_named(self, ratings, tmp_path):
        options = {"epsilon": 20.0, "item_catalog": "as-rated", "ledger": "none"}
        anonymize(ratings, tmp_path / "out", publish_answers=True, **options)
        found = audit(ratings, release=tmp_path / "out", shadows=8, targets=20, curves=False)
        assert found.to_dict()["release"]["shadows"]["answers"] is True
        assert "The published answers are attacked, too" in str(found.to_dict())
