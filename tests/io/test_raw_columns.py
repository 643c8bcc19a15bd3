"""The columns of a table are read as they are only on request."""

import pyarrow as pa
import pytest

from recveil.io import read_ratings, understand
from recveil.io.ingestion import observe_raw_columns
from recveil.runtime.errors import RecveilError

FRAME = pa.table(
    {"user": [1, 2], "item": [5, 5], "rating": ["3.50", "4"], "when": ["2020-01-01"] * 2}
)


def test_columns_are_shown_inside_the_block_alone():
    seen = []
    with observe_raw_columns(lambda columns: seen.append(sorted(columns))):
        understand(FRAME)
    understand(FRAME)
    assert seen == [["item", "rating", "time", "user"]]


def test_blocks_stand_in_each_other_and_end_with_an_error():
    outer, inner = [], []
    with observe_raw_columns(outer.append):
        with pytest.raises(RecveilError), observe_raw_columns(inner.append):
            read_ratings("no such file.csv")
        understand(FRAME)
    assert (len(outer), inner) == (1, [])
