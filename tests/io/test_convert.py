"""Convert is reading and then writing."""

import gzip
from pathlib import Path

import pytest

from recveil.errors import RecveilError
from recveil.io import convert, read_ratings
from recveil.ratings import RatingScale


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "u.data"
    path.write_text("1\t5\t4\t86400\n1\t5\t2\t86400\n2\t5\t1\t172800\n")
    return path


def test_converts_and_returns_the_ratings(source: Path) -> None:
    target = source.with_name("r.csv.gz")
    ratings = convert(source, target, duplicates="last", scale=RatingScale(1, 5, 1), times=False)
    assert gzip.decompress(target.read_bytes()) == b"user_id,item_id,rating\n1,5,2\n2,5,1\n"
    assert read_ratings(target, scale=RatingScale(1, 5, 1)) == ratings


def test_converts_a_file_onto_itself(source: Path) -> None:
    ratings = convert(source, source, target_format="csv", duplicates="mean")
    assert read_ratings(source) == ratings


def test_refuses_the_target_before_it_reads(source: Path) -> None:
    with pytest.raises(RecveilError, match=r"ending '\.doc'"):
        convert(source.with_name("missing"), source.with_name("r.doc"))


def test_unreadable_source_leaves_no_target(source: Path) -> None:
    with pytest.raises(RecveilError, match="stands more than once"):
        convert(source, source.with_name("r.csv"))
    assert not source.with_name("r.csv").exists()
