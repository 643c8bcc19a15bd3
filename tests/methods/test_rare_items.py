"""Rare items: who is one, and dealing them to rows against a plain version."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.datasets import make_ratings
from recveil.methods import SparseRows
from recveil.methods.rare_items import (
    activity_on,
    deal_rare,
    labelled_as,
    merge_items,
    pooled_items,
    split_items,
)
from recveil.ratings import Ratings, RatingScale
from recveil.verification import verify


class TestPool:
    def test_all_that_fewer_rated(self):
        users = [*range(25), *range(19), *range(19, 25), 0]
        ratings = Ratings.from_columns(
            users, ["a"] * 25 + ["b"] * 19 + ["c"] * 6 + ["d"], [1, 2, 3] * 17
        )
        assert pooled_items(ratings, 20).tolist() == [1, 2, 3]

    def test_items_of_one_rater_are_published_with_others(self):
        """However many these are: their mean would be that user's."""
        users = [*range(30), *range(22), *[3] * 50]
        items = [0] * 30 + [1] * 22 + list(range(2, 52))
        ratings = Ratings.from_columns(users, items, [1, 2] * 51)
        assert pooled_items(ratings, 20).tolist() == list(range(1, 52))

    def test_none_where_all_have_many(self):
        ratings = Ratings.from_columns([*range(20)] * 2, [0] * 20 + [1] * 20, [1, 2] * 20)
        assert pooled_items(ratings, 20).size == 0

    @given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, unique=True))
    def test_at_least_so_many_users_or_all_users(self, pairs):
        users, items = zip(*pairs, strict=True)
        ratings = Ratings.from_columns(users, items, np.arange(len(pairs)) % 5)
        pool = pooled_items(ratings, 4)
        rare = np.flatnonzero(ratings.support < 4)
        assert set(rare.tolist()) <= set(pool.tolist())
        all_users = np.repeat(np.arange(ratings.n_users), ratings.activity)
        behind = np.unique(all_users[np.isin(ratings.indices, pool)]).size
        assert not pool.size or behind >= min(4, ratings.n_users) or pool.size == ratings.n_items


class TestSplit:
    def test_items_that_fewer_rated_are_in_neither_part(self, monkeypatch):
        monkeypatch.setattr("recveil.methods.rare_items.MOST_COMMON", 1)
        common, rare = split_items(np.array([1, 5, 2, 7, 4]), 4)
        assert common.tolist() == [3]
        assert rare.tolist() == [1, 4]

    def test_by_hand(self, monkeypatch):
        monkeypatch.setattr("recveil.methods.rare_items.MOST_COMMON", 2)
        common, rare = split_items(np.array([1, 0, 2, 7, 2]))
        assert common.tolist() == [2, 3]  # items 2 and 4 have two users each: the earlier one
        assert rare.tolist() == [0, 4]

    def test_counts_without_a_sign_are_not_turned_around(self, monkeypatch):
        monkeypatch.setattr("recveil.methods.rare_items.MOST_COMMON", 1)
        common, _ = split_items(np.array([1, 3, 2], np.uint32))
        assert common.tolist() == [1]


def plainly_dealt(support, lengths, sizes, start):
    """Return pairs of row and item: add up row by row, and draw at each whole one."""
    chances = np.outer(support, lengths) / (lengths @ sizes)
    pairs = []
    for item, chance in enumerate(chances):
        reached, wanted = 0.0, start[item]
        for row, one in enumerate(chance):
            reached += one
            if wanted < reached:
                pairs.append((row, item))
            while wanted < reached:
                wanted += 1
    return pairs


class TestMerging:
    def test_each_user_gives_their_mean_by_hand(self):
        # Cy gave 1, 4, 5 and 5 to items of the pool, Ann and Ben one rating each; d is no user's.
        ratings = Ratings.from_columns(
            ["Ann", "Ben", "Ben", "Cy", "Cy", "Cy", "Cy"], list("acaadef"), [4, 3, 2, 1, 4, 5, 5]
        )
        stands_for = labelled_as(ratings, 3)
        assert stands_for.tolist() == [0, 0, 0, 0, 0]
        assert merge_items(ratings, stands_for).csr.toarray()[:, 0].tolist() == [4, 2.5, 3.75]

    def test_items_of_one_rater_each_become_one(self):
        ratings = Ratings.from_columns([1, 2, 3, 4], list("abcd"), [5, 4, 3, 2])
        merged = merge_items(ratings, labelled_as(ratings, 3))
        assert merged.support.tolist() == [4, 0, 0, 0]
        assert merged.values.tolist() == [5, 4, 3, 2]

    @given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, unique=True))
    def test_no_user_is_more_than_their_share(self, pairs):
        users, items = zip(*pairs, strict=True)
        ratings = Ratings.from_columns(users, items, np.arange(len(pairs)) % 5)
        stands_for = labelled_as(ratings, 4)
        merged = merge_items(ratings, stands_for)
        assert np.array_equal(merged.users, ratings.users)
        raters = merged.support[merged.support > 0]
        whole = np.bincount(stands_for, minlength=ratings.n_items).max() == ratings.n_items
        assert whole or raters.min() >= min(4, ratings.n_users)


