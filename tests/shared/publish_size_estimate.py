"""What the fast and the slow tests of `test_size_estimate.py` share."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)

PARTS = ("users", "items", "indptr", "indices", "values", "days")


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=600, n_items=500, n_ratings=30_000, seed=1)


@pytest.fixture(scope="module")
def long_tail():
    """As large as Epinions: most items were rated by one or two of 22,164 users."""
    rng = np.random.default_rng(1)
    n_users, n_items, n_ratings = 22_164, 296_277, 922_267
    popular = (n_items * rng.random(n_ratings - n_items) ** 4).astype(int)
    items = np.concatenate([np.arange(n_items), popular])
    users = np.concatenate([np.arange(n_users), rng.integers(n_users, size=n_ratings - n_users)])
    cells = np.unique(rng.permutation(users) * n_items + items)
    users, items = np.divmod(cells, n_items)
    values = rng.integers(1, 6, cells.size)
    return Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))


METHODS = {
    "padded": lambda: PredictiveAnonymizer(5, seed=1),
    "padded of levels": lambda: PredictiveAnonymizer(
        3, privacy_levels="activity<40:9,else:3", seed=1
    ),
    "simple": lambda: PredictiveAnonymizer(5, "simple", seed=1),
    "simple diverse": lambda: PredictiveAnonymizer(5, "simple", l=3, seed=1),
    "sparse": lambda: SparseRows(5, seed=1),
    "co-rated": lambda: KCoRater(5, seed=1),
    "co-rated mean": lambda: KCoRater(5, protect="mean", seed=1),
}
