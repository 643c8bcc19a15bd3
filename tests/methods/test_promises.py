"""Privacy levels and diversity, from the setting to the published file and its checker."""

import itertools
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import Adversary, AttackTarget, attack_release
from recveil.clustering import MDAV
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, anonymize
from recveil.methods.components import LEVEL_GROUPINGS
from recveil.verification import verify


@pytest.fixture(scope="module")
def invented():
    return make_ratings(n_users=120, n_items=60, n_ratings=2000, seed=4)


def users_of(release, ratings):
    """The size of each user's group."""
    groups = release.private.groups
    sizes = np.empty(ratings.n_users, np.int64)
    sizes[groups.members] = np.repeat(groups.sizes, groups.sizes)
    return sizes


class TestLevels:
    @settings(deadline=None, max_examples=15)
    @given(
        seed=st.integers(0, 99),
        highest=st.integers(2, 30),
        homogenize=st.sampled_from(["simple", "padded"]),
    )
    def test_all_users_are_in_a_group_as_large_as_their_own_level(self, seed, highest, homogenize):
        ratings = make_ratings(n_users=60, n_items=20, n_ratings=400, seed=seed)
        levels = np.random.default_rng(seed).integers(1, highest + 1, 60)
        release = PredictiveAnonymizer(
            5, homogenize, "item-mean", privacy_levels=levels, seed=seed
        ).anonymize(ratings)
        assert (users_of(release, ratings) >= levels).all()
        assert release.published.claim.k == levels.min()
        groups = release.private.groups
        promised = np.concatenate([block.promised for block in release.published.blocks()])
        for group, (start, end) in enumerate(itertools.pairwise(groups.starts)):
            assert promised[group] == levels[groups.members[start:end]].max()

    @pytest.mark.parametrize("layout", ["users", "groups"])
    @pytest.mark.parametrize("file_format", ["csv", "parquet"])
    @pytest.mark.parametrize("homogenize", ["simple", "padded"])
    def test_a_written_release_verifies(self, invented, tmp_path, layout, file_format, homogenize):
        rule = "activity<12:9,activity>=40:1,else:3"
        release = PredictiveAnonymizer(5, homogenize, privacy_levels=rule, seed=2).anonymize(
            invented
        )
        result = release.write(tmp_path / "out", layout=layout, file_format=file_format)
        assert result.holds
        assert result.has_levels
        assert result.k_achieved == 1
        sizes = users_of(release, invented)
        assert result.singletons == (sizes == 1).sum() > 0
        card = (tmp_path / "out" / "README.md").read_text()
        assert f"**{result.singletons} users have a record of their own**" in card
        private = pq.read_table(tmp_path / "out.private" / "assignment.parquet")
        levels = dict(zip(*(private[name].to_pylist() for name in ("user_id", "k")), strict=True))
        for user, activity in zip(invented.users.tolist(), invented.activity, strict=True):
            assert levels[user] == (9 if activity < 12 else 1 if activity >= 40 else 3)

    def test_one_under_protected_user_is_named(self, invented, tmp_path):
        release = PredictiveAnonymizer(
            5, "simple", privacy_levels="activity<20:6,else:2", seed=2
        ).anonymize(invented)
        release.write(tmp_path / "out", file_format="csv")
        file = tmp_path / "out" / "ratings.csv"
        header, *lines = file.read_text().replace('"', "").splitlines()
        rows = {}
        for line in lines:
            name, *label = line.split(",")
            rows.setdefault(name, []).append(label)
        # Take users out of a group that promises 6 until five are left.
        careful = next(row for row in rows.values() if row[0][2] == "6")
        group = [name for name in rows if rows[name] == careful]
        gone = group[5:]
        kept = [line for line in lines if line.split(",")[0] not in gone]
        file.write_text("\n".join([header, *kept]) + "\n")
        result = verify(tmp_path / "out")
        assert not result.holds
        named = {v.user_id for v in result.violations if "shared by 5 users" in v.problem}
        assert named == set(group[:5])
        problem = "its values are shared by 5 users; at least 6 required"
        assert sum(problem in violation.problem for violation in result.violations) == 5

    def test_a_lowered_promise_is_seen(self, invented, tmp_path):
        release = PredictiveAnonymizer(5, "simple", privacy_levels="4", seed=2).anonymize(invented)
        release.write(tmp_path / "out", file_format="csv")
        file = tmp_path / "out" / "ratings.csv"
        lines = file.read_text().splitlines()
        lines[1] = lines[1][: lines[1].rindex(",")] + ",3"
        file.write_text("\n".join(lines) + "\n")
        problems = " ".join(violation.problem for violation in verify(tmp_path / "out").violations)
        assert "its k changes within the record" in problems

    @pytest.mark.parametrize("name", list(LEVEL_GROUPINGS))
    def test_either_grouping_can_be_named(self, invented, name):
        levels = np.where(invented.activity < 15, 6, 1)
        release = PredictiveAnonymizer(
            6, "simple", grouping=name, privacy_levels=levels, seed=2
        ).anonymize(invented)
        assert (users_of(release, invented) >= levels).all()

    @pytest.mark.parametrize(
        ("setting", "code", "name"),
        [
            ({"privacy_levels": "activity<x:3"}, "option.value", "activity<x"),
            ({"privacy_levels": "200"}, "option.value", "200"),
            ({"privacy_levels": [1, 2]}, "argument.shape", "120"),
            ({"privacy_levels": np.zeros(120, int)}, "level.value", "row 0"),
            ({"privacy_levels": "3", "grouping": "mdav"}, "option.value", "'mdav'"),
            ({"grouping": "level-gather"}, "option.required", "--privacy-levels"),
            (
                {"privacy_levels": "activity<10:3,else:9", "grouping": "one-k-gather"},
                "level.value",
                "'one-k-gather'",
            ),
        ],
    )
    def test_senseless_levels_are_refused(self, invented, setting, code, name):
        with raises(code, name):
            PredictiveAnonymizer(5, **setting).anonymize(invented)

    def test_a_grouping_that_breaks_a_level_is_refused(self, invented):
        class Careless(MDAV):
            def fit(self, X, y=None, levels=None):
                return super().fit(X)

        with raises("argument.result") as caught:
            PredictiveAnonymizer(3, grouping=Careless(3), privacy_levels="9").anonymize(invented)
        assert "level 9" in str(caught.value)

    def test_levels_from_a_file(self, tmp_path):
        source, output, levels = tmp_path / "r.csv", tmp_path / "out", tmp_path / "levels.csv"
        rows = "1,8,5 1,9,4 2,8,5 3,9,1 4,9,1 4,8,2 5,8,4 6,9,2"
        source.write_text("user,item,rating\n" + rows.replace(" ", "\n") + "\n")
        levels.write_text("user_id,k\n1,1\n2,4\n")
        result = anonymize(source, output, k=2, method="predictive", privacy_levels=levels, seed=1)
        assert result.release.private.levels.tolist() == [1, 4, 2, 2, 2, 2]
        assert result.verification.holds
        levels.write_text("user_id,k\n1,1\n77,4\n")
        with raises("id.unknown", "77"):
            anonymize(source, tmp_path / "other", k=2, method="predictive", privacy_levels=levels)
        assert not (tmp_path / "other").exists()

    def test_no_user_is_found_beyond_their_own_bound(self, invented):
        levels = np.where(invented.activity < 15, 6, 1)
        release = PredictiveAnonymizer(6, "simple", privacy_levels=levels, seed=2).anonymize(
            invented
        )
        table = AttackTarget.from_release(release, invented)
        careful = np.flatnonzero(levels == 6)
        found = attack_release(invented, table, Adversary(known=4), careful)
        assert found.reidentified.rate <= found.bound <= 1 / 6
        all_users = attack_release(invented, table, Adversary(known=4), np.arange(120))
        assert all_users.bound > 1 / 6


