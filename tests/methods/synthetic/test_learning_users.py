"""From noisy sums to a rule that draws users with the same sums."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.methods.synthetic.bounded_sums import ItemSums
from recveil.methods.synthetic.gaussian_mechanism import Mechanism, WithoutNoise
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.learning import item_means, learn_users
from recveil.methods.synthetic.sum_queries import SHARES, Public, measure
from recveil.ratings import RatingScale

STARS = RatingScale(1, 5, 1)
N_ITEMS = 50
RATINGS = make_ratings(800, N_ITEMS, 12_000, seed=6, scale=STARS)


def measured(sigma=0.0, most_items=N_ITEMS):
    sigmas = dict.fromkeys(SHARES, sigma)
    asked = Mechanism(NoiseSource.repeatable(1), sigmas) if sigma else WithoutNoise()
    return measure(RATINGS, asked, Public(True, most_items), sigmas)


@pytest.fixture(scope="module")
def exact():
    return measured()


@pytest.fixture(scope="module")
def drawn(exact):
    model = learn_users(exact, STARS, np.random.default_rng(1))
    blocks = list(model.draw(4_000, np.random.default_rng(2), whole=True))
    counts = np.concatenate([np.diff(block.indptr) for block in blocks])
    users = np.repeat(np.arange(4_000), counts)
    items = np.concatenate([block.indices for block in blocks])
    return users, items, np.concatenate([block.values for block in blocks])


class TestDrawnUsers:
    """Users drawn by the rule that was learnt without noise are like those it came from."""

    def test_how_much_they_rate(self, drawn):
        assert drawn[0].size / 4_000 == pytest.approx(RATINGS.n_ratings / 800, rel=0.1)

    def test_how_often_items_are_rated(self, drawn):
        true = np.bincount(RATINGS.indices, minlength=N_ITEMS) / 800
        found = np.bincount(drawn[1], minlength=N_ITEMS) / 4_000
        assert np.abs(found - true).max() < 0.1
        assert np.corrcoef(found, true)[0, 1] > 0.98

    def test_how_items_are_rated(self, drawn):
        true = np.bincount(RATINGS.indices, RATINGS.values) / np.bincount(RATINGS.indices)
        found = np.bincount(drawn[1], drawn[2]) / np.bincount(drawn[1])
        often = np.bincount(RATINGS.indices) > 100
        assert np.abs(found - true)[often].mean() < 0.15

    def test_how_often_each_label_is_given(self, drawn):
        true = np.bincount(RATINGS.values.astype(int), minlength=6) / RATINGS.n_ratings
        found = np.bincount(drawn[2].astype(int), minlength=6) / drawn[2].size
        assert found == pytest.approx(true, abs=0.06)

    def test_which_items_go_together(self, drawn):
        """Co-ratings beyond popularity: planted embeddings are found in the drawn users."""
        lifts = []
        for n, users, items in (
            (800, RATINGS.user_positions(), RATINGS.indices),
            (4_000, drawn[0], drawn[1]),
        ):
            table = np.zeros((n, N_ITEMS))
            table[users, items] = 1
            table /= np.maximum(np.sqrt(table.sum(axis=1, keepdims=True)), 1)
            lifts.append(np.corrcoef(table.T)[np.triu_indices(N_ITEMS, 1)])
        assert np.corrcoef(*lifts)[0, 1] > 0.6


class TestItemMeans:
    def test_exact_means_of_items_without_noise(self, exact):
        """Weighted by one over the root of each user's number of ratings."""
        weights = 1 / np.sqrt(RATINGS.activity)[RATINGS.user_positions()]
        sums = [np.bincount(RATINGS.indices, of) for of in (weights * RATINGS.values, weights)]
        means = sums[0] / sums[1] / 2 - 1.5
        # Ratings of users far off the centre count less, and so means are a little nearer.
        assert np.corrcoef(item_means(exact), means)[0, 1] > 0.97
        assert np.abs(item_means(exact) - means).mean() < 0.12

    def test_noise_pulls_them_together(self, exact):
        spread = [item_means(of).std() for of in (exact, measured(4.0))]
        assert spread[1] < spread[0] * 1.1
        assert np.isfinite(item_means(measured(8.0))).all()

    def test_what_hardly_any_user_rated_gets_the_usual_rating(self, exact):
        """Popular items are rated higher, and noise hides nearly everything of the others."""
        rng = np.random.default_rng(5)
        popularity = np.exp(rng.uniform(0, 5, exact.released.size))
        true = 0.1 * np.log(popularity) - 0.3
        noisy = true * popularity + 2 * rng.normal(size=popularity.size)
        sums = ItemSums(np.zeros(N_ITEMS), np.zeros(N_ITEMS), 0.5, 2.0)
        sums.popularity[exact.released], sums.off_centre[exact.released] = popularity, noisy
        found = item_means(exact._replace(items=sums)) - exact.centre
        rare = popularity < 20
        assert np.abs(found - true)[rare].mean() < 0.1
        assert np.abs(noisy / popularity - true)[rare].mean() > 0.2


def test_items_that_only_just_stand_out_are_drawn_by_their_popularity():
    found = measured(3.0)
    model = learn_users(found, STARS, np.random.default_rng(1))
    assert len(model.offsets) == found.released.size
    assert np.corrcoef(model.offsets, np.log(found.items.popularity[found.released]))[0, 1] > 0.8


def test_fewer_chosen_than_published(monkeypatch):
    """Items outside the moments have an offset, and no embedding."""
    found = measured(3.0)
    some = found._replace(
        chosen=found.chosen[:15], moments=np.ascontiguousarray(found.moments[:15, :15])
    )
    model = learn_users(some, STARS, np.random.default_rng(1))
    outside = np.setdiff1d(
        np.arange(found.released.size), np.searchsorted(found.released, some.chosen)
    )
    assert outside.size == found.released.size - 15
    assert not model.item_embeddings[outside].any()
    assert np.isfinite(model.offsets).all()
