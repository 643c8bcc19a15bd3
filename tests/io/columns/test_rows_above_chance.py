"""Rows of other users within many item ids, and honest ids whose numbers are rows by chance."""

import random

import numpy as np
import pytest

from error_assertions import raises
from recveil import Ratings
from recveil.io.columns.rows_above_chance import find_rows_above_chance
from recveil.methods import KCoRater
from recveil.ratings.sorted_rows import Rows
from recveil.verification import rater_ids, verify


def _rows(cells):
    """Return the sorted ids of users and items, and their ratings."""
    users, items = (sorted({cell[at] for cell in cells}) for at in (0, 1))
    codes = sorted((users.index(u), items.index(i), value) for (u, i), value in cells.items())
    user, item, value = np.array(codes).T
    indptr = np.searchsorted(user, np.arange(len(users) + 1))
    return users, items, Rows(indptr, item.astype(np.int32), value.astype(np.float32), None)


def _find(cells, classes=()):
    users, items, rows = _rows(cells)
    return [items[at] for at in find_rows_above_chance(users, items, lambda: rows, classes)]


def _ratings(draw, users, items, share=0.15):
    return {(u, i): draw.randint(1, 5) for u in users for i in items if draw.random() < share}


def _swallow(draw, cells, n, form):
    """Let the ids of some cells contain another one."""
    hosts = draw.sample(sorted(cells), n)
    others = sorted(cells.keys() - {*hosts})
    for user, item in hosts:
        other = draw.choice(others)
        cells[user, form(item, *other, cells[other])] = cells.pop((user, item))
    return cells


def test_by_hand_five_rows_of_sixty_cells_each_are_no_chance():
    """Each of 60 users rated one of 60 items: a pair is a row once in 60 times.

    All five pairs are rows: 60 ** -5 is 1.3e-9. Of three groups of pairs (by their distance, and by
    what separates them), chance has so many in one of 2.6e8 tables, less than 1e-6. Of three pairs,
    chance has 60 ** -3 = 4.6e-6.
    """
    rated = [7 * n % 60 for n in range(60)]
    for n_ids, n_found in ((5, 5), (3, 0)):
        ids = [str(100 + n) for n in range(60)]
        for n in range(1, 1 + n_ids):
            ids[n] = f"{100 + n} by {1000 + n} of {100 + rated[n]}"
        cells = {(str(1000 + n), ids[at]): 3 for n, at in enumerate(rated)}
        assert len(_find(cells)) == n_found


def test_users_of_one_class_are_one_observation():
    """Their rows are the same, so that one chance explains all their pairs with an item."""
    cells = {(str(100 + n), str(7 * n % 60)): 3 for n in range(600)}
    for n in range(0, 600, 30):
        cells[str(100 + n), f"90{n} {100 + n} {7 * n % 60}"] = 3
    assert len(_find(cells)) > 5
    assert _find(cells, [n % 60 for n in range(600)]) == []


FORMS = [
    lambda i, u, o, v: f"{i} user {u} item {o}",
    lambda i, u, o, v: f"{i}_{u}_{o}_{v:.0f}",
    lambda i, u, o, v: f"{i} {v:.0f}.0/{o}/{u}",
    lambda i, u, o, v: f"{i}%7C{u}%7C{o}%7C{v}",
    lambda i, u, o, v: f"{i}-{u:0>8}-{o:0>4}",
]


