"""What every grouping promises, on inputs whose answer is obvious."""

from functools import partial

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_clustering
from threadpoolctl import threadpool_limits

from error_assertions import raises
from recveil.clustering import (
    MDAV,
    MHM,
    BisectingKGather,
    BisectingOneKGather,
    BoundedTMeans,
    KGather,
    KMember,
    LevelGather,
    PredictiveGrouping,
    RGather,
    UnionSplit,
)

GROUPINGS = [
    KGather,
    BoundedTMeans,
    PredictiveGrouping,
    BisectingKGather,
    BisectingOneKGather,
    LevelGather,
    MDAV,
    MHM,
    KMember,
    UnionSplit,
    RGather,
    *(
        partial(kind, **options)
        for kind in (BoundedTMeans, PredictiveGrouping)
        for options in (
            {"distance": "weighted-squared"},
            {"centers": "users"},
            {"assignment": "pairwise"},
        )
    ),
]


@pytest.mark.parametrize("grouping", GROUPINGS)
class TestEveryGrouping:
    @pytest.mark.parametrize("seed", range(5))
    def test_two_blocks_are_never_mixed(self, grouping, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(45, 3))
        block = rng.permutation(45) < 20  # both hold a multiple of k
        X[block] += 100
        labels = grouping(5, random_state=seed).fit(X).labels_
        assert set(labels[block]).isdisjoint(labels[~block])

    @pytest.mark.parametrize("n", [5, 9])
    def test_fewer_than_2k_rows_are_one_group(self, grouping, n):
        X = np.random.default_rng(0).normal(size=(n, 2))
        assert grouping(5).fit(X).labels_.tolist() == [0] * n

    def test_one_row_is_a_group_of_one(self, grouping):
        assert grouping(1).fit([[3.0, 4.0]]).labels_.tolist() == [0]

    def test_k_of_one_leaves_all_users_alone(self, grouping):
        X = np.random.default_rng(0).normal(size=(30, 2))
        assert grouping(1).fit(X).labels_.tolist() == list(range(30))

    def test_rows_that_tie_or_stand_twice_are_grouped_alike_every_time(self, grouping):
        # A grid: every row has equally near neighbours, and stands there three times.
        X = np.tile([(x, y) for x in range(8) for y in range(8)], (3, 1)).astype(float)
        for k in (2, 3, 7):
            labels = grouping(k, random_state=0).fit(X).labels_
            sizes = np.bincount(labels)
            assert k <= sizes.min() <= sizes.max() < 2 * k
            assert (grouping(k, random_state=0).fit(X.copy(order="F")).labels_ == labels).all()

    @pytest.mark.parametrize("seed", range(3))
    def test_duplicates_find_each_other(self, grouping, seed):
        rng = np.random.default_rng(seed)
        place = rng.permutation(np.repeat(np.arange(12), 5))  # k copies of each of twelve rows
        X = rng.normal(size=(12, 40))[place]
        labels = grouping(5, random_state=seed).fit(X).labels_
        assert [len(set(place[labels == group])) for group in range(12)] == [1] * 12

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_number_of_threads_does_not_matter(self, grouping, dtype):
        X = np.random.default_rng(0).normal(size=(1500, 50)).astype(dtype)
        labels = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                labels.append(grouping(5, random_state=0).fit(X).labels_)
        assert (labels[0] == labels[1]).all()

    def test_too_few_rows_are_refused_with_a_remedy(self, grouping):
        with raises("table.too-few-users") as caught:
            grouping(5).fit(np.zeros((3, 2)))
        assert "3 rows" in str(caught.value)

    @pytest.mark.parametrize("k", [0, -3, 2.5, None])
    def test_a_senseless_k_is_refused(self, grouping, k):
        with raises("argument.value") as caught:
            grouping(k).fit(np.zeros((3, 2)))
        assert "min_size" in str(caught.value)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_numbers_must_be_finite(self, grouping, bad):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            grouping(1).fit([[1.0], [bad]])

    def test_no_rows_at_all_are_refused(self, grouping):
        with pytest.raises(ValueError, match="0 sample"):
            grouping(1).fit(np.zeros((0, 2)))


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_blobs_stay_whole_if_groups_may_be_as_large(grouping):
    check_clustering(type(grouping()).__name__, grouping(15))
