"""Timestamps made of numbers of another unit, and days that stand for an unknown time."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil import cli, read_ratings
from recveil.auditing import audit
from recveil.io.columns.times import describe_repeated, parse_days
from recveil.io.ingestion import understand
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError

INSTANTS = [
    datetime(2017, 1, 1, tzinfo=UTC) + timedelta(days=1, minutes=733, seconds=7) * number
    for number in range(250)
]
SECONDS = [int(instant.timestamp()) for instant in INSTANTS]
TICKS = [(second + 62_135_596_800) * 10**7 for second in SECONDS]
FILETIMES = [(second + 11_644_473_600) * 10**7 for second in SECONDS]
SNOWFLAKES = [(second * 1_000 - 1_288_834_974_657) << 22 | second % 31 for second in SECONDS]


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


def digits(format):
    return [int(instant.strftime(format)) for instant in INSTANTS]


MISREAD = {
    "ticks": (TICKS, "ns", ".NET ticks that were read as nanoseconds"),
    "FILETIME": (FILETIMES, "ns", "look like"),
    "minutes": (digits("%Y%m%d%H%M"), "ms", "digits of dates that were read as milliseconds"),
    "days": (digits("%Y%m%d"), "s", "digits of dates that were read as seconds"),
    "seconds": (digits("%Y%m%d%H%M%S"), "us", "digits of dates that were read as microseconds"),
    "short": (digits("%y%m%d%H%M"), "s", "digits of dates (%y%m%d%H%M) that were read as seconds"),
    "hundredths": ([100 * s for s in SECONDS], "ms", "hundredths of seconds that were read as"),
    "tenths of milliseconds": ([10_000 * s for s in SECONDS], "us", "look like"),
    "future": (digits("%Y%m%d%H%M%S"), "ms", "are in the future"),
}


@pytest.mark.parametrize("name", MISREAD)
@pytest.mark.parametrize("written", ["typed", "milliseconds", "text"])
def test_timestamps_of_another_unit_are_no_times(name, written):
    """They made days of 13 months of two days, and a risk of 97 % one of 15 %."""
    numbers, unit, result = MISREAD[name]
    times = column(numbers, pa.int64()).cast(pa.timestamp(unit))
    if written == "milliseconds":
        times = times.cast(pa.timestamp("ms"), safe=False)
    elif written == "text":
        times = times.cast(pa.timestamp("us"), safe=False).cast(pa.string())
    found = parse_days(times, str)
    assert found.days is None
    assert result in found.problem


@pytest.mark.parametrize("year", [1975, 1985, 1990, 1994])
@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("us"), pa.date32()])
def test_old_dates_of_many_months_are_used(year, kind):
    moved = [instant.replace(year=year + instant.year - 2017) for instant in INSTANTS]
    times = pa.array([instant.replace(tzinfo=None) for instant in moved], pa.timestamp("us"))
    assert parse_days(column(times.cast(kind, safe=False)), str).days.size == 250


def test_whole_days_of_one_week_of_1990_are_used():
    days = column([7_363 + number % 7 for number in range(200)], pa.int32()).cast(pa.date32())
    assert parse_days(days, str).days.size == 200
    assert parse_days(days.cast(pa.timestamp("ns")), str).days.size == 200


SENTINELS = ("1900-01-01", "1970-01-01", "1969-12-31", "2099-12-31", "1960-01-01")
# As seconds, days near 1970 are small numbers, which are refused in any case.
SENTINEL_FORMS = [
    *((day, form) for day in SENTINELS for form in ("text", "typed", "digits")),
    *((day, "seconds") for day in ("1900-01-01", "2099-12-31", "1960-01-01")),
]


@pytest.mark.parametrize(("sentinel", "form"), SENTINEL_FORMS)
def test_a_day_that_stands_for_an_unknown_time_is_refused(sentinel, form):
    texts = [instant.date().isoformat() for instant in INSTANTS]
    texts[3::10] = [sentinel] * 25
    times = column(texts)
    if form == "typed":
        times = times.cast(pa.date32())
    elif form == "digits":
        times = column([int(text.replace("-", "")) for text in texts])
    elif form == "seconds":
        times = times.cast(pa.timestamp("s")).cast(pa.int64())
    with raises("time.implausible", sentinel, 25, 250):
        parse_days(times, str)
    texts[13::10] = texts[12::10]
    assert parse_days(column(texts), str).days.size == 250


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_snowflakes_are_no_nanoseconds(kind):
    found = parse_days(column(pa.array(SNOWFLAKES).cast(kind, safe=False)), str)
    assert found.days is None
    assert "if they are Twitter ids, convert them to Unix milliseconds (" in found.problem
    formula = found.problem.partition("(")[2].partition(";")[0]
    assert eval(formula, {"number": SNOWFLAKES[0]}) // 1_000 == SECONDS[0]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
@pytest.mark.parametrize("low", ["sequence", "machines"])
@pytest.mark.parametrize("zero", [1_288_834_974_657, 1_420_070_400_000])
def test_snowflakes_with_larger_low_bits_are_no_nanoseconds(zero, low, kind):
    """A sequence that goes on from id to id is not small, but the bits above it are few."""
    drawn = np.random.default_rng(5)
    bits = np.arange(250) if low == "sequence" else drawn.integers(0, 4_096, 250) + (7 << 12)
    ids = [
        (second * 1_000 - zero << 22) + int(bit) for second, bit in zip(SECONDS, bits, strict=True)
    ]
    found = parse_days(column(pa.array(ids).cast(kind, safe=False)), str)
    assert found.days is None
    assert "if they are Twitter ids" in found.problem
    assert "Cocoa" not in found.problem
    assert "; for Discord, + 1420070400000)" in found.problem


@pytest.mark.parametrize("step", [1, 10**3, 10**6, 10**9, 36 * 10**11])
def test_nanoseconds_are_no_snowflakes(step):
    drawn = np.random.default_rng(step % 97).integers(0, 3 * 10**16, 250)
    times = 1_480_000_000_000_000_000 + drawn // step * step
    assert parse_days(column(times), str).days.size == 250


@pytest.mark.parametrize(
    "numbers",
    [
        [second + 12_219_379_200 for second in SECONDS],  # SPSS
        [int(instant.strftime("%Y%m%d")) - 5_790_000 for instant in INSTANTS],  # Hijri
        [int(instant.strftime("%Y%m%d")) + 5_430_000 for instant in INSTANTS],  # Buddhist
        [float(instant.strftime("%Y%m%d.%H%M%S")) for instant in INSTANTS],
    ],
)
def test_no_unit_is_advised_that_is_not_the_only_one(numbers):
    """Minutes and tenths of seconds were advised, which made a year of a few weeks or days."""
    found = parse_days(column(numbers), str)
    assert found.days is None
    assert "unit is not recognised: convert them to ISO dates, or name their" in found.problem
    assert "if they are" not in found.problem


def test_uuid_times_are_no_cocoa_nanoseconds():
    found = parse_days(column([(second + 12_219_292_800) * 10**7 for second in SECONDS]), str)
    assert "if they are UUID times" in found.problem


LONG = "ratings_of_all_users_of_the_shop_" * 5


@pytest.mark.parametrize(
    "numbers",
    [
        [(second + 11_644_473_600) * 10**6 for second in SECONDS],
        [(second - 978_307_200) * 10**9 for second in SECONDS],
        [second + 12_219_379_200 for second in SECONDS],
        *[SNOWFLAKES, digits("%d%m%Y%H%M")],
        *[pa.array(numbers).cast(pa.timestamp(unit)) for numbers, unit, _ in MISREAD.values()],
    ],
)
def test_the_refusal_fits_a_line_whole(numbers, tmp_path):
    file = tmp_path / f"{LONG}.parquet"
    ratings = [1 + number % 5 for number in range(250)]
    users, items = [number // 10 for number in range(250)], [number % 10 for number in range(250)]
    columns = {"user": users, "item": items, "rating": ratings, "timestamp": numbers}
    pq.write_table(pa.table(columns), file)
    reading = understand(file)
    assert any("timestamp" in note for note in reading.notes)
    with pytest.raises(RecveilError) as refused:
        reading.require_times()
    result = f"error: {refused.value}"
    assert len(result) < 300
    # Only the name is shortened.
    assert "..." not in result.partition("column")[2]
    assert result.endswith("fix or drop them (recveil convert --no-times)")


@pytest.mark.parametrize("time", ["1611111111", "2021-01-07", "2021-01-07T10:00:00"])
def test_times_that_are_all_on_one_day_are_noted(tmp_path, time):
    rows = [f"u{n},i{m},{1 + (n + m) % 5},{time}" for n in range(10) for m in range(8)]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating,timestamp", *rows]))
    with pytest.warns(UserWarning, match="one day"):
        read_ratings(tmp_path / "r.csv")


@pytest.mark.parametrize("time", ["1610000000", "1.61E+09"])
def test_one_rounded_time_is_no_time(tmp_path, time):
    rows = [f"u{n},i{m},{1 + (n + m) % 5},{time}" for n in range(10) for m in range(8)]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating,timestamp", *rows]))
    with pytest.warns(UserWarning, match="rounded"):
        assert read_ratings(tmp_path / "r.csv").days is None


def table_of(dates, form, tmp_path):
    """Write ratings with dates of one form; return the file, and how it is to be read."""
    times = pa.array(dates, pa.date32())
    if form == "digits":
        times = pa.array([int(f"{day:%Y%m%d}") for day in dates])
    elif form != "typed":
        named = {"text": "%Y-%m-%d", "format": "%d/%m/%Y", "timestamps": "%Y-%m-%d %H:%M:%S"}[form]
        times = pa.array([day.strftime(named) for day in dates])
    n = range(len(dates))
    columns = {"user": [f"u{i // 8}" for i in n], "item": [f"i{i % 8}" for i in n]}
    table = pa.table({**columns, "rating": [1 + i % 5 for i in n], "date": times})
    pq.write_table(table, tmp_path / "r.parquet")
    return tmp_path / "r.parquet", {"time_format": "%d/%m/%Y"} if form == "format" else {}


FORMS = ["text", "format", "typed", "timestamps", "digits"]


@pytest.mark.parametrize("form", FORMS)
def test_whole_days_that_are_all_in_january_1970_are_no_times(form, tmp_path):
    """Unix milliseconds read as seconds, and written as days, made five days of twelve years."""
    dates = [datetime(1970, 1, 14 + number % 5) for number in range(80)]
    file, options = table_of(dates, form, tmp_path)
    with pytest.warns(UserWarning, match="was not used as times"):
        assert read_ratings(file, **options).days is None
    with pytest.raises(SystemExit) as exited:
        cli.main(["audit", str(file), *(f"--time-format={each}" for each in options.values())])
    assert exited.value.code == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("year", [1918, 1969, 1985])
def test_dates_before_1990_are_used_and_noted_in_every_form(form, year, tmp_path):
    dates = [datetime(year, 1 + number % 12, 1 + number % 28) for number in range(80)]
    file, options = table_of(dates, form, tmp_path)
    with pytest.warns(UserWarning, match=f"80 of 80 times.*{year}-01-01 to {year}-12-"):
        assert read_ratings(file, **options).days.size == 80


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "day", [datetime(1970, 1, 1), datetime(1900, 1, 1), datetime(2099, 12, 31)]
)
def test_a_few_days_that_stand_for_an_unknown_time_are_noted_in_every_form(form, day, tmp_path):
    dates = [datetime(2018, 1 + number % 12, 1 + number % 28) for number in range(80)]
    dates[10] = dates[50] = day
    file, options = table_of(dates, form, tmp_path)
    with pytest.warns(UserWarning, match=f"2 of 80 times.*{day:%Y-%m-%d}"):
        assert read_ratings(file, **options).days.size == 80


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
@pytest.mark.parametrize("first", [3_000_001, 400_000_001, 741_000_001, 741_000_001.5])
def test_unix_seconds_before_1996_are_read_with_their_format(first, kind, tmp_path):
    """Without the format they may be seconds since 2001, as Apple counts them."""
    seconds = [first + 77_777 * number for number in range(120)]
    n = range(120)
    columns = {"user": [f"u{i // 8}" for i in n], "item": [f"i{i % 8}" for i in n]}
    times = pa.array(seconds).cast(kind, safe=False)
    table = pa.table({**columns, "rating": [1 + i % 5 for i in n], "timestamp": times})
    pq.write_table(table, tmp_path / "r.parquet")
    with raises("time.unreadable"):
        audit(tmp_path / "r.parquet")
    ratings = understand(tmp_path / "r.parquet", time_format="%s").ratings
    assert sorted(ratings.days) == [int(second // 86_400) for second in seconds]
    beyond = table.set_column(3, "timestamp", [pa.array([*seconds[:-1], 741_000_000_000])])
    with raises("time.format", "row 119", "--time-format"):
        Ratings.from_frame(beyond, time_format="%s")


@pytest.mark.parametrize("form", FORMS)
def test_a_day_with_far_more_times_than_others_is_noted(form, tmp_path):
    dates = [datetime(2018, 1 + number % 2, 1 + number % 28) for number in range(80)]
    dates[:32] = [datetime(2019, 5, 6)] * 32
    file, options = table_of(dates, form, tmp_path)
    with pytest.warns(UserWarning, match="32 of 80 times .*2019-05-06.*import"):
        assert read_ratings(file, **options).days.size == 80


def test_a_day_that_is_busy_among_busy_days_is_not_noted():
    usual = np.repeat(np.arange(40), 4)
    assert describe_repeated(np.append(usual, np.full(41, 99))) == (
        "41 of 201 times (20.4%) are on one day, 1970-04-10, and 4 on a usual day; if that is the "
        "date of an import, and not of the ratings, the audit understates the risk"
    )
    assert not describe_repeated(np.append(usual, np.full(39, 99)))
    few = np.repeat(np.arange(19), 2)
    assert not describe_repeated(np.append(few, np.full(30, 99)))


def every(step, n):
    """Days from a Monday in steps, of which some are left out."""
    steps = [0, *range(2, n), n + 3]
    return [str(np.datetime64("2021-05-03") + step * number) for number in steps]


def test_days_of_one_step_that_may_be_chance_are_not_noted():
    for step, n in ((7, 9), (2, 21), (10, 7), (1, 60)):
        days = np.array(every(step, n), "M8[D]").astype(int)
        assert days.size == n
        assert not describe_repeated(np.repeat(days, 10))
    on_mondays = np.array(every(7, 20), "M8[D]").astype(int)
    assert "on a Monday" in describe_repeated(np.repeat(on_mondays, 10))
    assert not describe_repeated(np.append(np.repeat(on_mondays, 10), on_mondays[3] + 1))


def monthly(*days, n):
    """Some days of each of n months."""
    return [f"2020-{month:02}-{day:02}" for month in range(1, n + 1) for day in days]


def test_the_same_days_of_a_few_months_may_be_chance():
    for days in (
        monthly(15, n=2),
        monthly(1, 16, n=3),
        monthly(4, 5, 6, n=3),
        monthly(*range(1, 7), n=12),
    ):
        assert not describe_repeated(np.repeat(np.array(days, "M8[D]").astype(int), 50))


@pytest.mark.parametrize("form", ["text", "typed", "digits"])
@pytest.mark.parametrize(
    ("days", "result"),
    [
        (["2021-05-01", "2021-05-02"], "all 240 times are on 2 different days from 2021-05-01 to"),
        ([f"2020-{month:02}-01" for month in range(1, 13)], "on the first day of a month, as if"),
        (["2020-02-29", "2020-03-31", "2019-12-31"], "on the last day of a month, as if only the"),
        ([f"{year}-01-01" for year in range(2015, 2021)], "first day of a year, as if only the ye"),
        (monthly(15, n=3), "are on day 15 of a month, as if only the month were known; if users"),
        (monthly(1, 16, n=4), "are on day 1 and 16 of a month, as if only the part of a month we"),
        (monthly(1, 11, 21, n=4), "on day 1, 11 and 21 of a month, as if only the part of a mont"),
        (every(7, 10), "all 240 times are on a Monday, as if only the week were known; if users"),
        (every(14, 10), "all 240 times are on a Monday, as if only the week were known; if users"),
        (every(2, 22), "on days that are 2 days, or a multiple, apart, as if only the period of 2"),
        (every(10, 9), "on days that are 10 days, or a multiple, apart, as if only the period o"),
    ],
)  # fmt: skip
def test_times_on_few_different_days_are_noted(days, result, form, tmp_path):
    """Two imports, or dates that were rounded to the month, hide when users rated."""
    texts = [days[number % len(days)] for number in range(240)]
    times = {"text": texts, "typed": pa.array(texts).cast(pa.date32())}
    times["digits"] = [int(text.replace("-", "")) for text in texts]
    n = range(240)
    columns = {"user": [f"u{i // 8}" for i in n], "item": [f"i{i % 8}" for i in n]}
    table = pa.table({**columns, "rating": [1 + i % 5 for i in n], "date": times[form]})
    pq.write_table(table, tmp_path / "r.parquet")
    with pytest.warns(UserWarning, match=f"{result}.*"):
        read_ratings(tmp_path / "r.parquet")


def test_days_of_a_large_table_are_not_few():
    assert not describe_repeated(np.repeat(np.arange(60), 1_000))
    far_apart = np.append(np.arange(18_000, 18_649, 11), 18_650)
    assert not describe_repeated(np.repeat(far_apart, 99))
    assert "60 different days" in describe_repeated(np.repeat(far_apart, 100))
    assert not describe_repeated(np.repeat(np.array(["2020-01-01", "2020-02-01"], "M8[D]"), 40)
                                 .astype(int))  # fmt: skip


MINUTES = [(second + 62_135_596_800) // 60 for second in SECONDS]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
@pytest.mark.parametrize("first", [1990, 2000, 2017])
def test_minutes_since_year_1_that_may_be_seconds_of_2003_are_noted(kind, first):
    shift = (datetime(2017, 1, 1) - datetime(first, 1, 1)).days * 1_440
    read = parse_days(column([minutes - shift for minutes in MINUTES], pa.int64()).cast(kind), str)
    assert f"from {first}-01-" in read.note
    assert "number * 60 - 62135596800" in read.note
    assert not read.problem


@pytest.mark.parametrize(
    ("first", "step"), [(956_703_932, 86_407), (1_046_200_000, 90_001), (1_064_000_000, 100_007)]
)
def test_seconds_of_other_years_are_no_minutes(first, step):
    assert parse_days(column([first + step * n for n in range(250)]), str).note == ""


def test_seconds_of_2003_that_are_said_to_be_seconds_have_no_note(tmp_path):
    rows = [f"{n % 10},{n % 25},{n % 5 + 1},{MINUTES[n]}" for n in range(250)]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating,time", *dict.fromkeys(rows)]))
    said = understand(tmp_path / "r.csv", duplicates="last", time_format="%s").notes
    guessed = understand(tmp_path / "r.csv", duplicates="last").notes
    assert any("minutes since year 1" in note for note in guessed)
    assert not any("minutes since year 1" in note for note in said)
