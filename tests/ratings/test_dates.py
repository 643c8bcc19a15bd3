"""Columns of dates that nobody called so: taken if beyond doubt, named if they may be."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recveil.ratings import Ratings
from recveil.ratings.dates import Look, look_for_dates

DAY = datetime.date(2009, 12, 14)
SECONDS = 1_260_748_800
ROWS = {"user": [1, 1, 2], "item": [5, 6, 5], "rating": [3, 4, 1]}


@pytest.mark.parametrize(
    "name",
    [
        *("timestamp", "time", "date", "Date", "created_at", "createdAt", "CREATED-AT", "ts"),
        *("review_time", "reviewTime", "unixReviewTime", "rated_on", "rated_at", "time_stamp"),
        *("updated_at", "event_time", "event_timestamp", "date_updated", "ratingDate", "epoch"),
        *("timestamp:float", "submitted_at", "creation_date"),
    ],
)
def test_names_of_times(name):
    table = pa.table(ROWS | {name: [SECONDS, SECONDS + 86_400, SECONDS]})
    assert Ratings.from_frame(table).days.tolist() == [14_592, 14_593, 14_592]


@pytest.mark.parametrize(
    "values",
    [
        ["2009-12-14", "2009-12-15"],
        ["2009-12-14 10:00:00", "2009-12-15T10:00:00Z"],
        ["2009-12-14T10:00:00.123+02:00", "2009-12-15T10:00:00+0200"],
        pa.array([DAY, DAY]),
        pa.array([DAY, DAY]).cast(pa.timestamp("ns", "UTC")),
        pa.array(["2009-12-14", "2009-12-15"]).dictionary_encode(),
    ],
)
def test_one_column_of_dates_is_taken(values):
    assert look_for_dates(pa.table({"n": [1, 2], "x": values})) == Look("x")


@pytest.mark.parametrize(
    "values",
    [
        ["14/12/2009", "15/12/2009"],
        ["14.12.09", "1.1.10"],
        ["05 26, 2013", "06 1, 2013"],
        ["Dec 14, 2009", "January 15 2010"],
        ["14-Dec-2009", "15 Jan 2010"],
        ["2009-12-14", None],
        pa.array([DAY, None]),
        [SECONDS, SECONDS + 1],
        [SECONDS * 1_000, SECONDS * 1_000 + 1],
        [str(SECONDS), str(SECONDS + 1)],
        [20_091_214, 20_100_101],
        ["1066-10-14", "1066-10-15"],
    ],
)
def test_what_may_be_dates_is_named_and_not_taken(values):
    assert look_for_dates(pa.table({"n": [1, 2], "x": values})) == Look(None, ("x",))


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        [SECONDS, SECONDS],
        [12_345_678, 99_999_999],
        ["Heat", "Alien"],
        ["2009-12-14", "later"],
        ["1/2", "3/4"],
        ["192.168.0.1", "10.0.0.1 up"],
        [4.5, 3.0],
        [True, False],
        pa.nulls(2),
        pa.array([[1], [2]]),
        ["", ""],
    ],
)
def test_what_is_no_date_is_passed_over(values):
    assert look_for_dates(pa.table({"n": [1, 2], "x": values})) == Look()


def test_two_columns_of_dates_are_left_to_the_owner():
    days = pa.array([DAY, DAY])
    assert look_for_dates(pa.table({"x": days, "y": days})) == Look(None, ("x", "y"))


@pytest.mark.parametrize("name", ["birth_date", "release_date", "signup", "member_since", "dob"])
def test_dates_of_something_else_are_named_only(name):
    assert look_for_dates(pa.table({name: pa.array([DAY, DAY])})) == Look(None, (name,))


def test_what_was_taken_is_said():
    frame = pd.DataFrame(ROWS | {"seen": ["2009-12-14", "2009-12-15", "2009-12-14"]})
    said = r"^Column 'seen' was taken for the times.*name that with time \(--time\)"
    with pytest.warns(UserWarning, match=said):
        assert Ratings.from_frame(frame).days.tolist() == [14_592, 14_593, 14_592]


def test_what_was_not_taken_is_said():
    frame = pd.DataFrame(ROWS | {"seen": ["14/12/2009", "15/12/2009", "14/12/2009"]})
    said = "^No column of dates was recognized, but 'seen' looks like dates"
    with pytest.warns(UserWarning, match=said):
        assert Ratings.from_frame(frame).days is None
    ratings = Ratings.from_frame(frame, time="seen", time_format="%d/%m/%Y")
    assert ratings.days.tolist() == [14_592, 14_593, 14_592]


def test_counters_are_left_out_loudly():
    frame = pd.DataFrame(ROWS | {"time": [1, 2, 3]})
    said = "^Column 'time' was not taken for times: its numbers, from 1 to 3"
    with pytest.warns(UserWarning, match=said):
        assert Ratings.from_frame(frame).days is None


def many(column):
    """A hundred ratings of ten items, with one more column."""
    users, items = np.divmod(np.arange(100), 10)
    rows = {"user": users, "item": items, "rating": users % 5 + 1, "x": column(users, items)}
    return pd.DataFrame(rows)


def text(day):
    return str(DAY + datetime.timedelta(days=int(day)))


def test_a_date_that_belongs_to_the_item_is_no_time():
    frame = many(lambda _, items: [text(item) for item in items])
    with pytest.warns(UserWarning, match="'x' was not taken .*: each item has one date only"):
        assert Ratings.from_frame(frame).days is None
    frame = many(lambda users, items: [text(day) for day in users + items])
    with pytest.warns(UserWarning, match="'x' was taken"):
        assert Ratings.from_frame(frame).days is not None


def test_dates_in_the_first_rows_alone_are_no_times():
    rows = 2_000
    frame = pd.DataFrame({"user": range(rows), "item": range(rows), "rating": [1, 2] * 1_000})
    frame["x"] = ["2009-12-14"] * (rows - 1) + ["never"]
    with pytest.warns(UserWarning, match="'x' was not taken .*: not every row of it holds a date"):
        assert Ratings.from_frame(frame).days is None


def test_nothing_claims_that_there_are_no_dates():
    assert "times unknown" in repr(Ratings.from_frame(pa.table(ROWS)))
