"""Levels from a file: what must be read, and what must be refused by its line."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.errors import RecveilError
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
    ("", ": the file is empty; expected a header such as user_id,k"),
    (HEADER, ": there are no levels in it"),
    ("3,2\n7,1\n", ": no user column among '3', '2'; expected a header such as user_id,k"),
    ("user_id,wish\n3,2\n", ": no k column among 'user_id', 'wish'"),
    ("user_id,k,k\n3,2,2\n", ": two columns are called 'k'"),
    (HEADER + "3,2\n7\n", " line 3: expected 2 columns, got 1 ('7'); mend or drop"),
    (HEADER + "3,2\n7,1,5\n", " line 3: expected 2 columns, got 3"),
    (HEADER + "3,2\n,1\n", " line 3: the user is missing"),
    (HEADER + "3,2\n\n7,\n", " line 4: k is missing; expected a whole number, 1 or more"),
    (HEADER + "3,2\n7,2.5\n", " line 3: k is '2.5'; expected a whole number"),
    (HEADER + "3,2\n7,two\n", " line 3: k is 'two'; expected a whole number"),
    (HEADER + "3,2\n7,0\n", " line 3: k is '0'; expected a whole number, 1 or more"),
    (HEADER + "3,2\n7,-4\n", " line 3: k is '-4'; expected a whole number, 1 or more"),
    (HEADER + "3,2\n7," + "9" * 5000, " line 3: k is '99"),
    (HEADER + "3,2\n7,5\n", " line 3: k is 5, but there are 4 users; lower it"),
    (HEADER + "3,2\n7,1\n3,4\n", "line 4: user 3 stands twice, with k = 2 (levels.csv line 2) and"),
    (HEADER + "3,2\n7,1\n3,2\n", "line 4: user 3 stands twice, both times with k = 2 (before in"),
    (
        HEADER + "9,2\n7,1\n8,2\nx,1\ny,1\n",
        ": 4 users are not among the ratings: '9' (levels.csv line 2), '8' (levels.csv line 4), "
        "'x' (levels.csv line 5), ...; drop them, or check the ids",
    ),
    (b"user_id,k\n3,2\n\xe9,1\n", r" line 3: b'\xe9' is not UTF-8 text"),
    (HEADER + '3,2\n"7,1\n', " line 3: a quote is never closed"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_is_refused(write, text, message):
    with pytest.raises(RecveilError) as refused:
        read_levels(write(text), NUMBERS, 1)
    assert str(refused.value).startswith("levels.csv")
    assert message in str(refused.value)


def test_a_file_that_is_not_there(tmp_path):
    with raises("input.not-found"):
        read_levels(tmp_path / "levels.csv", NUMBERS, 1)
    with raises("input.folder"):
        read_levels(tmp_path, NUMBERS, 1)


@pytest.mark.parametrize("default", [0, -1, 2.0, None, True, 5])
def test_a_senseless_default(write, default):
    with raises("option.value"):
        read_levels(write(HEADER + "3,2\n"), NUMBERS, default)
