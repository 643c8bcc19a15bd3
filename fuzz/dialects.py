"""Tables of text in all dialects, well-formed or not, next to Python's csv and pandas.

Run on its own, it needs no fuzzer: python fuzz/dialects.py [--seconds 60] [--seed 0]. It counts how
the tables end, and writes those whose rows differ to fuzz/findings.
"""

import argparse
import csv
import io
import math
import random
import re
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd

sys.path.append(
    str(Path(__file__).parents[1] / "tests" / "verification")
)  # `targets` imports from there

from second_readers import number_of, text_of
from targets import TARGETS, FoundError, compare_rows, folder_of

from recveil.io import read_table, understand
from recveil.io.formats import delimited
from recveil.io.ingestion import Reading
from recveil.runtime.errors import MOST_CHARACTERS, RecveilError

SMALL_BLOCK = 512
MARKS, ENDS = (",", "\t", ";", "|"), ("\n", "\r\n", "\r")
# Formats whose quotes mean nothing: they have no header, or another mark.
_WITHOUT_QUOTES = ("movielens-tab", "movielens-colons", "space")
_USUAL = {"csv": ",", "csv-plain": ",", "tsv": "\t", "inter": "\t", "movielens-tab": "\t"}
_USUAL |= {"movielens-colons": "::", "space": " "}
_LINE_END, _BETWEEN = re.compile(r"\r\n|\r|\n"), re.compile(r"columns between (.+)")
_SPANNING = re.compile(r"([\d,]+) rows.* take ([\d,]+) lines, .* because ([\d,]+) quoted field")
_WORDS = ["fine", "so good", "one, two", "a;b", "x|y", 'said "no"', "4", "", "tab\there", "é", " b"]
Records = list[tuple[int, list[str]]]


def compare_dialect(data: bytes) -> str:
    """Read a table as it is recognized, and split at its commonest mark; return how it ended.

    Every third table is read in small blocks, so that fields and line ends span them.
    """
    blocks = SMALL_BLOCK if zlib.crc32(data) % 3 == 0 else delimited.BLOCK_BYTES
    with mock.patch.object(delimited, "BLOCK_BYTES", blocks):
        return _read_and_compare(data)


TARGETS["dialects"] = compare_dialect


def _read_and_compare(data: bytes) -> str:
    first = _LINE_END.split(text_of(data).lstrip("\r\n"))[0]
    endings = []
    with folder_of(ratings=data) as folder:
        path = folder / "ratings"
        for mark in (None, max(MARKS, key=first.count)):
            named = {} if mark == "\t" or "user" in first else {"user": "1", "item": "2"}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    reading = understand(path, delimiter=mark, times=False, **named)
            except RecveilError as error:
                if not 0 < len(str(error)) <= MOST_CHARACTERS:
                    raise FoundError(f"an error of {len(str(error))} characters") from error
                endings.append(_class_of(str(error)))
                continue
            endings.append(_compare(reading, data, mark))
        _compare_table(path, data)
    return endings[0]


def _class_of(message: str) -> str:
    """Return the class of an error: what it says, without its place, names and numbers."""
    plain = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "X", message)
    return re.sub(r"\d[\d,.]*", "N", re.sub(r"^ratings( line \d+)?: ", "", plain))[:70]


def _compare(reading: Reading, data: bytes, mark: str | None) -> str:
    """Compare the rows that were read, and their number, with those of two other readers."""
    said = next(filter(None, map(_BETWEEN.match, reading.layout)), None)
    mark = mark or (said[1].strip("'") if said else _USUAL[str(reading.format)])
    mark = {"spaces": " ", "tabs": "\t"}.get(mark, mark)
    has_quotes = reading.format not in _WITHOUT_QUOTES
    content = text_of(data)
    ending, records = "rows of csv and pandas", strict_records(content, mark, has_quotes)
    if records is None:
        # Text that follows a closing quote is part of its field, as for pandas.
        ending, records = "text after a closing quote", records_of(content, mark, has_quotes)
    header, rows = [f for _, f in records[:1]], [f for _, f in records[reading.has_header :]]
    if has_quotes and len(mark) == 1:
        compare_with_pandas(data, mark, [fields for _, fields in records])
    roles = {column.role: column.name for column in reading.columns}
    at = [_place(roles[role], header[0], reading.has_header) for role in roles if role != "time"]
    if wrong := [fields for fields in rows if len(fields) != len(header[0])]:
        raise FoundError(f"a record of {len(wrong[0])} columns is read: {wrong[0]!a}")
    result = [_row([fields[place] for place in at]) for fields in rows]
    compare_rows(reading.ratings, result)
    dropped = reading.duplicates_dropped + reading.off_scale_dropped + reading.unrated_dropped
    if reading.ratings.n_ratings + dropped != len(rows):
        raise FoundError(f"{reading.ratings.n_ratings} rows, {dropped} dropped, of {len(rows)}")
    rating = at[2] if len(at) > 2 else None
    spans = _compare_counts(reading, content, mark, records, rating)
    return f"{ending}; fields span lines" * spans or ending


