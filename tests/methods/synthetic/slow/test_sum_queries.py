"""No query is repeated, and what is published afterwards depends on the answers alone."""

import numpy as np

from recveil.ratings import Ratings
from shared.methods_synthetic_sum_queries import CHOSEN, RATINGS, STARS, measured


class TestChosenItems:
    def test_an_item_of_one_user_is_never_selected(self):
        """One user alone rated five items; none is selected in 200 runs."""
        users = np.concatenate([RATINGS.user_positions(), np.full(25, 300)])
        items = np.concatenate([RATINGS.indices, np.arange(20, 45)])
        values = np.concatenate([RATINGS.values, np.full(25, 5)])
        ratings = Ratings.from_columns(users, items, values, scale=STARS)
        assert ratings.n_items == 45
        for seed in range(200):
            found = measured(ratings, 30.0, seed, CHOSEN)
            assert found.released.max() < 40
            assert not found.items.popularity[40:].any()
