"""Targets: what is fuzzed. Each takes bytes from any source, and raises if we fail.

Two ends are right: an answer, and a RecveilError, which the command line ends with exit code 2. All
else is a finding: another error, a crash, a hang, and a verdict that a second checker contradicts,
which shares nothing with recveil. Nothing here needs a fuzzer, so that `make test` can run every
file of the corpus through its target.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import tempfile
import warnings
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import forging
import independent
import numpy as np
import pyarrow as pa
from second_readers import (
    Row,
    rows_of_matrix,
    rows_of_netflix,
    rows_of_objects,
    rows_of_table,
    table_of,
    text_of,
)

from recveil.io import FORMATS, read_levels, read_ratings, read_trust, understand
from recveil.io.files import naming
from recveil.io.ingestion import Reading
from recveil.io.worker import decoded_table, decoding
from recveil.methods.synthetic.options import parse_item_catalog
from recveil.ratings import Ratings
from recveil.release.data_card import data_cards
from recveil.release.earlier_formats import with_todays_names
from recveil.release.manifest import Manifest
from recveil.runtime.errors import MOST_CHARACTERS, RecveilError
from recveil.verification import Verification, verify

TESTS = Path(__file__).parents[1] / "tests" / "verification"
USERS = np.array(["1", "2", "ann", "ben", "eve"], dtype=object)
TEXT_FORMATS = [None, *(name for name in FORMATS if name not in ("netflix", "parquet", "arrow"))]
BETWEEN_FILES = b"\n=== "


class FoundError(AssertionError):
    """Two checkers disagree, or an error is not as errors are."""


@contextmanager
def folder_of(**files: bytes) -> Iterator[Path]:
    """Give a folder with these files."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        for file, content in files.items():
            Path(name, file).write_bytes(content)
        yield Path(name)


def answer(call: Callable[..., Any], *given: Any, **more: Any) -> Any:
    """Return what a call answers, or None for a RecveilError, which must be a short one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(*given, **more)
    except RecveilError as error:
        if not 0 < len(str(error)) <= MOST_CHARACTERS:
            raise FoundError(f"an error of {len(str(error))} characters") from error
        return None


def text(data: bytes) -> None:
    """Read a table of text in any format that is found, and in one that is named."""
    with folder_of(ratings=data) as folder:
        path = folder / "ratings"
        reading = answer(understand, path)
        verdict = answer(verify, path, k=2)
        named = TEXT_FORMATS[len(data) % len(TEXT_FORMATS)]
        answer(understand, path, format=named, user="1", item="2", duplicates="last")
        answer(verify, path, k=2, claim="co-rated", user="1", item="2")
        if verdict is None or reading is None or not reading.has_header:
            return
        # The second reader splits at commas and tabs.
        if reading.format in ("csv", "tsv", "inter") and {*reading.layout} <= {"gzip"}:
            content = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            compare_with_rows(verdict, content, {c.role: c.name for c in reading.columns})


def compare_with_rows(verdict: Verification, content: bytes, names: dict[str, Any]) -> None:
    """Count users with the same rows, as Python's own reader splits them."""
    for delimiter in ",\t":
        lines = io.StringIO(text_of(content), newline="")
        header, *rows = (row for row in csv.reader(lines, delimiter=delimiter) if row)
        if names["user"] in header:
            break
    if "group_size" in header:
        return  # one row stands for several users
    at, rows_of = header.index(names["user"]), defaultdict(list)
    for row in rows:
        rows_of[row[at]].append([*row[:at], *row[at + 1 :]])
    fewest = min(Counter(str(sorted(mine)) for mine in rows_of.values()).values())
    if verdict.k_achieved > fewest:
        raise FoundError(f"{verdict.k_achieved} people share a row by verify, {fewest} by its rows")


def zipped(data: bytes) -> None:
    """Read gzipped text, damaged or not."""
    text(b"\x1f\x8b" + data)
    whole = gzip.compress(data, 1, mtime=0)
    text(whole)
    with folder_of(whole=whole) as folder:
        reading = answer(understand, folder / "whole")
        for end in {len(whole) - 1, zlib.crc32(data) % len(whole)}:
            refuse_cut(folder, whole[:end], reading)


