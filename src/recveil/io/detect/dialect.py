"""Detection of the delimiter and the header of a text, and of the kind of any file."""

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
    folder_format,
    is_number,
    looks_like_data,
    names_columns,
    rare_mark,
    reject_rare_mark,
    reject_unknown_text,
    target_among,
    text_format,
)
from recveil.io.files import name_in_shell, naming, opened_text
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
    r"""Reject lines that another delimiter than the likeliest one also splits into a table.

    A header decides: only one delimiter splits it into column names, or into as many columns as
    the lines below.
    """
    rows = [_split(line, mark) for line in lines]
    if names_columns(rows[0]):
        return
    others = ("\t", ";", "|", ",", "::", " ")
    found = ((other, _table(lines, rows, mark, other)) for other in others if other != mark)
    other, table = next(((other, table) for other, table in found if table), ("", []))
    if table:
        raise RecveilError(
            f"{name}: {_describe(mark, rows)} and {_describe(other, table)}; name the delimiter "
            f"(--delimiter {mark!r} or --delimiter {other!r}), or put a line of names above",
            code="option.required",
        )


def _describe(mark: str, rows: Rows) -> str:
    shown = [quoted(field, 20) for field in rows[0][:2]] + ["..."] * (len(rows[0]) > 2)
    return f"{mark!r} splits it into {len(rows[0])} columns ({', '.join(shown)})"


def _table(lines: Sequence[str], rows: Rows, mark: str, other: str) -> Rows:
    """Return the fields at another delimiter if they form a table; else an empty list."""
    table = [_split(line, other) for line in lines]
    width = len(table[0])
    is_no_table = (
        width < 2
        or any(len(fields) != width for fields in table)
        or sum(all(map(str.strip, column)) for column in zip(*table, strict=True)) < 2
        or (_have_stray_quotes(table) and not _have_stray_quotes(rows))
        or (other in "\t " and _are_next_to_marks(table, other))
        or (other == "," and _are_decimals(rows, mark))
        or (other == " " and not _are_ids(table, rows))
    )
    return [] if is_no_table else table


def _have_stray_quotes(table: Rows) -> bool:
    """Return whether a quote is unpaired, as the delimiter is inside a quoted field."""
    return any(field.count('"') % 2 for fields in table for field in fields)


def _are_next_to_marks(table: Rows, mark: str) -> bool:
    """Return whether all tabs or blanks are next to other delimiters."""
    marks = tuple(other for other in MARKS if other != mark)
    ends = (field.strip() for fields in table for field in fields)
    return any(end.startswith(marks) or end.endswith(marks) for end in ends)


def _are_decimals(rows: Rows, mark: str) -> bool:
    """Return whether all commas are decimal commas, which ids do not have.

    Without a header, the first two columns hold ids, except with semicolons, which are usual where
    decimals have commas.
    """
    ids = 0 if mark == ";" and len(rows[0]) > 2 else 2
    return not any(
        "," in field and (at < ids or not DECIMAL_COMMA.fullmatch(field))
        for fields in rows
        for at, field in enumerate(fields)
    )


def _are_ids(table: Rows, rows: Rows) -> bool:
    """Return whether spaces separate columns, not words or the parts of a time."""
    if all(_is_id(fields[0]) for fields in table):
        return True
    return all(
        is_number(fields[-1]) and len(words := row[-1].split()) > 1 and is_number(words[-2])
        for fields, row in zip(table, rows, strict=True)
    )


def _is_id(field: str) -> bool:
    """Return whether a field has digits, and is neither a time nor several columns."""
    is_time = _DATE.fullmatch(field) or _CLOCK.fullmatch(field)
    return any(map(str.isdigit, field)) and not is_time and not any(map(field.count, MARKS))


def _split(line: str, mark: str) -> list[str]:
    """Split a line at a delimiter, or at runs of spaces."""
    return line.split() if mark == " " and "\t" not in line else split_line(line, mark)


