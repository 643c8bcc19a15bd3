"""Files that are no ratings: what they are is said, and what to make of them."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import re
import sqlite3
import subprocess
import tarfile
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_array

from error_assertions import raises
from recveil.auditing import audit
from recveil.auditing.auxiliary_file import read_knowledge
from recveil.io import read_levels, read_ratings, read_trust, understand
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

CSV = "user,item,rating\n" + "".join(f"{n % 7},{n},{n % 5 + 1}\n" for n in range(60))

ROWS = [{"user": n % 7, "item": n, "rating": n % 5 + 1} for n in range(60)]

TABLE = pa.Table.from_pylist(ROWS)


def zipped(*names: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names:
            archive.writestr(name, CSV)
    return sink.getvalue()


def tarred() -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        entry = tarfile.TarInfo("ratings.csv")
        entry.size = len(CSV)
        archive.addfile(entry, io.BytesIO(CSV.encode()))
    return sink.getvalue()


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table ratings (user, item, rating)")
        content = connection.serialize()
    connection.close()
    return content


def arrays() -> tuple[bytes, bytes]:
    one, several = io.BytesIO(), io.BytesIO()
    np.save(one, np.arange(12))
    np.savez(several, users=np.arange(12))
    return one.getvalue(), several.getvalue()


def written(write) -> bytes:
    sink = pa.BufferOutputStream()
    write(TABLE, sink)
    return sink.getvalue().to_pybytes()


def dbase() -> bytes:
    """Return one row with one field, USER."""
    header = b"\x03\x7d\x0b\x19" + (1).to_bytes(4, "little") + bytes([65, 0, 11, 0]) + bytes(20)
    return header + b"USER".ljust(11, b"\0") + b"C".ljust(21, b"\0") + b"\r" + b" ann       \x1a"


KINDS = {
    "an empty zip archive": zipped(),
    "text whose first line names the delimiter": f"sep=;\n{CSV.replace(',', ';')}".encode(),
    "JSON; read it with": json.dumps(ROWS, indent=2).encode(),
    "an Excel workbook": zipped("[Content_Types].xml", "xl/workbook.xml"),
    "an OpenDocument spreadsheet": zipped("mimetype", "content.xml"),
    "a zip archive of ratings.csv": zipped("ratings.csv"),
    "a zip archive of 2 files": zipped("ratings.csv", "links.csv"),
    "a damaged zip archive": zipped("ratings.csv")[:40],
    "numpy arrays": arrays()[1],
    "a numpy array": arrays()[0],
    "an old Excel workbook": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512),
    "a SQLite database": database(),
    "a Python pickle": pickle.dumps(ROWS),
    "an HDF5 file": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "an ORC file": written(pyarrow.orc.write_table),
    "an old Feather file": b"FEA1" + bytes(40),
    "an Avro file": b"Obj\x01\x04\x16avro.schema" + bytes(20),
    "a tar archive": tarred(),
    "bzip2 data": bz2.compress(CSV.encode()),
    "xz data": lzma.compress(CSV.encode()),
    "zstd data": pa.compress(CSV.encode(), "zstd", asbytes=True),
    "a 7z archive": b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(20),
    "a PDF document": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n\x00\x01",
    "a PDF": b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n",
    "a MatrixMarket matrix": b"%%MatrixMarket matrix coordinate integer general\n%\n2 2 1\n1 1 3\n",
    "a MatrixMarket": b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
    "a SAS file": bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92" + bytes(400),
    "a SAS transport file (XPT)": b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!".ljust(
        80, b"0"
    ),
    "a SAS transport file (CPORT)": b"**COMPRESSED** " * 9,
    "an SPSS file": b"$FL2@(#) SPSS DATA FILE MS Windows".ljust(64) + b"\x02\0\0\0" * 9,
    "an SPSS portable file": b"ASCII SPSS PORT FILE".ljust(40).join([b"", b"0" * 200]),
    "a dBASE file": dbase(),
    "a PostgreSQL dump": b"PGDMP\x01\x0e\x00" + bytes(90),
    "an SQL dump": b"-- MySQL dump 10.13\n--\n\nDROP TABLE IF EXISTS `r`;\nCREATE TABLE `r` (",
    "an SQL": b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nINSERT INTO r VALUES(1,2,3);\n",
    "Python literals": b"".join(b"%r\n" % row for row in ROWS),
    "Python literals, not JSON": b"[{u'user': u'7', u'item': 2, u'rating': 3}]",
    "UTF-16 text": CSV.encode("utf-16"),
    "UTF-32 text": CSV.encode("utf-32"),
    "neither text nor Parquet nor Arrow": b"\x07rate\0\x01\x02\x03" * 20,
    "JSON": json.dumps(ROWS).encode(),
    "JSON Lines": "\n".join(map(json.dumps, ROWS)).encode(),
    "XML": b"<?xml version='1.0'?>\n<ratings><rating user='1'/></ratings>",
    "an HTML": b"\n <html lang='en'>\n<head><title>404, Not Found, 404</title></head></html>",
    "an HTML page": b"<!DOCTYPE html>\n<html><body>Sign in</body></html>",
    "text with ';' between columns": CSV.replace(",", ";").encode(),
    "text with '|' between columns": CSV.replace(",", "|").encode(),
    "text with ';' between columns and decimal commas": b"user;item;rating\n1;2;3,5\n",
}

KINDS |= {
    "an image": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10" + bytes(40),
    "an imag": b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1" + bytes(range(200)),
    "an ima": b"GIF89a\x10\0\x10\0\x80\0\0" + bytes(range(200)),
    "a sound or video file": b"\0\0\0\x18ftypmp42" + bytes(300),
    "a program": b"\x7fELF\2\1\1" + bytes(300),
    "a document for print": b"%!PS-Adobe-3.0\n%%Creator: ann, ben\n",
    "a Stata file": b"<stata_dta><header><release>118</release>",
    "a Stata": b"\x73\2\1\0\3\0" + bytes(400),
    "a Stat": b"\x68\1\1\0\0\3" + b"ratings".ljust(32, b"\0") + bytes(range(256)),
    "an R data file": b"X\n\0\0\0\3\0\4\1\2\0\3\5\0" + bytes(40),
    "an R data": b"RDX3\nX\n\0\0\0\3" + bytes(40),
    "an R dat": b"A\n3\n262657\n197888\n5\nUTF-8\n787\n3\n",
    "an R object as text": b'structure(list(user = c("u1", "u2"), item = c("a", "b")))\n',
    "an HTML page; perhaps": b"<head>\n<title>404, Not, Found</title>\n</head>\n",
    "an HTML page; perh": b"\n<!-- a, b, c\n -->\n<!-- d -->\n<html>\n</html>\n",
    "an HTML page; per": b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD'>\n<html>",
    "HTML or XML": b"<center>502, Bad, Gateway</center>\n",
    "a Weka ARFF file": b"% 1, 2, 3\n\n@RELATION r\n@attribute user string\n@data\nu1,i1,5\n",
    "a MatrixMarket mat": b"%%matrixmarket MATRIX coordinate real general\n2 2 1\n1 1 3\n",
    "Python literals; write them": b"('u1', 'i1', 5)\n('u2', 'i1', 4)\n",
    "Python literals; write": b"[('u1', 'i1', 5), ('u2', 'i1', 4)]\n",
    "a table as terminals show it": b"+----+----+---+\n| user | item | n |\n+----+----+---+\n",
    "a table as terminals show it, with": b" user | item | n\n------+------+---\n u1 | i1 | 3\n",
    "a table as terminals": b"*" * 27 + b" 1. row " + b"*" * 27 + b"\nu: 1\n",
    "a table as terminal": "\u250c\u2500\u252c\u2500\u2510\n\u2502u\u2502i\u2502\n".encode(),
    "a table as": b"user  item  rating\n----  ----  ------\nu1    i1    3\n",
    "a table": b"| user | item | rating |\n|:---|---|--:|\n| u1 | i1 | 3 |\n",
    "Python objects as text": b"Row(user='u1', item='i1', rating=5)\n",
}
# Those that hold ratings, and are read.
READ = {
    *("a zip archive of ratings.csv", "bzip2 data", "xz data", "zstd data", "UTF-16 text"),
    *("JSON; read it with", "JSON", "JSON Lines"),
    *("text with ';' between columns", "text with '|' between columns"),
    "text with ';' between columns and decimal commas",
}

PACKED = {kind for kind in READ if kind.startswith("a zip") or kind.endswith("data")}


@pytest.fixture
def ratings(tmp_path):
    (tmp_path / "ratings.csv").write_text(CSV)
    return tmp_path / "ratings.csv"


@pytest.mark.parametrize("inside_gzip", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("kind", KINDS)
class TestEveryReader:
    """All who read a file say the same."""

    @pytest.fixture
    def path(self, tmp_path, kind, inside_gzip):
        path = tmp_path / "download.csv"
        path.write_bytes(gzip.compress(KINDS[kind]) if inside_gzip else KINDS[kind])
        return path

    def refused(self, kind, read, *arguments, **options):
        with pytest.raises(RecveilError) as caught:
            read(*arguments, **options)
        message = str(caught.value)
        assert message.startswith(f"download.csv: {kind}"), message
        remedies = ("save", "unpack", "write", "fetch", "ask", "name the database")
        assert any(word in message for word in remedies)
        assert len(message) < 300

    def test_ratings(self, path, kind, inside_gzip, ratings):
        if kind == "a SQLite database" and not inside_gzip:
            pytest.importorskip("adbc_driver_sqlite")
            with raises("table.no-ratings"):
                read_ratings(path)
            with raises("database.table"):
                read_ratings(path, table="others")
            return
        if kind not in READ or (kind in PACKED and inside_gzip):
            self.refused(kind, read_ratings, path)
        elif kind.endswith("decimal commas"):
            assert read_ratings(path).values.tolist() == [3.5]
        else:
            assert read_ratings(path) == read_ratings(ratings)

    def test_verify(self, path, kind, inside_gzip):
        if kind in READ and not (kind in PACKED and inside_gzip):
            assert verify(path, k=1).users > 0
        else:
            self.refused(kind, verify, path, k=2)

    def test_levels(self, path, kind, inside_gzip):
        if kind in READ and not (kind in PACKED and inside_gzip):
            with raises("column.missing") as error:
                read_levels(path, np.arange(7), 1)
            assert "'user'" in str(error.value)
        else:
            self.refused(kind, read_levels, path, np.arange(7), 1)

    def test_trust(self, path, kind, inside_gzip):
        if kind in READ and not (kind in PACKED and inside_gzip):
            with pytest.raises(RecveilError) as error:
                read_trust(path, np.arange(7))
            assert error.value.code in ("column.missing", "input.line")
        else:
            self.refused(kind, read_trust, path, np.arange(7))

    def test_outside_knowledge(self, path, kind, inside_gzip, ratings):
        if kind not in READ or (kind in PACKED and inside_gzip):
            self.refused(kind, audit, ratings, auxiliary=path)
            return
        known = read_knowledge(path).ratings
        expected = [3.5] if kind.endswith("decimal commas") else read_ratings(ratings).values
        assert known.values.tolist() == list(expected)


@pytest.mark.parametrize(
    "kind",
    [kind for kind, content in KINDS.items() if 0 in content and kind not in READ]
    + [
        "a PDF",
        "a Git LFS pointer",
        "a MatrixMarket matrix",
        "an HTML",
        "an SQL",
        "Python literals",
    ],
)
def test_a_named_format_does_not_hide_what_the_file_is(tmp_path, kind):
    (tmp_path / "download.csv").write_bytes(KINDS[kind])
    with pytest.raises(RecveilError) as error:
        read_ratings(tmp_path / "download.csv", format="csv")
    assert str(error.value).startswith(f"download.csv: {kind}")


@pytest.mark.parametrize("other", ["", "% a comment\n"])
def test_a_matrix_of_matrix_market_is_read_as_its_error_says(tmp_path, other):
    matrix = coo_array(([3.0, 4.0, 1.0], ([0, 0, 1], [0, 2, 1])), (2, 3))
    mmwrite(tmp_path / "r.mtx", matrix, field="integer")
    whole = mmread(tmp_path / "r.mtx")
    lines = (tmp_path / "r.mtx").read_text().replace("%\n", other).splitlines()
    (tmp_path / "ratings.txt").write_text("\n".join([x for x in lines if x[0] != "%"][1:]))
    text = understand(tmp_path / "ratings.txt").ratings
    assert text.values.tolist() == understand(whole).ratings.values.tolist() == [3, 4, 1]


def test_a_packed_database_and_what_is_packed_twice_are_unpacked_first(tmp_path):
    (tmp_path / "r.gz").write_bytes(gzip.compress(KINDS["a SQLite database"]))
    with raises("input.not-a-table", "r.gz"):
        read_ratings(tmp_path / "r.gz")
    (tmp_path / "r.gz").write_bytes(gzip.compress(bz2.compress(CSV.encode())))
    with raises("input.not-a-table", "gunzip < FILE > NEW"):
        read_ratings(tmp_path / "r.gz")
    (tmp_path / "r.npz").write_bytes(KINDS["numpy arrays"])
    with raises("input.not-a-table", "numpy.load"):
        read_ratings(tmp_path / "r.npz")
    (tmp_path / "r.gz").write_bytes(gzip.compress(KINDS["a numpy array"]))
    with raises("input.not-a-table", "numpy.load"):
        read_ratings(tmp_path / "r.gz")


@pytest.mark.parametrize("version", [114, 117])
def test_a_file_of_stata_is_read_by_what_its_error_names(tmp_path, version):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(ROWS).to_stata(tmp_path / "r.dta", version=version, write_index=False)
    with raises("input.not-a-table"):
        read_ratings(tmp_path / "r.dta")
    assert pandas.read_stata(tmp_path / "r.dta").shape == (60, 3)


@pytest.mark.parametrize("mark", [*"^~#:/=&!*_-@`+%", "\x01", "\x1f", "$$", "^^"])
@pytest.mark.parametrize("header", ["", "user{0}item{0}rating\n"])
def test_a_rare_delimiter_is_named_with_the_option_that_reads_it(tmp_path, mark, header):
    rows = "".join(f"u{n % 7}{mark}i{n}{mark}{n % 5 + 1}\n" for n in range(60))
    path = tmp_path / "r.txt"
    path.write_text(header.format(mark) + rows)
    with raises("input.unknown-format") as caught:
        read_ratings(path)
    said = re.search(r"\((--delimiter .*)\)$", str(caught.value)).group(1)
    shown = subprocess.run(["bash", "-c", f"printf %s {said[12:]}"], capture_output=True, text=True)
    assert shown.stdout == mark
    assert understand(path, delimiter=shown.stdout).ratings.n_ratings == 60


def test_utf_16_without_a_mark(tmp_path):
    for order in ("le", "be"):
        (tmp_path / "r.csv").write_bytes(CSV.encode(f"utf-16-{order}"))
        with raises("input.encoding"):
            read_ratings(tmp_path / "r.csv")


@pytest.mark.parametrize(
    "text",
    [
        "user,item,rating,genres\nORC,5,4,Adventure|Children|Comedy|Fantasy\n",
        "1,5,4,Adventure|Children|Comedy|Fantasy|é\n".replace(",Adv", ",0,Adv").join(
            ["user,item,rating,time,title; or; not\n", ""]
        ),
        "BZh9,x;y;z,3\nBZh9,x,4\n",
        "[user],item,rating\n1,5,4\n",
        "use,item,rating\nCREATE,5,4\n",
        "(500) Days of Summer,item,rating\n(1),5,4\n",
        "head,item,rating\n<head,5,4\n",
        "sss,item,rating\nhhh,5,4\n",
        "GIF,item,rating\nBM,5,4\n",
        "@relation,item,rating\n@data,5,4\n",
        "version,item,rating\n0,5,4\n",
        "#,item,rating\nINSERT INTO,5,4\n",
    ],
)
def test_ids_and_titles_are_not_taken_for_another_kind(tmp_path, text):
    (tmp_path / "r.csv").write_text(text)
    assert read_ratings(tmp_path / "r.csv", user="1", item="2", times=False).n_users == 1


@pytest.mark.parametrize("delimiter", ["\t", " "])
def test_a_decimal_comma_is_named_where_it_is_not_read(tmp_path, delimiter):
    (tmp_path / "r.txt").write_text(delimiter.join(["1", "2", "3,5"]) + "\n")
    with raises("rating.not-a-number") as error:
        read_ratings(tmp_path / "r.txt", decimal=".")
    assert "r.txt line 1" in str(error.value)


@pytest.mark.parametrize("header", [False, True])
def test_a_wide_matrix(tmp_path, header):
    lines = [",".join(f"{n % 5}" for n in range(101)) for _ in range(4)]
    if header:
        lines.insert(0, ",".join(f"joke {n}" for n in range(101)))
    (tmp_path / "jester.csv").write_text("\n".join(lines))
    with raises("column.missing" if header else "column.ambiguous") as error:
        read_ratings(tmp_path / "jester.csv")
    assert ("101 columns" in str(error.value)) != header
    assert ("and 99 more" in str(error.value)) == header


def test_parquet_for_trust(tmp_path):
    pq.write_table(TABLE, tmp_path / "trust")
    with raises("column.missing") as error:
        read_trust(tmp_path / "trust", np.arange(7))
    assert "'user'" in str(error.value)
    assert "'item'" in str(error.value)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("held", [ROWS, {"user": [1]}, np.arange(9)], ids=["rows", "dict", "array"])
def test_pickles_of_every_protocol(tmp_path, protocol, held):
    path = tmp_path / "ratings.csv"
    path.write_bytes(pickle.dumps(held, protocol))
    with raises("input.not-a-table"):
        read_ratings(path)


@pytest.mark.parametrize("first", ["customer", "[user", "(user"])
def test_a_table_whose_header_could_begin_a_pickle(tmp_path, first):
    path = tmp_path / "ratings.csv"
    path.write_text(CSV.replace("user", first))
    assert read_ratings(path, user=first).n_ratings == 60
