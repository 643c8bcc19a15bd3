"""SQLite, where each value has a type of its own, and a file may change while it is read."""

import sqlite3
import subprocess
import sys

import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand

pytest.importorskip("adbc_driver_sqlite")


def made(path, columns, rows, before=""):
    connection = sqlite3.connect(path)
    if before:
        connection.execute(before)
    connection.execute(f"CREATE TABLE ratings ({columns})")
    marks = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO ratings VALUES ({marks})", rows)
    connection.commit()
    connection.close()
    return path


def plain(path, rows, names="user,item,rating"):
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    path.write_text("\n".join([names, *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    "rows",
    [
        [(1, 1, 3), (2, 1, 3.5), (3, 2, 1)],
        [(1, 1, "3"), ("2", "1", 3.5), (3, 2, 1)],
        [("ann", 1, 3), (7, "x", 3.5), (8, 2, "2")],
        [(1, "007", 3), (2, 7, 4)],
    ],
    ids=["whole and broken", "numbers as text", "text and numbers", "007 and 7"],
)
def test_values_of_several_types_are_what_their_text_is(tmp_path, rows):
    path = made(tmp_path / "shop.db", '"user", item, rating', rows)
    expected = understand(plain(tmp_path / "plain.csv", rows))
    found = understand(path, table="ratings")
    assert found.ratings == expected.ratings
    assert found.notes == expected.notes


def test_types_that_come_late(tmp_path):
    # The driver takes types from the first batch of rows, and these have none there.
    rows = [(n, n % 50, 3, None) for n in range(70_000)]
    rows += [("ann", 1, 3.5, "2020-01-15"), (b"ann".decode() + "e", 2, "4", "2020-01-16")]
    path = made(tmp_path / "shop.db", '"user", item, rating, date', rows)
    reading = understand(path, table="ratings")
    assert reading.ratings.n_ratings == 70_002
    assert reading.ratings.users[-1] == "anne"
    assert sorted(set(reading.ratings.values)) == [3, 3.5, 4]
    assert "missing, as in 70,000 of 70,002 rows" in reading.notes[0]


def test_dates_as_users_keep_them(tmp_path):
    rows = [(1, 1, 3, "2020-01-15 23:30:00"), (2, 1, 4, "2020-01-16 00:10:00")]
    for columns in ("timestamp", "text", ""):
        path = made(tmp_path / f"{columns}.db", f'"user", item, rating, date {columns}', rows)
        found = read_ratings(path, table="ratings")
        assert (found.days[1] - found.days[0]).item() == 1
    seconds = [(1, 1, 3, 1_579_130_000), (2, 1, 4, 1_579_133_400)]
    path = made(tmp_path / "seconds.db", '"user", item, rating, timestamp', seconds)
    assert read_ratings(path, table="ratings").days is not None


def test_bytes_among_other_values_are_refused(tmp_path):
    path = made(tmp_path / "shop.db", '"user", item, rating', [(1, 1, 3), (2, b"\x00x", 3)])
    with raises("column.type") as error:
        read_ratings(path, table="ratings")
    assert "'item'" in str(error.value)


def test_decimal_commas_and_dates_of_their_own(tmp_path):
    rows = [(1, 1, "3,5", "14/12/2009"), (2, 1, "4,5", "15/12/2009")]
    path = made(tmp_path / "shop.db", '"user", item, rating, date', rows)
    found = understand(path, table="ratings", decimal=",", time_format="%d/%m/%Y").ratings
    assert found.values.tolist() == [3.5, 4.5]
    assert found.days.tolist() == [14592, 14593]


def test_a_view_is_a_table_too(tmp_path):
    path = made(tmp_path / "shop.db", "u, i, r", [(1, 1, 3)])
    connection = sqlite3.connect(path)
    connection.execute(
        'CREATE VIEW likes AS SELECT u AS "user", i AS item, r AS rating FROM ratings'
    )
    connection.commit()
    connection.close()
    assert read_ratings(path, table="likes").n_ratings == 1
    assert read_ratings(path, table="main.likes").n_ratings == 1


def test_what_is_not_committed_is_not_read(tmp_path):
    path = made(
        tmp_path / "shop.db", '"user", item, rating', [(1, 1, 3)], "PRAGMA journal_mode=WAL"
    )
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO ratings VALUES (2, 1, 4)")
    assert read_ratings(path, table="ratings").n_ratings == 1
    writer.commit()
    assert read_ratings(path, table="ratings").n_ratings == 2
    writer.close()


def test_a_database_that_another_program_locks(tmp_path):
    path = made(tmp_path / "shop.db", '"user", item, rating', [(1, 1, 3)])
    # In a process of its own: whatever opens and closes the file in this one ends its locks.
    program = (
        "import sqlite3, sys\nwriter = sqlite3.connect(sys.argv[1])\n"
        "writer.execute('BEGIN EXCLUSIVE')\nprint('locked', flush=True)\nsys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program, str(path)], **pipes) as writer:
        assert writer.stdout.readline() == b"locked\n"
        with raises("database.query"):
            read_ratings(path, table="ratings")
        writer.stdin.close()


@pytest.mark.parametrize("keep", [100, 3_000, 9_000])
def test_a_damaged_database_ends_in_one_line(tmp_path, keep):
    rows = [(n, n % 50, 3) for n in range(2_000)]
    path = made(tmp_path / "shop.db", '"user", item, rating', rows)
    path.write_bytes(path.read_bytes()[:keep])
    with raises("database.query") as refused:
        read_ratings(path, table="ratings")
    assert "\n" not in str(refused.value)


def test_odd_paths(tmp_path):
    folder = tmp_path / "a folder? 100% #1"
    folder.mkdir()
    path = made(folder / "shop & sons.db", '"user", item, rating', [(1, 1, 3)])
    assert read_ratings(path, table="ratings").n_ratings == 1


def test_the_only_table_is_read_without_its_name(tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE scores (user INTEGER, item INTEGER, rating INTEGER)")
        rows = [(n % 7, n, n % 5 + 1) for n in range(60)]
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?)", rows)
    connection.close()
    assert read_ratings(tmp_path / "shop.db").n_ratings == 60
