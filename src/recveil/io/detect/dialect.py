"""The first line: whether it names columns, or is a row that would be lost as one."""

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa

from recveil.io.columns.columns import COUNTED, GROUP_SIZE, MUST_RATE, USUAL_NAMES, plain_name
from recveil.io.databases import kind_of_file
from recveil.io.databases.address import NAMES as DATABASES
from recveil.io.detect.file_kinds import (
    HEAD_BYTES,
    is_json,
    is_zip,
    reject_archive,
    reject_quoted_lines,
    reject_unreadable,
    workbook_in,
)
from recveil.io.detect.known_formats import (
    COLUMNAR_FORMATS,
    check_format,
    columnar_format,
    is_number,
    looks_like_data,
    names_columns,
    rare_mark,
    reject_rare_mark,
    reject_unknown_text,
    target_among,
    text_format,
)
from recveil.io.files import naming, opened_text
from recveil.io.formats.delimited import DIALECTS, Dialect
from recveil.io.formats.typed_tables import reject_missing_reader
from recveil.io.options import Layout
from recveil.io.worker import packing_of
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


_LINES_LOOKED_AT = 20
# What may stand between columns of text that people write, too; other marks stand there for sure.
_DOUBTFUL, _USUAL = MARKS[3:], MARKS[:3]
# What may stand between two columns; the last ones only below names of columns.
_OF_TWO, _IF_NAMED = (*MARKS, " "), (*_DOUBTFUL, " ")
# So many rows of a table must follow a title.
_EVEN = 3


class Recognized(NamedTuple):
    """What a file is."""

    # A key of `FORMATS`
    format: str
    # How text is split into columns; None for what is no delimited text
    dialect: Dialect | None = None
    # What its owner should know of how it was read
    said: tuple[str, ...] = ()
    # Which table it is, of a file that may hold several
    within: Mapping[str, str | None] = MappingProxyType({})


def recognize(path: Path, format: str | None, layout: Layout) -> Recognized:
    r"""Say what a file is: as its owner says, else as it looks."""
    check_format(format)
    with naming(path):
        packing = packing_of(path)
        if several := of_several(path):
            return _within(*several, layout, path, format)
        _reject_within(layout, path)
        if is_zip(path):
            reject_archive(path)
        with opened_text(path) as text:
            head = text.read(HEAD_BYTES)
    reject_unreadable(path, head, binary_only=format is not None or layout.delimiter is not None)
    columnar = columnar_format(head) if format is None else None
    said = (packing,) if packing else ()
    if columnar is not None or format in COLUMNAR_FORMATS:
        _reject_layout(layout, path, "text")
        return Recognized(format or str(columnar), None, said)
    if format != "json":
        reject_quoted_lines(path, head)
    start = head.decode("utf-8-sig", errors="replace")
    found = _of_text(path, start, format, layout)
    return found._replace(said=(*said, *found.said))


def recognize_wide(path: Path, format: str | None, layout: Layout) -> Recognized:
    """Say what stands between the columns of a matrix."""
    with naming(path):
        several = of_several(path)
    if several is not None:
        raise RecveilError(
            f"{path.name}: wide (--wide) is given, but no matrix is read of {several[1]}; save the "
            f"table as CSV, and name that",
            code="option.unsupported",
        )
    mark = layout.delimiter
    if mark is None and format is None:
        with naming(path), opened_text(path) as text:
            line = text.read(HEAD_BYTES).decode("utf-8-sig", errors="replace").lstrip("\r\n")
        line = line.partition("\n")[0]
        mark = max("\t;|,", key=line.count)
        mark = mark if line.count(mark) else " "
    found = recognize(path, format, layout._replace(delimiter=mark))
    return found._replace(said=tuple(each for each in found.said if " between " not in each))


def of_several(path: Path) -> tuple[str, str] | None:
    """Say what a file is that may hold several tables, and its name for people."""
    if (book := workbook_in(path)) is not None:
        return "workbook", book
    kind = kind_of_file(path)
    return None if kind is None else (kind, f"a {DATABASES[kind]} database")


