"""Every format is recognised by its content, gzipped or not, under any name."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import FORMATS, read_ratings, read_table
from recveil.ratings import Ratings

TEXTS = {
    "movielens-tab": "1\t5\t4\t1036800000\n1\t6\t3.5\t1036800001\n2\t5\t1\t1036886400\n",
    "movielens-colons": "1::5::4::1036800000\n1::6::3.5::1036800001\n2::5::1::1036886400\n",
    "csv": (
        "userId,movieId,rating,timestamp\n"
        "1,5,4.0,1036800000\n1,6,3.5,1036800001\n2,5,1.0,1036886400\n"
    ),
    "csv-plain": "1,5,4,2002-11-09\n1,6,3.5,2002-11-09\n2,5,1,2002-11-10\n",
    "tsv": (
        "user\titem\trating\ttime\n"
        "1\t5\t4\t1036800000\n1\t6\t3.5\t1036800001\n2\t5\t1\t1036886400\n"
    ),
    "space": "1 5 4 1036800000\n1 6 3.5 1036800001\n2 5 1 1036886400\n",
    "inter": (
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
        "1\t5\t4\t1036800000\n1\t6\t3.5\t1036800001\n2\t5\t1\t1036886400\n"
    ),
    "json": (
        '{"user": 1, "item": 5, "rating": 4.0, "time": 1036800000}\n'
        '{"user": 1, "item": 6, "rating": 3.5, "time": 1036800001}\n'
        '{"rating": 1, "item": 5, "user": 2, "time": 1036886400}\n'
    ),
    "netflix": "5:\n1,4,2002-11-09\n2,1,2002-11-10\n6:\n1,3.5,2002-11-09\n",
}
EXPECTED = Ratings.from_columns([1, 1, 2], [5, 6, 5], [4, 3.5, 1], days=[12_000, 12_000, 12_001])


# Without a header nothing else distinguishes users from items.
PLACES = {
    format: {"user": "1", "item": "2"} if format in ("movielens-tab", "csv-plain", "space") else {}
    for format in FORMATS
}


def contents(format: str) -> bytes:
    if format in TEXTS:
        return TEXTS[format].encode()
    table = EXPECTED.to_arrow()
    sink = pa.BufferOutputStream()
    if format == "parquet":
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("format", FORMATS)
def test_reads_each_format_by_its_content(tmp_path: Path, format: str, zipped: bool) -> None:
    path = tmp_path / "download"
    path.write_bytes(gzip.compress(contents(format)) if zipped else contents(format))
    assert read_table(path).format == format
    assert read_ratings(path, **PLACES[format]) == EXPECTED
    assert read_ratings(path, format=format, **PLACES[format]) == EXPECTED


@pytest.mark.parametrize("format", FORMATS)
def test_times_can_be_left_out(tmp_path: Path, format: str) -> None:
    path = tmp_path / "download"
    path.write_bytes(contents(format))
    assert read_ratings(path, times=False, **PLACES[format]).days is None


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("1\t5\t4\n", "movielens-tab"),
        ("1::5::4.5\n", "movielens-colons"),
        ("1,5,4\n", "csv-plain"),
        ('"1","5","4"\n', "csv-plain"),
        ("1 5 3.5\n", "space"),
        ("\ufeff\r\n\r\nuser,item,rating\r\n1,5,4\r\n", "csv"),
    ],
)
def test_three_columns_quotes_and_blank_lines_do_not_mislead(
    tmp_path: Path, text: str, format: str
) -> None:
    path = tmp_path / "ratings"
    path.write_bytes(text.encode())
    assert read_table(path).format == format
    assert read_ratings(path, user="1", item="2").n_ratings == 1


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"", "input.empty", ""),
        (b"\n\r\n", "input.empty", ""),
        (b"PK\x03\x04rest", "input.damaged", ""),
        ("user,item,rating\n1,2,3\n".encode("utf-16-le"), "input.encoding", ""),
        (b"\xff\xfeu\x00s\x00e\x00r\x00", "input.unknown-format", "'user'"),
        (b"\xff\xfeu\x00s\x00e\x00r", "input.damaged", ""),
        (b"login,film\nben,up\n", "input.header", ""),
        (
            b"login,film1\nben,up\n",
            "column.missing",
            "'login'",
        ),
        (b"ben,up\nann\n", "input.unknown-format", "--format csv"),
        (b"1|Toy Story\n", "input.unknown-format", "'1|Toy Story'"),
    ],
)
def test_refuses_what_it_does_not_know(
    tmp_path: Path, content: bytes, code: str, said: str
) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with raises(code) as error:
        read_ratings(path)
    assert said in str(error.value)


def test_refuses_an_unknown_format_name(tmp_path: Path) -> None:
    with raises("option.value") as error:
        read_ratings(tmp_path / "r.csv", format="xml")
    assert "'xml'" in str(error.value)


def test_refuses_a_folder_without_netflix_files(tmp_path: Path) -> None:
    with raises("input.folder"):
        read_ratings(tmp_path)


def test_a_release_is_distinguished_from_other_folders(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "release.json").write_text("{}")
    (folder / "ratings.csv").write_text(TEXTS["csv"])
    with raises("input.not-a-table") as error:
        read_ratings(folder)
    assert "ratings.csv" in str(error.value)
    assert read_ratings(folder / "ratings.csv") == EXPECTED