def packed(data: bytes) -> None:
    """Read text that is packed in other ways, damaged or not."""
    ways = {
        b"BZh9": bz2.compress(data, 1),
        b"\xfd7zXZ\x00": lzma.compress(data, preset=0),
        b"\x28\xb5\x2f\xfd": pa.compress(data, "zstd", asbytes=True),
        b"PK\x03\x04": _in_zip(data),
    }
    known = next((magic for magic in ways if data.startswith(magic)), None)
    whole = data if known else ways[sorted(ways)[len(data) % 4]]
    with folder_of(whole=whole) as folder:
        reading = answer(understand, folder / "whole")
        if known:
            return
        if reading is not None:
            (folder / "plain").write_bytes(data)
            if understand(folder / "plain").ratings != reading.ratings:
                raise FoundError("what was packed is read otherwise than it is")
        for end in {len(whole) - 1, zlib.crc32(data) % len(whole)}:
            refuse_cut(folder, whole[:end], reading)


def refuse_cut(folder: Path, cut: bytes, reading: Reading | None) -> None:
    """Raise a FoundError if packed data that end too early are read as other ratings."""
    (folder / "cut").write_bytes(cut)
    found = answer(understand, folder / "cut")
    if found is not None and (reading is None or found.ratings != reading.ratings):
        raise FoundError("packed data that are cut are read as if they were whole")


