import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import AttackTarget
from recveil.attacks.membership.inference import only
from recveil.attacks.reidentification.hidden_items import (
    SAME_USERS,
    ItemSide,
    _agreement,
    _company,
    _outlying,
    match_by_rank,
    match_items,
)
from recveil.datasets import make_ratings
from recveil.methods.registry import make_variant
from recveil.ratings import Ratings, RatingScale

RATINGS = make_ratings(n_users=400, n_items=30, n_ratings=5000, seed=3)
# Four users and three items, on a scale whose quarters are one point.
SMALL = Ratings.from_columns(
    [1, 1, 2, 2, 3, 4, 4], [7, 8, 7, 8, 7, 8, 9], [5, 1, 3, 3, 4, 2, 5], scale=RatingScale(1, 5, 1)
)


def moved(ratings, order):
    """The same ratings with item ``order[i]`` at position i."""
    place_of = np.argsort(order)
    users = ratings.users[ratings.user_positions()]
    return Ratings.from_columns(
        users, place_of[ratings.indices], ratings.values, scale=ratings.scale
    )


def halves(ratings, seed=0):
    order = np.random.default_rng(seed).permutation(ratings.n_users)
    users = ratings.user_positions()
    for part in (order[::2], order[1::2]):
        own = np.isin(users, part)
        yield Ratings.from_columns(
            users[own], ratings.indices[own], ratings.values[own], scale=ratings.scale
        )


def test_a_small_table_by_hand():
    side = ItemSide.of_ratings(SMALL)
    assert side.counts.tolist() == [3, 3, 1]
    assert side.n_rows == 4
    assert side.means.tolist() == pytest.approx([3, 1, 4])  # above the scale's low end
    assert not side.is_full


def test_counts_are_of_users():
    """Rows of a release weigh as many users as share them."""
    groups = make_variant("simple", 5, 1).anonymize(RATINGS)
    table = AttackTarget.from_release(groups, RATINGS)
    side = ItemSide.of_release(table, RATINGS.scale)
    held = np.zeros((table.indptr.size - 1, RATINGS.n_items))
    held[np.repeat(np.arange(len(held)), np.diff(table.indptr)), table.indices] = 1
    assert side.counts == pytest.approx(table.candidates.sizes @ held)
    assert (side.n_counted, side.n_rows) == (400, len(held))


def test_half_of_the_users_differ_less_by_chance_than_others():
    """Many items that few users rated: 44 of the top 100 without the sample's smaller chance."""
    ratings = make_ratings(n_users=600, n_items=800, n_ratings=30_000, seed=0)
    release = make_variant("sparse", 5, 0).anonymize(ratings)
    hidden = ItemSide.of_release(AttackTarget.from_release(release, ratings), ratings.scale)
    known = only(ratings, np.sort(np.random.default_rng(0).permutation(600)[:300]))
    public = ItemSide.of_ratings(known)
    guess = match_items(hidden, public, ratings.n_items, differ=SAME_USERS).guess
    named = np.where(guess >= 0, known.items[guess], -1) == ratings.items
    assert named[np.argsort(-ratings.support)[:100]].sum() >= 55


def test_top_keeps_the_items_of_most_users():
    few = ItemSide.of_ratings(SMALL).top(2)
    assert few.items.tolist() == [0, 1]
    assert few.alike.shape == few.together.shape == (2, 2)
    assert few.n_left_out == 1


def test_items_beyond_the_first_are_matched_too(monkeypatch):
    side = ItemSide.of_ratings(RATINGS)
    monkeypatch.setattr("recveil.attacks.reidentification.hidden_items.FIRST_HIDDEN", 10)
    monkeypatch.setattr("recveil.attacks.reidentification.hidden_items.FIRST_PUBLIC", 15)
    assert match_items(side, side, 30, {2: 2}).guess.tolist() == list(range(30))


def test_correlations_are_symmetric_and_leave_out_an_item_with_itself():
    side = ItemSide.of_ratings(RATINGS)
    for table in (side.together, side.alike):
        assert np.array_equal(table, table.T)
        assert not np.diag(table).any()
        assert np.abs(table).max() <= 1 + 1e-5


