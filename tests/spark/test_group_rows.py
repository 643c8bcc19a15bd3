"""What is filled in among executors is what the local engine fills in."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.predict import ItemMean
from recveil.ratings import RatingScale
from recveil.spark.group_making import people_of
from recveil.spark.group_rows import KnownMeans
from recveil.spark.lake import lake_of


@pytest.mark.parametrize("scale", [RatingScale(1, 5, 1), RatingScale(0.5, 5, 0.5)])
def test_means_are_those_of_item_mean(spark, scale):
    ratings = make_ratings(200, 40, 2_000, seed=2, scale=scale)
    frame = spark.createDataFrame(ratings.to_arrow().select(["user_id", "item_id", "rating"]))
    people = people_of(lake_of(frame, scale=scale), 5)
    known = KnownMeans.of(people)
    people.let_go()
    items = np.arange(ratings.n_items)
    expected = ItemMean().fit(ratings).predict(np.zeros_like(items), items)
    assert known.predict(np.zeros_like(items), items).tolist() == expected.tolist()