def _in_zip(data: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ratings.csv", data)
    return held.getvalue()


def objects(data: bytes) -> None:
    """Read JSON, found and named: the ratings are those of Python's own reader, and all of them."""
    with folder_of(ratings=data) as folder:
        path = folder / "ratings"
        answer(understand, path)
        named = {"user": "user", "item": "item", "rating": "rating"}
        ratings = answer(read_ratings, path, format="json", times=False, **named)
        if ratings is not None and (plain := _unpacked(data)) is not None:
            compare_rows(ratings, rows_of_objects(plain))


def compare_rows(ratings: Ratings, *result: Iterable[Row]) -> None:
    """Raise a FoundError unless the ratings are the rows of a second reader, none more or fewer.

    Parameters
    ----------
    ratings : Ratings
    *reported : iterable of Row
        Where a text can be taken in several ways, one for each, of which one must fit.
    """
    likes = ratings.scale.unary
    mine = Counter(rows_of(ratings, likes))
    theirs = [Counter(_liked(rows) if likes else _as_held(rows)) for rows in result]
    if mine in theirs:
        return
    closest = min(theirs, key=lambda rows: ((mine - rows) + (rows - mine)).total(), default=None)
    if closest is None:
        raise FoundError("ratings are read, but a second reader finds no rows")
    for user, item, value in mine - closest:
        raise FoundError(f"{user!a} rated {item!a} with {value}: nobody says so")
    for user, item, value in closest - mine:
        raise FoundError(f"{user!a} rated {item!a} with {value}: that is lost")


def rows_of(ratings: Ratings, likes: bool) -> Iterator[Row]:
    """Yield all ratings; a like is a 1."""
    for place, user in enumerate(ratings.users.tolist()):
        for at, value in zip(*ratings.row(place), strict=True):
            yield str(user), str(ratings.items[at]), 1.0 if likes else float(np.float32(value))


def _as_held(rows: Iterable[Row]) -> list[Row]:
    """Round ratings as a table of them does: to 32 bits."""
    with np.errstate(over="ignore"):
        return [(user, item, float(np.float32(rating))) for user, item, rating in rows]


def _liked(rows: Iterable[Row]) -> set[Row]:
    return {(user, item, 1.0) for user, item, _ in rows}


def wide(data: bytes) -> None:
    """Read a matrix, with and without a value that means no rating: each cell that has one."""
    with folder_of(ratings=data) as folder:
        for null, decimal in ((None, None), ("99", ".")):
            given = {"null": null, "decimal": decimal}
            reading = answer(understand, folder / "ratings", wide=True, **given)
            if reading is not None and (plain := _unpacked(data)) is not None:
                compare_with_matrix(reading, plain, null)


def compare_with_matrix(reading: Reading, plain: bytes, null: str | None) -> None:
    """Compare all ratings with the cells of a matrix; the reading reports the orientation."""
    user = next(column.name for column in reading.columns if column.role == "user")
    counts = any("counts the others" in each for each in reading.layout)
    compare_rows(reading.ratings, *rows_of_matrix(plain, user, null, counts))


def _unpacked(data: bytes) -> bytes | None:
    """Return data that are packed in no way, or by gzip; None for the ways of another target."""
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    return None if data.startswith((b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK")) else data


def netflix(data: bytes) -> None:
    """Read a folder of the Netflix Prize, and its first file alone: each line is a rating."""
    parts = data.split(BETWEEN_FILES)[:3]
    files = {f"mv_{number:07d}.txt": part for number, part in enumerate(parts)}
    with folder_of(**files) as folder:
        reading = answer(understand, folder)
        answer(verify, folder, k=2)
        first = folder / "mv_0000000.txt"
        alone = answer(understand, first, format="netflix", times=False)
    for given, found in ((parts, reading), (parts[:1], alone)):
        plain = [_unpacked(part) for part in given]
        if found is not None and None not in plain:
            compare_rows(found.ratings, list(rows_of_netflix(plain)))


def catalogue(data: bytes) -> None:
    """Read a list of items."""
    with folder_of(items=data) as folder:
        answer(parse_item_catalog, folder / "items")


def levels(data: bytes) -> None:
    """Read privacy levels, and trust."""
    with folder_of(levels=data) as folder:
        answer(read_levels, folder / "levels", USERS, 2)
        answer(read_trust, folder / "levels", USERS)


def columnar(data: bytes) -> None:
    """Read a Parquet or Arrow file: another process decodes it, and may die of it.

    What it decoded without harm is read here, too, and must be the same.
    """
    with folder_of(ratings=data) as folder:
        path = folder / "ratings"
        if answer(_decode_all, path, "parquet" if data.startswith(b"PAR1") else "arrow"):
            reading = answer(understand, path)
            if reading is not None:
                names = {column.role: column.name for column in reading.columns}
                compare_rows(reading.ratings, rows_of_table(table_of(data), names))
            answer(verify, path, k=2)
            answer(read_levels, path, USERS, 2)


def _decode_all(path: Path, format: str) -> bool:
    with naming(path):
        with decoding(path, format) as found:
            names = list(dict.fromkeys(found.schema.names))
        decoded_table(path, format, wanted="first", rows=3)
        decoded_table(path, format, columns=names)
        if format == "parquet":
            decoded_table(path, wanted="batches", columns=names, rows=2)
    return True


def release(data: bytes) -> None:
    """Verify a release in text: as it stands, or completed by a publisher who means to deceive.

    The files stand one after the other, each behind a line with its name. What else
    follows from release.json and the ratings is made to fit: the list of classes, the card, or
    both, and digests.
    """
    with folder_of() as folder:
        unpack(data, folder)
        given = {file.name: file.read_bytes() for file in folder.iterdir()}
        if not {"classes.csv", "README.md"} <= set(given):
            forging.complete(folder, "ratings.csv")
            for name in given.keys() & {"classes.csv", "README.md"}:
                (folder / name).write_bytes(given[name])
            forging.sign(folder)
        compare_verdicts(folder)


def unpack(data: bytes, folder: Path) -> None:
    """Write the files of a release that stand one after the other."""
    for part in (b"\n" + data).split(BETWEEN_FILES)[1:]:
        name, _, content = part.partition(b"\n")
        if name in (b"release.json", b"ratings.csv", b"README.md", b"classes.csv"):
            (folder / name.decode()).write_bytes(content)


def compare_verdicts(folder: Path) -> None:
    """Raise a FoundError if verify holds what the second checker does not, or another card."""
    verdict = answer(verify, folder, links=False)
    if verdict is None or not verdict.holds:
        return
    if problems := list(independent.problems(folder)):
        raise FoundError(f"verify holds, but: {problems[0]}")
    result = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    number = int(result["format"].rpartition("-")[2])
    manifest = Manifest.from_json(with_todays_names(result, number))
    cards = data_cards(manifest, manifest.ratings_file)
    if (folder / "README.md").read_bytes() not in [card.encode() for card in cards]:
        raise FoundError("verify holds, but: the card is another one")


def _stored_in(base: str, name: str) -> Callable[[bytes], None]:
    def stored(data: bytes) -> None:
        """Verify a release whose Parquet file is another one, with a digest to fit."""
        own = {file.name: file.read_bytes() for file in (TESTS / base).iterdir()}
        with folder_of(**own | {name: data}) as folder:
            forging.sign(folder)
            compare_verdicts(folder)

    return stored


# What reads a table in any dialect, dialects.py, adds itself.
TARGETS: dict[str, Callable[[bytes], object]] = {
    "text": text,
    "gzip": zipped,
    "packed": packed,
    "json": objects,
    "wide": wide,
    "netflix": netflix,
    "catalogue": catalogue,
    "levels": levels,
    "columnar": columnar,
    "release": release,
    "stored-ratings": _stored_in("format_3/predictive-padded", "ratings.parquet"),
    "stored-model": _stored_in("format_3/synthetic-model", "model.parquet"),
}
