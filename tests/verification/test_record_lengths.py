"""Records of synthetic users are as long as the published user counts say."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.methods.synthetic.user_model import LikesModel, SampledBatches, SampledUsers
from recveil.verification import synthetic_release
from recveil.verification.synthetic_release import wrong_length


def model_of(user_counts, n_items, seed):
    rng = np.random.default_rng(seed)
    offsets, embeddings = rng.normal(size=n_items), rng.normal(size=(n_items, 3))
    return LikesModel(offsets.astype(np.float32), embeddings.astype(np.float32), user_counts)


@st.composite
def releases(draw):
    n_items = draw(st.integers(2, 60))
    counts = draw(st.lists(st.integers(1, n_items), min_size=1, max_size=128))
    return np.sort(np.array(counts, np.float64)), n_items


@given(releases(), st.integers(1, 200), st.integers(1, 90), st.integers(0, 9))
def test_what_is_sampled_is_right(release, n_users, size, seed):
    user_counts, n_items = release
    users = SampledUsers(model_of(user_counts, n_items, seed), n_users, seed, False)
    blocks = SampledBatches(users, size).blocks()
    lengths = Counter(np.concatenate([np.diff(block.indptr) for block in blocks]).tolist())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic_release, "batch_size", lambda _: size)
        assert wrong_length(user_counts.tolist(), lengths, n_items) is None


@pytest.mark.parametrize(
    ("lengths", "wrong"),
    [
        ({2: 25, 5: 25, 8: 25, 10: 25}, None),
        ({1: 25, 6: 25, 7: 25, 11: 25}, None),
        ({2: 28, 5: 22, 8: 25, 10: 25}, 2),
        ({2: 25, 5: 25, 8: 25, 10: 24, 12: 1}, 12),
        ({1: 1, 5: 99}, 5),
    ],
    ids=["as stated", "one off", "three more are short", "one is longer", "all of one length"],
)
def test_by_hand(lengths, wrong):
    """A quarter of 100 users each has 2, 5, 8 and 10 items; all between are missing."""
    user_counts = np.repeat([2.0, 5.0, 8.0, 10.0], 100).tolist()
    assert wrong_length(user_counts, lengths, 60) == wrong
