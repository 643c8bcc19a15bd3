"""Delimited text: commas, tabs, spaces or double colons, with or without a header."""

import csv
import io
import itertools
import re
import shlex
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from recveil.io.detect.file_kinds import unpacked_command
from recveil.io.detect.known_formats import looks_like_data
from recveil.io.files import (
    DOUBLE_QUOTE,
    STRAY_QUOTE,
    Place,
    Places,
    Spans,
    naming,
    watched_text,
)
from recveil.io.source import ROLES, Selection, Source
from recveil.ratings.rating_scale import Locate
from recveil.runtime.errors import RecveilError, describe_count, quoted

# Each block has its own dictionaries of ids, so few large blocks of a large file take less memory;
# for a small file, the blocks that are read ahead would take more than the file.
BLOCK_BYTES = 1 << 24
_BLOCKS, _LEAST_BLOCK_BYTES = 64, 1 << 22
ENCODED_TEXT = pa.dictionary(pa.int32(), pa.string())
_UNIX_TIME = re.compile(r"[1-9]\d{8,17}")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NUMBER = re.compile(r"[-+]?[\d.,:/ TZ-]*\d[\d.,]*")


class Dialect(NamedTuple):
    """The delimiter, quotes and header of a delimited file."""

    delimiter: str
    quotes: bool
    header: bool
    runs: bool = False  # of spaces: several separate what one does

    @property
    def character(self) -> str:
        """The delimiter for pyarrow and csv, which support one character only."""
        return self.delimiter[0]

    def text(self, fields: Sequence[str]) -> str:
        """Join the fields of a record, without quotes."""
        return self.character.join(fields)

    def excerpt(self, fields: Sequence[str]) -> str:
        """Show the start of a record in an error."""
        text = self.text(fields)
        return repr(text if len(text) <= 60 else f"{text[:60]}...")

    def columns(self, fields: Sequence[str]) -> Sequence[str]:
        """Return the fields without the empty ones of a double colon."""
        return fields[:: len(self.delimiter)]

    def count(self, fields: Sequence[str]) -> int:
        """Count the columns of a record."""
        double = len(self.delimiter) > 1
        return len(self.text(fields).split(self.delimiter)) if double else len(fields)


DIALECTS = {
    "movielens-tab": Dialect("\t", quotes=False, header=False),
    "movielens-colons": Dialect("::", quotes=False, header=False),
    "csv": Dialect(",", quotes=True, header=True),
    "csv-plain": Dialect(",", quotes=True, header=False),
    "tsv": Dialect("\t", quotes=True, header=True),
    "space": Dialect(" ", quotes=False, header=False),
    "inter": Dialect("\t", quotes=True, header=True),
}


# The line in which a record starts, and its fields; a plain tuple, for there may be millions.
Record = tuple[int, list[str]]


def read_delimited(
    path: Path, format: str, selection: Selection, dialect: Dialect | None = None
) -> Source:
    """Read a delimited file with all its fields as text."""
    dialect = dialect or DIALECTS[format]
    names, header_line = _column_names(path, dialect)
    in_file = names
    if dialect.header:
        names = selection.with_places(names)
        chosen = selection.choose(names, path.name)
        own: Mapping[str, str | int] = chosen
    else:
        places = selection.choose_places(len(names), path.name)
        own, chosen = places, {role: names[place - 1] for role, place in places.items()}
    try:
        # Names between single marks are known to pyarrow, unless two columns have the same.
        own_names = dialect.header and (names != in_file or len(dialect.delimiter) > 1)
        skips = header_line if own_names else 0
        raw, may_span = _parse_quickly(path, dialect, names, chosen, selection, skips)
    except pa.ArrowInvalid:
        step = len(dialect.delimiter)
        wanted = [step * at for at, name in enumerate(names) if name in chosen.values()]
        _raise_first_bad(path, dialect, len(names), wanted)
        raise
    table = pa.table({role: raw[name] for role, name in chosen.items()})
    if dialect.quotes and _holds_quotes(table):
        _reject_text_after_quotes(path, dialect, len(names))
    spans = Spans(0, table.num_rows + dialect.header, table.num_rows, int(dialect.header))
    if may_span:
        roles = {role: names.index(chosen[role]) for role in ROLES if role in chosen}
        ids = _ids_of(table)
        spans = _check_fields_that_span_lines(path, dialect, len(names), roles, ids, spans)
    n_columns = 0 if dialect.header else len(names)
    locate = Places(partial(_walk, path, dialect)).locate
    if not selection.extras:  # a release may have such items, of a table that is no text
        _reject_tabs_in_ids(table, dialect, locate)
    return Source(table, locate, format, own, n_columns=n_columns, spans=spans, dialect=dialect)


