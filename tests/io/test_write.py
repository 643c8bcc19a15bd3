"""What is written is read back, and a failure leaves nothing behind."""

import os
import stat
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.io import read_ratings, write_ratings
from recveil.io.write import reject_replacing
from recveil.publish._convert import convert
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError

RATINGS = Ratings.from_columns(
    ["ann", "ann", "007"], [5, 6, 5], [4, 3.5, 1], days=[12_000, -12_000, 2_000]
)

NAMES = ["r.parquet", "r.csv", "r.inter", "r.csv.gz", "r.inter.gz"]


@pytest.mark.filterwarnings("ignore:.* times are before 1990 or in the future")
@pytest.mark.parametrize("name", NAMES)
def test_round_trip(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_ratings(RATINGS, path)
    assert read_ratings(path) == RATINGS
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_text_is_plain_and_inter_has_recbole_types(tmp_path: Path) -> None:
    write_ratings(RATINGS, tmp_path / "r.csv")
    write_ratings(RATINGS, tmp_path / "r.inter")
    assert (tmp_path / "r.csv").read_text() == (
        "user_id,item_id,rating,timestamp\n007,5,1,172800000\nann,5,4,1036800000\nann,6,3.5,-1036800000\n"
    )
    assert (tmp_path / "r.inter").read_text().splitlines()[:2] == [
        "user_id:token\titem_id:token\trating:float\ttimestamp:float",
        "007\t5\t1\t172800000",
    ]


def test_no_times_no_column(tmp_path: Path) -> None:
    write_ratings(Ratings.from_columns([1], [2], [3]), tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == "user_id,item_id,rating\n1,2,3\n"


def test_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write_ratings(RATINGS, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("label", ["a\tb", "\t"])
def test_inter_refuses_tabs_and_leaves_the_old_file(tmp_path: Path, label: str) -> None:
    path = tmp_path / "r.inter"
    path.write_text("old")
    with raises("id.line-break"):
        write_ratings(Ratings.from_columns([label], ["x"], [3]), path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_failure_midway_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_the_disk(table: object, stream: object, options: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "r.csv"
    path.write_text("old")
    monkeypatch.setattr("recveil.io.write.arrow_csv.write_csv", fill_the_disk)
    with raises("machine.disk"):
        write_ratings(RATINGS, path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("name", "format", "code", "said"),
    [
        ("r.xlsx", None, "output.extension", "'.xlsx'"),
        ("r", None, "output.extension", ""),
        ("r.csv", "tsv", "option.value", "'tsv'"),
        ("r.parquet.gz", None, "output.extension", ""),
        ("nowhere/r.csv", None, "output.not-writable", ""),
    ],
)
def test_refuses_targets(
    tmp_path: Path, name: str, format: str | None, code: str, said: str
) -> None:
    with raises(code) as error:
        write_ratings(RATINGS, tmp_path / name, format=format)
    assert said in str(error.value)
    assert not list(tmp_path.iterdir())


def test_refuses_a_folder_as_target(tmp_path: Path) -> None:
    (tmp_path / "r.csv").mkdir()
    with raises("output.not-writable"):
        write_ratings(RATINGS, tmp_path / "r.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


def test_refuses_a_folder_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    # Root may write everywhere, so that taking the permission away would test nothing there.
    monkeypatch.setattr(Path, "open", refuse)
    with raises("output.not-writable"):
        write_ratings(RATINGS, tmp_path / "r.csv")


def test_raw_ratings_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_ratings(RATINGS, tmp_path / "ratings.csv")
        (tmp_path / "open.csv").touch()
        write_ratings(RATINGS, tmp_path / "open.csv")
    finally:
        os.umask(before)
    for name in ("ratings.csv", "open.csv"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_raw_ratings_are_not_put_into_a_release(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "release.json").write_text('{"format": "recveil-release-3"}')
    with raises("output.place"):
        write_ratings(RATINGS, tmp_path / "out" / "raw.csv")
    with raises("output.place"):
        reject_replacing(tmp_path / "out" / "raw.csv", force=True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["release.json"]


@pytest.mark.parametrize("force", [True, False])
def test_what_a_killed_run_left_goes_even_if_the_next_one_is_refused(
    tmp_path: Path, force: bool
) -> None:
    (tmp_path / "made.csv").write_text("old")
    (tmp_path / ".made.csv.0123abcd.tmp").write_text("user_id,item_id,rating\n1,2,3\n")
    (tmp_path / "bad.csv").write_text("no ratings\n")
    with pytest.raises(RecveilError):
        convert(tmp_path / "bad.csv", tmp_path / "made.csv", force=force)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "made.csv"]
