from datetime import datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.ratings import Ratings, RatingScale

# Rows that are left out are reported; most tests here are about which ones.
pytestmark = pytest.mark.filterwarnings("ignore:.*rated an item more than once")

FIRST = 12_000 * 86_400  # in 2002

# Three users, three items; in rows by user: ann: heat 4, up 2; ben: heat 5; cid: alien 1, up 3.
COLUMNS = {
    "user_id": ["cid", "ann", "ben", "ann", "cid"],
    "item_id": ["up", "up", "heat", "heat", "alien"],
    "rating": [3.0, 2.0, 5.0, 4.0, 1.0],
    "timestamp": [FIRST + second for second in (86_400 * 3, 86_399, 0, 86_400, 86_400 * 2)],
}


def test_from_frame_compresses_rows_by_user_and_sorts_labels():
    ratings = Ratings.from_frame(pa.table(COLUMNS))
    assert ratings.users.tolist() == ["ann", "ben", "cid"]
    assert ratings.items.tolist() == ["alien", "heat", "up"]
    assert ratings.indptr.tolist() == [0, 2, 3, 5]
    assert ratings.indices.tolist() == [1, 2, 1, 0, 2]
    assert ratings.values.tolist() == [4, 2, 5, 1, 3]
    assert ratings.days.tolist() == [12_001, 12_000, 12_000, 12_002, 12_003]
    assert ratings.scale == RatingScale(1, 5, 1)
    assert ratings.activity.tolist() == [2, 1, 2]
    assert ratings.support.tolist() == [1, 2, 2]
    assert ratings.density == 5 / 9
    dtypes = [ratings.indptr.dtype, ratings.indices.dtype, ratings.values.dtype, ratings.days.dtype]
    assert dtypes == [np.int64, np.int32, np.float32, np.int32]


def test_every_data_frame_with_the_arrow_capsule_gives_the_same_ratings():
    table = pa.table(COLUMNS)
    frames = [table, pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)]
    frames.append(duckdb.connect().from_arrow(table))
    expected = Ratings.from_frame(table)
    assert all(Ratings.from_frame(frame) == expected for frame in frames)


def test_row_order_of_the_input_does_not_matter():
    table = pa.table(COLUMNS)
    shuffled = table.take(pa.array([4, 2, 0, 3, 1]))
    assert Ratings.from_frame(shuffled).digest() == Ratings.from_frame(table).digest()


def test_csr_shares_memory_and_keeps_ratings_of_zero():
    ratings = Ratings.from_columns([1, 1, 2], [1, 2, 1], [0, 1, 0])
    assert np.shares_memory(ratings.csr.data, ratings.values)
    assert ratings.csr.nnz == 3
    assert ratings.csr.shape == (2, 2)


