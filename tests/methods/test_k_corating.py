"""KCoRater: seven users of six items worked by hand, what it must never change, and the edges."""

import json
from collections import Counter

import independent
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io import StatedTrust
from recveil.methods import KCoRater
from recveil.methods.k_corating.fills import FILLS, RandomFill
from recveil.methods.registry import same_again
from recveil.predict import ItemMean, TrustKNN, UserKNN
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.verification import verify
from shared.methods_k_corating import BY_HAND, CELLS, RATED, rows_of


def filled(release) -> dict[int, str]:
    """What was written next to the ratings of `BY_HAND`, as text for each user."""
    return {
        user: " ".join(f"{item}{row[item]:g}" for item in sorted(row.keys() - RATED[user].keys()))
        for user, row in sorted(rows_of(release).items())
    }


class TestByHand:
    def test_item_mean(self):
        # a: (5+4+2+5+1)/5 = 3.4, b: (3+2+4+4+5)/5 = 3.6, c: (1+3+2)/3 = 2; d, e, f by one user.
        expected = {0: "d1 e3 f5", 1: "", 2: "b4", 3: "", 4: "e3 f5", 5: "c2", 6: "b4 c2 d1"}
        release = KCoRater(2, "item-mean", seed=1).anonymize(BY_HAND)
        assert filled(release) == expected
        assert release.private.settings["filled_cells"] == 10
        assert release.private.settings["cells"] == len(CELLS) + 10

    def test_similarity(self):
        # Users 0 and 4 share a, b, c: (2*2 + 0*1 + -2*-1) / (√8 √6) > 0, so what user 4 thinks of
        # d makes user 0's 3 - 2 = 1. No other user shares two items with a user who rated what is
        # to be filled: their own mean.
        expected = {0: "d1 e3 f3", 1: "", 2: "b3", 3: "", 4: "e3 f3", 5: "c5", 6: "b3 c3 d3"}
        assert filled(KCoRater(2, "similarity", seed=1).anonymize(BY_HAND)) == expected

    def test_similarity_of_the_nearest_of_all_users(self):
        # Ann deviates from 3 by 1 and -1, so do Ben (from 4, by 1, -2, 1: similarity 0.949) and Dan
        # (from 3: similarity 1), Cid the other way round. Dan alone did not rate c: by the nearest
        # one, c is Ann's mean, by two 3 + (5 - 4).
        table = Ratings.from_columns(
            [*["ann"] * 2, *["ben"] * 3, *["cid"] * 3, *["dan"] * 2],
            [*"ab", *"abc", *"abc", *"ab"],
            [4, 2, 5, 2, 5, 1, 5, 3, 4, 2],
            scale=RatingScale(1, 5, 1),
        )
        for n, c in ((1, 3), (2, 4), (None, 4)):
            release = KCoRater(4, "similarity", neighbours=n, seed=1).anonymize(table)
            assert rows_of(release)["ann"]["c"] == c
            assert release.published.settings.get("neighbours") == n

    @pytest.mark.parametrize("fill", ["similarity", "trust"])
    def test_neighbours_are_those_of_the_predictor(self, fill):
        nearest = UserKNN(2, neighbours="global", min_overlap=1, significance=1)
        if fill == "trust":
            nearest = TrustKNN(2, neighbours="global")
        named, given = (
            KCoRater(2, *parts, round_fills=False, seed=1, **more).anonymize(BY_HAND)
            for parts, more in (((fill,), {"neighbours": 2}), ((nearest,), {}))
        )
        assert rows_of(named) == rows_of(given)
        assert same_again(Manifest.of(named.published), seed=1).neighbours == 2

    def test_trust(self):
        # Eq. 3: user 0 trusts 4 by 1 - (0+1+1)/3/4, and no user who rated e or f: 0 and user 6
        # are 4 apart on a, so are 4 and 6. d of user 0: 3 - 2 = 1; user 6 trusts neither 0 nor 4,
        # and none who rated c or d by way of others.
        # c of user 5, who shares b: user 0 by 1 - 0/4 = 1 and user 4 by 1 - 1/4. User 2 by way of
        # them: 0 and 2 are 2 apart on c, 4 and 2 are 1 apart: (1*1 + 1*.5 + 1*.75 + 1*.75) / 4 =
        # .75. So 5 + (1*-2 + .75*-1 + .75*0) / 2.5 = 3.9, rounded 4.
        # b of user 2, who shares c with 0 (.5) and 4 (.75). By way of both: 1 by
        # (.5 + 2*.75 + .75 + 2*.625) / 6 = .667, 3 by (.5 + 2*.5 + .75 + 2*.625) / 6 = .583,
        # 5 by (.5 + 1 + .75 + .75) / 4 = .75. So 3 + (.5*0 + .75*1 - .667 + .583 + .75*0) / 3.25 =
        # 3.205.
        # b of user 6, who shares a with 1 (.25) and 3 (.75). By way of both: 5 by
        # (.25 + .75 + .75 + .75) / 4 = .625. So 3 + (-.25 + .75 + .625*0) / 1.625 = 3.308.
        expected = {0: "d1 e3 f3", 1: "", 2: "b3", 3: "", 4: "e3 f3", 5: "c4", 6: "b3 c3 d3"}
        assert filled(KCoRater(2, "trust", seed=1).anonymize(BY_HAND)) == expected
        exact = rows_of(KCoRater(2, "trust", round_fills=False, seed=1).anonymize(BY_HAND))
        found = (exact[5]["c"], exact[2]["b"], exact[6]["b"])
        assert np.allclose(found, (3.9, 3.20513, 3.30769), atol=1e-4)

    def test_trust_that_was_stated(self):
        # 6 trusts 4: b 3 + 1, c 3 - 1, d 3 - 2. 0 trusts 6: e 3 + 0, f 3 + 2; by way of 6 user 0
        # trusts 4: d 3 - 2. No other user trusts any: means.
        links = sparse.csr_array(([1.0, 1.0], ([6, 0], [4, 6])), shape=(7, 7))
        expected = {0: "d1 e3 f5", 1: "", 2: "b3", 3: "", 4: "e3 f3", 5: "c5", 6: "b4 c2 d1"}
        release = KCoRater(2, "trust", trust=StatedTrust(links, 3, 2), seed=1).anonymize(BY_HAND)
        assert filled(release) == expected
        assert release.published.settings["trust"] == "stated"
        counts = {"statements": 2, "ignored_lines": 3, "unknown_users": 2}
        assert release.private.settings["trust"] == counts

    def test_similarity_where_items_are_shared_and_trust_elsewhere(self):
        # Eq. 6, by one more than `test_trust` has: 0 and 4 are alike, 1 and 3, 6 and 3. d of user
        # 0 is 3 - 2 still. b of user 6, who is like 3 alone of those who share an item with 6 and
        # rated b; by way of trust in them 5, by .625: 3 + (1 * 1 + .625 * 0) / 1.625 = 3.615.
        rater = KCoRater(2, "trust", direct_weights="similarity", round_fills=False, seed=1)
        release = rater.anonymize(BY_HAND)
        assert rows_of(release)[6]["b"] == pytest.approx(3.61538, abs=1e-4)
        assert release.published.settings["direct_weights"] == "similarity"

    def test_trust_propagated_twice(self):
        # 5 trusts 6, 6 trusts 4, and 4 trusts 0.
        links = sparse.csr_array(([1.0] * 3, ([5, 6, 4], [6, 4, 0])), shape=(7, 7))
        stated = StatedTrust(links, 0, 0)
        once, twice = (
            KCoRater(2, "trust", trust=stated, trust_steps=n, seed=1).anonymize(BY_HAND)
            for n in (1, 2)
        )
        # c of user 5: 4 rated it 1 below their mean, and 0, two steps away, 2 below.
        assert (rows_of(once)[5]["c"], rows_of(twice)[5]["c"]) == (4, 3)
        assert "trust_steps" not in once.published.settings
        assert twice.published.settings["trust_steps"] == 2

    def test_means_of_a_group(self):
        # {1, 3}: a (4+2)/2, b (2+4)/2. {5, 2}: b (5 + 4)/2, c (2 + 3)/2.
        release = KCoRater(2, protect="mean", seed=1).anonymize(BY_HAND)
        assert release.published.claim.kind == "identical-rows"
        assert release.published.settings["protect"] == "mean"
        rows = rows_of(release)
        assert rows[1] == rows[3] == {"a": 3, "b": 3}
        assert rows[5] == rows[2] == {"b": 4.5, "c": 2.5}
        # {0, 6, 4}: b (3 + 4 + 4)/3 = 3.667, on the grid 3.7.
        assert rows[0] == rows[6] == rows[4]
        assert rows[0]["b"] == 3.7


