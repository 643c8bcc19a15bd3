"""Rows of numbers within ids, and article numbers, dates and ISBNs that only look like it."""

import random

import numpy as np
import pytest

from recveil import Ratings, RatingScale
from recveil.io.columns.original_rows import find_original_rows
from recveil.io.columns.rows_of_numbers import NumberSearch
from recveil.io.columns.rows_within_ids import find_rows_within
from recveil.ratings.rating_scale import LIKES
from recveil.ratings.sorted_rows import Rows

STARS = RatingScale(1, 5, 1)
USERS = {
    "dense": [*range(1, 301)],
    "from 1001": [*range(1001, 1101)],
    "sparse": [*range(12345, 99999, 877)],
}
ITEMS = {
    "dense": [*range(1, 301)],
    "four digits": [*range(1000, 1200)],
    "five": [*range(10000, 10200)],
}
HONEST = [
    *("10007-2-38", "2019-04-12", "978-3-16-148410-0", "12:30:45", "1/12/2004", "10.0.0.12"),
    *("200x100x18", "2019-04-12 12:30:45", "0800 123 4567", "1007 v2.1.4", "1001+1003+1012"),
    *("1,000,000 Ways", "Fahrenheit 9/11 (2004)", "4-6381-3393", "12/34/56"),
]


@pytest.mark.parametrize("label", HONEST)
@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("items", ITEMS)
def test_article_numbers_dates_times_and_isbns_are_no_rows(label, users, items):
    ids = [*map(str, ITEMS[items]), label]
    for is_unrated in (False, True):
        assert find_rows_within(ids, USERS[users], ids, is_unrated=is_unrated) == []


NUMBERED = {
    "variants": lambda draw: (
        f"{draw.randint(10000, 10050)}-{draw.randint(1, 5)}-{draw.randint(34, 48)}"
    ),
    "dates": lambda draw: f"{draw.randint(1990, 2024)}-{draw.randint(1, 12)}-{draw.randint(1, 28)}",
    "times": lambda draw: f"{draw.randint(0, 23)}:{draw.randint(0, 59)}:{draw.randint(0, 59)}",
    "sizes": lambda draw: f"{draw.randint(10, 200)}x{draw.randint(10, 200)}x{draw.randint(1, 50)}",
    "isbns": lambda draw: (
        f"978-{draw.randint(0, 9)}-{draw.randint(10, 999)}-{draw.randint(100, 999)}-1"
    ),
}


@pytest.mark.parametrize("scale", [STARS, LIKES], ids=["stars", "likes"])
@pytest.mark.parametrize("kind", NUMBERED)
def test_a_table_of_such_ids_is_read(kind, scale):
    draw = random.Random(kind)
    for _ in range(4):
        users, known = draw.choice([*USERS.values()]), draw.choice([*ITEMS.values()])
        labels = {NUMBERED[kind](draw) for _ in range(draw.choice([1, 7, 60]))}
        items = [*map(str, known), *labels]
        cells = {(draw.choice(users), draw.choice(items)) for _ in range(800)}
        cells |= {(draw.choice(users), label) for label in labels}
        stars = None if scale.unary else [draw.randint(1, 5) for _ in cells]
        columns = zip(*((str(user), item) for user, item in cells), strict=True)
        scale_of_stars = None if scale.unary else scale
        ratings = Ratings.from_columns(*map(list, columns), stars, scale=scale_of_stars)
        assert labels <= {*ratings.items.tolist()}


@pytest.mark.parametrize(
    ("label", "users"),
    [
        *(
            (sign.join(["31", "12", "33", "4"]), "dense")
            for sign in [*",;|\t^~#=\u2192\u00a6", "::"]
        ),
        *((sign.join(["31", "1002", "33", "4"]), "from 1001") for sign in "-/:. _+x"),
        *(
            (sign.join(["31", "2001", "33", "4", "2002", "35", "2"]), "from 1001")
            for sign in "-/: "
        ),
        *((sign.join(["31", "12", "33", "4", "115", "237", "2"]), "dense") for sign in "-/: "),
        ("user=12&item=33&rating=4", "dense"),
        ('{"user": 12, "item": 33, "n": 4}', "dense"),
        (r"31\n12,33,4", "dense"),
        ("31,14099,33", "sparse"),
    ],
    ids=ascii,
)
def test_a_row_of_numbers_is_found(label, users):
    ids = [*map(str, ITEMS["dense"]), label]
    assert find_rows_within(ids, USERS[users], ids) == [300]


