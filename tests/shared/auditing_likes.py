"""What the fast and the slow tests of `test_likes.py` share."""

import numpy as np
import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.ratings import Ratings

NEVER_LIKED = "Here the wrong entries are items that the target never liked"


def table(values_of, *, dated=False, seed=1):
    """Ratings of eighty users, each turned into another one."""
    ratings = make_ratings(n_users=80, n_items=60, n_ratings=1_600, seed=seed)
    return Ratings.from_columns(
        ratings.user_positions(),
        ratings.indices,
        values_of(ratings.values),
        ratings.days if dated else None,
    )


def write(ratings, path, *, dated=False):
    lines = zip(ratings.user_positions(), ratings.indices, ratings.values, strict=True)
    rows = [f"{user},{item},{value:g}" for user, item, value in lines]
    if dated:
        rows = [f"{row},{day * 86_400}" for row, day in zip(rows, ratings.days, strict=True)]
    path.write_text("\n".join(rows))
    return path


@pytest.fixture(scope="module")
def likes(tmp_path_factory):
    return write(table(np.ones_like), tmp_path_factory.mktemp("likes") / "likes.csv")


@pytest.fixture(scope="module")
def found(likes):
    return audit(likes, targets=40)


def by_name(found):
    return {outcome.adversary.name: outcome.adversary for outcome in found.attacks}
