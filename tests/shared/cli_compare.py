"""What the fast and the slow tests of `test_compare.py` share."""

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings


def write_table(folder):
    # Recommenders beat the baselines here; otherwise no setting is recommended.
    shape = {"n_users": 90, "n_items": 60, "n_ratings": 2_600, "preference": 1.0, "noise": 0.4}
    ratings = make_ratings(seed=3, **shape)
    write_ratings(ratings, folder / "ratings.csv")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    write_table(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(["compare", *(str(argument) for argument in arguments)])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run


SMALL = ("ratings.csv", "--methods", "simple,raw", "--k", "3,99", "--targets", 30, "-o", "out")
