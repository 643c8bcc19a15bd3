import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.evaluation import match_held_out, split_ratings
from recveil.ratings import Ratings


def cells(users, items, values) -> set:
    return set(zip(users.tolist(), items.tolist(), np.round(values, 6).tolist(), strict=True))


class TestSplitRatings:
    @settings(deadline=None, max_examples=30)
    @given(share=st.floats(0.2, 0.95), seed=st.integers(0, 99))
    def test_every_rating_is_in_one_of_the_two_and_all_users_keep_one(self, share, seed):
        ratings = make_ratings(n_users=40, n_items=25, n_ratings=200, seed=3)
        train, test = split_ratings(ratings, share, seed)
        kept = cells(train.user_positions(), train.indices, train.values)
        held = cells(*test)
        assert kept.isdisjoint(held)
        assert kept | held == cells(ratings.user_positions(), ratings.indices, ratings.values)
        n = ratings.activity
        assert (n - train.activity == np.minimum(np.floor(share * n + 0.5), n - 1)).all()
        assert train.activity.min() >= 1
        assert train.scale == ratings.scale
        assert train.items is ratings.items or (train.items == ratings.items).all()

    def test_days_stay_with_their_ratings(self):
        ratings = Ratings.from_columns([1] * 4, [1, 2, 3, 4], [1, 2, 3, 4], days=[10, 20, 30, 40])
        train = split_ratings(ratings, 0.5).train
        assert (train.days == 10 * train.values).all()

    def test_cells_are_sorted_and_the_seed_decides(self, invented):
        one, same, other = (split_ratings(invented, 0.2, seed).test for seed in (1, 1, 2))
        assert all((a == b).all() for a, b in zip(one, same, strict=True))
        assert cells(*one) != cells(*other)
        key = one.users * invented.n_items + one.items
        assert (np.diff(key) > 0).all()

    @pytest.mark.parametrize("share", [0, 1, -0.5, 2])
    def test_senseless_shares_are_refused(self, invented, share):
        with raises("option.value"):
            split_ratings(invented, share)

    def test_a_share_that_holds_out_nothing_is_refused(self):
        ratings = Ratings.from_columns([1, 2], [1, 1], [1, 2])
        with raises("table.too-few-ratings"):
            split_ratings(ratings, 0.5)


class TestMatchHeldOut:
    def test_by_hand(self):
        train = Ratings.from_columns(["a", "b", "c"], [1, 2, 3], [1, 2, 3])
        # (a, 1) is in training, (z, 1) and (a, 9) and (z, 9) are unknown; (c, 1), (a, 3) stay.
        test = Ratings.from_columns(
            ["c", "a", "z", "a", "z", "a"], [1, 1, 1, 9, 9, 3], [5, 4, 3, 2, 1, 5]
        )
        found = match_held_out(train, test)
        assert found.test.users.tolist() == [0, 2]
        assert found.test.items.tolist() == [2, 0]
        assert found.test.values.tolist() == [5, 5]
        assert found[1:] == (1, 1, 3, 1)

    def test_a_split_written_to_a_file_comes_back(self, invented):
        train, test = split_ratings(invented, 0.3, 4)
        columns = invented.users[test.users], invented.items[test.items], test.values
        again = match_held_out(train, Ratings.from_columns(*columns))
        assert cells(*again.test) == cells(*test)
        assert again[1:] == (0, 0, 0, 0)

    def test_ids_of_another_kind_are_refused(self):
        train = Ratings.from_columns([1, 2], [1, 1], [1, 2])
        test = Ratings.from_columns(["1", "b"], [1, 1], [1, 2])
        with raises("id.type") as caught:
            match_held_out(train, test)
        assert "user ids" in str(caught.value)

    def test_nothing_to_judge_by_is_refused(self, invented):
        with raises("evaluation.no-test-ratings"):
            match_held_out(invented, invented)