@pytest.mark.parametrize("fill", FILLS)
class TestEveryFill:
    def test_ratings_stay_and_supports_are_shared(self, fill, invented):
        rows = rows_of(KCoRater(4, fill, seed=1).anonymize(invented))
        supports = Counter(frozenset(row) for row in rows.values())
        assert min(supports.values()) >= 4
        for user, label in enumerate(invented.users.tolist()):
            items, values = invented.row(user)
            labels = [rows[label][item] for item in invented.items[items]]
            assert labels == values.tolist()

    def test_labels_are_ratings_by_default_and_stay_between_the_ends_otherwise(
        self, fill, invented
    ):
        for rounded in (True, False):
            release = KCoRater(4, fill, round_fills=rounded, seed=1).anonymize(invented)
            labels = np.concatenate([block.values for block in release.published.blocks()])
            assert labels.min() >= 1
            assert labels.max() <= 5
            assert (labels == np.rint(labels)).all() == (rounded or fill == "random")
            assert release.published.settings["round_fills"] == rounded

    def test_on_a_scale_that_binary_numbers_cannot_write(self, fill):
        # In 32 bits 3.7 is 3.7000000477: a real one must not differ from a filled one by that.
        rng = np.random.default_rng(0)
        users, items = np.nonzero(rng.random((40, 12)) < 0.4)
        ratings = Ratings.from_columns(
            users, items, rng.integers(1, 11, users.size) / 10, scale=RatingScale(0.1, 1, 0.1)
        )
        release = KCoRater(3, fill, seed=1).anonymize(ratings)
        labels = np.concatenate([block.values for block in release.published.blocks()])
        assert set(labels.tolist()) <= {step / 10 for step in range(1, 11)}

    def test_any_number_of_threads(self, fill, invented):
        for protect in ("none", "mean", "shuffle"):
            one, two, five = (
                rows_of(KCoRater(4, fill, protect=protect, threads=n, seed=1).anonymize(invented))
                for n in (1, 2, 5)
            )
            assert one == two == five

    @pytest.mark.parametrize("layout", ["users", "groups"])
    def test_verified_from_the_file_in_both_layouts(self, fill, layout, invented, tmp_path):
        release = KCoRater(4, fill, seed=1).anonymize(invented)
        verification = release.write(tmp_path / "out", layout=layout)
        assert verification.holds
        assert (verification.claim, verification.layout) == ("co-rated", layout)
        assert verification.users == verification.records == invented.n_users
        assert list(verification.compared) == ["item"]
        assert not verify(tmp_path / "out", claim="identical-rows").holds

    def test_likes_are_refused(self, fill):
        users, items = np.nonzero(np.random.default_rng(0).random((20, 8)) < 0.5)
        likes = Ratings.from_columns(users, items, np.ones(users.size))
        with raises("table.kind"):
            KCoRater(3, fill, seed=1).anonymize(likes)


