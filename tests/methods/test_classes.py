"""Clusters are dealt into classes by chance, and rows are as long as their users are
active."""

import numpy as np
import pytest

from recveil.methods.sparse.classes import deal_classes


class TestClasses:
    def test_by_hand(self):
        # Cluster 0: users 0, 2, 3, 5 and 6, two classes, of three and two; sorted activities
        # 1, 2, 3 | 8, 9 make the lengths 2 and 8.5. Cluster 1: users 1 and 4, one class.
        classes = deal_classes(
            np.array([0, 1, 0, 0, 1, 0, 0]),
            np.array([[9], [4], [1], [8], [6], [2], [3]]),
            2,
            np.random.default_rng(0),
        )
        assert classes.sizes.tolist() == [3, 2, 2]
        assert classes.cluster_of.tolist() == [0, 0, 1]
        assert classes.lengths.ravel().tolist() == [2, 8.5, 5]
        assert np.bincount(classes.class_of).tolist() == [3, 2, 2]
        assert set(classes.class_of[[1, 4]]) == {2}

    def test_each_kind_has_its_length_by_hand(self):
        # Ten and two, one and one, three and no items: 1 + 1 and 3 + 0 come before 10 + 2.
        activity = np.array([[10, 2], [1, 1], [3, 0], [9, 9]])
        classes = deal_classes(np.zeros(4, np.int64), activity, 2, np.random.default_rng(0))
        assert classes.lengths.tolist() == [[2, 0.5], [9.5, 5.5]]

    @pytest.mark.parametrize("k", [2, 3, 7, 20])
    def test_none_is_smaller_than_k_and_lengths_add_up(self, k):
        rng = np.random.default_rng(k)
        cluster_of = np.repeat(np.arange(9), rng.integers(20, 40, 9))
        activity = rng.integers(1, 90, (cluster_of.size, 2))
        classes = deal_classes(cluster_of, activity, k, rng)
        assert classes.sizes.min() >= k
        assert classes.sizes.max() < 2 * k
        assert np.allclose(classes.sizes @ classes.lengths, activity.sum(axis=0))
        assert np.array_equal(classes.cluster_of[classes.class_of], cluster_of)

    def test_who_is_in_which_class_has_nothing_to_do_with_activity(self):
        """Over many draws, the most active user is in each class as often."""
        cluster_of, activity = np.zeros(40, np.int64), np.arange(1, 41)[:, None]
        counts = np.zeros(8)
        for seed in range(800):
            classes = deal_classes(cluster_of, activity, 5, np.random.default_rng(seed))
            counts[classes.class_of[39]] += 1
        assert counts.min() > 65
        assert counts.max() < 140
