"""What the fast and the slow tests of `test_evaluator.py` share."""

import numpy as np
import pytest

from recveil.attacks import AttackTarget, Candidates
from recveil.datasets import make_ratings
from recveil.evaluation import (
    Evaluator,
    split_ratings,
)
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import RatingScale
from recveil.release.records import Records

stars = RatingScale(1, 5, 1)


@pytest.fixture(scope="module")
def split():
    """Invented users of strong embeddings, so that there is something to gain by filtering."""
    ratings = make_ratings(
        n_users=200, n_items=60, n_ratings=5_000, seed=5, preference=1.0, noise=0.4
    )
    return split_ratings(ratings, 0.2, 1)


@pytest.fixture(scope="module")
def judge(split):
    return Evaluator(split, n_targets=60, with_membership=False)


@pytest.fixture(scope="module")
def padded(split):
    return PredictiveAnonymizer(k=5, seed=1).anonymize(split.train)


def released_of(rows, sizes, record_of, train, k=1) -> AttackTarget:
    records = Records(np.asarray(sizes, np.int64), *rows)
    candidates = Candidates.from_records([records], train.n_items, train.scale)
    users = np.asarray(record_of, np.int64)
    return AttackTarget(candidates, *rows, users, k, np.full(len(sizes), k))
