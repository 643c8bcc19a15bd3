import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import GeometricPerturbation, RotationPerturbation
from recveil.methods.baselines import rotation
from recveil.methods.baselines.rotation import padded_rows
from recveil.predict import FunkSVD, ItemMean, UserKNN
from recveil.ratings import Ratings

# Predictions have single precision, and linear algebra sums them in the order of the processor.
SINGLE = 1e-5


def published_rows(release):
    """The published table, its rows in the order of the users' positions."""
    blocks = list(release.published.blocks())
    table = np.concatenate([block.values.reshape(len(block), -1) for block in blocks])
    rows = np.empty_like(table)
    rows[release.private.groups.members] = table
    return rows, blocks[0].indices[: table.shape[1]]


def rows_before(ratings, padding, space):
    """The rows that are turned, computed the plain way."""
    items = np.flatnonzero(ratings.support)
    if space == "padded":
        rows = padding.rows(slice(None)).astype(float)
        for user in range(ratings.n_users):
            own, values = ratings.row(user)
            rows[user, own] = values
        return rows[:, items]
    factors = padding.user_factors.astype(float) @ padding.item_factors.astype(float).T
    return (factors + padding.item_offset)[:, items]


@settings(deadline=None, max_examples=30)
@given(n_items=st.integers(1, 12), seed=st.integers(0, 1000))
def test_rows_of_any_width_are_turned_about_0(n_items, seed):
    ratings = make_ratings(n_users=4, n_items=n_items, n_ratings=max(4, 2 * n_items), seed=seed)
    rows = rows_before(ratings, ItemMean().fit(ratings).padding(), "padded")
    make = RotationPerturbation(predictor="item-mean", seed=seed)
    turned, _ = published_rows(make.anonymize(ratings))
    assert np.abs(turned @ turned.T - rows @ rows.T).max() < 1e-9


def test_rotations_and_reflections_are_equally_likely():
    ratings = Ratings.from_columns([1, 1, 2, 2], list("abab"), [5, 1, 1, 5])
    makes = [RotationPerturbation(predictor="item-mean", seed=seed) for seed in range(400)]
    turned = [published_rows(make.anonymize(ratings))[0] for make in makes]
    signs = np.linalg.det(turned) / np.linalg.det([[5, 1], [1, 5]])
    assert np.abs(signs) == pytest.approx(np.ones(400))
    assert 0.4 < np.mean(signs > 0) < 0.6  # four standard errors of 0.025


def test_padded_rows_by_hand():
    # a has the mean 5, b 1.5; user 2 is padded with 5 for a, user 1 with nothing.
    ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    rows = padded_rows(ratings, ItemMean().fit(ratings).padding(), np.array([1, 0]), np.arange(2))
    assert rows.tolist() == [[5, 2], [5, 1]]