def _row(fields: Sequence[str]) -> tuple[str, str, float]:
    user, item, *rating = fields
    return user, item, number_of(rating[0]) if rating else 1.0


def _place(name: str | int, header: Sequence[str], has_header: bool) -> int:
    return header.index(str(name)) if has_header else int(name) - 1


def _compare_counts(
    reading: Reading, content: str, mark: str, records: Records, rating: int | None
) -> bool:
    """Return whether fields span lines; require that these are counted, and lines add up."""
    n_spanning = sum(bool(_LINE_END.search(each)) for _, fields in records for each in fields)
    result = next(filter(None, map(_SPANNING.search, reading.notes)), None)
    if bool(n_spanning) != bool(result):
        raise FoundError(f"{n_spanning} fields span lines, but the notes are {reading.notes!a}")
    if result and has_rows_in_fields(content, mark, records, rating):
        raise FoundError("fields hold lines that could all be rows")
    if result:
        lines = _LINE_END.split(content)
        starts = [line - 1 for line, _ in records] + [len(lines)]
        blank = sum(
            all(not line for line in lines[start + 1 :][: end - start - 1][at:])
            for start, end in pairwise(starts)
            for at in range(end - start - 1)
            if not _is_within(records, start + 1 + at + 1)
        )
        expected = (len(records) - reading.has_header, len(lines) - blank - starts[0], n_spanning)
        if (got := tuple(int(each.replace(",", "")) for each in result.groups())) != expected:
            raise FoundError(f"rows, lines and fields are {expected}, but reported as {got}")
    return bool(result)


def has_rows_in_fields(content: str, mark: str, records: Records, rating: int | None) -> bool:
    """Return whether all lines are rows with a rating, whatever quotes say."""
    lines = [line.split(mark) for line in _LINE_END.split(content) if line]
    if {len(fields) for fields in lines} != {len(fields) for _, fields in records}:
        return False
    ratings = [] if rating is None else [number_of(fields[rating].strip('"')) for fields in lines]
    return not any(map(math.isnan, ratings[1:]))  # the first line may be a header


def _is_within(records: Records, line: int) -> bool:
    """Return whether a line is part of a record, by the line ends that its fields hold."""
    return any(
        start < line <= start + sum(len(_LINE_END.findall(each)) for each in fields)
        for start, fields in records
    )


def _compare_table(path: Path, data: bytes) -> None:
    """Compare all columns and lines of a table as `verify` reads it."""
    try:
        source = read_table(path)
    except RecveilError:
        return
    if source.dialect is None or source.dialect.runs:
        return
    how = source.dialect.delimiter, source.dialect.quotes
    records = records_of(text_of(data), *how)
    header, rows = records[0][1], records[source.has_header :]
    own = {name: _place(source.names[name], header, source.has_header) for name in source.names}
    columns = zip(*(column.to_pylist() for column in source.table.columns), strict=True)
    found = [{n: each or None for n, each in zip(own, row, strict=True)} for row in columns]
    if len(found) != len(rows):
        raise FoundError(f"{len(found)} rows are read as published, of {len(rows)}")
    for at, (mine, (line, fields)) in enumerate(zip(found, rows, strict=True)):
        theirs = {name: fields[place] or None for name, place in own.items()}
        if _as_in_blocks(mine) != _as_in_blocks(theirs):
            raise FoundError(f"{mine!a} is read as published for {theirs!a}")
        if source.locate(at) != f"ratings line {line}":
            raise FoundError(f"row {at} is in line {line}, not {source.locate(at)}")


def _as_in_blocks(row: dict[str, str | None]) -> dict[str, str | None]:
    r"""Return a row as small blocks hold it: without a \n that begins one after a \r."""
    if delimited.BLOCK_BYTES != SMALL_BLOCK:
        return row
    return {name: text and text.replace("\r\n", "\r") for name, text in row.items()}


def strict_records(content: str, mark: str, has_quotes: bool) -> Records | None:
    """Return the records of a text and their lines; None for what strict readers refuse."""
    try:
        return records_of(content, mark, has_quotes, strict=True)
    except csv.Error:
        return None


def records_of(content: str, mark: str, has_quotes: bool, strict: bool = False) -> Records:
    """Return the records of a text and their lines, without blank lines."""
    if len(mark) > 1 or not has_quotes:
        lines = enumerate(_LINE_END.split(content), 1)
        return [(n, line.split(mark)) for n, line in lines if line]
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=mark, strict=strict)
    found, line = [], 1
    for fields in reader:
        if fields:
            found.append((line, fields))
        line = reader.line_num + 1
    return found


