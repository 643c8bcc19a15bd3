"""What the fast and the slow tests of `test_sparse.py` share."""

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings

ANONYMIZE = ("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--seed", 1)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_ratings(make_ratings(n_users=120, n_items=50, n_ratings=2_400, seed=3), "ratings.csv")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, " ".join(streams.out.split()), " ".join(streams.err.split())

    return run
