"""The second checker, on releases that were made by hand, good ones and bad ones."""

import io

import independent_text
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv


@given(st.lists(st.tuples(st.text(), st.integers(-(2**63), 2**63 - 1), st.floats()), max_size=4))
def test_any_values_in_the_one_notation(rows):
    """As Arrow writes them, in which text is whatever it is."""
    columns = dict(zip("aib", zip(*rows, strict=True), strict=True)) if rows else {}
    kinds = {"a": str, "i": int, "b": float}
    types = {"a": pa.string(), "i": pa.int64(), "b": pa.float64()}
    table = pa.table({name: pa.array(columns.get(name, ()), types[name]) for name in kinds})
    sink = io.BytesIO()
    csv.write_csv(table, sink)
    assert list(independent_text.problems_of_text(sink.getvalue(), kinds)) == []
