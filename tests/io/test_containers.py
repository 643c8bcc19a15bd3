"""Workbooks: what stands in their cells is read as a CSV of the sheet would be."""

import base64
import lzma
import struct
import zipfile
from datetime import date, datetime, time

import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.runtime.memory import MemoryLimitError, memory_limited
from shared.io_containers import HEAD, NAMES, book, row_of, text, with_cells

pytest.importorskip("python_calamine")


ROWS = [
    ["ann", 12, 3.5, date(2020, 1, 15)],
    ["x08", 13, 4, datetime(2020, 1, 16, 23, 30)],
    [7, 12, "4.5", "2020-01-17"],
]


def plain(path, rows=ROWS, head=HEAD):
    path.write_text("\n".join(",".join(map(str, row)) for row in [head, *rows]) + "\n")
    return path


def test_the_same_as_its_csv(tmp_path):
    path = book(tmp_path / "shop.xlsx", ratings=[HEAD, *ROWS])
    reading = understand(path)
    assert reading.ratings == read_ratings(plain(tmp_path / "plain.csv"))
    assert reading.ratings.users.tolist() == ["7", "ann", "x08"]
    assert reading.ratings.items.tolist() == [12, 13]
    assert reading.layout == ("an Excel workbook",)


def test_empty_rows_and_columns_are_passed_over(tmp_path):
    rows = [[], [], [None, *HEAD], *[[None, *row] for row in ROWS[:2]], [], [None, *ROWS[2]]]
    path = book(tmp_path / "shop.xlsx", ratings=rows)
    assert read_ratings(path) == read_ratings(plain(tmp_path / "plain.csv"))


def test_a_row_is_numbered_as_in_the_sheet(tmp_path):
    rows = [[], HEAD, ROWS[0], [], ["ben", 12, "four", date(2020, 1, 15)]]
    path = book(tmp_path / "shop.xlsx", ratings=rows)
    with raises("rating.not-a-number") as error:
        read_ratings(path)
    assert "shop.xlsx row 5" in str(error.value)
    assert "'four'" in str(error.value)


def test_decimal_commas_that_are_text(tmp_path):
    path = book(tmp_path / "shop.xlsx", ratings=[HEAD[:3], ["ann", 1, "3,5"], ["ben", 1, "2,5"]])
    assert understand(path).ratings.values.tolist() == [3.5, 2.5]


def test_without_a_header(tmp_path):
    rows = [["ann", "heat", 3.5], ["ben", "heat", 4]]
    path = book(tmp_path / "shop.xlsx", ratings=rows)
    reading = understand(path, user=1, item=2)
    assert reading.ratings.n_ratings == 2
    assert not reading.has_header
    assert understand(path).order == "guessed"


def test_several_tables_are_asked_for(tmp_path):
    path = book(tmp_path / "shop.xlsx", old=[HEAD, ROWS[0]], new=[HEAD, *ROWS], notes=[["by ann"]])
    with raises("input.sheet") as error:
        understand(path)
    assert "'old'" in str(error.value)
    assert "'new'" in str(error.value)
    assert "'notes'" in str(error.value)
    assert read_ratings(path, sheet="new").n_ratings == 3
    with raises("input.sheet") as error:
        understand(path, sheet="New")
    assert "'New'" in str(error.value)
    assert "'old'" in str(error.value)
    assert "'new'" in str(error.value)
    assert "'notes'" in str(error.value)


def test_a_sheet_of_notes_is_no_table(tmp_path):
    path = book(tmp_path / "shop.xlsx", notes=[["made by ann"], ["in May"]], new=[HEAD, *ROWS])
    assert read_ratings(path).n_ratings == 3
    with raises("input.workbook"):
        understand(book(tmp_path / "notes.xlsx", notes=[["made by ann"]]))


@pytest.mark.parametrize("given", [{"table": "x"}, {"query": "SELECT 1"}, {"delimiter": ";"}])
def test_what_means_nothing_is_refused(tmp_path, given):
    (name,) = given
    with raises("option.unsupported") as error:
        understand(book(tmp_path / "shop.xlsx", ratings=[HEAD, *ROWS]), **given)
    assert f"--{name}" in str(error.value)
    with raises("option.unsupported") as error:
        understand(plain(tmp_path / "plain.csv"), sheet="x")
    assert "'x'" in str(error.value)


