"""Dates on which no user can have rated, and dates outside Python's range."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.io.columns.times import parse_days
from recveil.publish import convert

KNOWN = datetime.date(2005, 12, 31)


def table(times):
    return pa.table({"user": [1, 1, 2], "item": [5, 6, 5], "rating": [3, 4, 1], "time": times})


FAR = {
    "date": pa.array([KNOWN, KNOWN, datetime.date(9999, 12, 31)]),
    "early": pa.array([KNOWN, KNOWN, datetime.date(1, 1, 1)]),
    "days": pa.array([1, 2, 2**31 - 1], pa.int32()).cast(pa.date32()),
    "seconds": pa.array([1, 2, 2**62], pa.timestamp("s")),
    "milliseconds": pa.array([0, 86_400_000, 86_400_000 * 10**9], pa.date64()),
    "text": pa.array(["2005-12-31", "2005-12-31", "9999-12-31"]),
}


@pytest.mark.parametrize("name", FAR)
def test_far_dates_are_left_out_with_a_note_or_refused(tmp_path, name):
    path = tmp_path / "ratings.arrow"
    times = table(FAR[name])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, times.schema) as writer:
        writer.write_table(times)
    reading = understand(path)
    assert reading.ratings.days is None
    assert any("no user rated then" in note for note in reading.notes)
    with raises("time.implausible") as error:
        read_ratings(path, time="time")
    assert "ratings.arrow row 3" in str(error.value)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_every_unit_gives_the_same_days(unit):
    times = pa.chunked_array([pa.array([KNOWN] * 2).cast(pa.timestamp(unit))])
    assert parse_days(times, str).days.tolist() == [13148, 13148]
    assert parse_days(times.cast(pa.date64()), str).days.dtype == np.int32


def test_the_last_day_that_is_taken_is_read_again(tmp_path):
    days = pa.array([KNOWN, KNOWN, datetime.date(4999, 12, 31)])
    convert(table(days), tmp_path / "ratings.csv")
    with pytest.warns(UserWarning, match="1 of 3 times is before 1990 or in the future"):
        assert read_ratings(tmp_path / "ratings.csv").days.max() == 1_106_684