class TestDiversity:
    @pytest.mark.parametrize("b", [1, 2, 3])
    @pytest.mark.parametrize("layout", ["users", "groups"])
    def test_a_written_release_is_diverse(self, invented, tmp_path, b, layout):
        release = PredictiveAnonymizer(5, "simple", b=b, l=3, seed=1).anonymize(invented)
        result = release.write(tmp_path / "out", layout=layout)
        assert result.holds
        assert result.diversity.smallest >= 3
        rows = set()
        for block in release.published.blocks():
            for start, end in itertools.pairwise(block.indptr):
                rows.add(tuple(block.indices[start:end].tolist()))
        # Plainly: each set of b items that one user rated stands in three rows.
        for user in range(0, invented.n_users, 7):
            rated = invented.row(user)[0].tolist()[:6]
            for items in itertools.combinations(rated, b):
                assert sum(set(items) <= set(row) for row in rows) >= 3

    def test_what_it_cost_is_stated(self, invented):
        release = PredictiveAnonymizer(5, "simple", b=2, l=3, seed=1).anonymize(invented)
        plain = PredictiveAnonymizer(5, "simple", seed=1).anonymize(invented)
        cost = release.private.diversity_cost
        labels, before = (
            sum(block.values.size for block in made.published.blocks()) for made in (release, plain)
        )
        assert cost.labels == before
        assert cost.added == labels - before > 0
        assert cost.rmse_after != cost.rmse_before

    def test_padded_rows_need_nothing(self, invented, tmp_path):
        release = PredictiveAnonymizer(5, b=3, l=4, seed=1).anonymize(invented)
        assert release.private.diversity_cost is None
        assert release.write(tmp_path / "out").diversity.smallest >= 4

    def test_a_set_that_is_taken_away_is_missed(self, invented, tmp_path):
        release = PredictiveAnonymizer(5, "simple", b=1, l=3, seed=1).anonymize(invented)
        release.write(tmp_path / "out", file_format="csv", layout="groups")
        file = tmp_path / "out" / "ratings.csv"
        lines = file.read_text().splitlines()
        items = [line.split(",")[1] for line in lines[1:]]
        rare = min(set(items), key=items.count)
        first = 1 + items.index(rare)
        kept = [line for at, line in enumerate(lines) if at <= first or line.split(",")[1] != rare]
        file.write_text("\n".join(kept) + "\n")
        problems = " ".join(violation.problem for violation in verify(tmp_path / "out").violations)
        assert f"item {rare} occurs in 1" in problems

    def test_more_can_be_asked_than_is_claimed(self, invented, tmp_path):
        PredictiveAnonymizer(5, "simple", seed=1).anonymize(invented).write(tmp_path / "out")
        assert verify(tmp_path / "out").diversity is None
        assert not verify(tmp_path / "out", b=2, l=3).holds
        assert verify(tmp_path / "out", b=2, l=1).holds

    def test_the_claim_stands_in_the_manifest(self, invented, tmp_path):
        PredictiveAnonymizer(5, "simple", b=2, l=3, seed=1).anonymize(invented).write(
            tmp_path / "out"
        )
        manifest = json.loads((tmp_path / "out" / "release.json").read_text())
        assert manifest["diversity"] == {"b": 2, "l": 3}
        assert "(2, 3)-diversity" in (tmp_path / "out" / "README.md").read_text()

    def test_too_few_groups_are_refused(self, invented):
        for homogenize in ("simple", "padded"):
            with raises("table.too-few-users") as caught:
                PredictiveAnonymizer(30, homogenize, l=9).anonymize(invented)
            assert "9 different" in str(caught.value)

    @pytest.mark.parametrize("setting", [{"b": 0}, {"b": 1.5}, {"l": 0}, {"l": 2.5}])
    def test_senseless_sets_are_refused(self, invented, setting):
        (name,) = setting
        with raises("option.value", name):
            PredictiveAnonymizer(5, **setting).anonymize(invented)