class TestDealing:
    @given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 1000))
    def test_pairs_are_those_of_the_plain_version(self, n_rows, n_items, seed):
        rng = np.random.default_rng(seed)
        support = rng.integers(1, 40, n_items).astype(float)
        lengths, sizes = rng.uniform(0.5, 6, n_rows), rng.integers(5, 9, n_rows)
        rows, items = deal_rare(support, lengths, sizes, np.random.default_rng(seed))
        start = np.random.default_rng(seed).random(n_items)
        expected = plainly_dealt(support, lengths, sizes, start)
        assert list(zip(rows.tolist(), items.tolist(), strict=True)) == expected

    def test_each_row_is_drawn_by_its_room_and_each_item_by_its_count(self):
        support, lengths = np.array([2.0, 6.0]), np.array([1.0, 3.0, 4.0])
        sizes = np.array([5, 6, 5])
        drawn = np.zeros((3, 2))
        for seed in range(4_000):
            rows, items = deal_rare(support, lengths, sizes, np.random.default_rng(seed))
            np.add.at(drawn, (rows, items), 1)
        expected = np.outer(lengths, support) / (lengths @ sizes)
        assert np.abs(drawn / 4_000 - expected).max() < 0.03
        assert np.abs(sizes @ (drawn / 4_000) - support).max() < 0.3

    def test_an_item_that_fills_more_than_all_rows_stands_once_in_each(self):
        rows, items = deal_rare(
            np.array([100.0]), np.array([9.0, 1.0]), np.array([5, 5]), np.random.default_rng(0)
        )
        assert rows.tolist() == [0, 1]
        assert items.tolist() == [0, 0]


class TestActivity:
    def test_by_hand(self):
        ratings = Ratings.from_columns(
            [1, 1, 1, 2, 3, 3], ["a", "b", "d", "d", "a", "c"], [5, 4, 3, 2, 1, 5]
        )
        counts = activity_on(ratings, [np.array([0, 1]), np.array([2])])
        assert counts.tolist() == [[2, 0], [0, 0], [1, 1]]

    def test_of_all_items_it_is_all_activity(self, invented):
        counts = activity_on(invented, [np.arange(invented.n_items)])
        assert np.array_equal(counts[:, 0], invented.activity)


class TestSparseRowsWithRareItems:
    @pytest.fixture(autouse=True)
    def few_common(self, monkeypatch):
        monkeypatch.setattr("recveil.methods.rare_items.MOST_COMMON", 12)

    def test_all_items_are_counted_nearly_as_often_as_rated(self, tmp_path, monkeypatch):
        monkeypatch.setattr("recveil.methods.rare_items.MOST_COMMON", 60)
        ratings = make_ratings(n_users=300, n_items=200, n_ratings=4_000, seed=2)
        release = SparseRows(5, seed=1).anonymize(ratings)
        all_users = np.zeros(ratings.n_items)
        lengths = []
        for block in release.published.blocks():
            behind = np.repeat(block.sizes, np.diff(block.indptr))
            all_users += np.bincount(block.indices, weights=behind, minlength=ratings.n_items)
            lengths += np.diff(block.indptr).tolist()
            for row in np.split(block.indices, block.indptr[1:-1]):
                assert (np.diff(row) > 0).all()  # ascending, and no item twice
        kept = ratings.support >= 5
        assert kept.sum() > 120
        off = np.abs(all_users - ratings.support)[kept]
        assert off.mean() < 4
        assert off.max() <= 2 * release.private.groups.sizes.max()
        assert min(lengths) > 0
        wanted = ratings.support[kept].sum() / ratings.n_users
        assert abs(np.mean(lengths) - wanted) < 0.05 * wanted
        release.write(tmp_path / "out")
        assert verify(tmp_path / "out").holds

    def test_who_rates_rare_items_makes_rows_no_longer_by_common_ones(self):
        """Twenty of 200 users rated sixty items more, which no other user rated."""
        rng = np.random.default_rng(1)
        items = [rng.choice(12, 5, replace=False).tolist() for _ in range(200)]
        for heavy in range(20):
            items[heavy] += range(12, 72)
        users = np.repeat(np.arange(200), [len(own) for own in items])
        values = rng.integers(1, 6, users.size)
        scale = RatingScale(1, 5, 1)
        ratings = Ratings.from_columns(users, np.concatenate(items), values, scale=scale)
        blocks = list(SparseRows(5, seed=1).anonymize(ratings).published.blocks())
        rows = [row for each in blocks for row in np.split(each.indices, each.indptr[1:-1])]
        of_common = np.array([(row < 12).sum() for row in rows])
        assert of_common.max() <= 9
        assert sorted((row >= 12).sum() for row in rows)[-4:] == [60] * 4

    def test_rows_of_rare_items_alone_get_no_common_one(self):
        """Where all users rated two items of many, common ones are not counted too often."""
        rng = np.random.default_rng(1)
        items = np.concatenate([rng.choice(100, 2, replace=False) for _ in range(500)])
        values = rng.integers(1, 6, items.size)
        ratings = Ratings.from_columns(
            np.repeat(np.arange(500), 2), items, values, scale=RatingScale(1, 5, 1)
        )
        common, _ = split_items(ratings.support)
        all_users = np.zeros(ratings.n_items)
        for block in SparseRows(4, seed=3).anonymize(ratings).published.blocks():
            behind = np.repeat(block.sizes, np.diff(block.indptr))
            all_users += np.bincount(block.indices, weights=behind, minlength=ratings.n_items)
        assert all_users[common].sum() < 2 * ratings.support[common].sum()
