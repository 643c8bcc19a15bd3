"""No user's ids decide how items are ordered or typed, nor whether there is a release at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.methods.synthetic.options import (
    as_ids,
    in_public_order,
    on_catalog,
)
from recveil.ratings import Ratings, RatingScale

pytestmark = pytest.mark.usefixtures("rough_fit")

STARS = RatingScale(1, 5, 1)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(["1", "02", "10", "9", "b", "-3", "1e3"])),
        min_size=1,
        unique=True,
    )
)
def test_no_rating_is_lost_or_moved(pairs):
    users, items = zip(*pairs, strict=True)
    values = np.arange(len(pairs)) % 5 + 1
    ratings = Ratings.from_columns(users, np.array(items, object), values, scale=STARS)
    ordered = in_public_order(ratings, 100)

    def cells(of):
        return {
            (of.users[user], str(of.items[item]), value)
            for user in range(of.n_users)
            for item, value in zip(*of.row(user), strict=True)
        }

    assert cells(ordered) == cells(ratings)
    assert cells(on_catalog(ratings, as_ids([*set(items), "7", "a"]))) == cells(ratings)
