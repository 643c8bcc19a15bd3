import json

import numpy as np
import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.evaluation import (
    TOO_SMALL,
    Evaluator,
    Split,
    evaluate,
    match_held_out,
    split_ratings,
)
from recveil.evaluation.headline import headline
from recveil.io import read_ratings, write_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.ratings import Ratings

pytestmark = pytest.mark.usefixtures("few_recommenders")

FILES = ("--train", "train.csv", "--test", "test.csv")
QUICK = ("--targets", 30, "--no-membership")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    ratings = make_ratings(n_users=90, n_items=40, n_ratings=1_800, seed=3)
    train, test = split_ratings(ratings, 0.2, seed=1)
    write_ratings(ratings, "ratings.csv")
    write_ratings(train, "train.csv")
    held_out = Ratings.from_columns(
        train.users[test.users], train.items[test.items], test.values, scale=train.scale
    )
    write_ratings(held_out, "test.csv")
    PredictiveAnonymizer(k=5, seed=1).anonymize(train).write("out")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run


def test_the_tables_and_the_headline(run):
    code, out, err = run("evaluate", *FILES, "--release", "out", *QUICK, "--all")
    assert (code, err) == (0, "")
    deciding = ("insider", "bound", "RMSE: ", "item mean + user bias")
    others = ("item neighbours", "one's own row", "the rule “zero”", "Kendall", "density")
    for words in (*deciding, *others):
        assert words in out
    code, short, err = run("evaluate", *FILES, "--release", "out", *QUICK)
    assert (code, err) == (0, "")
    assert all(words in short for words in deciding)
    assert not any(words in short for words in others[1:])
    assert len(short.splitlines()) < len(out.splitlines()) - 20
    assert "--all shows every recommender" in short


def test_json_is_what_the_library_finds(run):
    code, out, err = run("evaluate", *FILES, "--release", "out", *QUICK, "--json", "-")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert {"users", "items", "ratings", "density"} <= set(found["data"])
    train = read_ratings("train.csv", times=False)
    held_out = match_held_out(train, read_ratings("test.csv", times=False)).test
    judge = Evaluator(Split(train, held_out), n_targets=30, with_membership=False)
    expected = judge.evaluate("out").to_json()
    assert {name: found[name] for name in expected} == expected
    assert (found["release"], found["made_anew"], found["split"]) == ("out", False, None)
    assert found["target_deviation"]["n_cells"] == held_out.users.size
    assert found["disclosure"]["membership"] is None


def test_json_goes_to_a_file(run, tmp_path):
    code, out, _ = run("evaluate", *FILES, "--release", "out", *QUICK, "--json", "found.json")
    assert code == 0
    assert "insider" in out
    assert "recipient" in json.loads((tmp_path / "found.json").read_text())


def test_the_null_rule_and_the_seed_are_passed_on(run):
    KCoRater(k=3, seed=1).anonymize(read_ratings("train.csv")).write("rated")
    options = ("--release", "rated", *QUICK, "--json", "-")
    found = [
        json.loads(run("evaluate", *FILES, *options, "--null-rule", rule)[1])
        for rule in ("zero", "skip")
    ]
    assert [each["target_deviation"]["null_rule"] for each in found] == ["zero", "skip"]
    assert found[0]["target_deviation"]["rmse"] > found[1]["target_deviation"]["rmse"]
    other = json.loads(run("evaluate", *FILES, *options, "--seed", 7)[1])
    assert other["seed"] == 7
    assert other["disclosure"]["attacks"] != found[0]["disclosure"]["attacks"]


