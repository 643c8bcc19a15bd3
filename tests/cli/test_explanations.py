"""--explain: what words mean stands below the result, and only words that stand in it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.cli.explanations import MEANINGS, explain
from recveil.datasets import generate

pytestmark = pytest.mark.usefixtures("few_recommenders")

GLOSSARY = Path(__file__).parents[2] / "docs" / "reference" / "glossary.md"

AUDIT = "audit ratings.csv --targets 10 --no-curves"
# Releases that the lines above ask about.
MADE = {
    "out": "ratings.csv --k 4 --homogenize simple",
    "other": "ratings.csv --k 5",
    "co-rated": "ratings.csv --k 4 --method k-corating",
    "drawn": "ratings.csv --epsilon 100 --scale 1:5:1 --catalogue as-rated",
    "liked": "likes.csv --k 4 --method sparse",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meanings")
    generate(folder / "ratings.csv", users=60, items=40, ratings=900)
    rows = [line.split(",") for line in (folder / "ratings.csv").read_text().splitlines()]
    (folder / "likes.csv").write_text("".join(f"{row[0]},{row[1]}\n" for row in rows))
    known = "".join(f"a,{item},{rating}\n" for _, item, rating, _ in rows[1:6])
    (folder / "aux.csv").write_text(f"target,item,rating\n{known}")
    for name, made in MADE.items():
        source, *options = made.split()
        with pytest.raises(SystemExit) as ended:
            main(["anonymize", str(folder / source), "-o", str(folder / name), *options])
        assert ended.value.code == 0, name
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("COLUMNS", "250")  # so that no head of a column is broken


@pytest.fixture
def printed(here, capsys):
    def run(line: str) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(line.split())
        told = capsys.readouterr()
        assert ended.value.code == 0, told.err
        return told.out

    return run


def test_what_an_adversary_knows_is_a_definition(printed):
    line, knows = f"{AUDIT} --preset colleague", "A colleague who talked with you about four items"
    assert knows not in printed(line)
    assert knows in printed(f"{line} --explain")


def test_json_is_the_same(printed):
    told = [json.loads(printed(f"verify out --json - {more}")) for more in ("", "--explain")]
    assert told[0] == told[1]


def test_a_dry_run_has_nothing_to_explain(here, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", "ratings.csv", "-o", "never", "--k", "4", "--dry-run", "--explain"])
    assert ended.value.code == 2
    assert "leave one of them out" in " ".join(capsys.readouterr().err.split())


def test_a_word_that_nobody_explained_is_refused():
    with raises("internal.fault") as caught:
        explain(["found", "safety"])
    assert "'safety'" in str(caught.value)


def test_the_glossary_has_the_same_sentences():
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    told = {word: text for words, text in rows for word in words.split(", ")} | dict(rows)
    for word, meaning in MEANINGS.items():
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", told[word]).replace("*", "")
        assert text.startswith(meaning), word
