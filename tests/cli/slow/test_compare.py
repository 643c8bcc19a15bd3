import json
import shutil

import pytest

from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.runtime.number_format import format_bounds
from shared.cli_compare import (
    SMALL,
    run,  # noqa: F401 (fixtures)
    write_table,
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Where `SMALL` has run."""
    folder = tmp_path_factory.mktemp("small")
    write_table(folder)
    options = {"methods": ["simple", "raw"], "k": [3, 99], "targets": 30}
    assert compare(folder / "ratings.csv", folder / "out", **options).computed == 3
    return folder


@pytest.fixture
def run_again(run, small, tmp_path):
    """Run where `SMALL` has run before: what it computed is not computed again."""
    shutil.copytree(small / "out", tmp_path / "out")
    return run


def test_table_page_and_files(run, tmp_path):
    code, out, err = run(*SMALL, "--max-risk", 0.9)
    assert (code, len(err.splitlines())) == (0, 1)
    assert err.startswith("Comparing 3 settings: simple, k = 3; simple, k = 99; raw. About ")
    assert "simple, k = 3" in out
    assert "no result" in out
    assert "“simple, k = 3”" in out.split("guarantee")[0]
    # The answer is read before the table that it comes from.
    assert out.index("“simple, k = 3”") < out.index("guarantee")
    assert "which is private" in out
    names = sorted(path.name for path in (tmp_path / "out").rglob("*.*"))
    assert names == [
        *("comparison.parquet", "index.html", "raw.json", "simple-k3.json", "simple-k99.json"),
    ]


def test_json_goes_to_standard_output_and_nothing_else(run_again):
    run = run_again
    code, out, err = run(*SMALL, "--json", "-")
    assert (code, len(err.splitlines())) == (0, 1)
    result = json.loads(out)
    assert {"output", "data", "settings", "methods", "rows", "ladder", "answer"} <= set(result)
    assert [row["title"] for row in result["rows"]] == ["simple, k = 3", "simple, k = 99", "raw"]
    again, out, _ = run(*SMALL, "--json", "-")
    assert (again, json.loads(out)) == (0, result)


@pytest.mark.parametrize("limit", [("--max-risk", 0.00001), ("--min-k", 50)])
def test_no_answer_ends_with_1(run_again, limit):
    code, out, _ = run_again(*SMALL, *limit)
    assert code == 1
    assert "no compared setting qualifies" in out


def test_nothing_is_cut_off_at_80_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shape = {"n_users": 200, "n_items": 60, "n_ratings": 6_000, "preference": 1.0, "noise": 0.4}
    write_ratings(make_ratings(seed=5, **shape), "tastes.csv")
    options = ("--methods", "padded,raw,rotation", "--k", "10", "--targets", 90, "-o", "out")
    _, out, _ = run("tastes.csv", *options)
    assert "…" not in out
    lines = out.splitlines()
    assert sum("│" in line for line in lines) > 6
    commands = [line for line in lines if line.startswith("  recveil ")]
    assert all(len(line) <= 80 for line in lines if line not in commands)


def test_only_what_was_not_attacked_has_a_legend(run_again):
    assert "Not attacked" not in run_again(*SMALL)[1]
    rotated = ("ratings.csv", "--methods", "rotation", "--targets", 30, "-o", "other")
    assert "Not attacked: the attacks cannot be run on the method" in run_again(*rotated)[1]


def test_shares_come_with_their_intervals(run):
    shape = {"n_users": 200, "n_items": 60, "n_ratings": 6_000, "preference": 1.0, "noise": 0.4}
    write_ratings(make_ratings(seed=5, **shape), "tastes.csv")
    options = ("--methods", "simple,raw", "--k", "3", "--targets", 30, "-o", "out")
    command = ("tastes.csv", *options, "--max-risk", 0.9)
    row, raw = json.loads(run(*command, "--json", "-")[1])["rows"]
    assert row["gain_retained_low"] < row["gain_retained"] < row["gain_retained_high"]
    assert raw["gain_retained_low"] == raw["gain_retained"] == raw["gain_retained_high"] == 1
    _, out, _ = run(*command)
    stated = " ".join(out.split())
    for name in ("lists", "ratings"):
        share = row["utility_retained"][name]
        ends = format_bounds(share["low"], share["high"])
        assert f"{name} {ends}%" in stated
        assert f"({ends})" in out
    assert "on this one split" in stated


def test_what_counts_can_be_asked_for(run_again):
    run = run_again
    answers = {}
    for worth in ("both", "lists", "ratings"):
        code, out, _ = run(*SMALL, "--max-risk", 0.9, "--utility", worth, "--json", "-")
        answer = json.loads(out)["answer"]
        assert code == (answer["row"] is None)
        assert answer["reason"] == ("below-baseline" if code else None)
        assert answer["utility"] == worth
        answers[worth] = answer["sentence"]
    assert len(set(answers.values())) > 1
    assert run(*SMALL, "--utility", "fun")[0] == 2
