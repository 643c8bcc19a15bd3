"""Workbooks of Excel and OpenDocument, read in the child process as they may unpack to many GB."""

import itertools
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa

from recveil.io.worker.packing import opened_archive
from recveil.runtime.errors import RecveilError, first_line_of, listed, quoted
from recveil.runtime.memory import MemoryLimitError

_ROWS_AT_ONCE = 1 << 16
# From here on, floats do not distinguish neighbouring whole numbers, so two ids of users may become
# one.
_EXACT = 2.0**53
# A sheet with fewer columns or rows is a title or a note, not a table.
_LEAST_COLUMNS, _LEAST_ROWS = 2, 2
# Files that identify an archive; others are OpenDocument spreadsheets.
_ARCHIVED = {"xl/workbook.xml": "an Excel workbook", "xl/workbook.bin": "a binary Excel workbook"}
_OPEN, _OLD = "an OpenDocument spreadsheet", "an old Excel workbook, or another file of Office"
_ENCODED = pa.dictionary(pa.int32(), pa.string())
# Name of the column with the row number in the sheet.
PLACE = "row"


class Workbook:
    """One sheet of a workbook, as text: dates in ISO format, numbers in their shortest form."""

    def __init__(self, path: Path, limit: int, sheet: str | None, header: str = "") -> None:
        from python_calamine import CalamineError, CalamineWorkbook

        self.name, self.has_header = path.name, header == "yes"
        what, size = _looked_into(path)
        if size > limit:
            raise MemoryLimitError
        try:
            self.book = CalamineWorkbook.from_path(path)
            self.sheet = self._sheet(sheet)
        except CalamineError as error:
            raise RecveilError(
                f"{self.name}: {what}, which cannot be read ({first_line_of(error)}); open it and "
                f"save it again, or save the sheet as CSV (UTF-8)",
                code="input.workbook",
            ) from None

    def names(self) -> list[str]:
        """Return the texts of the first row."""
        _, cells = next(self._rows(), (0, []))
        return [_text(cell) or "" for cell in cells]

    def first(self, n_rows: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the rows after the first one, which names the columns."""
        names = self.names()
        rows = [cells for _, cells in itertools.islice(self._rows(), 1, n_rows + 1)]
        texts = [[_text(cells[at]) for cells in rows] for at in range(len(names))]
        columns = [pa.array(each, pa.string()) for each in texts]
        batch = pa.RecordBatch.from_arrays(columns, names)
        return batch.schema, iter([batch])

    def rows(
        self, columns: list[str], dictionary: list[str]
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return some columns of all rows, by their places from 1, and the row numbers."""
        fields = [(place, _ENCODED) for place in columns]
        schema = pa.schema([*fields, (PLACE, pa.int32())])
        return schema, self._blocks(schema, [int(place) - 1 for place in columns], dictionary)

    def _blocks(
        self, schema: pa.Schema, places: list[int], ids: list[str]
    ) -> Iterator[pa.RecordBatch]:
        rows = itertools.islice(self._rows(), int(self.has_header), None)
        while block := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            columns: list[pa.Array] = []
            for at in places:
                if str(at + 1) in ids:
                    self._reject_inexact(block, at)
                texts = pa.array([_text(cells[at]) for _, cells in block], pa.string())
                columns.append(texts.dictionary_encode())
            columns.append(pa.array([number for number, _ in block], pa.int32()))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _reject_inexact(self, block: Sequence[tuple[int, list[Any]]], at: int) -> None:
        for number, cells in block:
            if _is_inexact(cells[at]):
                raise RecveilError(
                    f"{self.name} row {number}: an id of more digits than a cell holds exactly, "
                    f"so that two may be one; write ids as text where they come from",
                    code="id.type",
                )

    def _rows(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield each row that is not empty, with its number."""
        for number, cells in enumerate(self.sheet.iter_rows(), 1):
            if any(cell != "" for cell in cells):
                yield number, cells

    def _sheet(self, wanted: str | None) -> Any:
        """Return the named sheet, or the only one that holds a table."""
        from python_calamine import SheetTypeEnum

        names = [m.name for m in self.book.sheets_metadata if m.typ == SheetTypeEnum.WorkSheet]
        if wanted is not None:
            if wanted not in names:
                self._ask(f"no sheet {quoted(wanted, 40)}", names)
            return self.book.get_sheet_by_name(wanted)
        found = None
        for name in names:
            sheet = self.book.get_sheet_by_name(name)
            if sheet.width >= _LEAST_COLUMNS and sheet.height >= _LEAST_ROWS:
                if found is not None:
                    self._ask("several sheets hold a table", names)
                found = sheet
        if found is None:
            raise RecveilError(
                f"{self.name}: no sheet of it holds a table; expected ratings",
                code="input.workbook",
            )
        return found

    def _ask(self, problem: str, names: list[str]) -> None:
        raise RecveilError(
            f"{self.name}: {problem}; it has {listed(names, 120)}; name one with sheet (--sheet)",
            code="input.sheet",
        )

    def close(self) -> None:
        """Close the workbook."""
        self.book.close()


def _looked_into(path: Path) -> tuple[str, int]:
    """Return the kind of a workbook, and its minimum unpacked size; old formats are not packed."""
    with path.open("rb") as file:
        if file.read(2) != b"PK":
            return _OLD, path.stat().st_size
    with opened_archive(path) as archive:
        names = archive.namelist()
        size = sum(each.file_size for each in archive.infolist())
    return next((what for name, what in _ARCHIVED.items() if name in names), _OPEN), size


def _is_inexact(cell: Any) -> bool:
    return isinstance(cell, float) and abs(cell) >= _EXACT


def _text(cell: Any) -> str | None:
    """Return the text of a cell as a CSV would have it; None for an empty one.

    >>> [_text(cell) for cell in (7.0, 3.5, "007", date(2020, 1, 15), True, "")]
    ['7', '3.5', '007', '2020-01-15', 'TRUE', None]
    """
    if isinstance(cell, str):
        return cell or None
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and not _is_inexact(cell) else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell)