def _parse_quickly(
    path: Path,
    dialect: Dialect,
    names: list[str],
    chosen: dict[str, str],
    selection: Selection,
    skips: int,
) -> tuple[pa.Table, bool]:
    """Read times that look like numbers as numbers; all other columns stay text."""
    time = chosen.get("time")
    if time is not None and not selection.extras and not selection.time_is_text:
        records = itertools.islice(read_records(path, dialect), dialect.header, None)
        first = dict(zip(names, dialect.columns(next(records, (0, []))[1]), strict=False))
        if _UNIX_TIME.fullmatch(first.get(time, "")):
            seconds = int(first[time]) < 2**31
            with suppress(pa.ArrowInvalid):
                known = {time: pa.int32() if seconds else pa.int64()}
                return _parse(path, dialect, names, chosen, known, skips)
    return _parse(path, dialect, names, chosen, {}, skips)


def _parse(
    path: Path,
    dialect: Dialect,
    names: list[str],
    chosen: dict[str, str],
    known: dict[str, pa.DataType],
    skips: int,
) -> tuple[pa.Table, bool]:
    """Return the table, and whether a quoted field may span lines; `skips` counts the header."""
    types = {name: pa.string() for name in chosen.values()}
    encoded = [chosen[role] for role in ("user", "item", "rating") if role in chosen]
    types |= dict.fromkeys(encoded, ENCODED_TEXT) | known
    columns, included = names, list(chosen.values())
    if len(dialect.delimiter) > 1:
        # pyarrow splits at one character, so there is an empty column between two others.
        gaps = [f"{name}::" for name in names[1:]]
        columns = [names[0], *(both for pair in zip(gaps, names[1:], strict=True) for both in pair)]
        types |= dict.fromkeys(gaps, pa.null())
        included = [*gaps, *included]
    share = path.stat().st_size // _BLOCKS
    block_size = min(BLOCK_BYTES, max(_LEAST_BLOCK_BYTES, share))
    keeps_text = len(chosen) > len(ROLES)
    with watched_text(path, keeps_text=keeps_text, deferred=True, squeezed=dialect.runs) as stream:
        table = arrow_csv.read_csv(
            stream,
            arrow_csv.ReadOptions(
                block_size=block_size,
                column_names=columns if skips or not dialect.header else None,
                skip_rows=skips,
            ),
            arrow_csv.ParseOptions(
                delimiter=dialect.character,
                quote_char='"' if dialect.quotes else False,
                newlines_in_values=dialect.quotes,
            ),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=included,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        watched = cast(Any, stream).raw
        unequal = watched.lines + bool(watched.of_line) != table.num_rows + dialect.header
        may_span = unequal or _is_open(watched.last_line, dialect)
        return table, dialect.quotes and watched.has_quotes and may_span


def _holds_quotes(table: pa.Table) -> bool:
    """Return whether a value of a column that is read contains a quote, as few do."""
    return any(
        pc.any(pc.match_substring(values, '"')).as_py()
        for column in table.columns
        for chunk in column.chunks
        for values in [chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk]
        if pa.types.is_string(values.type)
    )


def _reject_tabs_in_ids(table: pa.Table, dialect: Dialect, locate: Locate) -> None:
    """Reject a user or an item with a tab inside, which probably separates two columns."""
    for role in ("user", "item"):
        column = table[role]
        inner = [pc.utf8_trim_whitespace(chunk.dictionary) for chunk in column.chunks]
        if not any(pc.any(pc.match_substring(each, "\t")).as_py() for each in inner):
            continue
        ids = pc.utf8_trim_whitespace(column.cast(pa.string()))
        row = pc.index(pc.match_substring(ids, "\t").combine_chunks(), True).as_py()
        is_split = dialect.delimiter == "\t"
        remedy = (
            "write a blank in its place"
            if is_split
            else "if tabs separate the columns, set delimiter (--delimiter '\\t'), "
            "else write a blank in its place"
        )
        raise RecveilError(
            f"{locate(row)}: the {role} {quoted(ids[row].as_py(), 40)} contains a tab; {remedy}",
            code="id.tab",
        )


def _reject_text_after_quotes(path: Path, dialect: Dialect, n_columns: int) -> None:
    """Reject a file with text after a closing quote, which would be a part of an id."""
    line = 0
    try:
        for at, _ in read_records(path, dialect, is_strict=True):
            line = at
    except RecveilError as error:
        after = next((at for at, _ in read_records(path, dialect) if at > line), 1)
        if remedy := _escape_remedy(path, dialect, after, n_columns):
            raise RecveilError(
                f"{Place(path.name, after)}: {remedy}", code="input.quotes"
            ) from None
        raise error from None


def _escape_remedy(path: Path, dialect: Dialect, line: int, n_columns: int) -> str:
    """Return the remedy for a record whose quotes are escaped with backslashes; else ""."""
    record: list[str] = []
    with suppress(RecveilError):
        for at, fields in read_records(path, dialect, escape="\\"):
            if at > line:
                break
            record = fields
    plain = next((fields for at, fields in read_records(path, dialect) if at == line), [])
    if dialect.count(record) != n_columns or plain == record or len(dialect.delimiter) > 1:
        return ""
    mark = "" if dialect.delimiter == "," else f", delimiter=chr({ord(dialect.delimiter)})"
    command = (
        'cat FILE | python -c "import csv, sys; csv.writer(sys.stdout).writerows('
        f'csv.reader(sys.stdin, escapechar=chr(92){mark}))" > ratings.csv'
    )
    return "a backslash escapes a quote, but CSV doubles it; convert the file: " + unpacked_command(
        command, path
    )


def _is_open(line: str, dialect: Dialect) -> bool:
    """Return whether a quote is not closed at the end of a line.

    >>> _is_open('7,"Alien', DIALECTS["csv"]), _is_open('7,"Alien"', DIALECTS["csv"])
    (True, False)
    """
    return len([*csv.reader(_Lines([line], has_end=True), delimiter=dialect.character)]) == 1


def _ids_of(table: pa.Table) -> dict[str, set[str]]:
    """Return the users and the items of a table, by role."""
    return {
        role: {*table[role].unique().cast(pa.string()).to_pylist()} - {None}
        for role in ("user", "item")
        if role in table.column_names
    }


def _check_fields_that_span_lines(
    path: Path,
    dialect: Dialect,
    n_columns: int,
    roles: Mapping[str, int],
    ids: Mapping[str, set[str]],
    read: Spans,
) -> Spans:
    """Count quoted fields with line ends; reject those that seem to contain other rows."""
    # A stray quote opens a field that ends at the next quote, however many rows later. The second
    # reader is Python's, so that rows are counted twice, independently.
    n_records = n_lines = n_fields = 0
    first, has_marks = "", False
    for line, fields in read_records(path, dialect):
        n_records += 1
        n_lines += 1
        text = dialect.text(fields)
        if "\n" not in text and "\r" not in text:
            continue
        spanning = [at for at, field in enumerate(fields) if _LINE_END.search(field)]
        opened = line + len(_LINE_END.findall(dialect.text(fields[: spanning[0]])))
        ends = line + len(_LINE_END.findall(text))
        n_lines += ends - line
        n_fields += len(spanning)
        span = f"{Place(path.name, opened)}: a quoted field goes on to line {ends}"
        first = first or span
        has_marks = has_marks or any(
            _may_hold_a_row(fields[at], at == len(fields) - 1, dialect) for at in spanning
        )
        if (
            (dialect.header and n_records == 1)
            or len(fields) != n_columns
            or {*spanning} & {*roles.values()}
            or _holds_records(fields, dialect, roles, spanning[0], ids)
        ):
            if remedy := _escape_remedy(path, dialect, line, n_columns):
                raise RecveilError(f"{Place(path.name, line)}: {remedy}", code="input.quotes")
            raise RecveilError(
                f"{span}, and other rows may be inside it; {STRAY_QUOTE}",
                code="input.quote-spans-lines",
            )
    if n_records - dialect.header != read.n_rows:
        raise RecveilError(
            f"{path.name}: two readers disagree on its quotes: {read.n_rows:,} rows or "
            f"{n_records - dialect.header:,}; {DOUBLE_QUOTE}",
            code="input.quotes",
        )
    if n_fields:  # text after a closing quote would be read
        deque(read_records(path, dialect, is_strict=True), maxlen=0)
    return read._replace(n_fields=n_fields, n_lines=n_lines, first=first, has_marks=has_marks)


def _may_hold_a_row(field: str, is_last: bool, dialect: Dialect) -> bool:
    r"""Return whether a field that spans lines has a delimiter where a row in it would have one.

    A stray quote in the last column swallows rows that begin below the first line of the field. In
    another column, it swallows the rest of its own row, too.
    """
    lines = _LINE_END.split(field)
    return any(dialect.character in line for line in lines[is_last:])


def _holds_records(
    fields: list[str],
    dialect: Dialect,
    roles: Mapping[str, int],
    spanning: int,
    ids: Mapping[str, set[str]],
) -> bool:
    r"""Return whether lines within a record have all columns themselves, filled as there."""
    # Both the first and the last of them, as a review ends or begins on such a line, or one
    # between. Columns behind the field that spans lines, at the position `spanning`, are counted
    # from the end, since a review may contain delimiters.
    roles = {role: at if at < spanning else at - len(fields) for role, at in roles.items()}
    lines = [line.split(dialect.character) for line in _LINE_END.split(dialect.text(fields))]
    # The same with the other fields whole, which may contain delimiters or line ends.
    whole = [part.split(dialect.character) for part in _LINE_END.split(fields[spanning])]
    whole[0] = [*fields[:spanning], *whole[0]]
    whole[-1] = [*whole[-1], *fields[spanning + 1 :]]
    return any(_are_records(each, fields, roles, ids) for each in (lines, whole))


def _are_records(
    lines: list[list[str]],
    fields: list[str],
    roles: Mapping[str, int],
    ids: Mapping[str, set[str]],
) -> bool:
    """Return whether the lines of a record have all its columns themselves, or meet in ids."""
    first, *between, last = (
        len(split) >= len(fields) and _are_filled_alike(split, fields, roles, ids)
        for split in lines
    )
    # A swallowed row whose own text spans lines begins on one of them, and ends on another.
    meets = any(
        _have_ids(before, roles, ids, ends=True) and _have_ids(after, roles, ids, ends=False)
        for before, after in pairwise(lines)
    )
    return (first and last) or any(between) or meets


def _have_ids(
    split: list[str], roles: Mapping[str, int], ids: Mapping[str, set[str]], *, ends: bool
) -> bool:
    """Return whether a line has known ids in the columns after a text, or in those before it."""
    places = {role: roles[role] for role in ("user", "item") if (roles[role] < 0) == ends}
    return all(
        max(at + 1, -at) <= len(split) and split[at] in ids.get(role, ())
        for role, at in places.items()
    )


def _are_filled_alike(
    split: list[str],
    fields: list[str],
    roles: Mapping[str, int],
    ids: Mapping[str, set[str]],
) -> bool:
    """Return whether a line has ids, a rating and a time where a record has them."""
    # Next to a number for the rating or the time, ids may be of another kind: 034545103X,
    # 0345451047. Without such a number, they are known ids, or of the same kind. A blank before an
    # id marks a text, such as "sad, slow, long", if the record has no such blank.
    places = {role: at for role, at in roles.items() if role in ("user", "item")}
    others = [at for at in roles.values() if at not in places.values()]
    if any(
        not split[at].strip() or (split[at][:1].isspace() and not fields[at][:1].isspace())
        for at in places.values()
    ):
        return False
    if any(_kind(split[at]) == "number" for at in others):
        kinds = [{_kind(split[at]), _kind(fields[at])} for at in others]
        return all(len({*kind} - {""}) < 2 for kind in kinds)
    return all(
        _kind(split[at]) == _kind(fields[at]) or split[at] in ids.get(role, ())
        for role, at in places.items()
    ) and all(
        _kind(split[at]) == _kind(fields[at]) or "" in (split[at], fields[at]) for at in others
    )


def _kind(field: str) -> str:
    field = field.strip()
    return "number" if _NUMBER.fullmatch(field) else "text" if field else ""


def _column_names(path: Path, dialect: Dialect) -> tuple[list[str], int]:
    """Return the names of columns, from the header or by place, and the header's line."""
    first = next(read_records(path, dialect), None)
    if first is None:
        raise RecveilError(f"{path.name}: the file is empty; expected ratings", code="input.empty")
    line, fields = first
    if dialect.header:
        check_utf8(fields, Place(path.name, line))
        if looks_like_data(fields):
            # Its ids would become names of columns, and the row be lost.
            raise RecveilError(
                f"{Place(path.name, line)}: expected a header, got {dialect.excerpt(fields)}; add "
                f"one, or leave format (--format) out, and name the columns with user and item "
                f"(--user 1 --item 2)",
                code="input.header",
            )
        return list(dialect.columns(fields)), line
    n_columns = dialect.count(fields)
    if n_columns < 2:
        raise RecveilError(
            f"{Place(path.name, line)}: expected 3 or 4 columns (user, item, rating, time) "
            f"separated by {dialect.delimiter!r}, got {n_columns} ({dialect.excerpt(fields)}); "
            f"name another format (--format), or leave it out",
            code="input.line",
        )
    return [str(place) for place in range(1, n_columns + 1)], line


def read_records(
    path: Path,
    dialect: Dialect,
    kept: int | None = None,
    *,
    is_strict: bool = False,
    escape: str | None = None,
) -> Iterator[Record]:
    r"""Read a file slowly, record by record, without blank lines."""
    keeps = kept is not None
    with watched_text(path, keeps_text=keeps, a_row=kept, squeezed=dialect.runs) as raw:
        text = io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="")
        lines = _Lines(text, has_end=dialect.quotes)
        reader = csv.reader(
            lines,
            delimiter=dialect.character,
            quoting=csv.QUOTE_MINIMAL if dialect.quotes else csv.QUOTE_NONE,
            strict=is_strict,
            escapechar=escape,
        )
        line = 1
        try:
            for fields in reader:
                if lines.is_end:
                    if line < reader.line_num:
                        raise csv.Error("a quote is never closed")
                    return
                if fields:
                    yield line, fields
                line = reader.line_num + 1
        except csv.Error as error:
            n_lines = reader.line_num - line + 1
            raise _unreadable_record(Place(path.name, line), error, n_lines) from None


