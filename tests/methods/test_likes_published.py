"""Likes as they are published: worked by hand, and refused by whatever needs ratings."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, anonymize
from recveil.methods.sparse.anonymizer import SparseRows
from recveil.methods.synthetic import synthesizer
from recveil.methods.synthetic.sum_queries import SHARES_OF_LIKES
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim

pytestmark = pytest.mark.usefixtures("rough_fit")


def rows_of(release):
    """Each record's users, items and labels, in any order."""
    found = []
    for block in release.published.blocks():
        for row in range(block.sizes.size):
            own = slice(block.indptr[row], block.indptr[row + 1])
            items = release.published.items[block.indices[own]].tolist()
            found.append((int(block.sizes[row]), items, block.values[own].tolist()))
    return sorted(found)


def test_rows_are_filled_up_by_hand():
    """Ann and Ben like a; Cy likes b and c, Dee c and d: with k = 2, these two become one row."""
    likes = Ratings.from_columns(
        ["ann", "ben", "cy", "cy", "dee", "dee"], ["a", "a", "b", "c", "c", "d"]
    )
    release = KCoRater(2, seed=1).anonymize(likes)
    assert rows_of(release) == [
        (1, ["a"], [1.0]),
        (1, ["a"], [1.0]),
        (1, ["b", "c", "d"], [1.0, 1.0, 1.0]),
        (1, ["b", "c", "d"], [1.0, 1.0, 1.0]),
    ]
    assert release.published.claim == Claim("identical-rows", 2)
    assert release.private.settings["filled_cells"] == 2
    assert release.published.settings == {
        "method": "k-coRating",
        "grouping": "gecom",
        "feedback": "implicit",
    }


def test_a_row_of_likes_is_the_row_of_ratings_without_their_values():
    """The oracle: rated items of k-coRating are the likes of it, whatever is filled in."""
    ratings = make_ratings(n_users=60, n_items=40, n_ratings=700, seed=2)
    rated = rows_of(KCoRater(4, seed=1).anonymize(ratings))
    liked = rows_of(KCoRater(4, seed=1).anonymize(ratings.as_likes()))
    assert [items for _, items, _ in rated] == [items for _, items, _ in liked]


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_whatever_is_liked_at_least_k_share_each_row(data):
    n_users = data.draw(st.integers(20, 40))
    users = np.arange(n_users).repeat(3)
    items = np.array(
        data.draw(st.lists(st.integers(0, 12), min_size=users.size, max_size=users.size))
    )
    pairs = np.unique(np.column_stack([users, items]), axis=0)
    likes = Ratings.from_columns(pairs[:, 0], pairs[:, 1])
    k = data.draw(st.integers(2, 20))
    for make in (KCoRater, SparseRows):
        if make is SparseRows and likes.support.max() < k:
            with raises("table.too-few-ratings") as caught:
                make(k, seed=1).anonymize(likes)
            assert f"{k} raters" in str(caught.value)
            continue
        release = make(k, seed=1).anonymize(likes)
        all_users: dict[tuple[int, ...], int] = {}
        for size, row, labels in rows_of(release):
            all_users[tuple(row)] = all_users.get(tuple(row), 0) + size
            assert set(labels) == {1.0}
        assert min(all_users.values()) >= k
        assert sum(all_users.values()) == n_users


def test_all_users_in_one_group_get_one_row():
    some = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1)
    users = np.repeat(np.arange(40), some.activity)
    all_users = np.arange(40)  # sparse rows leave out what fewer liked
    likes = Ratings.from_columns(
        np.concatenate([users, all_users]), np.concatenate([some.indices, np.full(40, 20)])
    )
    for make in (KCoRater, SparseRows):
        assert (
            len({tuple(items) for _, items, _ in rows_of(make(40, seed=1).anonymize(likes))}) == 1
        )


def test_sparse_rows_count_items_nearly_as_often_as_they_were_liked():
    likes = make_ratings(n_users=200, n_items=40, n_ratings=3_000, seed=1).as_likes()
    all_users = dict.fromkeys(likes.items.tolist(), 0)
    for size, items, _ in rows_of(SparseRows(5, seed=1).anonymize(likes)):
        for item in items:
            all_users[item] += size
    assert np.abs(np.array(list(all_users.values())) - likes.support).max() <= 2 * 5


def test_the_same_seed_gives_the_same_release():
    likes = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=1).as_likes()
    for make in (KCoRater, SparseRows):
        assert rows_of(make(5, seed=7).anonymize(likes)) == rows_of(
            make(5, seed=7).anonymize(likes)
        )


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"fill": "random"}, "fill"),
        ({"round_fills": False}, "round_fills"),
        ({"protect": "shuffle"}, "protect"),
        ({"grouping": "k-gather"}, "grouping"),
    ],
)
def test_what_is_about_labels_is_refused_by_its_name(options, name):
    likes = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1).as_likes()
    with raises("option.unsupported") as caught:
        KCoRater(3, **options).anonymize(likes)
    assert name in str(caught.value)


