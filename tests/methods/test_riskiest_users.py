"""Removal and truncation of the users whom a release exposes most."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.auditing import Risk, audit, write_risk
from recveil.datasets import make_ratings
from recveil.evaluation import audit_lists
from recveil.methods import anonymize, dry_run, forget
from recveil.methods.riskiest_users import _left_of
from recveil.ratings import Ratings
from recveil.runtime.errors import ReadingWarning
from recveil.verification import verify


def write(path, users, membership):
    known = np.array(["likes"] * len(users), dtype=object)
    risk = Risk(np.ones(len(users)), known, 1, np.array(membership), np.full(len(users), 0.5))
    write_risk(np.array(users, dtype=object), risk, path)
    return path


@pytest.fixture
def ratings():
    return make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)


@pytest.fixture
def risk(ratings, tmp_path):
    membership = np.linspace(0.5, 1, 60)
    membership[-1] = np.nan  # who was not scored stays
    return write(tmp_path / "risk.csv", ratings.users.tolist(), membership)


class TestRemoved:
    def test_the_riskiest_and_items_of_theirs_alone(self, tmp_path):
        users = ["ann", "ann", "ben", "ben", "cem", "cem", "dan", "dan"]
        items = ["a", "z", "a", "b", "a", "b", "b", "a"]
        table = Ratings.from_columns(users, items, [5, 1, 4, 3, 4, 3, 2, 1], scale="1:5:1")
        risk = write(tmp_path / "risk.csv", ["ann", "ben", "cem", "dan"], [0.9, 0.5, 0.6, 0.7])
        with pytest.warns(ReadingWarning, match="1 user .*25% of 4.*2 of 8 ratings; 1 item"):
            release = anonymize(
                *(table, tmp_path / "out"),
                **{"k": 3, "method": "predictive", "homogenize": "simple"},
                **{"protect_riskiest": 0.25, "risk": risk},
            )
        assert release.ratings.users.tolist() == ["ben", "cem", "dan"]
        assert release.ratings.items.tolist() == ["a", "b"]
        assert release.ratings.row(2)[1].tolist() == [1, 2]
        private = tmp_path / "out.private"
        stated = json.loads((private / "private.json").read_text())["protected"]
        assert stated == {"protect_riskiest": 0.25, "users": 1, "ratings": 2, "items": 1}
        assert pq.read_table(private / "protected.parquet").to_pylist() == [
            {"user_id": "ann", "left_out": 2}
        ]
        published = (tmp_path / "out/README.md").read_text()
        assert "25% of the users with the highest risk" in published
        assert "are not in this one" in published
        assert not any(b"ann" in each.read_bytes() for each in (tmp_path / "out").iterdir())
        assert "ann" not in repr(release.release.private.protection)
        assert verify(tmp_path / "out", private=private).holds

    def test_who_was_not_scored_stays(self, ratings, risk, tmp_path):
        with pytest.warns(ReadingWarning, match="1 user without a measured risk"):
            made = dry_run(ratings, tmp_path / "out", k=5, protect_riskiest=0.1, risk=risk)
        left = made.reading.ratings.users.tolist()
        assert left == [*ratings.users.tolist()[:53], ratings.users.tolist()[59]]

    def test_of_equal_risks_users_with_more_ratings_come_first(self, ratings, tmp_path):
        risk = write(tmp_path / "risk.csv", ratings.users.tolist(), [1.0] * 40 + [0.5] * 20)
        with pytest.warns(ReadingWarning, match="34 other users have the same risk .* 1.00"):
            made = dry_run(ratings, tmp_path / "out", k=5, protect_riskiest=0.1, risk=risk)
        left = set(made.reading.ratings.users.tolist())
        gone = [place for place, user in enumerate(ratings.users.tolist()) if user not in left]
        stayed = sorted(set(range(40)) - set(gone))
        assert len(gone) == 6
        assert ratings.activity[gone].min() >= ratings.activity[stayed].max()

    def test_the_shadow_releases_are_named(self, ratings, tmp_path):
        risk = Risk(
            *(np.ones(60), np.array(["likes"] * 60, dtype=object), 1),
            *(np.linspace(0.5, 1, 60), np.full(60, 0.5), "16 of synthetic users"),
        )
        write_risk(ratings.users, risk, tmp_path / "risk.csv")
        with pytest.warns(ReadingWarning, match="shadow releases: 16 of synthetic users"):
            dry_run(
                *(ratings, tmp_path / "out"),
                **{"k": 5, "protect_riskiest": 0.1, "risk": tmp_path / "risk.csv"},
            )

    def test_the_risks_of_a_recommender_are_rejected(self, ratings, tmp_path):
        audited = audit_lists(ratings, recommender="popular", shadows=8)
        write_risk(ratings.users, audited.risk, tmp_path / "risk.csv")
        with raises("release.mismatch"):
            anonymize(
                *(ratings, tmp_path / "out"),
                **{"k": 5, "protect_riskiest": 0.1, "risk": tmp_path / "risk.csv"},
            )

    @pytest.mark.parametrize("truncate_to", [None, 6])
    def test_the_audit_leaves_out_the_same_ratings(self, ratings, risk, tmp_path, truncate_to):
        with pytest.warns(ReadingWarning):
            made = anonymize(
                *(ratings, tmp_path / "out"),
                **{"k": 5, "seed": 1, "protect_riskiest": 0.1, "risk": risk},
                truncate_to=truncate_to,
            )
        out = tmp_path / "out"
        found = audit(made.ratings, release=out, targets=20, curves=False)
        assert found.published.same_ratings is True
        assert found.published.strongest[1].reidentified.rate <= 0.2
        left_out = ratings.n_ratings - made.ratings.n_ratings
        with pytest.warns(ReadingWarning, match=f"Left out {left_out} of 900 "):
            again = audit(ratings, release=out, targets=20, curves=False)
        stated, expected = again.to_dict(), found.to_dict()
        for key in ("risks", "risks_before", "release", "attacks"):
            assert stated[key] == expected[key]
        assert again.published.same_ratings is True

    def test_forget_knows_who_was_left_out(self, ratings, risk, tmp_path):
        with pytest.warns(ReadingWarning):
            anonymize(ratings, tmp_path / "out", k=5, protect_riskiest=0.1, risk=risk)
        out = tmp_path / "out"
        assert forget(out, user=ratings.users[58]).decision == "not-published"
        kept = forget(out, user=ratings.users[59], ratings=ratings)
        assert kept.decision == "row-kept"
        assert kept.newest.exact.same_ratings is True
        assert not forget(out, user="stranger").is_known

    def test_the_audit_reports_a_damaged_list(self, ratings, risk, tmp_path):
        with pytest.warns(ReadingWarning):
            anonymize(ratings, tmp_path / "out", k=5, protect_riskiest=0.1, risk=risk)
        (tmp_path / "out.private/protected.parquet").write_bytes(b"PAR1")
        with raises("release.damaged"):
            audit(ratings, release=tmp_path / "out", curves=False)


class TestTruncated:
    """The riskiest six of 60 users have 12 to 18 ratings; one of them has few enough."""

    def truncated(self, ratings, risk, folder, seed=1, truncate_to=13):
        with pytest.warns(ReadingWarning, match="Kept at most 13 random ratings of the 6 users"):
            return anonymize(
                *(ratings, folder),
                **{"k": 5, "seed": seed, "protect_riskiest": 0.1, "risk": risk},
                truncate_to=truncate_to,
            )

    def test_users_keep_some_of_their_own_ratings(self, ratings, risk, tmp_path):
        left = self.truncated(ratings, risk, tmp_path / "out").ratings
        assert left.users.tolist() == ratings.users.tolist()
        cells = set(
            zip(
                ratings.user_positions(),
                ratings.items[ratings.indices],
                ratings.values,
                strict=True,
            )
        )
        assert cells >= set(
            zip(left.user_positions(), left.items[left.indices], left.values, strict=True)
        )
        before, after = ratings.activity, left.activity
        assert (
            after == np.where(np.isin(np.arange(60), range(53, 59)), np.minimum(before, 13), before)
        ).all()
        assert (before[53:59] > 13).any()

    def test_the_seed_chooses_the_ratings(self, ratings, risk, tmp_path):
        first, same, other = (
            self.truncated(ratings, risk, tmp_path / str(n), seed).ratings
            for n, seed in enumerate((1, 1, 2))
        )
        assert first == same
        assert first != other

    def test_every_rating_is_as_likely_to_stay(self, ratings):
        kept = np.zeros(ratings.activity[0])
        for seed in range(2_000):
            left = _left_of(ratings, np.array([0]), 5, seed)
            kept += np.isin(ratings.items[ratings.row(0)[0]], left.items[left.row(0)[0]])
        rate = 5 / kept.size
        assert np.abs(kept / 2_000 - rate).max() < 4 * np.sqrt(rate * (1 - rate) / 2_000)

    def test_the_card_states_the_rule_and_no_outcome(self, ratings, risk, tmp_path):
        self.truncated(ratings, risk, tmp_path / "out")
        manifest = json.loads((tmp_path / "out/release.json").read_text())
        assert manifest["settings"]["protect_riskiest"] == 0.1
        assert manifest["settings"]["truncate_to"] == 13
        card = " ".join((tmp_path / "out/README.md").read_text().split())
        assert (
            "10% of the users with the highest risk (of equal ones, users with more ratings first) "
            "of membership inference in an earlier"
        ) in card
        assert "keep at most 13 random ratings each in this one" in card
        stated = json.loads((tmp_path / "out.private/private.json").read_text())["protected"]
        lost = np.maximum(ratings.activity[53:59] - 13, 0).sum()
        assert stated["ratings"] == lost
        assert verify(tmp_path / "out", private=tmp_path / "out.private").holds

    def test_who_has_few_ratings_is_named_as_unprotected(self, ratings, risk, tmp_path):
        n_whole = int((ratings.activity[53:59] <= 13).sum())
        assert n_whole > 0
        with pytest.warns(ReadingWarning, match=f"{n_whole} users? had no more ratings than that"):
            dry_run(
                *(ratings, tmp_path / "out"),
                **{"k": 5, "protect_riskiest": 0.1, "risk": risk, "truncate_to": 13},
            )


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"k": 5, "protect_riskiest": 0.1}, "option.required"),
            ({"k": 5, "risk": "risk.csv"}, "option.required"),
            ({"k": 5, "truncate_to": 5}, "option.required"),
            (
                {"k": 5, "protect_riskiest": 0.1, "risk": "risk.csv", "truncate_to": 0},
                "option.value",
            ),
            ({"k": 5, "protect_riskiest": 0.0, "risk": "risk.csv"}, "option.value"),
            ({"k": 5, "protect_riskiest": float("nan"), "risk": "risk.csv"}, "option.value"),
            ({"k": 5, "protect_riskiest": 0.6, "risk": "risk.csv"}, "option.value"),
            ({"epsilon": 3, "protect_riskiest": 0.1, "risk": "risk.csv"}, "option.conflict"),
            ({"k": 5, "protect_riskiest": 0.1, "risk": "none.csv"}, "input.unreadable"),
        ],
    )
    def test_before_the_work(self, ratings, tmp_path, monkeypatch, options, code):
        monkeypatch.chdir(tmp_path)
        with raises(code):
            anonymize(ratings, tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()

    def test_levels_of_users_who_may_be_removed(self, ratings, risk, tmp_path):
        levels = tmp_path / "levels.csv"
        levels.write_text("user_id,k\n1,7\n")
        with raises("option.conflict"):
            anonymize(
                *(ratings, tmp_path / "out"),
                **{"k": 5, "method": "predictive", "privacy_levels": levels},
                **{"protect_riskiest": 0.1, "risk": risk},
            )

    def test_a_file_of_other_users(self, ratings, tmp_path):
        risk = write(tmp_path / "risk.csv", ["stranger", *ratings.users.tolist()], [0.5] * 61)
        with raises("release.mismatch"):
            anonymize(ratings, tmp_path / "out", k=5, protect_riskiest=0.1, risk=risk)

    def test_a_file_without_membership(self, ratings, tmp_path):
        users = ratings.users
        plain = Risk(np.ones(60), np.array(["likes"] * 60, dtype=object), 1)
        write_risk(users, plain, tmp_path / "risk.csv")
        with raises("column.missing") as caught:
            anonymize(ratings, k=5, protect_riskiest=0.1, risk=tmp_path / "risk.csv")
        assert "--shadows" in str(caught.value)
