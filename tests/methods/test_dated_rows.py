"""Rows with dates: each date is a median of at least k raters, and the same for a whole class."""

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recveil as rv
from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import SparseRows, anonymize, dry_run
from recveil.methods.sparse.classes import Dealt, DrawnItems, date_cells
from recveil.ratings import Ratings
from recveil.release.dates import DATED_FORMAT, PERIODS, first_days, positions_in_rows
from recveil.release.records import item_keys
from shared.cli_endings import ended

EPOCH = date(1970, 1, 1)
RATINGS = make_ratings(n_users=90, n_items=30, n_ratings=1_300, seed=3)
PERIOD = st.sampled_from([*PERIODS])


def test_an_example_by_hand():
    """Six users in three classes of two; classes 0 and 1 are of the late cluster.

    The raters of item 7, by day, are 10, 20 | 30, 40 | 50, 60: the early class takes the first
    median, 10, and the two late ones 30 and 50. Item 8 has two raters, so that both of its cells
    have the one median.
    """
    ratings = Ratings.from_columns(
        *([1, 2, 3, 4, 5, 6, 1, 2], [7] * 6 + [8] * 2, [3] * 8),
        [60, 50, 40, 30, 20, 10, 5, 9],
    )
    classes = Dealt(
        class_of=np.array([0, 0, 1, 1, 2, 2]),
        cluster_of=np.array([0, 0, 1]),
        sizes=np.array([2, 2, 2]),
        lengths=np.ones((3, 1)),
    )
    drawn = DrawnItems(np.array([0, 2, 3, 5]), np.array([0, 1, 0, 0, 1], np.int32))
    days = date_cells(ratings, drawn, classes, 2, np.random.default_rng(0))
    assert sorted(days[[0, 2]]) == [30, 50]
    assert days[3] == 10
    assert days[[1, 4]].tolist() == [5, 5]


def test_an_order_by_hand():
    """One class has the medians 30, 10 and 30, and the other one 7, 5 and 5."""
    positions = positions_in_rows(np.array([30, 10, 30, 7, 5, 5]), np.array([0, 3, 6]))
    assert positions.tolist() == [1, 0, 1, 1, 0, 0]
    assert positions_in_rows(positions, np.array([0, 3, 6])).tolist() == positions.tolist()
    assert positions_in_rows(np.array([9, 8]), np.array([0, 0, 1, 1, 2, 2])).tolist() == [0, 0]
    assert positions_in_rows(np.empty(0), np.array([0, 0])).tolist() == []


@pytest.mark.parametrize(
    ("period", "firsts"),
    [
        ("year", ["2023-01-01", "2024-01-01"]),
        ("quarter", ["2023-10-01", "2024-01-01"]),
        ("month", ["2023-12-01", "2024-02-01"]),
        ("week", ["2023-12-25", "2024-02-26"]),
    ],
)
def test_the_first_days_of_two_days(period, firsts):
    days = np.array(["2023-12-31", "2024-02-29"], "datetime64[D]").astype(np.int32)
    assert first_days(days, period).astype("datetime64[D]").astype(str).tolist() == firsts


@given(st.integers(-40_000, 80_000), PERIOD)
def test_a_day_is_in_the_period_that_begins_with_its_first_day(day, period):
    (first,) = first_days(np.array([day]), period).tolist()
    again, begins = first_days(np.array([first]), period), EPOCH + timedelta(days=first)
    assert again == first <= day < first + 367
    weeks = begins.isocalendar()[:2] == (EPOCH + timedelta(days=day)).isocalendar()[:2]
    assert weeks if period == "week" else begins.day == 1


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.sampled_from([2, 5, 20]),
    period=PERIOD,
    likes=st.booleans(),
)
def test_all_users_of_a_class_have_the_same_dates(seed, k, period, likes):
    """Classes are those of a release without dates, and each date is a median of k raters."""
    ratings = RATINGS.as_likes() if likes else RATINGS
    release = SparseRows(k, seed=seed, dates=period).anonymize(ratings)
    undated = SparseRows(k, seed=seed).anonymize(ratings)
    rows = list(release.published.blocks())
    keys = item_keys(ratings.items)
    days_of = [np.sort(ratings.days[ratings.indices == item]) for item in range(ratings.n_items)]
    for block in rows:
        assert (block.sizes >= k).all()
        assert (first_days(block.days, period) == block.days).all()
        for item, day in zip(block.indices.tolist(), block.days.tolist(), strict=True):
            raters = days_of[item]
            # k raters of the item, or more, one of whom is the median: half are on either side.
            half = (k - 1) // 2
            inner = first_days(raters[half : raters.size - (k - 1 - half)], period)
            assert day in inner
    plain = [digest for block in undated.published.blocks() for digest in block.digests(keys)]
    assert len(plain) == sum(len(block) for block in rows)


