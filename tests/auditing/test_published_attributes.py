"""Audits of releases with attributes of users, of which adversaries know those of their targets."""

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, AttackTarget, attack_release
from recveil.auditing import attribute_inference, audit, shadow_releases
from recveil.auditing.attribute_inference import infer_user_attributes
from recveil.auditing.opened_release import open_release
from recveil.auditing.shadow_releases import ShadowMembership, shadow_published
from recveil.auditing.three_risks import AND_ATTRIBUTES
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.methods import Pseudonymizer, anonymize
from recveil.report.audit.disclosure import describe_shadows
from recveil.report.audit.risks import lines_of
from recveil.report.audit.text import dangers_of, headline_of, warnings_of_release
from recveil.report.document import parts_of
from recveil.runtime.errors import ReadingWarning

RATINGS = make_ratings(n_users=400, n_items=60, n_ratings=6000, seed=1)
GROUPS = 8


def groups_of(seed=0):
    """A group per user, which has nothing to do with their ratings."""
    return np.random.default_rng(seed).integers(GROUPS, size=RATINGS.n_users)


def written(path, groups):
    rows = zip(RATINGS.users.tolist(), groups.tolist(), strict=True)
    path.write_text("user_id,group,parity\n" + "".join(f"{u},g{g},{g % 2}\n" for u, g in rows))
    return path


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    return written(tmp_path_factory.mktemp("users") / "users.csv", groups_of())


@pytest.fixture(scope="module", params=["users", "groups"])
def release(tmp_path_factory, users, request):
    folder = tmp_path_factory.mktemp("release") / "out"
    options = {"users": users, "attribute": "group", "layout": request.param}
    anonymize(RATINGS, folder, k=5, seed=1, **options)
    return folder


class TestTarget:
    def test_classes_have_the_attribute_of_their_users(self, release):
        table = AttackTarget.from_folder(release, RATINGS)
        groups, found = groups_of(), table.attributes["group"]
        assert [sum(each.values()) for each in found] == table.candidates.sizes.tolist()
        for user, record in enumerate(table.record_of.tolist()):
            assert found[record].keys() <= {f"g{groups[user]}", "*"}

    def test_a_release_in_memory_has_them_too(self, users):
        made = anonymize(RATINGS, k=5, seed=1, users=users, attribute="group")
        table = AttackTarget.from_release(made, RATINGS)
        assert Counter(len(each) for each in table.attributes["group"]) == {
            1: table.candidates.n_records
        }

    def test_a_target_agrees_with_its_own_class_and_suppressed_ones(self, release, users):
        known = {"group": [f"g{group}" for group in groups_of().tolist()]}
        table = open_release(RATINGS, release, users=known).rows
        targets = np.arange(50)
        seen = np.zeros(50, int)
        for places, records in table.agreeing(targets):
            seen[places] += 1
            assert set(table.record_of[targets[places]]) <= set(records.tolist())
            texts = {text for record in records for text in table.attributes["group"][record]}
            assert texts - {"*"} == {known["group"][targets[places[0]]]}
        assert (seen == 1).all()


class TestReidentification:
    def found(self, release, known):
        table = open_release(RATINGS, release, users=known).rows
        return attack_release(RATINGS, table, Adversary(known=4), np.arange(RATINGS.n_users))

    def test_known_attributes_raise_the_rate(self, release):
        """With eight groups that ratings do not tell, classes are found several times as often."""
        without = self.found(release, None)
        known = self.found(release, {"group": [f"g{group}" for group in groups_of().tolist()]})
        assert known.attack.endswith("with attributes")
        assert known.class_reidentified.low > 2 * without.class_reidentified.rate
        assert known.reidentified.rate <= known.bound
        assert known.reidentified.trials == without.reidentified.trials

    def test_control(self, release):
        """Attributes of other users find no more classes than none."""
        wrong = [f"g{group}" for group in groups_of(seed=7).tolist()]
        without, control = self.found(release, None), self.found(release, {"group": wrong})
        assert control.class_reidentified.rate <= without.class_reidentified.rate + 0.02

    def test_unknown_attributes_agree_with_all_classes(self, release):
        nothing = self.found(release, {"group": [None] * RATINGS.n_users})
        without = self.found(release, None)
        assert nothing.class_reidentified.rate == pytest.approx(
            without.class_reidentified.rate, abs=0.02
        )


