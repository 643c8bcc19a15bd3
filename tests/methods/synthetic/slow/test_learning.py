"""How far ratings follow embeddings is found where it was planted, and not where it is not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.methods.synthetic import learning
from recveil.methods.synthetic.learning import (
    BOLDER,
    QUERY,
    EmbeddingMap,
    embedding_vectors,
)
from recveil.methods.synthetic.user_model import UserModel
from recveil.ratings import Ratings
from shared.methods_synthetic_embedding_sums import USER, some_map, table
from shared.methods_synthetic_learning import PLANTED, STARS, found, moves, planted


def by_hand(one_user, items: EmbeddingMap):
    """The vector of a user, as `embedding_moments` says it in words."""
    rated = [place for place in sorted(one_user) if items.half[place] >= 0]
    vector = np.zeros((2, items.damping.size))
    if len(rated) < 2:
        return vector
    b = items.directions[rated]
    e = np.array([(one_user[place] - 3) / 2 - items.means[place] for place in rated])
    leans = b.sum(axis=0) / (1 + len(rated) * items.damping)
    off, next_to = e - e.mean(), b - b.mean(axis=0)
    length = math.sqrt(off @ off * (leans**2 @ (next_to**2).sum(axis=0)))
    if length > 1e-9:
        vector[0] = leans * (off @ next_to) / length * len(rated) / (len(rated) + 20)
    halves = [np.flatnonzero(items.half[rated] == side) for side in (0, 1)]
    if min(half.size for half in halves) > 1:
        y, z = ((e[half] - e[half].mean()) @ b[half] for half in halves)
        fewer = 2 * min(half.size for half in halves)
        length = np.linalg.norm(y) * np.linalg.norm(z)
        if length > 1e-9:
            vector[1] = y * z / length * fewer / (fewer + 20)
    return vector * math.sqrt(0.5)


class TestOneVector:
    @given(st.lists(USER, min_size=1, max_size=4), st.integers(0, 50))
    def test_as_it_is_said_in_words(self, all_users, seed):
        items = some_map(seed=seed)
        ratings = table(all_users)
        at = (ratings.values.astype(float) - 3) / 2
        found = embedding_vectors(ratings.indptr, ratings.indices, at, items)
        for vector, one_user in zip(found, all_users, strict=True):
            assert vector == pytest.approx(by_hand(one_user, items), abs=1e-5)


class TestPlanted:
    @pytest.mark.parametrize("tilt", [0.0, 0.2, 0.4, -0.3])
    def test_by_choice(self, tilt):
        by_choice, _ = moves(found(planted([tilt] * 2, [0.0] * 2)))
        assert by_choice == pytest.approx(tilt * PLANTED, abs=0.13)

    @pytest.mark.parametrize("liking", [0.0, 0.2, 0.35])
    def test_by_liking_alone(self, liking):
        by_choice, by_liking = moves(found(planted([0.0] * 2, [liking] * 2)))
        assert by_liking == pytest.approx(liking * PLANTED, abs=0.13)
        assert np.abs(by_choice).max() < 0.12

    def test_never_more_than_a_release_may_contain(self, monkeypatch):
        """A user who follows the other direction very far, too."""
        monkeypatch.setattr(UserModel, "within_bounds", lambda model: model)
        monkeypatch.setattr(learning, "BOLDER", 99.0)
        assert np.abs(found(planted([-0.4] * 2, [0.2] * 2)).slopes).max() == 2

    def test_ratings_that_follow_nothing(self):
        """The same choices, the ratings of all users shuffled among their items."""
        ratings = planted([0.7] * 2, [0.5] * 2)
        rng, values = np.random.default_rng(1), ratings.values.copy()
        for start, end in zip(ratings.indptr[:-1], ratings.indptr[1:], strict=True):
            values[start:end] = rng.permutation(values[start:end])
        rows = (ratings.users, ratings.items, ratings.indptr, ratings.indices)
        model = found(Ratings(*rows, values, None, STARS))
        by_choice, by_liking = moves(model)
        assert np.abs(by_choice).max() < 0.1
        assert by_liking.max() < 0.15


class TestNoise:
    def test_some_blurs_what_is_found(self):
        ratings = planted([0.5] * 2, [0.0] * 2)
        by_choice, _ = moves(found(ratings, sigma=20.0))
        assert by_choice == pytest.approx(0.5 * PLANTED, abs=0.2)

    def test_where_it_hides_everything_what_is_usual_is_left(self):
        model = found(planted([0.7] * 2, [0.5] * 2), sigma=1e6)
        assert model.slopes == pytest.approx(0.15 * BOLDER, abs=0.02)
        assert model.slope_spreads == pytest.approx(0.15 * BOLDER, abs=0.03)

    def test_the_same_answers_the_same_rule(self, heard_by, stated_again):
        """How users rate is used only through the answer of the query."""
        ratings, sigma = planted([0.7] * 2, [0.0] * 2), 5.0
        heard = heard_by(1, {QUERY: sigma})
        first = found(ratings, sigma, heard)
        again = found(ratings, sigma, stated_again(heard.answers))
        assert (first.slopes == again.slopes).all()
        assert (first.slope_spreads == again.slope_spreads).all()
