"""The Netflix Prize format, sections of "movie:" followed by "user,rating,date" lines."""

import re
from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from recveil.io.detect.known_formats import netflix_files
from recveil.io.files import Place, Places, naming, watched_text
from recveil.io.part_files import require_files
from recveil.io.source import ROLES, Selection, Source
from recveil.runtime.errors import RecveilError, quoted

BLOCK_BYTES = 1 << 26
# pyarrow's threads split a block into parts of this size.
_PART_BYTES = 1 << 24

_NEWLINE, _COLON = 10, 58
_SECTION = re.compile(rb"\d+:\r?\n?")
_RATING = re.compile(r"(\d{1,10}),[^,:]*,(\d{4}-\d\d-\d\d)")
_TYPES = {
    "user": pa.int32(),
    "rating": pa.dictionary(pa.int32(), pa.string()),
    "time": pa.date32(),
}


def read_netflix(path: Path, selection: Selection) -> Source:
    """Read a file of the Netflix Prize, or a folder of them, block by block.

    To hold 100 million ratings in little memory, users are read as int32 and times as dates; items
    and ratings are dictionary-encoded text. The `extras` of a selection are ignored.
    """
    files = netflix_files(path) if path.is_dir() else [path]
    if not files:
        raise RecveilError(
            f"{path.name}: a folder without mv_*.txt or combined_data_*.txt; name the one with "
            f"them",
            code="input.folder",
        )
    if path.is_dir():
        with naming(path):
            require_files(files, path)
    movies = _Movies()
    try:
        blocks = [_read_block(block, movies) for block in _blocks(files)]
    except (pa.ArrowInvalid, _StrayColonError):
        _raise_first_bad(files)
        raise
    table = _assemble(blocks, movies)
    chosen = selection.choose(ROLES, path.name)
    table = pa.table({name: table[in_file] for name, in_file in chosen.items()})
    return Source(table, Places(partial(_walk, files)).locate, "netflix", chosen)


class _StrayColonError(Exception):
    """Raised for a colon in a line that does not start a section."""


class _Movies:
    """Codes of movies, in order of appearance, and the movie of the current section."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.open = 0

    def encode(self, movie: str) -> int:
        self.open = self.codes.setdefault(movie, len(self.codes))
        return self.open


def _blocks(files: list[Path]) -> Iterator[bytearray]:
    """Read files in turn, in blocks of whole lines; small files share a block."""
    pending = bytearray()
    for path in files:
        with naming(path), watched_text(path) as file:
            piece = file.read(BLOCK_BYTES)
            first = piece.lstrip().partition(b"\n")[0]
            if not _SECTION.fullmatch(first):
                raise RecveilError(
                    f"{Place(path.name, 1)}: expected a movie such as '1:', got "
                    f"{quoted(first[:60].decode(errors='replace'))}; is this a Netflix Prize file?",
                    code="input.line",
                )
            while piece:
                pending += piece
                if len(pending) >= BLOCK_BYTES:
                    end = pending.rfind(b"\n") + 1 or len(pending)
                    yield pending[:end]
                    pending = pending[end:]
                piece = file.read(BLOCK_BYTES)
        pending += b"\n"
    yield pending


def _read_block(block: bytearray, movies: _Movies) -> tuple[pa.Table, NDArray[np.int32]]:
    """Return a block's users, ratings and times, and movie codes; lines of sections are blanked."""
    characters = np.frombuffer(block, np.uint8)
    if b"\r" in block:
        characters[characters == ord("\r")] = _NEWLINE
    colons = np.flatnonzero(characters == _COLON)
    codes = [movies.open]
    for colon in colons.tolist():
        start = block.rfind(b"\n", 0, colon) + 1
        movie = bytes(block[start:colon])
        if not movie.isdigit() or block[colon + 1 : colon + 2].strip():
            raise _StrayColonError
        codes.append(movies.encode(movie.decode()))
        characters[start : colon + 1] = _NEWLINE
    newlines = characters == _NEWLINE
    line_ends = np.flatnonzero(newlines[1:] & ~newlines[:-1])
    starts = np.searchsorted(line_ends, colons)
    lengths = np.diff(np.concatenate(([0], starts, [line_ends.size])))
    table = _parse(characters)
    return table, np.repeat(np.array(codes, np.int32), lengths)


def _parse(lines: NDArray[np.uint8]) -> pa.Table:
    if not (lines != _NEWLINE).any():
        return pa.schema(_TYPES).empty_table()
    return arrow_csv.read_csv(
        pa.py_buffer(lines),
        arrow_csv.ReadOptions(column_names=list(_TYPES), block_size=_PART_BYTES),
        arrow_csv.ParseOptions(quote_char=False),
        arrow_csv.ConvertOptions(column_types=_TYPES, strings_can_be_null=True, null_values=[""]),
    )


def _assemble(blocks: list[tuple[pa.Table, NDArray[np.int32]]], movies: _Movies) -> pa.Table:
    table = pa.concat_tables([columns for columns, _ in blocks])
    names = pa.array(list(movies.codes), pa.string())
    items: list[Any] = [pa.DictionaryArray.from_arrays(codes, names) for _, codes in blocks]
    return table.append_column("item", pa.chunked_array(items))


def _lines(files: list[Path]) -> Iterator[tuple[str, int, bytes]]:
    """Yield, line by line, all that is neither blank nor the start of a section; slow."""
    for path in files:
        with naming(path), watched_text(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip() and not _SECTION.fullmatch(line):
                    yield path.name, number, line


def _walk(files: list[Path]) -> Iterator[tuple[str, int]]:
    return ((name, number) for name, number, _ in _lines(files))


def _raise_first_bad(files: list[Path]) -> None:
    for name, number, line in _lines(files):
        text = line.decode(errors="replace").rstrip("\r\n")
        if not _is_rating(text):
            raise RecveilError(
                f"{Place(name, number)}: expected user,rating,date such as 1488844,3,2005-09-06, "
                f"got {quoted(text)}; fix or drop the line",
                code="input.line",
            )


def _is_rating(text: str) -> bool:
    found = _RATING.fullmatch(text)
    if not found:
        return False
    try:
        date.fromisoformat(found[2])
    except ValueError:
        return False
    return int(found[1]) < 2**31
