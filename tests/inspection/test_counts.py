"""How ratings are spread over users and items."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recveil.inspection.statistics import distribution_of

COUNTS = st.lists(st.integers(0, 30_000), min_size=1, max_size=60).map(np.array)


@given(COUNTS)
def test_bins_hold_all_users_once_and_leave_no_gap(counts):
    bins = distribution_of(counts).bins
    assert sum(each.n for each in bins) == counts.size
    assert (bins[0].low, bins[-1].high) == (counts.min(), counts.max())
    for one, other in pairwise(bins):
        assert other.low == one.high + 1
    for each in bins:
        assert each.n == ((counts >= each.low) & (counts <= each.high)).sum()
    assert len(bins) <= 16


@given(COUNTS)
def test_gini_is_the_mean_difference_of_two(counts):
    found = distribution_of(counts).gini
    if counts.sum() == 0:
        assert found == 0
        return
    mean_difference = np.abs(counts[:, None] - counts[None, :]).mean()
    assert np.isclose(found, mean_difference / (2 * counts.mean()))


def test_one_user():
    spread = distribution_of(np.array([7]))
    assert (spread.minimum, spread.median, spread.maximum, spread.gini) == (7, 7, 7, 0)
    assert [tuple(each) for each in spread.bins] == [(7, 7, 1)]


def test_a_hand_worked_table():
    """Ten users: the tenth with most ratings is one of them, with 55 of 100 ratings."""
    spread = distribution_of(np.array([5] * 9 + [55]))
    assert spread.top_tenth_share == 0.55
    assert [tuple(each) for each in spread.bins] == [
        *((5, 9, 9), (10, 19, 0), (20, 49, 0), (50, 55, 1)),
    ]
