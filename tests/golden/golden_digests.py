"""Running a line, and the digests of what it said and wrote."""

import contextlib
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

# Values under these keys differ from run to run, or with the version.
MASKED = {"seconds", "written", "recveil", "sha256", "bytes", "key"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\b[\d.]+ (milliseconds?|seconds?|minutes?|hours?|ms|s)\b")
_ROW = re.compile(r"Row #\d+: ")  # Arrow numbers it where it reads with one thread
_VERSION = re.compile(r'(recveil[ "=:]*)' + re.escape(version("recveil")))


class Ran(NamedTuple):
    """How a line ended, and what it said on standard output and standard error."""

    code: int
    out: str
    err: str


def run(*words: str, folder: Path) -> Ran:
    """Run a line in a folder, in this process, by what `recveil` itself calls."""
    (program,) = entry_points(group="console_scripts", name="recveil")
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    before = os.umask(0o022)
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            program.load()([*words])
        except SystemExit as stop:
            code = stop.code
        finally:
            os.umask(before)
    return Ran(int(str(code or 0)), out.getvalue(), err.getvalue())


def digest(content: str | bytes) -> str:
    """Return the first 64 bits of the SHA-256, which is enough against accidents."""
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:16]


def _leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(None if name in MASKED else part, (*path, name))
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, (*path, "[]"))
    else:
        yield ".".join(path), value


def _number(value: object) -> object:
    """Round to six digits: the last ones depend on the machine's linear algebra."""
    if not isinstance(value, float) or value != value:
        return value
    return 0.0 if abs(value) < 1e-9 else float(f"{value:.6g}")


def _fitted(value: object) -> object:
    """Round what was fitted to users to two decimals: the sixth depends on the machine."""
    return round(value, 2) + 0.0 if isinstance(value, float) else value


def parts_of_json(text: str) -> dict[str, str]:
    """Return its keys, numbers and words, so that a change of one leaves the others' digests."""
    leaves = list(_leaves(json.loads(text)))
    words = [value for _, value in leaves if isinstance(value, str)]
    numbers = [
        _fitted(value) if "settings." in path else _number(value)
        for path, value in leaves
        if not isinstance(value, str)
    ]
    return {
        "keys": "\n".join(dict.fromkeys(path for path, _ in leaves)),
        "numbers": "\n".join(map(json.dumps, numbers)),
        "words": masked("\n".join(words)),
    }


def masked(text: str) -> str:
    """Put words in the place of what differs from run to run, or with the version."""
    text = _VERSION.sub(r"\1VERSION", _SHA256.sub("SHA256", text))
    return _ROW.sub("", _TIME.sub("TIME", text))


def _rows_of(file: Path) -> str:
    """Return the columns and rows of a Parquet file, which every version of pyarrow writes."""
    table = pq.read_table(file)
    table = table.drop_columns([name for name in table.column_names if name in MASKED])
    head = [f"{field.name} {field.type}" for field in table.schema]
    how = _fitted if file.stem == "model" else _number
    columns = [map(how, column.to_pylist()) for column in table.columns]
    return "\n".join([*head, *(repr(row) for row in zip(*columns, strict=True))])


def texts_of_file(name: str, file: Path) -> dict[str, str | bytes]:
    """Return what of a file is frozen, by how it is called in the digests."""
    if file.suffix == ".parquet":
        rows = {f"{name} rows": _rows_of(file)}
        is_published = file.stem in ("ratings", "table")
        return rows | ({f"{name} bytes": file.read_bytes()} if is_published else {})
    if file.suffix == ".json":
        text = file.read_text("utf-8")
        if file.name == "release.json":
            result = json.loads(text, parse_float=lambda number: _fitted(float(number)))
            result["recveil"] = "VERSION"
            for entry in result["files"].values():
                entry.update(sha256="SHA256", bytes=0)
            return {name: json.dumps(result, indent=1, ensure_ascii=False)}
        return {f"{name} {part}": said for part, said in parts_of_json(text).items()}
    if file.suffix in (".html", ".svg"):
        return {}  # prose and drawings have tests of their own
    content = file.read_bytes()
    try:
        return {name: masked(content.decode())}
    except UnicodeDecodeError:
        return {name: content}


def texts_of_folder(folder: Path, before: set[Path]) -> dict[str, str | bytes]:
    """Return what is frozen of all files that were not there before."""
    texts: dict[str, str | bytes] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file not in before:
            texts |= texts_of_file(str(file.relative_to(folder)), file)
    return texts