def test_correlations_of_labels_in_full_rows_are_those_of_numpy():
    rng = np.random.default_rng(1)
    values = rng.integers(1, 6, (50, 6)).astype(float)
    users, items = np.divmod(np.arange(300), 6)
    side = ItemSide.of_ratings(
        Ratings.from_columns(users, items, values.ravel(), scale=RatingScale(1, 5, 1))
    )
    off = values - values.mean(0)
    expected = np.corrcoef((off - off.mean(1, keepdims=True)).T)
    np.fill_diagonal(expected, 0)
    assert side.is_full
    assert side.alike == pytest.approx(expected, abs=1e-4)


def test_ratings_in_smooth_rows_are_counted():
    rng = np.random.default_rng(2)
    smooth = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 80)) + rng.normal(0, 0.05, (200, 80))
    rated = rng.random((200, 80)) < np.linspace(0.01, 0.2, 80)
    found = _outlying((smooth + rng.normal(0, 0.6, rated.shape) * rated).astype(np.float32))
    assert np.corrcoef(found, rated.sum(0))[0, 1] > 0.8


def test_agreement_is_a_correlation_where_all_weigh_the_same():
    rng = np.random.default_rng(3)
    here, there = (rng.normal(size=(4, 9)).astype(np.float32) for _ in range(2))
    found = _agreement(here, there, np.ones(9, np.float32))
    assert found == pytest.approx(np.corrcoef(here, there)[:4, 4:], abs=1e-5)


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_a_table_is_recognized_in_any_order_of_its_items(seed):
    order = np.random.default_rng(seed).permutation(RATINGS.n_items)
    hidden, public = ItemSide.of_ratings(moved(RATINGS, order)), ItemSide.of_ratings(RATINGS)
    assert match_items(hidden, public, RATINGS.n_items).guess.tolist() == order.tolist()


def test_the_order_of_items_decides_nothing():
    """Whatever is planted in the order, the same items are named right."""
    first, second = halves(RATINGS)
    public = ItemSide.of_ratings(second)
    right = []
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(first.n_items)
        guess = match_items(ItemSide.of_ratings(moved(first, order)), public, 30).guess
        right.append(sorted(order[guess == order].tolist()))
    assert right[0] == right[1]


def test_halves_of_planted_company_are_matched():
    """Items of one size and mean that go together more or less often: counts distinguish none."""
    rng = np.random.default_rng(4)
    embeddings = rng.normal(size=(12, 4))
    users = rng.normal(size=(4000, 4))
    chance = 1 / (1 + np.exp(-(users @ embeddings.T) * 2))
    held = rng.random(chance.shape) < chance
    users, items = np.nonzero(held)
    ratings = Ratings.from_columns(users, items, rng.integers(1, 6, users.size).astype(float))
    sides = [ItemSide.of_ratings(half) for half in halves(ratings)]
    matched = (match_items(*sides, 12).guess == np.arange(12)).sum()
    by_rank = (match_by_rank(*sides, 12).guess == np.arange(12)).sum()
    assert matched == 12
    assert by_rank < 9


def test_known_items_stay_what_they_are():
    sides = [ItemSide.of_ratings(half) for half in halves(RATINGS)]
    guess = match_items(*sides, 30, {3: 3, 5: 9}).guess  # the second is wrong, and believed
    assert (guess[3], guess[5]) == (3, 9)


def test_each_public_item_is_taken_once():
    sides = [ItemSide.of_ratings(half) for half in halves(RATINGS)]
    guess = match_items(*sides, 30).guess
    assert np.unique(guess[guess >= 0]).size == (guess >= 0).sum()


def test_more_hidden_items_than_public_ones_leave_some_unnamed():
    few = ItemSide.of_ratings(moved(RATINGS, np.arange(30)))
    kept = RATINGS.indices < 20
    users = RATINGS.user_positions()[kept]
    public = Ratings.from_columns(users, RATINGS.indices[kept], RATINGS.values[kept])
    guess = match_items(few, ItemSide.of_ratings(public), 30).guess
    assert (guess < 0).sum() == 10


def test_one_item_alone_is_matched():
    side = ItemSide.of_ratings(Ratings.from_columns([1, 2], [7, 7], [3, 4]))
    assert match_items(side, side, 1).guess.tolist() == [0]


def test_co_occurrence_in_full_rows_is_revealed_by_labels_alone():
    users, items = np.divmod(np.arange(300), 6)
    values = np.random.default_rng(5).integers(1, 6, 300).astype(float)
    full = ItemSide.of_ratings(Ratings.from_columns(users, items, values))
    places = np.arange(6)
    assert _company(full, full, places, places).shape == (6, 6)
    assert match_items(full, full, 6).guess.tolist() == places.tolist()