def test_a_split_judges_another_release_of_the_same_kind(run):
    options = ("--split", 0.2, "--release", "out", *QUICK, "--seed", 2)
    code, out, err = run("evaluate", "ratings.csv", *options)
    assert (code, err) == (0, "")
    assert "it is this one that is judged, not out itself" in out
    found = json.loads(run("evaluate", "ratings.csv", *options, "--json", "-")[1])
    assert (found["made_anew"], found["split"], found["left_out"]) == (True, 0.2, None)
    parts = split_ratings(read_ratings("ratings.csv", times=False), 0.2, seed=2)
    release = PredictiveAnonymizer(k=5, seed=2).anonymize(parts.train)
    judge = Evaluator(parts, n_targets=30, seed=2, with_membership=False)
    assert found["recipient"] == judge.evaluate(release).to_json()["recipient"]


def test_without_the_private_twin_it_says_what_is_missing(run, tmp_path):
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    code, out, err = run("evaluate", *FILES, "--release", "out", *QUICK)
    assert (code, err) == (0, "")
    assert "Nobody knows whose rows these are (out.private is not there)" in out
    assert "insider" not in out


def test_left_out_test_ratings_are_counted(run, tmp_path):
    lines = (tmp_path / "test.csv").read_text().splitlines()
    cell = (tmp_path / "train.csv").read_text().splitlines()[1].split(",")[:3]
    known = ",".join(cell)
    stranger = "999999," + lines[1].split(",", 1)[1]
    (tmp_path / "test.csv").write_text("\n".join([*lines, known, stranger]) + "\n")
    code, out, err = run("evaluate", *FILES, "--release", "out", *QUICK)
    assert (code, err) == (0, "")
    assert "Left out: 1 test ratings of users (1) or items (0)" in out
    assert "Left out: 1 test ratings that stand among the training ratings" in out


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
        ((*FILES, "--release", "out", "--json", "out/found.json"), "would stand in the release"),
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


def test_the_headline_tells_errors_lists_and_who_they_are_by(run):
    command = ("evaluate", *FILES, "--release", "out", *QUICK)
    told = json.loads(run(*command, "--json", "-")[1])["recipient"]
    out = " ".join(run(*command)[1].split())
    assert f"{told['averages']['rmse']:.4f} with item mean + user bias." in out
    sides = ("best_raw", "raw ratings", ", the best"), ("release", "release", "")
    for side, words, best in sides:
        lists = told["lists"][side]
        assert f"{lists['ndcg@10']:.4f} with the {words} ({lists['recommender']}{best})" in out
    assert f"the same for everybody, give {told['popularity']['ndcg@10']:.4f}" in out
    if told["gain_low"] is not None:
        assert told["gain_low"] <= told["gain_kept"] <= told["gain_high"]


def test_labels_present_and_the_share_absent_stand_beside_the_rule(run):
    """In simple rows much of the RMSE by the rule "zero" comes from labels that are not there."""
    PredictiveAnonymizer(5, "simple", seed=1).anonymize(read_ratings("train.csv")).write("few")
    command = ("evaluate", *FILES, "--release", "few", *QUICK)
    told = json.loads(run(*command, "--json", "-")[1])
    own = told["target_deviation"]
    assert own["rmse_present"] < 0.75 * own["rmse"]
    assert own["null_share"] > 0.1
    out = run(*command, "--all")[1]
    for words in ("RMSE of labels", "share", "absent", "on common items alone"):
        assert words in out
    row = " ".join(out[out.index("one's own row") :].split()[4:9:2])
    assert row == f"{own['rmse_present']:.4f} {own['null_share']:.1%} {own['rmse']:.4f}"
    assert told["self_rank_common_first"] <= told["self_rank_first"]


def test_the_best_of_those_run_are_told_beside_the_chosen(run):
    command = ("evaluate", *FILES, "--release", "out", *QUICK)
    best = json.loads(run(*command, "--json", "-")[1])["recipient"]["best"]
    out = " ".join(run(*command)[1].split())
    assert "All shares above are of the recommenders that a recipient would choose" in out
    for side in ("raw", "release"):
        assert {"rmse", "ndcg@10", "recommender"} <= set(best[side])
        assert f"{best[side]['rmse']:.4f} ({best[side]['recommender']})" in out
        assert f"{best[side]['ndcg@10']:.4f} ({best[side]['ranker']})" in out


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
