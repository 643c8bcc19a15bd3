"""Times become days; what counts something else does not."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.errors import RecveilError
from recveil.ratings.times import parse_days, times_from_format


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


@pytest.mark.parametrize(
    "values",
    [[1, 2, 3], ["1", "2", "3"], [0, 0], [5.0, 7.5], [99_999_999, 1], [-5, 812], [14_610, 14_611]],
)
def test_counters_are_no_dates(values):
    found = parse_days(column(values), "row {}".format)
    assert found.days is None
    assert found.problem.startswith("its numbers, from ")
    assert found.problem.endswith("so that they count something else")


@given(st.lists(st.integers(0, 10**8 - 1), min_size=1))
def test_no_counter_becomes_a_day(values):
    assert parse_days(column(values), str).days is None


@pytest.mark.parametrize(
    ("values", "day"),
    [
        ([1_000_000_000, 1_000_000_001], 11_574),
        ([10**8, 10**8], 1_157),
        ([20_011_231, 20_011_231], 11_687),
        (["1970-01-02", "1970-01-02"], 1),
        (pa.array([1, 1], pa.int32()).cast(pa.date32()), 1),
    ],
)
def test_what_is_a_date_stays_one(values, day):
    assert parse_days(column(values), str).days.tolist() == [day, day]


@pytest.mark.parametrize(
    ("values", "format"),
    [
        (["14/12/2009", "15/12/2009"], "%d/%m/%Y"),
        (["12/14/2009", "12/15/2009"], "%m/%d/%Y"),
        (["14.12.09 23:59", "15.12.09 00:00"], "%d.%m.%y %H:%M"),
        (["Dec 14, 2009", "Dec 15, 2009"], "%b %d, %Y"),
        (["2009-12-14T23:59:59.5", "2009-12-15T01:00:00.25"], "%Y-%m-%dT%H:%M:%S.%f"),
        (["15/12/2009 01:30 +0200", "14/12/2009 23:00 -0100"], "%d/%m/%Y %H:%M %z"),
        ([14_122_009, 15_122_009], "%d%m%Y"),
        (pa.array(["14/12/2009", "15/12/2009"]).dictionary_encode(), "%d/%m/%Y"),
    ],
)
def test_a_format_says_how_times_are_written(values, format):
    times = times_from_format(column(values), format, str)
    assert parse_days(times, str).days.tolist() == [14_592, 14_593]


@pytest.mark.parametrize(
    "format", ["%d/%m", "%Y", "%H:%M", "", "14", "%", "%Q/%d/%m/%Y", "%d/%m/%H", "%A %d/%m"]
)
def test_a_format_without_a_whole_date_is_refused(format):
    with pytest.raises(
        RecveilError, match=r"^time_format \(--time-format\) .* day, month and year"
    ):
        times_from_format(column(["14/12/2009"]), format, str)


def test_the_first_row_that_is_written_otherwise_is_named():
    rows = column(["14/12/2009", "12/14/2009", "31/11/2009"])
    with pytest.raises(RecveilError, match=r"^row 1: time '12/14/2009' is not written as"):
        times_from_format(rows, "%d/%m/%Y", "row {}".format)
    with pytest.raises(RecveilError, match=r"^row 1: the time is missing"):
        times_from_format(column(["14/12/2009", None]), "%d/%m/%Y", "row {}".format)
    with pytest.raises(RecveilError, match=r"is for text, but the column holds date32"):
        times_from_format(column([1], pa.date32()), "%d/%m/%Y", str)


def test_without_a_format_day_and_month_are_not_guessed():
    for text in ("14/12/2009", "03/04/2009", "3.4.2009", "05 26, 2013", "Dec 14, 2009"):
        with pytest.raises(RecveilError, match=r"ISO date .* time_format \(--time-format\), such"):
            parse_days(column([text]), str)