@pytest.mark.parametrize("layout", ["users", "groups"])
def test_one_cell_less_and_the_claim_fails(layout, invented, tmp_path):
    KCoRater(4, seed=1).anonymize(invented).write(tmp_path / "out", layout=layout)
    table = pq.read_table(tmp_path / "out" / "ratings.parquet")
    for row in (0, 1000, table.num_rows - 1):
        kept = np.arange(table.num_rows) != row
        pq.write_table(table.filter(pa.array(kept)), tmp_path / "out" / "ratings.parquet")
        result = verify(tmp_path / "out")
        assert not result.holds
        named = [found for found in result.violations if found.user_id is not None]
        assert table["user_id"][row].as_py() in {found.user_id for found in named}
        assert any("its items are shared by 1 user" in found.problem for found in named)


def test_a_foreign_file_is_checked_for_its_items_alone(tmp_path):
    (tmp_path / "some.csv").write_text("user,item,rating\na,1,5\nb,1,4\nc,2,4\nd,2,4\nd,3,1\n")
    assert not verify(tmp_path / "some.csv", k=2, claim="co-rated").holds
    (tmp_path / "some.csv").write_text("user,item,rating\na,1,5\nb,1,4\nc,2,4\nd,2,4\n")
    assert verify(tmp_path / "some.csv", k=2, claim="co-rated").holds
    assert not verify(tmp_path / "some.csv", k=2).holds


