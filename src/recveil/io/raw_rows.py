"""The first rows of a table whose reading may fail, and all problems that these rows show."""

import codecs
import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from recveil.io.columns.columns import USUAL_NAMES, plain_name
from recveil.io.detect.dialect import recognize
from recveil.io.detect.known_formats import COLUMNAR_FORMATS, looks_like_data
from recveil.io.files import opened_text
from recveil.io.formats.delimited import DIALECTS
from recveil.io.formats.typed_tables import OF_SEVERAL_TABLES
from recveil.io.inputs import file_at
from recveil.io.options import layout_of
from recveil.io.part_files import parts_of
from recveil.io.tables import first_rows
from recveil.io.worker.packing import DAMAGED
from recveil.ratings.arrow_columns import python_values
from recveil.runtime.errors import RecveilError, describe_count, shortened
from recveil.runtime.safe_repr import brief

# Limits of what is looked at.
_HEAD_BYTES, _TAIL_BYTES, _MOST_RECORDS, _MOST_TITLES = 1 << 20, 1 << 16, 20_000, 30
_MARKS = ("\t", ";", "|", ",")
UTF_8, WINDOWS = "UTF-8", "Windows-1252"
# Encodings of which a copy in UTF-8 can be made, by the names that pages show.
ENCODINGS = {
    UTF_8: "utf-8-sig",
    WINDOWS: "cp1252",
    "ISO 8859-1": "latin-1",
    "UTF-16, little-endian": "utf-16-le",
    "UTF-16, big-endian": "utf-16-be",
}
# Columns with longer names are named by their places.
_LONGEST_NAME = 100
# Numbers that exports write where there is no rating.
_SENTINELS = (-9999, -999, -99, -9, -1, 99, 999, 9999)
_BREAK = re.compile(r"[\r\n]")
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2\d{4}")


@brief
class RawRows(NamedTuple):
    """The first rows of a table, as far as they can be seen; private, for the publisher."""

    # Names of all columns; their positions from 1 on, if the file has no header
    names: list[str]
    # What names each column in the reading options: its name, or its position
    keys: list[str]
    has_header: bool
    # Role of each: user, item, rating or time; empty if none is recognized
    roles: list[str]
    rows: list[list[str]]
    # Empty for a table that is no text
    encoding: str = ""
    separator: str = ""
    # The line of the header, or of the first row
    first_line: int = 1
    # The first line that is not UTF-8; 0 for none
    bad_line: int = 0
    # The fields of the last line, if it is not among the rows and can be seen
    last: Sequence[str] = ()


def read_raw_rows(source: str, reading: Mapping[str, Any]) -> RawRows | None:
    """Return the first rows of a file, whatever fails later; None for a database or binary file."""
    path = file_at(source)
    if path is None or reading.get("wide"):
        return None
    try:
        parts = parts_of(path)
    except (RecveilError, OSError, ValueError):
        return None
    path = parts[0].path if parts else path
    with suppress(RecveilError, OSError, ValueError):
        if (typed := _typed_rows(path, reading)) is not None:
            return typed
    try:
        with opened_text(path) as file:
            head = file.read(_HEAD_BYTES)
        rows = _text_rows(head, reading)
        is_longer = rows is not None and len(head) == _HEAD_BYTES
        return rows._replace(last=_last_line(path, head, rows)) if rows and is_longer else rows
    except (RecveilError, OSError, ValueError, *DAMAGED):
        return None


