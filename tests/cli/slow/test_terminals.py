"""Every verb on terminals that can do little: forty columns, no colours, no way back in a line."""

import re
import shutil

import pytest

from recveil.cli import main
from recveil.datasets import generate

pytestmark = pytest.mark.usefixtures("few_recommenders")

LINES = {
    "inspect": "inspect ratings.csv",
    "audit": "audit ratings.csv --targets 10 --no-curves",
    "anonymize": "anonymize ratings.csv -o again --k 4",
    "dry run": "anonymize ratings.csv -o never --k 4 --dry-run",
    "verify": "verify out",
    "audit of a release": "audit ratings.csv --release out --targets 10 --no-curves",
    "evaluate": "evaluate ratings.csv --release out --split 0.2 --targets 10 --no-membership",
    "compare": "compare ratings.csv -o both --methods simple,raw --k 4 --targets 10",
    "meanings": "verify out --explain",
    "selftest": "selftest ratings.csv",
    "convert": "convert ratings.csv table.parquet",
    "generate": "generate more.csv --users 30 --items 20 --ratings 200",
    "describe": "describe out croissant.json",
    "config": "config recveil.toml",
    "help": "anonymize --help",
    "a refusal": "audit nowhere.csv",
}
# What of the text is not the terminal's business: names and messages are not cut.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_COLOURS = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7]|38;[0-9;]+)m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminals")
    generate(folder / "ratings.csv", users=60, items=40, ratings=900)
    with pytest.raises(SystemExit):
        main(["anonymize", str(folder / "ratings.csv"), "-o", str(folder / "out"), "--k", "4"])
    return folder


@pytest.mark.parametrize("surroundings", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize("line", LINES)
def test_nothing_breaks(line, surroundings, folder, monkeypatch, capsys, tmp_path):
    for name, value in {"COLUMNS": "40", "FORCE_COLOR": "1", **surroundings}.items():
        monkeypatch.setenv(name, value)
    if "TERM" in surroundings:
        monkeypatch.delenv("FORCE_COLOR")
    shutil.copytree(folder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(SystemExit) as ended:
        main(LINES[line].split())
    result = capsys.readouterr()
    assert ended.value.code == (2 if line == "a refusal" else 0), result.err
    text = result.out + result.err
    assert "Traceback" not in text
    assert not _COLOURS.search(text)
    if "TERM" in surroundings:
        assert not _ESCAPES.search(text)
    # Tables and rules keep to the width, whatever sentences do.
    drawn = [row for row in _ESCAPES.sub("", text).splitlines() if re.match(r"[┏┡│└╭╰┃]", row)]
    # Of a dumb terminal, rich takes eighty columns for granted where it shows help.
    assert all(len(row) <= (80 if "TERM" in surroundings else 40) for row in drawn)
