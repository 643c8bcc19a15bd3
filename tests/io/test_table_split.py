"""Training and test ratings of a table or a release, in the layouts that hold them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io.table_split import split_table
from recveil.methods import anonymize
from recveil.publish import convert
from recveil.ratings import Ratings, RatingScale

RATINGS = make_ratings(n_users=60, n_items=24, n_ratings=700, seed=2)
SCALE = RatingScale(1, 5, 1)
FOUR_DAYS = Ratings.from_columns(
    ["ann", "ann", "ben", "ben"], [7, 8, 7, 9], [1, 2, 3, 4], [0, 1, 2, 2], scale=SCALE
)
PLAIN = Ratings.from_columns([1, 2, 1], [7, 8, 8], [3, 4, 5], scale=SCALE)


def cells(ratings):
    return {*zip(ratings.user_positions().tolist(), ratings.indices.tolist(), strict=True)}


class TestByUser:
    @given(st.floats(0.1, 0.9), st.integers(0, 99))
    def test_each_user_keeps_the_stated_share(self, share, seed):
        parts = split_table(RATINGS, share, "user", seed)
        train, test = cells(parts.train), cells(parts.test)
        assert not train & test
        assert train | test == cells(RATINGS)
        wanted = np.minimum(np.floor(share * RATINGS.activity + 0.5), RATINGS.activity - 1)
        assert parts.test.activity.tolist() == wanted.tolist()

    def test_users_with_the_same_items_keep_the_same_ones(self):
        """Users 1 and 3 have the items 1 to 6, the users 2 and 4 the items 4 to 9."""
        users = np.repeat([1, 2, 3, 4], 6)
        items = np.concatenate([np.arange(1, 7), np.arange(4, 10)] * 2)
        ratings = Ratings.from_columns(users, items, np.arange(24) % 5 + 1, scale=SCALE)
        held = set()
        for seed in range(20):
            test = split_table(ratings, 0.5, "user", seed).test
            one, two, three, four = (
                test.indices[first:last].tolist()
                for first, last in zip(test.indptr, test.indptr[1:], strict=False)
            )
            assert one == three
            assert two == four
            held.add((*one, *two))
        assert len(held) > 10

    def test_values_stay_with_their_cells(self):
        parts = split_table(FOUR_DAYS, 0.5, seed=1)
        table = pd.concat([each.to_arrow().to_pandas() for each in (parts.train, parts.test)])
        columns = ["user_id", "item_id"]
        assert (
            table.sort_values(columns).to_numpy().tolist()
            == FOUR_DAYS.to_arrow().to_pandas().sort_values(columns).to_numpy().tolist()
        )

    def test_nothing_to_hold_out(self):
        with raises("table.too-few-ratings", "none of the 2"):
            split_table(Ratings.from_columns([1, 2], [7, 8], [3, 4], scale=SCALE), 0.2)


class TestByTime:
    @pytest.mark.parametrize(("share", "n_test", "day"), [(0.5, 2, 3), (0.75, 3, 2), (0.2, 2, 3)])
    def test_by_hand(self, share, n_test, day):
        """The last day has two of the four ratings, and is never split."""
        parts = split_table(FOUR_DAYS, share, "time")
        assert parts.test.n_ratings == n_test
        assert parts.rule == f"the ratings from 1970-01-0{day} on"

    def test_of_one_day_or_without_times(self):
        one_day = Ratings.from_columns([1, 2], [7, 8], [3, 4], [0, 0], scale=SCALE)
        with raises("table.too-few-ratings"):
            split_table(one_day, 0.5, "time")
        with raises("option.unsupported", "no times"):
            split_table(PLAIN, 0.2, "time")

    def test_a_validation_part_needs_another_day(self):
        two_days = Ratings.from_columns([1, 1, 2], [7, 8, 7], [3, 4, 4], [0, 9, 0], scale=SCALE)
        parts = split_table(two_days, 0.3, "time")
        with raises("table.too-few-ratings", "2 ratings", "validation"):
            parts.with_validation(0.3, "time")


@pytest.mark.parametrize("share", [0, 1, -0.5, 2])
def test_a_share_is_between_0_and_1(share):
    with raises("option.value", "split"):
        split_table(RATINGS, share)


def test_another_rule_is_rejected():
    with raises("option.value", "user or time"):
        split_table(RATINGS, 0.2, "item")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "out"
    anonymize(RATINGS, folder, k=5, seed=1)
    return folder


class TestConvert:
    def test_movielens(self, release, tmp_path):
        found = convert(release, tmp_path / "ml", target_format="movielens", split=0.2)
        train, test = (pd.read_csv(tmp_path / "ml" / f"{name}.csv") for name in ("train", "test"))
        assert sorted(path.name for path in (tmp_path / "ml").iterdir()) == [
            *("README.txt", "test.csv", "train.csv")
        ]
        assert len(train) + len(test) == found.ratings.n_ratings
        readme = (tmp_path / "ml" / "README.txt").read_text()
        assert "test.csv: 20% of each user's ratings, at random (seed 0)" in readme
        assert "of published values, no real ratings" in readme

    def test_no_row_of_a_class_reveals_what_another_lost(self, release, tmp_path):
        convert(release, tmp_path / "ml", target_format="movielens", split=0.3, seed=4)
        parts = [pd.read_csv(tmp_path / "ml" / f"{name}.csv") for name in ("train", "test")]
        whole = pd.concat(parts).sort_values(["userId", "movieId"])
        whole["cell"] = list(zip(whole["movieId"], whole["rating"], strict=True))
        rows = whole.groupby("userId")["cell"].agg(tuple)
        lost = parts[1].groupby("userId")["movieId"].apply(frozenset)
        of_class = {}
        for user, row in rows.items():
            of_class.setdefault(row, set()).add(lost.get(user, frozenset()))
        assert len(of_class) < len(rows)
        assert all(len(each) == 1 for each in of_class.values())

    def test_elliot_reads_both_files(self, tmp_path):
        convert(FOUR_DAYS, tmp_path / "shop", target_format="elliot", split=0.5, split_by="time")
        text = (tmp_path / "shop" / "config.yml").read_text()
        assert (
            "    strategy: fixed\n    train_path: ./train.tsv\n    test_path: ./test.tsv\n" in text
        )
        assert "splitting" not in text
        assert (tmp_path / "shop" / "test.tsv").read_text().splitlines() == [
            "ben\t7\t3\t172800",
            "ben\t9\t4\t172800",
        ]
        assert (tmp_path / "shop" / "train.tsv").read_text().count("\n") == 2

    def test_recbole_by_hand(self, tmp_path):
        """The last half of four days is the test part, the last half of the others is valid."""
        convert(FOUR_DAYS, tmp_path / "shop", target_format="recbole", split=0.5, split_by="time")
        parts = {
            name: (tmp_path / "shop" / f"shop.{name}.inter").read_text().splitlines()
            for name in ("train", "valid", "test")
        }
        header = "user_id:token\titem_id:token\trating:float\ttimestamp:float"
        assert {lines[0] for lines in parts.values()} == {header}
        assert parts["train"][1:] == ["ann\t7\t1\t0"]
        assert parts["valid"][1:] == ["ann\t8\t2\t86400"]
        assert parts["test"][1:] == ["ben\t7\t3\t172800", "ben\t9\t4\t172800"]
        config = (tmp_path / "shop" / "shop.yaml").read_text()
        assert "\nbenchmark_filename: [train, valid, test]\n" in config
        assert not (tmp_path / "shop" / "shop.inter").exists()

    def test_lenskit_by_hand(self, tmp_path):
        """The data set has all users and items, but only the training ratings."""
        found = convert(
            FOUR_DAYS, tmp_path / "shop", target_format="lenskit", split=0.5, split_by="time"
        )
        tables = {
            path.stem: pd.read_parquet(path) for path in (tmp_path / "shop").glob("*.parquet")
        }
        assert tables["user"]["user_id"].tolist() == ["ann", "ben"]
        assert tables["item"]["item_id"].tolist() == [7, 8, 9]
        assert tables["rating"]["rating"].tolist() == [1, 2]
        test = tables["test"]
        assert test[["user_id", "item_id"]].to_numpy().tolist() == [["ben", 7], ["ben", 9]]
        assert "test.parquet" in found.notes[-1]

    def test_validation_ratings_of_a_class_are_the_same(self, release, tmp_path):
        convert(release, tmp_path / "out", target_format="recbole", split=0.2)
        parts = [
            pd.read_csv(tmp_path / "out" / f"out.{name}.inter", sep="\t")
            for name in ("train", "valid", "test")
        ]
        rows, of_class = pd.concat(parts).groupby("user_id:token")["item_id:token"], {}
        held = [part.groupby("user_id:token")["item_id:token"].agg(frozenset) for part in parts]
        for user, items in rows.agg(frozenset).items():
            of_class.setdefault(items, set()).add(tuple(side.get(user) for side in held))
        assert all(len(each) == 1 for each in of_class.values())

    def test_dates_of_a_release_are_of_items(self, tmp_path):
        rng = np.random.default_rng(0)
        dated = Ratings.from_columns(
            *(RATINGS.user_positions(), RATINGS.indices, RATINGS.values),
            rng.integers(0, 700, RATINGS.n_ratings),
            scale=SCALE,
        )
        anonymize(dated, tmp_path / "out", k=3, dates="month", seed=1)
        options = {"target_format": "movielens", "split": 0.3, "split_by": "time"}
        found = convert(tmp_path / "out", tmp_path / "ml", **options)
        assert "by the dates of their items" in found.notes[-2]
        train, test = (pd.read_csv(tmp_path / "ml" / f"{name}.csv") for name in ("train", "test"))
        assert train["timestamp"].max() < test["timestamp"].min()

    def test_other_formats_hold_no_split(self, tmp_path):
        with raises("option.unsupported", "split"):
            convert(RATINGS, tmp_path / "r.csv", split=0.2)
        with raises("option.required", "split_by"):
            convert(FOUR_DAYS, tmp_path / "ml", target_format="movielens", split_by="time")
        assert not list(tmp_path.iterdir())
