"""Ids as they are taken: what no text can hold is refused."""

import pyarrow as pa
import pytest

from recveil.errors import RecveilError
from recveil.ratings.labels import encode_labels

KINDS = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_an_id_with_a_nul_is_refused_by_its_row(kind):
    """No text file can hold it: a CSV of it would be refused by whoever reads it."""
    column = pa.chunked_array([pa.array(["ann", "b\0b"]).cast(kind), pa.array(["ann"]).cast(kind)])
    with pytest.raises(RecveilError, match="the item holds a NUL") as refused:
        encode_labels(column, "item", lambda row: f"row {row}")
    assert "row 1" in str(refused.value)
    assert encode_labels(column.slice(2), "item", str)[0].tolist() == ["ann"]
