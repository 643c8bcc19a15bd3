"""What the fast and the slow tests of `test_hidden_items.py` share."""

import numpy as np
import pytest

from recveil.attacks import Adversary, AttackTarget
from recveil.attacks.membership.inference import only
from recveil.attacks.reidentification.hidden_items import (
    Catalogue,
    attack_hidden_items,
)
from recveil.datasets import make_ratings
from recveil.methods.registry import make_variant

RATINGS = make_ratings(n_users=2000, n_items=60, n_ratings=40_000, seed=5)

FIRST, SECOND = (only(RATINGS, np.arange(start, 2000, 2)) for start in (0, 1))

KNOWS = Adversary(known=8, name="knows")


def attacked(anonymizer, ratings=FIRST, catalogue=None, **more):
    table = AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)
    return attack_hidden_items(
        *(ratings, table, [KNOWS], np.arange(ratings.n_users)),
        catalogue=catalogue,
        anonymizer=anonymizer,
        **more,
    )


@pytest.fixture(scope="module")
def raw():
    return attacked(make_variant("raw", None, 1), catalogue=Catalogue(SECOND, "the others"))
