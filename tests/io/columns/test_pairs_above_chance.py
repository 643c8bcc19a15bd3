"""Users and items that they rated within item ids, and honest ids with such words by chance."""

import random

import numpy as np
import pytest

from error_assertions import raises
from recveil import Ratings, anonymize
from recveil.io.columns import original_rows
from recveil.io.columns.pairs_above_chance import find_pairs_above_chance
from recveil.methods import KCoRater
from recveil.ratings.sorted_rows import Rows
from recveil.verification import rater_ids, verify

NAMES = [f"{first}{last}" for first in ("an", "be", "ca", "do", "eva") for last in "abdefgkl"]
USERS = {
    "names": NAMES,
    "full names": [f"{name.title()} Mayer" for name in NAMES],
    "codes": [f"user{at:03d}" for at in range(40)],
    "numbers": [str(1001 + at) for at in range(40)],
}
CODES = [f"i{at}" for at in range(12)]
TITLES = ["Titanic", "Heat", "Alien", "Casablanca", "The Matrix", "Up", "Jaws", "Fargo"]
TITLES += ["Brazil", "Psycho", "Vertigo", "Amelie"]


def _table(users, items, share=0.7):
    draw = random.Random(4)
    cells = {(u, i): draw.randint(1, 5) for u in users for i in items if draw.random() < share}
    return cells | {(users[20], items[3]): 5}


def _find(cells):
    users, items = ([*dict.fromkeys(cell[at] for cell in cells)] for at in (0, 1))
    codes = sorted((users.index(u), items.index(i), value) for (u, i), value in cells.items())
    user, item, value = np.array(codes).T
    indptr = np.searchsorted(user, np.arange(len(users) + 1))
    rows = Rows(indptr, item.astype(np.int32), value.astype(np.float32), None)
    return [items[at] for at in find_pairs_above_chance(users, items, lambda: rows)]


def test_by_hand_a_number_of_four_digits_is_a_user_who_rated_the_item_by_chance():
    """40 of the 9,000 numbers of four digits are users, and half of these rated each item.

    A number next to an item is a row in 40 / 9,000 * 1 / 2 = 0.22 % of all ids: one id is no chance
    (less than 1 %), and one of ten ids is (2.2 %).
    """
    cells = {
        (str(1001 + user), f"i{item}"): 3
        for user in range(40)
        for item in range(10)
        if (user + item) % 2
    }
    cells["1002", "i1"] = cells.pop(("1002", "i0"))
    cells["1005", "of 1002 i2"] = 3
    cells["1002", "i2"] = 3
    assert _find(cells) == ["of 1002 i2"]
    others = {("1005", f"of {3000 + at} i{at % 10}"): 3 for at in range(9)}
    assert _find(cells | others) == []


FORMS = [
    "{} {} 5",
    "{}: {} 5",
    "{} - {} - 5",
    "{} {} (5)",
    "{} {} 5 2020-01-02",
    "2020-01-02 {} {}",
]
FORMS += ["{} {} five", "{} gave {} a 5", "{}^I{}^I5"]


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("items", [CODES, TITLES], ids=["codes", "titles"])
@pytest.mark.parametrize("form", FORMS)
def test_a_single_row_within_an_id_is_found(users, items, form):
    users = USERS[users]
    row = form.format(users[20], items[3])
    cells = _table(users, items) | {(users[at], row): 3 for at in range(2, 8)}
    assert _find(cells) == [row]


@pytest.mark.parametrize(
    "form", ["{0} {1}", "{1}/{0}", "{1}({0})", "{1}@{0}", "#{0} {1}", "{1}-{0}"]
)
@pytest.mark.parametrize("users", ["full names", "codes", "numbers"])
def test_a_like_within_an_id_is_found(users, form):
    users = USERS[users]
    row = form.format(users[20], CODES[3])
    cells = _table(users, CODES) | {(users[at], row): 3 for at in range(2, 8)}
    assert _find(cells) == [row]


def test_a_row_that_is_in_the_table_no_more_is_found():
    cells = _table(NAMES, CODES)
    del cells[NAMES[20], "i3"]
    row = f"{NAMES[20]} i3 5"
    assert _find(cells | {(NAMES[2], row): 3}) == [row]


WORDS = [
    "man",
    "red",
    "blue",
    "rose",
    "ruby",
    "the",
    "last",
    "night",
    "day",
    "king",
    "queen",
    "love",
    "war",
    "dark",
    "star",
    "city",
    "house",
]
TOWNS = [
    "river",
    "road",
    "stone",
    "gold",
    "silver",
    "lost",
    "ghost",
    "moon",
    "sun",
    "fire",
    "ice",
    "rain",
    "storm",
    "wolf",
    "bear",
]
HONEST = {
    "titles": lambda draw: " ".join(draw.sample(WORDS + TOWNS, draw.randint(1, 4))),
    "sequels": lambda draw: f"{draw.choice(TOWNS)} {draw.choice(['', 2, 3, 4])}".strip(),
    "article codes": lambda draw: f"{draw.randint(10_000, 10_020)}-{draw.randint(1, 9)}-38",
    "variants": lambda draw: draw.choice(["A{}", "A{}-{}"]).format(
        draw.randint(1, 9), draw.randint(1001, 1090)
    ),
    "products": lambda draw: draw.choice(["{1}{2}", "{0} {1}{2}", "{0} {1}{2} {3}"]).format(
        draw.choice(WORDS + TOWNS), draw.choice("ASX"), draw.randint(1, 9), draw.choice([64, 128])
    ),
    "bundles": lambda draw: draw.choice(["i{}", "i{} and i{}"]).format(
        draw.randint(1, 30), draw.randint(1, 30)
    ),
}


