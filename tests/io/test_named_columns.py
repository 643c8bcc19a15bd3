"""Columns found by their names, in every kind of file."""

import bz2
import gzip
import lzma
import re
import sqlite3
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import read_levels, read_trust
from recveil.io.side_tables import users_in_levels, users_in_trust

USERS = np.array(["007", "7", "ann"], dtype=object)
LEVELS = {"user_id": ["7", "ann"], "note": ["x", "y"], "k": ["2", "3"]}
TRUST = {"truster": ["7", "ann"], "trustee": ["ann", "007"], "value": ["1", "0.5"]}


def text(columns, mark):
    rows = zip(*columns.values(), strict=True)
    return "\n".join([mark.join(columns), *map(mark.join, rows)]) + "\n"


def objects(columns):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [str(row).replace("'", '"') for row in rows]


def parquet(columns, path):
    pq.write_table(pa.table(columns), path)
    return path.read_bytes()


def arrow(columns, path):
    pyarrow.feather.write_feather(pa.table(columns), str(path))
    return path.read_bytes()


def zipped(content, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("table.csv", content)
    return path.read_bytes()


KINDS = {
    "commas": lambda columns, _: text(columns, ",").encode(),
    "tabs": lambda columns, _: text(columns, "\t").encode(),
    "bars": lambda columns, _: text(columns, "|").encode(),
    "semicolons": lambda columns, _: text(columns, ";").encode(),
    "JSON Lines": lambda columns, _: "\n".join(objects(columns)).encode(),
    "JSON": lambda columns, _: f"[{','.join(objects(columns))}]".encode(),
    "parquet": parquet,
    "arrow": arrow,
    "UTF-16": lambda columns, _: text(columns, ",").encode("utf-16"),
}
PACKED = {
    "plain": lambda content, _: content,
    "gzip": lambda content, _: gzip.compress(content),
    "bzip2": lambda content, _: bz2.compress(content),
    "xz": lambda content, _: lzma.compress(content),
    "zstd": lambda content, _: pa.compress(content, "zstd", asbytes=True),
    "zip": zipped,
}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    def file(self, columns, kind, packing, folder):
        content = KINDS[kind](columns, folder / "made")
        (folder / "file").write_bytes(PACKED[packing](content, folder / "packed"))
        return folder / "file"

    def test_of_levels(self, kind, packing, tmp_path):
        file = self.file(LEVELS, kind, packing, tmp_path)
        assert read_levels(file, USERS, 1).tolist() == [1, 2, 3]
        assert users_in_levels(file) == {"7", "ann"}

    def test_of_trust(self, kind, packing, tmp_path):
        file = self.file(TRUST, kind, packing, tmp_path)
        stated = read_trust(file, USERS)
        assert stated.links.toarray().tolist() == [[0, 0, 0], [0, 0, 1], [0.5, 0, 0]]
        assert users_in_trust(file) == {"007", "7", "ann"}

    def test_a_row_that_makes_no_sense_is_named(self, kind, packing, tmp_path):
        levels = self.file({**LEVELS, "k": ["2", "two"]}, kind, packing, tmp_path)
        with raises("level.value") as error:
            read_levels(levels, USERS, 1)
        assert re.match(r"file (line|row) \d: k is 'two'", str(error.value))
        trust = self.file({**TRUST, "value": ["1", "much"]}, kind, packing, tmp_path)
        with raises("input.line") as error:
            read_trust(trust, USERS)
        assert re.match(r"file (line|row) \d: trust is 'much'", str(error.value))

    def test_a_column_that_is_missing_is_named(self, kind, packing, tmp_path):
        file = self.file({"user_id": ["7"], "wish": ["2"]}, kind, packing, tmp_path)
        with raises("column.missing") as error:
            read_levels(file, USERS, 1)
        assert "'user_id'" in str(error.value)
        assert "'wish'" in str(error.value)


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
def test_lines_of_trust_may_be_packed(packing, tmp_path):
    (tmp_path / "trust.txt").write_bytes(PACKED[packing](b"7 ann 1\nann 007 0.5\n", None))
    stated = read_trust(tmp_path / "trust.txt", USERS)
    assert stated.links.toarray().tolist() == [[0, 0, 0], [0, 0, 1], [0.5, 0, 0]]


def test_numbers_in_json_are_as_they_are_written(tmp_path):
    (tmp_path / "k.jsonl").write_text('{"user_id": 7, "k": 2}\n{"user_id": "007", "k": 3}\n')
    assert read_levels(tmp_path / "k.jsonl", USERS, 1).tolist() == [3, 2, 1]
    (tmp_path / "t.jsonl").write_text('{"truster": 7, "trustee": "007", "trust": 0.25}\n')
    assert read_trust(tmp_path / "t.jsonl", USERS).links[1, 0] == 0.25


def test_a_name_that_is_missing_is_a_missing_value(tmp_path):
    (tmp_path / "k.jsonl").write_text('{"user_id": "7", "k": 2}\n{"user_id": "ann"}\n')
    with raises("level.value") as error:
        read_levels(tmp_path / "k.jsonl", USERS, 1)
    assert "k.jsonl line 2" in str(error.value)
    (tmp_path / "k.jsonl").write_text('{"user_id": "7", "k": [2]}\n')
    with raises("column.type") as error:
        read_levels(tmp_path / "k.jsonl", USERS, 1)
    assert "line 1" in str(error.value)
    assert "'k'" in str(error.value)


def test_what_holds_several_tables_is_refused(tmp_path):
    sqlite3.connect(tmp_path / "shop.db").execute("CREATE TABLE t (k)").connection.close()
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    for name, what in {"shop.db": "a SQLite database", "book.xlsx": "an Excel workbook"}.items():
        for read in (lambda file: read_levels(file, USERS, 1), lambda f: read_trust(f, USERS)):
            with raises("input.unknown-format") as no:
                read(tmp_path / name)
            assert what in str(no.value)
            assert len(str(no.value)) < 300


@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"", mtime=0)])
def test_empty(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    for read in (lambda file: read_levels(file, USERS, 1), lambda file: read_trust(file, USERS)):
        with raises("input.empty"):
            read(tmp_path / "file")


def test_columns_are_read_by_the_name_that_comes_first(tmp_path):
    (tmp_path / "k.csv").write_text("level,user,k,userId\n3,ann,2,7\n")
    assert read_levels(tmp_path / "k.csv", USERS, 1).tolist() == [1, 2, 1]
