import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, Candidates
from recveil.auditing import audit, check_attack, draw_figures, look_for
from recveil.datasets import make_ratings
from recveil.io import understand, write_ratings
from recveil.publish import convert
from recveil.ratings import Ratings


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("audit") / "ratings.csv"
    write_ratings(make_ratings(n_users=200, n_items=80, n_ratings=4_000, seed=9), path)
    return path


@pytest.fixture(scope="module")
def found(file):
    return audit(file, targets=60)


def test_the_headline_names_the_worst(found):
    worst = max(found.attacks, key=lambda outcome: outcome.reidentified.rate)
    headline = found.to_dict()["verdict"][0]
    assert worst.adversary.name in headline
    assert worst.among_attacked.rate == 1
    assert headline.startswith(f"Every sampled user with at least {worst.adversary.known} ratings")
    assert f"{worst.skipped / worst.requested:.0%} of the sampled users have too few" in headline


def test_the_chart_has_one_denominator(found):
    worst = next(each for each in found.attacks if 0 < each.skipped < each.requested)
    drawn = found.chart("adversaries").to_dict()
    rates = {row["rate"] for rows in drawn["datasets"].values() for row in rows if "rate" in row}
    assert worst.among_attacked.rate in rates
    assert worst.reidentified.rate not in rates
    assert worst.of_attacked(worst.success).trials == worst.control.trials == worst.attacked


def test_nothing_reassuring_without_coverage(file):
    shy = Adversary(known=60, rating_error=None, name="shy")
    plain = audit(file, adversaries=[shy], targets=60, curves=False).to_dict()
    assert any("too few ratings" in warning for warning in plain["warnings"])
    assert "Few people" not in plain["verdict"][0]


@pytest.mark.parametrize("wrong", [{"targets": 0}, {"draws": 0}, {"draws": 10**400}])
def test_numbers_that_make_no_sense(file, wrong):
    with raises("option.value"):
        audit(file, **wrong)


def test_points_stay_between_their_bounds():
    ratings = make_ratings(n_users=150, n_items=60, n_ratings=3_000, seed=2)
    for figure in draw_figures(ratings, Candidates.from_ratings(ratings), np.arange(50)):
        assert figure.points
        for point in figure.points:
            assert (point.y if point.low is None else point.low) <= point.y + 1e-12
            assert (point.y if point.high is None else point.high) >= point.y - 1e-12
            if figure.y.startswith("share"):
                assert 0 <= point.y <= 1


@pytest.mark.parametrize(
    "ratings",
    [
        make_ratings(n_users=120, n_items=50, n_ratings=2_400, seed=3),
        make_ratings(n_users=30, n_items=10, n_ratings=90, seed=4),
        Ratings.from_columns([1, 1, 2, 2, 3], [1, 2, 1, 2, 1], [5, 1, 5, 1, 3]),
    ],
    ids=["usual", "small", "twins"],
)
def test_the_checks_hold(ratings):
    for check in check_attack(ratings):
        if check.code != "denominator" or np.ptp(ratings.activity) > 0:
            assert check.holds, check


class TestOutsideKnowledge:
    def test_the_right_user_is_first(self, tmp_path):
        ratings = make_ratings(n_users=100, n_items=60, n_ratings=2_000, seed=5)
        items, values = ratings.row(17)
        rows = [
            f"alice,{ratings.items[i]},{v:g}" for i, v in zip(items[:6], values[:6], strict=True)
        ]
        (tmp_path / "aux.csv").write_text("\n".join(["target,item,rating", *rows, "alice,999,3"]))
        (alice,) = look_for(ratings, Candidates.from_ratings(ratings), tmp_path / "aux.csv")
        assert alice.users[0] == str(ratings.users[17])
        assert (alice.known, alice.matched) == (7, 6)
        assert alice.scores == sorted(alice.scores, reverse=True)
        assert 0 <= alice.bits < np.log2(100)

    def test_items_of_another_world_are_refused(self, tmp_path):
        (tmp_path / "aux.csv").write_text("target,item,rating\na,heat,3\n")
        ratings = make_ratings(20, 10, 60, seed=1)
        with raises("id.unknown") as caught:
            look_for(ratings, Candidates.from_ratings(ratings), tmp_path / "aux.csv")
        assert "1 item" in str(caught.value)


