"""Ids that may be one user, or none, are reported, and never merged."""

import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from recveil.inspection import inspect
from recveil.io import understand
from recveil.io.columns.ids import (
    describe_alike_ids,
    describe_lost_digits,
    describe_null_ids,
    describe_rounded,
)
from recveil.ratings import RatingScale

NFC, NFD = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize("other", ["101.0", "0101", " 101", "101\t", "101.00"])
def test_two_spellings_of_a_number(tmp_path, other):
    path = tmp_path / "plays.csv"
    path.write_text(f"user,item,rating\n101,1,4\n{other},2,3\n7,1,2\n")
    reading = understand(path)
    assert reading.ratings.n_users == 3
    (note,) = (note for note in reading.notes if "3 users may be 2: " in note)
    assert "'101'" in note
    assert note in inspect(path).reading.notes


def test_parts_and_columns_of_several_types(tmp_path):
    (tmp_path / "h").mkdir()
    for at, rows in enumerate(("101,1,4\n7,2,5\n", "101.0,3,4\n7.0,4,5\n")):
        (tmp_path / "h" / f"part-{at}.csv").write_text(f"user,item,rating\n{rows}")
    assert any("4 users may be 2: " in note for note in understand(tmp_path / "h").notes)


def test_alike_users_are_kept_apart_from_notes_on_items(tmp_path):
    path = tmp_path / "plays.csv"
    path.write_text("user,item,rating\nUser 12,Tea,4\nuser 12,tea,3\n12 ,Tea,2\n12,tea,5\n")
    reading = understand(path)
    assert [note.split(":")[0] for note in reading.alike_users] == [
        "4 users may be 3",
        "3 users may be 2",
    ]
    assert any("2 items may be 1" in note for note in reading.notes)
    assert reading.to_dict()["alike_users"] == list(reading.alike_users)


def test_items_and_letters_of_two_codes():
    result = describe_alike_ids(np.array([NFC, NFD, "tea"], object), "item")
    assert result[0].startswith("3 items may be 2: ")


@pytest.mark.parametrize(
    "labels",
    [
        *([7, 12], ["101", "1010", "1.5", "1.50"], ["-7", "7"], ["a01", "a1"]),
        *(["1,5", "15", "1 50", "150", "1,0001", "10001"], ["a-b", "ab", "a b", "a_b", "a'b"]),
        *(["R&D", "R&B", "100%", "100"], ["A+", "A"], ["=1", "1"], ["{7}", "7"]),
    ],
)
def test_what_differs_is_no_note(labels):
    given = np.array(labels, None if isinstance(labels[0], int) else object)
    assert describe_alike_ids(given, "user") == []


@pytest.mark.parametrize(
    "other", ["ann\u200b", "\ufeffann", "a\u00adnn", "a\u200dnn", "Ann", "ANN"]
)
def test_ids_that_look_alike_are_reported_for_users_and_items(tmp_path, other):
    path = tmp_path / "plays.csv"
    path.write_text(f"user,item,rating\nann,1,4\n{other},2,3\nben,1,2\n", "utf-8")
    reading = understand(path)
    assert reading.ratings.n_users == 3
    (note,) = (note for note in reading.notes if "3 users may be 2: " in note)
    assert repr(other) in note
    assert note in inspect(path).reading.notes
    assert len(describe_alike_ids(np.array(["ann", other], object), "item")) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("ann", "\u0430nn"), ("BETA", "\u0392\u0395\u03a4\u0391"), ("TOP", "\u0422\u041e\u0420")),
        *(
            ("ann 7", "ann \uff17"),
            ("\u0410\u0392", "AB"),
            ("\u041e", "\u039f"),
            (NFC, "caf\u0435\u0301"),
        ),
    ],
)
def test_ids_that_look_alike_in_letters_of_two_scripts_are_reported(tmp_path, one, other):
    path = tmp_path / "plays.csv"
    path.write_text(f"user,item,rating\n{one},1,4\n{other},2,3\nben,1,2\n", "utf-8")
    reading = understand(path)
    assert reading.ratings.n_users == 3
    (note,) = (note for note in reading.notes if "3 users may be 2: " in note)
    assert ascii(one) in note
    assert ascii(other) in note
    assert len(describe_alike_ids(np.array([one, other], object), "item")) == 1
    assert describe_alike_ids(np.array([other, "ben"], object), "user") == []


