"""Releases of words without an order, judged: words, lists of liked items, and attacks."""

import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.evaluation.evaluator import NominalEvaluator
from recveil.evaluation.split import split_ratings
from recveil.methods.baselines.perturbation import Pseudonymizer
from recveil.methods.nominal import NominalAnonymizer
from recveil.ratings import RatingScale
from shared.evaluation_nominal_evaluation import (
    SCALE,
    made,  # noqa: F401 (fixtures)
)


def test_the_command_shows_it(made, capsys):
    with pytest.raises(SystemExit) as ended:
        main(
            ["evaluate", str(made / "words.csv"), "--release", str(made / "out"), "--split", "0.2"]
        )
    assert not ended.value.code
    out = " ".join(capsys.readouterr().out.split())
    assert "the item's most frequent label" in out
    assert "RMSE" not in out


@pytest.fixture(scope="module")
def judged():
    words = make_ratings(80, 30, 1_200, seed=4, scale=RatingScale(1, 3, 1)).with_scale(SCALE)
    parts = split_ratings(words, 0.25, seed=1)
    options = {"n_targets": 80, "with_membership": False, "liked": ("up",)}
    evaluator = NominalEvaluator(parts, **options)
    made = {"raw": Pseudonymizer(seed=1), "one row": NominalAnonymizer(80, seed=1)}
    return {name: evaluator.evaluate(each.anonymize(parts.train)) for name, each in made.items()}


def test_raw_words_keep_all_and_hide_no_user(judged):
    found = judged["raw"]
    assert found.release_gain == found.raw_gain
    kept = found.to_dict()["recipient"]["utility_retained"]["best"]
    assert kept["lists"]["value"] == 1.0
    attacks = found.to_dict()["disclosure"]["attacks"]
    assert max(attack["reidentified"]["rate"] or 0 for attack in attacks) > 0.5


def test_one_row_for_all_users_gives_no_lists_and_finds_no_user(judged):
    result = judged["one row"].to_dict()
    assert result["recipient"]["lists"]["release"]["ndcg@10"] is None or (
        result["recipient"]["utility_retained"]["chosen"]["lists"]["value"] < 1
    )
    for attack in result["disclosure"]["attacks"]:
        assert (attack["reidentified"]["rate"] or 0) <= 1 / 80 + 1e-9


def test_without_liked_words_no_list_is_stated_and_it_says_so(made):
    options = {"split": 0.2, "with_membership": False, "targets": 9}
    result = evaluate(made / "out", made / "words.csv", **options).to_dict()
    assert {each["targets_requested"] for each in result["disclosure"]["attacks"]} == {9}
    assert result["disclosure"]["membership"] is None
    assert result["liked"] is None
    assert result["recipient"]["raw_lists"]["unreliable_reason"] == "no-liked-labels"
    assert result["recipient"]["utility_retained"]["chosen"]["lists"]["is_reliable"] is False
    assert any("Lists are not evaluated" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (
            {"liked": "up,sideways"},
            "option.value",
        ),
        ({"liked": "up,down,none"}, "option.value"),
        ({"null_rule": "skip"}, "option.unsupported"),
        ({"targets": 0}, "option.value"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(made, options, code):
    with raises(code):
        evaluate(made / "out", made / "words.csv", split=0.2, **options)


def test_the_command_shows_lists(made, capsys):
    with pytest.raises(SystemExit) as ended:
        main(
            [
                *("evaluate", str(made / "words.csv"), "--release", str(made / "out")),
                *("--split", "0.2", "--liked", "up", "--no-membership", "--targets", "9"),
            ]
        )
    assert not ended.value.code
    out = " ".join(capsys.readouterr().out.split())
    assert "Items with up count as liked." in out
    assert "nDCG:" in out or "Lists cannot be evaluated" in out


def test_lists_of_liked_words_are_divided_by_group(made, tmp_path):
    words = (made / "words.csv").read_text().splitlines()
    users = sorted({line.split(",")[0] for line in words[1:]})
    side = tmp_path / "users.csv"
    rows = [f"{user},{'ab'[place % 2]}" for place, user in enumerate(users)]
    side.write_text("user_id,plan\n" + "\n".join(rows) + "\n")
    options = {"split": 0.2, "with_membership": False, "targets": 9}
    options |= {"users": side, "attribute": "plan"}
    with raises("option.unsupported"):
        evaluate(made / "words.csv", made / "out", **options)
    found = evaluate(made / "words.csv", made / "out", liked="up", **options).evaluation
    assert [each.name for each in found.divisions] == ["user count", "taste", "item count", "plan"]
    assert sum(group.n_users for group in found.divisions[-1].groups) == found.n_served
    assert found.divisions[-1].ratings is None  # labels have no RMSE
    assert found.to_dict()["divisions"][-1]["name"] == "plan"