def _unreadable_record(place: Place, error: csv.Error, n_lines: int) -> RecveilError:
    """Return the error of a record that Python's csv rejected; long texts need no quote."""
    if "field limit" not in str(error):
        return RecveilError(f"{place}: {error}; {DOUBLE_QUOTE}", code="input.quotes")
    size = f"more than {csv.field_size_limit():,} characters"
    if n_lines == 1:
        return RecveilError(
            f"{place}: a field has {size}; shorten it, or remove its column from the file",
            code="input.line",
        )
    return RecveilError(
        f"{place}: a quoted field has line ends and {size}; {DOUBLE_QUOTE}; shorten a long text, "
        f"or remove its column from the file",
        code="input.quotes",
    )


class _Lines:
    """The lines of a text and, with quotes, a further record, unless a quote is open."""

    def __init__(self, text: Iterable[str], *, has_end: bool) -> None:
        self.text, self.has_end = text, has_end
        self.is_end = False

    def __iter__(self) -> Iterator[str]:
        yield from self.text
        if self.has_end:
            self.is_end = True
            yield '""'


def _walk(path: Path, dialect: Dialect) -> Iterator[tuple[str, int]]:
    with naming(path):
        records = read_records(path, dialect)
        if dialect.header:
            next(records)
        for line, _ in records:
            yield path.name, line