def test_dates_are_written_read_and_published_as_dates(tmp_path):
    for file_format in ("parquet", "csv"):
        folder = tmp_path / file_format
        made = anonymize(RATINGS, folder, k=5, seed=1, dates="month", file_format=file_format)
        assert made.verification.holds
        assert made.verification.compared == ["item", "rating", "date"]
        release = rv.Release.read(folder)
        assert release.manifest.number == DATED_FORMAT
        dates = release.to_arrow()["date"].to_pylist()
        assert {day.day for day in dates} == {1}
        with pytest.warns(UserWarning, match="'date'"):  # coarse
            read = rv.read(release.to_arrow())
        assert np.array_equal(np.unique(read.days), sorted({(d - EPOCH).days for d in dates}))
        target = tmp_path / f"{file_format}.csv"
        converted = rv.convert(folder, target)
        assert np.array_equal(converted.ratings.days, read.days)
        # Dates are coarse on purpose: no doubt of the reader about a raw table stays.
        (note,) = [note for note in converted.notes if note.startswith("Column 'date'")]
        assert "the first day of the month" in note
    card = (folder / "README.md").read_text()
    assert "all items, values and dates" in card
    assert "There are no dates" not in card


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_an_order_is_that_of_the_medians(tmp_path, file_format):
    """Items, values and the order within a row are those of a release by week, without its days."""
    folder = tmp_path / "out"
    made = anonymize(RATINGS, folder, k=5, seed=1, dates="order", file_format=file_format)
    assert made.verification.holds
    assert made.verification.compared == ["item", "rating", "date"]
    assert "no calendar days" in (folder / "README.md").read_text()
    (rows,) = SparseRows(5, seed=1, dates="order").anonymize(RATINGS).published.blocks()
    (weeks,) = SparseRows(5, seed=1, dates="week").anonymize(RATINGS).published.blocks()
    assert np.array_equal(rows.indices, weeks.indices)
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        in_order = weeks.days[start:end][np.argsort(rows.days[start:end], kind="stable")]
        assert (np.diff(in_order) >= 0).all()
        assert set(rows.days[start:end].tolist()) == {*range(rows.days[start:end].max() + 1)}
    read = rv.read(rv.Release.read(folder).to_arrow())
    assert read.days.min() == 0
    converted = rv.convert(folder, tmp_path / "r.csv")
    assert np.array_equal(converted.ratings.days, read.days)
    assert [note for note in converted.notes if "1970" in note] == [converted.notes[1]]
    with raises("option.unsupported", "order", "split by user"):
        rv.convert(folder, tmp_path / "to", target_format="movielens", split=0.2, split_by="time")
    with raises("option.unsupported", "order", "split by user"):
        rv.evaluate(folder, RATINGS, split=0.2, split_by="time")
    bare = next(folder.glob("ratings.*"))
    with pytest.warns(UserWarning, match="1990"), raises("option.unsupported", "split by user"):
        rv.convert(bare, tmp_path / "to", target_format="movielens", split=0.2, split_by="time")


def test_an_order_of_short_rows_cannot_be_split_by_time(tmp_path):
    rows = [f"{u},{i},{(u + i) % 5 + 1},2024-0{i + 1}-10" for u in range(60) for i in range(6)]
    (tmp_path / "r.csv").write_text("\n".join(["user_id,item_id,rating,date", *rows]) + "\n")
    anonymize(tmp_path / "r.csv", tmp_path / "out", k=5, seed=1, dates="order")
    with raises("option.unsupported", "order", "split by user"):
        rv.convert(tmp_path / "out", tmp_path / "to.csv", split=0.2, split_by="time")


def test_positions_of_many_short_rows_are_kept(tmp_path):
    """As times of a raw table, so many in the first weeks of 1970 would be dropped."""
    ratings = make_ratings(n_users=800, n_items=18, n_ratings=6_000, seed=3)
    anonymize(ratings, tmp_path / "out", k=5, seed=1, dates="order")
    result = rv.convert(tmp_path / "out", tmp_path / "r.csv").ratings
    assert result.n_ratings >= 2_000
    assert result.days.min() == 0
    assert result.days.max() < 18


