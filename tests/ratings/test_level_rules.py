"""Levels by rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.ratings import Ratings, levels_by_rule

# Users 0 to 4 have 1 to 5 ratings.
USERS = np.repeat(np.arange(5), np.arange(1, 6))
ITEMS = np.concatenate([np.arange(n) for n in range(1, 6)])
RATINGS = Ratings.from_columns(USERS, ITEMS, np.ones(15))


@pytest.mark.parametrize(
    ("rule", "levels"),
    [
        ("3", [3, 3, 3, 3, 3]),
        (" 5 ", [5, 5, 5, 5, 5]),
        ("else:2", [2, 2, 2, 2, 2]),
        ("activity<3:4,else:1", [4, 4, 1, 1, 1]),
        ("activity>=3:4,else:1", [1, 1, 4, 4, 4]),
        (" activity < 2 : 5 , activity>=4:1 , else : 3 ", [5, 3, 3, 1, 1]),
        ("activity<4:2,activity<2:5,else:3", [2, 2, 2, 3, 3]),  # the first that holds counts
        ("activity>=2:2,activity<2:1", [1, 2, 2, 2, 2]),  # each user meets one
        ("activity>=99:5,else:1", [1, 1, 1, 1, 1]),
    ],
)
def test_rules(rule, levels):
    found = levels_by_rule(RATINGS, rule)
    assert found.dtype == np.int64
    assert found.tolist() == levels


@given(bounds=st.lists(st.tuples(st.booleans(), st.integers(0, 7), st.integers(1, 5)), max_size=4))
def test_the_first_condition_that_holds_counts(bounds):
    parts = [f"activity{'<' if below else '>='}{n}:{k}" for below, n, k in bounds]
    expected = [
        next((k for below, n, k in bounds if (own < n if below else own >= n)), 3)
        for own in range(1, 6)
    ]
    assert levels_by_rule(RATINGS, ",".join([*parts, "else:3"])).tolist() == expected


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("", "''"),
        ("1,2", "'1'"),
        ("activity<3", "'activity<3'"),
        ("activity<3:2,", "''"),
        ("0", "level '0'"),
        ("2.5", "'2.5'"),
        ("else:0", "level '0'"),
        ("else:-2", "level '-2'"),
        ("else:x", "level 'x'"),
        ("else:2:3", "level '2:3'"),
        ("activity>3:2,else:1", "'activity>3'"),
        ("activity<-1:2,else:1", "'activity<-1'"),
        ("country<3:2,else:1", "'country<3'"),
        ("else:1,activity<3:2", "else"),
        ("6", "level 6"),
        ("activity<3:2", "3 of 5 users"),
    ],
)
def test_what_is_refused(rule, value):
    with raises("option.value") as error:
        levels_by_rule(RATINGS, rule)
    assert value in str(error.value)