@pytest.mark.parametrize("space", ["padded", "latent"])
@pytest.mark.parametrize("rank", [2, 30])
class TestRotation:
    @pytest.fixture
    def ratings(self):
        # Some of the items were rated by no user.
        return make_ratings(n_users=50, n_items=25, n_ratings=150, seed=2)

    @pytest.fixture
    def before(self, ratings, rank, space):
        predictor = FunkSVD(rank=rank, seed=3)
        return predictor, rows_before(ratings, predictor.fit(ratings).padding(), space)

    def test_distances_are_kept(self, ratings, before, space, rank):
        predictor, rows = before
        release = RotationPerturbation(space, predictor, seed=1).anonymize(ratings)
        turned, items = published_rows(release)
        assert items.size < ratings.n_items
        assert np.array_equal(items, np.flatnonzero(ratings.support))
        assert np.abs(pdist(turned) - pdist(rows)).max() < SINGLE
        assert np.abs(turned - rows).max() > 0.1

    def test_shift_and_noise_come_on_top(self, ratings, before, space, rank):
        predictor, rows = before
        small = GeometricPerturbation(1e-12, space, predictor, seed=1).anonymize(ratings)
        turned, _ = published_rows(small)
        assert np.abs(pdist(turned) - pdist(rows)).max() < SINGLE
        large = GeometricPerturbation(0.5, space, predictor, seed=1).anonymize(ratings)
        noise = published_rows(large)[0] - turned
        assert abs(noise.std() - 0.5) < 5 * 0.5 / (2 * noise.size) ** 0.5

    def test_noise_may_come_before_the_rotation(self, ratings, before, space, rank):
        # R(A + N): in the latent space, the rows stay in the directions of the predictions.
        predictor, rows = before
        options = (space, predictor)
        without = published_rows(GeometricPerturbation(1e-12, *options, seed=1).anonymize(ratings))
        release = GeometricPerturbation(0.5, *options, noise_first=True, seed=1).anonymize(ratings)
        noise = published_rows(release)[0] - without[0]
        # A user's bias is a direction, too.
        n_directions = rows.shape[1] if space == "padded" else min(rank + 1, rows.shape[1])
        assert np.linalg.matrix_rank(noise, 1e-6) == min(n_directions, len(rows))
        n = len(rows) * n_directions
        assert ((noise**2).sum() / n) ** 0.5 == pytest.approx(0.5, abs=5 * 0.5 / (2 * n) ** 0.5)
        assert release.published.settings["noise"] == "before rotation"

    def test_an_adversary_with_some_rows_undoes_it(self, ratings, before, space, rank):
        _, rows = before
        predictor = before[0]
        turned, _ = published_rows(
            RotationPerturbation(space, predictor, seed=1).anonymize(ratings)
        )
        shuffled = np.random.default_rng(5).permutation(ratings.n_users)
        published = turned[shuffled]
        known = np.arange(40)  # more users than dimensions
        # Who they are: the multiset of distances to all users identifies each of them.
        own = np.sort(cdist(rows[known], rows), axis=1)
        seen = np.sort(cdist(published, published), axis=1)
        match = cdist(own, seen).argmin(axis=1)
        assert np.array_equal(shuffled[match], known)
        # And so the rest: an affine map from their published rows back to their rows.
        x = np.hstack([published[match], np.ones((known.size, 1))])
        back = np.linalg.lstsq(x, rows[known], rcond=1e-6)[0]
        others = np.arange(40, 50)
        where = np.array([np.flatnonzero(shuffled == user)[0] for user in others])
        undone = np.hstack([published[where], np.ones((others.size, 1))]) @ back
        assert np.abs(undone - rows[others]).max() < 1e-4

    def test_blocks_do_not_change_rows(self, ratings, before, space, rank, monkeypatch):
        make = RotationPerturbation(space, before[0], seed=1)
        whole, _ = published_rows(make.anonymize(ratings))
        monkeypatch.setattr(rotation, "_TILE_CELLS", 60)
        release = make.anonymize(ratings)
        assert len(list(release.published.blocks())) > 5
        assert published_rows(release)[0] == pytest.approx(whole, abs=SINGLE)


def test_the_angle_by_hand():
    # Two users who rated both items: (5, 1) and (1, 5). Their rows are √32 apart and √26 long,
    # and the cosine between them is 10 / 26.
    ratings = Ratings.from_columns([1, 1, 2, 2], list("abab"), [5, 1, 1, 5])
    rows, _ = published_rows(RotationPerturbation(predictor="item-mean", seed=4).anonymize(ratings))
    assert np.linalg.norm(rows, axis=1) == pytest.approx([26**0.5, 26**0.5], abs=1e-9)
    assert rows[0] @ rows[1] == pytest.approx(10, abs=1e-9)
    assert np.linalg.norm(rows[0] - rows[1]) == pytest.approx(32**0.5, abs=1e-9)


def test_latent_rotation_keeps_item_means():
    ratings = make_ratings(n_users=50, n_items=20, n_ratings=400, seed=2)
    predictor = FunkSVD(rank=3, seed=3)
    rows, _ = published_rows(RotationPerturbation("latent", predictor, seed=1).anonymize(ratings))
    before = rows_before(ratings, predictor.fit(ratings).padding(), "latent")
    assert rows.mean(axis=0) == pytest.approx(before.mean(axis=0), abs=1e-9)


def test_a_predictor_that_distinguishes_no_users_leaves_one_row():
    ratings = make_ratings(n_users=20, n_items=10, n_ratings=60, seed=2)
    rows, items = published_rows(RotationPerturbation("latent", "item-mean").anonymize(ratings))
    assert rows == pytest.approx(
        np.tile(ItemMean().fit(ratings).predict(np.zeros(items.size, int), items), (20, 1))
    )


def test_bad_settings(monkeypatch):
    ratings = make_ratings(n_users=20, n_items=10, n_ratings=60, seed=2)
    with raises("argument.value") as caught:
        RotationPerturbation("outer").anonymize(ratings)
    assert "'outer'" in str(caught.value)
    with raises("argument.value") as caught:
        RotationPerturbation(predictor="oracle").anonymize(ratings)
    assert "'oracle'" in str(caught.value)
    with raises("argument.value") as caught:
        GeometricPerturbation(0).anonymize(ratings)
    assert "is 0" in str(caught.value)
    monkeypatch.setattr(rotation, "MOST_ITEMS_ROTATED", 3)
    with raises("table.too-large"):
        RotationPerturbation().anonymize(ratings)
    RotationPerturbation("latent").anonymize(ratings)


def test_a_predictor_without_factors_is_refused_by_name(invented):
    for make in (RotationPerturbation, GeometricPerturbation):
        with raises("argument.type") as caught:
            make(predictor=UserKNN(), seed=1).anonymize(invented)
        assert "UserKNN" in str(caught.value)
