"""Sparse rows from the command line: every verb knows them, and what is not theirs is refused."""

from pathlib import Path

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


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--method", "sparse", "--crowd", 5), "crowd (--crowd) is 5; expected 20 to 256"),
        (("--method", "sparse", "--privacy-levels", "5"), "(--privacy-levels): only for the met"),
        (("--method", "sparse", "--l", 2), "l (--l): only for the method predictive"),
        (("--method", "sparse", "--labels", "model"), "labels (--labels): only for the method"),
        (("--crowd", 20), "crowd (--crowd): only for the method sparse"),
        (("--labels", "model", "--homogenize", "simple"), "labels (--labels) is 'model', but"),
    ],
)
def test_what_is_not_theirs_is_refused(run, options, told):
    code, _, err = run(*ANONYMIZE, *options)
    assert code == 2
    assert told in err
    assert not Path("out").exists()