def _within(found: str, what: str, layout: Layout, path: Path, format: str | None) -> Recognized:
    """Return which table is meant, of a file that may hold several."""
    if format is not None:
        raise RecveilError(
            f"{path.name}: {what}, as is found by looking, but format (--format) is {format}; "
            f"leave that out, or name another file",
            code="option.unsupported",
        )
    reject_missing_reader(found, f"{path.name}: {what}")
    _reject_layout(layout, path, "text")
    _reject_within(layout, path, found)
    return Recognized(found, None, (what,), layout.within(found))


def _reject_within(layout: Layout, path: Path, format: str = "") -> None:
    """Refuse what names a table of a file that does not hold several of that kind."""
    given = {"query": layout.query, "table": layout.table, "sheet": layout.sheet}
    for name, value in given.items():
        expected = "workbook" if name == "sheet" else "database"
        fits = bool(format) and (format == "workbook") == (name == "sheet")
        if value is not None and not fits:
            raise RecveilError(
                f"{path.name}: {name} (--{name}) is given, {quoted(value, 40)}, but the file is no "
                f"{expected}; leave that out, or name another file",
                code="option.unsupported",
            )


def _of_text(path: Path, start: str, format: str | None, layout: Layout) -> Recognized:
    lines = [line for line in re.split(r"[\r\n]+", start) if line.strip()]
    if len(lines) > 1 and len(start) > HEAD_BYTES // 2:
        lines.pop()  # it may be cut off
    every, lines = lines, lines[:_LINES_LOOKED_AT]
    if not lines:
        raise RecveilError(f"{path.name}: the file is empty; expected ratings", code="input.empty")
    if format in ("json", "netflix") or (format is None and is_json(start)):
        _reject_layout(layout, path, "delimited text")
        return Recognized(format or "json")
    if not layout.wide:
        _reject_title(start, path.name)
    if layout.delimiter is not None:
        if not layout.wide and len(fields := split_line(lines[0], layout.delimiter)) < 2:
            raise RecveilError(
                f"{path.name}: expected 3 columns or more between {layout.delimiter!r}, got "
                f"{len(fields)} ({quoted(lines[0])}); name another mark with delimiter "
                f"(--delimiter), or leave it out",
                code="input.line",
            )
        return _as_specified(layout.delimiter, format, lines)
    if format is not None:
        return Recognized(format, DIALECTS[format])
    found = _of_lines(lines, path)
    if found.dialect is not None:
        reject_two_readings(every, found.dialect.delimiter, path.name)
    return found


def _of_lines(lines: Sequence[str], path: Path) -> Recognized:
    """Return how the first lines seem to be split."""
    if (mark := _doubtful_mark(lines, path)) is not None:
        return _as_specified(mark, None, lines)
    if dialect := _with_spaces(lines) or _with_names_between_colons(lines):
        form = "space" if dialect.delimiter == " " else "movielens-colons"
        return Recognized(form, dialect, (_between(dialect.delimiter),))
    return _of_first_line(lines, path)


def _reject_title(start: str, name: str) -> None:
    """Refuse a text whose table begins below a title, as in reports and exports."""
    lines = [(n, line) for n, line in enumerate(start.splitlines(), 1) if line.strip()]
    if len(lines) > 2 and len(start) > HEAD_BYTES // 2:
        lines.pop()  # it may be cut off
    lines = lines[:_LINES_LOOKED_AT]
    (first, title), texts = lines[0], [line for _, line in lines]
    if text_format(title) == "netflix":  # which has a line for each film, above its rows
        return
    if names_columns(split_line(title, max(MARKS, key=title.count))):
        return
    at = _named_below(texts) or _begins_below(texts)
    if at and title.count('"') % 2:
        raise RecveilError(
            f"{name} line {first}: a quote that does not end ({quoted(title, 60)}); remove it, or "
            f"close it",
            code="input.quotes",
        )
    if at:
        raise RecveilError(
            f"{name}: the table seems to begin in line {lines[at][0]}, and line {first} is none of "
            f"its rows ({quoted(title, 60)}); delete what stands above line {lines[at][0]}",
            code="input.header",
        )


def _named_below(lines: Sequence[str]) -> int:
    """Return which line names columns, if the first one is no row; else 0."""
    fields = [split_line(line, max(MARKS, key=line.count)) for line in lines]
    if looks_like_data(fields[0]):
        return 0
    return next((n for n, each in enumerate(fields) if names_columns(each, MUST_RATE)), 0)


