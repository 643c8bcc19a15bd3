"""Columns of any type that Arrow has, in any place, are read, or refused in words."""

from decimal import Decimal
from uuid import NAMESPACE_DNS, UUID, uuid5

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import read_levels, understand
from recveil.ratings.arrow_columns import plain_column, plain_table, python_values
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

FAR = 2**61
ODD = {
    "unknown zone": pa.array([1, 2], pa.timestamp("s", "Mars/Crater")),
    "unknown zone, far": pa.array([1, FAR]).view(pa.timestamp("s", "Mars/Crater")),
    "far": pa.array([1, FAR]).view(pa.timestamp("s")),
    "far in a zone": pa.array([1, FAR]).view(pa.timestamp("s", "UTC")),
    "far before": pa.array([1, -(2**63)]).view(pa.timestamp("ns")),
    "far date": pa.array([1, 2**31 - 1], pa.int32()).view(pa.date32()),
    "far date of ms": pa.array([1, 2**62]).view(pa.date64()),
    "far time of day": pa.array([1, 2**62]).view(pa.time64("us")),
    "short time of day": pa.array([1, 2**30], pa.int32()).view(pa.time32("s")),
    "long duration": pa.array([1, 2**63 - 1]).view(pa.duration("s")),
    "decimal": pa.array([Decimal("1.5"), None], pa.decimal128(38, 20)),
    "long decimal": pa.array([Decimal("1.5"), None], pa.decimal256(70, 20)),
    "bytes": pa.array([b"\xff", b"b"]),
    "bytes of one length": pa.array([b"\xff", b"b"], pa.binary(1)),
    "truth values": pa.array([True, False]),
    "nothing": pa.nulls(2),
    "intervals": pa.array([(1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval()),
    "unsigned": pa.array([2**64 - 1, 1], pa.uint64()),
    "dictionary of far times": pa.array([1, FAR]).view(pa.timestamp("s")).dictionary_encode(),
    "dictionary of an unknown zone": pa.array(
        [1, 2], pa.timestamp("s", "Mars/C")
    ).dictionary_encode(),
    "dictionary of bytes": pa.array([b"\xff", b"b"]).dictionary_encode(),
    "dictionary with a gap": pa.DictionaryArray.from_arrays([0, 1], [None, "x"]),
    "dictionary of gaps": pa.DictionaryArray.from_arrays([0, 0], pa.nulls(1)),
    "dictionary of decimals": pa.array([Decimal("1.5"), None]).dictionary_encode(),
    "view of text": pa.array(["a", "b"], pa.string_view()),
    "view of bytes": pa.array([b"\xff", b"b"], pa.binary_view()),
    "lists": pa.array([[1], [2]]),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), ["a"]),
    "no numbers": pa.array([float("nan"), float("inf")]),
} | {
    name: pa.array(values, getattr(pa, name)(*given))
    for name, values, given in (
        ("uuid", [b"0" * 16] * 2, ()),
        ("json_", ["{}", "1"], ()),
        ("bool8", [1, 0], ()),
        ("decimal32", [Decimal("1.5"), None], (5, 1)),
    )
    if hasattr(pa, name)  # by the version of Arrow
}
PLACES = ["user_id", "item_id", "rating", "timestamp", "k", "x", "group_size"]
PLAIN = {
    "user_id": pa.array(["ann", "ben"]),
    "item_id": pa.array([1, 2]),
    "rating": pa.array([4.0, 3.0]),
    "k": pa.array([1, 1]),
}


def answers(call, *given, **more):
    try:
        call(*given, **more)
    except RecveilError as error:
        assert 0 < len(str(error)) < 300  # noqa: PT017


@pytest.mark.parametrize("name", ODD)
def test_any_type_in_any_place_ends_in_an_answer_or_words(name, tmp_path):
    for place in PLACES:
        table = pa.table(PLAIN | {place: ODD[name]})
        answers(understand, table)
        answers(verify, table, k=1)
        if place not in ("timestamp", "k"):
            continue
        path = tmp_path / "ratings.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        answers(understand, path)
        answers(verify, path, k=1)


@pytest.mark.parametrize("name", ["long duration", "far date"])
def test_levels_that_python_does_not_know(name, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"user_id": ["ann", "ben"], "k": ODD[name]}), tmp_path / "levels")
    with raises("level.value", "levels"):
        read_levels(tmp_path / "levels", pa.array(["ann", "ben"]).to_numpy(zero_copy_only=False), 1)


