"""Short ids of users within the ids of items: many are no chance, and the rest is reported."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.base import anonymize_hidden
from recveil.publish import Release
from recveil.ratings import Ratings
from recveil.verification import verify
from recveil.verification.ids_in_items import (
    columns_with_users,
    ids_in_items,
    line_breaks_in_items,
    match_words,
    words_of,
)

# Four letters each, and no words: of a user who was given a short name.
NAMES = ["".join("aeioubdfgl"[int(digit)] for digit in f"{n:04d}") for n in range(0, 9_999, 84)]
SPARSE = np.random.default_rng(7).choice(900_000, 120, replace=False) + 100_000
ANONYMIZER = PredictiveAnonymizer(3, seed=1, predictor="item-mean")


def table(users, name_of_item, n_items=30):
    made = make_ratings(n_users=len(users), n_items=n_items, n_ratings=12 * len(users), seed=5)
    frame = made.to_arrow()
    by_id = dict(zip(sorted(set(frame["user_id"].to_pylist())), users, strict=True))
    user_ids = [by_id[user] for user in frame["user_id"].to_pylist()]
    items = [name_of_item(item) for item in frame["item_id"].to_pylist()]
    return Ratings.from_columns(user_ids, items, frame["rating"].to_pylist(), scale=made.scale)


def lists_of(user_ids):
    """Names of items that hold four users each, so that all users stand there."""
    parts = [user_ids[at::30] for at in range(30)]
    return lambda item: f"list no. {item}: " + ", ".join(map(str, parts[item % 30]))


class TestPlanted:
    @pytest.mark.parametrize(
        "user_ids", [NAMES, [f"{name[:2]}_{n}" for n, name in enumerate(NAMES)], SPARSE.tolist()],
        ids=["short names", "two words", "numbers"],
    )  # fmt: skip
    def test_a_table_with_all_users_in_the_ids_of_items_is_not_written(self, user_ids, tmp_path):
        ratings = table(user_ids, lists_of(user_ids))
        with raises("release.refused") as error:
            ANONYMIZER.anonymize(ratings).write(tmp_path / "out")
        assert "item_id" in str(error.value)
        assert list(tmp_path.iterdir()) == []
        hidden = anonymize_hidden(ratings, ANONYMIZER, 1)
        Release(hidden.published, hidden.private).write(tmp_path / "out")
        result = verify(tmp_path / "out", private=tmp_path / "out.private")
        assert (result.private_found, result.holds) == ([], True)

    def test_numbers_of_users_in_the_column_of_items(self):
        """Item ids are the numbers of users: one column was taken for the other."""
        user_ids = SPARSE.tolist()
        assert "not the adjacent numbers" in ids_in_items(user_ids, user_ids[:80]).problem

    def test_no_id_is_repeated(self):
        for user_ids in (NAMES, SPARSE.tolist()):
            problem = ids_in_items(user_ids, [f"by {each}" for each in user_ids]).problem
            assert not match_words(user_ids, [problem])

    @pytest.mark.parametrize("user_ids", [NAMES, SPARSE.tolist()], ids=["names", "numbers"])
    def test_users_in_few_items_that_are_otherwise_equal(self, user_ids):
        items = [f"film {n}" for n in range(5_000)] + [f"the list of {each}" for each in user_ids]
        assert ids_in_items(user_ids, items).problem

    def test_of_few_users_all_must_stand_there(self):
        few = ["ann", "ben", "cat", "dan"]
        labels = [f"list of {name}" for name in few]
        assert ids_in_items(few, labels).problem.startswith("all 4 user ids are words")
        assert ids_in_items(few, labels[:3]) == ("", 4, 3)
        assert ids_in_items(few[:3], labels) == ("", 3, 3), "of three it may be chance"


class TestHonest:
    """Items and users are named as they are everywhere; no alarm, and the verdict says so."""

    @pytest.mark.parametrize(
        ("users", "name_of_item"),
        [
            (range(1, 121), lambda item: item),
            (range(1, 121), lambda item: f"item {item}"),
            (range(1, 121), lambda item: f"Part {item} ({1950 + item})"),
            (range(4, 1200, 10), lambda item: f"{10 * item + 4} {10 * item + 604}"),
            (range(1_000_001, 1_000_121), lambda item: 1_000_001 + item),
            ([f"u{n}" for n in range(120)], lambda item: f"U{item}: {item}"),
            ([chr(97 + n // 26) + chr(97 + n % 26) for n in range(120)], lambda _: "to be or not"),
            (NAMES, lambda item: f"{NAMES[item % 20]} and others, {item}"),
        ],
        ids=["numbers", "numbered", "years", "every tenth", "far", "u and number", "pairs", "few"],
    )  # fmt: skip
    def test_is_written(self, users, name_of_item, tmp_path):
        users = list(users)
        if name_of_item(1) == "to be or not":
            name_of_item = lambda item: f"to be or not to be {item} " + " ".join(users[:99])  # noqa: E731
        ANONYMIZER.anonymize(table(users, name_of_item)).write(tmp_path / "out")
        result = verify(tmp_path / "out", private=tmp_path / "out.private")
        assert (result.private_found, result.holds) == ([], True)
        (limit,) = (each for each in result.not_covered if each.code == "undecided-ids")
        assert limit.values[:2] == (120, 120)

    def test_deleted_users_leave_gaps_that_items_do_not_have(self):
        rng = np.random.default_rng(3)
        user_ids = np.sort(rng.choice(1_000, 900, replace=False)).tolist()
        assert ids_in_items(user_ids, [f"item {n}" for n in range(1_000)]).problem == ""
        assert ids_in_items(user_ids, range(700)).problem == ""

    def test_two_ranges_of_users(self):
        user_ids = [*range(1, 501), *range(1_000_001, 1_000_501)]
        assert ids_in_items(user_ids, range(1, 2_001)).problem == ""

    def test_first_names_in_titles(self):
        """All users have the name of a person in some title."""
        titles = [f"film {n} of {n % 7} and {n % 11}" for n in range(2_000)]
        titles += [f"{name} {n} times {n % 13}" for n, name in enumerate(NAMES)]
        assert ids_in_items(NAMES, titles) == ("", 120, 120)


class TestItSays:
    def test_an_unknown_number_of_ids(self, tmp_path, capsys):
        long = [f"user{n:04d}@example.org" for n in range(60)]
        ratings = table([*NAMES[:60], *long], lambda item: f"{NAMES[item]} {item}")
        ANONYMIZER.anonymize(ratings).write(tmp_path / "out")
        with pytest.raises(SystemExit) as stop:
            main(["verify", str(tmp_path / "out"), "--private", str(tmp_path / "out.private")])
        assert not stop.value.code
        said = " ".join(capsys.readouterr().out.split())
        n_matched = sum(name in " ".join(ratings.items) for name in NAMES[:60])
        result = "60 are short, words or numbers, and may occur in item ids by chance"
        assert f"{result}: {n_matched} do" in said

    def test_addresses_are_distinguished_from_numbers(self):
        user_ids = ["ann.b_7@example.org", 480_310_000_000_017, 7, "ann"]
        assert ids_in_items(user_ids, [1, 7, 480_310_000_000_017]) == ("", 3, 2)

    def test_nothing_where_items_are_hidden(self):
        assert ids_in_items(NAMES, [f"i4773-{n:02d}" for n in range(30)]) == ("", 0, 0)


def simplest(values, labels):
    """Each value against each run of words of each label."""
    found = set()
    for value in map(str, values):
        own = list(words_of(value))
        for label in labels:
            words = list(words_of(label))
            runs = [words[at : at + len(own)] for at in range(len(words))]
            if value == label or (own and own in runs):
                found.add(value)
    return found


text = st.text(alphabet="ab1_ -é", max_size=6)


@given(st.lists(text), st.lists(text))
def test_words_are_met_as_the_simplest_way_meets_them(values, labels):
    assert match_words(values, labels) == simplest(values, labels)


def test_rows_of_likes_inside_an_item_id_are_found():
    users, items = ["u1", "u2"], ["Heat", "Heroes", "u2,Heat"]
    assert "contain rows" in ids_in_items(users, items, is_unrated=True).problem
    assert "contain rows" not in ids_in_items(users, items).problem


@pytest.mark.parametrize("between", ["\n", "\t", ",", ";", "|", "::", "\\n", "^", " / "])
def test_original_rows_inside_an_item_id_are_found(between):
    users, items = ["u1", "u2"], ["Heat", "Heroes"]
    swallowed = between.join(["Alien", "5", "u2", "Heat", "3"])
    assert "contain rows" in ids_in_items(users, [*items, swallowed]).problem
    assert not ids_in_items(users, [*items, between.join(["Alien", "5", "x", "Heat", "3"])]).problem


def test_item_ids_with_line_breaks_are_counted():
    (found,) = line_breaks_in_items(["Heat", "a\nb", "a\rc", 7], "ratings.csv")
    assert (found.where, found.problem.split(" ")[0]) == ("ratings.csv", "2")
    assert not [*line_breaks_in_items(["Heat", 7], "ratings.csv")]


@pytest.mark.parametrize("label", [r"i7\tu2", "i7%0Au2", "i7_x0009_u2", r"i7\nu2"])
def test_a_short_user_id_next_to_an_escape_is_met(label):
    assert ids_in_items(["u2", "u3"], [label, "i8"])[1:] == (2, 1)


CODED = [f"U{n}" for n in range(1, 200)]


class TestItemTables:
    @pytest.mark.parametrize(
        ("users", "name", "cells"),
        [
            (CODED, "U7", [""]),
            (CODED, "stars of u7", [""]),
            (["ann", "ben", "title"], "ann", [""]),
            ([1, 2, 3], "2", [""]),
            (CODED, "note", ["Heat", "Alien", "U7"]),
            (CODED, "note", ["Heat|U7", "Alien", "U 571"]),
            (["anna", "ben"], "note", ["", "anna"]),
            (SPARSE.tolist(), "note", [*map(str, SPARSE[:3]), ""]),
            (SPARSE.tolist(), "note", [f"{SPARSE[0]}|{SPARSE[1]};{SPARSE[2]}", "7"]),
        ],
    )
    def test_users_are_found(self, users, name, cells):
        assert columns_with_users(users, {"year": ["1999"], name: cells}) == [name]

    @pytest.mark.parametrize(
        ("users", "cells"),
        [
            # Years and prices are numbers of users where most numbers are.
            (range(1, 6_041), [str(year) for year in range(1_922, 1_999)]),
            (range(0, 6_041, 5), [str(price) for price in range(5, 100, 5)]),
            ([n for n in range(1, 6_041) if n % 3], [str(year) for year in range(1_922, 1_999)]),
            # Codes of items of which a few are codes of users, and a title that is a name.
            (CODED, [f"U{n}" for n in range(150, 900)]),
            (["matrix99", "se7en", "anna", "drama"], ["se7en", "Heat", "Alien", "Ran", "drama"]),
            (SPARSE.tolist(), [str(SPARSE[0]), "7"]),
        ],
    )
    def test_public_columns_are_not(self, users, cells):
        assert columns_with_users(list(users), {"year": cells, "title": ["Heat"]}) == []

    @given(st.integers(0, 10**6), st.floats(0.05, 1))
    def test_random_numbers_are_not(self, seed, density):
        """Of numbers that are users' as often as those next to them."""
        rng = np.random.default_rng(seed)
        users = np.flatnonzero(rng.random(3_000) < density)
        cells = rng.choice(3_000, 30, replace=False).astype(str).tolist()
        if users.size > 1:
            assert columns_with_users(users.tolist(), {"price": cells}) == []
