"""A table in parts is read as the one file that they make."""

import pytest

from recveil.io import read_ratings, understand
from recveil.runtime.memory import MemoryLimitError, memory_limited
from shared.io_part_files import (
    NAMES,
    ROWS,
    whole,  # noqa: F401 (fixtures)
    write,
)


def test_partitions_as_hive_writes_them(tmp_path, whole):
    folder = tmp_path / "ratings"
    for at, (user, item, rating, date) in enumerate(ROWS):
        write(folder / f"date={date}" / f"{at}.parquet", [(user, item, rating)], NAMES[:3])
    reading = understand(folder)
    assert reading.ratings == whole
    assert reading.mapping().endswith("time: column 'date'")
    assert read_ratings(folder, time="date") == whole
    assert read_ratings(f"{folder}/date=*/*.parquet") == whole
    assert read_ratings(folder, times=False).days is None


def test_all_parts_together_are_bounded(tmp_path):
    for at in range(8):
        rows = [(at * 20_000 + n, n % 50, 3) for n in range(400_000)]
        write(tmp_path / "ratings" / f"{at}.csv", rows[:400_000], NAMES[:3])
    with (
        memory_limited("30MB"),
        pytest.raises(MemoryLimitError) as error,
    ):
        read_ratings(tmp_path / "ratings")
    assert error.value.code == "machine.memory"