def test_ratings_cannot_be_changed():
    ratings = Ratings.from_frame(pa.table(COLUMNS))
    for name in ("users", "items", "indptr", "indices", "values", "days"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(ratings, name)[0] = 0
    with pytest.raises(AttributeError, match="immutable"):
        ratings.values = np.zeros(5)
    with pytest.raises((ValueError, RuntimeError)):
        ratings.csr.data[0] = 9


def test_the_callers_arrays_are_neither_locked_nor_shared():
    values = np.array([4, 2], np.float32)
    ratings = Ratings([1], [1, 2], [0, 2], [0, 1], values, None, RatingScale(1, 5, 1))
    values[0] = 1
    assert ratings.values.tolist() == [4, 2]


def test_to_arrow_and_back_is_the_same():
    ratings = Ratings.from_frame(pa.table(COLUMNS))
    assert Ratings.from_frame(ratings.to_arrow(), scale=ratings.scale) == ratings


def test_ids_that_look_like_numbers_but_are_not_stay_text():
    for ids in (["007", "7"], ["1", "1.0"], ["+1", "1"], ["1", "x"], ["1e3", "2"], ["-0", "0"]):
        assert Ratings.from_columns(ids, [1, 1], [1, 2]).users.tolist() == sorted(ids)
    assert Ratings.from_columns(["10", "-9"], [1, 1], [1, 2]).users.tolist() == [-9, 10]
    huge = ["99999999999999999999", "1"]
    assert Ratings.from_columns(huge, [1, 1], [1, 2]).users.tolist() == sorted(huge)


def test_ids_kept_as_floats_are_read_as_whole_numbers():
    frame = pd.DataFrame({"user": [1.0, 2.0], "item": [1, 1], "rating": [3, 4]})
    assert Ratings.from_frame(frame).users.tolist() == [1, 2]
    with raises("id.type") as error:
        Ratings.from_frame(frame.assign(user=[1.0, 2.5]))
    assert "row 1" in str(error.value)


@pytest.mark.parametrize(
    ("column", "values", "place", "code"),
    [
        ("user", ["a", None], "row 1", "id.missing"),
        ("user", ["a", ""], "row 1", "id.missing"),
        ("item", [None, 2], "row 0", "id.missing"),
        ("rating", [1, None], "row 1", "rating.missing"),
        ("rating", [1, float("nan")], "row 1", "rating.not-a-number"),
        ("rating", [float("-inf"), 1], "row 0", "rating.not-a-number"),
        ("rating", [1e39, 1], "row 0", "rating.not-a-number"),
        ("rating", ["4", "four"], "row 1", "rating.not-a-number"),
        ("rating", [True, False], "rating column", "column.type"),
        ("time", ["2005-01-01", None], "row 1", "time.missing"),
        ("time", ["2005-01-01", "soon"], "row 1", "time.unreadable"),
        ("time", [1e30, 0], "row 0", "time.unreadable"),
    ],
)
def test_bad_values_are_named_with_their_row(column, values, place, code):
    columns = {"user": ["a", "b"], "item": [1, 2], "rating": [1, 2], "time": [0, 1]}
    with raises(code) as error:
        Ratings.from_frame(pa.table(columns | {column: values}), time="time")
    assert place in str(error.value)


def test_ratings_off_a_given_scale_are_refused():
    table = pa.table({"user": [1, 2], "item": [1, 1], "rating": [1, 7.5]})
    with raises("rating.off-scale") as error:
        Ratings.from_frame(table, scale=RatingScale(1, 5, 1))
    assert "row 1: rating 7.5" in str(error.value)


def test_empty_tables_and_missing_columns_are_refused():
    with raises("table.no-ratings"):
        Ratings.from_columns([], [], [])
    with raises("column.missing") as error:
        Ratings.from_frame(pa.table({"user": [1], "item": [2], "raiting": [3]}))
    assert "'raiting'" in str(error.value)
    with raises("column.missing") as error:
        Ratings.from_frame(pa.table(COLUMNS), user="who")
    assert "'who'" in str(error.value)
    with raises("column.ambiguous") as error:
        Ratings.from_frame(pa.table({"user": [1], "item": [1], "stars": [1], "Stars": [2]}))
    assert "'stars' and 'Stars'" in str(error.value)
    with raises("argument.type"):
        Ratings.from_frame([(1, 2, 3)])


DOUBLED = pa.table(
    {
        "user": [1, 1, 1, 2, 2, 2],
        "item": [7, 8, 7, 9, 9, 9],
        "rating": [1, 2, 4, 5, 1, 3],
        "time": [FIRST + 86_400 * day for day in (0, 1, 2, 3, 4, 5)],
    }
)


def test_duplicates_are_counted_and_shown():
    with raises("rating.duplicate") as caught:
        Ratings.from_frame(DOUBLED)
    message = str(caught.value)
    assert message.startswith("2 (user, item) pairs occur more than once")
    assert "user 1 and item 7: 1 (row 0), 4 (row 2)" in message
    assert "--duplicates last" in message


def test_last_duplicate_wins():
    ratings = Ratings.from_frame(DOUBLED, duplicates="last")
    assert ratings.values.tolist() == [4, 2, 3]
    assert ratings.days.tolist() == [12_002, 12_001, 12_005]
    assert ratings.indptr.tolist() == [0, 2, 3]


def test_mean_of_duplicates():
    ratings = Ratings.from_frame(DOUBLED, duplicates="mean")
    assert ratings.values.tolist() == [2.5, 2, 3]
    on_scale = Ratings.from_frame(DOUBLED, duplicates="mean", scale=RatingScale(1, 5, 1))
    assert on_scale.values.tolist() == [3, 2, 3]  # 2.5 is 1.5 steps from 1: to the even step


def test_unknown_way_with_duplicates_is_refused():
    with raises("option.value") as error:
        Ratings.from_frame(DOUBLED, duplicates="first")
    assert "'first'" in str(error.value)


@pytest.mark.parametrize(
    "times",
    [
        [1_104_537_600, 1_104_623_999],
        [1_104_537_600_000, 1_104_623_999_999],
        [1_104_537_600_000_000, 1_104_623_999_999_999],
        ["2005-01-01", "2005-01-01"],
        ["2005-01-01T00:00:00Z", "2005-01-02T00:59:59+01:00"],
        ["2005-01-01 00:00:00", "2005-01-01 23:59:59.5"],
        ["1104537600", "1104623999"],
        pa.array([12784, 12784], pa.date32()),
        pa.array([1_104_537_600, 1_104_623_999], pa.timestamp("s")),
    ],
)
def test_times_become_whole_utc_days(times):
    table = pa.table({"user": [1, 2], "item": [1, 1], "rating": [1, 2], "time": times})
    assert Ratings.from_frame(table).days.tolist() == [12784, 12784]


@pytest.mark.parametrize("times", [[20051231, 20050102], ["20051231", "20050102"]])
def test_numbers_that_are_dates_are_read_as_dates(times):
    table = pa.table({"user": [1, 2], "item": [1, 1], "rating": [1, 2], "time": times})
    assert Ratings.from_frame(table).days.tolist() == [13148, 12785]


def test_seconds_among_milliseconds_are_refused():
    times = [1_104_537_600_000, 1_104_537_600]
    table = pa.table({"user": [1, 2], "item": [1, 1], "rating": [1, 2], "time": times})
    with raises("time.mixed") as error:
        Ratings.from_frame(table, time="time")
    assert "row 1" in str(error.value)
    assert "row 0" in str(error.value)


def test_an_id_wins_over_a_title():
    columns = {"user": ["x", "x"], "userId": [1, 2], "movie": ["Up", "Up"], "movieId": [1, 2]}
    ratings = Ratings.from_frame(pa.table(columns | {"rating": [1, 2]}))
    assert (ratings.users.tolist(), ratings.items.tolist()) == ([1, 2], [1, 2])


@pytest.mark.parametrize(
    "users",
    [
        pa.array([1e300, 1.0]),
        pa.array([float("inf"), 1.0]),
        pa.array([[1], [2]]),
    ],
)
def test_users_that_are_no_ids_are_refused(users):
    with raises("id.type"):
        Ratings.from_frame(pa.table({"user": users, "item": [1, 1], "rating": [1, 2]}))


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.duration("s"), pa.bool_()])
def test_times_that_are_no_dates_are_refused(kind):
    times = pa.array([1, 0], pa.int32()).cast(kind if kind != pa.duration("s") else pa.int64())
    table = pa.table({"user": [1, 2], "item": [1, 1], "rating": [1, 2], "time": times.cast(kind)})
    with raises("column.type"):
        Ratings.from_frame(table, time="time")


