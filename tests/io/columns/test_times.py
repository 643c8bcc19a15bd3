"""Times become days; what counts something else does not."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.io.columns.times import (
    find_formats,
    parse_days,
    seconds_of_digits,
    times_from_format,
)


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


@pytest.mark.parametrize(
    "values",
    [[1, 2, 3], ["1", "2", "3"], [0, 0], [5.0, 7.5], [99_999_999, 1], [-5, 812], [14_610, 1]],
)
def test_counters_are_no_dates(values):
    found = parse_days(column(values), "row {}".format)
    assert found.days is None
    assert found.problem.startswith("its numbers, from ")
    assert "expected Unix times" in found.problem


@given(st.lists(st.integers(0, 10**8 - 1), min_size=1))
def test_no_counter_becomes_a_day(values):
    assert parse_days(column(values), str).days is None


@pytest.mark.parametrize(
    ("values", "day"),
    [
        ([1_000_000_000, 1_000_000_001], 11_574),
        ([86_400 * 1_158, 86_400 * 1_158], 1_158),
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
    with raises("option.value"):
        times_from_format(column(["14/12/2009"]), format, str)


def test_the_first_row_that_is_written_otherwise_is_named():
    rows = column(["14/12/2009", "12/14/2009", "31/11/2009"])
    with raises("time.format") as error:
        times_from_format(rows, "%d/%m/%Y", "row {}".format)
    assert "row 1" in str(error.value)
    with raises("time.missing") as error:
        times_from_format(column(["14/12/2009", None]), "%d/%m/%Y", "row {}".format)
    assert "row 1" in str(error.value)
    with raises("option.unsupported") as error:
        times_from_format(column([1], pa.date32()), "%d/%m/%Y", str)
    assert "date32" in str(error.value)


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
@pytest.mark.parametrize(
    ("numbers", "format", "days"),
    [
        ([1_042_024, 10_042_024], "%m%d%Y", ["2024-01-04", "2024-10-04"]),
        ([1_042_024, 10_042_024], "%d%m%Y", ["2024-04-01", "2024-04-10"]),
        ([10_424, 100_424], "%m%d%y", ["2024-01-04", "2024-10-04"]),
        ([50_110, 110_501], "%y%m%d", ["2005-01-10", "2011-05-01"]),
        ([1_042_024_1005, 12_312_024_2359], "%m%d%Y%H%M", ["2024-01-04", "2024-12-31"]),
        ([22_024, 3_662_024], "%j%Y", ["2024-01-02", "2024-12-31"]),
    ],
)
def test_a_date_that_lost_its_first_zero_is_read_as_it_was(numbers, format, days, kind):
    """`strptime` alone reads 1042024 as 4 October, as it takes as many digits as it can."""
    rows = column(pa.array(numbers).cast(kind))
    assert parse_days(times_from_format(rows, format, str), str).days.tolist() == [
        day.toordinal() - 719_163 for day in map(date.fromisoformat, days)
    ]


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
@pytest.mark.parametrize(
    ("numbers", "format"),
    [
        ([9_292_020, 132_020], "%m%d%Y"),
        ([29_122_020, 312_020], "%d%m%Y"),
        ([20_201_231, 202_014], "%Y%m%d"),
        ([201_231, 2_014], "%y%m%d"),
        ([12_312_020, 112_312_020], "%m%d%Y"),
    ],
)
def test_digits_that_lost_other_zeros_are_refused(numbers, format, kind):
    rows = column(pa.array(numbers).cast(kind))
    with raises("time.format", "row 1", "which has", "if other zeros are missing, write ISO"):
        times_from_format(rows, format, "row {}".format)


def test_numbers_without_a_sign_between_have_all_digits_in_any_format():
    rows = column(["04012024 9:05", "1042024 9:05"])
    with raises("time.format", "row 1"):
        times_from_format(rows, "%m%d%Y %H:%M", "row {}".format)
    rows = column(["20240104T090507.5", "20240104T090507.25"])
    assert len(times_from_format(rows, "%Y%m%dT%H%M%S.%f", str)) == 2
    assert len(times_from_format(column(["4Jan2024"]), "%d%b%Y", str)) == 1


def test_without_a_format_day_and_month_are_not_guessed():
    for text in ("14/12/2009", "03/04/2009", "3.4.2009", "05 26, 2013", "Dec 14, 2009"):
        with raises("time.unreadable"):
            parse_days(column([text]), str)


INSTANTS = [
    datetime(2017, 1, 1, tzinfo=UTC) + timedelta(days=7, minutes=13, seconds=7) * number
    for number in range(40)
]
DAYS = [17_167 + (7 * number) + (13 * number + 7 * number // 60) // 1440 for number in range(40)]


@pytest.mark.parametrize("format", ["%Y%m%d", "%Y%m%d%H", "%Y%m%d%H%M", "%Y%m%d%H%M%S"])
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_digits_of_calendar_dates_are_dates(format, kind):
    digits = pa.array([int(instant.strftime(format)) for instant in INSTANTS])
    assert parse_days(column(digits.cast(kind)), str).days.tolist() == DAYS


def test_fractions_of_seconds_follow_digits_of_dates():
    texts = [instant.strftime("%Y%m%d%H%M%S999") for instant in INSTANTS]
    assert parse_days(column(texts), str).days.tolist() == DAYS
    assert parse_days(column([int(text) for text in texts]), str).days.tolist() == DAYS
    texts = [instant.strftime("%Y%m%d%H%M%S999999") for instant in INSTANTS]
    assert parse_days(column(texts), str).days.tolist() == DAYS
    texts = [instant.strftime("%Y%m%d%H%M%S.5") for instant in INSTANTS]
    assert parse_days(column(texts), str).days.tolist() == DAYS


@pytest.mark.parametrize("number", [20_170_230, 201_701_012_400, 20_170_101_006_000, 2_017_130_100])
def test_digits_that_are_no_date_are_no_times(number):
    assert seconds_of_digits(np.array([number])) is None
    found = parse_days(column([number, number]), str)
    assert found.days is None


# How many a second has, and the Unix seconds of 0.
OTHER_UNITS = {
    "FILETIME": (10**7, -11_644_473_600),
    ".NET": (10**7, -62_135_596_800),
    "WebKit": (10**6, -11_644_473_600),
    "Cocoa": (1, 978_307_200),
    "Cocoa nanoseconds": (10**9, 978_307_200),
    "SAS": (1, -315_619_200),
    "centiseconds": (100, 0),
    "deciseconds": (10, 0),
    "NTP": (1, -2_208_988_800),
    "minutes": (1 / 60, 0),
    "hours": (1 / 3_600, 0),
    "days": (1 / 86_400, 0),
    "Excel": (1 / 86_400, -2_209_161_600),
    "SAS days": (1 / 86_400, -315_619_200),
    "MATLAB": (1 / 86_400, -62_167_305_600),
    "Julian": (1 / 86_400, -210_866_760_000),
}


UNIT_NAMES = {".NET": ".NET ticks", "centiseconds": "hundredths", "deciseconds": "tenths"}
SAME_SIZE = {
    "NTP": "seconds since 1900 or seconds since 1904",
    "days": "days since 1970 or SAS days",
    "MATLAB": "MATLAB days or days since year 1",
}


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
@pytest.mark.parametrize("name", OTHER_UNITS)
def test_times_of_other_units_are_not_taken_for_unix_times(name, kind):
    a_second, zero = OTHER_UNITS[name]
    numbers = [round((instant.timestamp() - zero) * a_second) for instant in INSTANTS]
    found = parse_days(column(pa.array(numbers).cast(kind, safe=False)), str)
    assert found.days is None
    if name in SAME_SIZE:
        assert f"they may be {SAME_SIZE[name]}: convert them to ISO dates" in found.problem
        return
    assert f"if they are {UNIT_NAMES.get(name, name)}" in found.problem
    formula = found.problem.partition("(")[2].partition(")")[0]
    assert eval(formula, {"number": numbers[0]}) == pytest.approx(
        INSTANTS[0].timestamp(), rel=0, abs=43_200
    )


@pytest.mark.parametrize(
    ("format", "remedy"),
    [
        *[("%y%m%d%H%M", "%y%m%d%H%M"), ("%y%m%d%H%M%S", "%y%m%d%H%M%S"), ("%y%m%d", "%y%m%d")],
        *[("%d%m%Y", "%d%m%Y"), ("%d%m%Y%H%M%S", "%d%m%Y%H%M%S")],
        *[(f"%Y%j{clock}", f"%Y%j{clock}") for clock in ("%H", "%H%M", "%H%M%S")],
        *[(f"1%y%m%d{clock}", f"1%y%m%d{clock}") for clock in ("", "%H", "%H%M", "%H%M%S")],
        *[("1%y%j%H%M", "1%y%j%H%M"), ("1%y%j%H%M%S", "1%y%j%H%M%S")],
        ("1%y%m%d%H%M%S789", "1%y%m%d%H%M%S%f"),
    ],
)
def test_other_digits_of_dates_ask_for_their_format(format, remedy):
    numbers = column([int(instant.strftime(format)) for instant in INSTANTS])
    found = parse_days(numbers, str)
    assert found.days is None
    assert f"time_format (--time-format), such as {remedy}" in found.problem
    assert "--time-format %s" not in found.problem
    read = times_from_format(numbers, format, str)
    assert parse_days(read, str).days.tolist() == DAYS
    read = times_from_format(numbers.cast(pa.float64()), format, str)
    assert parse_days(read, str).days.tolist() == DAYS


def test_digits_down_to_millionths_ask_for_their_format():
    texts = column([instant.strftime("1%y%m%d%H%M%S789012") for instant in INSTANTS])
    found = parse_days(texts, str)
    assert found.days is None
    assert "such as 1%y%m%d%H%M%S%f;" in found.problem
    read = times_from_format(texts, "1%y%m%d%H%M%S%f", str)
    assert parse_days(read, str).days.tolist() == DAYS


def test_microseconds_of_one_day_are_no_digits_of_dates():
    """With fewer digits each, and more for the fraction, they would be."""
    numbers = [1_170_474_412_826_905 + 7_000_003 * n for n in range(50)]
    assert set(parse_days(column(numbers), str).days.tolist()) == {13_547}


def test_rounded_unix_times_are_no_times():
    numbers = [float(f"{instant.timestamp():.3g}") for instant in INSTANTS]
    found = parse_days(column(numbers), str)
    assert found.days is None


def test_timestamps_that_lie_in_january_1970_are_no_times():
    seconds = pa.array([int(instant.timestamp()) for instant in INSTANTS])
    for unit in ("ns", "us"):
        found = parse_days(column(seconds.cast(pa.timestamp(unit))), str)
        assert found.days is None
    assert parse_days(column(seconds.cast(pa.timestamp("s"))), str).days.tolist() == DAYS


@pytest.mark.parametrize("a_second", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
@given(
    seconds=st.lists(st.integers(820_454_400, 1_767_225_600), min_size=1, max_size=4, unique=True)
)
def test_unix_times_since_1996_are_used(a_second, kind, seconds):
    numbers = pa.array([second * a_second for second in seconds]).cast(kind, safe=False)
    found = parse_days(column(numbers), str)
    if found.days is None:  # rounded by chance
        assert all(second % 100_000 == 0 for second in seconds)
    else:
        assert found.days.tolist() == [second // 86_400 for second in seconds]
        assert not found.note


def test_some_times_in_the_future_are_noted():
    found = parse_days(column([1_500_000_001, 95_000_000_001]), str)
    assert found.days.size == 2
    assert found.note.startswith("1 of 2 times is before 1990 or in the future (4980-")
    found = parse_days(column(["2017-01-01", "2099-12-31"]), str)
    assert found.note.startswith("1 of 2 times is before 1990 or in the future (2099-12-31); ")


def test_a_few_digits_that_are_no_dates_do_not_make_unix_times_of_the_others():
    """One hour 24 made Unix seconds of 2023 out of 840 times of 2017."""
    numbers = [1701010000 + 100 * hour + day * 10_000 for day in range(25) for hour in range(24)]
    found = parse_days(column([*numbers, 1701022400]), str)
    assert found.days is None
    assert "%y%m%d%H%M" in found.problem


@pytest.mark.parametrize("odd", [20170230, 0, 2017013024, 20170101246060])
def test_the_row_that_is_no_date_among_dates_is_named(odd):
    dates = [20170101 + day for day in range(28)]
    with raises("time.unreadable") as error:
        parse_days(column([*dates, odd]), str)
    assert "28 of the 29 times" in str(error.value)


def test_unix_seconds_before_1996_have_a_remedy():
    found = parse_days(column([741_000_000 + 7_777_777 * n for n in range(8)]), str)
    assert found.problem
    assert "(--time-format %s)" in found.problem


def test_dates_with_and_without_a_time_of_day_are_read():
    found = parse_days(column([20170101, 20170102235959, 201701030000]), str)
    assert np.diff(found.days).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("numbers", "format"),
    [([706_201_419, 1_231_201_523], "%m%d%Y%H"), ([607_201_419, 3_112_201_523], "%d%m%Y%H")],
)
def test_dates_with_hours_have_years_of_four_digits(numbers, format):
    """Read with years of two digits, all years merge into one."""
    assert find_formats(np.array(numbers)) == [format]


@pytest.mark.parametrize("format", ["%Y%m", "%m%Y"])
@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_months_are_not_taken_for_dates_with_years_of_two_digits(format, kind):
    """Read as %y%m%d, the months 2010-03 to 2012-11 became consecutive days of 2020."""
    days = [date(year, month, 1) for year in (2010, 2011, 2012) for month in range(3, 12)]
    months = pa.array([int(day.strftime(format)) for day in days]).cast(kind)
    found = parse_days(column(months), str)
    assert found.days is None
    assert "months" in found.problem
    assert "time_format" not in found.problem


PERIODS = {
    "quarters": lambda day: f"{day.year}{day.month // 4 + 1}",
    "quarters first": lambda day: f"{day.month // 4 + 1}{day.year}",
    "weeks": lambda day: day.strftime("%G%V"),
    "weeks and days": lambda day: day.strftime("%G%V%u"),
    "days of weeks from Sunday": lambda day: day.strftime("%Y%U%w"),
}


@pytest.mark.parametrize("name", PERIODS)
@pytest.mark.parametrize("months", [range(1, 13), range(2, 7)])
def test_quarters_and_weeks_have_a_remedy_that_reads_them_right(name, months):
    """Quarters became days of 2025 by the formula, and weeks with days days of the year."""
    days = [date(year, month, at) for year in (2018, 2019) for month in months for at in (9, 21)]
    if name == "weeks" and max(months) < 8:
        return  # may be days of YYMMDD
    numbers = column([int(PERIODS[name](day)) for day in days])
    found = parse_days(numbers, str)
    assert found.days is None
    assert found.problem.endswith("write ISO dates") or "; if they are Unix" in found.problem
    assert "time_format (--time-format), such as" not in found.problem
    assert "number" not in found.problem.partition("write ISO dates")[0].partition(";")[2]


def test_days_of_the_year_are_no_weeks():
    days = [date(2018, month, at) for month in range(1, 7) for at in (3, 8, 17, 21)]
    found = parse_days(column([int(day.strftime("%Y%j")) for day in days]), str)
    assert "such as %Y%j" in found.problem