@pytest.mark.parametrize("n_digits", range(2, 8))
@pytest.mark.parametrize("form", range(len(FORMS)))
@pytest.mark.parametrize("n", [25, 120])
def test_rows_within_many_ids_are_found(n_digits, form, n):
    draw = random.Random(f"{n_digits} {form} {n}")
    first = 10 ** (n_digits - 1)
    users = [str(first + at * 9 * first // 90) for at in range(90)]
    cells = _ratings(draw, users, [*map(str, range(1, 101))])
    swallowed = {i for _, i in _swallow(draw, cells, n, FORMS[form]) if not i.isdigit()}
    found = {*_find(cells)}
    assert found <= swallowed
    assert len(found) > 0.8 * len(swallowed)


HONEST = {
    "codes": lambda draw, at: f"{draw.randint(10, 40)}-{draw.randint(1000, 2999)}-{at}",
    "two numbers": lambda draw, at: f"{draw.randint(1, 60)}-{draw.randint(1, 60)}",
    "catalog": lambda draw, at: f"{at} user {draw.randint(1, 99)} item {draw.randint(1, 99)}",
    "dates": lambda draw, at: f"20{at % 20:02}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}",
    "isbns": lambda draw, at: f"978-{draw.randint(0, 9)}-{draw.randint(10, 99)}-{at}-1",
    "sizes": lambda draw, at: f"{draw.randint(1, 60) * 5}x{draw.randint(1, 60) * 5}x{at % 20}",
    "grid": lambda draw, at: f"{at // 9},{at % 9}",
    "next": lambda draw, at: f"{at}-{at + 1}",
    "bundles": lambda draw, at: "+".join(str(draw.randint(1, 80)) for _ in range(at % 4 + 1)),
}


@pytest.mark.parametrize("first", [1, 10, 1001])
@pytest.mark.parametrize("has_band", [False, True])
@pytest.mark.parametrize("kind", HONEST)
def test_numbers_of_honest_ids_are_rows_by_chance(kind, has_band, first):
    """A band: users rated items that are about as old as they are, and ids follow in time."""
    draw = random.Random(f"{kind} {has_band} {first}")
    users = [str(first + at) for at in range(80)]
    ids = [*dict.fromkeys(HONEST[kind](draw, at) for at in range(1, 81))]
    items = [*map(str, range(1, 81)), *ids]
    cells = _ratings(draw, users, items, 0.4)
    if has_band:
        near = {(u, i) for a, u in enumerate(users) for b, i in enumerate(items) if abs(a - b) < 6}
        cells = {cell: value for cell, value in cells.items() if cell in near or cell[1] in ids}
    assert _find(cells) == []


def _swallowed_table():
    draw = random.Random(3)
    cells = _ratings(draw, [*map(str, range(1, 61))], [*map(str, range(1, 101))], 0.1)
    cells = _swallow(draw, cells, 60, lambda i, u, o, v: f"{i} by {u} of {o}")
    return [
        [*column] for column in zip(*((*cell, value) for cell, value in cells.items()), strict=True)
    ]


def test_a_table_of_such_ids_is_refused_with_the_line(tmp_path):
    columns = _swallowed_table()
    with raises("id.row-within"):
        Ratings.from_columns(*columns, scale="1:5:1")


def test_such_ids_are_neither_published_nor_pass_verification(tmp_path, monkeypatch):
    def find_nothing(*args):
        return []

    monkeypatch.setattr("recveil.io.columns.original_rows.find_rows_above_chance", find_nothing)
    ratings = Ratings.from_columns(*_swallowed_table(), scale="1:5:1")
    release = KCoRater(2, seed=1).anonymize(ratings)
    with raises("release.refused"):
        release.write(tmp_path / "out")
    monkeypatch.setattr(rater_ids, "find_rows_above_chance", find_nothing)
    with monkeypatch.context() as context:
        where = "recveil.verification.release_folder.find_rows_above_chance"
        context.setattr(where, find_nothing)
        release.write(tmp_path / "out")
    assert (
        "rows of the original table"
        in verify(tmp_path / "out", private=tmp_path / "out.private").private_found[0]
    )


@pytest.mark.parametrize("item", ["{}", "Title {}", "{}-2-38"])
def test_the_table_is_read_only_if_there_are_pairs(item):
    def read():
        raise AssertionError

    items = [item.format(at) for at in range(50, 90)]
    assert find_rows_above_chance(range(500, 600), items, read) == []