@pytest.mark.parametrize("name", ODD)
def test_values_stay_as_they_are(name):
    column = pa.chunked_array([ODD[name], ODD[name].slice(1)])
    plain = plain_column(column)
    assert len(plain) == 3
    assert plain.null_count == column.null_count or pa.types.is_dictionary(column.type)
    assert plain_column(plain).type == plain.type
    assert len(python_values(plain)) == 3


def test_no_values_become_equal():
    assert python_values(plain_column(pa.chunked_array([ODD["view of text"]]))) == ["a", "b"]
    zone = plain_column(pa.chunked_array([ODD["unknown zone"]]))
    assert zone.cast(pa.int64()).to_pylist() == [1, 2]


def test_names_may_stand_twice():
    table = pa.Table.from_arrays([pa.array([1]), pa.array(["a"], pa.string_view())], ["x", "x"])
    assert plain_table(table).column_names == ["x", "x"]


@pytest.mark.parametrize("form", ["parquet", "arrow", "dictionary", "pandas"])
def test_uuids_are_their_usual_text(tmp_path, form):
    users = [UUID(int=n << 64 | 7) for n in (1, 2, 1)]
    ids = pa.array([each.bytes for each in users], pa.uuid())
    frame = pa.table({"user": ids, "item": ["a", "a", "b"], "rating": [4, 2, 1]})
    source = tmp_path / "ratings.parquet"
    if form == "parquet":
        pq.write_table(frame, source)
    elif form == "arrow":
        with pa.ipc.new_file(source, frame.schema) as file:
            file.write_table(frame)
    elif form == "pandas":
        source = pd.DataFrame({**frame.to_pydict(), "user": users})
    else:
        once = pa.array([each.bytes for each in users[:2]], pa.uuid())
        source = frame.set_column(0, "user", pa.DictionaryArray.from_arrays([0, 1, 0], once))
    assert understand(source).ratings.users.tolist() == sorted(map(str, set(users)))


@pytest.mark.parametrize("kind", [pa.binary(16), pa.binary(), pa.large_binary()])
def test_bytes_that_are_uuids_are_their_usual_text(tmp_path, kind):
    users = [uuid5(NAMESPACE_DNS, str(n % 5)) for n in range(40)]
    ids = pa.array([each.bytes for each in users], kind)
    table = pa.table({"user": ids, "item": [n // 5 for n in range(40)], "rating": [4, 2] * 20})
    (tmp_path / "parts").mkdir()
    pq.write_table(table.slice(0, 20), tmp_path / "parts" / "0.parquet")
    pq.write_table(table.slice(20), tmp_path / "parts" / "1.parquet")
    for source in table, tmp_path / "parts":
        assert understand(source).ratings.users.tolist() == sorted(map(str, set(users)))
    gap = pa.array([*ids.to_pylist()[1:], None], kind)
    pq.write_table(table.set_column(0, "user", gap), tmp_path / "gap.parquet")
    with raises("id.missing", "row 40"):
        understand(tmp_path / "gap.parquet")
    others = bytes(16), users[0].bytes[:15] + b"\0\0", bytes(range(16))
    for other in others[:1] if pa.types.is_fixed_size_binary(kind) else others:
        mixed = pa.array([*ids.to_pylist()[1:], other], kind)
        with raises("id.type", "hexadecimal"):
            understand(table.set_column(0, "user", mixed))


def test_a_missing_uuid_is_named(tmp_path):
    ids = pa.array([UUID(int=7).bytes, None], pa.uuid())
    pq.write_table(
        pa.table({"user": ids, "item": [1, 2], "rating": [4, 2]}), tmp_path / "r.parquet"
    )
    with raises("id.missing") as error:
        understand(tmp_path / "r.parquet")
    assert "row 2" in str(error.value)


def test_uuids_written_by_duckdb_are_read(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "ratings.parquet"
    made = (
        "select gen_random_uuid() as user_id, 'a' as item, 3 + i % 2 as rating from range(5) r(i)"
    )
    duckdb.sql(f"copy ({made}) to '{path}' (format parquet)")
    known = duckdb.sql(f"select user_id::varchar from '{path}' order by 1").fetchall()
    assert understand(path).ratings.users.tolist() == [user for (user,) in known]
