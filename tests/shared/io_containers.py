"""What the fast and the slow tests of `test_containers.py` share."""

import zipfile

import pytest

openpyxl = pytest.importorskip("openpyxl")

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