class TestAudit:
    def test_without_the_file_it_warns(self, release):
        result = audit(RATINGS, release=release, curves=False, targets=60)
        assert not result.published.knows_attributes
        (warning,) = [w for w in warnings_of_release(result.published) if "--users" in w]
        assert warning in dangers_of(result)

    def test_with_the_file_adversaries_use_it(self, release, users):
        options = {"release": release, "curves": False, "targets": 60}
        result = audit(RATINGS, users=users, **options)
        assert result.published.knows_attributes
        assert "all ratings and 'group' of a target" in headline_of(result.published)
        assert {*AND_ATTRIBUTES.values()} < {
            figure.adversary for figure in result.risks.linkability.figures
        }
        assert "all ratings, published attributes" in " ".join(lines_of(result.risks))
        assert not any("--users" in w for w in warnings_of_release(result.published))
        manifest = replace(result.published.manifest, previous="0" * 64)
        follower = warnings_of_release(replace(result.published, manifest=manifest))
        assert not any("--shadows" in w for w in follower)  # none are made of a series
        plain = audit(RATINGS, **options)
        assert result.published.strongest[1].class_reidentified.rate > (
            plain.published.strongest[1].class_reidentified.rate
        )
        assert result.attribute_inference == []
        assert result.published.clusters.class_inferred.rate >= (
            plain.published.clusters.class_inferred.rate
        )

    def test_a_file_without_the_published_column(self, release, tmp_path):
        file = tmp_path / "users.csv"
        file.write_text("user_id,height\n0,7\n")
        with raises("column.missing"):
            audit(RATINGS, release=release, users=file, attribute="height", curves=False)

    def test_a_file_for_a_release_without_attributes(self, users, tmp_path):
        anonymize(RATINGS, tmp_path / "out", k=5, seed=1)
        with raises("option.required", "attribute"):
            audit(RATINGS, release=tmp_path / "out", users=users, curves=False)


def test_an_evaluated_release_has_the_attributes(tmp_path, users):
    anonymize(RATINGS, tmp_path / "out", k=5, seed=1, users=users, attribute="group")
    options = {"release": tmp_path / "out", "split": 0.2, "targets": 40, "with_membership": False}
    found = evaluate(RATINGS, users=users, attribute="group", **options).evaluation.disclosure
    assert found.knows_attributes
    assert found.manifest.user_columns.names == ("group",)
    with pytest.warns(ReadingWarning, match="without them"):
        found = evaluate(RATINGS, **options).evaluation.disclosure
    assert found.manifest.user_columns is None


def test_shadow_releases_have_the_attributes_of_synthetic_users(tmp_path, monkeypatch, rough_fit):
    table = make_ratings(n_users=120, n_items=24, n_ratings=1_400, seed=1)
    (tmp_path / "users.csv").write_text(
        "user_id,group\n" + "".join(f"{user},g{user % 2}\n" for user in table.users.tolist())
    )
    options = {"users": tmp_path / "users.csv", "attribute": "group=g0,g1"}
    made = {"epsilon": 50, "scale": "1:5:1", "item_catalog": "as-rated", "ledger": "none"}
    anonymize(table, tmp_path / "out", **options, **made)
    known = {"group": [f"g{user % 2}" for user in table.users.tolist()]}
    opened = open_release(table, tmp_path / "out", users=known)
    shadowed = partial(shadow_published, table, tmp_path / "out", 8, 0)
    monkeypatch.setattr(shadow_releases, "attack_by_shadows", lambda *_, **given: given)
    assert shadowed(opened.attributes)["attributes"].columns == known
    assert shadowed(open_release(table, tmp_path / "out").attributes)["attributes"] is None
    plain = audit(table, release=tmp_path / "out", curves=False, targets=20).published
    assert any("--users" in w for w in warnings_of_release(plain))
    measured = replace(plain, shadows=ShadowMembership(8, 120, {}, has_attributes=True))
    assert not any("attributes" in w for w in warnings_of_release(measured))
    assert any("attributes" in each for each in describe_shadows(measured.shadows))
    assert parts_of(measured.shadows)["attributes"] is True


