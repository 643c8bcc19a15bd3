"""What the fast and the slow tests of `test_audit.py` share."""

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_ratings(make_ratings(n_users=120, n_items=50, n_ratings=2_400, seed=3), "ratings.csv")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run


@pytest.fixture
def likes(run, tmp_path):
    """The ratings of the same users as likes: every rating is 1, and there are no dates."""
    ratings = make_ratings(n_users=120, n_items=50, n_ratings=2_400, seed=3)
    pairs = zip(ratings.user_positions(), ratings.indices, strict=True)
    (tmp_path / "likes.csv").write_text("\n".join(f"{user},{item},1" for user, item in pairs))
    return "likes.csv"


NEVER_RATED = "Here the wrong entries are items that the target never rated"

NEVER_LIKED = NEVER_RATED.replace("rated", "liked")
