"""Predictive grouping: the bins, and which of them are dissolved."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.clustering import PredictiveGrouping
from recveil.clustering.bounded_k_means import _bins

X = np.random.default_rng(0).normal(size=(300, 4))


def column(*numbers):
    return np.array(numbers, dtype=np.float32)[:, np.newaxis]


def test_a_small_bin_is_dissolved_into_the_nearest():
    # 0, 1, 2 are nearest to the centre at 1; 9, 10, 11 to 10; 4 is alone at 4, and goes to 1.
    bins = _bins(column(0, 1, 2, 9, 10, 11, 4), column(1, 10, 4), 2)
    assert bins.tolist() == [0, 0, 0, 1, 1, 1, 0]


def test_the_smallest_bin_goes_first_and_may_fill_the_next():
    # The bins at 0 and 1 have one row each. The first goes, and its row makes the second large
    # enough.
    assert _bins(column(0, 1, 10, 11), column(0, 1, 10.5), 2).tolist() == [1, 1, 2, 2]


def test_the_last_bin_holds_all():
    assert len(set(_bins(column(0, 5, 9), column(0, 5, 9), 3))) == 1


def test_empty_bins_are_passed_over():
    assert _bins(column(0, 0, 0), column(50, 0, 70), 2).tolist() == [1, 1, 1]


def test_sample_half_and_root_of_n_bins_by_default():
    centres = PredictiveGrouping(5)._centres(X.astype(np.float32), np.random.default_rng(0))
    assert centres.shape == (17, 4)  # sqrt(300) = 17.3; 150 rows allow 17 of 5


def test_bins_are_fewer_if_the_sample_is_small():
    grouping = PredictiveGrouping(20, sample_size=50)
    centres = grouping._centres(X.astype(np.float32), np.random.default_rng(0))
    assert len(centres) == 2  # 50 rows form two clusters of 20


@pytest.mark.parametrize("settings", [{"n_bins": 1}, {"n_bins": 300}, {"sample_size": 300}])
def test_any_number_of_bins_keeps_the_promise(settings):
    sizes = np.bincount(PredictiveGrouping(7, random_state=0, **settings).fit(X).labels_)
    assert 7 <= sizes.min() <= sizes.max() < 14


@pytest.mark.parametrize(
    "settings", [{"sample_size": 301}, {"sample_size": 6}, {"n_bins": 0}, {"max_iter": 0}]
)
def test_impossible_settings_are_named(settings):
    (name,) = settings
    with raises("argument.value") as caught:
        PredictiveGrouping(7, **settings).fit(X)
    assert name in str(caught.value)