@pytest.mark.parametrize("label", ["31,12,33", "31~12~33", "31-14099-33"])
def test_a_like_of_numbers_is_found(label):
    ids, users = [*map(str, ITEMS["dense"]), label], [*USERS["dense"], *USERS["sparse"]]
    assert find_rows_within(ids, users, ids, is_unrated=True) == [300]


def test_more_ids_with_a_user_and_two_items_than_by_chance_are_rows():
    users, items = range(1001, 1301), range(10, 60)
    search = NumberSearch.among(users, items, is_unrated=False)
    forms = {at: [f"11-{1001 + at}-12-4"] for at in range(20)}
    assert search.find({0: forms[0]}) == set(), "one of 30 numbers is a user"
    assert search.find(forms) == {*forms}
    honest = {at: [f"11-{3000 + at}-12-4"] for at in range(500)}
    assert search.find({**honest, 5: forms[5], 6: forms[6]}) == set()


def _original(n_users, labels):
    """Search a table, of which each user rated the item 10007 with a 2, for ids that state it."""
    users = np.array([str(n) for n in range(1, n_users + 1)], object)
    items = np.array(["10007", *labels], object)
    indptr = np.minimum(np.arange(n_users + 1), 30)
    rows = Rows(indptr, np.zeros(30, np.int32), np.full(30, 2, np.float32), None)
    return find_original_rows(users, items, rows, STARS)


def test_numbers_state_ratings_of_the_table_if_more_do_than_by_chance():
    assert _original(300, ["10007-2-28"]) == []
    assert _original(300, ["10007;2;28"]) == [1]
    labels = [f"10007-2-{user}" for user in range(10, 20)]
    assert _original(300, labels) == [*range(1, 11)]
    assert _original(30_000, ["10007-2-28"]) == [1]


def test_two_likes_of_numbers_are_rows_unless_they_may_be_chance():
    users, items = np.array(["12", "13"], object), np.array(["31", "32", "12-31-13-32"], object)
    rows = Rows(np.array([0, 1, 2]), np.array([0, 1]), np.array([1, 1], np.float32), None)
    assert find_original_rows(users, items, rows, LIKES) == []
    items[2] = "12~31~13~32"
    assert find_original_rows(users, items, rows, LIKES) == [2]


def test_a_rare_user_between_two_items_is_a_row():
    """Three numbers are enough where numbers of as many digits are hardly ever users."""
    users, items = range(1_007_922, 1_647_922, 16_000), [*range(501, 701)]
    ids = [*map(str, items), "532 by 1039922 on 687"]
    assert find_rows_within(ids, users, ids) == [200]
    ids[-1] = "532 by 1039923 on 687"  # no user
    assert find_rows_within(ids, users, ids) == []


def test_a_user_and_an_item_that_words_name_are_a_row():
    users, items = range(1, 41), [*range(1, 61)]
    for label in ("1 user 14 item 8", "1 customer: 14, product: 8"):
        ids = [*map(str, items), label]
        assert find_rows_within(ids, users, ids) == [60]
    ids[-1] = "1 user guide, item 8"
    assert find_rows_within(ids, users, ids) == []


@pytest.mark.parametrize(
    ("label", "is_row"),
    [
        *((sign.join(["11", "3", "583920", "16"]), True) for sign in "-/: ._"),
        ("11. User 583920 rated 16 with 4", True),
        ("11</td><td>583920</td><td>16</td><td>4", True),
        ("11 583 16 4", False),  # a short number, as of sizes
        ("11 + 16 + 19", False),
        ("11-2-38", False),
    ],
)
def test_an_unknown_user_between_two_numeric_items_is_a_row(label, is_row):
    users = range(100_003, 999_999, 15_013)
    ids = [*map(str, range(11, 51)), label]
    assert find_rows_within(ids, users, ids) == [40] * is_row


def test_several_rows_of_unknown_users_in_a_small_table_of_numeric_items_are_found():
    users = range(100_003, 999_999, 15_013)
    ids = [*map(str, range(11, 51)), "11 3 583920 16", "12 583921 17 4", "13 5 583922 18"]
    assert find_rows_within(ids, users, ids) == [40, 41, 42]
