"""The formats that recveil reads, and how it tells them apart by their first bytes."""

import re
from collections.abc import Sequence
from pathlib import Path

from recveil.errors import RecveilError
from recveil.io.files import naming, open_bytes

FORMATS = {
    "movielens-tab": "user, item, rating[, time] between tabs, no header (u.data)",
    "movielens-colons": "user::item::rating[::time], no header (ratings.dat)",
    "csv": "comma-separated with a header",
    "csv-plain": "user,item,rating[,time], no header",
    "tsv": "tab-separated with a header",
    "space": "user, item, rating[, time] between spaces, no header (FilmTrust)",
    "inter": "RecBole's atomic file: tab-separated, header such as user_id:token",
    "netflix": "Netflix Prize: a folder of mv_*.txt or combined_data_*.txt, or one such file",
    "parquet": "Apache Parquet",
    "arrow": "Apache Arrow IPC: file (Feather) or stream",
}

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
_HEAD_BYTES = 1 << 16
_NETFLIX_FILES = ("mv_*.txt*", "combined_data_*.txt*")
_RECBOLE_TYPE = re.compile(r":(token|float)(_seq)?$")


def resolve_format(path: Path, format: str | None) -> str:
    """Return the named format if there is one, else find it in the file.

    Parameters
    ----------
    path : Path
        A file, or a folder in the netflix format.
    format : str or None
        A key of `FORMATS`.

    Raises
    ------
    RecveilError
        For an unknown name, a file that is not there, and a file in no known format.

    Examples
    --------
    >>> resolve_format(Path("ratings.txt"), "space")
    'space'
    """
    if format is None:
        with naming(path):
            return _folder_format(path) if path.is_dir() else _file_format(path)
    if format not in FORMATS:
        raise RecveilError(f"format {format!r}: expected one of {', '.join(FORMATS)}")
    return format


def netflix_files(folder: Path) -> list[Path]:
    """List the files of the Netflix Prize that lie in a folder, by name."""
    return sorted(path for pattern in _NETFLIX_FILES for path in folder.glob(pattern))


def _folder_format(folder: Path) -> str:
    if netflix_files(folder):
        return "netflix"
    if (folder / "release.json").is_file():
        name = folder.resolve().name  # . has none of its own
        published = ", ".join(sorted(file.name for file in folder.glob("ratings.*")))
        raise RecveilError(
            f"{name}: this is a recveil release; expected a file of ratings. Give the ratings that "
            f"it was made from; recveil verify checks a release, recveil audit RATINGS --release "
            f"{name} attacks it. To read what was published, name the file in it "
            f"({published or 'ratings.parquet'})"
        )
    raise RecveilError(
        f"{folder.name}: a folder without mv_*.txt or combined_data_*.txt (Netflix Prize); "
        f"name the file in it that holds the ratings"
    )


def _file_format(path: Path) -> str:
    with open_bytes(path) as file:
        head = file.read(_HEAD_BYTES)
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            return format
    if head.startswith(b"PK\x03\x04"):
        raise RecveilError(f"{path.name}: a zip archive; unpack it and name the file in it")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head:
        raise RecveilError(
            f"{path.name}: neither UTF-8 text nor Parquet nor Arrow; save it as UTF-8 text"
        )
    text = head.decode("utf-8-sig", errors="replace")
    first_line = next((line for line in re.split(r"[\r\n]+", text) if line.strip()), None)
    if first_line is None:
        raise RecveilError(f"{path.name}: the file is empty; expected ratings")
    text_format = _text_format(first_line)
    if text_format is None:
        raise RecveilError(
            f"{path.name}: its first line {first_line[:60]!r} fits no format that recveil knows; "
            f"name one with --format: {', '.join(FORMATS)}"
        )
    return text_format


def _text_format(line: str) -> str | None:
    """Tell a format by its first line; a field that is a number means no header."""
    if re.fullmatch(r"\s*\d+:\s*", line):
        return "netflix"
    if looks_like_data(line.split("::")):
        return "movielens-colons"
    for delimiter, plain, with_header in (
        ("\t", "movielens-tab", "tsv"),
        (",", "csv-plain", "csv"),
    ):
        fields = line.split(delimiter)
        if looks_like_data(fields):
            return plain
        if any(_RECBOLE_TYPE.search(field) for field in fields) and delimiter == "\t":
            return "inter"
        if len(fields) >= 3:
            return with_header
    return "space" if looks_like_data(line.split(" ")) else None


def looks_like_data(fields: Sequence[str]) -> bool:
    """Say whether the fields are a rating rather than names of columns: one is a number.

    Examples
    --------
    >>> looks_like_data(["ann", "heat", "4.5"]), looks_like_data(["user", "item", "rating"])
    (True, False)
    """
    return len(fields) >= 3 and any(_is_number(field.strip('" ')) for field in fields)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
