"""How far ratings follow tastes is found where it was planted, and not where it is not."""

import numpy as np
import pytest

from recveil.methods.synthetic import learning
from recveil.methods.synthetic.gaussian_noise import NoiseSource
from recveil.methods.synthetic.learning import (
    BOLDER,
    QUERY,
    follow_embeddings,
    learn_users,
)
from recveil.methods.synthetic.mechanism import Mechanism, WithoutNoise
from recveil.methods.synthetic.noisy_sums import SHARES, Public, measure
from recveil.methods.synthetic.user_model import UserModel
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)

N_ITEMS, N_PEOPLE = 80, 2_500

PUBLIC = Public(True, N_ITEMS)


def planted(tilt, liking, seed=1) -> Ratings:
    """People who choose by two clear tastes, and rate by them as far as is said."""
    rng = np.random.default_rng(seed)
    tastes = np.zeros((N_ITEMS, 3), np.float32)
    tastes[:, 1] = np.where(np.arange(N_ITEMS) % 2, 1, -1)
    tastes[:, 2] = np.where(np.arange(N_ITEMS) // 2 % 2, 0.9, -0.9)
    model = UserModel(
        offsets=rng.normal(size=N_ITEMS).astype(np.float32),
        tastes=tastes,
        activity=np.linspace(10, 30, 128),
        worth=0.4 * rng.normal(size=N_ITEMS),
        cuts=np.array([-1.4, -0.7, 0.1, 0.9]),
        strictness=0.4,
        chance=0.85,
        tilts=np.asarray(tilt, float),
        likings=np.asarray(liking, float),
        scale=STARS,
    )
    blocks = list(model.draw(N_PEOPLE, rng, whole=True))
    sizes = np.concatenate([np.diff(block.indptr) for block in blocks])
    items = np.concatenate([block.indices for block in blocks])
    values = np.concatenate([block.values for block in blocks])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ratings(np.arange(N_PEOPLE), np.arange(N_ITEMS), indptr, items, values, None, STARS)


def found(ratings, sigma=0.0, mechanism=None, seed=3):
    exact = dict.fromkeys(SHARES, 0.0)
    measured = measure(ratings, WithoutNoise(), PUBLIC, exact)
    model = learn_users(measured, STARS, np.random.default_rng(2))
    if mechanism is None:
        noisy = Mechanism(NoiseSource.repeatable(seed), {QUERY: sigma}) if sigma else WithoutNoise()
        mechanism = noisy
    return follow_embeddings(
        ratings, mechanism, measured, model, sigma, np.random.default_rng(seed)
    )


def moves(model):
    """How far people told that ratings are moved along the two directions with the longest tastes.

    That is what counts: learnt tastes can be longer than those that were planted.
    """
    lengths = model.tastes[:, 1:].std(axis=0) / BOLDER
    main = np.argsort(lengths)[-2:]
    return (model.tilts * lengths)[main], (model.likings * lengths)[main]


PLANTED = np.array([0.9, 1.0])


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

    def test_never_more_than_a_release_may_tell(self, monkeypatch):
        """Whoever follows the other way very far, too."""
        monkeypatch.setattr(UserModel, "within_bounds", lambda model: model)
        monkeypatch.setattr(learning, "BOLDER", 99.0)
        assert np.abs(found(planted([-0.4] * 2, [0.2] * 2)).tilts).max() == 2

    def test_ratings_that_follow_nothing(self):
        """The same choices, the ratings of everybody shuffled among their items."""
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
        assert model.tilts == pytest.approx(0.15 * BOLDER, abs=0.02)
        assert model.likings == pytest.approx(0.15 * BOLDER, abs=0.03)

    def test_the_same_answers_the_same_rule(self, heard_by, told_again):
        """Nothing but the answer of the query is seen of how people rate."""
        ratings, sigma = planted([0.7] * 2, [0.0] * 2), 5.0
        heard = heard_by(1, {QUERY: sigma})
        first = found(ratings, sigma, heard)
        again = found(ratings, sigma, told_again(heard.answers))
        assert (first.tilts == again.tilts).all()
        assert (first.likings == again.likings).all()
