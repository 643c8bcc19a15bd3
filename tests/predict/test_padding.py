import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recveil.predict import FunkSVD, ItemMean, Padding
from recveil.ratings import RatingScale


def _distances(rows: np.ndarray) -> np.ndarray:
    return np.linalg.norm(rows[:, None, :] - rows[None, :, :], axis=2)


@given(
    n_users=st.integers(2, 8),
    n_items=st.integers(1, 9),
    rank=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
)
def test_latent_distances_are_those_of_fully_built_padded_rows(n_users, n_items, rank, seed):
    rng = np.random.default_rng(seed)
    padding = Padding(
        user_factors=rng.normal(size=(n_users, rank)).astype(np.float32),
        item_factors=rng.normal(size=(n_items, rank)).astype(np.float32),
        item_offset=rng.normal(size=n_items).astype(np.float32),
        scale=RatingScale(-1000, 1000),  # wide enough that nothing is clipped
    )
    full = _distances(padding.rows(np.arange(n_users)).astype(np.float64))
    latent = _distances(padding.coordinates().astype(np.float64))
    assert np.allclose(full, latent, atol=1e-4)


def test_latent_distances_of_a_fitted_predictor(invented):
    padding = FunkSVD(rank=10, n_epochs=3).fit(invented).padding()
    wide = Padding(
        padding.user_factors, padding.item_factors, padding.item_offset, RatingScale(-99, 99)
    )
    users = np.arange(40)
    full = _distances(wide.rows(users).astype(np.float64))
    assert np.allclose(full, _distances(padding.coordinates()[users]), atol=1e-3)
    assert padding.coordinates().shape == (300, 11)  # rank + 1: the user's bias is a factor


def test_rows_are_clipped_to_the_scale_and_cells_agree(invented):
    padding = FunkSVD(rank=5, n_epochs=5).fit(invented).padding()
    rows = padding.rows(slice(None))
    assert rows.min() >= 1
    assert rows.max() <= 5
    users, items = np.divmod(np.arange(rows.size), rows.shape[1])
    assert np.allclose(rows.ravel(), padding.cells(users, items), atol=1e-5)


def test_a_predictor_that_knows_no_users_gives_them_one_place(invented):
    coordinates = ItemMean().fit(invented).padding().coordinates()
    assert coordinates.shape == (300, 1)
    assert not coordinates.any()
