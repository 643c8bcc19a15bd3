"""Data frames and arrays with anything in them: a table, or an error of ours."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.ratings import Ratings

DAY = datetime.datetime(2020, 1, 1)
UTC = datetime.UTC


def frame(**columns):
    return pd.DataFrame({"user": [1, 2], "item": [7, 8], "rating": [3, 4]} | columns)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"user": [1, "a"]}, r"whole numbers \(row 0: 1\) and text \(row 1: 'a'\)"),
        ({"user": ["a", 1]}, r"text \(row 0: 'a'\) and whole numbers \(row 1: 1\)"),
        ({"item": [None, 1, "a"]}, r"whole numbers \(row 1: 1\) and text"),
        ({"item": [True, "a"]}, "truth values .* and text"),
        ({"rating": [1, "x"]}, "whole numbers .* and text"),
        ({"rating": [1.5, "2"]}, "numbers with a fraction .* and text"),
        ({"timestamp": [DAY, "2020-01-02"]}, "times .* and text"),
        ({"timestamp": [DAY, DAY.date()]}, "times .* and dates"),
        ({"user": pd.Categorical([1, "a"])}, "whole numbers .* and text"),
    ],
)
def test_a_column_of_two_kinds_is_named_with_both(columns, problem):
    ((name, values),) = columns.items()
    rows = len(values)
    others = {"user": range(rows), "item": range(rows), "rating": range(rows)}
    with raises("column.type") as error:
        Ratings.from_frame(pd.DataFrame(others | columns))
    error.match(f"'{name}' mixes {problem}")


def test_the_remedy_works():
    mixed = frame(user=[1, "a"])
    mixed["user"] = mixed["user"].astype("string")
    assert Ratings.from_frame(mixed).users.tolist() == ["1", "a"]


def test_an_unused_mixed_column_does_no_harm():
    assert Ratings.from_frame(frame(note=[1, "a"])) == Ratings.from_frame(frame())


def test_two_columns_of_one_name():
    twice = pd.DataFrame([[1, 2, 3, 4]], columns=["user", "user", "item", "rating"])
    with raises("column.duplicate") as error:
        Ratings.from_frame(twice)
    assert "'user'" in str(error.value)


@pytest.mark.parametrize("role", ["user", "item"])
@pytest.mark.parametrize(
    "ids",
    [
        pa.array([b"a", b"b"]),
        pa.array([b"a", b"b"], pa.binary(1)),
        pa.array([True, False]),
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([DAY, DAY]),
        pa.array([DAY.date(), DAY.date()]),
        pa.array([1.5, 2.5]).dictionary_encode(),
        pa.array([b"a" * 16, b"b" * 16], pa.binary(16)),
    ],
    ids=lambda ids: str(ids.type),
)
def test_ids_of_a_strange_type_are_refused(role, ids):
    table = pa.table({"user": [1, 2], "item": [7, 8], "rating": [3, 4]} | {role: ids})
    with raises("id.type") as error:
        Ratings.from_frame(table)
    assert role in str(error.value)


@pytest.mark.parametrize(
    ("ids", "labels"),
    [
        (pa.array([2**63 + 5, 1], pa.uint64()), ["1", str(2**63 + 5)]),
        (pa.array([2**63 + 5, 2**63 + 6], pa.uint64()), [str(2**63 + 5), str(2**63 + 6)]),
        (pa.array([5, 7], pa.uint64()), [5, 7]),
        (pa.array([Decimal(5), Decimal(7)], pa.decimal128(38, 0)), [5, 7]),
        (pa.array([Decimal("5.00"), Decimal("7.00")], pa.decimal128(12, 2)), [5, 7]),
        (pa.array([5, 7]).dictionary_encode(), [5, 7]),
        (pa.array(np.array([5, 7], np.float16)), [5, 7]),
        (pa.compute.run_end_encode(pa.array(["b", "a"])), ["a", "b"]),
        (pa.array(["b", "a"], pa.large_string()), ["a", "b"]),
        (pa.array(["b", "a"], pa.string_view()), ["a", "b"]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_ids_that_are_stored_unusually_are_read(ids, labels):
    table = pa.table({"user": ids, "item": [7, 8], "rating": [3, 4]})
    assert Ratings.from_frame(table).users.tolist() == labels


def test_a_fraction_is_no_id():
    ids = pa.array([Decimal("5.25"), Decimal(7)], pa.decimal128(12, 2))
    with raises("id.type") as error:
        Ratings.from_frame(pa.table({"user": ids, "item": [7, 8], "rating": [3, 4]}))
    assert "row 0" in str(error.value)


def test_missing_ids_of_no_type():
    with raises("id.missing") as error:
        Ratings.from_frame(pa.table({"user": pa.nulls(2), "item": [7, 8], "rating": [3, 4]}))
    assert "row 0" in str(error.value)


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("3.5"), Decimal(4)],
        pa.array([Decimal("3.5"), Decimal(4)], pa.decimal128(38, 9)),
        pa.array(np.array([3.5, 4], np.float16)),
        pa.array(["3.5", "4"], pa.large_string()),
        pa.array(["3.5", "4"]).dictionary_encode(),
    ],
)
def test_ratings_of_many_types_are_read(values):
    table = pa.table({"user": [1, 2], "item": [7, 8], "rating": values})
    assert Ratings.from_frame(table).values.tolist() == [3.5, 4]


@pytest.mark.parametrize(
    "times",
    [
        pa.array([DAY.replace(hour=23, tzinfo=UTC)] * 2, pa.timestamp("ns", "Asia/Tokyo")),
        pa.array([DAY.date()] * 2, pa.date64()),
        pa.array([int(DAY.replace(tzinfo=UTC).timestamp())] * 2, pa.uint64()),
        pa.array([Decimal(int(DAY.replace(tzinfo=UTC).timestamp()))] * 2),
    ],
    ids=lambda times: str(times.type),
)
def test_times_of_many_types_are_days_in_utc(times):
    table = pa.table({"user": [1, 2], "item": [7, 8], "rating": [3, 4], "time": times})
    assert Ratings.from_frame(table).days.tolist() == [18_262, 18_262]


@pytest.mark.parametrize("name", ["users", "items", "ratings"])
@pytest.mark.parametrize("as_array", [list, lambda v: np.array(v, dtype=object)])
def test_arrays_of_two_kinds_are_named(name, as_array):
    columns = {"users": [1, 2], "items": [7, 8], "ratings": [3, 4]} | {name: as_array([1, "x"])}
    with raises("column.type") as error:
        Ratings.from_columns(**columns)
    assert name in str(error.value)
    assert "row 0: 1" in str(error.value)


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"users": 3}, "column.type"),
        ({"users": [2**70, 1]}, "column.type"),
        ({"users": np.ones((2, 2))}, "column.type"),
        ({"items": [7, 8, 9]}, "argument.shape"),
        ({"days": [1]}, "argument.shape"),
        ({"days": ["a", "b"]}, "argument.value"),
        ({"days": [0.5, 1]}, "argument.value"),
        ({"days": [[1], [2]]}, "argument.value"),
        ({"days": [2**40, 1]}, "argument.value"),
    ],
)
def test_arrays_that_are_no_columns(columns, code):
    with raises(code):
        Ratings.from_columns(**{"users": [1, 2], "items": [7, 8], "ratings": [3, 4]} | columns)


def test_polars_objects():
    table = pl.DataFrame(
        {"user": pl.Series([1, "a"], dtype=pl.Object), "item": [7, 8], "rating": [3, 4]}
    )
    with raises("id.type") as error:
        Ratings.from_frame(table)
    assert "user" in str(error.value)


def test_one_column_is_no_table():
    with raises("argument.type"):
        Ratings.from_frame(pd.Series([1, 2]))
