"""Columns that probably identify a user."""

import pytest

from recveil.inspection.column_roles import find_identifiers
from recveil.inspection.first_rows import FirstRows
from recveil.ratings import Ratings

USERS = [f"u{n}" for n in range(60)]


def of_column(name, values, users=None):
    """Return what is said of a column that is not read."""
    users = USERS[: len(values)] if users is None else users
    ratings = Ratings.from_columns(USERS, [1] * 60, [4] * 60)
    rows = tuple((user, "1", "4", value) for user, value in zip(users, values, strict=True))
    seen = FirstRows(("user", "item", "rating", name), ("user", "item", "rating", ""), rows)
    found = [each for each in find_identifiers(ratings, seen) if not each.role]
    return found[0].kind if found else None


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["ann@example.org", "ben@example.com"], "email"),
        (["", "ann@example.org", "none", "none", "none"], "email"),
        (["192.168.1.7", "10.0.0.1"], "ip-address"),
        (["2001:db8::1", "::1"], "ip-address"),
        (["+49 30 1234567", "0049 (30) 765-4321"], "phone"),
        (["123e4567-e89b-12d3-a456-426614174000"], "uuid"),
        (["d41d8cd98f00b204e9800998ecf8427e"], "hash"),
        (["DE89370400440532013000"], "iban"),
        (["https://example.org/u/7"], "url"),
        (["10:11:12", "11:12:13"], None),
        (["drama", "comedy"], None),
        (["1.5", "2.5"], None),
        (["", ""], None),
    ],
)
def test_values_reveal_the_kind(values, kind):
    assert of_column("x", values) == kind


@pytest.mark.parametrize(
    "name",
    [
        *("email", "e_mail", "userName", "First Name", "postcode", "zip", "IP_Address", "lat"),
        *("dob", "deviceId", "session_id", "userAgent", "gender"),
    ],
)
def test_names_reveal_columns_about_users(name):
    assert of_column(name, ["x", "y"]) == "name"


@pytest.mark.parametrize("name", ["genre", "title", "flat", "translation", "campaign", "recipe"])
def test_names_of_items_do_not(name):
    assert of_column(name, ["x", "y"]) is None


def test_one_value_a_row():
    assert of_column("x", [f"r{n}" for n in range(60)]) == "unique-values"
    assert of_column("x", [f"{n}.5" for n in range(60)]) is None  # a measurement
    assert of_column("x", [f"r{n}" for n in range(10)]) is None  # of ten rows, nothing is inferred


def test_one_value_a_user():
    users = [f"u{n % 20}" for n in range(60)]
    towns = [f"town {n % 20 % 7}" for n in range(60)]
    assert of_column("x", towns, users) == "one-per-user"
    genres = [f"genre {n % 7}" for n in range(60)]
    assert of_column("x", genres, users) is None
    assert of_column("x", ["one"] * 60, users) is None


def test_free_text():
    reviews = [f"I liked this film so much that I saw it {n % 5} times" for n in range(60)]
    assert of_column("x", reviews) == "free-text"


def test_ids_of_items_that_are_peoples():
    ratings = Ratings.from_columns(
        ["ann", "ben", "cal"], ["ben", "cal", "ann@example.org"], [1, 2, 3]
    )
    found = find_identifiers(ratings, FirstRows((), (), ()))
    assert [(each.role, each.kind, each.matches, each.inspected) for each in found] == [
        ("user", "text-ids", 3, 3),
        ("item", "email", 1, 3),
        ("item", "user-ids", 2, 3),
    ]


def test_numbers_that_stand_on_both_sides_say_nothing():
    ratings = Ratings.from_columns([1, 2, 3], [1, 2, 3], [1, 2, 3])
    assert [each.role for each in find_identifiers(ratings, FirstRows((), (), ()))] == ["user"]


def test_no_value_is_in_the_report():
    ratings = Ratings.from_columns(["hugo@example.org"], ["hugo's item"], [1])
    rows = FirstRows(("user", "x"), ("user", ""), (("hugo@example.org", "hugo@example.org"),))
    found = find_identifiers(ratings, rows)
    assert len(found) == 2
    assert "hugo" not in str([each._asdict() for each in found]) + repr(found) + repr(rows)


def test_a_name_is_enough_where_no_value_is_seen():
    """As of columns that hold bytes or several values a row, which are not read."""
    assert of_column("email", ["", ""]) == "name"
    assert of_column("photo", ["", ""]) is None
