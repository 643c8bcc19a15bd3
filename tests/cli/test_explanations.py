"""--explain: what words mean stands below the result, and only words that stand in it."""

import json

import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.report.glossary import explain
from shared.cli_explanations import AUDIT, folder, here, printed  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("few_recommenders")


def test_what_an_adversary_knows_is_a_definition(printed):
    line, knows = (
        f"{AUDIT} --preset colleague",
        "A colleague who talked with the user about four items",
    )
    assert knows not in printed(line)
    assert knows in printed(f"{line} --explain")


def test_json_is_the_same(printed):
    result = [json.loads(printed(f"verify out --json - {more}")) for more in ("", "--explain")]
    assert result[0] == result[1]


def test_a_dry_run_has_nothing_to_explain(here, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", "ratings.csv", "-o", "never", "--k", "4", "--dry-run", "--explain"])
    assert ended.value.code == 2
    assert "--dry-run: not with --explain" in " ".join(capsys.readouterr().err.split())


def test_a_word_without_an_explanation_is_refused():
    with raises("internal.fault") as caught:
        explain(["control", "safety"])
    assert "'safety'" in str(caught.value)