def _begins_below(lines: Sequence[str]) -> int:
    """Return from which line on all have as many columns, if those above have half at most.

    Examples
    --------
    >>> _begins_below(["Export of 3, 4 and 5 May", "a;b;c", "1;2;3,5", "1;3;4,0", "2;2;5,0"])
    1
    """
    by_mark = [[_width(line, mark) for line in lines] for mark in MARKS]
    if any(widths[0] > 1 and len(set(widths)) == 1 for widths in by_mark):
        return 0  # the first line has all columns
    for widths in by_mark:
        width = widths[-1]
        if width < 3 or len(set(widths)) == 1:
            continue
        at = next(n for n in range(len(widths)) if set(widths[n:]) == {width})
        if len(widths) - at >= _EVEN and all(2 * each <= width for each in widths[:at]):
            return at
    return 0


def _width(line: str, mark: str) -> int:
    """Count the columns of a line up to the last that is not empty: spreadsheets fill up titles."""
    fields = split_line(line, mark)
    while fields and not fields[-1].strip():
        fields.pop()
    return len(fields)


def _of_first_line(lines: Sequence[str], path: Path) -> Recognized:
    found = text_format(lines[0])
    if found is not None:
        return Recognized(found, DIALECTS.get(found))
    likes = _two_columns(lines)
    if likes is None:
        reject_unknown_text(path, lines)
    return likes


def _two_columns(lines: Sequence[str]) -> Recognized | None:
    """Return how a text of two columns is split, if its header says so, or all its lines do."""
    for mark in _OF_TWO:
        fields = [[field.strip() for field in split_line(line, mark)] for line in lines]
        named = len(fields[0]) == 2 and names_columns(fields[0])
        even = all(len(each) == 2 and all(each) for each in fields)
        even = even and (mark not in _IF_NAMED or (mark != " " and _begins_with_names(fields)))
        if named or even:
            return _as_specified(mark, None, lines)
    return None


