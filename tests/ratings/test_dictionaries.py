"""Dictionaries of few long values stay what they are; what each row says is the oracle."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.io import understand
from recveil.publish import convert
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import (
    cast_each,
    in_turn,
    missing_rows,
    plain_column,
    python_values,
    tidied,
    written_out,
)
from recveil.runtime.memory import memory_limited
from recveil.verification import verify

ROWS, LONG = 21_000, 100_000  # written out, 2 GB


@pytest.fixture
def little():
    """Little memory, and a look at how much Arrow took of it."""
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    with memory_limited("50MB"):
        yield
    assert pool.max_memory() - max(before, pool.bytes_allocated()) < 300_000_000


def long_table(**columns):
    """Two users with three long items each, again and again."""
    codes = np.arange(ROWS) % 6
    texts = [str(number) * LONG for number in range(3)]
    usual = {
        "user": pa.array(codes // 3),
        "item": pa.DictionaryArray.from_arrays(pa.array(codes % 3, pa.int32()), texts),
        "rating": pa.array(np.full(ROWS, 4.0)),
    }
    return pa.table(usual | columns)


def coded(texts, codes=None):
    codes = np.arange(ROWS) % len(texts) if codes is None else codes
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(texts))


def arrow_file(tmp_path, table):
    path = tmp_path / "long.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_long_ids_are_read_and_verified_though_all_rows_would_be_too_large(
    tmp_path, little, format
):
    table = long_table()
    path = tmp_path / "long.parquet"
    if format == "arrow":
        path = arrow_file(tmp_path, table)
    else:
        pq.write_table(table, path)
    ratings = understand(path, duplicates="last").ratings
    assert (ratings.n_users, ratings.n_items, ratings.n_ratings) == (2, 3, 6)
    assert verify(path, k=2).holds


def test_a_dictionary_that_holds_a_value_twice_is_not_written_out(tmp_path, little):
    twice = coded(["a" * LONG, "b" * LONG, "a" * LONG], np.arange(ROWS) % 6 % 3)
    path = arrow_file(tmp_path, long_table(item=twice))
    assert understand(path, duplicates="last").ratings.n_items == 2
    assert verify(path, k=2).classes == 1


@pytest.mark.parametrize("view", [pa.string_view(), pa.large_string()])
def test_views_of_text_are_not_written_out(tmp_path, little, view):
    texts = pa.array([str(number) * LONG for number in range(3)], view)
    codes = pa.array(np.arange(ROWS) % 6 % 3, pa.int32())
    table = long_table(item=pa.DictionaryArray.from_arrays(codes, texts))
    assert understand(table, duplicates="last").ratings.n_items == 3


def test_ratings_and_times_in_long_words_are_read_once(tmp_path, little):
    ratings = coded(["0" * LONG + "4", "0" * LONG + "3.5"])
    times = coded(["2005-12-31", "2006-01-01"])
    path = arrow_file(tmp_path, long_table(rating=ratings, time=times))
    read = understand(path, duplicates="last").ratings
    assert {*read.values.tolist()} == {3.5, 4.0}
    assert len({*read.days.tolist()}) == 2


@pytest.mark.parametrize("role", ["rating", "time"])
def test_the_row_of_a_long_wrong_word_is_named(tmp_path, little, role):
    right = {"rating": "4", "time": "2005-12-31"}[role]
    codes = np.zeros(ROWS, np.int32)
    codes[70:] = 1
    path = arrow_file(tmp_path, long_table(**{role: coded([right, "x" * LONG], codes)}))
    with pytest.raises(ValueError, match=r"^long\.arrow row 71: "):
        understand(path, duplicates="last", time="time" if role == "time" else None)


def test_what_would_be_written_out_is_refused_first(tmp_path, little):
    n, users = 3, 2_000
    texts = [str(number) * LONG for number in range(n)]
    codes = np.arange(n * users)
    table = pa.table(
        {"user": codes // n, "item": coded(texts, codes % n), "rating": np.full(codes.size, 4.0)}
    )
    path = arrow_file(tmp_path, table)
    with raises("machine.memory") as error:
        convert(path, tmp_path / "out.csv")
    assert "6,000 rows" in str(error.value)
    assert not (tmp_path / "out.csv").exists()


def test_a_column_of_bytes_is_refused_first(little):
    column = pa.chunked_array([coded([b"\xff" * LONG, b"b"])])
    with raises("machine.memory") as error:
        plain_column(column)
    assert "21,000 rows" in str(error.value)


VALUES = st.lists(st.one_of(st.none(), st.sampled_from(["1", "2.5", "", "ann", "-0"])), max_size=6)


@given(st.lists(st.tuples(VALUES, st.lists(st.none() | st.integers(0, 5), max_size=8)), max_size=3))
def test_a_tidied_column_says_the_same(parts):
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array([c if c is not None and c < len(values) else None for c in codes], pa.int32()),
            pa.array(values, pa.string()),
        )
        for values, codes in parts
    ]
    column = pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string()))
    plain = column.to_pylist()
    tidy = tidied(column)
    assert tidy.to_pylist() == plain == list(in_turn(column)) == python_values(column)
    if len(column):
        held = tidy.chunk(0).dictionary.to_pylist()
        assert sorted(held) == sorted({*plain} - {None})
    for each in column.chunks:
        assert written_out(each, "x").to_pylist() == each.to_pylist()
    try:
        expected = pa.chunked_array([pa.array(plain, pa.string())]).cast(pa.float64()).to_pylist()
    except pa.ArrowInvalid:
        with pytest.raises(pa.ArrowInvalid):
            cast_each(column, pa.float64())
    else:
        assert cast_each(column, pa.float64()).to_pylist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["ann", None]),
        pa.DictionaryArray.from_arrays([0, None], ["ann"]),
        pa.DictionaryArray.from_arrays([0, 1], ["ann", None]),
        pa.DictionaryArray.from_arrays([0, 0], pa.nulls(1)),
        pa.DictionaryArray.from_arrays(pa.nulls(2, pa.int8()), pa.nulls(0)),
    ],
    ids=["no dictionary", "gap", "value of gaps", "nothing but gaps", "no values"],
)
def test_what_is_missing_is_reported_wherever_the_gap_is(column):
    column = pa.chunked_array([column])
    assert missing_rows(column).to_pylist() == [value is None for value in column.to_pylist()]
    table = pa.table({"user": column, "item": [7, 8], "rating": [3, 4]})
    with raises("id.missing"):
        Ratings.from_frame(table)