def split_line(line: str, mark: str) -> list[str]:
    """Split a line at a delimiter, but not within quotes.

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
# Delimiters that also occur in titles, and those that rarely do.
_DOUBTFUL, _USUAL = MARKS[3:], MARKS[:3]
# Delimiters of two columns; those in the second tuple require column names.
_OF_TWO, _IF_NAMED = (*MARKS, " "), (*_DOUBTFUL, " ")
# Number of rows that must follow a title.
_EVEN = 3


class Recognized(NamedTuple):
    """The format of a file, and how to read it."""

    # A key of `FORMATS`
    format: str
    # How delimited text is split; None for other formats
    dialect: Dialect | None = None
    # Unusual properties that the publisher should know
    notes: tuple[str, ...] = ()
    # Options that select a table of a file with several
    within: Mapping[str, str | None] = MappingProxyType({})


def recognize(path: Path, format: str | None, layout: Layout) -> Recognized:
    """Return the format of a file or folder: the given one, or the detected one."""
    check_format(format)
    with naming(path):
        if path.is_dir():
            return Recognized(format or folder_format(path))
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
    notes = (packing,) if packing else ()
    if columnar is not None or format in COLUMNAR_FORMATS:
        _reject_layout(layout, path, "text")
        return Recognized(format or str(columnar), None, notes)
    if format != "json":
        reject_quoted_lines(path, head)
    start = head.decode("utf-8-sig", errors="replace")
    found = _of_text(path, start, format, layout)
    return found._replace(notes=(*notes, *found.notes))


def recognize_wide(path: Path, format: str | None, layout: Layout) -> Recognized:
    """Return the dialect of a matrix."""
    with naming(path):
        several = of_several(path)
    if several is not None:
        raise RecveilError(
            f"{path.name}: wide (--wide) is given, but a matrix cannot be read from {several[1]}; "
            f"save it as CSV, and name that file",
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
    return found._replace(notes=tuple(note for note in found.notes if " between " not in note))


def of_several(path: Path) -> tuple[str, str] | None:
    """Return the format of a file with several tables, and its description; None for others."""
    if (book := workbook_in(path)) is not None:
        return "workbook", book
    kind = kind_of_file(path)
    return None if kind is None else (kind, f"a {DATABASES[kind]} database")


def _within(found: str, what: str, layout: Layout, path: Path, format: str | None) -> Recognized:
    """Return how to read the selected table of a file with several."""
    if format is not None:
        raise RecveilError(
            f"{path.name}: {what}, but format (--format) is {format}; leave that out, or name "
            f"another file",
            code="option.unsupported",
        )
    reject_missing_reader(found, f"{path.name}: {what}")
    _reject_layout(layout, path, "text")
    _reject_within(layout, path, found)
    return Recognized(found, None, (what,), layout.within(found))


def _reject_within(layout: Layout, path: Path, format: str = "") -> None:
    """Reject options that select a table, for a file of another kind."""
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
        lines.pop()  # may be truncated
    every, lines = lines, lines[:_LINES_LOOKED_AT]
    if not lines:
        raise RecveilError(f"{path.name}: the file is empty; expected ratings", code="input.empty")
    if format in ("json", "netflix") or (format is None and is_json(start)):
        _reject_layout(layout, path, "delimited text")
        return Recognized(format or "json")
    if not layout.wide:
        _reject_title(start, path)
    if layout.delimiter is not None:
        if not layout.wide and len(fields := split_line(lines[0], layout.delimiter)) < 2:
            raise RecveilError(
                f"{path.name}: expected 3 columns or more, separated by {layout.delimiter!r}, got "
                f"{len(fields)} ({quoted(lines[0])}); name another delimiter (--delimiter), or "
                f"leave it out",
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
    if (mark := _doubtful_mark(lines, path)) is not None:
        return _as_specified(mark, None, lines)
    if dialect := _with_spaces(lines) or _with_names_between_colons(lines):
        form = "space" if dialect.delimiter == " " else "movielens-colons"
        return Recognized(form, dialect, (_between(dialect.delimiter),))
    if (found := text_format(lines[0])) is not None:
        return Recognized(found, DIALECTS.get(found))
    return _two_columns(lines) or reject_unknown_text(path, lines)


def _reject_title(start: str, path: Path) -> None:
    """Reject a text whose table begins below a title, as in reports and exports."""
    name = path.name
    lines = _logical_lines(start)
    if len(lines) > 2 and len(start) > HEAD_BYTES // 2:
        lines.pop()  # may be truncated
    lines = lines[:_LINES_LOOKED_AT]
    (first, title), texts = lines[0], [line for _, line in lines]
    if text_format(title) == "netflix":  # has a line above the rows of each film
        return
    if names_columns(split_line(title, max(MARKS, key=title.count))):
        return
    at = _named_below(texts) or _begins_below(texts)
    if at and title.count('"') % 2:
        raise RecveilError(
            f"{name} line {first}: a quote is never closed ({quoted(title, 60)}); remove it, or "
            f"close it",
            code="input.quotes",
        )
    if at:
        raise RecveilError(
            f"{name}: the table seems to begin in line {lines[at][0]}, and line {first} is none of "
            f"its rows ({quoted(title, 60)}); write the table alone: tail -n +{lines[at][0]} "
            f"{name_in_shell(path)} > table.csv",
            code="input.header",
        )


def _logical_lines(text: str) -> list[tuple[int, str]]:
    r"""Return the lines with text and their numbers; those within quotes are one, but for a title.

    >>> _logical_lines('Export\n\nuser;review\n1;"good\nnot bad"\n')
    [(1, 'Export'), (3, 'user;review'), (4, '1;"good\nnot bad"')]
    """
    lines: list[tuple[int, str]] = []
    is_open = False
    for n, line in enumerate(text.splitlines(), 1):
        if is_open:
            first, begun = lines.pop()
            lines.append((first, f"{begun}\n{line}"))
        elif line.strip():
            lines.append((n, line))
        else:
            continue
        is_open = len(lines) > 1 and lines[-1][1].count('"') % 2 == 1
    return lines


def _named_below(lines: Sequence[str]) -> int:
    """Return which line names columns, unless the first line is a row; else 0."""
    fields = [split_line(line, max(MARKS, key=line.count)) for line in lines]
    if looks_like_data(fields[0]):
        return 0
    return next((n for n, each in enumerate(fields) if names_columns(each, MUST_RATE)), 0)


def _begins_below(lines: Sequence[str]) -> int:
    """Return the line from which all have the same width, if those above have at most half of it.

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
    """Count a line's columns up to the last one with text, as spreadsheets fill up titles."""
    fields = split_line(line, mark)
    while fields and not fields[-1].strip():
        fields.pop()
    return len(fields)


