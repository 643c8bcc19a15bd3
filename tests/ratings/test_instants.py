"""Of several ratings of a pair the latest counts, wherever it stands in the file."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.io import understand
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale

# Rows that are left out are reported; most tests here are about which ones.
pytestmark = pytest.mark.filterwarnings("ignore:.*rated an item more than once")

STARS = RatingScale(1, 5, 1)
TIMES = {
    "seconds": ("978300001", "978300002", "978300003"),
    "milliseconds": ("978300000001", "978300000002", "978300000003"),
    "text": ("2005-12-31 09:00:00", "2005-12-31 10:00:00", "2005-12-31 11:00:00"),
    "dates": ("2005-12-30", "2005-12-31", "2006-01-01"),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_latest_of_three_on_one_day(tmp_path: Path, times, order):
    path = tmp_path / "r.csv"
    lines = [f"ann,heat,{1 + at},{times[at]}" for at in order]
    path.write_text("\n".join(["user,item,rating,time", *lines]))
    for with_times in (True, False):
        reading = understand(path, scale=STARS, duplicates="last", times=with_times)
        assert reading.ratings.values.tolist() == [3]
        assert reading.duplicates_dropped == 2
        assert "the latest rating of each pair was kept" in reading.notes[0]
        assert (reading.ratings.days is not None) == with_times


def test_among_equal_times_and_without_times_the_last_line_counts(tmp_path: Path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating,time\nann,heat,5,978300001\nann,heat,2,978300001\n")
    assert understand(path, scale=STARS, duplicates="last").ratings.values.tolist() == [2]
    path.write_text("user,item,rating\nann,heat,5\nann,heat,2\n")
    reading = understand(path, scale=STARS, duplicates="last")
    assert reading.ratings.values.tolist() == [2]
    assert "without times, the rating in the last line of each pair was kept" in reading.notes[0]


def test_a_missing_time_matters_only_where_it_decides(tmp_path: Path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating,time\nann,heat,5,978300001\nann,heat,2,\nben,heat,1,\n")
    with raises("time.missing") as error:
        understand(path, scale=STARS, duplicates="last", times=False, time="time")
    assert "line 3" in str(error.value)
    reading = understand(path, scale=STARS, duplicates="last", times=False)
    assert reading.ratings.values.tolist() == [2, 1]
    assert "'time' was not used as times: r.csv line 3: the time is missing" in reading.notes[0]
    assert "without times, the rating in the last line of each pair was kept" in reading.notes[1]
    seconds = "ann,heat,5,978300009\nann,heat,2,978300008\nben,heat,1,\n"
    path.write_text(f"user,item,rating,time\n{seconds}")
    for named in (None, "time"):
        reading = understand(path, scale=STARS, duplicates="last", times=False, time=named)
        assert reading.ratings.values.tolist() == [5, 1]
        assert "the latest rating of each pair was kept" in reading.notes[0]


NO_TIMES = {
    "counter": ("3", "2", "1"),
    "day of month": ("31", "2", "1"),
    "half unknown": ("978300009", "0", "-1"),
    "clock": ("03:00:00", "02:00:00", "01:00:00"),
}


@pytest.mark.parametrize("values", NO_TIMES.values(), ids=NO_TIMES)
@pytest.mark.parametrize("times", [True, False])
def test_what_is_no_time_orders_nothing(tmp_path: Path, values, times):
    path = tmp_path / "r.csv"
    lines = [f"ann,heat,{5 - at},{value}" for at, value in enumerate(values)]
    path.write_text("\n".join(["user,item,rating,time", *lines]))
    reading = understand(path, scale=STARS, duplicates="last", times=times)
    assert reading.ratings.values.tolist() == [3]
    assert "Column 'time' was not used as times" in reading.notes[0]
    assert "without times, the rating in the last line of each pair was kept" in reading.notes[1]
    assert "time" not in [column.role for column in reading.columns]


def test_in_a_frame_what_is_no_time_orders_nothing():
    frame = pa.table({"user": [1, 1], "item": [7, 7], "rating": [5, 2], "time": [2, 1]})
    reading = understand(frame, scale=STARS, duplicates="last", times=False)
    assert reading.ratings.values.tolist() == [2]
    assert "Column 'time' was not used as times" in reading.notes[0]
    assert "time" not in [column.role for column in reading.columns]
    with pytest.warns(UserWarning, match="'time' was not used as times"):
        assert Ratings.from_frame(frame, duplicates="last").values.tolist() == [2]


NANOSECONDS = 1_260_748_800_000_000_100


@pytest.mark.parametrize(
    "times",
    [
        pa.array([NANOSECONDS + 1, NANOSECONDS]),
        pa.array([str(NANOSECONDS + 1), str(NANOSECONDS)]),
        pa.array([str(NANOSECONDS + 1), str(NANOSECONDS)]).dictionary_encode(),
        pa.array([NANOSECONDS + 1, NANOSECONDS], pa.timestamp("ns")),
    ],
    ids=["numbers", "text", "dictionary", "timestamps"],
)
def test_nanoseconds_keep_their_order(times):
    frame = pa.table({"user": [1, 1], "item": [7, 7], "rating": [5, 2], "time": times})
    assert Ratings.from_frame(frame, duplicates="last").values.tolist() == [5]


def test_the_mean_keeps_the_last_day():
    ratings = Ratings.from_columns([1, 1], [7, 7], [5, 2], days=[9, 3], duplicates="mean")
    assert (ratings.values.tolist(), ratings.days.tolist()) == ([3.5], [9])


def test_many_pairs_against_a_plain_loop():
    rng = np.random.default_rng(3)
    users, items = rng.integers(9, size=400), rng.integers(7, size=400)
    days, values = rng.integers(20, size=400), rng.integers(1, 6, size=400)
    ratings = Ratings.from_columns(users, items, values, days=days, duplicates="last")
    latest: dict[tuple[int, int], tuple[int, int]] = {}
    for user, item, day, value in zip(users, items, days, values, strict=True):
        if (user, item) not in latest or day >= latest[user, item][0]:
            latest[user, item] = (day, value)
    table = ratings.to_arrow().to_pylist()
    found = {(row["user_id"], row["item_id"]): row["rating"] for row in table}
    assert found == {pair: value for pair, (_, value) in latest.items()}


def test_the_release_says_how_many_rows_are_gone(tmp_path: Path):
    rows = [f"{user},{item},{1 + (user + item) % 5}" for user in range(9) for item in range(5)]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating", *rows, "1,1,5", "2,2,5"]))
    reading = {"duplicates": "last", "scale": STARS}
    made = anonymize(tmp_path / "r.csv", tmp_path / "out", k=3, method="predictive", **reading)
    assert made.reading.duplicates_dropped == 2
    card = (tmp_path / "out" / "README.md").read_text()
    assert "2 input rows" in card


def test_frames_say_how_many_rows_are_gone():
    frame = Ratings.from_columns([1, 2], [7, 7], [4, 5]).to_arrow()
    twice = pa.concat_tables([frame, frame])
    with pytest.warns(UserWarning, match="2 rows were dropped, because a user rated an item"):
        Ratings.from_frame(twice, duplicates="last", scale=STARS)
    with pytest.warns(UserWarning, match="1 row was dropped, because the rating is not on the"):
        Ratings.from_frame(frame, scale=RatingScale(1, 4, 1), drop_off_scale=True)