def _last_line(path: Path, head: bytes, rows: RawRows) -> list[str]:
    """Return the fields of the last line; none if the text is packed, or the line is unclear."""
    with path.open("rb") as file:
        if file.read(len(head)) != head:
            return []
        file.seek(max(len(head), file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        line = file.read().rstrip().rpartition(b"\n")[2]
    if not line or line.count(b'"') % 2:  # a quote may span lines
        return []
    records = _records(line.decode(ENCODINGS[rows.encoding], errors="replace"), rows.separator)
    return records[0][1] if records else []


def _typed_rows(path: Path, reading: Mapping[str, Any]) -> RawRows | None:
    """Return the first rows of a file that is no delimited text."""
    options: dict[str, Any] = dict(reading)
    found = recognize(path, options.get("format"), layout_of(**options))
    if found.format not in (*COLUMNAR_FORMATS, *OF_SEVERAL_TABLES, "json"):
        return None
    table = first_rows(path, found.format, found.dialect, found.within)
    if table is None:
        return None
    columns = [map(_text, python_values(column)) for column in table.columns]
    names = [str(name) for name in table.column_names]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return RawRows(names, names, True, _roles(names, names, reading), rows)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _text_rows(head: bytes, reading: Mapping[str, Any]) -> RawRows | None:
    decoded = _decode(head)
    if decoded is None:
        return None
    text, encoding, bad_line = decoded
    mark = _separator(text, reading)
    records = _records(text, mark)
    if len(head) == _HEAD_BYTES and len(records) > 1:
        records.pop()  # may be truncated
    if not records:
        return None
    widths = Counter(len(fields) for _, fields in records)
    width = max(widths, key=lambda each: (widths[each], each))
    start = next(at for at, (_, fields) in enumerate(records) if len(fields) == width)
    start = start if start <= _MOST_TITLES else 0
    first_line, first = records[start]
    named = DIALECTS.get(str(reading.get("format")))
    padded = first if len(first) > 2 else [*first, ""]
    has_header = not looks_like_data(padded) if named is None else named.header
    places = [str(at) for at in range(1, width + 1)]
    names = (first + places[len(first) :])[:width] if has_header else places
    times, is_unique = Counter(names), has_header and not bad_line
    keys = [
        name
        if is_unique and times[name] == 1 and name.isprintable() and 0 < len(name) < _LONGEST_NAME
        else place
        for name, place in zip(names, places, strict=True)
    ]
    rows = [fields for _, fields in records[start + has_header :] if any(fields)]
    roles = _roles(names, keys, reading) if has_header else _roles(places, keys, reading)
    return RawRows(names, keys, has_header, roles, rows, encoding, mark, first_line, bad_line)


def _decode(head: bytes) -> tuple[str, str, int] | None:
    """Decode a text; return it, its encoding, and the first line that is not UTF-8 or 0."""
    zeros = [head[at:4_000:2].count(0) for at in (0, 1)]
    if max(zeros) * 10 > len(head[:4_000]) and min(zeros) * 20 < max(zeros):
        name = "UTF-16, little-endian" if zeros[1] > zeros[0] else "UTF-16, big-endian"
        return head.decode(ENCODINGS[name], errors="replace"), name, 1
    if any(zeros):
        return None
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head), UTF_8, 0
    except UnicodeDecodeError as error:
        bad_line = head.count(b"\n", 0, error.start) + 1
        return head.decode("cp1252", errors="replace"), WINDOWS, bad_line


def _separator(text: str, reading: Mapping[str, Any]) -> str:
    """Return the separator that is given, or the one that splits most lines evenly."""
    with suppress(RecveilError, KeyError):
        if (chosen := layout_of(str(reading["delimiter"])).delimiter) is not None:
            return chosen
    start = text[: 1 << 16]
    if start.count("::") > start.count("\n"):
        return "::"
    scores = {}
    for mark in _MARKS:
        widths = Counter(len(fields) for _, fields in _records(start, mark))
        scores[mark] = max((times * (width - 1) for width, times in widths.items()), default=0)
    return max(scores, key=lambda mark: scores[mark])


def _records(text: str, mark: str) -> list[tuple[int, list[str]]]:
    """Return the records of a text with their lines; lines alone, where its quotes are damaged."""
    if len(mark) == 1:
        found: list[tuple[int, list[str]]] = []
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        line = 1
        try:
            for fields in reader:
                if any(fields):
                    found.append((line, [field.strip() for field in fields]))
                line = reader.line_num + 1
                if len(found) >= _MOST_RECORDS:
                    break
            return found
        except csv.Error:
            pass
    return [
        (line, [field.strip() for field in each.split(mark)])
        for line, each in enumerate(text.splitlines()[:_MOST_RECORDS], 1)
        if each.strip()
    ]


def _roles(names: Sequence[str], keys: Sequence[str], reading: Mapping[str, Any]) -> list[str]:
    """Return the role of each column: as it was chosen, else by its usual name."""
    roles = [""] * len(names)
    plain = [plain_name(name) for name in names]
    for role, usual in USUAL_NAMES.items():
        chosen = reading.get(role)
        for at, (name, key) in enumerate(zip(names, keys, strict=True)):
            if chosen is not None and chosen in (name, key, str(at + 1)) and not roles[at]:
                roles[at] = role
                break
        else:
            at = next((plain.index(each) for each in usual if each in plain), -1)
            if chosen is None and at >= 0 and not roles[at]:
                roles[at] = role
    return roles


@brief
class Problem(NamedTuple):
    """A problem that the first rows show."""

    # What is wrong, and what to do about it, with the options of the command line
    what: str
    remedy: str
    # The codes of errors that say the same
    codes: tuple[str, ...] = ()
    # What to do on the page Data, if its fields do not have the names of the options
    on_page: str = ""

    @property
    def text(self) -> str:
        """The problem as a sentence."""
        return f"{self.what}{self.remedy}."

    @property
    def text_of_page(self) -> str:
        """The sentence on the page Data."""
        return f"{self.what}{self.on_page or self.remedy}."


def other_problems(source: str, reading: Mapping[str, Any], code: str) -> tuple[str, ...]:
    """Describe the problems that the first rows show, besides the first with an error's code."""
    rows = read_raw_rows(source, reading)
    problems = [] if rows is None else find_problems(rows, reading, code)
    first = next((each for each in problems if code in each.codes), None)
    return tuple(each.text for each in problems if each is not first)


def find_problems(rows: RawRows, reading: Mapping[str, Any], error: str | None) -> list[Problem]:
    """Return all problems that the first rows show."""
    found = list(_rating_problems(rows, reading))
    if error is None:
        return found
    roles = [] if error == "input.json" else _role_problems(rows, reading)
    others = _other(rows, reading)
    if error == "id.row-within":  # dropping would hide it
        others = [each for each in others if "id.missing" not in each.codes]
    return [*_file_problems(rows, error), *roles, *found, *others]


def _file_problems(rows: RawRows, error: str) -> list[Problem]:
    found = []
    if rows.bad_line:
        found.append(
            Problem(
                f"Line {rows.bad_line:,} is not UTF-8 text",
                "; write the table in UTF-8",
                ("input.encoding",),
                f"; it is shown as {rows.encoding}. Make a copy in UTF-8 below",
            )
        )
    elif error == "input.encoding" and rows.encoding:
        found.append(
            Problem(
                "A line after the first rows is not UTF-8 text",
                "; write the table in UTF-8",
                ("input.encoding",),
                ". Make a copy in UTF-8 below",
            )
        )
    if rows.first_line > 1 and rows.has_header:
        found.append(
            Problem(
                f"The table begins in line {rows.first_line}; the lines above it are none of its "
                f"rows",
                "; write the table alone",
                ("input.header", "input.unknown-format"),
                ". Make a copy without them below",
            )
        )
    return found


def _role_problems(rows: RawRows, reading: Mapping[str, Any]) -> list[Problem]:
    if not rows.has_header or len(rows.names) < 2:
        return []
    missing = [role for role in ("user", "item", "rating") if role not in rows.roles]
    if reading.get("likes") or all(rows.roles):  # without another column, each row is a like
        missing = [role for role in missing if role != "rating"]
    found = []
    for role in missing:
        likes = ", or set likes (--likes)" if role == "rating" else ""
        found.append(
            Problem(
                f"No column is recognized as the {role}",
                f"; name it with {role} (--{role}){likes}",
                ("column.missing",),
                f": choose “{role}” in the menu above its column{likes}",
            )
        )
    return found


def _rating_problems(rows: RawRows, reading: Mapping[str, Any]) -> list[Problem]:
    if "rating" not in rows.roles or reading.keys() & {"likes", "order", "words", "counts"}:
        return []
    at = rows.roles.index("rating")
    # A stray quote shifts or swallows fields, which no option mends.
    values = [row[at].strip() for row in rows.rows if len(row) == len(rows.names)]
    values = [value for value in values if not _BREAK.search(value)]
    numbers = [_number(value) for value in values]
    no_numbers = Counter(v for v, number in zip(values, numbers, strict=True) if number is None)
    if 2 * no_numbers.total() > len(values):
        return []  # labels
    name = rows.names[at]
    found = []
    if no_numbers and not reading.get("drop_off_scale"):
        shown = ", ".join(f"“{shortened(v, 40)}”" if v else "empty" for v in [*no_numbers][:3])
        are = "is no number" if no_numbers.total() == 1 else "are no numbers"
        found.append(
            Problem(
                f"“{name}”: {no_numbers.total():,} of the first {len(values):,} values {are} "
                f"({shown})",
                "; fix them, or set drop_off_scale (--drop-off-scale)",
                ("rating.missing", "rating.not-a-number"),
            )
        )
    levels = Counter(number for number in numbers if number is not None)
    if apart := [each for each in _SENTINELS if _is_apart(each, levels)]:
        shown = " and ".join(f"{each} ({levels[each]:,} times)" for each in apart)
        others = [level for level in levels if level not in apart]
        if "scale" not in reading and others:
            found.append(
                Problem(
                    f"“{name}”: {shown} among the first {len(values):,} values may mean a missing "
                    f"rating, as the others are from {min(others):g} to {max(others):g}",
                    "; give the scale (--scale) and drop_off_scale (--drop-off-scale)",
                )
            )
    return found


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _is_apart(sentinel: int, levels: Mapping[float, int]) -> bool:
    """Return whether a number is among the levels, and far from all that are no sentinels."""
    others = [level for level in levels if level not in _SENTINELS]
    if sentinel not in levels or not others:
        return False
    return min(others) >= 0 if sentinel < 0 else 4 * max(others) <= sentinel


def _odd_line(what: str, fields: Sequence[str]) -> Problem:
    return Problem(f"{what} ({_quoted(fields)})", "; fix or drop the line", ("input.line",))


def _quoted(fields: Sequence[str]) -> str:
    return f"“{shortened(' '.join(filter(None, fields)), 40)}”"


def _odd_lines(
    rows: RawRows, places: Mapping[str, int], reading: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield problems with rows of another width, and with a last line that is no rating."""
    width = len(rows.names)
    odd = [row for row in rows.rows if len(row) != width]
    if odd and 2 * len(odd) < len(rows.rows):
        have = "has" if len(odd) == 1 else "have"
        what = (
            f"{len(odd):,} of the first {len(rows.rows):,} rows {have} other than {width} columns"
        )
        yield _odd_line(what, odd[0])
    if rows.last and len(rows.last) != width:
        n_columns = describe_count(len(rows.last), "column")
        yield _odd_line(f"The last line has {n_columns} instead of {width}", rows.last)
    elif rows.last and "drop_missing_ids" not in reading:
        lacking = [role for role in ("user", "item") if role in places]
        lacking = [role for role in lacking if not rows.last[places[role]]]
        if lacking:
            what = f"The last line has no {' and no '.join(lacking)} id"
            drop = "; drop it with drop_missing_ids (--drop-missing-ids)"
            yield Problem(f"{what} ({_quoted(rows.last)})", drop, ("id.missing",))


def _other(rows: RawRows, reading: Mapping[str, Any]) -> list[Problem]:
    """Return problems with lines, ids, times and repeated pairs."""
    places = {role: at for at, role in enumerate(rows.roles) if role}
    found = [*_odd_lines(rows, places, reading)]
    if places.keys() >= {"user", "item"} and "drop_missing_ids" not in reading:
        ids = [
            [row[at] for at in (places["user"], places["item"])]
            for row in rows.rows
            if len(row) == len(rows.names)
        ]
        if n_lacking := sum(not all(each) for each in ids):
            have = "has" if n_lacking == 1 else "have"
            what = f"{n_lacking:,} of the first {len(rows.rows):,} rows {have} no user or item id"
            drop = "; drop them with drop_missing_ids (--drop-missing-ids)"
            check = "; check user (--user), item (--item) and delimiter (--delimiter)"
            on_page = "; check the menus above the columns, and “Column separator”"
            is_misread = 2 * n_lacking > len(rows.rows)  # most rows are never dropped
            found.append(
                Problem(
                    what,
                    check if is_misread else drop,
                    ("id.missing",),
                    on_page if is_misread else "",
                )
            )
    if "time" in places and "time_format" not in reading:
        times = [row[places["time"]] for row in rows.rows if len(row) > places["time"]]
        dates = [match for match in map(_DATE.fullmatch, times) if match]
        if dates and 2 * len(dates) > len(times):
            mark = dates[0][2]
            day, month = (any(int(date[at]) > 12 for date in dates) for at in (1, 3))
            form = f"%d{mark}%m{mark}%Y" if day else f"%m{mark}%d{mark}%Y"
            doubt = "" if day or month else f", or %d{mark}%m{mark}%Y if the day comes first"
            found.append(
                Problem(
                    f"“{rows.names[places['time']]}” has dates such as {dates[0][0]}",
                    f"; give time_format (--time-format {form}){doubt}",
                    ("time.format", "time.unreadable"),
                )
            )
    if places.keys() >= {"user", "item"} and "duplicates" not in reading:
        user, item = places["user"], places["item"]
        pairs = Counter(
            (row[user], row[item])
            for row in rows.rows
            if len(row) > max(user, item) and row[user] and row[item]
        )
        if repeated := pairs.total() - len(pairs):
            found.append(
                Problem(
                    f"{repeated:,} of the first {len(rows.rows):,} rows repeat a user and an item",
                    "; choose with duplicates (--duplicates)",
                    ("rating.duplicate",),
                )
            )
    return found
