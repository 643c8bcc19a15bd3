"""What the fast and the slow tests of `test_evaluate.py` share."""

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.evaluation import (
    split_ratings,
)
from recveil.io import write_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings

FILES = ("--train", "train.csv", "--test", "test.csv")

QUICK = ("--targets", 30, "--no-membership")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    ratings = make_ratings(n_users=90, n_items=40, n_ratings=1_800, seed=3)
    train, test = split_ratings(ratings, 0.2, seed=1)
    write_ratings(ratings, "ratings.csv")
    write_ratings(train, "train.csv")
    held_out = Ratings.from_columns(
        train.users[test.users], train.items[test.items], test.values, scale=train.scale
    )
    write_ratings(held_out, "test.csv")
    PredictiveAnonymizer(k=5, seed=1).anonymize(train).write("out")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run
