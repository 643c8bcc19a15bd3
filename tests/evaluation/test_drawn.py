"""Recipients learn from drawn users as from any table; what needs one's own row does not apply."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.evaluation import Evaluator, split_ratings
from recveil.ratings import Ratings, RatingScale

pytestmark = pytest.mark.usefixtures("synthetic", "few_recommenders")


@pytest.fixture(scope="module")
def ratings():
    made = make_ratings(n_users=260, n_items=50, n_ratings=5_200, seed=3)
    columns = np.repeat(made.users, made.activity), made.items[made.indices], made.values
    return Ratings.from_columns(*columns, scale=RatingScale(1, 5, 1))


def test_items_that_no_user_rated_are_left_out(synthetic, ratings):
    """A public catalogue may name them."""
    release = synthetic(20.0, seed=1).anonymize(ratings)
    kept = ratings.items[:40]
    known = np.isin(ratings.items[ratings.indices], kept)
    users = np.repeat(ratings.users, ratings.activity)[known]
    fewer = Ratings.from_columns(
        users, ratings.items[ratings.indices][known], ratings.values[known], scale=ratings.scale
    )
    parts = split_ratings(fewer, 0.2, 0)
    found = Evaluator(parts, n_targets=20, with_membership=False).evaluate(release)
    assert found.to_dict()["recipient"]["release"]["rmse"] > 0
