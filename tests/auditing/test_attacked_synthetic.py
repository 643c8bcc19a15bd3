"""A release in which no record is any user's: what does not apply is said, the rest is measured."""

import shutil

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, hold_out
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.inference.attributes import infer_attributes, infer_embeddings, score_nearest
from recveil.attacks.membership.inference import MembershipTargets
from recveil.auditing import _audit, audit
from recveil.auditing.release_attacks import attack_synthetic
from recveil.io import write_ratings
from recveil.methods import Pseudonymizer, anonymize
from recveil.release.manifest import Manifest
from recveil.report.audit.text import describe_resemblance
from recveil.report.document import parts_of, plain
from shared.auditing_attacked_synthetic import audited, folder, found, model, ratings  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("synthetic")


def test_membership_is_measured_next_to_control_and_promise(found):
    release = found["release"]
    result = release["membership"]
    for known in ("8", "16", "all"):
        assert 0 <= result[known]["auc"]["low"] <= result[known]["auc"]["rate"] <= 1
        assert result[known]["null_auc"]["trials"] == result[known]["auc"]["trials"]
    bound = release["membership_bound"]
    assert 0.5 < bound["auc"] < 1
    assert result["all"]["auc"]["low"] <= bound["auc"]
    assert 0.05 < bound["tpr_at_5"] < 1
    assert bound["auc"] < bound["accuracy_of_two"] < 1


def test_inference_about_members_is_next_to_outsiders(found):
    for key in ("nearest", "inference"):
        result = found["release"]["synthetic"][key]
        for name in ("members", "nonmembers", "excess"):
            assert result[name]["low"] <= result[name]["rate"] <= result[name]["high"]
        assert result["excess"]["rate"] == pytest.approx(
            result["members"]["rate"] - result["nonmembers"]["rate"]
        )


def test_the_page_says_what_does_not_apply(audited):
    page = audited.to_html()
    assert "Re-identification attacks do not apply" in page
    assert "epsilon 10.0" in page
    assert "users share each" not in page
    assert "Re-identification in the release" not in page


def test_two_releases_are_not_held_against_each_other(folder, ratings, tmp_path):
    with raises("option.unsupported"):
        audit(ratings, release=folder / "noisy", second_release=folder / "exact", targets=20)
    anonymize(ratings, tmp_path / "rows", k=5, method="predictive", seed=1)
    with raises("option.unsupported"):
        audit(ratings, release=tmp_path / "rows", second_release=folder / "noisy", targets=20)


class TestModel:
    """Anyone can draw users from a model: it is attacked as five times as many of them."""

    def test_a_model_that_was_changed_is_refused(self, model, ratings, tmp_path):
        changed = shutil.copytree(model, tmp_path / "changed")
        (changed / "model.parquet").write_bytes(b"no model")
        with raises("release.damaged", "model.parquet", "SHA-256"):
            audit(ratings, release=changed, targets=20)


class TestRefusedBeforeTheWork:
    """What cannot be attacked is refused before shadow releases are made."""

    @pytest.fixture(autouse=True)
    def no_work(self, monkeypatch):
        def begun(*_, **__):
            raise AssertionError("the work began")

        for name in ("shadow_published", "attack_opened", "attack_table"):
            monkeypatch.setattr(_audit, name, begun)

    def test_another_release_without_records_of_users(self, folder, ratings):
        both = {"release": folder / "noisy", "second_release": folder / "exact"}
        with raises("option.unsupported"):
            audit(ratings, **both, shadows=8)

    def test_a_catalogue_where_no_item_is_hidden(self, folder, ratings, tmp_path):
        write_ratings(ratings, tmp_path / "r.csv")
        with raises("option.unsupported"):
            audit(ratings, release=folder / "noisy", item_catalog=tmp_path / "r.csv", shadows=8)

    def test_rows_without_their_twin(self, ratings, tmp_path):
        anonymize(ratings, tmp_path / "rows", k=5, method="predictive", seed=1)
        shutil.rmtree(tmp_path / "rows.private")
        with raises("private.not-found", "rows.private"):
            audit(ratings, release=tmp_path / "rows", shadows=8)

    def test_ratings_that_were_changed(self, folder, ratings, tmp_path):
        changed = shutil.copytree(folder / "noisy", tmp_path / "changed")
        (changed / "ratings.parquet").write_bytes(b"no ratings")
        with raises("release.damaged", "ratings.parquet", "SHA-256"):
            audit(ratings, release=changed, shadows=8)

    def test_the_rest_is_begun(self, folder, ratings):
        with pytest.raises(AssertionError, match="the work began"):
            audit(ratings, release=folder / "noisy", shadows=8)


def test_records_of_users_are_not_for_these_attacks(ratings):
    release = Pseudonymizer(seed=1).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    with raises("release.unsupported"):
        attack_synthetic(ratings, table, Manifest.of(release.published))


class TestWhatMembershipReveals:
    """Planted: records that are members' own. Null: all users have one and the same record."""

    who = Adversary(known=8)

    def test_attributes_of_members_are_inferred(self, ratings):
        held_out = hold_out(ratings, Pseudonymizer(seed=1), seed=1)
        nearest = score_nearest(ratings, held_out, self.who)
        assert nearest.excess.low > 0.3
        assert nearest.members.mean > 0.9

    def test_one_record_for_all_users_reveals_nothing(self, ratings):
        held_out = hold_out(ratings, Pseudonymizer(seed=1), seed=1)
        no_user = self.null(held_out, ratings)
        for describe in (score_nearest, infer_embeddings):
            result = describe(ratings, no_user, self.who)
            assert result.excess.low <= 0 <= result.excess.high

    def test_without_guesses_there_is_no_rate(self, ratings):
        no_user = self.null(hold_out(ratings, Pseudonymizer(seed=1), seed=1), ratings)
        result = infer_embeddings(ratings, no_user, self.who)
        assert parts_of(result)["attack"] == "no attack applied"
        assert plain(result)["members"]["rate"] is None
        assert "no attack applied" in describe_resemblance(result, "An adversary", "")
        assert "0.0 points" not in describe_resemblance(result, "An adversary", "")
        attributes = infer_attributes(ratings, no_user, self.who)
        assert parts_of(attributes)["attack"] == "no attack applied"

    def null(self, held_out, ratings):
        table = held_out.table
        from recveil.attacks.candidates import Candidates
        from recveil.release.records import Records

        everything = np.arange(ratings.n_items, dtype=np.int32)
        labels = np.full(ratings.n_items, 3.0)
        users = np.array([table.candidates.n_users])
        one = Records(users, np.array([0, ratings.n_items]), everything, labels)
        same = AttackTarget(
            candidates=Candidates.from_records([one], ratings.n_items, ratings.scale),
            indptr=one.indptr,
            indices=everything,
            values=labels,
            record_of=np.full(ratings.n_users, -1),
            k=1,
            promised=np.ones(1, np.int64),
            contains_users=False,
        )
        return MembershipTargets(same, held_out.members, held_out.nonmembers)

    def test_no_user_who_is_known_too_little_is_counted(self, ratings):
        held_out = hold_out(ratings, Pseudonymizer(seed=1), seed=1)
        few = MembershipTargets(held_out.table, held_out.members[:3], held_out.nonmembers)
        assert score_nearest(ratings, few, self.who) is None
        assert infer_embeddings(ratings, few, self.who) is None
