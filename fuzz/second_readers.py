"""Second readers: the rows of a table as Python's own readers, or pyarrow's, give them.

They share nothing with recveil. Each returns (user, item, rating) as texts and a number, once for
each row that has all three; where a text can be taken in several ways, one list for each.
"""

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = tuple[str, str, float]
ROLES = ("user", "item", "rating")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_RATING = {"", "na", "nan", "null", "none", "n/a"}
_SECTION = re.compile(rb"([0-9]+):")


def text_of(data: bytes) -> str:
    """Return bytes as text; those that are no text stay apart, as they may be next to ratings."""
    if data.startswith(_UTF_16) and not data.startswith(codecs.BOM_UTF32_LE):
        return data.decode("utf-16", errors="surrogatepass")
    return data.decode("utf-8-sig", errors="surrogateescape")


def number_of(text: str) -> float:
    """Return a rating; NaN for what is none."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return math.nan


def rows_of_objects(data: bytes) -> list[Row]:
    """Return the rows of JSON Lines, or of one array."""
    content = text_of(data)
    exactly: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), str)
    if content.lstrip().startswith("["):
        found = json.loads(content, **exactly)
    else:
        found = [json.loads(line, **exactly) for line in content.split("\n") if line.strip()]
    rows = [[_as_in_csv(each.get(name)) for name in ROLES] for each in found]
    return [(user, item, number_of(rating)) for user, item, rating in rows]


def _as_in_csv(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def rows_of_matrix(data: bytes, user: str | int, null: str | None, counts: bool) -> list[list[Row]]:
    """Return the rows of a matrix: at each mark between columns, with a header and without."""
    content = text_of(data)
    # Columns set beneath each other by spaces: several are one mark.
    in_columns = "\n".join(
        re.sub(" +", " ", line.strip(" ")) for line in re.split("\r\n?|\n", content)
    )
    found = []
    for text, mark in [*((content, mark) for mark in "\t;|, "), (in_columns, " ")]:
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark, quoting=quoting)
            cells = [[cell.strip() for cell in line] for line in lines if line]
            if cells and len(cells[0]) > 1:
                found += [_of_matrix(cells, has, user, null, counts) for has in (True, False)]
    return [rows for rows in found if rows is not None]


def _of_matrix(
    cells: Sequence[Sequence[str]],
    has_header: bool,
    user: str | int,
    null: str | None,
    counts: bool,
) -> list[Row] | None:
    """Return the ratings of cells, where the column of the users is found, and each is a number."""
    first, width = cells[0], len(cells[0])
    at = _place_of(user, first, has_header)
    if at is None or any(len(line) != width for line in cells):
        return None
    items = list(first) if has_header else [str(n + (not counts)) for n in range(width)]
    skipped = {0} if counts else {at}
    rows = []
    for n, line in enumerate(cells[has_header:], 1):
        kept = [place for place in range(width) if place not in skipped]
        rated = [place for place in kept if not _stands_for_none(line[place], null)]
        one_user = str(n) if at < 0 else line[at]
        rows += [(one_user, items[place], number_of(line[place])) for place in rated]
    return rows


def _place_of(user: str | int, first: Sequence[str], has_header: bool) -> int | None:
    """Return the column of the users: -1 where rows are counted, None where there is none."""
    if user == "(rows)":
        return -1
    if user == "(first)":
        return 0 if has_header else None
    if has_header and user in first:
        return first.index(str(user))
    place = str(user).strip("()")
    is_place = not has_header and place.isdecimal() and 1 <= int(place) <= len(first)
    return int(place) - 1 if is_place else None


def _stands_for_none(cell: str, null: str | None) -> bool:
    if cell.lower() in _NO_RATING or cell == null:
        return True
    return null is not None and number_of(cell) == number_of(null)


def rows_of_netflix(parts: Iterable[bytes]) -> Iterator[Row]:
    """Yield the rows of files of the Netflix Prize, one after the other."""
    movie = ""
    for part in parts:
        for line in re.split(rb"[\r\n]+", part.removeprefix(codecs.BOM_UTF8)):
            if opened := _SECTION.fullmatch(line.strip()):
                movie = opened[1].decode()
            elif line.strip():
                user, rating, _ = line.decode().split(",")
                yield str(int(user)), movie, number_of(rating)


def table_of(data: bytes) -> pa.Table:
    """Return what pyarrow reads of a Parquet or Arrow file, in this process."""
    if data.startswith(b"PAR1"):
        return pq.ParquetFile(pa.BufferReader(data)).read()
    if data.startswith(b"ARROW1"):
        return pa.ipc.open_file(pa.BufferReader(data)).read_all()
    return pa.ipc.open_stream(pa.BufferReader(data)).read_all()


def rows_of_table(table: pa.Table, names: dict[str, Any]) -> list[Row]:
    """Return the rows of a table in memory; without a rating, each is a like."""
    users, items = (table[names[role]].to_pylist() for role in ROLES[:2])
    ratings = table[names["rating"]].to_pylist() if "rating" in names else [1] * len(users)
    rows = zip(users, items, ratings, strict=True)
    return [(_label(user), _label(item), float(rating)) for user, item, rating in rows]


def _label(value: Any) -> str:
    is_whole = isinstance(value, float | Decimal) and value == int(value)
    return str(int(value) if is_whole else value)
