"""Ways to tamper with a release: each takes its folder, and changes files in it.

A way that finds no place for its change in a release raises `NoPlaceError`. After a change of any
file but release.json all digests are renewed, as if the release should still verify.
"""

import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

Way = Callable[[Path], object]


class NoPlaceError(Exception):
    """The release has no place for such a change."""


def _stated(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "release.json").read_text("utf-8"))


def _write(folder: Path, result: dict[str, Any]) -> None:
    content = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    (folder / "release.json").write_bytes(content.encode())


def sign(folder: Path) -> None:
    """Make the digests of all files anew."""
    result = _stated(folder)
    for name, entry in result["files"].items():
        if (folder / name).is_file():
            content = (folder / name).read_bytes()
            entry |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    _write(folder, result)


def _table_of(folder: Path) -> Path:
    return folder / next(iter(_stated(folder)["files"]))


# --- what release.json says: each value, each object


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value; of a list only to its first, and of digests to none."""
    parts = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for name, part in parts:
        if name not in ("sha256", "bytes"):
            yield (*path, name)
            if isinstance(part, dict | list):
                yield from _places(part, (*path, name))


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + " of Ann"
    if isinstance(value, dict):
        return {**value, "note": "Ann"}
    return [*value, *value[:1]] if isinstance(value, list) else "Ann"


def _at(path: tuple[Any, ...], change: Callable[[Any, Any], object]) -> Way:
    def way(folder: Path) -> None:
        result = _stated(folder)
        holder = result
        for name in path[:-1]:
            holder = holder[name]
        change(holder, path[-1])
        _write(folder, result)

    return way


def _change(holder: Any, name: Any) -> None:
    holder[name] = _other(holder[name])


def _drop(holder: Any, name: Any) -> None:
    del holder[name]


def ways_of_release_json(folder: Path) -> dict[str, Way]:
    """Return a change of each value, one that leaves it out, and others of the whole text."""
    ways: dict[str, Way] = {}
    for path in _places(_stated(folder)):
        name = ".".join(map(str, path))
        ways[f"release.json: change {name}"] = _at(path, _change)
        ways[f"release.json: drop {name}"] = _at(path, _drop)
    return ways | {f"release.json: {name}": _text(how) for name, how in _OF_TEXT.items()}


def _text(how: Callable[[str], str]) -> Way:
    def way(folder: Path) -> None:
        _rewrite(folder / "release.json", how)

    return way


def _rewrite(file: Path, how: Callable[[str], str]) -> None:
    """Change the text of a file."""
    if not file.is_file():
        raise NoPlaceError
    text = file.read_bytes().decode()
    changed = how(text)
    if changed == text:
        raise NoPlaceError
    file.write_bytes(changed.encode())


def _first(pattern: str, to: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, to, text, count=1)


def _reversed(text: str) -> str:
    pairs = reversed(json.loads(text).items())
    return json.dumps(dict(pairs), indent=2, ensure_ascii=False) + "\n"


_OF_LINES: dict[str, Callable[[str], str]] = {
    "other line ends": lambda text: text.replace("\n", "\r\n"),
    "no last line end": lambda text: text.removesuffix("\n"),
    "an empty line": lambda text: text + "\n",
    "a byte order mark": lambda text: "\ufeff" + text,
    "nothing": lambda text: "",
    "half of it": lambda text: text[: len(text) // 2],
}
_OF_TEXT = _OF_LINES | {
    "a key twice": _first(r'"k": (\d+),', r'"k": \1,\n  "k": \1,'),
    "another key twice": _first(r'"method":', '"method": "Ann",\n    "method":'),
    "spaces": lambda text: text.replace(": {", ":  {"),
    "on one line": lambda text: json.dumps(json.loads(text)),
    "another order": _reversed,
    "an escape": _first('"method"', r'"m\\u0065thod"'),
    "a longer number": _first(r'"low": (\d+\.\d)', r'"low": \g<1>0'),
    "another number": _first(r'"low": \d+\.\d', '"low": 1e0'),
    "not a number": _first(r'"high": [\d.]+', '"high": NaN'),
    "infinity": _first(r'"high": [\d.]+', '"high": 1e999'),
    "half a character": _first(r'"recveil": "', r'"recveil": "\\ud800'),
    "deep nesting": lambda text: text.rstrip()[:-1] + ', "x": ' + "[" * 9999 + "]" * 9999 + "}",
    "a number without end": _first(r'"(?:values|labels)": \d+', '"values": ' + "9" * 5000),
    "an older format": _first(r"recveil-release-\d", "recveil-release-1"),
    "a format to come": _first(r"recveil-release-\d", "recveil-release-99"),
}


# --- the other files, with digests that fit


def _signed(change: Way) -> Way:
    def way(folder: Path) -> None:
        change(folder)
        sign(folder)

    return way


def _of_file(name: str, how: Callable[[str], str]) -> Way:
    return _signed(lambda folder: _rewrite(folder / name, how))


def _lines(how: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    return lambda text: "".join(how(text.splitlines(keepends=True)))


_OF_CARD: dict[str, Callable[[str], str]] = {
    "a sentence more": lambda text: text + "p1 is Ann\n",
    "a line less": _lines(lambda lines: lines[:5] + lines[6:]),
    "another number": _first(r"\d+", "12345"),
}
_OF_CLASSES: dict[str, Callable[[str], str]] = {
    "a foreign class": lambda text: text + "f" * 32 + ",5\n",
    "a class of words": lambda text: text + "p1 is Ann,5\n",
    "a class less": _lines(lambda lines: lines[:-1]),
    "a class twice": _lines(lambda lines: [*lines, lines[-1]]),
    "another order": _lines(lambda lines: [lines[0], *lines[:0:-1]]),
    "another header": _first("digest", "Ann"),
    "another size": _first(r",(\d+)\n", r",1\1\n"),
    "capitals": lambda text: text[:14] + text[14:].upper(),
    "a plus": _first(r",(\d)", r",+\1"),
}
_OF_CSV: dict[str, Callable[[str], str]] = {
    "no quotes": lambda text: text.replace('"', ""),
    "no quotes in a line": _first(r'\n"([^"]+)"', r"\n\1"),
    "quotes around a number": _first(r",([\d.]+)\n", r',"\1"\n'),
    "a space": _first(r",([\d.]+)\n", r", \1\n"),
    "a plus": _first(r",([\d.]+)\n", r",+\1\n"),
    "an exponent": _first(r",([1-5])(,\d+)?\n", r",\1e0\2\n"),
    "a column more": _lines(lambda lines: [line[:-1] + ",1\n" for line in lines]),
    "a cell more": lambda text: text[:-1] + ',"Ann"\n',
    "columns in another order": _lines(
        lambda lines: [",".join([*line[:-1].split(",")[::-1]]) + "\n" for line in lines]
    ),
}


def _rows(how: Callable[[pa.Table], pa.Table]) -> Way:
    """Return a change of the published rows, written as recveil writes them."""

    def way(folder: Path) -> None:
        file = _table_of(folder)
        if file.suffix == ".csv":
            pa.csv.write_csv(how(pa.csv.read_csv(file)), file)
        else:
            _write_parquet(how(pq.read_table(file)), file)

    return _signed(way)


def _write_parquet(table: pa.Table, file: Path, **options: Any) -> None:
    integers = pa.types.is_integer(table.schema.field("item_id").type)
    usual = {
        "compression": "zstd",
        "store_schema": False,
        "use_dictionary": [name for name in table.column_names if name != "item_id"],
        "column_encoding": {"item_id": "DELTA_BINARY_PACKED"} if integers else None,
    }
    pq.write_table(table, file, **(usual | options))


def _take(how: Callable[[list[int]], list[int]]) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.take(how(list(range(table.num_rows))))


def _with(column: str, how: Callable[[list[Any]], list[Any]]) -> Callable[[pa.Table], pa.Table]:
    """Return a change of the values of a column, which keeps its type."""

    def change(table: pa.Table) -> pa.Table:
        if column not in table.column_names:
            raise NoPlaceError
        at = table.column_names.index(column)
        values = how(table[column].to_pylist())
        try:
            changed = pa.array(values, table.schema.field(column).type)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # there are no such values in the column
            raise NoPlaceError from None
        if changed.to_pylist() != values:
            raise NoPlaceError
        return table.set_column(at, column, changed)

    return change


def _everywhere(value: Any, to: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda values: [to(each) if each == value(values) else each for each in values]


def _without_first_record(table: pa.Table) -> pa.Table:
    name = table.column_names[0]
    first = table[name][0].as_py()
    return table.filter(pa.array([each != first for each in table[name].to_pylist()]))


def _another_label(values: list[Any]) -> list[Any]:
    other = next((value for value in values if value != values[0]), None)
    if other is None:
        raise NoPlaceError
    return [other, *values[1:]]


_OF_ROWS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a row less": _take(lambda rows: rows[:-1]),
    "a row twice": _take(lambda rows: [rows[0], *rows]),
    "rows the other way round": _take(lambda rows: rows[::-1]),
    "a record less": _without_first_record,
    "two rows exchanged": _take(lambda rows: [rows[1], rows[0], *rows[2:]]),
    "another label": _with("rating", _another_label),
    "a label missing": _with("rating", lambda values: [None, *values[1:]]),
    "a label off the scale": _with("rating", lambda values: [99, *values[1:]]),
    "a label off the grid": _with("rating", lambda values: [2.22, *values[1:]]),
    "another word": _with("rating", lambda values: ["Ann", *values[1:]]),
    "another item": _with("item_id", lambda values: [values[-1], *values[1:]]),
    "an unknown item": _with("item_id", lambda values: [type(values[0])(4242), *values[1:]]),
    "a real name": _with("user_id", _everywhere(lambda users: users[0], lambda _: "Ann")),
    "another prefix": _with(
        "user_id", _everywhere(lambda users: users[0], lambda user: "pffff" + user[5:])
    ),
    "longer pseudonyms": _with(
        "user_id", lambda users: [f"{user[:6]}0{user[6:]}" for user in users]
    ),
    "a larger group": _with(
        "group_size", lambda sizes: _everywhere(lambda _: sizes[0], lambda size: size + 7)(sizes)
    ),
    "a smaller group": _with("group_size", lambda sizes: [1, *sizes[1:]]),
    "a column more": lambda table: table.append_column("town", pa.array(["Ann"] * table.num_rows)),
    "no rows": lambda table: table.slice(0, 0),
}


def _parquet(how: Callable[[pa.Table, Path], object]) -> Way:
    def way(folder: Path) -> None:
        file = _table_of(folder)
        if file.suffix != ".parquet":
            raise NoPlaceError
        how(pq.read_table(file), file)

    return _signed(way)


def _bytes(how: Callable[[bytes, bytes], bytes]) -> Way:
    """Return a change of a Parquet file's bytes: what stands before the footer, and the footer."""

    def way(folder: Path) -> None:
        file = _table_of(folder)
        if file.suffix != ".parquet":
            raise NoPlaceError
        content = file.read_bytes()
        (length,) = struct.unpack("<I", content[-8:-4])
        file.write_bytes(how(content[: -8 - length], content[-8 - length : -8]))

    return _signed(way)


