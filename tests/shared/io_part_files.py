"""What the fast and the slow tests of `test_part_files.py` share."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recveil.io import read_ratings

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