UUID = "e3e70682-c209-4cac-a29f-6fbed82c07cd"
NOTATIONS = [
    *((UUID, UUID.replace("-", "")), (UUID, f"{{{UUID}}}"), (UUID, f"urn:uuid:{UUID}")),
    *((UUID, UUID.upper()), (UUID, f"{{{UUID.replace('-', '').upper()}}}")),
    *(("1001", other) for other in ('="1001"', "'1001", '"1001"', "b'1001'", 'b"1001"', "+1001")),
    *(("1001", f"1{sign}001") for sign in (*",. '_", "\u00a0", "\u202f", "\u2019")),
    *(("1001", other) for other in ("\u0661\u0660\u0660\u0661", '1001"', '"1001')),
    *(("a&b", "a&amp;b"), ("a@b.org", "a%40b.org"), ("a@b.org", "mailto:a@b.org")),
    *(("ann b", "ann  b"), ("ann b", "ann\u00a0b"), ("i2", '"i2'), ("o'neil", "o\u2019neil")),
    *(("ann-1", f"ann{dash}1") for dash in ("\u2010", "\u2013", "\u2212")),
]


@pytest.mark.parametrize(("one", "other"), NOTATIONS)
@pytest.mark.parametrize("role", ["user", "item"])
def test_ids_in_two_notations_are_reported(tmp_path, one, other, role):
    ids = {"user": "ann", "item": "i1"} | {role: one}
    rows = [ids, ids | {role: other}, {"user": "ben", "item": "i7"}]
    table = pa.Table.from_pylist([{**row, "rating": at + 1} for at, row in enumerate(rows)])
    notes = understand(table).notes
    assert len([note for note in notes if f"3 {role}s may be 2: " in note]) == 1


def test_blanks_are_kept_in_ids_and_reported(tmp_path):
    path = tmp_path / "plays.csv"
    path.write_text("user, item, rating\n1, a, 4\n1, b, 2\n2, a, 3\n")
    reading = understand(path)
    assert list(reading.ratings.items) == [" a", " b"]
    assert [note for note in reading.notes if note.startswith("2 of 2 items begin or end")]
    assert not any("users begin or end" in note for note in reading.notes)