@pytest.mark.parametrize(
    "grouping", ["gecom", "pagecom", "supports", "bisecting", "mdav", "mhm", "r-gather"]
)
def test_every_grouping_keeps_the_claim(grouping, invented, tmp_path):
    release = KCoRater(5, grouping=grouping, seed=1).anonymize(invented)
    assert release.write(tmp_path / "out").k_achieved >= 5


@pytest.mark.parametrize(
    "options",
    [
        {"grouping": "pagecom", "workloads": 3},
        {"fill": "trust", "direct_weights": "similarity", "trust_steps": 2, "neighbours": 7},
        {"fill": "similarity", "neighbours": 10_000},
    ],
)
def test_a_release_states_its_options_and_is_made_again_from_them(options, invented, tmp_path):
    rater = KCoRater(5, seed=1, **options)
    assert rater.anonymize(invented).write(tmp_path / "out").holds
    assert not list(independent.problems(tmp_path / "out"))
    again = same_again(known_manifest(tmp_path / "out"), seed=1)
    assert {**again.get_params(), "trust": None} == rater.get_params()


class TestDiversityOfSets:
    def test_by_hand(self):
        # GeCom with k = 2: {a}, {b}, {c}. For b = 1 and l = 2, one bundle of three groups has a, b
        # and c, and each group lacks one of the two that it did not rate.
        ratings = Ratings.from_columns(
            range(6), [0, 0, 1, 1, 2, 2], [1, 5, 1, 5, 1, 5], scale=RatingScale(1, 5, 1)
        )
        rows = rows_of(KCoRater(2, l=2, seed=1).anonymize(ratings))
        sets = Counter(frozenset(row) for row in rows.values())
        assert sets == {frozenset({0, 1}): 2, frozenset({1, 2}): 2, frozenset({0, 2}): 2}
        assert all(ratings.row(user)[0][0] in rows[user] for user in range(6))

    @pytest.mark.parametrize(
        ("b", "options"),
        [(1, {}), (2, {"protect": "shuffle"}), (2, {"protect": "mean"}), (3, {"fill": "random"})],
    )
    def test_each_set_is_in_several_classes(self, b, options, invented, tmp_path):
        rater = KCoRater(5 if b < 3 else 25, b=b, l=3, seed=1, **options)
        rows = rows_of(rater.anonymize(invented))
        found = rater.anonymize(invented).write(tmp_path / "out")
        assert found.holds
        assert not list(independent.problems(tmp_path / "out"))
        assert found.diversity.smallest >= 3
        if b == 1:  # by a plain count
            classes = {frozenset(row) for row in rows.values()}
            assert min(Counter(item for row in classes for item in row).values()) >= 3
        again = same_again(known_manifest(tmp_path / "out"), seed=1)
        assert again.get_params() == rater.get_params()

    def test_too_few_groups_and_other_limits(self, invented):
        with raises("table.too-few-users"):
            KCoRater(100, b=2, l=3, seed=1).anonymize(invented)
        with raises("option.conflict"):
            KCoRater(5, l=2, diversity=2)
        with raises("option.value"):
            KCoRater(5, b=0, l=2)