def _raise_first_bad(path: Path, dialect: Dialect, n_columns: int, wanted: Sequence[int]) -> None:
    """Raise the RecveilError for the line that pyarrow rejected."""
    for line, fields in read_records(path, dialect):
        place = Place(path.name, line)
        if (got := dialect.count(fields)) != n_columns:
            if dialect.quotes and (remedy := _escape_remedy(path, dialect, line, n_columns)):
                raise RecveilError(f"{place}: {remedy}", code="input.quotes")
            spans = _LINE_END.search(dialect.text(fields)) is not None
            raise RecveilError(
                f"{place}: expected {describe_count(n_columns, 'column')}, got {got} "
                f"({dialect.excerpt(fields)}); "
                + (DOUBLE_QUOTE if spans else _line_remedy(path, dialect, n_columns)),
                code="input.line",
            )
        if len(dialect.delimiter) > 1 and any(fields[1::2]):
            raise RecveilError(
                f"{place}: a single {dialect.character!r} in a column ({dialect.excerpt(fields)}); "
                f"fix the line, or write the file as CSV",
                code="input.line",
            )
        check_utf8([fields[position] for position in wanted], place)


def _line_remedy(path: Path, dialect: Dialect, n_columns: int) -> str:
    used = dict.fromkeys("\t;,|", 0)
    used.pop(dialect.character, None)
    for _, fields in read_records(path, dialect):
        for mark in used if dialect.count(fields) == 1 else ():
            used[mark] += dialect.text(fields).count(mark) == n_columns - 1 > 0
    mark = max(used, key=used.__getitem__)
    if not used[mark]:
        return "fix or drop the line"
    other = {"\t": "tabs"}.get(mark, repr(mark))
    return (
        f"{describe_count(used[mark], 'line')} of the file "
        f"{'uses' if used[mark] == 1 else 'use'} {other}, the others {dialect.delimiter!r}: "
        f"replace {other} by {dialect.delimiter!r} in these lines, which are rows"
    )


def check_one_line(fields: Sequence[str], place: Place) -> None:
    r"""Raise a RecveilError if a field spans lines, as a stray quote makes it do."""
    if any(_LINE_END.search(field) for field in fields):
        raise RecveilError(
            f"{place}: a quoted field spans lines; {DOUBLE_QUOTE}", code="input.quote-spans-lines"
        )


def check_utf8(fields: Sequence[str], place: Place) -> None:
    r"""Raise a RecveilError that names the place if a field holds bytes that are not UTF-8."""
    for field in fields:
        encoded = field.encode(errors="surrogateescape")
        try:
            encoded.decode()
        except UnicodeDecodeError:
            raise RecveilError(
                f"{place}: {encoded!r} is not UTF-8 text; save the file as UTF-8. If it is "
                f"from Windows: iconv -f CP1252 -t UTF-8 {shlex.quote(place.file)} > utf8.csv "
                f"(unpack it first if it is packed)",
                code="input.encoding",
            ) from None
