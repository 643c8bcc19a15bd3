import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from recveil.datasets import make_ratings
from recveil.methods import Groups, homogenize_padded, homogenize_simple
from recveil.methods.predictive import homogenize
from recveil.predict import FunkSVD, Padding
from recveil.ratings import Ratings, RatingScale


def test_figure_1_of_chang_et_al():
    # Users 1 and 2 form a group: 1 gave Star Wars 5 and Godfather 1; 2 gave Godfather 5 and
    # English Patient 3. New ratings are the averages of the ratings there are:
    # Star Wars 5 / 1, Godfather (1 + 5) / 2 = 3, English Patient 3 / 1.
    ratings = Ratings.from_columns(
        [1, 1, 2, 2], ["star wars", "godfather", "godfather", "patient"], [5, 1, 5, 3]
    )
    (block,) = homogenize_simple(ratings, Groups.from_labels([0, 0]))
    assert ratings.items[block.indices].tolist() == ["godfather", "patient", "star wars"]
    assert block.values.tolist() == [3, 3, 5]
    assert block.sizes.tolist() == [2]


def test_padded_by_hand():
    # Predictions before clipping: user 1: 2, 6, 3; user 2: 1, 4, 0 on a scale of 1 to 5.
    # Clipped: 2, 5, 3 and 1, 4, 1. User 1 rated item a with 5, user 2 item c with 4:
    # rows 5, 5, 3 and 1, 4, 4; means 3, 4.5, 3.5. Item d was rated by no user: no label.
    padding = Padding(
        user_factors=np.array([[1, 0], [0, 1]], np.float32),
        item_factors=np.array([[2, 1], [6, 4], [3, 0], [9, 9]], np.float32),
        item_offset=np.zeros(4, np.float32),
        scale=RatingScale(1, 5, 1),
    )
    ratings = Ratings(
        *([1, 2, 3], ["a", "b", "c", "d"], [0, 1, 2, 3], [0, 2, 1], [5, 4, 3], None),
        RatingScale(1, 5, 1),
    )
    padding = Padding(
        np.vstack([padding.user_factors, [[0, 0]]]).astype(np.float32),
        *(padding.item_factors, padding.item_offset, padding.scale),
    )
    (block,) = homogenize_padded(ratings, padding, Groups.from_labels([0, 0, 1]))
    assert block.indices.tolist() == [0, 1, 2, 0, 1, 2]
    assert block.values.tolist() == [3, 4.5, 3.5, 1, 3, 1]
    assert block.sizes.tolist() == [2, 1]


def _whole(blocks, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Build the full matrix of records, null as nan, and the sizes."""
    rows, sizes = [], []
    for block in blocks:
        for record in range(len(block)):
            row = np.full(n_items, np.nan)
            own = slice(block.indptr[record], block.indptr[record + 1])
            row[block.indices[own]] = block.values[own]
            rows.append(row)
        sizes += block.sizes.tolist()
    return np.array(rows), np.array(sizes)


@pytest.fixture(scope="module")
def small() -> tuple[Ratings, Padding, Groups]:
    some = make_ratings(n_users=60, n_items=40, n_ratings=600, seed=11)
    # Items that no user rated, at the start, in between and at the end, get no label.
    ratings = Ratings(
        *(some.users, np.arange(124), some.indptr, 3 * some.indices + 1, some.values, None),
        some.scale,
    )
    labels = np.random.default_rng(2).permutation(np.arange(60) % 13)
    order = np.random.default_rng(3).permutation(13)
    return ratings, FunkSVD(rank=4).fit(ratings).padding(), Groups.from_labels(labels, order)


def _dense(ratings: Ratings) -> np.ndarray:
    matrix = np.full((ratings.n_users, ratings.n_items), np.nan)
    matrix[ratings.user_positions(), ratings.indices] = ratings.values
    return matrix


@pytest.mark.parametrize("tile", [1, 100, 1 << 24])
def test_padded_equals_the_fully_built_matrix_for_any_tile(small, tile, monkeypatch):
    monkeypatch.setattr(homogenize, "_TILE_CELLS", tile)
    ratings, padding, groups = small
    true, predicted = _dense(ratings), padding.rows(slice(None)).astype(np.float64)
    full = np.where(np.isnan(true), predicted, true)
    found, sizes = _whole(homogenize_padded(ratings, padding, groups), ratings.n_items)
    rated = ratings.support > 0
    for group, (first, last) in enumerate(zip(groups.starts, groups.starts[1:], strict=False)):
        expected = full[groups.members[first:last]].mean(axis=0)
        assert np.allclose(found[group][rated], expected[rated], atol=1e-6)
    assert rated.sum() == 40
    assert np.isnan(found[:, ~rated]).all()
    assert np.array_equal(sizes, groups.sizes)


@pytest.mark.parametrize("budget", [1, 50, 1 << 22])
def test_simple_equals_the_mean_over_raters_for_any_block(small, budget, monkeypatch):
    monkeypatch.setattr(homogenize, "_BLOCK_RATINGS", budget)
    ratings, _, groups = small
    true = _dense(ratings)
    found, sizes = _whole(homogenize_simple(ratings, groups), ratings.n_items)
    for group, (first, last) in enumerate(zip(groups.starts, groups.starts[1:], strict=False)):
        members = true[groups.members[first:last]]
        raters = (~np.isnan(members)).sum(axis=0)
        expected = np.where(raters > 0, np.nansum(members, axis=0) / np.maximum(raters, 1), np.nan)
        assert np.allclose(found[group], expected, equal_nan=True)
    assert np.array_equal(sizes, groups.sizes)


def test_the_tile_and_the_threads_change_no_bit(small, monkeypatch):
    ratings, padding, groups = small
    found = []
    for tile, threads in ((1 << 24, 2), (1 << 24, 1), (600, 1)):
        monkeypatch.setattr(homogenize, "_TILE_CELLS", tile)
        with threadpool_limits(threads):
            blocks = list(homogenize_padded(ratings, padding, groups))
        found.append(np.concatenate([block.values for block in blocks]))
    assert np.array_equal(found[0], found[1])
    assert np.allclose(found[0], found[2], atol=1e-6)


@given(labels=st.lists(st.integers(0, 6), min_size=1, max_size=40), seed=st.integers(0, 99))
def test_groups_hold_all_users_once_in_the_given_order(labels, seed):
    labels = np.unique(labels, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(labels.max() + 1)
    groups = Groups.from_labels(labels, order)
    assert sorted(groups.members.tolist()) == list(range(len(labels)))
    for place, group in enumerate(order):
        members = groups.members[groups.starts[place] : groups.starts[place + 1]]
        assert members.tolist() == np.flatnonzero(labels == group).tolist()