def compare_with_pandas(data: bytes, mark: str, records: Sequence[Sequence[str]]) -> None:
    r"""Raise a FoundError unless pandas reads the same fields.

    Below a blank line that ends with \r it loses an empty first field: there it is not asked.
    """
    if re.search(rb"[\r\n]\r" + re.escape(mark.encode()), data):
        return
    as_text: dict[str, Any] = {"dtype": str, "keep_default_na": False, "header": None}
    try:
        frame = pd.read_csv(io.BytesIO(data), sep=mark, encoding="utf-8-sig", **as_text)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise FoundError(f"pandas does not read it: {error}") from error
    if (found := frame.to_numpy().tolist()) != [list(fields) for fields in records]:
        pairs = zip(found, records, strict=False)
        other = next((pair for pair in pairs if pair[0] != list(pair[1])), "another number of rows")
        raise FoundError(f"pandas reads other fields: {other!a}")


def table_of_dialect(rng: random.Random) -> bytes:
    """Return a table in some dialect, three times of four with faults."""
    mark, end = rng.choice(MARKS), rng.choice(ENDS)
    extras = rng.sample(["review", "title", "genre"], rng.choice([0, 1, 1, 2]))
    columns, has_header = ["user", "item", "rating", *extras], rng.random() < 0.9
    if has_header:
        rng.shuffle(columns)
    spans = {name: rng.choice([0, 0, 0.2, 0.5]) for name in extras}
    spans |= {name: 0.1 for name in columns[:1] if rng.random() < 0.1}
    quoting = rng.choice([0, 0, 0.3, 1])
    n_users, n_items = rng.randrange(2, 7), rng.randrange(1, 5)
    user, item = rng.choice(["u", "10", "u "]), rng.choice(["i", "20", f"a{mark}b"])
    lines = [mark.join(_field(name, mark, quoting, rng) for name in columns)] * has_header
    for u in range(n_users):
        for i in range(n_items):
            row = {"user": f"{user}{u}", "item": f"{item}{i}", "rating": f"{rng.randrange(1, 6)}"}
            row |= {name: rng.choice(_WORDS) for name in extras}
            for name, share in spans.items():
                if rng.random() < share:
                    row[name] += rng.choice(ENDS) + rng.choice([*_WORDS, mark.join(row.values())])
            lines.append(mark.join(_field(row[name], mark, quoting, rng) for name in columns))
    text = end.join(lines) + end * (rng.random() < 0.7)
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        text = _with_fault(text, mark, rng)
    if rng.random() < 0.1:
        text = "".join(rng.choice(ENDS) if c == "\n" else c for c in text.replace("\r\n", "\n"))
    return b"\xef\xbb\xbf" * (rng.random() < 0.05) + text.encode()


def change_table(data: bytes, rng: random.Random) -> bytes:
    """Put a fault into a table, or make another one."""
    if rng.random() < 0.5:
        return table_of_dialect(rng)
    text = text_of(data)
    changed = _with_fault(text, max(MARKS, key=text.count), rng)
    return changed.encode(errors="surrogateescape")


def _field(text: str, mark: str, quoting: float, rng: random.Random) -> str:
    needed = any(each in text for each in (mark, '"', "\n", "\r"))
    if needed or rng.random() < quoting:
        return '"{}"'.format(text.replace('"', '""'))
    return text


def _with_fault(text: str, mark: str, rng: random.Random) -> str:
    """Put in a stray quote, mark, line end or blank, next to a mark as a rule, or take one out."""
    places = [at for at, each in enumerate(text) if each in f'{mark}"\r\n'] or [0]
    way, at = rng.randrange(6), rng.choice(places) + rng.randrange(2)
    if way == 0:
        at = rng.randrange(len(text) + 1)
    if way == 1 and '"' in text:
        at = rng.choice([at for at, each in enumerate(text) if each == '"'])
        return text[:at] + text[at + 1 :]
    if way == 2:
        return text[:at] + rng.choice([mark, *ENDS, " ", '""', "\n\n", "\r"]) + text[at:]
    if way == 3:  # a pair of stray quotes, over other rows
        other = rng.choice(places) + rng.randrange(2)
        at, other = sorted((at, other))
        return text[:at] + '"' + text[at:other] + '"' + text[other:]
    return text[:at] + '"' + text[at:]


def tables(seed: int, seconds: float) -> Iterator[bytes]:
    """Yield other tables for so many seconds."""
    ends, rng = time.monotonic() + seconds, random.Random(seed)
    while time.monotonic() < ends:
        yield table_of_dialect(rng)


def main() -> int:
    """Compare tables for some time; print how many ended how; return 1 if rows differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    endings: Counter[str] = Counter()
    for data in tables(given.seed, given.seconds):
        try:
            endings[compare_dialect(data)] += 1
        except Exception as error:
            endings[f"A FINDING: {type(error).__name__}"] += 1
            folder = Path(__file__).parent / "findings"
            folder.mkdir(exist_ok=True)
            name = folder / f"dialects-{endings.total()}"
            name.write_bytes(data)
            print(f"{name}: {error}", flush=True)
    for ending, times in endings.most_common():
        print(f"{times:9,} {ending}")
    print(f"{endings.total():9,} tables in {given.seconds:g} seconds")
    return int(any(ending.startswith("A FINDING") for ending in endings))


if __name__ == "__main__":
    sys.exit(main())
