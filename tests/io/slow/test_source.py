"""Which columns are read: none may be lost, whatever they are called."""

import os

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.runtime.errors import RecveilError
from recveil.verification import verify
from shared.io_source import NEEDED, names


@settings(deadline=None, max_examples=200 if os.environ.get("RECVEIL_TORTURE") else 50)
@given(names=st.lists(names, min_size=1, max_size=6, unique=True), last=st.booleans())
def test_a_column_that_distinguishes_users_is_seen_under_any_name(names, last, tmp_path_factory):
    columns = {name: ["4", "4"] for name in NEEDED} | {"user_id": ["a", "b"]}
    extras = {name: ["x", "x"] for name in names} | {names[-last]: ["x", "y"]}
    table = pa.table(columns | extras)
    folder = tmp_path_factory.mktemp("some")
    pa_csv.write_csv(table, folder / "some.csv")
    pq.write_table(table, folder / "some.parquet")
    for file in folder.iterdir():
        try:
            verdict = verify(file, k=2)
        except RecveilError:
            continue  # two could be the user, or group_size is no number
        assert not verdict.holds