def test_supports_of_a_large_table_are_compared_by_their_directions(monkeypatch, invented):
    monkeypatch.setattr("recveil.methods.k_corating.anonymizer._DENSE_CELLS", 0)
    first, again = (
        rows_of(KCoRater(5, grouping="supports", seed=1).anonymize(invented)) for _ in range(2)
    )
    assert first == again
    assert min(Counter(frozenset(row) for row in first.values()).values()) >= 5


def test_many_blocks_are_handed_out_in_their_order(monkeypatch, invented):
    expected = rows_of(KCoRater(4, seed=1).anonymize(invented))
    monkeypatch.setattr("recveil.methods.k_corating.rows._BLOCK_CELLS", 1)
    release = KCoRater(4, seed=1, threads=3).anonymize(invented)
    blocks = list(release.published.blocks())
    assert len(blocks) == len({frozenset(row) for row in expected.values()})
    assert rows_of(release) == expected


def test_a_fill_may_be_an_object_and_stays_as_it_was(invented):
    fill = UserKNN(5, threads=2)
    release = KCoRater(4, fill, seed=1).anonymize(invented)
    assert not hasattr(fill, "weighing_")
    assert fill.threads == 2
    assert release.published.settings["fill"] == "UserKNN"
    assert release.private.settings["fill"]["n_neighbours"] == 5


class _Broken(ItemMean):
    def __init__(self, answer):
        self.answer = answer

    def predict(self, users, items):
        return self.answer(np.zeros(np.size(items)))


def test_a_fill_that_answers_nonsense_is_caught(invented):
    for answer in (lambda zeros: zeros + np.nan, lambda zeros: zeros[1:]):
        release = KCoRater(4, _Broken(answer), seed=1).anonymize(invented)
        with raises("argument.result") as caught:
            list(release.published.blocks())
        assert "_Broken" in str(caught.value)
    release = KCoRater(4, _Broken(lambda zeros: zeros + 99), round_fills=False, seed=1)
    assert max(max(row.values()) for row in rows_of(release.anonymize(invented)).values()) == 5


def test_a_continuous_scale_is_said_to_give_fills_away():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((30, 10)) < 0.5)
    ratings = Ratings.from_columns(users, items, rng.random(users.size), scale=RatingScale(0, 1))
    release = KCoRater(3, seed=1).anonymize(ratings)
    assert release.published.settings["round_fills"] is False


def test_random_values_are_all_levels_about_equally_often():
    users, items = (axis.ravel() for axis in np.indices((200, 100)))
    likes = Ratings.from_columns([1], [1], [3], scale=RatingScale(1, 5, 1))
    values = RandomFill(seed=2**63 - 1).fit(likes).predict(users, items)
    levels, counts = np.unique(values, return_counts=True)
    assert levels.tolist() == [1, 2, 3, 4, 5]
    # 4,000 each; the standard deviation of a count is √(20000 * .2 * .8) = 57.
    assert np.abs(counts - 4000).max() < 4 * 57
    # Neither a user's nor an item's values repeat another's.
    table = values.reshape(200, 100)
    assert np.abs(np.corrcoef(table)[np.triu_indices(200, 1)]).max() < 0.6
    assert (table != RandomFill(seed=2).fit(likes).predict(users, items).reshape(200, 100)).any()


def test_known_seed_and_other_data_give_other_random_fills(invented):
    # Who guesses the seed must not be able to work out which row is whose by its fills.
    with_one_more = Ratings.from_columns(
        *(invented.users[invented.user_positions()], invented.items[invented.indices]),
        np.where(np.arange(invented.n_ratings) == 0, 6 - invented.values, invented.values),
        scale=invented.scale,
    )
    first, other = (
        KCoRater(4, "random", seed=1).anonymize(data).private.settings["fill"]["seed"]
        for data in (invented, with_one_more)
    )
    assert first != other


