"""Words for how well somebody can tell who was in the data."""

import pytest

from recveil.attack import Interval
from recveil.attack.membership import describe_membership


@pytest.mark.parametrize(
    ("rate", "low", "words"),
    [
        (0.57, 0.49, "cannot be shown to tell who"),
        (0.99, 0.5, "cannot be shown to tell who"),  # an interval that holds a coin shows nothing
        (0.58, 0.51, "can tell little better than a coin who"),
        (0.6, 0.55, "can sometimes tell who"),
        (0.75, 0.7, "can often tell who"),
        (0.95, 0.9, "can nearly always tell who"),
        (1.0, 1.0, "can nearly always tell who"),
    ],
)
def test_words_rise_with_the_area(rate, low, words):
    assert describe_membership(Interval(rate, low, 1.0, 99), "She").startswith(f"She {words}")
