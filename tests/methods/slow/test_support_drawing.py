"""Support drawing: fitted margins, and systematic sampling against a plain version."""

import numpy as np

from recveil.methods.sparse.classes import Choices, draw_supports


def choices_of(likely):
    """Choices with given probabilities."""
    odds = np.log(likely) - np.log1p(-likely)
    return Choices(
        odds.astype(np.float32),
        np.eye(odds.shape[1], dtype=np.float32),
        np.zeros(len(odds), np.float32),
        np.zeros(odds.shape[1], np.float32),
    )


def test_each_item_is_drawn_as_often_as_it_is_likely():
    likely = np.array([[0.1, 0.5, 0.97], [0.3, 0.5, 0.98]])
    drawn = np.zeros_like(likely)
    for seed in range(2_000):
        indptr, indices = draw_supports(choices_of(likely), np.random.default_rng(seed))
        for row in range(2):
            drawn[row, indices[indptr[row] : indptr[row + 1]]] += 1
    # Where a row would be empty it gets an item, which is rare here.
    assert np.abs(drawn / 2_000 - likely).max() < 0.06
