"""Columns of dates without an option in files: used if beyond doubt, and always reported."""

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.io import read_ratings, understand
from recveil.io.tables import first_rows

RATINGS = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=3)
FORMATS = ["csv", "tsv", "inter", "parquet", "arrow", "stream"]


def frame(name, times):
    """The same ratings, with times in a column of some name, written in some way."""
    table = RATINGS.to_arrow().to_pandas()
    table[name] = times(pd.to_datetime(table.pop("timestamp"), unit="s"))
    return table


def write(table, path, format):
    if format in ("csv", "tsv", "inter"):
        if format == "inter":
            table = table.rename(columns={"user_id": "user_id:token", "rating": "rating:float"})
        table.to_csv(path, sep="," if format == "csv" else "\t", index=False)
        return path
    table = pa.Table.from_pandas(table)
    if format == "parquet":
        pq.write_table(table, path, row_group_size=100)
    elif format == "arrow":
        pyarrow.feather.write_feather(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    return path


@pytest.mark.parametrize("format", FORMATS)
class TestEveryFormat:
    def test_iso_dates_are_used_and_reported(self, tmp_path, format):
        path = write(frame("seen", lambda t: t.dt.strftime("%Y-%m-%d")), tmp_path / "r", format)
        reading = understand(path)
        assert reading.ratings == RATINGS
        assert [(c.role, c.name) for c in reading.columns][-1] == ("time", "seen")
        (note,) = reading.notes
        assert note.startswith("Column 'seen' was used as the times")

    def test_other_notations_are_reported_and_need_a_format(self, tmp_path, format):
        path = write(frame("seen", lambda t: t.dt.strftime("%d/%m/%Y")), tmp_path / "r", format)
        reading = understand(path)
        assert reading.ratings.days is None
        assert "No column of dates was recognized, but 'seen' looks like dates" in reading.notes[0]
        assert understand(path, time="seen", time_format="%d/%m/%Y").ratings == RATINGS
        with raises("time.unreadable"):
            understand(path, time="seen")
        with raises("time.missing"):
            understand(path, time_format="%d/%m/%Y")

    def test_numbers_are_not_taken_unless_they_are_called_times(self, tmp_path, format):
        seconds = frame("seen", lambda t: t.astype("datetime64[s]").astype("int64"))
        path = write(seconds, tmp_path / "r", format)
        reading = understand(path)
        assert reading.ratings.days is None
        assert "'seen' looks like dates" in reading.notes[0]
        path = write(seconds.rename(columns={"seen": "created_at"}), path, format)
        assert understand(path).ratings == RATINGS

    def test_counters_are_left_out_and_reported(self, tmp_path, format):
        path = write(frame("timestamp", lambda t: range(1, len(t) + 1)), tmp_path / "r", format)
        reading = understand(path)
        assert reading.ratings.days is None
        assert "time" not in {column.role for column in reading.columns}
        (note,) = reading.notes
        assert note.startswith("Column 'timestamp")
        assert "from 1 to 900, would be seconds before March 1973" in note

    def test_who_asks_for_no_times_hears_nothing_of_them(self, tmp_path, format):
        path = write(frame("seen", lambda t: t.dt.strftime("%d/%m/%Y")), tmp_path / "r", format)
        assert understand(path, times=False).notes == ()


@pytest.mark.parametrize("format", FORMATS)
class TestColumnsThatAreOnlyCalledTimes:
    def test_a_counter_gives_way_to_dates(self, tmp_path, format):
        table = frame("seen", lambda t: t.dt.strftime("%Y-%m-%d"))
        table["timestamp"] = range(len(table))
        reading = understand(write(table, tmp_path / "r", format))
        assert reading.ratings == RATINGS
        assert [(c.role, c.name) for c in reading.columns][-1] == ("time", "seen")
        assert "'timestamp' was not used as times" in reading.notes[0]

    def test_the_day_is_taken_rather_than_the_time_of_day(self, tmp_path, format):
        table = frame("date", lambda t: t.dt.strftime("%Y-%m-%d"))
        table["time"] = "00:51:21"
        reading = understand(write(table, tmp_path / "r", format))
        assert reading.ratings == RATINGS
        assert reading.notes[1].startswith("Column 'date' was used as the times")

    def test_missing_times_are_no_error_unless_named(self, tmp_path, format):
        table = frame("created_at", lambda t: t.dt.strftime("%Y-%m-%d"))
        table.loc[[1, 5], "created_at"] = None
        path = write(table, tmp_path / "r", format)
        reading = understand(path)
        assert reading.ratings.days is None
        assert "time" not in [column.role for column in reading.columns]
        (note,) = reading.notes
        place = "row 2" if format in ("parquet", "arrow", "stream") else "line 3"
        said = f"'created_at' was dropped, and no times were kept: r {place}: the time is missing"
        assert said in note
        with raises("time.missing") as error:
            understand(path, time="created_at")
        assert str(error.value).startswith(f"r {place}: ")


def test_an_audit_refuses_times_of_which_some_are_missing(tmp_path):
    """Without all of them, it would understate the risk."""
    table = frame("created_at", lambda t: t.dt.strftime("%Y-%m-%d"))
    table.loc[1, "created_at"] = None
    path = write(table, tmp_path / "r.csv", "csv")
    for given, code in (({}, "time.unreadable"), ({"time": "created_at"}, "time.missing")):
        with raises(code) as error:
            audit(path, targets=9, curves=False, **given)
        assert "r.csv line 3: " in str(error.value)
    assert audit(path, targets=9, curves=False, times=False).ratings.days is None


def test_leading_zeros_stay_where_a_format_reads_them(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating,time\n1,1,4,1412200910\n2,1,5,0112200910\n")
    days = read_ratings(path, time_format="%d%m%Y%H").days
    assert days.tolist() == [14_592, 14_579]


def test_only_the_first_rows_are_looked_at(tmp_path):
    table = frame("seen", lambda t: t.dt.strftime("%Y-%m-%d"))
    long = pd.concat([table] * 3)
    for format, name in (("csv", "csv"), ("parquet", "parquet"), ("arrow", "arrow")):
        rows = first_rows(write(long, tmp_path / "r", format), name)
        assert rows.num_rows == 1_000
    assert first_rows(tmp_path / "r", "netflix") is None


def test_the_audit_does_not_claim_that_there_are_no_dates(tmp_path):
    path = write(frame("seen", lambda t: t.dt.strftime("%d/%m/%Y")), tmp_path / "r.csv", "csv")
    found = audit(path, targets=9, curves=False)
    result = [outcome.adversary.description for outcome in found.attacks]
    assert any("no dates are known: no column of dates was recognized" in text for text in result)
    plain = found.to_dict()
    assert any("'seen' looks like dates" in note for note in plain["warnings"])
    page = found.to_html()
    assert "<dt>dates</dt><dd>not recognized</dd>" in page
    assert "looks like dates" in page
