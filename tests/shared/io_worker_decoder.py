"""What the fast and the slow tests of `test_decoder.py` share."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recveil.io.worker import decoder

TABLE = pa.table(
    {
        "user": pa.array(["ann", "ben", "ann"]).dictionary_encode(),
        "item": pa.array([7, 7, 9]),
        "rating": pa.array([4.0, 3.5, 1.0]),
    }
)


@pytest.fixture
def afresh(monkeypatch):
    """No process waits, before and after."""
    decoder._Child.end_all()
    yield monkeypatch
    decoder._Child.end_all()


def write(path, format, table=TABLE):
    if format == "parquet":
        pq.write_table(table, path)
        return
    with pa.OSFile(str(path), "wb") as file:
        make = pa.ipc.new_stream if format == "stream" else pa.ipc.new_file
        with make(file, table.schema) as writer:
            writer.write_table(table)
