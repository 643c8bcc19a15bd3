"""Small files that were made to take much time or memory are judged, or refused, quickly."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.io import read_ratings
from recveil.io.columns.time_columns import look_for_dates
from recveil.io.source import Selection
from recveil.runtime.memory import memory_limited
from recveil.verification import verify
from shared.small_and_hostile import (
    MANY,
    _repeat,
    quick,  # noqa: F401 (fixtures)
)

RELEASES = Path(__file__).parents[1] / "verification" / "format_3"


def _release(tmp_path, name) -> Path:
    return Path(shutil.copytree(RELEASES / name, tmp_path / name))


@pytest.mark.usefixtures("quick")
class TestNamesAreCountedOnce:
    def test_columns_of_a_table(self, tmp_path):
        names = ["user", "item", "rating", *(f"x{n}" for n in range(MANY))]
        path = tmp_path / "r.csv"
        for last in "x1", "y":
            header = [*names, last]
            assert len(header) == MANY + 4
            row = "1,7,4" + ",0" * (MANY + 1)
            path.write_text("\n".join([",".join(header), row, row.replace("1,", "2,", 1)]))
            if last == "x1":
                with raises("column.duplicate", "'x1'"):
                    Selection(extras=True).choose(header, "r.csv")
        assert verify(path, k=2).holds

    def test_columns_that_may_be_dates(self):
        names = [f"x{n}" for n in range(10_000)]
        dates = pa.array(["2009-12-14"])
        assert look_for_dates(pa.table([dates] * 10_001, [*names, "x3"])).name is None


class TestWhatBecomesManyRows:
    def test_records_take_no_more_than_they_may(self, tmp_path):
        folder = _release(tmp_path, "predictive-padded")
        _repeat(folder, "ratings.parquet", 300_000)
        assert (folder / "ratings.parquet").stat().st_size < 50_000
        with (
            memory_limited("50MB"),
            raises("machine.memory", "ratings.parquet", "records"),
        ):
            verify(folder)


@pytest.mark.parametrize("array", [False, True])
def test_an_object_of_a_million_others(tmp_path, array):
    path = tmp_path / "r.jsonl"
    good = '{"user":1,"item":2,"rating":3}'
    many = good[:-1] + ',"x":[' + ",".join(["[{}]"] * 500_000) + "]}"
    path.write_text(f"[{good},\n{many}]" if array else f"{good}\n{many}\n")
    with (
        memory_limited("50MB"),
        raises("machine.memory", "r.jsonl", "an object"),
    ):
        read_ratings(path, format="json")
