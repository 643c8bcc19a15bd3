"""What every grouping promises, on inputs whose answer is obvious."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

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
]

plain = st.floats(-1e6, 1e6, width=32)

many_duplicates = st.integers(-1, 1).map(float)

tables = st.tuples(st.integers(1, 40), st.integers(1, 3)).flatmap(
    lambda shape: st.one_of(arrays(np.float64, shape, elements=e) for e in (plain, many_duplicates))
)


@pytest.mark.parametrize("grouping", GROUPINGS)
class TestEveryGrouping:
    @settings(deadline=None, max_examples=60)
    @given(X=tables, k=st.integers(1, 12), seed=st.integers(0, 99))
    def test_groups_part_the_rows_and_have_k_to_2k_members(self, grouping, X, k, seed):
        k = min(k, len(X))
        fitted = grouping(k, random_state=seed).fit(X)
        sizes = np.bincount(fitted.labels_)
        assert fitted.labels_.shape == (len(X),)
        assert fitted.n_groups_ == sizes.size
        assert k <= sizes.min() <= sizes.max() < 2 * k
        first_of_each = np.unique(fitted.labels_, return_index=True)[1]
        assert (np.diff(first_of_each) > 0).all()
        assert (clone(fitted).fit_predict(X) == fitted.labels_).all()

    def test_many_equal_rows_are_done_at_once(self, grouping):
        X = np.zeros((20_000, 2))
        X[15_000:] = np.random.default_rng(0).normal(size=(5000, 2))
        sizes = np.bincount(grouping(5, random_state=0, **fast(grouping)).fit(X).labels_)
        assert 5 <= sizes.min() <= sizes.max() < 10


def fast(grouping):
    """Settings that keep the quadratic one quick."""
    return {"max_iter": 1} if grouping is BoundedTMeans else {}


PARTS_BLOBS = (PredictiveGrouping, MDAV, MHM, KMember, RGather)

BLOBS_STAY_WHOLE = {
    "check_clustering": "wants three blobs of 17 found again; groups of 5 to 9 part them further"
}


CHECKS = parametrize_with_checks(
    [grouping() for grouping in GROUPINGS],
    expected_failed_checks=lambda grouping: (
        BLOBS_STAY_WHOLE if isinstance(grouping, PARTS_BLOBS) else {}
    ),
)


# As a list: up to version 1.8, scikit-learn hands over a generator, which pytest 9 warns of.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
