"""GeCom among executors finds the groups of GeCom on one machine, however users are cut up."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.methods.k_corating.gecom import gecom
from recveil.ratings import Ratings, RatingScale
from recveil.spark import clusters
from recveil.spark.clusters import gather_corated
from recveil.spark.group_making import gather_users
from recveil.spark.input import lake_of
from recveil.spark.users import number_users

STARS = RatingScale(1, 5, 1)
SECRET = (3, 1 << 200)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(clusters, "_A_PART", 20)


def table(words):
    """One user for each word; its letters are the items that they rated, all with 3."""
    users = [f"u{at:03d}" for at, word in enumerate(words) for _ in word]
    items = [letter for word in words for letter in word]
    return Ratings.from_columns(users, items, [3] * len(users), scale=STARS)


def words_of(n, letters, longest, seed):
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, longest + 1, n)
    return ["".join(sorted(rng.choice(list(letters), width, replace=False))) for width in widths]


def spread(spark, ratings, k, secret=SECRET):
    """Gather them by executors; return what was found, and the key of each user's group."""
    frame = spark.createDataFrame(ratings.to_arrow().select(["user_id", "item_id", "rating"]))
    lake = lake_of(frame, scale=STARS)
    all_users = gather_users(lake, k)
    numbered = number_users(all_users)
    found = gather_corated(all_users, numbered, lake.n_ratings, k, secret)
    named = numbered.frame.select("number", "user").join(found.groups.frame, "number").toArrow()
    all_users.let_go()
    return found, dict(zip(named["user"].to_pylist(), named["key"].to_pylist(), strict=True))


def members(labels):
    """Return who is together: sets of users."""
    together = {}
    for who, label in labels.items():
        together.setdefault(label, set()).add(who)
    return {frozenset(all_users) for all_users in together.values()}


def here(ratings, k):
    groups = gecom(ratings, k)
    users = ratings.users.astype(str)
    parts = np.split(groups.members, groups.starts[1:-1])
    return {frozenset(users[part].tolist()) for part in parts}


TABLES = {
    "classes of k and others": (words_of(90, "abcdef", 3, 1), 4),
    "no class of k": (words_of(40, "abcdefghijklmnop", 8, 3), 9),
    "a remainder": (["a", "b", "c", "d", "e", "f", "ab", "cd"], 3),
    # Two are too few for a group: each joins the nearest class, the first of two as near.
    "too few others": (["ab"] * 4 + ["cd"] * 4 + ["efg"] * 5 + ["c", "abcd"], 4),
}


@pytest.mark.parametrize("name", TABLES)
def test_groups_are_those_of_one_machine(spark, monkeypatch, name):
    words, k = TABLES[name]
    ratings = table(words)
    expected, keys = here(ratings, k), []
    for size in (1_000, 15):  # ratings of a partition: one of them, and many
        monkeypatch.setattr(clusters, "_RATINGS_OF_A_PARTITION", size)
        found, key_of = spread(spark, ratings, k)
        assert members(key_of) == expected
        assert found.groups.users.sum() == len(words)
        keys.append(key_of)
    assert keys[0] == keys[1]  # and they stand in the same order


def test_the_order_follows_from_the_secret(spark):
    words, k = TABLES["a remainder"]
    ratings = table(words)
    _, one = spread(spark, ratings, k)
    _, other = spread(spark, ratings, k, (3, 1 << 201))
    assert members(one) == members(other)
    assert not set(one.values()) & set(other.values())


def test_labels_are_counted_before_they_are_written(spark, monkeypatch):
    words, k = TABLES["classes of k and others"]
    ratings = table(words)
    width = {user: set(word) for user, word in zip(ratings.users, words, strict=True)}
    rows = (
        len(all_users) * len(set().union(*(width[who] for who in all_users)))
        for all_users in here(ratings, k)
    )
    labels = sum(rows)
    assert spread(spark, ratings, k)[0].cells == labels
    monkeypatch.setattr(clusters, "_RATINGS_OF_A_PARTITION", 30)
    # A group that two partitions have a share of counts as two, which have no more labels.
    assert 0.7 * labels < spread(spark, ratings, k)[0].cells <= labels


def test_a_class_of_very_many_is_taken_apart(spark, monkeypatch):
    monkeypatch.setattr(clusters, "_A_PIECE", 6)
    ratings = table(["a"] * 25 + ["b"] * 11 + ["ab", "abc"])
    found, key_of = spread(spark, ratings, 3)
    # Two are too few for a group, and join b, of which there are fewer to be filled up.
    groups = members(key_of)
    assert sorted(map(len, groups)) == [6, 6, 6, 7, 13]
    assert {"u036", "u037"} < max(groups, key=len)
    assert found.groups.groups.sum() == 5
    _, again = spread(spark, ratings, 3)
    assert again == key_of
    monkeypatch.setattr(clusters, "_A_PIECE", 1)
    pieces = members(spread(spark, ratings, 12)[1])  # k is above what a piece has
    assert sorted(map(len, pieces)) in ([12, 26], [12, 12, 14], [12, 13, 13])


def test_fewer_than_k_users_are_refused(spark):
    with raises("table.too-few-users"):
        spread(spark, table(["a", "b", "c"]), 4)
