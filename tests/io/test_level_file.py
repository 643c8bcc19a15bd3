"""Levels from a file: what must be read, and what must be refused by its line."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import read_levels

NUMBERS = np.array([3, 7, 12, 40])
NAMES = np.array(["007", "7", "ann", "été"], dtype=object)


@pytest.fixture
def write(tmp_path: Path):
    def write_bytes(text: str | bytes, name: str = "levels.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_bytes


def test_missing_users_have_the_default(write):
    levels = read_levels(write("user_id,k\n40,1\n7,4\n"), NUMBERS, 2)
    assert levels.dtype == np.int64
    assert levels.tolist() == [2, 4, 2, 1]


@pytest.mark.parametrize(
    "text",
    [
        "user_id\tk\n40\t1\n7\t4\n",
        "\ufeffk,note,userId\r\n\r\n1,x,40\r\n 4 ,,7",
        'User-ID,Level\n"40","1"\n7,4\n',
        "user_id:token\tk:float\n40\t1\n7\t4\n",
        "user,k\n40,\x1e1\n7,4\x1f\n",  # a space to Python's strip, and none to its int
        gzip.compress(b"user,privacy_level\n40,1\n7,4\n", mtime=0),
    ],
)
def test_texts_that_say_the_same(write, text):
    assert read_levels(str(write(text)), NUMBERS, 2).tolist() == [2, 4, 2, 1]


def test_ids_are_compared_as_they_are_written(write):
    assert read_levels(write("user_id,k\n7,4\nété,3\n"), NAMES, 1).tolist() == [1, 4, 1, 3]
    assert read_levels(write("user_id,k\n7,4\n"), NAMES, 1).tolist() == [1, 4, 1, 1]
    assert read_levels(write("user_id,k\n007,4\n"), NAMES, 1).tolist() == [4, 1, 1, 1]
    with raises("id.unknown") as error:
        read_levels(write("user_id,k\n007,4\n"), NUMBERS, 1)
    assert "'007'" in str(error.value)
    assert "1 user" in str(error.value)


@pytest.mark.parametrize("ids", [[40, 7], ["40", "7"], [40.0, 7.0]])
@pytest.mark.parametrize("k", [pa.array([1, 4], pa.uint8()), [1.0, 4.0], ["1", "4"]])
def test_parquet(tmp_path, ids, k):
    path = tmp_path / "k=5"
    path.mkdir()
    table = pa.table({"k": k, "note": ["x", "y"], "user_id": ids})
    pq.write_table(table, path / "levels.parquet")
    assert read_levels(path / "levels.parquet", NUMBERS, 2).tolist() == [2, 4, 2, 1]


def test_parquet_errors_name_the_row(tmp_path):
    path = tmp_path / "levels.parquet"
    pq.write_table(pa.table({"user_id": [3, 7], "k": [2, None]}), path)
    with raises("level.value") as error:
        read_levels(path, NUMBERS, 1)
    assert "levels.parquet row 2" in str(error.value)
    pq.write_table(pa.table({"user_id": [3, None], "k": [2, 2]}), path)
    with raises("id.missing") as error:
        read_levels(path, NUMBERS, 1)
    assert "levels.parquet row 2" in str(error.value)
    pq.write_table(pa.table({"user_id": [3, 7], "k": [True, False]}), path)
    with raises("level.value") as error:
        read_levels(path, NUMBERS, 1)
    assert "levels.parquet row 1" in str(error.value)
    path.write_bytes(path.read_bytes()[:-20])
    with raises("input.damaged"):
        read_levels(path, NUMBERS, 1)


HEADER = "user_id,k\n"
BAD = [
    ("", "input.empty"),
    (HEADER, "input.empty"),
    ("3,2\n7,1\n", "column.missing", "user", "'3', '2'"),
    ("user_id,wish\n3,2\n", "column.missing", "k column", "'user_id', 'wish'"),
    ("user_id,k,k\n3,2,2\n", "column.duplicate", "'k'"),
    (HEADER + "3,2\n7\n", "input.line", "line 3", "'7'"),
    (HEADER + "3,2\n7,1,5\n", "input.line", "line 3", "'7,1,5'"),
    (HEADER + "3,2\n,1\n", "id.missing", "line 3", "user"),
    (HEADER + "3,2\n\n7,\n", "level.value", "line 4"),
    (HEADER + "3,2\n7,2.5\n", "level.value", "line 3", "'2.5'"),
    (HEADER + "3,2\n7,two\n", "level.value", "line 3", "'two'"),
    (HEADER + "3,2\n7,0\n", "level.value", "line 3", "'0'"),
    (HEADER + "3,2\n7,-4\n", "level.value", "line 3", "'-4'"),
    (HEADER + "3,2\n7," + "9" * 5000, "level.value", "line 3", "'99"),
    (HEADER + "3,2\n7,5\n", "level.value", "line 3", "k is 5", "4 users"),
    (HEADER + "3,2\n7,1\n3,4\n", "id.duplicate", "line 4", "user 3", "k = 2", "line 2", "k = 4"),
    (HEADER + "3,2\n7,1\n3,2\n", "id.duplicate", "line 4", "user 3", "k = 2", "line 2"),
    (
        *(HEADER + "9,2\n7,1\n8,2\nx,1\ny,1\n", "id.unknown", "4 users", "'9' (levels.csv line 2)"),
        *("'8' (levels.csv line 4)", "'x' (levels.csv line 5), ..."),
    ),
    (b"user_id,k\n3,2\n\xe9,1\n", "input.encoding", "line 3", r"b'\xe9'"),
    (HEADER + '3,2\n"7,1\n', "input.quotes", "line 3"),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: str(bad)[:60])
def test_what_is_refused(write, bad):
    text, code, *names = bad
    with raises(code, "levels.csv", *names):
        read_levels(write(text), NUMBERS, 1)


def test_a_file_that_is_not_there(tmp_path):
    with raises("input.not-found"):
        read_levels(tmp_path / "levels.csv", NUMBERS, 1)
    with raises("input.folder"):
        read_levels(tmp_path, NUMBERS, 1)


@pytest.mark.parametrize("default", [0, -1, 2.0, None, True, 5])
def test_a_senseless_default(write, default):
    with raises("option.value"):
        read_levels(write(HEADER + "3,2\n"), NUMBERS, default)
