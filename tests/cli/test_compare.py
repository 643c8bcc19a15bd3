import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from shared.cli_compare import (
    SMALL,
    run,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


def test_no_result_at_all_ends_with_1(run):
    code, out, _ = run(*SMALL[:1], "--methods", "simple", "--k", 99, "-o", "out")
    assert code == 1
    assert "90 users cannot form a group" in out


@pytest.mark.parametrize("limit", [(), ("--max-risk", 0.5)])
def test_no_recommendation_at_any_limit_ends_with_1(run, limit):
    rng = np.random.default_rng(1)
    cells = rng.permutation(40 * 30)[:400]
    table = {"user": cells // 30, "item": cells % 30, "rating": rng.integers(1, 6, 400)}
    csv.write_csv(pa.table(table), "noise.csv")
    how = "--methods", "simple,raw", "--k", 3, "--targets", 10, "-o", "noise", "--json", "out.json"
    code, _, _ = run("noise.csv", *how, *limit)
    document = json.loads(Path("out.json").read_text())
    answers = [document["answer"]] if limit else document["ladder"]
    assert (code, {answer["row"] for answer in answers}) == (1, {None})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ratings.csv",), "--output"),
        (("nowhere.csv", "-o", "out"), "nowhere.csv"),
        (("ratings.csv", "-o", "out", "--methods", "magic"), "method 'magic': expected all"),
        (("ratings.csv", "-o", "out", "--k", "2;3"), "--k '2;3'"),
        (("ratings.csv", "-o", "out", "--k", "1"), "k is 1"),
        (("ratings.csv", "-o", "out", "--split", "2"), "share is 2"),
        (("ratings.csv", "-o", "."), "has files that are not of a comparison"),
        (("ratings.csv", "-o", "a/b"), "create it first"),
        (("ratings.csv", "-o", "out", "--max-risk", "0"), "is 0.0; expected a share above 0"),
        (("ratings.csv", "-o", "out", "--json", "ratings.csv"), "the input itself"),
    ],
)
def test_wrong_usage_ends_with_2(run, tmp_path, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["ratings.csv"]
