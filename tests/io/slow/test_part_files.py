"""A table in parts is read as the one file that they make."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recveil.io import read_ratings, understand
from recveil.runtime.memory import MemoryLimitError, memory_limited

ROWS = [(f"u{n % 7}", n, n % 5 + 1, f"2020-01-{n % 20 + 1:02}") for n in range(60)]

NAMES = ("user", "item", "rating", "date")


def lines_of(rows, names=NAMES):
    return "".join(f"{','.join(map(str, row))}\n" for row in [names, *rows])


def write(path, rows, names=NAMES):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        columns = zip(*rows, strict=True)
        pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(lines_of(rows, names).encode()))
    else:
        path.write_text(lines_of(rows, names))


@pytest.fixture
def whole(tmp_path):
    write(tmp_path / "plain.csv", ROWS)
    return read_ratings(tmp_path / "plain.csv")


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
