"""Packed texts of few bytes that become many take no more memory than they may, of every kind."""

import gzip
import os
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.methods import anonymize
from recveil.methods.synthetic.options import parse_item_catalog
from recveil.ratings import RatingScale
from recveil.runtime.errors import RecveilError
from recveil.runtime.memory import memory_limited
from recveil.verification import verify


def packed(tmp_path, name, lines, head=""):
    path = tmp_path / name
    with gzip.open(path, "wt", 1) as file:
        file.write(head)
        file.writelines(lines)
    assert path.stat().st_size < 3_000_000
    return path


@pytest.fixture
def little():
    with memory_limited("50MB"):
        yield


def test_a_list_of_items_may_be_packed(tmp_path):
    path = packed(tmp_path, "items.txt.gz", ["9\n7\n"])
    assert parse_item_catalog(path).tolist() == [7, 9]


def test_a_list_of_items_that_never_ends(little):
    with pytest.raises(RecveilError):
        parse_item_catalog("/dev/zero")


def test_what_is_private_and_far_too_large(tmp_path):
    ratings = "user,item,rating\n1,1,4\n2,1,4\n1,2,3\n2,2,3\n"
    (tmp_path / "ratings.csv").write_text(ratings)
    anonymize(
        tmp_path / "ratings.csv",
        tmp_path / "out",
        k=2,
        method="predictive",
        seed=1,
        scale=RatingScale(1, 5, 1),
    )
    private = tmp_path / "out.private"
    os.truncate(private / "private.json", 10**12)
    with raises("private.damaged"):
        verify(tmp_path / "out", private=private)
    assert Path(private).is_dir()
