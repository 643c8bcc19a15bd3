import json

import numpy as np
import pytest

from recveil.evaluation import (
    TOO_SMALL,
    evaluate,
)
from recveil.evaluation.headline import headline
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from shared.cli_evaluate import (
    FILES,
    QUICK,
    run,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


def test_json_goes_to_a_file(run, tmp_path):
    code, out, _ = run("evaluate", *FILES, "--release", "out", *QUICK, "--json", "found.json")
    assert code == 0
    assert "insider" in out
    assert "recipient" in json.loads((tmp_path / "found.json").read_text())


def test_without_the_private_twin_it_says_what_is_missing(run, tmp_path):
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    code, out, err = run("evaluate", *FILES, "--release", "out", *QUICK)
    assert (code, err) == (0, "")
    assert "Nobody knows whose rows these are (out.private is not there)" in out
    assert "insider" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--release", "out"), "got none of them"),
        ((*FILES,), "expected --release DIR"),
        (("--train", "train.csv", "--release", "out"), "got --train"),
        (("ratings.csv", *FILES, "--release", "out"), "got --test, --train, SOURCE"),
        (("ratings.csv", "--split", 2, "--release", "out"), "share is 2.0"),
        ((*FILES, "--release", "nowhere"), "expected the folder of a release"),
        ((*FILES, "--release", "out", "--null-rule", "one"), "null-rule"),
        ((*FILES, "--release", "out", "--json", "train.csv"), "is the input itself"),
        ((*FILES, "--release", "out", "--json", "out/found.json"), "would be inside the release"),
        (("--train", "test.csv", "--test", "test.csv", "--release", "out"), "error: none of the"),
    ],
)
def test_wrong_usage_ends_with_a_message_and_code_2(run, tmp_path, arguments, message):
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run("evaluate", *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert sorted(tmp_path.rglob("*")) == before


def test_a_release_of_all_ratings_is_refused(run):
    whole = read_ratings("ratings.csv")
    PredictiveAnonymizer(5, "simple", seed=1).anonymize(whole).write("whole")
    code, out, err = run("evaluate", *FILES, "--release", "whole", *QUICK)
    assert (code, out) == (2, "")
    assert "perhaps with the test ratings among them" in err


def test_levels_of_ones_own_cannot_be_made_anew(run):
    train = read_ratings("ratings.csv")
    levels = np.full(train.n_users, 4)
    PredictiveAnonymizer(4, privacy_levels=levels, seed=1).anonymize(train).write("levels")
    code, _, err = run("evaluate", "ratings.csv", "--split", 0.2, "--release", "levels")
    assert code == 2
    assert "do not say how to make another such release" in err


def test_the_scale_is_that_of_the_release(run, tmp_path):
    rows = "user,item,rating\n" + "\n".join(
        f"{user},{item},{2 + (user + item) % 3}" for user in range(20) for item in range(8)
    )
    (tmp_path / "narrow.csv").write_text(rows + "\n")
    ratings = read_ratings("narrow.csv", scale=read_ratings("train.csv").scale)
    PredictiveAnonymizer(k=4, seed=1).anonymize(ratings).write("narrow")
    found = evaluate("narrow", "narrow.csv", split=0.3, targets=5, with_membership=False)
    assert str(found.train.scale) == "1:5:1"


def test_nothing_is_cut_off_at_80_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run("evaluate", *FILES, "--release", "out", *QUICK)
    assert "…" not in out
    lines = out.splitlines()
    assert sum("│" in line for line in lines) > 6
    assert all(len(line) <= 80 for line in lines)


class TestHeadline:
    def told(self, **changes):
        chosen = {"rmse": 0.9, "recommender": "kNN", "ndcg@10": 0.2, "ranker": "kNN"}
        gain = {"value": 0.04, "low": 0.03, "high": 0.05, "is_told": True, "why_not_told": None}
        return {
            "chosen": {"raw": chosen, "release": chosen},
            "best": {"raw": chosen, "release": chosen},
            "popularity": {"ndcg@10": 0.1},
            "averages": {"rmse": 0.94, "recommender": "means"},
            **{"raw_gain": gain, "raw_lists": gain, "release_gain": gain},
            "kept": self.kept(),
        } | changes

    def kept(self, **changes):
        half = {"value": 0.5, "low": 0.4, "high": 0.6, "is_told": True}
        return {"chosen": {"ratings": half, "lists": half, "lists_gain": half} | changes}

    def test_lists_are_told_from_popularity_on(self):
        assert "give 0.1000; from there, 50.0% of the gain is left (40.0% to 60.0%)" in self.say()
        for value, high, words in ((-0.2, -0.1, "worse"), (-0.2, 0.1, "not told to be better")):
            share = {"value": value, "low": -0.4, "high": high, "is_told": True}
            told = self.say(kept=self.kept(lists_gain=share))
            assert f"give 0.1000: the release's lists are {words}." in told

    def say(self, **changes):
        return headline({"recipient": self.told(**changes)})

    def test_worse_than_averages_only_where_the_interval_tells(self):
        share = {"value": -0.037, "low": -1.43, "high": 0.62, "is_told": False}
        wide = {"value": -0.001, "low": -0.04, "high": 0.02}
        told = self.say(kept=self.kept(ratings=share), release_gain=wide)
        assert "not told from averages of the raw ratings; what share of the gain of coll" in told
        assert "is not told (-143.0% to 62.0%)" in told
        assert "-3.7%" not in told
        sure = share | {"is_told": True, "low": -0.1, "high": 0.05}
        told = self.say(kept=self.kept(ratings=sure), release_gain=wide)
        assert "not told from averages of the raw ratings: -3.7% of the gain" in told
        assert "worth less" not in told
        told = self.say(
            kept=self.kept(ratings=share | {"high": -0.1}), release_gain=wide | {"high": -0.001}
        )
        assert "the release is worth less than averages" in told

    def test_worse_than_averages_is_said_where_the_raw_gain_is_too_small(self):
        gain = self.told()["raw_gain"] | {"is_told": False, "why_not_told": TOO_SMALL}
        told = self.say(raw_gain=gain, release_gain={"value": -0.02, "low": -0.04, "high": -0.01})
        assert "the release is worth less than averages" in told
        assert "too small to tell" in told

    def test_lists_that_cannot_be_told_are_named(self):
        none = {"rmse": 0.9, "recommender": "kNN", "ndcg@10": None, "ranker": "kNN"}
        told = self.say(chosen={"raw": none, "release": none})
        assert told.startswith("Lists cannot be told")
        assert "The release keeps 50.0% of the gain" in told
        few = self.told()["raw_lists"] | {"is_told": False, "why_not_told": "only 1 was judged"}
        assert "Lists cannot be told: of their nDCG, only 1 was judged." in self.say(raw_lists=few)