@pytest.mark.parametrize("homogenize", ["padded", "simple"])
def test_what_publishes_ratings_refuses_likes(homogenize):
    likes = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1).as_likes()
    with raises("table.kind", "--method k-corating", "--method sparse"):
        PredictiveAnonymizer(3, homogenize).anonymize(likes)


class TestDrawn:
    """Users drawn from likes: the promise is about likes, and nothing of ratings is asked."""

    LIKES = make_ratings(n_users=300, n_items=40, n_ratings=5_000, seed=1).as_likes()

    def made(self, epsilon=30.0, likes=LIKES, seed=1, **options):
        return Synthesizer(
            epsilon, **{"item_catalog": "as-rated", "seed": seed, **options}
        ).anonymize(likes)

    @pytest.mark.parametrize("catalogue", ["as-rated", None], ids=str)
    def test_the_promise(self, catalogue):
        release = self.made(60.0, item_catalog=catalogue)
        claim = release.published.claim
        assert (claim.kind, claim.epsilon, claim.delta) == ("differentially-private", 60.0, 1e-6)
        assert claim.ledger.epsilon(1e-6) == pytest.approx(60, rel=1e-6)
        assert claim.ledger.threshold_delta == (1e-7 if catalogue is None else 0)
        assert [query.name for query in claim.ledger.queries] == list(SHARES_OF_LIKES)

    def test_without_noise_nothing_is_promised(self):
        claim = self.made(None).published.claim
        assert (claim.kind, claim.k, claim.ledger) == ("aggregates", 300, None)

    def test_users_who_like_something(self):
        release = self.made(n_users=70)
        rows = rows_of(release)
        assert len(rows) == release.published.n_users == 70
        assert all(items and set(labels) == {1.0} for _, items, labels in rows)
        assert list(release.published.settings) == [
            *("method", "noise", "item_catalog", "n_users", "omitted_share", "user_counts"),
            *("factors", "feedback"),
        ]

    def test_dates_have_no_say(self):
        dated = Ratings.from_columns(
            *(self.LIKES.users[self.LIKES.user_positions()], self.LIKES.items[self.LIKES.indices]),
            days=np.arange(self.LIKES.n_ratings) % 700,
        )
        assert rows_of(self.made(likes=dated)) == rows_of(self.made())

    def test_the_same_seed_the_same_users_and_no_seed_others(self):
        assert rows_of(self.made()) == rows_of(self.made())
        assert rows_of(self.made(seed=None)) != rows_of(self.made(seed=None))

    def test_a_seeded_one_is_not_written(self, tmp_path):
        with raises("release.refused", "--seed"):
            self.made().write(tmp_path / "out")

    @pytest.mark.parametrize("epsilon", [None, 60.0], ids=["exact", "noisy"])
    def test_all_users_like_the_same(self, epsilon):
        same = Ratings.from_columns(np.repeat(np.arange(300), 5), np.tile(np.arange(5), 300))
        release = self.made(epsilon, same)
        rows = rows_of(release)
        assert set(release.published.items.tolist()) == set(range(5))
        assert np.mean([len(items) for _, items, _ in rows]) > 3

    def test_an_item_that_all_users_like(self):
        users, items = self.LIKES.user_positions(), self.LIKES.items[self.LIKES.indices]
        liked = Ratings.from_columns(
            np.concatenate([users, np.arange(300)]), np.concatenate([items, np.full(300, 999)])
        )
        rows = rows_of(self.made(None, liked))
        assert np.mean([999 in items for _, items, _ in rows]) > 0.8

    def test_one_user_and_few_users_are_refused_in_a_line(self):
        alone = Ratings.from_columns(["ann"] * 3, [5, 6, 7])
        few = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1).as_likes()
        small = "budget.too-small"
        cases = ((3.0, alone, small), (None, alone, "table.too-few-users"), (0.5, few, small))
        for epsilon, likes, code in cases:
            with raises(code) as caught:
                self.made(epsilon, likes)
            assert len(str(caught.value)) < 300
            assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("grid", ["tenths", "whole", "halves"])
    def test_there_are_no_labels_to_be_drawn(self, grid):
        with raises("option.unsupported"):
            self.made(rating_grid=grid)

    def test_what_is_published_follows_from_the_answers_alone(self, monkeypatch):
        """Other users with the same noisy answers have the same release."""
        answers = []

        def measure(*of, real=synthesizer.measure_likes):
            answers.append(real(*of))
            return answers[0]

        monkeypatch.setattr(synthesizer, "measure_likes", measure)
        first = self.made()
        others = make_ratings(n_users=320, n_items=40, n_ratings=5_000, seed=8).as_likes()
        second = self.made(likes=others)
        assert answers[1].n_users != answers[0].n_users
        assert rows_of(first) == rows_of(second)
        assert first.published.settings == second.published.settings
        assert first.published.model().equals(second.published.model())


