"""Whole numbers that floats do not keep are noted or refused, whatever they are read from."""

import json
import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import read_ratings
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale(0, 2.0**53)
COLUMNS = ["user", "item", "rating"]
ROWS = [(f"u{user}", item, 2.0**53 if item == "a" else 3.0) for user in range(5) for item in "abc"]
TABLE = pa.table(dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True)))


def as_json(path):
    path.write_text(json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in ROWS]))


def as_text(path):
    path.write_text("\n".join([",".join(COLUMNS), *(f"{u},{i},{r}" for u, i, r in ROWS)]))


FILES = {
    "parquet": lambda path: pq.write_table(TABLE, path),
    "arrow": lambda path: pyarrow.feather.write_feather(TABLE, path),
    "json": as_json,
    "text": as_text,
}


@pytest.mark.parametrize("kind", FILES)
def test_floats_in_files_that_may_be_several_numbers_are_noted(tmp_path, kind):
    FILES[kind](tmp_path / "r")
    with pytest.warns(UserWarning, match="as large as 9007199254740992 are floats"):
        read_ratings(tmp_path / "r", scale=SCALE)


@pytest.mark.parametrize("kind", ["float64", "object", "category"])
def test_floats_in_frames_that_may_be_several_numbers_are_noted(kind):
    frame = pd.DataFrame(ROWS, columns=COLUMNS).astype({"rating": kind})
    for read in (read_ratings, Ratings.from_frame):
        with pytest.warns(UserWarning, match="as large as 9007199254740992 are floats"):
            read(frame, scale=SCALE)


def test_smaller_numbers_have_no_note(tmp_path):
    pq.write_table(TABLE.set_column(2, "rating", [[4.0, 2.0**24, 5.5] * 5]), tmp_path / "r")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read_ratings(tmp_path / "r")
    assert not [each for each in found if "floats" in str(each.message)]


def test_parts_with_whole_numbers_and_floats_are_refused_if_these_do_not_keep_them(tmp_path):
    for number, kind in enumerate((pa.int64(), pa.float64())):
        values = pa.array([2**53 + 1 if kind == pa.int64() else 3] * 15, kind)
        table = TABLE.set_column(2, "rating", [values])
        pq.write_table(table, tmp_path / f"{number}.parquet")
    with raises("input.parts", "0.parquet"):
        read_ratings(tmp_path)