@pytest.mark.parametrize(
    "users", [WORDS, [*map(str, range(1, 31))], USERS["numbers"], ["and", "of"]]
)
@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_words_of_honest_ids_are_users_by_chance(users, kind, share):
    for seed in range(10):
        draw = random.Random(f"{kind} {seed}")
        items = [*dict.fromkeys(HONEST[kind](draw) for _ in range(80))]
        cells = {(u, i): 3 for u in users for i in items if draw.random() < share}
        assert _find(cells) == []


@pytest.mark.parametrize("n_digits", [3, 4, 6])
@pytest.mark.parametrize("form", ["{0} by {1} of {2}", "{1}-{2}-4", "{2} / {1}", "{0}_{1}_{2}"])
@pytest.mark.parametrize("items", [CODES, [*map(str, range(1, 61))]], ids=["codes", "numbers"])
def test_users_of_swallowed_rows_are_never_in_the_gaps_between_numbers(n_digits, form, items):
    """One in three numbers is a user, or fewer: 20 numbers that all are have a chance of 3e-10."""
    draw = random.Random(f"{n_digits} {form}")
    first = 10 ** (n_digits - 1)
    users = sorted(draw.sample(range(first, 3 * first), 60))
    cells = {(str(u), i): 3 for u in users for i in items if draw.random() < 0.3}
    honest, rows = [], []
    for user in draw.sample(users, 25):
        one, other = draw.sample(items, 2)
        rows.append(form.format(one, user, other))
        honest.append(form.format(one, draw.randrange(first, 3 * first), other))
    for labels in rows, honest:
        found = _find(cells | {(str(users[at]), label): 3 for at, label in enumerate(labels)})
        assert len(found) > 20 if labels is rows else found == []


LIKED = ["Titanic", "Heat", "Alien", "Casablanca", "Matrix", "Up", "Jaws", "Fargo", "Mad Monday"]
LIKED += [
    f"{a}{b}" for a in ("Over", "Under", "Out", "In", "Dead") for b in ("land", "side", "line")
]
LIKED += [f"{a} {b}" for a in ("Big", "Lost", "Blue") for b in ("River", "Stone", "Wolf", "Moon")]


@pytest.mark.parametrize("form", ["{}-{}", "{1} {0}", "{}: {}"])
def test_a_name_and_a_title_alone_are_a_like_if_no_other_word_is_next_to_a_title(form):
    draw = random.Random(form)
    cells = {(u, i): 1 for u in NAMES for i in LIKED if u == NAMES[0] or draw.random() < 0.1}
    cells[NAMES[20], "Casablanca"] = 1
    row = form.format(NAMES[20], "Casablanca")
    assert _find(cells | {(NAMES[2], row): 1}) == [row]
    others = {(NAMES[3], "Heat Wave"): 1, (NAMES[4], "Alien Nation"): 1}
    assert _find(cells | others | {(NAMES[2], row): 1}) == []
    del cells[NAMES[20], "Casablanca"]
    assert _find(cells | {(NAMES[2], row): 1}) == []
    rows = [form.format(NAMES[at], LIKED[at]) for at in range(5)]
    assert _find(cells | {(NAMES[2], row): 1 for row in rows}) == rows


def test_a_table_of_such_an_id_is_neither_read_nor_published(tmp_path, monkeypatch):
    users = USERS["full names"]
    cells = _table(users, CODES) | {(users[at], f"{users[20]} i3 5"): 3 for at in range(2, 8)}
    columns = [*zip(*((*cell, value) for cell, value in cells.items()), strict=True)]
    columns = [[*column] for column in columns]
    with raises("id.row-within"):
        Ratings.from_columns(*columns, scale="1:5:1")
    find, nothing = rater_ids.find_rows_above_chance, lambda *_: []
    monkeypatch.setattr(original_rows, "find_rows_above_chance", nothing)
    release = KCoRater(2, seed=1).anonymize(Ratings.from_columns(*columns, scale="1:5:1"))
    with raises("release.refused"):
        release.write(tmp_path / "out")
    monkeypatch.setattr(rater_ids, "find_rows_above_chance", nothing)
    where = "recveil.verification.release_folder.find_rows_above_chance"
    monkeypatch.setattr(where, nothing)
    release.write(tmp_path / "out")
    monkeypatch.setattr(where, find)
    assert verify(tmp_path / "out", private=tmp_path / "out.private").private_found


def test_verification_of_sparse_rows_finds_users_of_swallowed_rows(tmp_path, monkeypatch):
    """Sparse rows have none of the table's pairs; numbers of users are enough."""
    draw = random.Random(5)
    users = [*map(str, draw.sample(range(1000, 3000), 60))]
    items = [*map(str, range(1, 31))]
    labels = [f"{draw.choice(items)} by {user} of {draw.choice(items)}" for user in users[:25]]
    cells = [(u, i, draw.randint(1, 5)) for u in users for i in items if draw.random() < 0.2]
    cells += [(u, i, draw.randint(1, 5)) for u in users for i in labels if draw.random() < 0.8]
    columns = [[*column] for column in zip(*cells, strict=True)]
    with raises("id.row-within"):
        Ratings.from_columns(*columns, scale="1:5:1")
    with monkeypatch.context() as context:
        context.setattr(original_rows, "find_rows_above_chance", lambda *_: [])
        context.setattr(original_rows, "find_repeated_rows", lambda *_: [])
        ratings = Ratings.from_columns(*columns, scale="1:5:1")
        for where in ("rater_ids", "release_folder"):
            name = f"recveil.verification.{where}.find_rows_above_chance"
            context.setattr(name, lambda *_: [])
        anonymize(ratings, k=5, method="sparse", seed=1).write(tmp_path / "out")
    found = verify(tmp_path / "out", private=tmp_path / "out.private").private_found
    assert "rows of the original table" in found[0]