def _with_footer(body: bytes, footer: bytes) -> bytes:
    return body + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _with_metadata(table: pa.Table, file: Path) -> None:
    with pq.ParquetWriter(file, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"who": "p1"})


_OF_PARQUET: dict[str, Way] = {
    "metadata": _parquet(_with_metadata),
    "a stored schema": _parquet(lambda table, file: _write_parquet(table, file, store_schema=True)),
    "row groups": _parquet(lambda table, file: _write_parquet(table, file, row_group_size=50)),
    "another compression": _parquet(
        lambda table, file: _write_parquet(table, file, compression="snappy")
    ),
    "another version": _parquet(lambda table, file: _write_parquet(table, file, version="1.0")),
    "checksums of pages": _parquet(
        lambda table, file: _write_parquet(table, file, write_page_checksum=True)
    ),
    "columns in another order": _parquet(
        lambda table, file: _write_parquet(table.select(table.column_names[::-1]), file)
    ),
    "bytes before the footer": _bytes(lambda body, footer: _with_footer(body + b"Ann", footer)),
    "bytes behind the footer": _bytes(lambda body, footer: _with_footer(body, footer + b"Ann")),
    "a field in the footer": _bytes(
        lambda body, footer: _with_footer(body, footer[:-1] + b"\x78\x03Ann\x00")
    ),
    "another root": _bytes(
        lambda body, footer: _with_footer(body, footer.replace(b"schema", b"Annies"))
    ),
    "another writer": _bytes(
        lambda body, footer: _with_footer(body, footer.replace(b"parquet-cpp", b"parquet_Ann"))
    ),
    "a bit": _bytes(
        lambda body, footer: _with_footer(body[:60] + bytes([body[60] ^ 4]) + body[61:], footer)
    ),
    "half of it": _bytes(lambda body, footer: body[: len(body) // 2]),
    "nothing": _bytes(lambda body, footer: b""),
}


def _link(folder: Path) -> None:
    (folder / "README.md").rename(folder.parent / "elsewhere.md")
    (folder / "README.md").symlink_to(folder.parent / "elsewhere.md")


_OF_FOLDER: dict[str, Way] = {
    "as it was": lambda folder: None,
    "signed anew": sign,
    "a file more": lambda folder: (folder / "note.txt").write_text("p1 is Ann\n"),
    "a hidden file more": lambda folder: (folder / ".note").write_text("p1 is Ann\n"),
    "a folder more": lambda folder: (folder / "more").mkdir(),
    "no release.json": lambda folder: (folder / "release.json").unlink(),
    "no card": lambda folder: (folder / "README.md").unlink(),
    "no rows": lambda folder: _table_of(folder).unlink(),
    "a link": _link,
    "a card without a digest": lambda folder: _rewrite(folder / "README.md", lambda text: text[1:]),
    "rows without a digest": lambda folder: _table_of(folder).write_bytes(b"Ann"),
}


def _all_of_file(name: str, hows: dict[str, Callable[[str], str]]) -> dict[str, Way]:
    return {f"{name}: {which}": _of_file(name, how) for which, how in hows.items()}


WAYS: dict[str, Way] = {
    **{f"folder: {name}": way for name, way in _OF_FOLDER.items()},
    **_all_of_file("README.md", _OF_CARD | _OF_LINES),
    **_all_of_file("classes.csv", _OF_CLASSES | _OF_LINES),
    **_all_of_file("ratings.csv", _OF_CSV | _OF_LINES),
    **{f"rows: {name}": _rows(how) for name, how in _OF_ROWS.items()},
    **{f"parquet: {name}": way for name, way in _OF_PARQUET.items()},
}


def ways_of(folder: Path) -> dict[str, Way]:
    """Return all ways to tamper with a release."""
    return WAYS | ways_of_release_json(folder)
