"""Options from a file: what it may hold, what wins, and that it is said."""

import json

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_ratings(make_ratings(n_users=60, n_items=30, n_ratings=600, seed=2), "ratings.csv")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run


def put(tmp_path, text, name="recveil.toml"):
    (tmp_path / name).write_text(text, encoding="utf-8")


class TestTaken:
    def test_what_is_typed_wins_and_is_not_said(self, run, tmp_path):
        put(tmp_path, '[anonymize]\nk = 4\nlayout = "users"\n')
        code, _, err = run(
            *("anonymize", "ratings.csv", "-o", "out", "--k", 6, "--config", "recveil.toml")
        )
        assert code == 0
        assert err.splitlines()[0] == 'recveil.toml gives layout = "users"; what is typed wins.'
        assert json.loads((tmp_path / "out/release.json").read_text())["k"] == 6
