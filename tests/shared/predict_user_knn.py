"""What the fast and the slow tests of `test_user_knn.py` share."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.predict import TrustKNN, UserKNN
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)


def table(rows: list[list[float | None]], scale: RatingScale = STARS) -> Ratings:
    """Ratings from a table with None for what is not rated, users and items that rate nothing."""
    cells = [(u, i, v) for u, row in enumerate(rows) for i, v in enumerate(row) if v is not None]
    counts = [sum(value is not None for value in row) for row in rows]
    return Ratings(
        *(np.arange(len(rows)), np.arange(len(rows[0])), np.cumsum([0, *counts])),
        *([item for _, item, _ in cells], [value for *_, value in cells], None, scale),
    )


SHARED = pytest.mark.parametrize("predictor", [UserKNN, TrustKNN])


@pytest.fixture(scope="module")
def many() -> Ratings:
    """So many users that some items are settled by a walk, and others by a search."""
    return make_ratings(n_users=1_500, n_items=200, n_ratings=30_000, seed=4)
