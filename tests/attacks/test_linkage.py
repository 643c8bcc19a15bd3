"""Items that two rows of a user reveal together."""

from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import AttackTarget, Candidates, infer_links, linkage
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.methods.nominal import NominalAnonymizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records


def released(ratings, *makers):
    return [AttackTarget.from_release(maker.anonymize(ratings), ratings) for maker in makers]


def simple(grouping, k=5):
    return PredictiveAnonymizer(k, "simple", grouping=grouping, seed=1)


def padded(grouping, k=5):
    return PredictiveAnonymizer(k, "padded", grouping=grouping, seed=1)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=200, n_items=150, n_ratings=4_000, seed=2)


class TestPlanted:
    """Each of four users rated an item that no other user did; pairs share groups crosswise."""

    @pytest.fixture
    def result(self):
        items = [["all", letter] for letter in "abcd"]
        ratings = Ratings.from_columns(
            np.repeat(range(4), 2), np.ravel(items), [5] * 8, scale=RatingScale(1, 5, 1)
        )
        tables = []
        for groups in ([0, 0, 1, 1], [0, 1, 0, 1]):
            tables.append(self.in_groups(ratings, groups))
        return infer_links(ratings, *tables, np.arange(4))

    @staticmethod
    def in_groups(ratings, groups):
        """Rows hold the items of two users, each once."""
        all_users = [np.flatnonzero(np.array(groups) == group) for group in (0, 1)]
        rows = [
            np.unique(np.concatenate([ratings.row(user)[0] for user in pair])) for pair in all_users
        ]
        indptr = np.cumsum([0, *map(len, rows)])
        indices = np.concatenate(rows).astype(np.int32)
        values = np.full(indices.size, 5.0)
        records = Records(np.array([2, 2]), indptr, indices, values)
        return AttackTarget(
            candidates=Candidates.from_records([records], ratings.n_items, ratings.scale),
            indptr=indptr,
            indices=indices,
            values=values,
            record_of=np.array(groups),
            k=2,
            promised=np.array([2, 2]),
        )

    def test_both_rows_reveal_exactly_what_they_rated(self, result):
        assert result.both.mean == 1.0

    def test_one_row_reveals_the_companions_item_too(self, result):
        assert result.first.mean == result.second.mean == pytest.approx(2 / 3)

    def test_popularity_reveals_the_item_of_all(self, result):
        assert result.popularity.mean < result.both.mean


class TestBothRevealMore:
    @pytest.mark.parametrize("make", [simple, padded])
    def test_than_one_row_and_than_outsiders(self, ratings, make):
        result = infer_links(
            ratings, *released(ratings, make("mdav"), make("k-member")), np.arange(200)
        )
        assert result.both.mean > result.one.mean
        assert result.both.mean > result.control.mean

    def test_the_better_one_row_is_compared(self, ratings):
        result = infer_links(
            ratings, *released(ratings, simple("mdav"), padded("mdav")), np.arange(200)
        )
        assert result.one.mean == max(result.first.mean, result.second.mean)


class TestNullRelease:
    @pytest.mark.parametrize("make", [simple, padded])
    def test_it_adds_nothing_to_another_release(self, ratings, make):
        tables = released(ratings, make("mdav"), make("mdav", k=200))
        result = infer_links(ratings, *tables, np.arange(200))
        assert result.both == result.control == result.first

    @pytest.mark.parametrize("make", [simple, padded])
    def test_two_reveal_no_more_than_popularity(self, ratings, make):
        result = infer_links(
            ratings, *released(ratings, *[make("mdav", k=200)] * 2), np.arange(200)
        )
        assert result.both == result.control == result.one == result.popularity


def test_invented_labels_of_co_rated_releases_differ(ratings):
    makers = [KCoRater(5, "random", seed=seed) for seed in (1, 2)]
    result = infer_links(ratings, *released(ratings, *makers), np.arange(200))
    assert result.both.low > result.one.high


def test_the_same_seed_gives_the_same_result(ratings):
    tables = released(ratings, padded("mdav"), padded("k-member"))
    assert infer_links(ratings, *tables, np.arange(50), 3) == infer_links(
        ratings, *tables, np.arange(50), 3
    )


def test_no_fit_is_made_of_very_many_labels(ratings, monkeypatch):
    monkeypatch.setattr(linkage, "_MOST_VALUES", 10)
    tables = released(ratings, padded("mdav"), simple("mdav"))
    assert infer_links(ratings, *tables, np.arange(50)) is None


def test_one_user_has_no_outsider(ratings):
    tables = released(ratings, simple("mdav"), simple("mdav"))
    with raises("release.mismatch") as caught:
        infer_links(ratings, *tables, np.arange(1))
    assert "1 of the targets" in str(caught.value)


def test_of_many_users_some_are_taken(ratings, monkeypatch):
    monkeypatch.setattr(linkage, "MOST_USERS", 30)
    tables = released(ratings, simple("mdav"), simple("k-member"))
    assert infer_links(ratings, *tables, np.arange(200)).both.trials == 30


class TestWords:
    """Words without an order: equal in both rows, and rare for the item."""

    SCALE = RatingScale.of_labels("up,down,meh,none", ordered=False)

    @pytest.fixture
    def words(self):
        made = make_ratings(300, 300, 9_000, seed=2, scale=RatingScale(1, 4, 1))
        return made.with_scale(self.SCALE)

    @staticmethod
    def rows(grouping, k=3):
        return NominalAnonymizer(k, grouping=grouping, seed=1)

    def test_both_rows_reveal_more_than_one_and_than_outsiders(self, words):
        tables = released(words, self.rows("mdav"), self.rows("k-member"))
        result = infer_links(words, *tables, np.arange(300))
        assert result.both.low > result.control.mean
        assert result.both.mean > max(result.one.mean, result.popularity.mean)

    def test_how_words_are_numbered_changes_nothing(self, words):
        first, second = released(words, self.rows("mdav"), self.rows("k-member"))
        turned = Ratings(
            *(words.users, words.items, words.indptr, words.indices, 5 - words.values, None),
            RatingScale.of_labels("none,meh,down,up", ordered=False),
        )
        other = [replace(table, values=5 - table.values) for table in (first, second)]
        all_users = np.arange(300)
        assert infer_links(turned, *other, all_users) == infer_links(
            words, first, second, all_users
        )

    def test_one_row_for_all_users_reveals_no_more_than_popularity(self, words):
        tables = released(words, *[self.rows("mdav", k=300)] * 2)
        result = infer_links(words, *tables, np.arange(300))
        assert result.both == result.control == result.one == result.popularity

    def test_by_hand(self):
        """Ann and Ben said down to b, Cy and Dee up; only b has two words."""
        words = Ratings.from_columns(
            np.repeat(["ann", "ben", "cy", "dee"], 2),
            ["a", "b", "b", "c", "a", "b", "b", "c"],
            ["up", "down", "down", "up", "up", "up", "up", "up"],
            scale=RatingScale.of_labels("up,down", ordered=False),
        )
        release = NominalAnonymizer(2, seed=1).anonymize(words)
        table = AttackTarget.from_release(release, words)
        rows = linkage._Rows.of(table, words)
        odds = {"a": 2 / 2, "b": 7 / 1, "c": 2 / 2}  # of all four, b counts as 3 1/2
        for user, share in ((0, 1 / 2), (3, 1 / 2)):
            evidence = rows.evidence(user)
            word = rows.values(user)[1]
            assert word == {0: 2.0, 3: 1.0}[user]
            expected = [odds["a"], odds["b"] / share, odds["c"]]
            assert evidence**2 == pytest.approx(expected)
