"""Shares of words: what each user is likely to give, and what a group gives."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import Groups
from recveil.methods.nominal import (
    NominalAnonymizer,
    embed_by_labels,
    group_shares,
    learn_shares,
    most_frequent,
    sample_labels,
)
from recveil.ratings import Ratings, RatingScale

UP_DOWN = RatingScale.of_labels("up,down", ordered=False)
FOUR = RatingScale.of_labels("up,down,sideways,none", ordered=False)


def words(n_users=40, n_items=15, n_ratings=250, seed=1):
    made = make_ratings(n_users, n_items, n_ratings, seed=seed, scale=RatingScale(1, 4, 1))
    return made.with_scale(FOUR)


class TestByHand:
    """Ann says up to a and b, Ben says down to a."""

    RATINGS = Ratings.from_columns(
        ["ann", "ann", "ben"], ["a", "b", "a"], ["up", "up", "down"], scale=UP_DOWN
    )
    BOTH = Groups.from_labels([0, 0])

    def test_shares_of_items_and_users(self):
        shares = learn_shares(self.RATINGS)
        # Each word counts once more than it was given.
        assert shares.of_items.tolist() == [[1 / 2, 1 / 2], [2 / 3, 1 / 3]]
        assert shares.of_users.tolist() == [[3 / 4, 1 / 4], [1 / 3, 2 / 3]]

    def test_what_ben_is_likely_to_say_to_b(self):
        (found,) = learn_shares(self.RATINGS).at(np.array([1]), np.array([1], np.int32))
        assert found == pytest.approx([1 / 2, 1 / 2])  # the mean of 2/3 and 1/3

    def test_the_group(self):
        shares = learn_shares(self.RATINGS)
        found = group_shares(self.RATINGS, shares, self.BOTH, 0, 1)
        # a: one says up and one down. b: Ann says up, and Ben is as likely to say either.
        assert found.tolist() == [[[0.5, 0.5], [0.75, 0.25]]]
        # Of equal shares the first word of the scale stands.
        assert most_frequent(found).tolist() == [[0, 0]]

    def test_the_row(self):
        release = NominalAnonymizer(2, seed=1).anonymize(self.RATINGS)
        (block,) = release.published.blocks()
        assert (block.sizes.tolist(), block.values.tolist()) == ([2], [1.0, 1.0])

    def test_another_order_of_the_scale_decides_what_is_equal(self):
        other = RatingScale.of_labels("down,up", ordered=False)
        ratings = Ratings.from_columns(
            ["ann", "ann", "ben"], ["a", "b", "a"], ["up", "up", "down"], scale=other
        )
        found = group_shares(ratings, learn_shares(ratings), self.BOTH, 0, 1)
        assert most_frequent(found).tolist() == [[0, 1]]  # down for a, up for b


class TestRareWords:
    """Six users said up to a, three said down, and Cy alone said sideways."""

    RATINGS = Ratings.from_columns(
        [*range(9), 9], ["a"] * 10, ["up"] * 6 + ["down"] * 3 + ["sideways"], scale=FOUR
    )
    CY_AND_ANOTHER = Groups.from_labels([0] * 4 + [1] * 4 + [2] * 2)

    def test_what_one_user_gave_counts_as_nothing_by_hand(self):
        shares = learn_shares(self.RATINGS, 2)
        assert shares.many_gave.tolist() == [[True, True, False, False]]
        (of_cy,) = group_shares(self.RATINGS, shares, self.CY_AND_ANOTHER, 2, 3)
        # Of a: up 7 of 11, down 4. Cy has no word that another gave. The other said down.
        cy = (np.array([7, 4, 0, 0]) / 11 + np.array([1, 1, 0, 0]) / 2) / 2
        assert of_cy[0] == pytest.approx((cy + np.array([0, 1, 0, 0])) / 2)

    def test_it_counts_where_as_many_gave_it_as_must(self):
        shares = learn_shares(self.RATINGS, 1)
        (of_cy,) = group_shares(self.RATINGS, shares, self.CY_AND_ANOTHER, 2, 3)
        assert of_cy[0].tolist() == [0, 0.5, 0.5, 0]

    @pytest.mark.parametrize("seed", range(5))
    def test_no_group_shows_what_one_user_alone_gave(self, seed):
        """Sixty users say up or down to thirty items; ten of them said sideways, once each.

        It is the first word of the scale, which stands where shares are equal.
        """
        scale = RatingScale.of_labels("sideways,up,down", ordered=False)
        rng = np.random.default_rng(seed)
        said = rng.choice(["up", "down"], (60, 30)).astype(object)
        for one_user in range(10):
            said[one_user, one_user] = "sideways"
        cells = np.indices(said.shape).reshape(2, -1)
        ratings = Ratings.from_columns(*cells, said.ravel(), scale=scale)
        (shown,) = NominalAnonymizer(2, seed=seed).anonymize(ratings).published.blocks()
        assert 1.0 not in shown.values


class TestHabits:
    """Sixty users say five words; another one says "weird" to all, which no other user says."""

    SCALE = RatingScale.of_labels("a,b,c,d,e,weird", ordered=False)

    def table(self, seed, *, with_her=True, others=0):
        rng = np.random.default_rng(seed)
        users, items = np.divmod(np.arange(60 * 30), 30)
        gave = rng.permuted(np.tile(np.arange(30) < 14, (60, 1)), axis=1).ravel()
        said = rng.choice(["a", "b", "c", "d", "e"], users.size).astype(object)
        columns = [users[gave], items[gave], said[gave]]
        if with_her:
            hers = [np.full(30, 60), np.arange(30), np.full(30, "weird", object)]
            columns = [np.append(*pair) for pair in zip(columns, hers, strict=True)]
        elsewhere = [np.arange(others), np.full(others, 30), np.full(others, "weird", object)]
        columns = [np.append(*pair) for pair in zip(columns, elsewhere, strict=True)]
        return Ratings.from_columns(*columns, scale=self.SCALE)

    @pytest.mark.parametrize("homogenize", ["commonest", "shares"])
    @pytest.mark.parametrize("k", [2, 3, 5])
    @pytest.mark.parametrize("with_her", [True, False])
    def test_a_word_of_one_user_stands_in_no_row(self, k, homogenize, with_her):
        ratings = self.table(k, with_her=with_her)
        (shown,) = NominalAnonymizer(k, homogenize, seed=k).anonymize(ratings).published.blocks()
        assert 6.0 not in shown.values

    def test_it_is_unlikely_for_all_and_moves_no_embedding(self):
        ratings = self.table(1)
        shares = learn_shares(ratings, 2)
        assert shares.of_items[:, 5].max() == 0
        assert shares.of_users[60].tolist() == [0.2] * 5 + [0]
        places = embed_by_labels(ratings, shares, 1)
        assert np.abs(places[60, 6:]).max() < 1e-6

    @pytest.mark.parametrize("k", [2, 3, 5])
    def test_nor_does_a_habit_that_others_do_not_share_item_by_item(self, k):
        """Five others said the word, too, but once each and of another item."""
        (shown,) = (
            NominalAnonymizer(k, seed=k).anonymize(self.table(k, others=5)).published.blocks()
        )
        rows = shown.values.reshape(-1, 31)
        assert 6.0 not in rows[:, :30]


class TestPool:
    def test_each_user_counts_once_by_hand(self):
        """Cy alone gave words to c, d and e; Ann and Ben said up to b, where Cy said down.

        Three others said down to z, so that it is no word of Cy's alone.
        """
        ratings = Ratings.from_columns(
            ["ann", "ben", "cy", "cy", "cy", "cy", "dan", "eve", "fay"],
            ["b", "b", "b", "c", "d", "e", "z", "z", "z"],
            ["up", "up", "down", "down", "down", "up", "down", "down", "down"],
            scale=UP_DOWN,
        )
        shares = learn_shares(ratings, 3)
        # Up: Ann 1, Ben 1, Cy 1/4; down: Cy 3/4. Each word counts once more: 3.25 and 1.75 of 5.
        assert shares.of_items[:-1] == pytest.approx(np.array([[0.65, 0.35]] * 4))

    def test_a_rater_of_nearly_all_of_its_words_counts_once(self):
        users = [*range(6), *range(5), *[6] * 200, *range(7, 12)]
        items = [0] * 6 + [1] * 5 + [*range(2, 202)] + [300] * 5  # which others say down to
        ratings = Ratings.from_columns(users, items, ["up"] * 11 + ["down"] * 205, scale=UP_DOWN)
        down = learn_shares(ratings, 5).of_items[1:-1, 1]
        assert down == pytest.approx([2 / 8] * 201)  # one of six users, and one more of each word


def simple_shares(ratings, groups):
    """The padded rows written out, and their mean: slow and plain."""
    n_words = len(ratings.scale.labels)
    shares = learn_shares(ratings)
    rows = np.zeros((ratings.n_users, ratings.n_items, n_words))
    for user in range(ratings.n_users):
        for item in range(ratings.n_items):
            rows[user, item] = (shares.of_items[item] + shares.of_users[user]) / 2
        for item, value in zip(*ratings.row(user), strict=True):
            rows[user, item] = np.eye(n_words)[int(value) - 1]
    starts = groups.starts
    return np.array(
        [rows[groups.members[start:end]].mean(axis=0) for start, end in itertools.pairwise(starts)]
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_sums_of_groups_are_those_of_rows_written_out(seed, n_groups):
    ratings = words(seed=seed % 100)
    labels = np.random.default_rng(seed).integers(n_groups, size=ratings.n_users)
    groups = Groups.from_labels(np.unique(labels, return_inverse=True)[1])
    shares = learn_shares(ratings)
    found = group_shares(ratings, shares, groups, 0, groups.sizes.size)
    np.testing.assert_allclose(found, simple_shares(ratings, groups), atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-8)
    last = groups.sizes.size - 1
    one = group_shares(ratings, shares, groups, last, last + 1)
    assert np.array_equal(one[0], found[last])


def test_drawn_words_keep_the_shares():
    shares = np.broadcast_to([0.5, 0.2, 0.3, 0.0], (200, 100, 4))
    found = sample_labels(shares, np.random.default_rng(1))
    counts = np.bincount(found.ravel(), minlength=4) / found.size
    np.testing.assert_allclose(counts, [0.5, 0.2, 0.3, 0.0], atol=0.02)
    assert counts[3] == 0


def test_users_of_like_words_lie_near_each_other():
    rng = np.random.default_rng(3)
    kind = np.repeat([0, 1], 20)
    users, items = np.divmod(np.arange(40 * 10), 10)
    said = np.where(rng.random(400) < 0.9, (kind[users] + items % 2) % 2, rng.integers(2, size=400))
    ratings = Ratings.from_columns(
        users, items, np.array(["up", "down"], object)[said], scale=UP_DOWN
    )
    places = embed_by_labels(ratings, learn_shares(ratings), 1).astype(float)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    same = kind[:, None] == kind[None]
    assert apart[same & ~np.eye(40, dtype=bool)].mean() < 0.7 * apart[~same].mean()


class TestAnonymizer:
    @pytest.mark.parametrize("homogenize", ["commonest", "shares"])
    def test_rows_hold_every_item_and_stay_as_they_are(self, homogenize):
        release = NominalAnonymizer(5, homogenize, seed=1).anonymize(words())
        blocks = [list(release.published.blocks()) for _ in range(2)]
        for first, second in zip(*blocks, strict=True):
            assert np.array_equal(first.values, second.values)
            assert (np.diff(first.indptr) == 15).all()
            assert FOUR.contains(first.values).all()
        assert release.private.groups.sizes.min() >= 5

    def test_the_same_seed_gives_the_same_rows(self):
        def rows(seed):
            release = NominalAnonymizer(5, "shares", seed=seed).anonymize(words())
            return [block.values.tolist() for block in release.published.blocks()]

        assert rows(1) == rows(1)
        assert rows(1) != rows(2)

    @pytest.mark.parametrize("n_users", [2, 3])
    @pytest.mark.parametrize("n_items", [1, 2])
    def test_few_users_and_items(self, n_users, n_items):
        columns = np.divmod(np.arange(n_users * n_items), n_items)
        said = np.array(["up", "down"], object)[np.arange(n_users * n_items) % 2]
        ratings = Ratings.from_columns(*columns, said, scale=UP_DOWN)
        release = NominalAnonymizer(2, seed=1).anonymize(ratings)
        (block,) = release.published.blocks()
        assert block.sizes.sum() == n_users

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"k": 1}, "option.value"),
            ({"k": 41}, "table.too-few-users"),
            ({"homogenize": "padded"}, "option.value"),
            ({"grouping": "level-gather"}, "option.value"),
            ({"seed": -1}, "option.value"),
        ],
        ids=str,
    )
    def test_what_makes_no_sense(self, options, code):
        with raises(code):
            NominalAnonymizer(**{"k": 5, **options}).anonymize(words())

    def test_what_has_an_order_goes_elsewhere(self):
        ordered = words().with_scale(RatingScale.of_labels(FOUR.labels))
        for ratings in (ordered, ordered.with_scale(RatingScale(1, 4, 1)), ordered.as_likes()):
            with raises("table.kind"):
                NominalAnonymizer(5).anonymize(ratings)

    @pytest.mark.parametrize("grouping", [None, "bisecting", "mdav"])
    def test_groupings(self, grouping):
        release = NominalAnonymizer(5, grouping=grouping, seed=1).anonymize(words())
        assert release.private.groups.sizes.min() >= 5


def test_the_word_of_who_alone_gave_one_is_not_the_items():
    """Planted: of ten items that one user each gave a word, all count as one."""
    users = [*range(20), *range(10)]
    items = [0] * 20 + list(range(1, 11))
    words = ["up", "down"] * 10 + ["up"] * 9 + ["down"]
    scale = RatingScale.of_labels("up,down", ordered=False)
    ratings = Ratings.from_columns(users, items, words, scale=scale)
    shares = learn_shares(ratings, 5).of_items
    assert np.ptp(shares[1:], axis=0).max() == 0
    assert shares[1].tolist() == [10 / 12, 2 / 12]
    assert shares[0].tolist() == [0.5, 0.5]
