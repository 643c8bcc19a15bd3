"""What a table holds, whatever it is written in."""

import json
import sqlite3

import pandas as pd
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.inspection import inspect
from recveil.io import write_ratings
from recveil.ratings import RatingScale
from shared.inspection_inspect import (
    ROWS,
    TABLE,
    TEXT,
    folder,  # noqa: F401 (fixtures)
)


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("ratings.csv", "csv"),
        ("plain.csv", "csv-plain"),
        ("european.csv", "csv"),
        ("ratings.jsonl", "json"),
        ("ratings.parquet", "parquet"),
        ("parts", "parquet"),
    ],
)
def test_each_kind_shows_its_first_rows(folder, name, format):
    found = inspect(folder / name)
    assert found.reading.format == format
    assert found.rows.roles == ("user", "item", "rating", "time")
    assert found.rows.rows[:2] == tuple(tuple(map(str, row)) for row in ROWS[:2])
    plain = found.to_dict()
    assert (plain["data"]["users"], plain["data"]["items"]) == (7, 11)
    assert plain["dates"]["granularity"] == "day"
    assert plain["user_counts"]["bins"][0]["low"] == plain["user_counts"]["minimum"]


def test_frames_and_finished_ratings(folder):
    frame = inspect(pd.DataFrame(TABLE.to_pydict() | {"town": ["Rome"] * 70}))
    assert frame.rows.names == ("user", "item", "rating", "date", "town")
    made = inspect(make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1))
    assert (made.rows.names, made.dates.granularity) == ((), "day")


def test_a_matrix_shows_what_was_read(tmp_path):
    (tmp_path / "wide.csv").write_text("user,heat,alien\nann,4,\nben,1,5\n")
    found = inspect(tmp_path / "wide.csv", wide=True)
    assert found.rows.rows[0] == ("ann", "heat", "4")


def test_partitions_with_the_time(tmp_path):
    for day in ("2020-01-15", "2020-02-01"):
        part = tmp_path / "parts" / f"date={day}" / "part-0.csv"
        part.parent.mkdir(parents=True)
        part.write_text(f"user,item,rating\nann,{day},4\n")
    found = inspect(tmp_path / "parts")
    assert found.rows.roles == ("user", "item", "rating", "time")
    assert found.rows.rows[0] == ("ann", "2020-01-15", "4", "2020-01-15")


def test_a_pipe_is_read_once(tmp_path, monkeypatch):
    with (tmp_path / "ratings.csv").open("w+") as file:
        file.write(TEXT)
        file.seek(0)
        monkeypatch.setattr("sys.stdin", file)
        found = inspect("-")
    assert found.reading.name == "standard input"
    assert found.rows.rows[0] == tuple(map(str, ROWS[0]))


def test_duplicates_are_reported_and_are_no_error(tmp_path):
    (tmp_path / "ratings.csv").write_text("user,item,rating\na,1,4\na,1,5\nb,1,4\n")
    found = inspect(tmp_path / "ratings.csv")
    assert found.dropped == {"duplicate": 1}
    assert "(duplicates, --duplicates last or mean)" in found.reading.notes[0]
    assert not found.to_dict()["duplicates_chosen"]
    chosen = inspect(tmp_path / "ratings.csv", duplicates="mean")
    assert chosen.duplicates_chosen
    assert "the mean of each pair was kept" in chosen.reading.notes[0]


def test_what_is_off_the_scale_is_reported(tmp_path):
    (tmp_path / "ratings.csv").write_text("user,item,rating\na,1,4\na,2,99\nb,1,4\n")
    found = inspect(tmp_path / "ratings.csv", scale=RatingScale(1, 5, 1), drop_off_scale=True)
    assert found.dropped == {"off scale": 1}


def test_ends_of_the_scale_count_ratings_and_users():
    frame = pa.table({"user": [1, 1, 2, 3], "item": [1, 2, 1, 1], "rating": [1, 1, 5, 3]})
    low, high = inspect(frame).ends
    assert (low, high) == ((1, 2, 1), (5, 1, 1))
    assert inspect(frame).levels == [(1, 2), (3, 1), (5, 1)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "input.empty"),
        ("user,item,rating\na,1,good\n", "rating.words"),
        ("user,item,rating\na,1\n", "input.line"),
        ("who,what,much\na,1,3\n", "column.missing"),
    ],
)
def test_bad_input_is_reported_as_by_every_verb(tmp_path, text, code):
    (tmp_path / "ratings.csv").write_text(text)
    with raises(code):
        inspect(tmp_path / "ratings.csv")


def test_an_unknown_keyword_is_refused(folder):
    with pytest.raises(TypeError, match=r"inspect.. got an unexpected keyword argument 'k'"):
        inspect(folder / "ratings.csv", k=5)


def test_nothing_private_is_in_json_or_repr(tmp_path):
    ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    write_ratings(ratings, tmp_path / "ratings.csv")
    text = (tmp_path / "ratings.csv").read_text()
    head, *rows = text.splitlines()
    named = [head + ",email", *(f"hugo-{row},hugo@example.org" for row in rows)]
    (tmp_path / "ratings.csv").write_text("\n".join(named))
    found = inspect(tmp_path / "ratings.csv")
    assert "hugo" in str(tuple(found.rows))
    for shown in (json.dumps(found.to_dict()), repr(found), found._repr_html_(), repr(found.rows)):
        assert "hugo" not in shown


def test_all_columns_of_a_database_are_looked_at(tmp_path):
    pytest.importorskip("adbc_driver_sqlite")
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE votes (user, item, rating, mail TEXT, phone BLOB)")
        connection.executemany(
            "INSERT INTO votes VALUES (?, ?, ?, ?, ?)",
            [(f"u{n}", n % 7, n % 5 + 1, f"p{n}@example.org", b"x") for n in range(30)],
        )
    connection.close()
    found = inspect(tmp_path / "shop.db", table="votes")
    assert [*found.rows.names] == ["user", "item", "rating", "mail", "phone"]
    result = {each.column: each.kind for each in found.identifiers}
    assert result["mail"] == "email"
    assert result["phone"] == "name"
    query = "SELECT user, item, rating FROM votes"
    assert {each.column for each in inspect(tmp_path / "shop.db", query=query).identifiers} == {
        "user"
    }


def test_all_columns_of_a_sheet_are_looked_at(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.append(["user", "item", "rating", "email"])
    for n in range(30):
        book.active.append([f"u{n}", n % 7, n % 5 + 1, f"p{n}@example.org"])
    book.save(tmp_path / "shop.xlsx")
    found = inspect(tmp_path / "shop.xlsx")
    assert {each.column for each in found.identifiers} == {"user", "email"}
