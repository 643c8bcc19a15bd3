"""JSON with one object per rating, as JSON Lines or in one array, read as a stream."""

import io
import itertools
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from recveil.io.columns.columns import Feedback, find_columns
from recveil.io.detect.file_kinds import unpacked_command
from recveil.io.files import LONGEST_LINE, Place, Places, naming, watched_text
from recveil.io.source import Selection, Source, reject_empty_table, reject_many_columns
from recveil.runtime.errors import RecveilError, first_line_of, listed, named_twice, quoted
from recveil.runtime.memory import reject_beyond_limit

# Rows are held as Python strings up to these numbers of rows and characters: 100 MB at most.
_ROWS_AT_ONCE, _CHARACTERS = 1 << 17, 1 << 23
_ENCODED = pa.dictionary(pa.int32(), pa.string())
# Bytes per row, in addition to its values, while rows are sorted.
_A_ROW = 16


class TextColumns:
    """Columns of text, collected in blocks; users, items and ratings become dictionaries."""

    def __init__(self, names: Sequence[str], file: str) -> None:
        self.names = list(names)
        self.file = file
        self.types = [
            _ENCODED if name in ("user", "item", "rating") else pa.string() for name in names
        ]
        self.rows: list[Sequence[str | None]] = []
        self.characters = 0
        self.blocks: list[pa.RecordBatch] = []
        self.bytes = 0

    def add(self, row: Sequence[str | None]) -> None:
        """Add a row."""
        self.rows.append(row)
        self.characters += sum(map(len, filter(None, row)))
        if len(self.rows) == _ROWS_AT_ONCE or self.characters > _CHARACTERS:
            self._flush()

    def table(self) -> pa.Table:
        """Return all rows."""
        self._flush()
        schema = pa.schema(list(zip(self.names, self.types, strict=True)))
        return pa.Table.from_batches(self.blocks, schema)

    def _flush(self) -> None:
        if not self.rows:
            return
        columns = []
        for values, kind in zip(zip(*self.rows, strict=True), self.types, strict=True):
            column = pa.array(values, pa.string())
            columns.append(column.dictionary_encode() if kind == _ENCODED else column)
        block = pa.RecordBatch.from_arrays(columns, self.names)
        self.blocks.append(block)
        self.bytes += block.nbytes + _A_ROW * len(self.rows)
        self.rows, self.characters = [], 0
        reject_beyond_limit(f"{self.file}: its values", self.bytes, at_least=True)


_PIECE = 1 << 18
# The columns are all names in the first objects, as an object may omit names of missing values.
_ROWS, _MOST_CHARACTERS = 1_000, 1 << 23
# A fault farther from the end of the buffer is not caused by truncation: longer than \\u1234.
_NEAR_THE_END = 16
# Bytes of a name: a column with its buffers, and a field in a schema.
_A_FIELD = 2_000
# Maximum bytes of a value: a list or an object with its place in another.
_A_VALUE = 80
_SPACE = " \t\r\n"
FORMS = "names and types"
_OF_PYTHON = re.compile(r'":\s*(None|True|False)\s*[,}\]]')

# What writes the rows of an object that holds a whole table.
_PLAIN_NAME = re.compile(r"[\w.-]{1,40}")
_CSV = (
    'cat FILE | python -c "import csv, json, sys; d = json.load(sys.stdin); '
    'csv.writer(sys.stdout).writerows({})" > ratings.csv'
)
_TO_JSON = 'cat FILE | python -c "import json, sys; print(json.dumps({}))" > ratings.json'

# The line in which an object starts, and its fields.
Object = tuple[int, dict[str, Any]]


def read_json(path: Path, selection: Selection) -> Source:
    r"""Read JSON Lines, or an array of objects, with numbers as written."""
    names = _names(path)
    chosen = selection.choose(names, path.name)
    is_published = selection.extras
    forms = FORMS
    while forms in chosen:
        forms += " (extra)"
    columns = [*chosen, *([forms] if is_published else [])]
    gathered = TextColumns(columns, path.name)
    for line, each in read_objects(path, has_types=is_published):
        row = [text_of(each.get(name), name, line, path.name) for name in chosen.values()]
        if is_published:
            if new := each.keys() - chosen.values():
                raise RecveilError(
                    f"{Place(path.name, line)}: the name {quoted(min(new), 40)} is in none of the "
                    f"first {_ROWS:,} objects; write it in each, with null for no value",
                    code="input.json",
                )
            row.append(_form_of(each, chosen["user"]))
        gathered.add(row)
    table = gathered.table()
    if is_published and len(table[forms].unique()) < 2:
        table = table.drop_columns(forms)
    locate = Places(partial(_walk, path)).locate
    own = {name: chosen.get(name, name) for name in table.column_names}
    return Source(table, locate, "json", own, layout=("JSON",))


