"""What the fast and the slow tests of `test_small_and_hostile.py` share."""

import hashlib
import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MANY = 60_000


@pytest.fixture
def quick():
    """Fail a test that counts each of many names again for each: that takes minutes."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 20


def _sign(folder: Path) -> None:
    file = folder / "release.json"
    manifest = json.loads(file.read_text())
    for name in manifest["files"]:
        content = (folder / name).read_bytes()
        result = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        manifest["files"][name] = result
    file.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def _repeat(folder: Path, name: str, n_rows: int) -> None:
    """Write the first row again and again; if there are users, two take turns."""
    old = pq.read_table(folder / name)
    columns = {}
    for field in old.schema:
        first = old[field.name].unique().take(pa.array(np.zeros(n_rows, np.int64)))
        if field.name == "user_id":
            first = old[field.name].unique().take(pa.array(np.arange(n_rows) % 2))
        columns[field.name] = first
    pq.write_table(pa.table(columns), folder / name, compression="zstd", store_schema=False)
    _sign(folder)