def test_nothing_private_is_published(invented, tmp_path):
    links = sparse.csr_array(([1.0], ([0], [1])), shape=(invented.n_users, invented.n_users))
    rater = KCoRater(4, "trust", trust=StatedTrust(links, 1, 1), seed=8_005_551)
    rater.anonymize(invented).write(tmp_path / "out", file_format="csv")
    manifest = (tmp_path / "out" / "release.json").read_text()
    assert "8005551" not in manifest
    assert not {"filled_cells", "cells", "statements"} & json.loads(manifest)["settings"].keys()
    published = {row.split(",")[0] for row in (tmp_path / "out/ratings.csv").read_text().split()}
    assert not published & {str(user) for user in invented.users}


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ({"fill": "better"}, "option.value"),
        ({"grouping": "best"}, "option.value"),
        ({"protect": "all"}, "option.value"),
        ({"threads": 0}, "option.value"),
        ({"grouping": "pagecom", "workloads": 0}, "option.value"),
        ({"grouping": "pagecom", "workloads": 257}, "option.value"),
        ({"workloads": 3}, "option.conflict"),
        ({"trust_steps": 3}, "option.value"),
        ({"trust_steps": 2}, "option.conflict"),
        ({"direct_weights": "both"}, "option.value"),
        ({"direct_weights": "similarity"}, "option.conflict"),
        ({"fill": "similarity", "neighbours": 0}, "option.value"),
        ({"fill": "trust", "neighbours": 10_001}, "option.value"),
        ({"neighbours": 5}, "option.conflict"),
        ({"fill": UserKNN(), "neighbours": 5}, "option.conflict"),
        ({"seed": -1}, "option.value"),
        ({"seed": "x"}, "option.value"),
    ],
)
def test_unknown_settings_are_refused(invented, setting, code):
    with raises(code):
        KCoRater(5, **setting).anonymize(invented)


def test_trust_about_no_user_or_without_its_method_is_refused(invented):
    def stated(*links):
        rows, columns, values = zip(*links, strict=True)
        return StatedTrust(sparse.csr_array((values, (rows, columns)), shape=(300, 300)), 4, 3)

    with raises("option.conflict"):
        KCoRater(5, "similarity", trust=stated((0, 1, 1.0))).anonymize(invented)
    for nothing in ((7, 7, 1.0), (0, 1, -1.0), (0, 1, 0.0)):
        with raises("id.unknown") as caught:
            KCoRater(5, "trust", trust=stated(nothing)).anonymize(invented)
        assert "4 lines" in str(caught.value)
    with raises("argument.type"):
        KCoRater(5, "trust", trust=sparse.csr_array((300, 300))).anonymize(invented)
    few = StatedTrust(sparse.csr_array(np.eye(4)[::-1]), 0, 0)
    with raises("argument.shape") as caught:
        KCoRater(5, "trust", trust=few).anonymize(invented)
    assert "300 users" in str(caught.value)


@settings(deadline=None, max_examples=25)
@given(
    fill=st.sampled_from(sorted(FILLS)),
    protect=st.sampled_from(["none", "mean", "shuffle"]),
    n_users=st.integers(2, 30),
    n_items=st.integers(1, 12),
    k=st.integers(2, 12),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_data(fill, protect, n_users, n_items, k, seed):
    n_ratings = max(n_users, n_users * n_items // 3)
    ratings = make_ratings(n_users, n_items, n_ratings, seed=seed % 1000)
    rater = KCoRater(min(k, n_users), fill, protect=protect, seed=seed)
    if np.unique(ratings.values).size == 1:
        with raises("table.kind"):
            rater.anonymize(ratings)
        return
    release = rater.anonymize(ratings)
    rows, dense = rows_of(release), ratings.csr.toarray()
    assert min(Counter(frozenset(row) for row in rows.values()).values()) >= rater.k
    filled_cells = sum(map(len, rows.values())) - ratings.n_ratings
    assert release.private.settings["filled_cells"] == filled_cells
    if protect == "none":
        table = np.zeros_like(dense)
        for user, row in rows.items():
            for item, label in row.items():
                table[ratings.users == user, ratings.items == item] = label
        assert (table[dense > 0] == dense[dense > 0]).all()
