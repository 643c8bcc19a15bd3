"""The supported formats, and their detection by first bytes and first line."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from recveil.io.columns.columns import LIKED, Feedback, find_columns
from recveil.io.detect.file_kinds import COLUMNAR, unpacked_command
from recveil.io.options import can_split
from recveil.runtime.errors import RecveilError, quoted, shortened

FORMATS = {
    "movielens-tab": "user, item, rating[, time] between tabs, no header (u.data)",
    "movielens-colons": "user::item::rating[::time], no header (ratings.dat)",
    "csv": "comma-separated with a header",
    "csv-plain": "user,item,rating[,time], no header",
    "tsv": "tab-separated with a header",
    "space": "user, item, rating[, time] between spaces, no header (FilmTrust)",
    "inter": "RecBole's atomic file: tab-separated, header such as user_id:token",
    "netflix": "Netflix Prize: a folder of mv_*.txt or combined_data_*.txt, or one such file",
    "json": "JSON Lines, or an array of objects: one object a rating",
    "parquet": "Apache Parquet",
    "arrow": "Apache Arrow IPC: file (Feather) or stream",
}

COLUMNAR_FORMATS = ("parquet", "arrow")
_NETFLIX_FILES = ("mv_*.txt*", "combined_data_*.txt*")
_PARTS = {"*.parquet": "Parquet", "*.csv*": "CSV", "part-*": "part"}
# The target column in a file of auxiliary information, also with RecBole's type suffix.
_TARGET = re.compile(r"\s*target\s*(:.*)?", re.IGNORECASE)
_RECBOLE_TYPE = re.compile(r":(token|float)(_seq)?$")


def check_format(format: str | None) -> None:
    """Raise a RecveilError for an unknown format."""
    if format is not None and format not in FORMATS:
        raise RecveilError(
            f"format {quoted(format)}: expected one of {', '.join(FORMATS)}; "
            f"change format (--format), or leave it out",
            code="option.value",
        )


def columnar_format(head: bytes) -> str | None:
    """Return "parquet" or "arrow" for the first bytes of such a file, else None."""
    return next((name for magic, name in COLUMNAR.items() if head.startswith(magic)), None)


def netflix_files(folder: Path) -> list[Path]:
    """List the files of the Netflix Prize in a folder, by name."""
    return sorted(path for pattern in _NETFLIX_FILES for path in folder.glob(pattern))


def folder_format(folder: Path) -> str:
    """Return the format of a folder that holds one table; raise a RecveilError for others."""
    if netflix_files(folder):
        return "netflix"
    name = folder.resolve().name  # . has no name of its own
    if (folder / "release.json").is_file():
        published = ", ".join(sorted(file.name for file in folder.glob("ratings.*")))
        raise RecveilError(
            f"{name}: this is a recveil release; expected the original ratings. To check or audit "
            f"it: recveil verify {name}, recveil audit RATINGS --release {name}. To read what it "
            f"publishes, name the file in it ({shortened(published) or 'ratings.parquet'})",
            code="input.not-a-table",
        )
    _reject_parts(folder, name)
    raise RecveilError(
        f"{name}: a folder without mv_*.txt or combined_data_*.txt (Netflix Prize); "
        f"name the file in it that holds the ratings",
        code="input.folder",
    )


def _reject_parts(folder: Path, name: str) -> None:
    for pattern, kind in _PARTS.items():
        found = [*folder.glob(pattern), *folder.glob(f"*/{pattern}")]
        if parts := sorted(part for part in found if part.is_file()):
            raise RecveilError(
                f"{name}: a folder of {len(parts):,} {kind} file{'s' * (len(parts) > 1)}; expected "
                f"one file: name {quoted(parts[0].name, 40)} if it holds all ratings; if each "
                f"holds a part of them, join them first",
                code="input.folder",
            )


def reject_unknown_text(path: Path, lines: Sequence[str]) -> NoReturn:
    """Raise the RecveilError for a text whose first line fits no format."""
    first_line = lines[0]
    marks = [mark for mark in (",", "\t", ";") if first_line.strip().count(mark) == 1]
    if marks:
        mark = next((m for m in marks if all(line.count(m) == 1 for line in lines)), marks[0])
        named = "user,item" if mark == "," else f"user and item, separated by {mark!r},"
        remedy = "set format to csv-plain (--format csv-plain), which has none"
        if mark != ",":
            remedy = f"name the delimiter (--delimiter {mark!r})"
        raise RecveilError(
            f"{path.name}: its first line {quoted(first_line)} fits no known format, as it has "
            f"two columns; if these are likes, put a line {named} above them, or {remedy}",
            code="input.unknown-format",
        )
    if mark := rare_mark(lines):
        reject_rare_mark(path, lines, mark)
    raise RecveilError(
        f"{path.name}: its first line {quoted(first_line)} fits no known format; name one with "
        f"format (--format): {', '.join(FORMATS)}; or name the delimiter (--delimiter)",
        code="input.unknown-format",
    )


def rare_mark(lines: Sequence[str]) -> str:
    """Return the likely delimiter of a text in an unknown format, such as "^"; "" without one."""
    runs = re.findall(r"\\t|[^\w\s\"']+|[^\W\x00-\x7f]|[\x00-\x08\x0e-\x1f]|_", lines[0])
    marks = dict.fromkeys([*runs, *"".join(runs)])
    for mark in sorted(marks, key=lambda mark: (len(mark), lines[0].count(mark)), reverse=True):
        fields = [line.split(mark) for line in lines]
        if len({len(each) for each in fields}) > 1 or len(fields[0]) < 2:
            continue
        if names_columns(fields[0]) or (
            looks_like_data(fields[0]) and all(map(all, fields)) and len(lines) > 1
        ):
            return mark
    return ""


def reject_rare_mark(path: Path, lines: Sequence[str], mark: str) -> NoReturn:
    """Raise the RecveilError for a delimiter that must be given as an option or replaced."""
    if can_split(mark):
        shown = f"${mark!r}" if not mark.isprintable() else shlex.quote(mark)
        remedy = f"if so, name it with delimiter (--delimiter {shown})"
    else:
        pattern = re.sub(r"([].*+?|(){}[/\\^$])", r"\\\1", mark)
        command = shlex.quote(f'{{gsub(/{pattern}/, "\\t")}} 1')
        remedy = (
            f"write tabs instead, and read the new file: cat FILE | awk {command} > ratings.tsv"
        )
        remedy = unpacked_command(remedy, path)
    raise RecveilError(
        f"{path.name}: {mark!r} seems to separate the columns of its first line "
        f"{quoted(lines[0], 60)}; {remedy}",
        code="input.unknown-format",
    )


def text_format(line: str) -> str | None:
    """Detect a format by its first line; a numeric field implies that there is no header."""
    if re.fullmatch(r"\s*\d+:\s*", line):
        return "netflix"
    if looks_like_data(line.split("::")):
        return "movielens-colons"
    if "\t" not in (without := re.sub(r"\t*,\t*", ",", line.strip())):
        line = without  # tabs next to commas are blanks
    for delimiter, plain, with_header in (
        ("\t", "movielens-tab", "tsv"),
        (",", "csv-plain", "csv"),
    ):
        fields = line.split(delimiter)
        if looks_like_data(fields):
            return plain
        if any(_RECBOLE_TYPE.search(field) for field in fields) and delimiter == "\t":
            return "inter"
        if len(fields) >= 3 or names_columns(fields):
            return with_header
    return "space" if looks_like_data(line.split(" ")) else None


def names_columns(fields: Sequence[str], feedback: Feedback | None = LIKED) -> bool:
    """Return whether fields name users and items and, if required, ratings.

    Users may be called targets, as in files of auxiliary information.

    >>> names_columns(["user_id", "item_id"]), names_columns(["ann", "heat"])
    (True, False)
    """
    names = [field.strip('" ') for field in fields]
    try:
        find_columns(names, feedback=feedback, user=target_among(names))
    except RecveilError:
        return False
    return True


def target_among(names: Sequence[str]) -> str | None:
    """Return the name of the target column in a file of auxiliary information, or None.

    >>> target_among(["Target:token", "item"])
    'Target:token'
    """
    return next((name for name in names if _TARGET.fullmatch(name)), None)


def looks_like_data(fields: Sequence[str]) -> bool:
    """Return whether there are three or more fields, one of them a number, as in a row of data.

    >>> looks_like_data(["ann", "heat", "4.5"]), looks_like_data(["user", "item", "rating"])
    (True, False)
    """
    return len(fields) >= 3 and any(is_number(field.strip('" ')) for field in fields)


def is_number(field: str) -> bool:
    """Return whether a field is a number, with a decimal comma or point.

    >>> is_number("3,5"), is_number("ann")
    (True, False)
    """
    try:
        # The parser reports decimal commas that must be replaced.
        float(field.replace(",", "."))
    except ValueError:
        return False
    return True
