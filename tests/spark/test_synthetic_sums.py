"""Sums over spread users are those of one machine, to the last bit."""

import numpy as np
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.methods.synthetic import bounded_sums
from recveil.methods.synthetic.learning import EmbeddingMap, embedding_moments
from recveil.ratings import Ratings
from recveil.spark.input import lake_of
from recveil.spark.session import spark_errors_translated
from recveil.spark.users import QueriedItemSums, _gathered, distribute_users

GRID = 2.0**-14
POPULAR = bounded_sums.PopularDirection.of(bounded_sums.direction_of(np.arange(40.0)), GRID)


@pytest.fixture(scope="module")
def all_users(frame, ratings):
    lake = lake_of(frame, scale=ratings.scale)
    found = distribute_users(
        lake, QueriedItemSums(ratings.items, np.arange(ratings.n_items), 10**5)
    )
    yield found
    found.frame.unpersist()


def embeddings(ratings):
    rng = np.random.default_rng(1)
    popularity, means = ratings.support.astype(float), rng.normal(size=ratings.n_items) / 4
    return EmbeddingMap.of(rng.normal(size=(ratings.n_items, 3)), popularity, means)


@pytest.mark.parametrize(
    ("sums", "known"),
    [
        (bounded_sums.users_by_activity, (np.array([1, 10, 20, 61]),)),
        (bounded_sums.item_sums, (0.1, 0.5)),
        (bounded_sums.like_sums, ()),
        (bounded_sums.level_sums, (np.arange(1.0, 6.0),)),
        (bounded_sums.kind_sums, (np.arange(60) % 3, 3)),
        (bounded_sums.spread_sums, ()),
        (bounded_sums.moments, (np.arange(40)[::-1].copy(), POPULAR, 4.0, GRID)),
    ],
)
def test_each_sum_is_that_of_one_machine(all_users, ratings, sums, known):
    assert np.array_equal(all_users.add_up(sums, *known), sums(ratings, *known))


def test_sums_of_embeddings_are_those_of_one_machine(all_users, ratings):
    known = (np.arange(60), embeddings(ratings), 2.0**-20)
    assert np.array_equal(
        all_users.add_up(embedding_moments, *known), embedding_moments(ratings, *known)
    )


def test_sums_do_not_depend_on_partitions(spark, ratings):
    table = ratings.to_arrow().select(["user_id", "item_id", "rating"])
    asked = QueriedItemSums(ratings.items, np.arange(60), 10**5)
    lake = lake_of(spark.createDataFrame(table), scale=ratings.scale)
    found = []
    for parts in (1, 5):
        all_users = distribute_users(lake, asked)
        all_users.frame = all_users.frame.repartition(parts)
        found.append(all_users.add_up(bounded_sums.item_sums, 0.0, 0.5))
        all_users.frame.unpersist()
    assert np.array_equal(*found)


def test_of_a_user_with_more_items_than_any_user_may_have_some_count(spark):
    ratings = Ratings.from_columns([1] * 4 + [2], [1, 2, 3, 4, 4], [5, 4, 3, 2, 1])
    lake = lake_of(spark.createDataFrame(ratings.to_arrow()), scale=ratings.scale)
    all_users = distribute_users(lake, QueriedItemSums(ratings.items, np.arange(4), 2))
    rows = {row["user"]: list(row["items"]) for row in all_users.frame.collect()}
    assert rows == {"1": [1, 3], "2": [3]}


def batch(users, places):
    columns = {"user": users, "place": pa.array(places, pa.int32())}
    return pa.RecordBatch.from_pydict({**columns, "rating": [1.0] * len(users)})


def test_rows_are_gathered_across_batches():
    pieces = [batch(["a", "a", "b"], [0, 2, 1]), batch(["b"], [3]), batch(["c"], [0])]
    rows = pa.Table.from_batches(list(_gathered(iter(pieces), 10))).to_pydict()
    assert rows["user"] == ["a", "b", "c"]
    assert rows["items"] == [[0, 2], [1, 3], [0]]


def test_no_user_stands_in_two_pieces():
    """A user in two rows would move a sum twice as far as was paid for."""
    for pieces in (
        [batch(["a", "b", "a"], [0, 1, 2])],
        [batch(["a", "b"], [0, 1]), batch(["a"], [2])],
    ):
        with raises("id.type"):
            list(_gathered(iter(pieces), 10))


def test_a_pair_that_stands_twice_is_refused(spark):
    rows = spark.createDataFrame([("ann", 7, 4.0), ("ann", 7, 5.0)], ["user", "item", "rating"])
    lake = lake_of(rows)
    with raises("spark.task") as caught, spark_errors_translated():
        distribute_users(lake, QueriedItemSums(lake.items, np.arange(1), 10))
    assert "more than once; duplicates" in str(caught.value)
