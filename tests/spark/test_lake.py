"""What a table in Spark holds."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.ratings import RatingScale
from recveil.spark.input import lake_of, read_frame


def frame_of(spark, rows, names=("user_id", "item_id", "rating")):
    return spark.createDataFrame(rows, list(names))


def test_items_are_those_of_ratings(frame, ratings):
    lake = lake_of(frame, scale=ratings.scale)
    assert np.array_equal(lake.items, ratings.items)
    assert lake.n_ratings == ratings.n_ratings
    assert lake.values.tolist() == [1, 2, 3, 4, 5]
    assert np.array_equal(lake.items[lake.codes], lake.raw.to_numpy())


def test_ids_in_text_are_numbers_only_if_all_are(spark):
    rows = [("a", "10", 1.0), ("a", "9", 2.0)]
    assert lake_of(frame_of(spark, rows)).items.tolist() == [9, 10]
    rows.append(("a", "009", 2.0))
    assert lake_of(frame_of(spark, rows)).items.tolist() == ["009", "10", "9"]


def test_likes_count_once(spark):
    lake = lake_of(frame_of(spark, [("a", 1), ("a", 1), ("b", 1)], ("user", "item")))
    assert lake.scale.unary
    assert lake.n_ratings == 2


def test_a_scale_that_was_inferred_is_marked(spark):
    lake = lake_of(frame_of(spark, [("a", 1, 2.0), ("b", 1, 5.0)]))
    assert lake.scale == RatingScale(2, 5, 3) or lake.scale.low == 2
    assert lake.scale.inferred


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([("a", 1, None), ("b", 1, 2.0)], "rating.missing"),
        ([("a", 1, float("nan")), ("b", 1, 2.0)], "rating.missing"),
        ([("", 1, 1.0), ("b", 1, 2.0)], "id.missing"),
        ([("a", None, 1.0), ("b", 1, 2.0)], "id.missing"),
        ([("a", 1, 9.0), ("b", 1, 2.0)], "rating.off-scale"),
        ([("a", i, 1 + i / 500) for i in range(2001)], "rating.off-scale"),
        ([("a", 1, "5d"), ("b", 1, "2")], "rating.missing"),
        ([("a", 1, "5d"), ("b", 1, "0x1p2")], "rating.missing"),
    ],
)
def test_what_is_no_rating_is_refused(spark, rows, code):
    with raises(code):
        lake_of(frame_of(spark, rows), scale=RatingScale(1, 5, 1))


def test_numbers_in_text_are_those_of_one_machine(spark):
    rows = [("a", 1, "+4"), ("b", 1, " 1e0"), ("c", 1, "5.\xa0"), ("d", 1, "\t2 ")]
    assert lake_of(frame_of(spark, rows), scale=RatingScale(1, 5, 1)).values.tolist() == [
        1,
        2,
        4,
        5,
    ]


def test_columns_of_other_types_are_refused(spark):
    with raises("column.type"):
        lake_of(frame_of(spark, [(1.5, 1, 1.0)]))
    with raises("column.missing"):
        lake_of(frame_of(spark, [(1, 1, 1.0)], ("x", "y", "z")))


def test_a_table_without_rows_is_refused(spark, frame):
    with raises("table.no-ratings"):
        lake_of(frame.limit(0))


def test_ids_in_names_of_folders_are_not_made_one(spark, tmp_path):
    for item in ("7", "007"):
        (tmp_path / f"item={item}").mkdir()
        rows = pa.table({"user": [1, 2], "rating": [3.0, 4.0]})
        pq.write_table(rows, tmp_path / f"item={item}" / "part.parquet")
    with raises("id.type"):
        lake_of(read_frame(spark, str(tmp_path)))


def test_a_point_in_a_name_is_no_part_of_a_column(spark):
    rows = [(7, "b", 3.0), (8, "a", 4.0)]
    frame = frame_of(spark, rows, ("user.id", "item`s", "Rating"))
    found = lake_of(frame, user="user.id", item="item`s")
    assert found.items.tolist() == ["a", "b"]


def test_a_part_with_gaps_is_named(spark, own_settings, tmp_path):
    """Where capitals count, Spark finds nothing in a part that calls its column otherwise."""
    for number, user in enumerate(("user", "User")):
        rows = pa.table({user: ["a", "b"], "item": ["i", "j"], "rating": [3.0, 4.0]})
        pq.write_table(rows, tmp_path / f"part {number}.parquet")
    frame = spark.read.schema("user string, item string, rating double").parquet(str(tmp_path))
    assert lake_of(frame).n_ratings == 4
    own_settings("spark.sql.caseSensitive", "true")
    with raises("id.missing") as caught:
        lake_of(frame)
    assert "2 of 4 rows" in str(caught.value)
    assert "part 1.parquet" in str(caught.value)


def test_ratings_that_single_precision_makes_one_are_refused(spark):
    for kind in (float, str):
        rows = [("a", 1, kind(0.100000001)), ("b", 1, kind(0.100000002))]
        with raises("rating.merged") as caught:
            lake_of(frame_of(spark, rows))
        assert "from 0.100000001 to 0.100000002" in str(caught.value)
    lake = lake_of(frame_of(spark, [("a", 1, 16_777_217), ("b", 1, 5)]))
    assert lake.notes[-1] == "Ratings are kept to 7 digits: 16777217 became 16777216."
    assert len(lake_of(frame_of(spark, [("a", 1, 0.1), ("b", 1, 0.3)])).notes) == 1


@pytest.mark.parametrize("time", [2_017_010_100, 500_000_000, 1_483_228_800_000])
def test_whole_numbers_that_are_no_unix_seconds_are_refused(spark, time):
    frame = frame_of(
        spark, [("a", 1, 2.0, time), ("b", 1, 5.0, time)], ("user", "item", "rating", "time")
    )
    with raises("column.type"):
        lake_of(frame, times=True)


@pytest.mark.parametrize(
    "odd", ["i1;user_2001;i2;4", '{"user": "user_2001", "item": "i2", "rating": 4}']
)
def test_a_row_within_an_item_id_is_refused(spark, odd):
    rows = [(f"user_{1000 + n}", f"i{n % 5}", 1.0 + n % 5) for n in range(60)]
    assert lake_of(frame_of(spark, [*rows, ("user_1000", "i1; the 4th", 2.0)])).items.size == 6
    with raises("id.row-within", "item"):
        lake_of(frame_of(spark, [*rows, ("user_1000", odd, 2.0)]))


@pytest.mark.parametrize("most", [1_000_000, 400])
@pytest.mark.parametrize("form", ["{0} by {1} of {2}", "{1} gave {2} four"])
def test_rows_of_users_within_item_ids_are_refused_above_chance(spark, monkeypatch, most, form):
    """Of more ratings than are compared, those of some users are."""
    monkeypatch.setattr("recveil.spark.input._MOST_COMPARED", most)
    users = random.Random(1).sample(range(1000, 9000), 120)
    rows = [(str(u), str(n), 1.0 + n % 5) for u in users for n in range(1, 40) if (u * n) % 5 == 0]
    odd = [form.format(n % 39 + 1, users[n], (7 * n) % 39 + 1) for n in range(60)]
    honest = [form.format(n % 39 + 1, users[n] + 9, (7 * n) % 39 + 1) for n in range(60)]
    of_honest = [("1000", label, 2.0) for label in honest]
    assert lake_of(frame_of(spark, [*rows, *of_honest])).items.size > 90
    with raises("id.row-within", "item"):
        lake_of(frame_of(spark, [*rows, *(("1000", label, 2.0) for label in odd)]))