def _begins_with_names(fields: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of several lines is unlike the others in one of its columns."""
    first, *others = fields
    kinds = [{*map(_kind, column)} for column in zip(*others, strict=True)]
    return any(_kind(name) not in kind for name, kind in zip(first, kinds, strict=False))


def _has_header(fields: Sequence[str]) -> bool:
    """Say whether a first line names columns; of two of them, users and items, it may."""
    if len(fields) > 2:
        return not looks_like_data(fields)
    return not looks_like_data([*fields, ""])


def _as_specified(mark: str, format: str | None, lines: Sequence[str]) -> Recognized:
    """Return how a text is split at a mark that somebody named, or that is certain."""
    named = None if format is None else DIALECTS[format]
    fields = split_line(lines[0], mark)
    header = _has_header(fields) if named is None else named.header
    if named is None and mark == "\t" and header:
        format = text_format(lines[0])  # RecBole's names tell
    usual = next(
        (
            name
            for name, each in DIALECTS.items()
            if each.delimiter == mark and each.header == header and format in (None, name)
        ),
        "csv" if header else "csv-plain",
    )
    dialect = Dialect(mark, quotes=len(mark) == 1 and mark != " ", header=header)
    if usual in ("movielens-tab", "movielens-colons", "space"):
        dialect = DIALECTS[usual]._replace(header=header)
    if mark == " " and any("  " in line.strip() for line in lines):
        dialect = dialect._replace(runs=True)
    said = (_between(mark),) if mark not in (",", "\t") else ()
    return Recognized(usual, dialect, said)


def _doubtful_mark(lines: Sequence[str], path: Path) -> str | None:
    """Return ';' or '|', if one of them separates columns beyond doubt."""
    mark = max(_DOUBTFUL, key=lines[0].count)
    if lines[0].count(mark) < 2:
        return None
    rare = rare_mark(lines)
    if mark in rare and len({*rare}) > 1:
        reject_rare_mark(path, lines, rare)
    # Commas of decimals separate no columns.
    fields = [f for f in split_line(lines[0], mark) if not DECIMAL_COMMA.fullmatch(f)]
    usual = [other for other in _USUAL if sum(field.count(other) for field in fields) > 1]
    if not usual:
        return mark
    # Titles may hold semicolons, and genres stand between pipes: not as many in each line.
    return mark if _splits_evenly(lines, mark) else None


def _splits_evenly(lines: Sequence[str], mark: str) -> bool:
    return len({len(split_line(line, mark)) for line in lines}) == 1


def _with_spaces(lines: Sequence[str]) -> Dialect | None:
    """Return how a text is split at spaces: at several at a time, or with names of columns."""
    first = lines[0].strip()
    if any(mark in first for mark in MARKS) and not DECIMAL_COMMA.search(first):
        return None
    fields = [re.findall(r"[^ \t]+", line) for line in lines]
    if any(each.startswith(MARKS) or each.endswith(MARKS) for each in fields[0]):
        return None  # the spaces are blanks beside another mark
    if "\t" in first or len(fields[0]) < 3 or len({len(each) for each in fields}) > 1:
        return None
    # A column that is empty in one line leaves two spaces, too: that is for its line to say.
    runs = sum("  " in line or line != line.strip() for line in lines) > len(lines) / 2
    if looks_like_data(fields[0]):
        return DIALECTS["space"]._replace(runs=True) if runs else None
    if len(fields) > 1 and looks_like_data(fields[1]) and names_columns(fields[0], MUST_RATE):
        return Dialect(" ", quotes=False, header=True, runs=runs)
    return None


def _with_names_between_colons(lines: Sequence[str]) -> Dialect | None:
    fields = [line.split("::") for line in lines[:2]]
    if len(fields) < 2 or len(fields[0]) < 2:
        return None
    if looks_like_data(fields[0]) or not looks_like_data(fields[1]):
        return None
    return Dialect("::", quotes=False, header=True)


def _between(mark: str) -> str:
    return f"columns between {NAMES.get(mark, repr(mark))}"


def _reject_layout(layout: Layout, path: Path, expected: str) -> None:
    given = {"wide": layout.wide or None, "delimiter": layout.delimiter}
    for name, value in given.items():
        if value is not None:
            raise RecveilError(
                f"{path.name}: {name} (--{name}) is given, {quoted(value)}, but the file is no "
                f"{expected}; leave that out, or name another file",
                code="option.unsupported",
            )


_LOOKED_AT = 100
# What says so, by what stands between columns: without names, with names.
_SAYING = {"\t": ("movielens-tab", "tsv"), ",": ("csv-plain", "csv")}


def reject_doubtful_header(
    rows: pa.Table, found: Recognized, given: Collection[str | None], where: str
) -> None:
    """Reject a first line that may be a row: it has no known name and looks like the rows."""
    names = rows.column_names
    if any(_is_known(name) or name in given for name in names) or target_among(names):
        return
    if not rows.num_rows or any(
        _kind(name) not in {_kind(value) for value in values if value}
        for name, values in rows.slice(0, _LOOKED_AT).to_pydict().items()
    ):
        return
    raise RecveilError(
        f"{where}: its first line ({quoted(names[0], 30)}, ...) may be a row or names of columns; "
        + _remedy(found, names[0]),
        code="input.header",
    )


def _remedy(found: Recognized, name: str) -> str:
    if found.dialect is None:
        return (
            f"if it is a row, write a row of names above it; if it holds names, say which is which "
            f"by name with user (--user {quoted(name, 30)})"
        )
    mark = found.dialect.delimiter
    plain, named = _SAYING.get(mark, _SAYING[","])
    also = "" if mark in _SAYING else f" and delimiter (--delimiter {mark!r})"
    return (
        f"if it is a row, say so with format (--format {plain}){also}; if it holds names, with "
        f"format (--format {named}){also}"
    )


def _is_known(name: str) -> bool:
    """Say whether tables call a column so, whatever it holds."""
    plain = plain_name(name.strip('" '))
    known = (*USUAL_NAMES.values(), COUNTED, (plain_name(GROUP_SIZE),))
    return any(plain in names for names in known)


def _kind(field: object) -> str:
    """Say what a field looks like: a number, a date, text with figures in it or without."""
    text = str(field).strip()
    if is_number(text):
        return "number"
    if _DATE.fullmatch(text):
        return "date"
    return "figures" if any(map(str.isdigit, text)) else "letters"
