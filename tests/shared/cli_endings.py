"""What the fast and the slow tests of `test_endings.py` share."""

import signal

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings


@pytest.fixture
def ratings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=3)
    write_ratings(ratings, "ratings.csv")
    return ratings


def ended(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    streams = capsys.readouterr()
    return stop.value.code, streams.out, streams.err


def interrupt(*_, **__):
    raise KeyboardInterrupt


def hear_signals():
    """Undo what nohup, or a shell's background, asked of whatever it starts: to hear none."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
