"""Every byte of a Parquet file, of any size and with any values."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.verification.parquet_bytes import (
    ParquetBytes,
)


def _account(table: pa.Table, file) -> None:
    is_number = pa.types.is_integer(table["item_id"].type)
    pq.write_table(
        table,
        file,
        compression="zstd",
        store_schema=False,
        use_dictionary=[name for name in table.column_names if name != "item_id" or not is_number],
        column_encoding={"item_id": "DELTA_BINARY_PACKED"} if is_number else None,
    )
    account = ParquetBytes(file, table.schema)
    found = pq.ParquetFile(file, read_dictionary=["user_id"])
    for group in range(found.num_row_groups):
        account.check_group(found.read_row_group(group))
    account.check_end()


@settings(deadline=None, max_examples=200)
@given(
    n=st.sampled_from([1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 257, 1000]),
    spread=st.sampled_from([1, 2, 100, 10**12]),
    text=st.booleans(),
    zero=st.sampled_from([0.0, -0.0, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_pyarrow_writes_is_accounted_for(n, spread, text, zero, seed, tmp_path_factory):
    rng = np.random.default_rng(seed)
    items = rng.integers(0, spread, n)
    ratings = np.where(rng.random(n) < 0.5, zero, rng.integers(-3, 3, n) / 2)
    columns = {
        "user_id": pa.array([f"ü{row // 3}" for row in range(n)]),
        "item_id": pa.array([f"item {item}" for item in items] if text else items),
        "rating": pa.array(ratings + 0.0),
    }
    _account(pa.table(columns), tmp_path_factory.mktemp("some") / "some.parquet")


def test_dictionaries_that_grow_too_large(tmp_path):
    n = 200_000
    columns = {
        "user_id": [f"u{row // 3:06d}" for row in range(n)],
        "item_id": [f"an item of a long name {row * 7919 % 150_000}" for row in range(n)],
        "rating": np.random.default_rng(0).random(n),
    }
    _account(pa.table(columns), tmp_path / "some.parquet")