class TestFromFiles:
    @pytest.fixture
    def file(self, tmp_path):
        likes = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1)
        rows = zip(likes.user_positions(), likes.indices, strict=True)
        text = "".join(f"{user},{item}\n" for user, item in rows)
        (tmp_path / "likes.csv").write_text("user,item\n" + text)
        (tmp_path / "twice.csv").write_text("user,item\n" + text + text)
        ones = text.replace("\n", ",5\n")
        (tmp_path / "ones.csv").write_text("user,item,rating\n" + ones)
        return tmp_path

    def test_every_way_to_say_likes_gives_the_same_bytes(self, file):
        written = []
        for number, (name, more) in enumerate(
            [("likes", {}), ("ones", {}), ("ones", {"likes": True})]
        ):
            out = file / f"out{number}"
            found = anonymize(file / f"{name}.csv", out, k=3, method="k-corating", seed=1, **more)
            assert found.ratings.is_unary
            assert found.verification.holds
            written.append((out / "ratings.parquet").read_bytes())
        assert len(set(written)) == 1

    def test_likes_of_one_pair_are_one_and_the_card_says_so(self, file):
        found = anonymize(file / "twice.csv", file / "out", k=3, method="sparse", seed=1)
        assert found.ratings.n_ratings == 300
        card = (file / "out" / "README.md").read_text()
        assert (
            "300 input rows were dropped, because the user had more than one interaction with the "
            "item." in card
        )

    def test_fives_on_a_named_scale_are_no_likes(self, file):
        with raises("table.kind", 300, 5):
            anonymize(
                *(file / "ones.csv", file / "out"),
                k=3,
                method="k-corating",
                scale=RatingScale(1, 5, 1),
            )
        assert not (file / "out").exists()

    @pytest.fixture
    def many(self, tmp_path):
        likes = make_ratings(n_users=300, n_items=40, n_ratings=5_000, seed=1)
        rows = zip(likes.user_positions(), likes.indices, strict=True)
        lines = [f"{user},{item}" for user, item in rows]
        (tmp_path / "likes.csv").write_text("\n".join(["user,item", *lines, *lines[:9]]))
        plays = "\n".join(
            ["user,item,plays", *(f"{line},{n % 7 + 1}" for n, line in enumerate(lines))]
        )
        (tmp_path / "plays.csv").write_text(plays)
        ones = "\n".join(["user,item,rating", *(f"{line},1" for line in lines)])
        (tmp_path / "ones.csv").write_text(ones)
        return tmp_path

    @pytest.mark.parametrize(
        ("name", "more"),
        [
            ("likes", {}),
            ("plays", {"counts": "likes", "rating": "plays"}),
            ("ones", {"likes": True}),
        ],
    )
    def test_drawn(self, many, name, more):
        found = anonymize(many / f"{name}.csv", many / "out", epsilon=30, n_users=40, **more)
        assert found.verification.holds
        result = json.loads((many / "out" / "release.json").read_text())
        assert result["settings"]["feedback"] == "implicit"
        # Rows that stood twice are no user's business: their number was not charged.
        assert "duplicates_dropped" not in result["counts"]

    def test_ratings_that_happen_to_be_equal_are_not_drawn_as_likes(self, many):
        """One rating more of one user, and they would be none: nothing may depend on that."""
        with raises("scale.inferred"):
            anonymize(many / "ones.csv", many / "out", epsilon=30)
        assert not (many / "out").exists()
        assert anonymize(many / "ones.csv", many / "out", k=3, method="sparse").verification.holds
        # Nothing is promised without noise.
        assert anonymize(many / "ones.csv", many / "exact", epsilon="none").verification.holds

    def test_a_frame_of_equal_ratings_is_not_either(self, many):
        frame = pd.read_csv(many / "ones.csv")
        with raises("scale.inferred"):
            anonymize(frame, many / "out", epsilon=30)

    def test_a_seed_is_refused(self, many):
        with raises("option.conflict"):
            anonymize(many / "likes.csv", many / "out", epsilon=30, seed=1)

    def test_hidden_items(self, file):
        out = file / "out"
        anonymize(file / "likes.csv", out, k=3, method="sparse", seed=1, hide_items=True)
        assert '"items": "pseudonyms"' in (out / "release.json").read_text()
        assert "Items can be re-identified" in (out / "README.md").read_text()
