"""Rows that an earlier export left inside a text, in each format, and reviews that only look so."""

import csv
import io
import json
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recveil.inspection import inspect
from recveil.inspection.first_rows import FirstRows, describe_swallowed_rows
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import LIKES


def exported():
    """Records as Python reads them from a CSV file with two stray quotes."""
    lines = [f"{u},i{i},{1 + (u + i) % 5},fine" for u in range(1001, 1012) for i in range(5)]
    lines[3], lines[24] = lines[3].replace("fine", '"good'), lines[24].replace("fine", 'great"')
    return list(csv.DictReader(io.StringIO("\n".join(["user,item,rating,review", *lines]))))


def write_json(folder, rows):
    (folder / "r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "r.jsonl"


def write_parquet(folder, rows):
    pq.write_table(pa.Table.from_pylist(rows), folder / "r.parquet")
    return folder / "r.parquet"


def write_sqlite(folder, rows):
    with sqlite3.connect(folder / "r.db") as database:
        database.execute("create table r(user, item, rating, review)")
        rows = [(row["user"], row["item"], int(row["rating"]), row["review"]) for row in rows]
        database.executemany("insert into r values(?, ?, ?, ?)", rows)
    database.close()
    return folder / "r.db"


@pytest.mark.parametrize("write", [write_json, write_parquet, write_sqlite])
def test_swallowed_rows_in_an_unread_column_are_noted(tmp_path, write):
    rows = exported()
    assert len(rows) == 34
    (note,) = (n for n in inspect(write(tmp_path, rows)).reading.notes if "Column 'review'" in n)
    assert "in 1 of the first 34 rows" in note
    for row in rows:
        row["review"] = row["review"].partition("\n")[0]
    found = inspect(write_parquet(tmp_path, rows))
    assert not any("Column 'review'" in note for note in found.reading.notes)


@pytest.mark.parametrize(
    ("text", "is_row"),
    [
        ("u1;heat;4\nu9;jaws;5", True),
        ("fine\n4\theat\tu1\n5\theat\tu2", True),
        ("heat, 4, great\njaws, 5, great", False),
        ("u1, 4, 5\nu2, 3, 1", False),
        ("u1,heat,4 and nothing else", False),
        ("good\nu1,heat,9\nu2,jaws,9", False),
    ],
)
def test_two_lines_need_an_item_a_rating_and_a_user(text, is_row):
    ratings = Ratings.from_columns(
        ["u1", "u2"], ["heat", "jaws"], [4, 5], scale=RatingScale(1, 5, 1)
    )
    rows = FirstRows(("user", "text"), ("user", ""), (("u1", text),))
    assert bool(describe_swallowed_rows(rows, ratings)) == is_row
    read = FirstRows(("user", "text"), ("user", "item"), (("u1", text),))
    assert not describe_swallowed_rows(read, ratings)


def test_likes_need_no_rating():
    ratings = Ratings.from_columns(["u1", "u2"], ["heat", "jaws"], [1, 1], scale=LIKES)
    for text, is_row in (("so\nu1,heat\nu2,jaws", True), ("so\nu1,heat\nu2,u1", False)):
        rows = FirstRows(("text",), ("",), ((text,),))
        assert bool(describe_swallowed_rows(rows, ratings)) == is_row
