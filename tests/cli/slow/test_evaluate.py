import json

import pytest

from recveil.evaluation import (
    Evaluator,
    Split,
    match_held_out,
    split_ratings,
)
from recveil.io import read_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from shared.cli_evaluate import (
    FILES,
    QUICK,
    run,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


def test_the_tables_and_the_headline(run):
    code, out, err = run("evaluate", *FILES, "--release", "out", *QUICK, "--all")
    assert (code, err) == (0, "")
    deciding = ("insider", "at most", "RMSE: ", "item mean + user bias")
    others = ("item neighbours", "the user's own row", "the rule “zero”", "Kendall", "density")
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
    expected = judge.evaluate("out").to_dict()
    assert {name: found[name] for name in expected} == expected
    assert (found["release"], found["is_remade"], found["split"]) == ("out", False, None)
    assert found["target_deviation"]["n_cells"] == held_out.users.size
    assert found["disclosure"]["membership"] is None


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
    assert "not out itself" in out
    found = json.loads(run("evaluate", "ratings.csv", *options, "--json", "-")[1])
    assert (found["is_remade"], found["split"], found["left_out"]) == (True, 0.2, None)
    assert found["disclosure"]["headline"].startswith("In the other release, ")
    parts = split_ratings(read_ratings("ratings.csv", times=False), 0.2, seed=2)
    release = PredictiveAnonymizer(k=5, seed=2).anonymize(parts.train)
    judge = Evaluator(parts, n_targets=30, seed=2, with_membership=False)
    assert found["recipient"] == judge.evaluate(release).to_dict()["recipient"]


def test_left_out_test_ratings_are_counted(run, tmp_path):
    lines = (tmp_path / "test.csv").read_text().splitlines()
    cell = (tmp_path / "train.csv").read_text().splitlines()[1].split(",")[:3]
    known = ",".join(cell)
    outsider = "999999," + lines[1].split(",", 1)[1]
    (tmp_path / "test.csv").write_text("\n".join([*lines, known, outsider]) + "\n")
    code, out, err = run("evaluate", *FILES, "--release", "out", *QUICK)
    assert (code, err) == (0, "")
    assert "Left out: 1 test ratings of users (1) or items (0)" in out
    assert "Left out: 1 test ratings that are also training ratings" in out


def test_the_headline_states_errors_lists_and_recommenders(run):
    command = ("evaluate", *FILES, "--release", "out", *QUICK)
    result = json.loads(run(*command, "--json", "-")[1])["recipient"]
    out = " ".join(run(*command)[1].split())
    assert f"{result['averages']['rmse']:.4f} from item mean + user bias." in out
    sides = ("best_raw", "raw ratings", ", the best"), ("release", "release", "")
    for side, words, best in sides:
        lists = result["lists"][side]
        assert f"{lists['ndcg@10']:.4f} from the {words} ({lists['recommender']}{best})" in out
    assert f"{result['popularity']['ndcg@10']:.4f}" in out


def test_labels_present_and_the_share_absent_stand_next_to_the_rule(run):
    """In simple rows much of the RMSE by the rule "zero" comes from labels that are not there."""
    PredictiveAnonymizer(5, "simple", seed=1).anonymize(read_ratings("train.csv")).write("few")
    command = ("evaluate", *FILES, "--release", "few", *QUICK)
    result = json.loads(run(*command, "--json", "-")[1])
    own = result["target_deviation"]
    assert own["rmse_present"] < 0.75 * own["rmse"]
    assert own["null_share"] > 0.1
    out = run(*command, "--all")[1]
    for words in ("RMSE of values", "share", "absent", "on common items alone"):
        assert words in out
    for figure in (f"{own['rmse_present']:.4f}", f"{own['null_share']:.1%}", f"{own['rmse']:.4f}"):
        assert figure in out
    assert result["self_rank_common_first"] <= result["self_rank_first"]


def test_the_best_of_those_run_are_stated_next_to_the_chosen(run):
    command = ("evaluate", *FILES, "--release", "out", *QUICK)
    best = json.loads(run(*command, "--json", "-")[1])["recipient"]["best"]
    out = " ".join(run(*command)[1].split())
    assert "All shares above are of the recommenders that a recipient would choose" in out
    for side in ("raw", "release"):
        assert {"rmse", "ndcg@10", "recommender"} <= set(best[side])
        assert f"{best[side]['rmse']:.4f} ({best[side]['recommender']})" in out
        assert f"{best[side]['ndcg@10']:.4f} ({best[side]['ranker']})" in out
