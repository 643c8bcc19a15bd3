"""Text whose lines differ in what their values do not show."""

import csv
import gzip
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.io.formats.delimited import DIALECTS
from recveil.verification import not_covered
from recveil.verification.not_covered import find_irregularities

REGULAR = [
    b"user,item,rating\na,1,4\nb,1,4\n",
    b"user,item,rating\r\na,1,4\r\nb,1,4\r\n",
    b"user,item,rating\ra,1,4\rb,1,4\r",
    b"user,item,rating\na,1,4\nb,1,4",
    b"user,item,rating\r\na,1,4\r\nb,1,4",
    b'"user","item",rating\na,1,4\nb,1,4\n',
    b'\xef\xbb\xbf"user",item,rating\na,1,4\n',
    b'user,item,rating\n"a",1,4\n"b",1,4\n',
    b'user,item,rating\n"a,a",1,4\nb,1,4\n',
    b'user,item,rating\n"a""a",1,4\nb,1,4\n',
    b'user,item,rating\n"a\r\na",1,4\nb,1,4\n',
    b'user,item,rating,note\na,1,4,""\nb,1,4,""\n',
    b'user,item,rating,note\na,1,4,\nb,1,4,"x"\n',
]
IRREGULAR = [
    (b"user,item,rating\r\na,1,4\nb,1,4\n", "mixed-cr-lf"),
    (b"user,item,rating\na,1,4\nb,1,4\r\n", "mixed-cr-lf"),
    (b"user,item,rating\na,1,4\rb,1,4\n", "mixed-cr"),
    (b"user,item,rating\na,1,4\n\nb,1,4\n", "empty-lines"),
    (b"\nuser,item,rating\na,1,4\nb,1,4\n", "empty-lines"),
    (b"user,item,rating\na,1,4\nb,1,4\n\n", "empty-lines"),
    (b"user,item,rating\r\na,1,4\r\n\r\nb,1,4\r\n", "empty-lines"),
    (b'user,item,rating\n"a",1,4\nb,1,4\n', "needless-quotes"),
    (b'user,item,rating\na,1,"4"\nb,1,4\n', "needless-quotes"),
    (b'user,item,rating\na,1,4\nb,1,"4"', "needless-quotes"),
    (b'user,item,rating\na"a,1,4\nb,1,4\n', "stray-quotes"),
    (b'user,item,rating\n"a"a,1,4\n"b",1,4\n', "stray-quotes"),
]


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("content", REGULAR)
def test_one_way_throughout(tmp_path, monkeypatch, content, piece):
    monkeypatch.setattr(not_covered, "_PIECE", piece)
    (tmp_path / "some.csv").write_bytes(content)
    assert find_irregularities(tmp_path / "some.csv", DIALECTS["csv"]) == []
    (tmp_path / "some.csv.gz").write_bytes(gzip.compress(content))
    assert find_irregularities(tmp_path / "some.csv.gz", DIALECTS["csv"]) == []


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize(("content", "result"), IRREGULAR)
def test_several_ways_are_reported(tmp_path, monkeypatch, content, result, piece):
    monkeypatch.setattr(not_covered, "_PIECE", piece)
    (tmp_path / "some.csv").write_bytes(content)
    found = find_irregularities(tmp_path / "some.csv", DIALECTS["csv"])
    assert result in found


def test_where_quotes_are_letters_they_are_no_matter(tmp_path):
    (tmp_path / "u.data").write_bytes(b'"a"\t1\t4\nb\t1\t4\n')
    assert find_irregularities(tmp_path / "u.data", DIALECTS["movielens-tab"]) == []


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(st.text('ab,"\n', max_size=3), min_size=3, max_size=3), max_size=8),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_a_writer_writes_is_one_way(rows, quoting, end, tmp_path_factory):
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, quoting=quoting, lineterminator=end)
    writer.writerows([["user", "item", "rating"], *rows])
    file = tmp_path_factory.mktemp("some") / "some.csv"
    file.write_bytes(sink.getvalue().encode())
    assert find_irregularities(file, DIALECTS["csv"]) == []