def test_a_missing_value_is_reported(tmp_path):
    path = book(tmp_path / "shop.xlsx", ratings=[HEAD[:3], ["ann", 1, 3], ["ben", None, 4]])
    with raises("id.missing") as error:
        understand(path)
    assert "row 3" in str(error.value)


@pytest.mark.parametrize("low", [12345678901234567, 2**53, -(2**53) - 1])
def test_an_id_that_a_cell_cannot_hold_is_refused(tmp_path, low):
    rows = [HEAD[:3], [low, 1, 3], [low + 1, 1, 4]]
    with raises("id.type") as error:
        understand(book(tmp_path / "shop.xlsx", ratings=rows))
    assert "row 2" in str(error.value)


def test_the_last_one_that_a_cell_holds_is_read(tmp_path):
    rows = [HEAD[:3], [2**53 - 1, 1, 3], [2**53 - 2, 1, 4]]
    found = read_ratings(book(tmp_path / "shop.xlsx", ratings=rows))
    assert found.users.tolist() == [2**53 - 2, 2**53 - 1]


@pytest.mark.parametrize("value", [True, time(10, 30)])
def test_what_is_no_rating_is_refused(tmp_path, value):
    with raises("rating.words") as error:
        understand(book(tmp_path / "shop.xlsx", ratings=[HEAD[:3], ["ann", 1, value]]))
    assert "row 2" in str(error.value)


def test_formulas_are_read_by_their_values(tmp_path):
    cells = row_of(
        2, text("A2", "ann"), '<c r="B2"><f>6*2</f><v>12</v></c>', '<c r="C2"><v>4</v></c>'
    )
    found = read_ratings(with_cells(tmp_path / "shop.xlsx", NAMES + cells))
    assert found.items.tolist() == [12]
    never = row_of(2, text("A2", "ann"), '<c r="B2"><f>6*2</f></c>', '<c r="C2"><v>4</v></c>')
    with raises("id.missing") as error:
        read_ratings(with_cells(tmp_path / "shop.xlsx", NAMES + never))
    assert "row 2" in str(error.value)
    failed = row_of(2, text("A2", "ann"), '<c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c>')
    with raises("id.missing") as error:
        read_ratings(with_cells(tmp_path / "shop.xlsx", NAMES + failed))
    assert "row 2" in str(error.value)


def test_a_bomb_is_refused(tmp_path):
    path = with_cells(tmp_path / "bomb.xlsx", NAMES + row_of(2, text("A2", " " * 50_000_000)))
    assert path.stat().st_size < 10**5
    with memory_limited("20MB"), pytest.raises(MemoryLimitError) as error:
        understand(path)
    assert error.value.code == "machine.memory"


@pytest.mark.parametrize("xml", ["<row", "<row r='x'><c/></row>", "<!ENTITY a 'b'>&a;", "\0"])
def test_damaged_sheets_end_in_one_line(tmp_path, xml):
    with raises("input.workbook") as refused:
        understand(with_cells(tmp_path / "shop.xlsx", xml))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.98])
def test_a_workbook_that_is_cut_short(tmp_path, share):
    path = book(tmp_path / "shop.xlsx", ratings=[HEAD, *ROWS])
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with raises("input.damaged"):
        understand(path)


OPEN_DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2">
<office:body><office:spreadsheet><table:table table:name="ratings">{}
</table:table></office:spreadsheet></office:body></office:document-content>"""


MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">
<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>
</manifest:manifest>"""


def test_open_document(tmp_path):
    def cell(value):
        kind = "float" if isinstance(value, int | float) else "string"
        result = f' office:value="{value}"' if kind == "float" else ""
        return (
            f'<table:table-cell office:value-type="{kind}"{result}><text:p>{value}</text:p>'
            "</table:table-cell>"
        )

    rows = [HEAD[:3], ["ann", 12, 3.5], ["x08", 13, 4]]
    xml = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    with zipfile.ZipFile(tmp_path / "shop.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", OPEN_DOCUMENT.format(xml))
        archive.writestr("META-INF/manifest.xml", MANIFEST)
    expected = read_ratings(plain(tmp_path / "plain.csv", rows[1:], HEAD[:3]))
    reading = understand(tmp_path / "shop.ods")
    assert reading.ratings == expected
    assert reading.layout == ("an OpenDocument spreadsheet",)


