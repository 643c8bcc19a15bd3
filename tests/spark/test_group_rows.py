"""What is filled in is what the local engine fills in; rows of classes stand in drawn order."""

import numpy as np
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.predict import ItemMean
from recveil.ratings import RatingScale
from recveil.spark.group_making import gather_users
from recveil.spark.group_rows import ClassRows, ItemMeans
from recveil.spark.input import lake_of


@pytest.mark.parametrize("scale", [RatingScale(1, 5, 1), RatingScale(0.5, 5, 0.5)])
def test_means_are_those_of_item_mean(spark, scale):
    ratings = make_ratings(200, 40, 2_000, seed=2, scale=scale)
    frame = spark.createDataFrame(ratings.to_arrow().select(["user_id", "item_id", "rating"]))
    users = gather_users(lake_of(frame, scale=scale), 5)
    known = ItemMeans.of(users)
    users.let_go()
    items = np.arange(ratings.n_items)
    expected = ItemMean().fit(ratings).predict(np.zeros_like(items), items)
    assert known.predict(np.zeros_like(items), items).tolist() == expected.tolist()


def test_rows_of_classes_stand_in_the_order_that_was_drawn_and_have_k():
    drawn = pa.table(
        {
            "part": [3, 3, 3],
            "key": [70, 10, 40],
            "users": [5, 6, 7],
            "items": pa.array([[1], [0, 2], [2]], pa.list_(pa.int32())),
            "values": [[3.5], [1.0, 2.0], [4.1]],
        }
    )
    (block,), given = ClassRows(None, 0.1, 5).of(drawn, 3, (1, 2))
    assert block.sizes.tolist() == [6, 7, 5]
    assert block.indptr.tolist() == [0, 2, 3, 4]
    assert block.indices.tolist() == [0, 2, 2, 1]
    assert block.values.tolist() == [1.0, 2.0, 4.1, 3.5]
    assert given == []
    with raises("internal.fault"):
        ClassRows(None, 0.1, 6).of(drawn, 3, (1, 2))
