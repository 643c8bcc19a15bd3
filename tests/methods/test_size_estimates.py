"""What a release would be, before any of its work is done."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.datasets import make_ratings
from recveil.methods.size_estimates import union_width
from recveil.ratings import Ratings


@given(st.data())
def test_the_width_is_the_mean_over_all_groups_there_could_be(data):
    n_users = data.draw(st.integers(1, 6))
    size = data.draw(st.integers(1, n_users))
    rated = np.array(
        data.draw(
            st.lists(
                st.lists(st.booleans(), min_size=3, max_size=3), min_size=n_users, max_size=n_users
            )
        )
    )
    groups = [list(group) for group in combinations(range(n_users), size)]
    expected = np.mean([rated[group].any(axis=0).sum() for group in groups])
    assert np.isclose(union_width(rated.sum(axis=0), n_users, size), expected)


@pytest.mark.parametrize("size", [1, 7, 50])
def test_ends(size):
    ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    width = union_width(ratings.support, 50, size)
    assert ratings.activity.mean() - 1e-9 <= width <= (ratings.support > 0).sum() + 1e-9
    if size == 1:
        assert np.isclose(width, ratings.activity.mean())
    if size == 50:
        assert np.isclose(width, (ratings.support > 0).sum())


def test_one_user_and_one_item():
    ratings = Ratings.from_columns([1], [1], [4])
    assert union_width(ratings.support, 1, 1) == 1
