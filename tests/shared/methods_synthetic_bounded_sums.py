"""What the fast and the slow tests of `test_bounded_sums.py` share."""

import numpy as np
from hypothesis import strategies as st

from recveil.methods.synthetic.bounded_sums import (
    PopularDirection,
    direction_of,
    embedding_grid,
    item_sums,
    level_sums,
    moments,
    spread_sums,
    users_by_activity,
)
from recveil.ratings import Ratings, RatingScale
from recveil.release.synthetic_form import activity_edges, rating_levels

STARS = RatingScale(1, 5, 1)

SCALES = [STARS, RatingScale(0.5, 5, 0.5), RatingScale(0, 100, 1), RatingScale(-10, 10)]

N_ITEMS = 7

GRID = embedding_grid(0.3)

# Any centre and spread that noisy sums may give.
CENTRE, SPREAD = 0.21, 0.4

# Any popularity that noisy sums may give.
POPULARITY = np.array([5.0, -1.0, 3.0, 0.5, 0.0, 2.0, 4.0])


def table(users, scale=STARS, n_items=N_ITEMS) -> Ratings:
    """Users as dictionaries from an item's position to its rating, on a fixed catalogue."""
    items = [sorted(one_user) for one_user in users]
    values = [one_user[item] for one_user, of in zip(users, items, strict=True) for item in of]
    indptr = np.concatenate([[0], np.cumsum([len(of) for of in items])])
    return Ratings(
        np.arange(len(users)),
        np.arange(n_items),
        indptr,
        [item for of in items for item in of],
        values,
        None,
        scale,
    )


def ratings_on(scale):
    if scale.step is None:
        return st.floats(scale.low, scale.high, width=32)
    return st.sampled_from(list(scale.levels))


def one_user(scale, fewest=1):
    return st.dictionaries(
        st.integers(0, N_ITEMS - 1), ratings_on(scale), min_size=fewest, max_size=N_ITEMS
    )


@st.composite
def small_tables(draw):
    """A scale, one to five users, and the place of one of them."""
    scale = draw(st.sampled_from(SCALES))
    users = draw(st.lists(one_user(scale), min_size=1, max_size=5))
    return scale, users, draw(st.integers(0, len(users) - 1))


def sums_of(users, scale, centre=CENTRE, spread=SPREAD, n_items=N_ITEMS):
    """Every exact sum of a table, in whole steps, and how many steps make 1."""
    chosen = np.arange(n_items)[::-1][: max(1, n_items - 1)]
    if not users:
        no_user = table([{0: scale.low}], scale, n_items)
        return {name: (0 * sums, one) for name, (sums, one) in _sums(no_user, chosen).items()}
    return _sums(table(users, scale, n_items), chosen, centre, spread)


def _sums(ratings, chosen, centre=CENTRE, spread=SPREAD):
    edges = activity_edges(ratings.n_items)
    popular = PopularDirection.of(direction_of(POPULARITY[chosen % N_ITEMS]), GRID)
    upper = moments(ratings, chosen, popular, ratings.scale.liked_from, GRID)
    uncentred = PopularDirection.of(np.zeros(chosen.size), GRID)
    own = moments(ratings, chosen, uncentred, ratings.scale.liked_from, GRID)
    return {
        "users by user count": (users_by_activity(ratings, edges), 1),
        "rating levels": (level_sums(ratings, rating_levels(ratings.scale)), 2**20),
        "user means": (spread_sums(ratings), 2**20),
        "item sums": (item_sums(ratings, centre, spread), 2**20),
        # As a vector: each cell above the diagonal counts twice in its squares.
        "moments": (upper + np.triu(upper, 1).T, round(1 / GRID**2)),
        "moments, not centred": (own + np.triu(own, 1).T, round(1 / GRID**2)),
        "item sums of few": (item_sums(ratings, centre, spread, count_share=0.6), 2**20),
    }


def square(whole) -> int:
    """The sum of squares, without any rounding."""
    return sum(int(number) ** 2 for number in np.ravel(whole))