def test_times_before_1970_round_down():
    table = pa.table({"user": [1], "item": [1], "rating": [1], "time": [datetime(1966, 10, 31)]})
    with pytest.warns(UserWarning, match="1966-10-31"):
        assert Ratings.from_frame(table).days.tolist() == [-1158]


def test_a_time_column_without_any_time_counts_as_none():
    times = pa.array([None, None], pa.int64())
    table = pa.table({"user": [1, 2], "item": [1, 1], "rating": [1, 2], "time": times})
    with pytest.warns(UserWarning, match="Column 'time' was not used as times: it is empty"):
        assert Ratings.from_frame(table).days is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"users": [1, 1]}, "argument.value"),
        ({"indptr": [0, 1]}, "argument.value"),
        ({"indptr": [0, 3, 2]}, "argument.value"),
        ({"indices": [1, 0]}, "argument.value"),
        ({"indices": [0, 5]}, "argument.value"),
        ({"values": [1]}, "argument.shape"),
        ({"values": [1, 9]}, "rating.off-scale"),
        ({"days": [1]}, "argument.shape"),
    ],
)
def test_the_constructor_checks_finished_rows(change, code):
    good = {
        "users": [1, 2],
        "items": [1, 2],
        "indptr": [0, 2, 2],
        "indices": [0, 1],
        "values": [1, 2],
        "days": None,
        "scale": RatingScale(1, 5, 1),
    }
    assert Ratings(**good).activity.tolist() == [2, 0]
    with raises(code):
        Ratings(**(good | change))


def test_digest_changes_with_anything():
    base = Ratings.from_columns([1, 2], [1, 2], [1, 5], days=[0, 0])
    others = [
        Ratings.from_columns([1, 3], [1, 2], [1, 5], days=[0, 0]),
        Ratings.from_columns([1, 2], [1, 2], [5, 1], days=[0, 0]),
        Ratings.from_columns([1, 2], [1, 2], [1, 5], days=[0, 1]),
        Ratings.from_columns([1, 2], [1, 2], [1, 5]),
        Ratings.from_columns([1, 2], [1, 2], [1, 5], days=[0, 0], scale=RatingScale(1, 5, 1)),
    ]
    assert len({rating.digest() for rating in [base, *others]}) == 6
