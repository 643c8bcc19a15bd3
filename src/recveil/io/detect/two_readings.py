"""Lines that two delimiters split into tables."""

import csv
import re
from collections.abc import Sequence

from recveil.io.detect.known_formats import is_number, names_columns
from recveil.runtime.errors import RecveilError, quoted

MARKS = (",", "\t", "::", ";", "|")
NAMES = {"\t": "tabs", " ": "spaces"}
DECIMAL_COMMA = re.compile(r'\s*"?[-+]?\d+,\d+"?\s*')
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")
_CLOCK = re.compile(r"\d{1,2}:\d\d.*")
Rows = list[list[str]]


def reject_two_readings(lines: Sequence[str], mark: str, name: str) -> None:
    r"""Refuse lines that another delimiter than the likeliest one also splits into a table.

    A header settles it: it names columns at one delimiter only, or has as many columns as the
    lines below at one only.
    """
    rows = [_split(line, mark) for line in lines]
    if names_columns(rows[0]):
        return
    others = ("\t", ";", "|", ",", "::", " ")
    found = ((other, _table(lines, rows, mark, other)) for other in others if other != mark)
    other, table = next(((other, table) for other, table in found if table), ("", []))
    if table:
        raise RecveilError(
            f"{name}: {_describe(mark, rows)} and {_describe(other, table)}; name what separates "
            f"columns with delimiter (--delimiter {mark!r} or --delimiter {other!r}), or put a "
            f"line of names above",
            code="option.required",
        )


def _describe(mark: str, rows: Rows) -> str:
    shown = [quoted(field, 20) for field in rows[0][:2]] + ["..."] * (len(rows[0]) > 2)
    return f"{mark!r} splits it into {len(rows[0])} columns ({', '.join(shown)})"


def _table(lines: Sequence[str], rows: Rows, mark: str, other: str) -> Rows:
    """Return the fields at another delimiter, if these are a table, too; else nothing."""
    table = [_split(line, other) for line in lines]
    width = len(table[0])
    if width < 2 or any(len(fields) != width for fields in table):
        return []
    if sum(all(field.strip() for field in column) for column in zip(*table, strict=True)) < 2:
        return []
    if _have_stray_quotes(table) and not _have_stray_quotes(rows):
        return []
    if other in "\t " and _are_next_to_marks(table, other):
        return []
    if other == "," and _are_decimals(rows, mark):
        return []
    return [] if other == " " and not _are_ids(table, rows) else table


def _have_stray_quotes(table: Rows) -> bool:
    """Return whether a quote is without its pair: the delimiter is inside a quoted field."""
    return any(field.count('"') % 2 for fields in table for field in fields)


def _are_next_to_marks(table: Rows, mark: str) -> bool:
    """Return whether all tabs or blanks are next to other delimiters."""
    marks = tuple(other for other in MARKS if other != mark)
    ends = (field.strip() for fields in table for field in fields)
    return any(end.startswith(marks) or end.endswith(marks) for end in ends)


def _are_decimals(rows: Rows, mark: str) -> bool:
    """Return whether all commas are those of decimals, which no column of ids has.

    Without a header, the first two columns are those of ids, except between semicolons, which are
    usual where decimals have commas.
    """
    ids = 0 if mark == ";" and len(rows[0]) > 2 else 2
    return not any(
        "," in field and (at < ids or not DECIMAL_COMMA.fullmatch(field))
        for fields in rows
        for at, field in enumerate(fields)
    )


def _are_ids(table: Rows, rows: Rows) -> bool:
    """Return whether blanks separate ids from other columns, rather than words or parts of a time.

    An id with a figure in it begins each line, or a number ends each line after another number.
    """
    if all(_is_id(fields[0]) for fields in table):
        return True
    return all(
        is_number(fields[-1]) and len(words := row[-1].split()) > 1 and is_number(words[-2])
        for fields, row in zip(table, rows, strict=True)
    )


def _is_id(field: str) -> bool:
    """Return whether a field has figures, and is no time and no part of several columns."""
    if _DATE.fullmatch(field) or _CLOCK.fullmatch(field):
        return False
    return any(map(str.isdigit, field)) and not any(mark in field for mark in MARKS)


def _split(line: str, mark: str) -> list[str]:
    """Split a line at a mark; at spaces, however many there are."""
    return line.split() if mark == " " and "\t" not in line else split_line(line, mark)


def split_line(line: str, mark: str) -> list[str]:
    """Split a line at a mark, but not within quotes.

    Examples
    --------
    >>> split_line('7;"a;b";4', ";")
    ['7', 'a;b', '4']
    """
    if len(mark) > 1:
        return line.split(mark)
    try:
        return next(csv.reader([line], delimiter=mark), [])
    except csv.Error:
        return line.split(mark)
