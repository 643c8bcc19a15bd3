"""Users who like items are drawn as the rule says: none is a real user, and none is empty."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recveil.methods.synthetic import user_model
from recveil.methods.synthetic.gaussian_mechanism import WithoutNoise
from recveil.methods.synthetic.learning import learn_likes
from recveil.methods.synthetic.sum_queries import SHARES_OF_LIKES, Public, measure_likes
from recveil.methods.synthetic.user_model import LikesModel
from recveil.ratings import Ratings


def rule(n_items=30, n_directions=2, each=5.0, seed=1) -> LikesModel:
    rng = np.random.default_rng(seed)
    return LikesModel(
        rng.normal(size=n_items).astype(np.float32),
        rng.normal(size=(n_items, 1 + n_directions)).astype(np.float32),
        np.full(128, each),
    )


def drawn(model, n_users, seed=1):
    blocks = list(model.draw(n_users, np.random.default_rng(seed)))
    counts = np.concatenate([np.diff(block.indptr) for block in blocks])
    items = np.concatenate([block.indices for block in blocks])
    return counts, items, np.concatenate([block.values for block in blocks])


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 3), st.floats(1, 30))
def test_all_users_like_something_once(n_users, n_items, n_directions, each):
    for block in rule(n_items, n_directions, each).draw(n_users, np.random.default_rng(2)):
        assert set(block.values.tolist()) == {1.0}
        assert np.diff(block.indptr).min() >= 1
        for start, end in zip(block.indptr[:-1], block.indptr[1:], strict=True):
            assert (np.diff(block.indices[start:end]) > 0).all()


def test_the_same_seed_the_same_users():
    assert all(map(np.array_equal, drawn(rule(), 50), drawn(rule(), 50)))


def test_blocks_make_no_gap(monkeypatch):
    monkeypatch.setattr(user_model, "_CELLS", 30 * 7)
    blocks = list(rule().draw(50, np.random.default_rng(1)))
    assert [len(block.sizes) for block in blocks] == [7] * 7 + [1]
    assert all((block.sizes == 1).all() for block in blocks)


def test_items_in_another_order():
    model = rule()
    order = np.arange(30)[::-1]
    turned = model.of_items(order)
    assert (turned.offsets == model.offsets[order]).all()
    assert (turned.item_embeddings == model.item_embeddings[order]).all()


class TestLearnt:
    """Users drawn by the rule that was learnt without noise are like those it came from."""

    def test_what_goes_together(self):
        """Two clusters, who like two halves of the items: so do the drawn ones."""
        rng = np.random.default_rng(3)
        rows = [rng.choice(20, 8, replace=False) + 20 * (user % 2) for user in range(600)]
        users = np.repeat(np.arange(600), 8)
        likes = Ratings.from_columns(users, np.concatenate(rows))
        nothing = dict.fromkeys(SHARES_OF_LIKES, 0.0)
        measured = measure_likes(likes, WithoutNoise(), Public(True, 40), nothing)
        counts, items, _ = drawn(learn_likes(measured, np.random.default_rng(1)), 600)
        who = np.repeat(np.arange(600), counts)
        of_first = np.bincount(who, items < 20, minlength=600) / counts
        assert (np.abs(of_first - 0.5) > 0.25).mean() > 0.8
