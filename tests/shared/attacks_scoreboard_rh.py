"""What the fast and the slow tests of `test_scoreboard_rh.py` share."""

import numpy as np

from recveil.attacks import (
    ScoreboardRH,
)
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records

STARS = RatingScale(1, 5, 1)


def table(matrix, days=None, scale=STARS):
    """Ratings of a matrix of users × items, in which 0 means that there is none."""
    matrix = np.asarray(matrix)
    users, items = np.nonzero(matrix)
    n_users, n_items = matrix.shape
    indptr = np.concatenate([[0], np.cumsum((matrix != 0).sum(axis=1))])
    return Ratings(
        np.arange(n_users),
        np.arange(n_items),
        indptr,
        items,
        matrix[users, items],
        None if days is None else np.asarray(days)[users, items],
        scale,
    )


def records(matrix, sizes):
    rows = table(matrix, scale=RatingScale(1, 5))
    return Records(np.array(sizes), rows.indptr, rows.indices, rows.values.astype(float))


def control(candidates, knowledge, record_of=None, **settings):
    if record_of is None:
        record_of = np.arange(candidates.n_records)
    return ScoreboardRH(**settings).control(candidates, knowledge, np.asarray(record_of))
