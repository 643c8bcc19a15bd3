"""Ids as they are taken: what no text can hold is refused."""

import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.io.columns.ids import encode_ids

KINDS = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("sign", ["\0", *"\n\r\v\f\x85\u2028\u2029\x1e"], ids=ascii)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_an_id_with_a_line_break_is_refused_by_its_row(kind, sign):
    """A text file cannot hold a NUL, and a line break is a sign of a swallowed row."""
    texts = ["ann", f"b{sign}b"]
    column = pa.chunked_array([pa.array(texts).cast(kind), pa.array(["ann"]).cast(kind)])
    with raises("id.line-break") as refused:
        encode_ids(column, "item", lambda row: f"row {row}")
    assert "row 1" in str(refused.value)
    assert f"(U+{ord(sign):04X})" in str(refused.value)
    assert encode_ids(column.slice(2), "item", str)[0].tolist() == ["ann"]


@pytest.mark.parametrize(
    ("kind", "bits"), [(pa.float16(), 11), (pa.float32(), 24), (pa.float64(), 53)], ids=str
)
def test_an_id_that_may_be_another_one_s_is_refused(kind, bits):
    """The number behind the last exact one arrives as that one: two users would be one."""
    for low in (2**bits, -(2**bits)):
        column = pa.chunked_array([pa.array([1.0, float(low)]).cast(kind)])
        with raises("id.type") as refused:
            encode_ids(column, "user", lambda row: f"row {row}")
        assert "row 1" in str(refused.value)
        assert len(str(refused.value)) < 300
    column = pa.chunked_array([pa.array([float(2**bits - 1)]).cast(kind)])
    assert encode_ids(column, "user", str)[0].tolist() == [2**bits - 1]
