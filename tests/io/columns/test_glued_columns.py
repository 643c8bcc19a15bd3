"""Rows within an id whose line breaks were dropped, with any sign between their fields."""

import random
import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.io.columns.glued_rows import GluedColumns
from recveil.io.columns.rows_within_ids import find_rows_within

SIGNS = [*"^#\u2192&=-~\u00a6_:+*$/\u00b7", "%2C", "\\t"]
NAMES = ["anna", "ben", "carla", "doraotto", "emil", "fritz", "gina", "hansuta"]
USERS = {
    "numbers": [str(1234567 + 37 * n) for n in range(40)],
    "from 1001": [str(1001 + n) for n in range(40)],
    "numbered": [f"u{n}" for n in range(1, 41)],
    "names": NAMES,
    "addresses": [f"{name}{n}@x.org" for n, name in enumerate(NAMES)],
    "hexadecimal": [random.Random(n).randbytes(4).hex() for n in range(40)],
}
ITEMS = {
    "titles": ["Heat", "Alien", "Jaws", "The Sting", "Up", "Fargo", "Big Fish", "Toy Story"],
    "numbers": [str(n) for n in range(1, 90)],
    "codes": [f"B0{random.Random(n).randbytes(4).hex().upper()}" for n in range(9)],
    "years": ["Heat, 1995", "Alien, 1979", "Jaws, 1975", "Fargo, 1996", "Big Fish, 2003"],
}


def _glue(rows, order, sign, end=""):
    """Return rows as one item id, from the first one's item on."""
    lines = [[row[column] for column in order] for row in rows]
    lines[0] = lines[0][order.index("i") :]
    return end.join(sign.join(line) for line in lines)


def _rows(users, items, n, draw):
    return [
        {
            "u": draw.choice(users),
            "i": draw.choice(items),
            "r": str(draw.randint(1, 5)),
            "t": str(draw.randint(978_300_000, 979_300_000)),
        }
        for n in range(n)
    ]


def _found(label, users, items, order):
    ids = [*items, label]
    return find_rows_within(ids, users, ids, is_unrated="r" not in order)


@pytest.mark.parametrize("order", ["uir", "iur", "uirt", "ui", "uit", "rui"])
@pytest.mark.parametrize("sign", SIGNS, ids=ascii)
def test_glued_rows_are_found_whatever_separates_their_fields(sign, order):
    missed = []
    for user, item in product(USERS, ITEMS):
        draw = random.Random(f"{sign} {order} {user} {item}")
        label = _glue(_rows(USERS[user], ITEMS[item], 6, draw), order, sign)
        if not _found(label, USERS[user], ITEMS[item], order):
            missed.append((user, item, label))
    assert missed == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_glued_rows_of_random_tables_are_found(data):
    users = USERS[data.draw(st.sampled_from(["numbers", "names", "addresses", "hexadecimal"]))]
    items = ITEMS[data.draw(st.sampled_from(sorted(ITEMS)))]
    order, sign = (data.draw(st.sampled_from(each)) for each in (["uir", "ui", "uirt"], SIGNS))
    draw = random.Random(data.draw(st.integers(0, 2**32)))
    label = _glue(_rows(users, items, draw.randint(4, 20), draw), order, sign)
    assert _found(label, users, items, order), label


@pytest.mark.parametrize("end", ["\u2424", " / ", "<br>", "$"], ids=ascii)
def test_another_sign_may_replace_the_line_breaks(end):
    rows = _rows(USERS["names"], ITEMS["titles"], 6, random.Random(3))
    label = _glue(rows, "uit", "-", end)
    ids = [*ITEMS["titles"], label]
    assert find_rows_within(ids, USERS["names"], ids, is_unrated=True) == [8]


HONEST = [
    *("sku1-12-sku2-34-sku3-52", "Heat-13-Alien-4-Up-2", "Heat#1003#Up", "Heat/Alien/Up/Jaws"),
    *("1203-4410-2388-1203", "978-3-16-148410-0", "2019-04-12-12-30-45", "10x20x30x40", "a-b-c-d"),
    *("sku1-3x-sku2-2x-sku1-4x", "sku1-10cm-sku2-20cm-sku3-30cm", "Heat=3&Alien=4&Up=5"),
    *("user-123", "user-12-34-56", "Bob & Ted & Alice", "3cm-4cm-5cm", "Heat & Up & Alien 1003"),
]


@pytest.mark.parametrize(
    "users", [range(1, 301), range(1001, 1041), ["x", "cm", "Bob", "Ted"], ["user-123", "user-12"]]
)
@pytest.mark.parametrize("label", HONEST)
def test_lists_of_items_with_numbers_and_units_are_no_rows(label, users):
    items = ["Heat", "Alien", "Up", "sku1", "sku2", "sku3", *map(str, range(1, 60)), "1203", "4410"]
    for is_unrated in (False, True):
        search = GluedColumns.among(users, [*items, label], is_unrated=is_unrated)
        assert not search.finds(label)


def test_a_long_id_takes_no_time():
    search = GluedColumns.among(USERS["numbers"], ITEMS["titles"], is_unrated=False)
    began = time.process_time()
    for label in ("1" * 300_000, "#".join(["1" * 240] * 400), "#".join(["Heat", "4"] * 50_000)):
        assert not search.finds(label)
    assert time.process_time() - began < 5
