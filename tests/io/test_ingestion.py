"""An unknown keyword is rejected in the name of the verb that was called."""

import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv, parquet

from recveil.auditing import audit, selftest
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.io import read, understand
from recveil.methods import SparseRows, anonymize, dry_run
from recveil.publish import convert
from recveil.runtime.errors import ReadingWarning

RATINGS = make_ratings(n_users=30, n_items=20, n_ratings=300, seed=1)
CALLS = {
    "audit": lambda folder, **given: audit(RATINGS, **given),
    "selftest": lambda folder, **given: selftest(RATINGS, **given),
    "anonymize": lambda folder, **given: anonymize(RATINGS, folder / "out", k=3, **given),
    "compare": lambda folder, **given: compare(RATINGS, folder / "out", **given),
    "evaluate": lambda folder, **given: evaluate(folder, RATINGS, split=0.2, **given),
    "convert": lambda folder, **given: convert(RATINGS, folder / "out.csv", **given),
}


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("keyword", ["colour", "user_files"])
def test_the_error_names_the_verb_and_the_keyword(verb, keyword, tmp_path):
    result = rf"^{verb}\(\) got an unexpected keyword argument '{keyword}'"
    with pytest.raises(TypeError, match=result):
        CALLS[verb](tmp_path, **{keyword: 7})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["file", "frame"])
def test_columns_that_are_not_read_are_named_and_lost_dates_noted(source, tmp_path):
    rows = [
        (f"u{u}", f"i{i}", 1 + (u + i) % 5, "2020-01-02", "x") for u in range(30) for i in range(6)
    ]
    names = ["user", "item", "rating", "created_at", "shop"]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})
    if source == "file":
        csv.write_csv(table, tmp_path / "r.csv")
        table = tmp_path / "r.csv"
    reading = anonymize(table, tmp_path / "out", k=5, method="k-corating", seed=1).reading
    assert sorted(reading.unread) == ["shop"]
    assert "'created_at'" in reading.notes[-1]
    assert "'shop'" not in reading.notes[-1]
    assert understand(table).unread == ("shop",)


def _write(kind, table, folder):
    """Return the table as a source of this kind."""
    if kind == "file":
        csv.write_csv(table, folder / "r.csv")
        return folder / "r.csv"
    if kind == "parquet":
        parquet.write_table(table, folder / "r.parquet")
        return folder / "r.parquet"
    if kind == "database":
        with closing(sqlite3.connect(folder / "r.db")) as base:
            base.execute("CREATE TABLE r (user, item, rating, timestamp, shop)")
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            base.executemany("INSERT INTO r VALUES (?, ?, ?, ?, ?)", rows)
            base.commit()
        return folder / "r.db"
    return table


@pytest.mark.parametrize("kind", ["file", "frame", "parquet", "database"])
def test_every_verb_warns_of_what_it_leaves_out(kind, tmp_path):
    rows = [
        (u, i, 1 + (u + i) % 5, 1577923200 + 86400 * i, "x") for u in range(30) for i in range(9)
    ]
    rows[3] = (rows[3][0], rows[3][1], 9, *rows[3][3:])
    names = ["user", "item", "rating", "timestamp", "shop"]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})
    source = _write(kind, table, tmp_path)
    how = {"scale": "1:5:1", "drop_off_scale": True}
    release, written = tmp_path / "out", {}
    calls = {
        "read": lambda: read(source, **how),
        "anonymize": lambda: anonymize(source, k=5, seed=1, **how),
        "written": lambda: written.update(made=anonymize(source, release, k=5, seed=1, **how)),
        "dry run": lambda: dry_run(source, tmp_path / "other", k=5, **how),
        "audit": lambda: audit(source, targets=5, curves=False, **how),
        "selftest": lambda: selftest(source, **how),
        "convert": lambda: convert(source, tmp_path / "c.csv", **how),
        "evaluate": lambda: evaluate(release, source, split=0.2, targets=5, **how),
        "compare": lambda: compare(source, tmp_path / "cells", methods="raw", targets=5, **how),
    }
    for verb, call in calls.items():
        with pytest.warns(ReadingWarning) as caught:
            call()
        notes = [str(each.message) for each in caught if each.category is ReadingWarning]
        assert len(notes) == len(set(notes)), verb
        assert [note for note in notes if note.startswith("1 row") and "9" in note], verb
        assert [note for note in notes if "'shop'" in note], verb
        keeps_times = verb in ("read", "audit", "selftest", "convert")
        assert any("'timestamp'" in note for note in notes) is not keeps_times, verb
        assert {each.filename for each in caught if each.category is ReadingWarning} == {__file__}
    with pytest.warns(ReadingWarning, match="'timestamp'"):
        SparseRows(5, seed=1).anonymize(table.filter(pc.less(table["rating"], 6)))
