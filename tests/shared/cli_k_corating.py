"""What the fast and the slow tests of `test_k_corating.py` share."""

from pathlib import Path

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings

ANONYMIZE = ("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method", "k-corating")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_ratings(make_ratings(n_users=120, n_items=50, n_ratings=2_400, seed=3), "ratings.csv")
    Path("trust.txt").write_text("1 2 1\n2 3 1\n1 x 1\ny x 1\n")
    Path("nobody.txt").write_text("x y 1\n")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, " ".join(streams.out.split()), streams.err

    return run
