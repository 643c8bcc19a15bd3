"""Inputs whose answers are obvious."""

import numpy as np
import pytest
from hypothesis import settings

from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale

# What is compiled at its first call, or waits for a busy machine, is no failure.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def two_blocks() -> Ratings:
    """Twelve users: the first six love items 0-4 and hate 5-9, the last six the other way round.

    Each has rated eight of the ten items.
    """
    users, items, values = [], [], []
    for user in range(12):
        for item in range(10):
            if (user + item) % 5 != 0:
                users.append(user)
                items.append(item)
                values.append(5 if (user < 6) == (item < 5) else 1)
    return Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))


@pytest.fixture
def fans_of_two_blocks() -> np.ndarray:
    """Which of the two blocks each of the twelve users belongs to."""
    return np.repeat([0, 1], 6)


@pytest.fixture(scope="session")
def invented() -> Ratings:
    """Three hundred invented people, with times."""
    return make_ratings(n_users=300, n_items=120, n_ratings=6_000, seed=5)
