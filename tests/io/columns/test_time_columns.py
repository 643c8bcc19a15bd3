"""Columns of dates without an option: used if beyond doubt, named if they may be."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.io import understand
from recveil.io.columns.time_columns import Look, look_for_dates
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError

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


@pytest.mark.parametrize(
    "name",
    [
        *("birth_date", "release_date", "signup", "member_since", "dob", "startDate", "EndDate"),
        *("publishedAt", "joined", "dateOfBirth", "enddate", "date_signed", "birthday", "end2"),
    ],
)
def test_dates_of_something_else_are_named_only(name):
    assert look_for_dates(pa.table({name: pa.array([DAY, DAY])})) == Look(None, (name,))


@pytest.mark.parametrize(
    "name",
    ["calendar", "assigned", "calendarDay", "vendor", "restarted", "public_day", "remembered"],
)
def test_what_only_contains_such_a_word_may_be_of_ratings(name):
    assert look_for_dates(pa.table({name: pa.array([DAY, DAY])})) == Look(name)


def test_what_was_taken_is_said():
    frame = pd.DataFrame(ROWS | {"seen": ["2009-12-14", "2009-12-15", "2009-12-14"]})
    said = r"^Column 'seen' was used as the times.*name that with time \(--time\)"
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
    said = "^Column 'time' was not used as times: its numbers, from 1 to 3"
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
    with pytest.warns(UserWarning, match="'x' was not used .*: all ratings of an item"):
        assert Ratings.from_frame(frame).days is None
    frame = many(lambda users, items: [text(day) for day in users + items])
    with pytest.warns(UserWarning, match="'x' was used"):
        assert Ratings.from_frame(frame).days is not None


def test_dates_in_the_first_rows_alone_are_no_times():
    rows = 2_000
    frame = pd.DataFrame({"user": range(rows), "item": range(rows), "rating": [1, 2] * 1_000})
    frame["x"] = ["2009-12-14"] * (rows - 1) + ["never"]
    with pytest.warns(UserWarning, match="'x' was not used .*: not every row holds a date"):
        assert Ratings.from_frame(frame).days is None


def test_nothing_claims_that_there_are_no_dates():
    assert "times unknown" in repr(Ratings.from_frame(pa.table(ROWS)))


DAYS = ["2009-12-14", "2009-12-15", "2009-12-14"]
NO_TIMES = {
    "counter": [1, 2, 3],
    "empty": pa.nulls(3, pa.string()),
    "clock": ["00:51:21", "00:51:22", "00:51:23"],
    "half unknown": [0, SECONDS, -1],
}


def warned(frame, **given):
    """Return the days of some ratings, and what was said of them."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        days = Ratings.from_frame(pa.table(frame), **given).days
    return None if days is None else days.tolist(), [str(one.message) for one in said]


@pytest.mark.parametrize("values", NO_TIMES.values(), ids=NO_TIMES)
class TestColumnsThatAreOnlyCalledTimes:
    @pytest.mark.parametrize("name", ["date", "seen"])
    def test_the_column_that_holds_dates_is_taken_instead(self, values, name):
        days, said = warned(ROWS | {"time": values, name: DAYS})
        assert days == [14_592, 14_593, 14_592]
        assert said[0].startswith("Column 'time' was not used as times, judging by its first rows:")
        assert said[1].startswith(f"Column {name!r} was used as the times")

    def test_columns_that_may_hold_dates_are_named(self, values):
        days, said = warned(
            ROWS | {"time": values, "seen": ["14/12/2009", "15/12/2009", "1/1/2010"]}
        )
        assert days is None
        assert said[0].startswith("Column 'time' was not used as times:")
        assert "'seen' looks like dates" in said[1]

    def test_it_stands_alone(self, values):
        days, (said,) = warned(ROWS | {"time": values})
        assert days is None
        assert said.startswith("Column 'time' was not used as times:")

    def test_a_named_column_is_not_replaced(self, values):
        refusal = ""
        try:
            days, (said,) = warned(ROWS | {"time": values, "seen": DAYS}, time="time")
        except RecveilError as error:
            refusal = str(error)
        if refusal:
            assert len(refusal) < 300
            assert "row 0: time" in refusal
        else:
            assert days is None
            assert said.startswith("Column 'time' was not used as times:")