# An old workbook with one sheet, as LibreOffice and xlwt write them.
OLD = lzma.decompress(
    base64.b85decode(
        "T>t<81poj4|NsC0{{Uz+z8r=ycVP6SgepJ`9Cjyy@{xwzh{`9r;h?w11QTbQ&6v4qH5DqE;RDmf=*-"
        "ddOF!ADBJp6^u*dE%)j~d{qlzMTfmIQ38#MY4`=iQc0LNj?E2yB6I4}u}%N>gz-_b`H4Rqu1*e8#bC}XCrObY5-"
        "I-"
        "IZ7@B>D*#y4PEm=sEa$Cs90zi58uIB=>B5BWQ{9?2A^he@pPr}6mETlgIeMr4s0Wed4hY@jAdIEh^HEv}+wOgE)S"
        "GW%+VCY0ZRZ2%{9;4PzcYwPFrlcM^ZSuq6w(tzaud8<DKukRsaNxf;GGU&+Np{fbhQV-pLioyzGNuUW{9sAiXZa{"
        "4LJJz>x3Z<p);wJQ(`*NQ)>zSV4_%BlpY=<l@Nv3;!X!u8*6V9)HMi~+InT18hFkNa*c}vA6@4}H=WCG|2a*(xTL"
        "mE<M^De(@tS!Go*|V|8%KB?ob?i`t{Z`N(X~K0)e*di!ff`gUbHmOpOsx-#Jf_2{-"
        "uLn3{z|k){)yewSUytG1BK5=g7Z%ioBPC1_&F@n$wn99RRBAVNYsm;>`tLMB#`~#2QcLG!Lqw_l+ywkWk@2}!c}9"
        "o56r;IUnaGBFj3&b0l0Ym57!V4tW4aZ2ZFxZlIpo6khW6HzC7zbZ^j17xmmTc3@xcY{~@jLwK<l>aN33!YL1Yz_)"
        "fRPAmCZkxQi<VtnOC4F2<<OU&zY@NXfm8L$c^rmd40c?1R!&tf2U9z8BfLg>sGV)#4g15?)pH<I@Mt(17+p9(AD`"
        "pt;OI{I#cXmXfUETc*KwoM58&L01C|$&=Jr1xt-L7W+j<#6FU>2dN;0)6LSLEm{v9%~<t|>T6%hrW*bJN|6"
    )
)

OLD_ROWS = [[n % 3 + 1, f"i{n}", (n % 5 + 1) / 2, date(2020, 1, n + 1)] for n in range(6)]


def test_an_old_workbook(tmp_path):
    (tmp_path / "shop.xls").write_bytes(OLD)
    reading = understand(tmp_path / "shop.xls")
    assert reading.ratings == read_ratings(plain(tmp_path / "plain.csv", OLD_ROWS))
    assert reading.layout == ("an old Excel workbook",)
    with raises("input.sheet") as error:
        understand(tmp_path / "shop.xls", sheet="old")
    assert "'old'" in str(error.value)
    assert "'ratings'" in str(error.value)


@pytest.mark.parametrize(
    "content",
    [OLD[:3000], OLD.replace("Workbook".encode("utf-16-le"), "WordDocu".encode("utf-16-le"))],
    ids=["cut short", "a letter"],
)
def test_what_begins_as_an_old_workbook_and_is_none(tmp_path, content):
    (tmp_path / "shop.xls").write_bytes(content)
    with raises("input.workbook") as no:
        understand(tmp_path / "shop.xls")
    assert len(str(no.value)) < 300
    assert "\n" not in str(no.value)


def test_an_old_workbook_takes_no_more_memory_than_it_may(tmp_path):
    (tmp_path / "shop.xls").write_bytes(OLD + bytes(30_000_000))
    with memory_limited("20MB"), pytest.raises(MemoryLimitError) as error:
        understand(tmp_path / "shop.xls")
    assert error.value.code == "machine.memory"


def record(kind, body=b""):
    """A record of a binary workbook: its kind, its length, seven bits a byte, and what it holds."""
    head = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
    low, high = len(body) & 127, len(body) >> 7
    return head + (bytes([low | 128, high]) if high else bytes([low])) + body