def _form_of(each: dict[str, Any], user: str) -> str:
    """Return the names of an object in order, with the types of all values but the user.

    >>> _form_of({"user": "7", "item": "Heat", "rating": None, "note": ""}, "user")
    'user item:str rating:NoneType note:empty'
    """
    types = {name: "empty" if value == "" else type(value).__name__ for name, value in each.items()}
    return " ".join(name if name == user else f"{name}:{kind}" for name, kind in types.items())


class Number(str):
    """The text of a number, distinct from a string of the same characters."""

    __slots__ = ()


def first_objects(path: Path) -> pa.Table:
    """Return the first objects as rows of text; a nested value is null."""
    rows = [{name: _plain(value) for name, value in each.items()} for each in _first(path)]
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    reject_beyond_limit(f"{path.name}: its fields", len(names) * (_A_FIELD + 8 * len(rows)))
    kept = [name for name in names if name.isprintable()]
    return pa.table([pa.array([row.get(name) for row in rows], pa.string()) for name in kept], kept)


def _first(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the first objects, up to a few megabytes."""
    length = 0
    for _, each in itertools.islice(read_objects(path), _ROWS):
        yield each
        values = (len(value) if isinstance(value, str) else 1 for value in each.values())
        length += sum(map(len, each)) + sum(values)
        if length > _MOST_CHARACTERS:
            return


def read_objects(
    path: Path, kept: int | None = None, *, has_types: bool = False
) -> Iterator[Object]:
    r"""Read the objects of JSON Lines, or of one array, as a stream."""
    keeps = kept is not None
    with (
        naming(path),
        watched_text(path, keeps_text=keeps, a_row=kept or 0, longest=None) as raw,
    ):
        text = io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="\n")
        as_text = Number if has_types else str  # not converted: 3.50 is not 3.5, as in a CSV
        decoder = json.JSONDecoder(
            parse_float=as_text,
            parse_int=as_text,
            parse_constant=as_text,
            object_pairs_hook=_fields,
        )
        first, blank = "", 0
        while not first.strip() and (first := text.readline(_PIECE)):
            blank += not first.strip()
        if first.lstrip().startswith("["):
            yield from _of_array(text, first, Place(path.name, blank + 1), decoder)
        else:
            # A line may be longer than the part already read.
            rest = first if first.endswith("\n") else first + text.readline(LONGEST_LINE)
            lines = itertools.chain([rest], iter(partial(text.readline, LONGEST_LINE + 1), ""))
            yield from _of_lines(lines, Place(path.name, blank + 1), decoder, path)


def _names(path: Path) -> list[str]:
    names = list(dict.fromkeys(itertools.chain.from_iterable(_first(path))))
    if not names:
        reject_empty_table(path.name)
    if odd := [name for name in names if not _is_text(name)]:
        raise RecveilError(
            f"{path.name}: the name {quoted(odd[0])} is no UTF-8 text; rename it",
            code="input.encoding",
        )
    return names


def _of_lines(
    lines: Iterator[str], start: Place, decoder: json.JSONDecoder, path: Path
) -> Iterator[Object]:
    is_first, ahead = True, deque[str]()
    waiting = iter(lambda: ahead.popleft() if ahead else next(lines, ""), "")
    for line, text in enumerate(waiting, start.line):
        if not text.strip():
            continue
        place = Place(start.file, line)
        if len(text) > LONGEST_LINE:
            raise RecveilError(
                f"{place}: has more than {LONGEST_LINE:,} characters; expected one object a rating",
                code="input.json",
            )
        _reject_many_values(text, start.file)
        try:
            found = decoder.decode(text)
        except (ValueError, RecursionError) as error:
            if is_first and text.startswith("{"):
                _reject_object_of_lines(itertools.chain([text], lines), decoder, path)
            raise _no_json(place, text, error) from None
        if is_first and isinstance(found, dict) and (remedy := _whole_table(found)):
            while (following := next(lines, "")) and not following.strip():
                ahead.append(following)
            if not following:
                _refuse_whole_table(path, remedy)
            ahead.append(following)
        is_first = False
        yield line, _object(found, place)


def _reject_object_of_lines(lines: Iterator[str], decoder: json.JSONDecoder, path: Path) -> None:
    """Raise a RecveilError if a text is one object over several lines that holds a whole table."""
    pieces, length = [], 0
    for piece in lines:
        pieces.append(piece)
        length += len(piece)
        if length > LONGEST_LINE:
            return
    text = "".join(pieces)
    _reject_many_values(text, path.name)
    try:
        found = decoder.decode(text)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict) and (remedy := _whole_table(found)):
        _refuse_whole_table(path, remedy)


def _refuse_whole_table(path: Path, remedy: tuple[str, str]) -> NoReturn:
    what, command = remedy
    raise RecveilError(
        f"{path.name}: one JSON object {what}; convert it: {unpacked_command(command, path)}",
        code="input.json",
    )


def _whole_table(found: dict[str, Any]) -> tuple[str, str] | None:
    """Return how one object holds a whole table, and a command that writes its rows; or None.

    >>> _whole_table({"user": ["1", "2"], "item": ["7", "7"]})[0]
    'with a list for each column'
    >>> _whole_table({"user": "1", "item": "7", "tags": ["a", "b"]})
    """
    values = list(found.values())
    if found.keys() >= {"columns", "data"} and _holds(found["data"], list):
        return "of columns and data", _CSV.format("[d['columns'], *d['data']]")
    if len(values) > 1 and all(map(_is_plain, values)) and len({*map(len, values)}) == 1:
        return "with a list for each column", _CSV.format("[d, *zip(*d.values())]")
    are_columns = _are_columns(found)
    are_objects = all(isinstance(value, dict) and _is_plain([*value.values()]) for value in values)
    if values and are_objects:
        if are_columns and all([*value] == [*values[0]] for value in values):
            rows = "[d, *zip(*(c.values() for c in d.values()))]"
            return "with an object for each column", _CSV.format(rows)
        if are_columns:
            return None
        rows = "[('user', 'item', 'rating'), *((u, i, r) for u in d for i, r in d[u].items())]"
        return "with an object for each user", _CSV.format(rows)
    if are_columns:
        return None
    tables = [name for name, value in found.items() if _holds(value, dict) or _holds(value, list)]
    if len(tables) != 1 or not _PLAIN_NAME.fullmatch(tables[0]):
        return None
    what = f"with the rows in {quoted(tables[0])}"
    if _holds(found[tables[0]], list):
        return what, _CSV.format(f"d['{tables[0]}']")
    return what, _TO_JSON.format(f"json.load(sys.stdin)['{tables[0]}']")


def _holds(value: Any, kind: type) -> bool:
    """Check whether a value is a list that begins with a list, or with an object."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], kind)


def _is_plain(value: Any) -> bool:
    """Check whether a value is a list that begins with neither a list nor an object."""
    return isinstance(value, list) and bool(value) and not isinstance(value[0], list | dict)


def _are_columns(names: Iterable[str]) -> bool:
    try:
        find_columns([*names], feedback=Feedback(likes=True))
    except RecveilError:
        return False
    return True


def _reject_many_values(text: str, file: str) -> None:
    """Reject a long text before it becomes more objects than memory holds."""
    if len(text) > _PIECE:
        needed = _A_VALUE * sum(map(text.count, ",[{"))
        reject_beyond_limit(f"{file}: an object of {len(text):,} characters", needed)


def _of_array(
    text: io.TextIOWrapper, first: str, start: Place, decoder: json.JSONDecoder
) -> Iterator[Object]:
    """Yield the objects of an array, holding one at a time."""
    stream = _Stream(text, first, start, decoder)
    stream.skip("[")
    if stream.peek() == "]":
        return
    while True:
        stream.peek()
        place = stream.place
        yield place.line, _object(stream.value(), place)
        if stream.peek() == "]":
            break
        stream.skip(",")
    stream.skip("]")
    if stream.peek():
        raise RecveilError(
            f"{stream.place}: text after the end of the array; expected one array of objects, or "
            f"one object a line; drop the rest, or write JSON Lines",
            code="input.json",
        )


class _Stream:
    """A text parsed value by value."""

    def __init__(
        self, text: io.TextIOWrapper, first: str, start: Place, decoder: json.JSONDecoder
    ) -> None:
        self.text = text
        self.buffer, self.at = first, 0
        self.place = start
        self.decoder = decoder

    def peek(self) -> str:
        """Return the next character that is not a space, without consuming it; "" at the end."""
        while True:
            rest = self.buffer[self.at : self.at + 1]
            if rest and rest not in _SPACE:
                return rest
            if rest:
                end = self.at + 1
                while end < len(self.buffer) and self.buffer[end] in _SPACE:
                    end += 1
                self._take(end)
            elif not self._more():
                return ""

    def skip(self, expected: str) -> None:
        """Consume an expected character."""
        if (got := self.peek()) != expected:
            came = quoted(self.buffer[self.at : self.at + 40]) if got else "the end of the file"
            raise RecveilError(
                f"{self.place}: expected {expected!r} of an array of objects, got {came}; is the "
                f"file complete? Fix it, or write JSON Lines (one object a line)",
                code="input.json",
            )
        self._take(self.at + 1)

    def value(self) -> Any:
        """Parse a value, reading on until it is complete."""
        while True:
            try:
                found, end = self.decoder.raw_decode(self.buffer, self.at)
            except (ValueError, RecursionError) as error:
                if not self._may_be_cut(error) or not self._more():
                    raise _no_json(self.place, self.buffer[self.at :], error) from None
                continue
            if end == len(self.buffer) and self._more():
                continue  # a number may continue
            self._take(end)
            return found

    def _may_be_cut(self, error: Exception) -> bool:
        """Return whether an error may come from unread text; a repeated name cannot."""
        if not isinstance(error, json.JSONDecodeError):
            return False
        near = error.pos > len(self.buffer) - _NEAR_THE_END
        return near or error.msg.startswith("Unterminated")

    def _take(self, end: int) -> None:
        ends = self.buffer.count("\n", self.at, end)
        self.place = Place(self.place.file, self.place.line + ends)
        self.at = end

    def _more(self) -> bool:
        """Read on, doubling the size each time, so that a long value is not parsed too often."""
        held = len(self.buffer) - self.at
        if held > LONGEST_LINE:
            raise RecveilError(
                f"{self.place}: an object of more than {LONGEST_LINE:,} characters; expected one "
                f"object a rating; is this an array of objects?",
                code="input.json",
            )
        piece = self.text.read(max(_PIECE, held))
        self.buffer, self.at = self.buffer[self.at :] + piece, 0
        if held > _PIECE // 2:  # one object: small ones leave less
            _reject_many_values(self.buffer, self.place.file)
        return bool(piece)


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = named_twice(name for name, _ in pairs)
        raise ValueError(f"the name {quoted(twice[0], 30)} is repeated in an object")
    return fields


def _object(found: Any, place: Place) -> dict[str, Any]:
    if isinstance(found, dict):
        reject_many_columns(len(found), str(place))
        return found
    kind = "a list" if isinstance(found, list) else quoted(found, 30)
    raise RecveilError(
        f'{place}: expected an object such as {{"user": 7, "item": 12, "rating": 3.5}}, got '
        f"{kind}; write one object a rating, one a line, or all in one array",
        code="input.json",
    )


def text_of(value: Any, name: str, line: int, file: str) -> str | None:
    """Return a value as a CSV would have it; raise for a nested value.

    >>> text_of(True, "liked", 7, "likes.jsonl")
    'true'
    """
    if isinstance(value, str):
        if "\0" in value:
            raise RecveilError(
                f"{Place(file, line)}: {quoted(name, 30)} holds a NUL (\\u0000), which no text "
                f"has; fix or drop the object",
                code="input.json",
            )
        if not value.isascii() and not _is_text(value):
            raise RecveilError(
                f"{Place(file, line)}: {quoted(name, 30)} holds bytes that are no UTF-8 text, or "
                f"half a character; save the file as UTF-8",
                code="input.encoding",
            )
        return value or None
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    inside = f"{len(value):,} values" if isinstance(value, list) else f"fields {listed(value, 40)}"
    raise RecveilError(
        f"{Place(file, line)}: {quoted(name, 40)} holds several values ({inside}), where one was "
        f"expected; name another column, or take one value out of each",
        code="column.type",
    )


def _plain(value: Any) -> str | None:
    is_text = isinstance(value, str) and value and "".join(value.splitlines()).isprintable()
    return value if is_text else None


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_json(place: Place, text: str, error: Exception) -> RecveilError:
    why = "it is nested too deeply" if isinstance(error, RecursionError) else first_line_of(error)
    if _OF_PYTHON.search(text[:_PIECE]):
        why = "None, True and False are Python's; JSON has null, true and false"
    start = quoted(text[:40].rstrip())
    return RecveilError(
        f"{place}: no complete JSON object ({why}; it starts {start}); expected one object a line, "
        f"or one array of objects; fix or drop it",
        code="input.json",
    )


def _walk(path: Path) -> Iterator[tuple[str, int]]:
    return ((path.name, line) for line, _ in read_objects(path))