def test_another_name_of_times_is_taken_where_the_first_holds_none():
    days, said = warned(ROWS | {"time": [1, 2, 3], "created_at": [SECONDS, SECONDS, SECONDS]})
    assert days == [14_592] * 3
    assert said[0].startswith("Column 'time' was not used")


def test_among_several_columns_of_dates_none_is_guessed():
    days, said = warned(ROWS | {"time": [1, 2, 3], "x": DAYS, "y": DAYS})
    assert days is None
    assert "'x', 'y' look like dates" in said[1]


def test_times_of_which_some_are_missing_are_left_out_loudly():
    frame = ROWS | {"created_at": ["2009-12-14", None, None]}
    days, (said,) = warned(frame)
    assert days is None
    assert said.startswith(
        "Column 'created_at' was dropped, and no times were kept: row 1: the time is missing, as "
        "in 2 of 3 rows"
    )
    with raises("time.missing") as error:
        Ratings.from_frame(pa.table(frame), time="created_at")
    assert "row 1" in str(error.value)
    with raises("time.missing") as error:
        Ratings.from_frame(pa.table(frame), time_format="%Y-%m-%d")
    assert "row 1" in str(error.value)


def test_unknown_times_that_are_written_as_numbers_are_counted():
    seconds = [SECONDS] * 9 + [0]
    frame = {"user": range(10), "item": [7] * 10, "rating": [1, 2] * 5, "time": seconds}
    for unit in (1, 10**3, 10**6, 10**9):
        table = pa.table(frame | {"time": [second * unit for second in seconds]})
        days, (said,) = warned(table)
        assert days is None
        assert "row 9: time 0 would be before March 1973, as would 1 of the 10 times" in said
        with raises("time.implausible") as error:
            Ratings.from_frame(table, time="time")
        assert "row 9" in str(error.value)


@pytest.mark.parametrize(
    "names",
    [
        *(("year", "month", "day"), ("r_year", "r_month", "r_day"), ("jahr", "monat", "tag")),
        *(
            ("Ann\u00e9e", "Mois", "Jour"),
            ("a\u00f1o", "mes", "d\u00eda"),
            ("anno", "mese", "giorno"),
        ),
        *(("ano", "m\u00eas", "dia"), ("jaar", "maand", "dag")),
    ],
)
def test_dates_in_columns_of_year_month_and_day_are_reported(tmp_path, names):
    path = tmp_path / "ratings.csv"
    path.write_text(f"user,item,rating,{','.join(names)}\n1,7,4,2020,5,3\n1,8,2,2020,6,9\n")
    (note,) = (note for note in understand(path).notes if "parts of dates" in note)
    assert all(repr(name) in note for name in names)
    path.write_text("user,item,rating,date\n1,7,4,2020-05-03\n1,8,2,2020-06-09\n")
    assert understand(path).ratings.days is not None


@pytest.mark.parametrize("other", ["updated_at", "seen"])
def test_dates_in_two_columns_are_reported_unless_one_was_named(tmp_path, other):
    path = tmp_path / "ratings.csv"
    path.write_text(
        f"user,item,rating,rated_at,{other},birth_date\n1,7,4,2020-05-03,2021-05-03,1990-05-03\n"
        f"1,8,2,2020-06-09,2021-06-09,1990-05-03\n"
    )
    (note,) = (note for note in understand(path).notes if "holds dates, too" in note)
    assert f"{other!r} holds" in note
    named = understand(path, time=other)
    assert not [note for note in named.notes if "dates" in note]
    assert (named.ratings.days > 18_600).all()
