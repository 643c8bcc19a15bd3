"""Parquet and Arrow files."""

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import read_ratings, read_table
from recveil.ratings import Ratings
from recveil.verification import verify

TABLE = pa.table(
    {
        "genre": ["a", "b", "c"],
        "rating": [4, 3.5, 1],
        "movieId": [5, 6, 5],
        "userId": ["1", "1", "007"],
        "timestamp": pa.array([864_000_000, 864_000_000, 864_086_400]).cast(pa.timestamp("s")),
    }
)
EXPECTED = Ratings.from_columns(
    ["1", "1", "007"], [5, 6, 5], [4, 3.5, 1], days=[10_000, 10_000, 10_001]
)


def write(table: pa.Table, path: Path, kind: str) -> Path:
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=2)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path, compression="zstd")
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    return path


KINDS = ["parquet", "feather", "stream"]


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("kind", KINDS)
def test_reads(tmp_path: Path, kind: str, zipped: bool) -> None:
    path = write(TABLE, tmp_path / "ratings.bin", kind)
    if zipped:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_ratings(path) == EXPECTED
    source = read_table(path)
    assert source.table.column_names == ["user", "item", "rating", "time", "genre"]
    assert source.table["genre"].to_pylist() == ["a", "b", "c"]
    assert source.table["rating"].type == pa.float64()
    assert source.locate(2) == "ratings.bin row 3"


@pytest.mark.parametrize("kind", KINDS)
def test_errors_name_the_row(tmp_path: Path, kind: str) -> None:
    at = TABLE.column_names.index("rating")
    holes = TABLE.set_column(at, "rating", pa.array([4, None, 1.0]))
    with raises("rating.missing") as error:
        read_ratings(write(holes, tmp_path / "r.bin", kind))
    assert "r.bin row 2" in str(error.value)
    with raises("table.no-ratings"):
        read_ratings(write(TABLE.slice(0, 0), tmp_path / "r.bin", kind))
    with raises("column.missing"):
        read_ratings(write(TABLE.drop_columns("userId"), tmp_path / "r.bin", kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [12, 200, -20])
def test_damaged_file(tmp_path: Path, kind: str, kept: int) -> None:
    path = write(TABLE, tmp_path / "r.bin", kind)
    path.write_bytes(path.read_bytes()[:kept])
    with raises("input.damaged"):
        read_ratings(path)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("content", [b"", b"user,item,rating\n1,2,3\n"])
def test_text_called_columnar(tmp_path: Path, format: str, content: bytes) -> None:
    path = tmp_path / "r.bin"
    path.write_bytes(content)
    with raises("input.damaged"):
        read_ratings(path, format=format)


def test_partition_in_the_path_adds_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "k=5"
    folder.mkdir()
    path = write(TABLE, folder / "r.parquet", "parquet")
    assert "k" not in read_table(path).table.column_names


NESTED = {
    "list": pa.array([[1], [2, 3], []]),
    "struct": pa.array([{"x": 1}] * 3),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nested", NESTED)
class TestNestedColumns:
    @pytest.mark.parametrize(
        ("role", "name"),
        [("user", "userId"), ("item", "movieId"), ("rating", "rating"), ("time", "timestamp")],
    )
    def test_refused_by_name_where_they_are_needed(self, tmp_path, kind, nested, role, name):
        at = TABLE.column_names.index(name)
        path = write(TABLE.set_column(at, name, NESTED[nested]), tmp_path / "r.bin", kind)
        for read in (read_ratings, read_table):
            with raises("column.type") as caught:
                read(path)
            result = rf"^r\.bin: column '{name}'( \({role}\))? holds {nested}<"
            assert re.match(result, str(caught.value))
            assert len(str(caught.value)) < 300

    def test_an_unused_column_does_no_harm(self, tmp_path, kind, nested):
        path = write(TABLE.append_column("tags", NESTED[nested]), tmp_path / "r.bin", kind)
        assert read_ratings(path) == EXPECTED

    def test_verify_refuses_what_it_cannot_compare(self, tmp_path, kind, nested):
        path = write(TABLE.append_column("tags", NESTED[nested]), tmp_path / "r.bin", kind)
        with raises("column.type") as error:
            verify(path, k=2)
        assert "'tags'" in str(error.value)


@pytest.mark.parametrize("name", ["user", "rating", "time"])
def test_runs_are_named_as_what_they_are(tmp_path, name):
    """They are no "several values a row", and no fault of ours."""
    n = 6
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array([3, 6], pa.int32()), pa.array([10**9, 10**9 + 1])
    )
    columns = {"user": [1] * n, "item": range(n), "rating": [3] * n, "time": [10**9] * n}
    table = pa.table(
        {key: runs if key == name else pa.array(values) for key, values in columns.items()}
    )
    path = tmp_path / "ratings.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with raises("column.type") as error:
        read_ratings(path)
    assert f"'{name}'" in str(error.value)


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_of_columns_with_one_name_one_is_selected_by_place(tmp_path, kind, order):
    columns = [pa.array(["a", "b", "a"]), pa.array(["x", "x", "y"])]
    columns += [pa.array([1, 5, 2]), pa.array([2**40, 4, 1])]
    names = ["user", "item", "rating", "rating"]
    table = pa.Table.from_arrays([columns[at] for at in order], names=[names[at] for at in order])
    path = write(table, tmp_path / f"r.{kind}", kind)
    (tmp_path / "parts").mkdir()
    write(table, tmp_path / "parts" / f"1.{kind}", kind)
    place = order.index(2) + 1
    with raises("column.duplicate", f"(--rating {1 + min(order.index(2), order.index(3))})"):
        read_ratings(path)
    for source in (path, tmp_path / "parts"):
        found = read_ratings(source, rating=place)
        assert found.values.tolist() == [1, 2, 5]
        assert read_ratings(source, rating=order.index(3) + 1).values.tolist() == [2**40, 1, 4]


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_users_and_items_with_one_name_are_selected_by_place(tmp_path, kind):
    columns = [pa.array(["a", "b", "a"]), pa.array([3, 5, 4]), pa.array(["x", "x", "y"])]
    table = pa.Table.from_arrays(columns, names=["id", "rating", "id"])
    found = read_ratings(write(table, tmp_path / "r.file", kind), user=1, item=3)
    assert (found.users.tolist(), found.items.tolist()) == (["a", "b"], ["x", "y"])
    assert found.values.tolist() == [3, 4, 5]