def _two_columns(lines: Sequence[str]) -> Recognized | None:
    """Return the dialect of two columns, if the header or all lines show it."""
    for mark in _OF_TWO:
        fields = [[field.strip() for field in split_line(line, mark)] for line in lines]
        named = len(fields[0]) == 2 and names_columns(fields[0])
        even = all(len(each) == 2 and all(each) for each in fields)
        even = even and (mark not in _IF_NAMED or (mark != " " and _begins_with_names(fields)))
        if named or even:
            return _as_specified(mark, None, lines)
    return None


def _begins_with_names(fields: Sequence[Sequence[str]]) -> bool:
    """Return whether a value of the first line is of another kind than the values below it."""
    first, *others = fields
    kinds = [{*map(_kind, column)} for column in zip(*others, strict=True)]
    return any(_kind(name) not in kind for name, kind in zip(first, kinds, strict=False))


def _as_specified(mark: str, format: str | None, lines: Sequence[str]) -> Recognized:
    """Return the dialect of a text, given its delimiter."""
    named = None if format is None else DIALECTS[format]
    fields = split_line(lines[0], mark)
    padded = [*fields, ""] if len(fields) < 3 else fields  # two columns may be user and item
    header = not looks_like_data(padded) if named is None else named.header
    if named is None and mark == "\t" and header:
        format = text_format(lines[0])  # detects RecBole's names
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
    notes = (_between(mark),) if mark not in (",", "\t") else ()
    return Recognized(usual, dialect, notes)


def _doubtful_mark(lines: Sequence[str], path: Path) -> str | None:
    """Return ';' or '|' if one of them certainly separates columns."""
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
    # Titles may contain semicolons, and genres be separated by pipes, but not evenly.
    return mark if len({len(split_line(line, mark)) for line in lines}) == 1 else None


def _with_spaces(lines: Sequence[str]) -> Dialect | None:
    """Return the dialect of columns that spaces separate: runs of spaces, or below names."""
    first = lines[0].strip()
    if any(mark in first for mark in MARKS) and not DECIMAL_COMMA.search(first):
        return None
    fields = [re.findall(r"[^ \t]+", line) for line in lines]
    if any(each.startswith(MARKS) or each.endswith(MARKS) for each in fields[0]):
        return None  # the spaces are next to another delimiter
    if "\t" in first or len(fields[0]) < 3 or len({len(each) for each in fields}) > 1:
        return None
    # An empty column also leaves two spaces; reading reports its line.
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
# Formats without and with a header, by delimiter.
PLAIN_AND_NAMED = {"\t": ("movielens-tab", "tsv"), ",": ("csv-plain", "csv")}


def reject_doubtful_header(
    rows: pa.Table, found: Recognized, given: Collection[str | None], where: str
) -> None:
    """Reject a first line that may be a row: it has no known name and looks like the rows."""
    names = rows.column_names
    if any(_is_known(name) or name in given for name in names) or target_among(names):
        return
    if not rows.num_rows or any(
        name.strip() and _kind(name) not in {_kind(value) for value in values if value}
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
            f"if it is a row, write a row of names above it; if it holds names, name the columns, "
            f"such as user (--user {quoted(name, 30)})"
        )
    mark = found.dialect.delimiter
    plain, named = PLAIN_AND_NAMED.get(mark, PLAIN_AND_NAMED[","])
    also = "" if mark in PLAIN_AND_NAMED else f" and delimiter (--delimiter {mark!r})"
    return (
        f"set format (--format {plain}){also} if it is a row, or format (--format {named}){also} "
        f"if it holds names"
    )


def _is_known(name: str) -> bool:
    """Return whether a name is a usual name of a column."""
    plain = plain_name(name.strip('" '))
    known = (*USUAL_NAMES.values(), COUNTED, (plain_name(GROUP_SIZE),))
    return any(plain in names for names in known)


def _kind(field: object) -> str:
    """Return the kind of a field: "number", "date", or text with "figures" or only "letters"."""
    text = str(field).strip()
    if is_number(text):
        return "number"
    if _DATE.fullmatch(text):
        return "date"
    return "figures" if any(map(str.isdigit, text)) else "letters"
