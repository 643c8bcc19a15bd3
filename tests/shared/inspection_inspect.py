"""What the fast and the slow tests of `test_inspect.py` share."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = [(f"u{n % 7}", f"i{n % 11}", n % 5 + 1, f"2020-01-{n % 28 + 1:02}") for n in range(70)]

TABLE = pa.table(
    [list(column) for column in zip(*ROWS, strict=True)], ["user", "item", "rating", "date"]
)

TEXT = "user,item,rating,date\n" + "".join(f"{u},{i},{r},{d}\n" for u, i, r, d in ROWS)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ratings.csv").write_text(TEXT)
    (tmp_path / "plain.csv").write_text(TEXT.partition("\n")[2])
    (tmp_path / "european.csv").write_text(TEXT.replace(",", ";"))
    objects = TABLE.to_pylist()
    (tmp_path / "ratings.jsonl").write_text("\n".join(map(json.dumps, objects)))
    pq.write_table(TABLE, tmp_path / "ratings.parquet")
    (tmp_path / "parts").mkdir()
    for at in range(2):
        pq.write_table(TABLE.slice(35 * at, 35), tmp_path / "parts" / f"part-{at}.parquet")
    return tmp_path
