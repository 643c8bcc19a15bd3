"""What the fast and the slow tests of `test_learning.py` share."""

import numpy as np
from hypothesis import strategies as st

from recveil.methods.synthetic.learning import (
    EmbeddingMap,
)
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)


def some_map(n_items=12, n_directions=3, seed=0, means=None) -> EmbeddingMap:
    rng = np.random.default_rng(seed)
    item_embeddings = rng.normal(size=(n_items, n_directions))
    item_embeddings[-1] = 0  # of the last item nothing is known
    popularity = rng.uniform(1, 9, n_items)
    return EmbeddingMap.of(
        item_embeddings, popularity, rng.uniform(-1, 1, n_items) if means is None else means
    )


def table(users, n_items=12, scale=STARS) -> Ratings:
    """Users as dictionaries from an item's place to its rating."""
    items = [sorted(one_user) for one_user in users]
    values = [one_user[item] for one_user, of in zip(users, items, strict=True) for item in of]
    indptr = np.concatenate([[0], np.cumsum([len(of) for of in items])]).astype(np.int64)
    rows = (np.arange(len(users)), np.arange(n_items), indptr)
    return Ratings(*rows, [item for of in items for item in of], values, None, scale)


USER = st.dictionaries(st.integers(0, 11), st.sampled_from([1, 2, 3, 4, 5]), min_size=1)
