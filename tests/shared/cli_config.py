"""What the fast and the slow tests of `test_config.py` share."""

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
