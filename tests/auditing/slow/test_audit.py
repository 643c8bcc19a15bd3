import json

import numpy as np
import pytest

from recveil.attacks import PRESETS, Candidates
from recveil.auditing import audit, look_for
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.ratings import Ratings
from recveil.runtime import progress


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("audit") / "ratings.csv"
    write_ratings(make_ratings(n_users=200, n_items=80, n_ratings=4_000, seed=9), path)
    return path


@pytest.fixture(scope="module")
def found(file):
    return audit(file, targets=60)


def test_everything_is_plain_data(found):
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["data"]["users"] == 200
    assert [attack["name"] for attack in plain["attacks"]] == list(PRESETS)
    assert [figure["number"] for figure in plain["figures"]] == [
        *("1", "4", "5", "6", "7", "8", "9", "10", "11", "12")
    ]
    attacked = int((found.ratings.activity >= 4).sum())  # the colleague knows four ratings
    assert sum(entry["users"] for entry in plain["risk"]["bins"]) == attacked
    assert np.isnan(found.risk.rates).sum() == 200 - attacked
    assert all(check["holds"] for check in plain["checks"])


def test_the_same_seed_gives_the_same_audit(file, found):
    assert audit(file, targets=60).to_dict() == found.to_dict()


def test_without_times_no_adversary_knows_dates(tmp_path):
    ratings = Ratings.from_frame(
        make_ratings(60, 40, 900, seed=1).to_arrow().drop_columns("timestamp")
    )
    write_ratings(ratings, tmp_path / "r.csv")
    found = audit(tmp_path / "r.csv", targets=20)
    assert all(outcome.adversary.date_error is None for outcome in found.attacks)
    descriptions = {o.adversary.name: o.adversary.description for o in found.attacks}
    assert "Here no dates are known" in descriptions["paper"]
    assert "Here no dates are known" not in descriptions["public-profile"]


class TestOutsideKnowledge:
    def test_agrees_with_the_fast_attack(self, tmp_path):
        from recveil.attacks import Knowledge, ScoreboardRH

        ratings = make_ratings(n_users=80, n_items=40, n_ratings=1_200, seed=6)
        items, values = ratings.row(3)
        lines = [f"t,{ratings.items[i]},{v:g}" for i, v in zip(items, values, strict=True)]
        (tmp_path / "aux.csv").write_text("\n".join(["target,item,rating", *lines]))
        candidates = Candidates.from_ratings(ratings)
        (suspects,) = look_for(ratings, candidates, tmp_path / "aux.csv")
        knowledge = Knowledge(
            np.array([3]), np.array([0, items.size]), items, values, None, None, 0
        )
        guesses = ScoreboardRH().attack(candidates, knowledge, np.arange(80))
        assert suspects.eccentricity == pytest.approx(guesses.eccentricity[0], rel=1e-4)
        assert suspects.users[0] == str(ratings.users[guesses.best[0]])


def test_an_audit_without_a_terminal_says_how_far_it_is(invented, monkeypatch, capsys):
    """A part of it takes less than a minute, and yet all of it may take long."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.2)
    audit(invented, targets=20)
    result = capsys.readouterr().err.splitlines()
    assert result
    assert all(line.startswith("Auditing (") for line in result)
    assert "% in " in result[-1]
    assert " left" in result[-1] or "longer than estimated" in result[-1]
