"""SQLite, where each value has a type of its own, and a file may change while it is read."""

import sqlite3

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings

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


def test_every_verb_takes_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=4)
    columns = [column.to_pylist() for column in ratings.to_arrow().columns[:3]]
    made(tmp_path / "shop.db", '"user", item, rating', list(zip(*columns, strict=True)))
    given = ["--table", "ratings", "--scale", "1:5:1"]
    for words in (
        "convert {} out.csv",
        "selftest sqlite:///{}",
        "anonymize {} -o out --k 4 --seed 1",
        "audit sqlite:///{} --release out --targets 5 --no-curves",
        "evaluate {} --release out --split 0.3 --targets 5",
        "compare {} -o other --methods raw --targets 5",
    ):
        with pytest.raises(SystemExit) as ended:
            main([*words.format("shop.db").split(), *given])
        result = capsys.readouterr()
        assert ended.value.code in (0, None), result.err
        assert "a SQLite database" in result.out or words.startswith("evaluate")
