"""What the fast and the slow tests of `test_release_attacks.py` share."""

import numpy as np
import pytest

from recveil.attacks import Adversary
from recveil.auditing.release_attacks import attack_published
from recveil.datasets import make_ratings
from recveil.methods import KCoRater

BYSTANDER = Adversary(known=2, rating_error=None, name="bystander")


@pytest.fixture(scope="module")
def ratings():
    """All but one have rated as much as the bystander knows, so that no user needs to be warned."""
    return make_ratings(n_users=150, n_items=60, n_ratings=3000, seed=4)


def audited(anonymizer, ratings, folder):
    anonymizer.anonymize(ratings).write(folder / "out")
    return attack_published(ratings, folder / "out", [BYSTANDER], np.arange(ratings.n_users))


@pytest.fixture(scope="module")
def co_rated(ratings, tmp_path_factory):
    rater = KCoRater(5, "similarity", round_fills=False, seed=1)
    return audited(rater, ratings, tmp_path_factory.mktemp("co-rated"))