class TestInference:
    """Rows of one user each, which eight ratings find, with a group that ratings do not tell."""

    def inferred(self, release, texts, shown):
        """Infer `texts` from rows with other ones, of which each user's are `shown`."""
        table = AttackTarget.from_release(Pseudonymizer(seed=1).anonymize(RATINGS), RATINGS)
        _, user_of = np.unique(table.record_of, return_index=True)
        published = {"group": [Counter([shown[user]]) for user in user_of.tolist()]}
        opened = open_release(RATINGS, release, users={"group": texts})
        opened = opened._replace(table=replace(table, attributes=published))
        (found,) = infer_user_attributes(RATINGS, {"group": texts}, opened, seed=2)
        return found.in_release

    def test_planted(self, release):
        texts = [f"g{group}" for group in groups_of().tolist()]
        found = self.inferred(release, texts, texts)
        assert found.by_row.rate > 0.95
        assert found.adds.low > 0.3
        assert found.control.low < 0.02

    def test_null(self, release):
        texts = [f"g{group}" for group in groups_of().tolist()]
        others = [f"g{group}" for group in groups_of(seed=9).tolist()]
        found = self.inferred(release, texts, others)
        assert found.by_row.high < 0.7
        assert found.adds.low < 0.05

    def test_what_is_inferred_is_not_known(self, release):
        """An adversary who knew the group already would infer it from the classes that have it."""
        texts = {"group": [f"g{group}" for group in groups_of().tolist()]}
        opened = open_release(RATINGS, release, users=texts)
        (found,) = infer_user_attributes(RATINGS, texts, opened, seed=2)
        assert found.in_release.known_attributes == ()
        assert found.in_release.by_row.high < 0.7

    def test_an_attribute_that_another_published_one_reveals(self, release):
        """The parity follows from the group of the row that eight ratings find."""
        groups = groups_of()
        table = AttackTarget.from_release(Pseudonymizer(seed=1).anonymize(RATINGS), RATINGS)
        _, user_of = np.unique(table.record_of, return_index=True)
        opened = open_release(RATINGS, release)
        parity = {"parity": [str(group % 2) for group in groups.tolist()]}
        for own, low, high in ((groups, 0.95, 1), (groups_of(seed=9), 0.3, 0.65)):
            published = {"group": [Counter([f"g{own[user]}"]) for user in user_of.tolist()]}
            opened = opened._replace(table=replace(table, attributes=published))
            (found,) = infer_user_attributes(RATINGS, parity, opened, seed=2)
            assert low <= found.in_release.by_row.rate <= high
            assert found.in_release.control.low < 0.05

    def test_attributes_that_are_known_are_no_gain(self, release, monkeypatch):
        """An adversary who knows the group, equal to what is inferred, learns nothing of a row."""
        monkeypatch.setattr(attribute_inference, "same_again", lambda *_: None)
        texts = {"group": [f"g{group}" for group in groups_of().tolist()]}
        opened = open_release(RATINGS, release, users=texts)
        same = {"same": [f"s{group}" for group in groups_of().tolist()]}
        (found,) = infer_user_attributes(RATINGS, same, opened, seed=2)
        assert found.in_release.known_attributes == ("group",)
        assert found.in_release.by_known.rate > 0.95
        assert found.in_release.adds.low < 0.02


def test_attributes_of_others_are_rejected(release, tmp_path):
    options = {"release": release, "attribute": "group", "targets": 20, "curves": False}
    with raises("release.mismatch"):
        audit(RATINGS, users=written(tmp_path / "others.csv", groups_of(1)), **options)
