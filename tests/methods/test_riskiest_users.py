"""Removal of the users whom a release exposes most."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.auditing import Risk, audit, write_risk
from recveil.datasets import make_ratings
from recveil.methods import anonymize, dry_run
from recveil.ratings import Ratings
from recveil.runtime.errors import ReadingWarning


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
        assert '"ann"' not in (tmp_path / "out.private/private.json").read_text()

    def test_who_was_not_scored_stays(self, ratings, risk, tmp_path):
        with pytest.warns(ReadingWarning, match="1 user without a measured risk"):
            made = dry_run(ratings, tmp_path / "out", k=5, protect_riskiest=0.1, risk=risk)
        left = made.reading.ratings.users.tolist()
        assert left == [*ratings.users.tolist()[:53], ratings.users.tolist()[59]]

    def test_the_rest_of_the_table_audits_the_release(self, ratings, risk, tmp_path):
        with pytest.warns(ReadingWarning):
            made = anonymize(
                *(ratings, tmp_path / "out"),
                **{"k": 5, "seed": 1, "protect_riskiest": 0.1, "risk": risk},
            )
        out = tmp_path / "out"
        found = audit(made.ratings, release=out, targets=20, curves=False).published
        assert found.same_ratings is True
        assert found.strongest[1].reidentified.rate <= 0.2
        assert audit(ratings, release=out, targets=20, curves=False).published.same_ratings is False


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"k": 5, "protect_riskiest": 0.1}, "option.required"),
            ({"k": 5, "risk": "risk.csv"}, "option.required"),
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
