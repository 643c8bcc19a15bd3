"""Wide matrices, with a row per user, a column per item, and ratings in the cells."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from recveil.io.columns.columns import EMPTY_CELLS, USUAL_NAMES
from recveil.io.files import Place, naming
from recveil.io.formats.delimited import (
    Dialect,
    Record,
    check_one_line,
    check_utf8,
    read_records,
)
from recveil.io.source import Source, place_of
from recveil.runtime.errors import RecveilError, describe_count, named_twice, quoted
from recveil.runtime.memory import reject_beyond_limit

OTHER_CELLS = "cells without ratings"
_LOOKED_AT = 1_000
# Bytes for the codes of user, item and rating, and temporary data while they are sorted.
_A_RATING, _A_ROW = 36, 100
_FEW_ITEMS, _CELLS = 5, 500_000
_A_CELL = 150  # a text and its place, while a row is split and stripped
_LONGEST_NUMBER = 18


class _Form(NamedTuple):
    """The roles of the cells in a row."""

    items: list[str]
    user: int | None  # the column of users' ids; None if rows are counted
    counter: int | None  # the column with the number of ratings in the row
    header: bool


def read_wide(
    path: Path,
    dialect: Dialect,
    user: str | None = None,
    null: str | None = None,
    *,
    is_published: bool = False,
) -> Source:
    r"""Read the ratings of a matrix, row by row."""
    with naming(path):
        records = _records(path, dialect)
        stripped = ((line, [field.strip() for field in fields]) for line, fields in records)
        first = _first(stripped, path.name)
        if not first:
            raise RecveilError(
                f"{path.name}: the file is empty; expected ratings", code="input.empty"
            )
        nulls = _Nulls(null)
        form = _form(path.name, first, user, nulls)
        cells = _Cells(path.name, form, nulls)
        for line, fields in islice(_records(path, dialect), form.header, None):
            cells.add((line, [field.strip() for field in fields]), fields if is_published else None)
    description = "a matrix" + (", rows counted" if form.user is None else "")
    counted = () if form.counter is None else (f"column {form.counter + 1} counts the others",)
    names = {"user": _name(form, first), "item": "(header)", "rating": "(cells)"}
    table = cells.table()
    names |= {name: name for name in table.column_names[len(names) :]}
    layout = (description, *counted)
    return Source(table, cells.locate, "wide", names, layout=layout, dialect=dialect)


def _records(path: Path, dialect: Dialect) -> Iterator[Record]:
    for line, fields in read_records(path, dialect):
        check_one_line(fields, Place(path.name, line))
        yield line, list(dialect.columns(fields))


def _first(records: Iterator[Record], name: str) -> list[Record]:
    """Return the first rows, at least two, up to a number of cells."""
    first: list[Record] = []
    cells = 0
    for record in islice(records, _LOOKED_AT):
        first.append(record)
        cells += len(record[1])
        reject_beyond_limit(f"{name}: its first rows", _A_CELL * cells, at_least=True)
        if cells > _CELLS and len(first) > 1:
            break
    return first


def _name(form: _Form, first: Sequence[Record]) -> str:
    if form.user is None:
        return "(rows)"
    return first[0][1][form.user] or "(first)" if form.header else f"({form.user + 1})"


class _Nulls:
    """The marks of missing ratings."""

    def __init__(self, null: str | None) -> None:
        self.null = None if null is None else null.strip()
        self.number = math.nan if null is None else _number(null)

    def __contains__(self, cell: str) -> bool:
        if cell.lower() in EMPTY_CELLS or cell == self.null:
            return True
        return _number(cell) == self.number


def _number(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return math.nan


def _is_number(text: str) -> bool:
    return not math.isnan(_number(text))


def _form(name: str, first: Sequence[Record], user: str | None, nulls: _Nulls) -> _Form:
    line, names = first[0]
    check_utf8(names, Place(name, line))
    header = _is_header(name, first, user, nulls)
    width = len(names)
    place = _place_of_user(names, user, header, name)
    rows = [fields for _, fields in first[header:] if len(fields) == width]
    if place is None and header and _is_user(names[0]):
        place = 0
    if place is None and any(_is_text(fields[0], nulls) for fields in rows):
        place = 0
    count = 0 if place is None and not header and _counts_others(rows, nulls) else None
    is_item = header and all(each.isdigit() for each in names)
    if place is None and count is None and not is_item and _looks_like_ids(rows, nulls):
        raise RecveilError(
            f"{name}: the first column may hold ids of users, or ratings; if ids, name it with "
            f"user (--user 1); if ratings, add a header of items",
            code="column.ambiguous",
        )
    taken = {place, count}
    items = [each if header else str(at + 1) for at, each in enumerate(names)]
    if header and (twice := named_twice(items)):
        raise RecveilError(
            f"{name}: two columns are called {quoted(twice[0])}; rename one",
            code="column.duplicate",
        )
    if count is not None:
        items = ["", *map(str, range(1, width))]  # item numbers do not count it
    kept = ["" if at in taken else each for at, each in enumerate(items)]
    return _Form(kept, place, count, header)


def _is_user(name: str) -> bool:
    plain = name.replace("_", "").replace("-", "").replace(" ", "").lower()
    return not plain or plain in USUAL_NAMES["user"] or plain in ("id", "index", "unnamed:0")


def _is_text(cell: str, nulls: _Nulls) -> bool:
    return not _is_number(cell) and cell not in nulls


def _is_header(name: str, first: Sequence[Record], user: str | None, nulls: _Nulls) -> bool:
    names = first[0][1]
    if len(names) < 2:
        raise RecveilError(
            f"{Place(name, first[0][0])}: a matrix of one column; expected a row for each user, a "
            f"column for each item; name what separates these with delimiter (--delimiter)",
            code="input.line",
        )
    if (_is_user(names[0]) and names[0]) or (user in names and not (user or "").isdigit()):
        return True
    if all(_is_text(each, nulls) for each in names[1:]):
        return True
    if any(map(_is_number, names[1:])) and names[0] and _is_text(names[0], nulls):
        return _has_ids(name, first, 1)
    return _has_ids(name, first, 1 if not names[0] else 0)


def _has_ids(name: str, first: Sequence[Record], start: int) -> bool:
    """Return whether the numbers of the first line are item ids, which are distinct."""
    ids = first[0][1][start:]
    if len(set(ids)) < len(ids) or not all(each.isdigit() for each in ids):
        return False
    below = {cell for _, fields in first[1:] for cell in fields[start:]}
    if not set(ids) <= below or (start and not first[0][1][0]):
        return True
    if start or len(ids) > _FEW_ITEMS:
        raise RecveilError(
            f"{Place(name, first[0][0])}: this line may name the items, or hold ratings; put a "
            f"line of names above it that begins with user, or call its first column so",
            code="input.header",
        )
    return False


def _place_of_user(names: list[str], user: str | None, header: bool, where: str) -> int | None:
    if user is None:
        return None
    if header and user in names:
        return names.index(user)
    if (place := place_of(user, len(names))) is not None:
        return place - 1
    raise RecveilError(
        f"{where}: no column {quoted(user)} for the user; expected a name in its header, or a "
        f"place from 1 to {len(names)} (user, --user)",
        code="column.missing",
    )


def _counts_others(rows: Sequence[Sequence[str]], nulls: _Nulls) -> bool:
    """Return whether the first column counts the ratings of each row, as in Jester."""
    return len(rows) > 1 and all(_is_count(fields, nulls) for fields in rows)


def _is_count(fields: Sequence[str], nulls: _Nulls) -> bool:
    return _number(fields[0]) == sum(cell not in nulls for cell in fields[1:])


def _looks_like_ids(rows: Sequence[Sequence[str]], nulls: _Nulls) -> bool:
    firsts = [fields[0] for fields in rows]
    if len(rows) < 2 or len(set(firsts)) < len(firsts) or not all(map(str.isdecimal, firsts)):
        return False
    if any(len(each) > _LONGEST_NUMBER for each in firsts):
        return True  # no rating has so many digits
    others = [_number(cell) for fields in rows for cell in fields[1:] if cell not in nulls]
    numbers = [int(each) for each in firsts]
    ordered = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return ordered or max(numbers) > max(others, default=0)


class _Cells:
    """The ratings of a matrix, as codes."""

    def __init__(self, name: str, form: _Form, nulls: _Nulls) -> None:
        self.name, self.form, self.nulls = name, form, nulls
        self.users: list[str] = []
        self.lines = array("q")
        self.ends = array("q")  # number of ratings up to the end of each row
        self.items, self.ratings = array("i"), array("i")
        self.codes: dict[str, int] = {}  # of each text in a cell; -1 for no rating
        self.texts: list[str] = []
        self.others: list[str] = []
        self.bytes = 0

    def add(self, record: Record, written: Sequence[str] | None = None) -> None:
        """Add a row, and for a published one also its cells without ratings."""
        line, fields = record
        form = self.form
        if len(fields) != len(form.items):
            raise RecveilError(
                f"{Place(self.name, line)}: expected "
                f"{describe_count(len(form.items), 'column')}, got {len(fields)}; "
                f"fix or drop the line",
                code="input.line",
            )
        user = str(len(self.users) + 1) if form.user is None else fields[form.user]
        if not user:
            raise RecveilError(
                f"{Place(self.name, line)}: no user; drop the row, or give it an id",
                code="id.missing",
            )
        if form.counter is not None and not _is_count(fields, self.nulls):
            raise RecveilError(
                f"{Place(self.name, line)}: its first column is {quoted(fields[0], 20)}, but in "
                f"the rows before it counted the ratings that follow; name the column with the "
                f"users (--user), or fix the line",
                code="input.line",
            )
        check_utf8([user], Place(self.name, line))
        for at, cell in enumerate(fields):
            if at in (form.user, form.counter):
                continue
            code = self.codes.get(cell)
            if code is None:
                code = self._new(cell, line, at)
            if code >= 0:
                self.items.append(at)
                self.ratings.append(code)
        if written is not None:
            self._add_other_cells(record, written)
        self.users.append(user)
        self.lines.append(line)
        self.ends.append(len(self.items))
        self.bytes += len(user) + _A_ROW
        if len(self.users) % 1_000 == 0 or self.bytes > 1 << 20:
            needed = self.bytes + _A_RATING * len(self.items)
            reject_beyond_limit(f"{self.name}: its ratings", needed, at_least=True)

    def _add_other_cells(self, record: Record, written: Sequence[str]) -> None:
        """Keep non-empty cells that are not ratings, with their places."""
        line, fields = record
        start = self.ends[-1] if self.ends else 0
        if len(self.items) == start:
            raise RecveilError(
                f"{Place(self.name, line)}: a row without ratings; drop it", code="rating.missing"
            )
        rated = {*self.items[start:]}
        other = [
            (at + 1, text)
            for at, text in enumerate(written)
            if at != self.form.user and text != (fields[at] if at in rated else "")
        ]
        self.others.append(" ".join(f"{at}:{text!r}" for at, text in other))
        self.bytes += len(self.others[-1])

    def _new(self, cell: str, line: int, at: int) -> int:
        """Assign a code to a new text."""
        code = -1
        if cell not in self.nulls:
            if not _is_number(cell):
                raise RecveilError(
                    f"{Place(self.name, line)} column {at + 1}: rating {quoted(cell, 30)} is not a "
                    f"number; if it marks a missing rating, name it with null (--null)",
                    code="rating.not-a-number",
                )
            code = len(self.texts)
            self.texts.append(cell)
        self.codes[cell] = code
        self.bytes += len(cell) + 2 * _A_ROW
        return code

    def locate(self, row: int) -> str:
        """Return the place of a rating."""
        at = bisect_right(self.ends, row)
        return f"{Place(self.name, self.lines[at])} column {self.items[row] + 1}"

    def table(self) -> pa.Table:
        ends = np.frombuffer(self.ends, np.int64)
        counts = ends - np.concatenate(([0], ends[:-1]))
        rows = np.repeat(np.arange(len(self.users), dtype=np.int32), counts)
        columns = {
            "user": _encoded(rows, self.users),
            "item": _encoded(np.array(self.items, np.int32), self.form.items),
            "rating": _encoded(np.array(self.ratings, np.int32), self.texts),
        }
        if len(set(self.others)) > 1:
            columns[OTHER_CELLS] = _encoded(rows, self.others)
        return pa.table(columns)


def _encoded(codes: np.ndarray, texts: list[str]) -> pa.DictionaryArray:
    """Return a column of texts; equal texts share a code, and unused ones are removed."""
    used = np.unique(codes).tolist()
    first: dict[str, int] = {}
    renamed = np.zeros(len(texts), np.int32)
    for code in used:
        renamed[code] = first.setdefault(texts[code], len(first))
    values = pa.array(list(first), pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(renamed[codes]), values)
