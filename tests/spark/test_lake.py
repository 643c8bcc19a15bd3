"""What a table in Spark holds."""

import numpy as np
import pytest

from recveil.errors import RecveilError
from recveil.ratings import RatingScale
from recveil.spark.lake import is_for_spark, lake_of, read_frame


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


def test_a_scale_that_nobody_named_is_marked(spark):
    lake = lake_of(frame_of(spark, [("a", 1, 2.0), ("b", 1, 5.0)]))
    assert lake.scale == RatingScale(2, 5, 3) or lake.scale.low == 2
    assert lake.scale.inferred


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", 1, None), ("b", 1, 2.0)], "rating column: 1 of 2 rows are without a number"),
        ([("a", 1, float("nan")), ("b", 1, 2.0)], "rating column: 1 of 2"),
        ([("", 1, 1.0), ("b", 1, 2.0)], "user column: 1 of 2 rows are without a user"),
        ([("a", None, 1.0), ("b", 1, 2.0)], "item column: 1 of 2"),
        ([("a", 1, 9.0), ("b", 1, 2.0)], "rating 9 outside the scale 1:5:1"),
    ],
)
def test_what_is_no_rating_is_refused(spark, rows, said):
    with pytest.raises(RecveilError, match=said):
        lake_of(frame_of(spark, rows), scale=RatingScale(1, 5, 1))


def test_columns_of_other_types_are_refused(spark):
    with pytest.raises(RecveilError, match="user column 'user_id' holds double"):
        lake_of(frame_of(spark, [(1.5, 1, 1.0)]))
    with pytest.raises(RecveilError, match="no user column"):
        lake_of(frame_of(spark, [(1, 1, 1.0)], ("x", "y", "z")))


def test_a_table_without_rows_is_refused(spark, frame):
    with pytest.raises(RecveilError, match="no rows"):
        lake_of(frame.limit(0))


def test_folders_of_parts_are_read_by_spark(spark, frame, ratings, tmp_path):
    frame.write.parquet(str(tmp_path / "parts"))
    frame.write.csv(str(tmp_path / "texts"), header=True)
    for name in ("parts", "texts"):
        assert is_for_spark(str(tmp_path / name))
        found = lake_of(read_frame(spark, str(tmp_path / name)), scale=ratings.scale)
        assert found.n_ratings == ratings.n_ratings
        assert np.array_equal(found.items, ratings.items)
    assert not is_for_spark(str(tmp_path / "ratings.csv"))
