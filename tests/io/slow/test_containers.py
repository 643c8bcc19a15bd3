"""Workbooks: what stands in their cells is read as a CSV of the sheet would be."""

import zipfile

import pytest

from error_assertions import raises
from recveil.io import understand
from recveil.runtime.memory import memory_limited

openpyxl = pytest.importorskip("openpyxl")

pytest.importorskip("python_calamine")

HEAD = ["user", "item", "rating", "date"]


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


SHEET = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}
</sheetData></worksheet>"""


def with_cells(path, xml):
    """Write a workbook whose sheet holds this XML, as no program would."""
    book(path, ratings=[HEAD[:3]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = SHEET.format(xml).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def row_of(number, *cells):
    return f'<row r="{number}">{"".join(cells)}</row>'


def text(place, of):
    return f'<c r="{place}" t="inlineStr"><is><t>{of}</t></is></c>'


NAMES = row_of(1, text("A1", "user"), text("B1", "item"), text("C1", "rating"))


def test_a_cell_far_away_ends_in_one_line(tmp_path):
    far = row_of(1_048_576, text("XFD1048576", "x"))
    with memory_limited("200MB"), raises("machine.killed") as refused:
        understand(with_cells(tmp_path / "far.xlsx", NAMES + far))
    assert "\n" not in str(refused.value)