@pytest.mark.parametrize("dates", ["year", "quarter", "month", "week", "order"])
def test_layouts_state_what_their_times_are(tmp_path, dates):
    folder = tmp_path / "out"
    anonymize(RATINGS, folder, k=5, seed=1, dates=dates)
    meaning = "86,400 for each position" if dates == "order" else f"the first day of the {dates}"
    files = {"movielens": "README.txt", "recbole": "recbole.yaml", "elliot": "config.yml"}
    for layout, name in files.items():
        rv.convert(folder, tmp_path / layout, target_format=layout)
        (line,) = [
            line
            for line in (tmp_path / layout / name).read_text().splitlines()
            if line.removeprefix("# ").startswith("timestamp: ")
        ]
        assert meaning in line
        assert ("seconds since 1970" in line) == (dates != "order")
    rv.convert(folder, tmp_path / "undated", target_format="movielens", times=False)
    assert "timestamp" not in (tmp_path / "undated" / "README.txt").read_text()


def test_the_printed_line_names_no_days_of_positions(tmp_path, capsys):
    anonymize(RATINGS, tmp_path / "out", k=5, seed=1, dates="order")
    code, output, _ = ended(capsys, "convert", tmp_path / "out", tmp_path / "r.csv")
    assert code == 0
    assert "positions in place of dates" in " ".join(output.split())


def test_users_of_the_layout_groups_have_the_dates_of_their_group(tmp_path):
    anonymize(RATINGS, tmp_path / "out", k=5, seed=1, dates="week", layout="groups")
    release = rv.Release.read(tmp_path / "out")
    assert release.verify().holds
    columns = ["user_id", "item_id", "rating", "date", "group_size"]
    assert release.to_arrow().column_names == columns
    assert release.to_arrow(per_user=True).column_names == columns[:-1]


def test_a_release_without_dates_is_as_before(tmp_path):
    anonymize(RATINGS, tmp_path / "out", k=5, seed=1)
    release = rv.Release.read(tmp_path / "out")
    assert release.manifest.format == "recveil-release-9"
    assert "date" not in release.to_arrow().column_names


def test_what_dates_are_refused_with(tmp_path):
    out, undated = tmp_path / "out", Ratings.from_columns([1, 2], [7, 7], [4, 5])
    with raises("option.unsupported", "dates", "predictive", "sparse"):
        anonymize(RATINGS, k=5, method="predictive", dates="week")
    with raises("option.value", "dates", "day"):
        anonymize(RATINGS, k=5, dates="day")
    with raises("option.value", "dates", "day"):
        SparseRows(5, dates="day")
    with raises("option.conflict", "hide_items", "dates"):
        anonymize(RATINGS, k=5, dates="week", hide_items=True)
    many = make_ratings(n_users=60, n_items=20, n_ratings=600, seed=1)
    undated = Ratings(
        many.users, many.items, many.indptr, many.indices, many.values, None, many.scale
    )
    with raises("time.missing", "dates", "--time"):
        dry_run(undated, out, k=5, dates="week")
    rows = [f"{user},{item},4,31/12/2024" for user in range(60) for item in range(9)]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating,Date d'achat", *rows]))
    with raises("time.missing", "Date d'achat", "2005-12-31", "--time-format"):
        dry_run(tmp_path / "r.csv", out, k=5, dates="week", scale="1:5:1")
    anonymize(RATINGS, out, k=5, dates="week")
    with raises("release.mismatch", "dates", "--dates week"):
        anonymize(RATINGS, tmp_path / "next", k=5, dates="month", previous=f"{out}.private")


def test_a_release_without_dates_may_follow_one_with_dates(tmp_path):
    out, following = tmp_path / "out", tmp_path / "next"
    anonymize(RATINGS, out, k=5, dates="week")
    anonymize(RATINGS, following, k=5, previous=f"{out}.private")
    assert rv.verify(following, against=out).holds
    with raises("release.mismatch", "dates", "no dates"):
        dry_run(RATINGS, tmp_path / "third", k=5, dates="week", previous=f"{following}.private")


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_the_size_with_dates_is_foreseen(tmp_path, file_format):
    options = {"k": 5, "dates": "week", "file_format": file_format}
    foreseen = dry_run(RATINGS, tmp_path / "out", **options).foreseen.expected
    anonymize(RATINGS, tmp_path / "out", **options)
    size = (tmp_path / "out" / f"ratings.{file_format}").stat().st_size
    assert size < foreseen.most_bytes
    undated = dry_run(RATINGS, tmp_path / "other", **options | {"dates": None}).foreseen.expected
    assert foreseen.bytes > undated.bytes
