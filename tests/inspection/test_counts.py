"""How ratings are spread over people and items."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recveil.inspection.statistics import spread_of

COUNTS = st.lists(st.integers(0, 30_000), min_size=1, max_size=60).map(np.array)


@given(COUNTS)
def test_steps_hold_everybody_once_and_leave_no_gap(counts):
    steps = spread_of(counts).steps
    assert sum(step.n for step in steps) == counts.size
    assert (steps[0].low, steps[-1].high) == (counts.min(), counts.max())
    for one, other in pairwise(steps):
        assert other.low == one.high + 1
    for step in steps:
        assert step.n == ((counts >= step.low) & (counts <= step.high)).sum()
    assert len(steps) <= 16


@given(COUNTS)
def test_gini_is_the_mean_difference_of_two(counts):
    found = spread_of(counts).gini
    if counts.sum() == 0:
        assert found == 0
        return
    mean_difference = np.abs(counts[:, None] - counts[None, :]).mean()
    assert np.isclose(found, mean_difference / (2 * counts.mean()))


def test_one_person():
    spread = spread_of(np.array([7]))
    assert (spread.least, spread.median, spread.most, spread.gini) == (7, 7, 7, 0)
    assert [tuple(step) for step in spread.steps] == [(7, 7, 1)]


def test_a_hand_worked_table():
    """Ten people: the tenth with most is one of them, with 55 of 100 ratings."""
    spread = spread_of(np.array([5] * 9 + [55]))
    assert spread.top_tenth == 0.55
    assert [tuple(step) for step in spread.steps] == [
        *((5, 9, 9), (10, 19, 0), (20, 49, 0), (50, 55, 1)),
    ]
