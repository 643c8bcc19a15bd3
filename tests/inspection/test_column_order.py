"""Whether the columns of users and items look swapped."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.inspection.column_roles import detect_order
from recveil.inspection.statistics import distribution_of
from recveil.ratings import Ratings


def seen(ratings):
    counts = map(distribution_of, (ratings.activity, ratings.support))
    return detect_order(ratings, *counts)


def swapped(ratings):
    return Ratings.from_columns(
        ratings.items[ratings.indices],
        ratings.users[ratings.user_positions()],
        ratings.values,
        ratings.days,
    )


@pytest.mark.parametrize("seed", range(5))
def test_days_reveal_a_swapped_table(seed):
    made = make_ratings(n_users=600, n_items=300, n_ratings=20_000, seed=seed)
    assert seen(made).looks_swapped is False
    assert seen(swapped(made)).looks_swapped is True


def test_without_days_ratings_of_few_items_reveal_it():
    """Each user rates ten items, and few items get most ratings."""
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 301)
    rows = [rng.choice(300, 10, replace=False, p=weights / weights.sum()) for _ in range(400)]
    users, items = np.repeat(np.arange(400), 10), np.concatenate(rows)
    ratings = Ratings.from_columns(users, items, rng.integers(1, 6, users.size))
    assert seen(ratings).looks_swapped is False
    assert seen(swapped(ratings)).looks_swapped is True


def test_where_everything_is_alike_nothing_is_reported():
    """The null: who rated what is drawn by lot, so that neither column is that of the users."""
    rng = np.random.default_rng(1)
    users, items = np.divmod(rng.permutation(300 * 300)[:9_000], 300)
    days = rng.integers(0, 900, users.size)
    ratings = Ratings.from_columns(users, items, rng.integers(1, 6, users.size), days)
    assert seen(ratings) == (None, ())
    assert seen(swapped(ratings)) == (None, ())


def test_of_few_users_nothing_is_reported():
    ratings = Ratings.from_columns([1, 2], [7, 7], [1, 5])
    assert seen(ratings).looks_swapped is None


def test_signs_hold_no_ids():
    made = make_ratings(n_users=100, n_items=50, n_ratings=2_000, seed=1)
    named = Ratings.from_columns(
        [f"secret-{user}" for user in made.user_positions()], made.indices, made.values, made.days
    )
    assert "secret" not in str(seen(named))
