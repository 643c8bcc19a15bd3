"""Likes as they are published: worked by hand, and refused by whatever needs ratings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.anonymize import KCoRater, PredictiveAnonymizer, anonymize
from recveil.anonymize.sparse_rows import SparseRows
from recveil.anonymize.synthetic.synthesizer import Synthesizer
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim


def rows_of(release):
    """Each record's people, items and labels, in any order."""
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
        "ratings": "likes",
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
        release = make(k, seed=1).anonymize(likes)
        people: dict[tuple[int, ...], int] = {}
        for size, row, labels in rows_of(release):
            people[tuple(row)] = people.get(tuple(row), 0) + size
            assert set(labels) == {1.0}
        assert min(people.values()) >= k
        assert sum(people.values()) == n_users


def test_everybody_in_one_group_get_one_row():
    likes = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1).as_likes()
    for make in (KCoRater, SparseRows):
        assert (
            len({tuple(items) for _, items, _ in rows_of(make(40, seed=1).anonymize(likes))}) == 1
        )


def test_sparse_rows_count_items_nearly_as_often_as_they_were_liked():
    likes = make_ratings(n_users=200, n_items=40, n_ratings=3_000, seed=1).as_likes()
    people = dict.fromkeys(likes.items.tolist(), 0)
    for size, items, _ in rows_of(SparseRows(5, seed=1).anonymize(likes)):
        for item in items:
            people[item] += size
    assert np.abs(np.array(list(people.values())) - likes.support).max() <= 2 * 5


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
    with pytest.raises(RecveilError, match=rf"^{name} \(--.* is about labels, and likes have none"):
        KCoRater(3, **options).anonymize(likes)


@pytest.mark.parametrize("homogenize", ["padded", "simple"])
def test_what_publishes_ratings_refuses_likes(homogenize):
    likes = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1).as_likes()
    with pytest.raises(RecveilError, match=r"--method k-corating, --method sparse"):
        PredictiveAnonymizer(3, homogenize).anonymize(likes)


@pytest.mark.parametrize("epsilon", [5.0, None])
def test_noise_is_not_paid_for_ratings_that_there_are_none_of(epsilon):
    likes = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1).as_likes()
    with pytest.raises(RecveilError, match=r"^epsilon \(--epsilon\): not for likes yet"):
        Synthesizer(epsilon).anonymize(likes)


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
            "300 rows were left out, because their user had liked the item more than once." in card
        )

    def test_fives_on_a_named_scale_are_no_likes(self, file):
        with pytest.raises(
            RecveilError, match="all 300 ratings are 5: likes, not supported yet as"
        ):
            anonymize(
                *(file / "ones.csv", file / "out"),
                k=3,
                method="k-corating",
                scale=RatingScale(1, 5, 1),
            )
        assert not (file / "out").exists()

    def test_hidden_items(self, file):
        out = file / "out"
        anonymize(file / "likes.csv", out, k=3, method="sparse", seed=1, hide_items=True)
        assert '"items": "pseudonyms"' in (out / "release.json").read_text()
        assert "what other people liked" in (out / "README.md").read_text()