def test_what_programs_write_for_nothing(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\nNA,1,4\nnan,2,3\nann,2,4\nnull,1,5\n")
    (note,) = (note for note in understand(path).notes if "may mean a missing value" in note)
    assert note.startswith("'NA', 'nan', 'null' among the users")
    assert describe_null_ids(["nancy", "nation"], "user") == []


@pytest.mark.parametrize("text", ["\\N", "[null]", "(blank)", "-", "?", "#REF!", " #VALUE! "])
def test_what_exports_and_spreadsheets_write_for_nothing(text):
    assert len(describe_null_ids([text, "ann"], "user")) == 1
    assert describe_null_ids([f"a{text}", "Who?", "N"], "item") == []


def test_words_that_look_like_one_or_none():
    rows = {"user": [1, 2, 3], "item": [1, 1, 1], "rating": [NFC, NFD, "NA"]}
    notes = understand(pa.table(rows), words="all").notes
    assert any("the code of a letter, and were" in note for note in notes)
    assert any(note.startswith("'NA' among the labels") for note in notes)
    named = RatingScale.of_labels("up,down", ordered=False)
    rows["rating"] = ["up", "down", "up"]
    assert not understand(pa.table(rows), scale=named).notes


@pytest.mark.parametrize("total", ["Total", "total:", "Grand total", "SUM", "Average", "rows"])
def test_a_line_of_totals_is_reported_for_users_and_items(tmp_path, total):
    path = tmp_path / "ratings.csv"
    rows = "user,item,rating\nann,7,4\nben,8,2\n"
    path.write_text(f"{rows}{total},{total},6\n")
    notes = [note for note in understand(path).notes if "line of totals" in note]
    assert [
        f"among the {role}s" in note for role, note in zip(("user", "item"), notes, strict=True)
    ]
    path.write_text(rows)
    assert not any("totals" in note for note in understand(path).notes)


@pytest.mark.parametrize("written", ["1.23457E+15", "1,23457E+15", "1e+15", "4.0E+08"])
def test_ids_that_a_spreadsheet_rounded_are_reported(tmp_path, written):
    rows = [f'"{written}",i1,4', "1002,i2,5", "1002,i1,1"]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating", *rows]))
    notes = " ".join(understand(tmp_path / "r.csv").notes)
    assert f"looks like a rounded number, such as {written!r}" in notes
    assert "format the column as text" in notes


def test_ids_that_are_no_numbers_are_not_rounded():
    labels = np.array(["1E15", "12E+4", "E+15", "3e+1x"], object)
    assert describe_rounded(labels, "item") == []


DRAW = random.Random(8)
LONG = [10**18 + 1_234_567 * n for n in range(99)]
LONG += [DRAW.randrange(10**17, 9 * 10**18) for _ in range(99)]
SNOWFLAKES = [DRAW.randrange(10**10, 10**12) << 22 | DRAW.randrange(32) << 12 for _ in range(99)]


@pytest.mark.parametrize(
    "rounded",
    [
        lambda number: int(float(number)),
        lambda number: int(Decimal(repr(float(number)))),
        lambda number: int(f"{number:.14e}".replace(".", "")[:15]) * 10 ** (len(str(number)) - 15),
    ],
    ids=["float", "JavaScript", "spreadsheet"],
)
def test_long_ids_that_lost_their_last_digits_are_noted(tmp_path, rounded):
    users = [*map(rounded, LONG)]
    rows = "\n".join(f"{user},{n},{1 + n % 5}" for n, user in enumerate(users))
    (tmp_path / "r.csv").write_text(f"user,item,rating\n{rows}\n")
    assert describe_lost_digits(np.unique(users), "user")
    assert any("may have been merged" in note for note in understand(tmp_path / "r.csv").notes)


@pytest.mark.parametrize(
    "ids",
    [
        LONG,
        SNOWFLAKES,
        [number << 22 for number in LONG[:50]],
        [10**17 + n for n in range(999)],
        [10**16 + 2 * n for n in range(999)],
        [2_000_000 * n + 10**17 for n in range(99)],
        [10**14 + 10 * n for n in range(99)],
        [int(float(number)) for number in LONG[:3]],
        ["ann", *map(str, LONG[:9])],
    ],
)
def test_long_ids_with_all_digits_have_no_note(ids):
    labels = np.array(ids, None if isinstance(ids[0], int) and max(ids) < 2**63 else object)
    assert describe_lost_digits(labels, "user") == []


@pytest.mark.parametrize("line", ["# 1001,i1,5", "#1009,i2,5", "i2,##1001,5", "# i1,1001,2"])
def test_a_comment_among_the_ids_is_noted_with_its_line(tmp_path, line):
    rows = [f"{user},i{item},{1 + item % 5}" for user in range(1001, 1020) for item in range(5)]
    if line.startswith(("i", "# i")):
        rows = [",".join([*row.split(",")[1::-1], row[-1]]) for row in rows]
        rows = ["item,user,rating", *rows]
    else:
        rows = ["user,item,rating", *rows]
    rows.insert(20, line)
    (tmp_path / "r.csv").write_text("\n".join(rows))
    (note,) = (note for note in understand(tmp_path / "r.csv").notes if "comment" in note)
    assert "r.csv line 21" in note


@pytest.mark.parametrize(
    ("users", "items"),
    [
        (["ann", "ben"], ["#1 Cheerleader Camp", "#Horror", "Heat"]),
        ([f"#{n}" for n in range(30)], ["Heat", "Alien"]),
        (["ann", "#ben"], ["#Alive", "Heat"]),
        ([1, 2], [3, 4]),
    ],
)
def test_ids_that_begin_with_a_hash_are_no_comments(tmp_path, users, items):
    rows = [f"{user},{item},4" for user in users for item in items]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating", *rows]))
    assert not any("comment" in note for note in understand(tmp_path / "r.csv").notes)


def test_a_blank_before_a_quote_is_reported_with_the_quote(tmp_path):
    (tmp_path / "r.csv").write_text('user,item,rating\n1001, "i1",4\n1002, "i2",5\n1002, "i1",1\n')
    notes = " ".join(understand(tmp_path / "r.csv").notes)
    assert "2 of 2 items have a blank next to a quote, such as ' \"i1\"'" in notes
