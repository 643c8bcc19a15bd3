"""What the fast and the slow tests of `test_linkage.py` share."""

import numpy as np
import pytest

from recveil.attacks import Adversary
from recveil.auditing.release_attacks import attack_published
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer

STRONG = Adversary(known=8, name="insider", description="Knows eight ratings.")

WEAK = Adversary(known=2, rating_error=None, name="bystander")


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=150, n_items=100, n_ratings=4_000, seed=6)


@pytest.fixture(scope="module")
def folder(ratings, tmp_path_factory):
    """Three releases: two groupings of the same users, and all users in one group."""
    folder = tmp_path_factory.mktemp("releases")
    for name, grouping, k in (("a", "mdav", 5), ("b", "k-member", 6), ("null", "mdav", 150)):
        maker = PredictiveAnonymizer(k, "simple", grouping=grouping, seed=1)
        maker.anonymize(ratings).write(folder / name)
    return folder


def held(ratings, folder, first, second):
    all_users = np.arange(ratings.n_users)
    adversaries = [WEAK, STRONG]
    return attack_published(
        ratings, folder / first, adversaries, all_users, second_release=folder / second
    )


@pytest.fixture(scope="module")
def attacked(ratings, folder):
    return held(ratings, folder, "a", "b")
