"""Resolution of a table's times."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from recveil.inspection.statistics import dates_of
from recveil.io.columns.times import parse_days

START = datetime(2015, 3, 4, 5, 6, 7, tzinfo=UTC)


def found(values, time_format=None):
    column = pa.chunked_array([values])
    if time_format is None:
        days = parse_days(column, str).days
    else:
        days = np.array(
            [(datetime.strptime(v, time_format) - datetime(1970, 1, 1)).days for v in values]
        )
    return dates_of(column, days, time_format)


def moments(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return [START + timedelta(seconds=int(s)) for s in rng.integers(0, 9e7, n)]


CUT = {
    "second": "%Y-%m-%d %H:%M:%S",
    "minute": "%Y-%m-%d %H:%M:00",
    "hour": "%Y-%m-%d %H:00:00",
    "day": "%Y-%m-%d",
    "month": "%Y-%m-01",
    "year": "%Y-01-01",
}


@pytest.mark.parametrize("grain", CUT)
def test_text_of_each_granularity(grain):
    dates = found([moment.strftime(CUT[grain]) for moment in moments()])
    assert (dates.granularity, dates.coarser) == (grain, "")


@pytest.mark.parametrize("a_second", [1, 10**3, 10**6, 10**9])
def test_numbers_in_each_unit(a_second):
    whole = [int(moment.timestamp()) * a_second for moment in moments()]
    assert found(whole).granularity == "second"
    if a_second > 1:
        assert found([number + 1 for number in whole]).granularity == "fraction of a second"
    days = [number // (86_400 * a_second) * 86_400 * a_second for number in whole]
    assert found(days).granularity == "day"
    assert found([str(day) for day in days]).granularity == "day"


def test_days_of_a_place_that_is_not_at_greenwich_are_days():
    days = [int(moment.timestamp()) // 86_400 * 86_400 + 5 * 3600 for moment in moments()]
    assert found(days).granularity == "day"


def test_numbers_that_are_dates_give_the_day():
    dates = found([int(moment.strftime("%Y%m%d")) for moment in moments()])
    assert (dates.granularity, dates.first[:2]) == ("day", "20")


def test_a_format_of_its_own():
    dates = found([moment.strftime("%d/%m/%Y") for moment in moments()], "%d/%m/%Y")
    assert dates.granularity == "day"


def test_types_of_dates():
    assert found(pa.array([moment.date() for moment in moments()])).granularity == "day"
    assert found(pa.array(moments(), pa.timestamp("us", "UTC"))).granularity == "second"


@pytest.mark.parametrize(("fine", "coarse"), [("second", "day"), ("day", "month"), ("day", "year")])
def test_two_granularities_in_one_column(fine, coarse):
    fine_ones = [moment.strftime(CUT[fine]) for moment in moments(200)]
    coarse_ones = [moment.strftime(CUT[coarse]) for moment in moments(300, 1)]
    dates = found(fine_ones + coarse_ones)
    assert (dates.granularity, dates.coarser) == (fine, coarse)
    assert abs(dates.coarser_share - 0.6) < 0.05


def test_equal_times_are_counted():
    dates = found(["2020-01-15 10:00:00"] * 3 + ["2020-01-15 11:30:00"])
    assert (dates.distinct, dates.unique_share, dates.most_frequent) == (2, 0.25, 3)
    assert (dates.first, dates.last) == ("2020-01-15", "2020-01-15")


def test_one_time_is_a_day():
    dates = found(["2020-01-01 10:00:00"])
    assert (dates.granularity, dates.coarser) == ("day", "year")