def wide(text):
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def binary_book(path, rows):
    sheet = record(148, struct.pack("<IIII", 0, len(rows) - 1, 0, len(rows[0]) - 1)) + record(145)
    for at, row in enumerate(rows):
        sheet += record(0, struct.pack("<I", at) + bytes(21))
        for column, value in enumerate(row):
            place = struct.pack("<II", column, 0)
            is_text = isinstance(value, str)
            cell = wide(value) if is_text else struct.pack("<d", value)
            sheet += record(6 if is_text else 5, place + cell)
    entry = struct.pack("<II", 0, 1) + wide("rId1") + wide("ratings")
    book = record(131) + record(143) + record(156, entry) + record(144) + record(132)
    schemas = "http://schemas.openxmlformats.org"
    kind = f"{schemas}/officeDocument/2006/relationships/worksheet"
    link = f'<Relationship Id="rId1" Type="{kind}" Target="worksheets/sheet1.bin"/>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.bin", book)
        archive.writestr(
            "xl/worksheets/sheet1.bin", record(129) + sheet + record(146) + record(130)
        )
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{schemas}/package/2006/relationships">{link}</Relationships>',
        )
    return path


def test_a_binary_workbook(tmp_path):
    rows = [["ann", 12, 3.5], ["x08", 13, 4], ["Amélie", 12, 4.5]]
    reading = understand(binary_book(tmp_path / "shop.xlsb", [HEAD[:3], *rows]))
    assert reading.ratings == read_ratings(plain(tmp_path / "plain.csv", rows, HEAD[:3]))
    assert reading.layout == ("a binary Excel workbook",)


def test_a_binary_workbook_that_is_damaged_ends_in_one_line(tmp_path):
    with zipfile.ZipFile(tmp_path / "shop.xlsb", "w") as archive:
        archive.writestr("xl/workbook.bin", b"\x00")
    with raises("input.damaged") as no:
        understand(tmp_path / "shop.xlsb")
    assert "\n" not in str(no.value)


def test_the_reader_that_is_missing_is_named(tmp_path, monkeypatch):
    path = book(tmp_path / "shop.xlsx", ratings=[HEAD, *ROWS])
    monkeypatch.setattr("recveil.io.formats.typed_tables.find_spec", lambda name: None)
    with raises("dependency.missing"):
        understand(path)


def test_parts_may_be_workbooks(tmp_path):
    (tmp_path / "parts").mkdir()
    for at, row in enumerate(ROWS):
        book(tmp_path / "parts" / f"{at}.xlsx", ratings=[HEAD, row])
    assert read_ratings(tmp_path / "parts") == read_ratings(plain(tmp_path / "plain.csv"))


def test_a_bomb_that_says_it_is_small(tmp_path):
    path = with_cells(tmp_path / "bomb.xlsx", NAMES + row_of(2, text("A2", "x" * 50_000_000)))
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    written = size.to_bytes(4, "little")
    assert content.count(written) == 2  # where the file stands, and in the directory
    path.write_bytes(bytes(content.replace(written, (1_000).to_bytes(4, "little"))))
    with memory_limited("20MB"), raises("input.workbook") as refused:
        understand(path)
    assert "\n" not in str(refused.value)


class TestOddValues:
    def test_whole_numbers_of_any_size_are_ids(self, tmp_path):
        duckdb = pytest.importorskip("duckdb")
        low = 2**127 - 3
        with duckdb.connect(str(tmp_path / "shop.duckdb")) as made:
            made.execute("CREATE TABLE r (user HUGEINT, item UHUGEINT, rating HUGEINT)")
            made.execute(f"INSERT INTO r VALUES ({low}, 7, 3), ({low + 1}, 8, 4), (9, 7, 5)")
        found = understand(tmp_path / "shop.duckdb", table="r").ratings
        assert sorted(found.users.tolist()) == sorted([str(low), str(low + 1), "9"])
        assert (found.items.tolist(), found.values.tolist()) == ([7, 8], [3, 4, 5])

    def test_text_that_is_no_utf_8_is_called_so(self, tmp_path):
        import sqlite3

        with sqlite3.connect(tmp_path / "shop.db") as made:
            made.execute("CREATE TABLE r (user TEXT, item TEXT, rating INT)")
            made.execute("INSERT INTO r VALUES (CAST(x'ff61' AS TEXT), 'a', 3)")
        made.close()
        with raises("input.encoding"):
            understand(tmp_path / "shop.db", table="r")


def test_a_matrix_in_a_workbook_is_not_called_damaged(tmp_path):
    path = book(tmp_path / "wide.xlsx", Sheet=[("user", 900, 901), ("ann", 4, 5), ("ben", 3, None)])
    with raises("option.unsupported"):
        understand(path, wide=True)
