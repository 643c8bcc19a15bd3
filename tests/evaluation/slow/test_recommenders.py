"""What every recommender promises, and each one's own example or oracle."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from recveil.evaluation import (
    TrainingTable,
    UserRows,
    default_recommenders,
)

EVERY = default_recommenders()


def fresh(recommender):
    by_name = {other.name: other for other in default_recommenders()}
    return by_name[recommender.name]


@pytest.mark.parametrize("recommender", EVERY, ids=lambda r: r.name)
class TestEveryRecommender:
    def test_the_same_every_time_whatever_the_threads(self, recommender, invented):
        table, users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        scores = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                scores.append(fresh(recommender).fit(table).predict(users))
        assert scores[0].shape == (invented.n_users, invented.n_items)
        assert np.isfinite(scores[0]).all()
        assert np.array_equal(*scores)