def test_times_of_a_unit_that_is_not_read_are_refused():
    """An audit without dates, or with few days, would understate the risk."""
    table = make_ratings(60, 40, 900, seed=1).to_arrow()
    seconds = table["timestamp"].to_numpy()
    file_times = table.set_column(
        table.column_names.index("timestamp"),
        "timestamp",
        pa.array((seconds + 11_644_473_600) * 10**7 + 1),
    )
    assert understand(file_times).ratings.days is None
    for given in ({}, {"time": "timestamp"}):
        with raises("time.unreadable", "'timestamp'", "FILETIME", "--no-times") as error:
            audit(file_times, targets=20, curves=False, **given)
        assert "number / 10000000 - 11644473600" in str(error.value)
    found = audit(file_times, targets=20, curves=False, times=False)
    assert found.ratings.days is None
    known = file_times.slice(0, 20).rename_columns(["target", *file_times.column_names[1:]])
    with raises("time.unreadable", "FILETIME"):
        audit(table, auxiliary=known, targets=20, curves=False)


@pytest.mark.parametrize(
    ("format", "remedy"),
    [
        *(("%d%m%y", "%d%m%y"), ("%m%d%y", "%m%d%y"), ("%Y%j", "%Y%j"), ("MJD", "3506716800")),
        *(("%d/%m/%Y", "--time-format"), ("%Y-%j", "--time-format"), ("%d %b %Y", "--time-format")),
    ],
)
def test_times_that_are_not_read_are_refused_with_a_remedy_that_works(tmp_path, format, remedy):
    """Only a note said that the audit went on without them."""
    table = make_ratings(60, 40, 900, seed=1).to_arrow().to_pandas()
    days = pd.to_datetime(table["timestamp"], unit="s").dt.floor("D")
    number = (days - pd.Timestamp(1858, 11, 17)).dt.days
    table["timestamp"] = number if format == "MJD" else days.dt.strftime(format)
    source, target = tmp_path / "my ratings of a year.csv", tmp_path / "without.csv"
    table.to_csv(source, index=False)
    with raises("time.unreadable", "'timestamp'", "--no-times") as error:
        audit(source, targets=20, curves=False)
    assert remedy in str(error.value)
    assert any("'timestamp' was not used as times" in note for note in understand(source).notes)
    if format != "MJD":
        read = understand(source, time_format=format).require_times().ratings.days
        assert sorted(read) == sorted((days - pd.Timestamp(1970, 1, 1)).dt.days)
    convert(source, target, target_format="csv", times=False)
    assert understand(target).require_times().ratings.n_ratings == 900


@pytest.mark.parametrize("format", ["%Y%m%dT%H%M%S", "%Y%m%dT%H%MZ", "%Y%m%dT%H%M%S.5+0000"])
@pytest.mark.parametrize("name", ["timestamp", "seen"])
def test_iso_dates_in_the_basic_format_are_read(format, name):
    table = make_ratings(60, 40, 900, seed=1).to_arrow().to_pandas()
    days = pd.to_datetime(table.pop("timestamp"), unit="s").dt.floor("D")
    table[name] = (days + pd.Timedelta(hours=8)).dt.strftime(format)
    reading = understand(table).require_times()
    assert sorted(reading.ratings.days) == sorted((days - pd.Timestamp(1970, 1, 1)).dt.days)


def test_digits_of_dates_give_the_same_audit_as_iso_dates():
    table = make_ratings(60, 40, 900, seed=1).to_arrow()
    days = table["timestamp"].to_numpy().astype("M8[s]").astype("M8[D]")
    number = table.column_names.index("timestamp")
    digits = np.char.add(np.char.replace(days.astype(str), "-", ""), "235958").astype(np.int64)
    wanted = audit(table.set_column(number, "timestamp", pa.array(days)), targets=20, curves=False)
    found = audit(table.set_column(number, "timestamp", pa.array(digits)), targets=20, curves=False)
    assert found.to_dict()["attacks"] == wanted.to_dict()["attacks"]
