"""Sparse rows: what is drawn, what is promised, and what they do not reveal."""

import itertools

import numpy as np

from recveil.attacks.attack_target import AttackTarget
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.rare_items import pooled_items


def rows_of(release):
    """Items and labels of each published row, in order."""
    return [
        (block.indices[start:end], block.values[start:end])
        for block in release.published.blocks()
        for start, end in itertools.pairwise(block.indptr)
    ]


class TestPaddedOfPredictions:
    """The papers' padded rows, with predictions alone."""

    def test_labels_differ_from_the_usual_ones_where_a_user_rated(self):
        ratings = make_ratings(n_users=300, n_items=40, n_ratings=5_000, seed=5)
        assert not pooled_items(ratings, 5).size
        model, rated = (
            PredictiveAnonymizer(5, values=labels, round_values="none", seed=1).anonymize(ratings)
            for labels in ("predicted", "rated")
        )
        assert np.array_equal(model.private.groups.members, rated.private.groups.members)
        rows = [np.array([labels for _, labels in rows_of(one)]) for one in (model, rated)]
        table = AttackTarget.from_release(model, ratings)
        cells = np.zeros(rows[0].shape, bool)
        cells[np.repeat(table.record_of, ratings.activity), ratings.indices] = True
        # Where no user in the group rated, both are the mean prediction; elsewhere they differ.
        assert np.allclose(rows[0][~cells], rows[1][~cells])
        assert (np.abs(rows[0] - rows[1])[cells] > 1e-6).mean() > 0.99
