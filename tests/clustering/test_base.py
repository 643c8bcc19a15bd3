"""The base: parameters, random numbers, numbering, and the range of numbers that float32 bears."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.clustering import BisectingKGather, BoundedTMeans
from recveil.clustering.base import at_least, number_by_lowest_member

X = np.arange(12.0).reshape(6, 2)


def test_groups_are_numbered_by_their_lowest_member():
    assert number_by_lowest_member(np.array([7, 3, 3, 9, 7])).tolist() == [0, 1, 1, 2, 0]


@pytest.mark.parametrize("bad", [0, -1, 2.0, "2", True, None])
def test_a_parameter_that_is_no_whole_number_or_too_low_is_named(bad):
    with raises("argument.value") as caught:
        at_least("min_size", bad, 1)
    assert "min_size" in str(caught.value)


def test_numpy_integers_are_whole_numbers():
    at_least("min_size", np.int32(3), 1)


@pytest.mark.parametrize("new_state", [lambda: 3, lambda: np.random.RandomState(3)])
def test_equal_states_give_equal_groups(new_state):
    a, b = (BoundedTMeans(2, random_state=new_state()).fit(X).labels_ for _ in range(2))
    assert a.tolist() == b.tolist()


def test_a_generator_moves_on_from_fit_to_fit():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    grouping = BoundedTMeans(2, random_state=rng)
    assert grouping.fit(rows).labels_.tolist() != grouping.fit(rows).labels_.tolist()


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e30, 1e300])
def test_the_unit_of_the_data_does_not_matter(factor):
    expected = BisectingKGather(2, random_state=0).fit(X).labels_
    assert BisectingKGather(2, random_state=0).fit(X * factor).labels_.tolist() == expected.tolist()


def test_a_large_offset_does_not_blur_small_differences():
    rows = 1e6 + np.array([[0.0], [0.001], [5.0], [5.001]])
    assert BisectingKGather(2, random_state=0).fit(rows).labels_.tolist() == [0, 0, 1, 1]
