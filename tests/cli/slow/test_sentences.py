"""Terminal output is no wider than the terminal; other output has one sentence a line."""

import io
import re
import shutil
import sys

import pytest

from recveil.cli import main
from recveil.datasets import generate

LINES = {
    "inspect": "inspect ratings.csv",
    "audit": "audit ratings.csv --targets 10 --no-curves",
    "anonymize": "anonymize ratings.csv -o again --k 4",
    "dry run": "anonymize ratings.csv -o never --k 4 --dry-run",
    "verify": "verify out --links",
    "audit of a release": "audit ratings.csv --release out --targets 10 --no-curves",
    "evaluate": "evaluate ratings.csv --release out --split 0.2 --targets 10 --no-membership",
    "compare": "compare ratings.csv -o both --methods simple,raw --k 4 --targets 10",
    "meanings": "audit ratings.csv --release out --targets 10 --no-curves --explain",
    "selftest": "selftest ratings.csv",
    "convert": "convert ratings.csv table.parquet",
    "generate": "generate more.csv --users 30 --items 20 --ratings 200",
    "describe": "describe out croissant.json",
    "config": "config other.toml",
    "help": "anonymize --help",
    "a refusal": "audit nowhere-that-anybody-has-ever-heard-of.csv",
}

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sentences")
    generate(folder / "ratings.csv", users=60, items=40, ratings=900)
    with pytest.raises(SystemExit):
        main(["anonymize", str(folder / "ratings.csv"), "-o", str(folder / "out"), "--k", "4"])
    return folder


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_verb_is_wider_than_the_terminal(width, folder, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    shutil.copytree(folder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    wide = []
    for name, line in LINES.items():
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        with pytest.raises(SystemExit) as ended:
            main(line.split())
        assert ended.value.code == (2 if name == "a refusal" else 0), terminal.getvalue()
        rows = _ESCAPES.sub("", terminal.getvalue()).replace("\r", "\n").splitlines()
        assert rows, name
        # A name stays whole: it stands alone on its line then.
        wide += [f"{name}: {row}" for row in rows if len(row) > width and len(row.split()) > 1]
    assert wide == []
