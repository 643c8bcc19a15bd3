"""Convert is reading and then writing."""

import gzip
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.io import read_ratings
from recveil.publish import convert
from recveil.ratings import RatingScale


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "u.data"
    path.write_text("1\t5\t4\t86400\n1\t5\t2\t86400\n2\t5\t1\t172800\n")
    return path


def test_converts_and_returns_the_ratings(source: Path) -> None:
    target = source.with_name("r.csv.gz")
    found = convert(source, target, duplicates="last", scale=RatingScale(1, 5, 1), times=False)
    assert gzip.decompress(target.read_bytes()) == b"user_id,item_id,rating\n1,5,2\n2,5,1\n"
    assert read_ratings(target, scale=RatingScale(1, 5, 1)) == found.ratings
    assert (found.duplicates_dropped, found.columns[1].name) == (1, 2)


def test_neither_replaces_a_file_unasked_nor_ever_its_source(source: Path) -> None:
    other, before = source.with_name("other.csv"), source.read_bytes()
    other.write_text("mine")
    for target, force, code in (
        (source, False, "output.exists"),
        (source, True, "output.is-input"),
        (other, False, "output.exists"),
    ):
        with raises(code):
            convert(source, target, target_format="csv", duplicates="mean", force=force)
    assert (source.read_bytes(), other.read_text()) == (before, "mine")
    found = convert(source, other, duplicates="mean", force=True)
    assert read_ratings(other) == found.ratings


def test_refuses_the_target_before_it_reads(source: Path) -> None:
    with raises("output.extension", "'.doc'"):
        convert(source.with_name("missing"), source.with_name("r.doc"))


def test_unreadable_source_leaves_no_target(source: Path) -> None:
    with raises("rating.duplicate"):
        convert(source, source.with_name("r.csv"))
    assert not source.with_name("r.csv").exists()


@pytest.mark.parametrize("source", ["parts/*.csv", "parts", "file://{here}/parts/*.csv"])
def test_no_part_of_the_source_is_written_over(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "0.csv").write_text("user,item,rating\nann,7,4\n")
    (tmp_path / "real.csv").write_text("user,item,rating\nben,7,3\n")
    (tmp_path / "parts" / "1.csv").symlink_to("../real.csv")
    for target in ("parts/0.csv", "parts/1.csv", "real.csv"):
        with raises("output.is-input"):
            convert(source.format(here=tmp_path), target, force=True)
    assert (tmp_path / "real.csv").read_text() == "user,item,rating\nben,7,3\n"


@pytest.mark.parametrize(
    ("source", "target"),
    [("parts", "parts/all.csv"), ("parts/*.csv", "parts/all.csv"), ("0.csv", "0.csv-wal")],
)
def test_nothing_is_put_among_what_the_next_run_reads(tmp_path, monkeypatch, source, target):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "0.csv").write_text("user,item,rating\nann,7,4\n")
    with raises("output.is-input"):
        convert(source, target, target_format="csv")
    assert len(list(tmp_path.rglob("*"))) == 2
