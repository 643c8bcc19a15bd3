"""Standing for: which files an input is, the logs of a database among them, for output checks."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from recveil.errors import RecveilError
from recveil.io.part_files import is_pattern, parts_of

# What SQLite and DuckDB keep beside a file: rows that were committed may stand there alone.
_LOGS = ("-wal", "-shm", "-journal", ".wal")


def files_at(path: Path) -> list[Path]:
    """List the files that an input stands for: itself, its parts, or what lies in its folder.

    Parameters
    ----------
    path : Path
        A file, a folder, or a pattern; what is wrong with it is said by whoever reads it.

    Examples
    --------
    >>> files_at(Path("ratings.csv"))
    [PosixPath('ratings.csv')]
    """
    with suppress(RecveilError, OSError, ValueError):
        if parts := parts_of(path):
            return [part.path for part in parts]
    with suppress(OSError, ValueError):
        if path.is_dir():
            return [path, *(each for each in path.iterdir() if each.is_file())]
    return [path]


def is_log_of(output: Path, path: Path) -> bool:
    """Say whether an output is, or would be, the log of a database or what it keeps beside itself.

    Parameters
    ----------
    output : Path
    path : Path
        A file that is read; whether it is a database does not matter.

    Examples
    --------
    >>> is_log_of(Path("shop.db-wal"), Path("shop.db")), is_log_of(Path("x.csv"), Path("shop.db"))
    (True, False)
    """
    own, real = identity(output), os.path.realpath(output)
    for log in _logs(path):
        if real == os.path.realpath(log) or (own is not None and own == identity(log)):
            return True
    return False


def _logs(path: Path) -> Iterator[Path]:
    with suppress(OSError, ValueError):
        if path.is_dir():
            return
    for base in {os.fspath(path), os.path.realpath(path)}:
        yield from (Path(base + ending) for ending in _LOGS)


def would_be_read(output: Path, path: Path) -> bool:
    """Say whether the next run would read an output as a part of the same input.

    Parameters
    ----------
    output : Path
        A file or folder that is written, and may not be there yet.
    path : Path
        An input: whatever is put into a folder is taken for a part of it, as what fits a pattern.

    Examples
    --------
    >>> would_be_read(Path("parts/all.csv"), Path("parts/*.csv"))
    True
    >>> would_be_read(Path("parts/all.json"), Path("parts/*.csv"))
    False
    """
    real = Path(os.path.realpath(output))
    with suppress(OSError, ValueError):
        if path.is_dir():
            return Path(os.path.realpath(path)) in real.parents
        if path.exists():
            return False
    if not is_pattern(path):
        return False
    at = next(at for at, name in enumerate(path.parts) if is_pattern(Path(name)))
    base = os.path.realpath(Path(*path.parts[:at]))
    wanted = "/".join(_as_expression(name) for name in path.parts[at:]).replace(".*/", "(?:.*/)?")
    inner = os.path.relpath(real, base)
    return re.fullmatch(wanted, inner) is not None


def _as_expression(name: str) -> str:
    """Return a part of a pattern as a regular expression."""
    if name == "**":
        return ".*"
    pieces = re.findall(r"\[!?\]?[^\]]*\]|[*?]|.", name, re.DOTALL)
    plain = {"*": "[^/]*", "?": "[^/]"}
    return "".join(
        plain.get(piece) or (_set(piece) if len(piece) > 1 else re.escape(piece))
        for piece in pieces
    )


def _set(piece: str) -> str:
    """Return a set of characters, such as [0-9] or [!a]."""
    inner = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    negated = inner.startswith("!")
    inner = inner.removeprefix("!")
    first = "\\]" if inner.startswith("]") else ""
    return f"[{'^' if negated else ''}{first}{inner.removeprefix(']')}]"


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file or folder from all others, by whatever links; None for none.

    Examples
    --------
    >>> identity(Path("nowhere")) is None
    True
    """
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def standard_input_file() -> Path | None:
    """Return a path of standard input if it is fed from a file, which can be written over.

    Examples
    --------
    >>> standard_input_file() in (None, Path("/dev/stdin"))
    True
    """
    try:
        found = os.fstat(0)
    except OSError:  # it is closed
        return None
    return Path("/dev/stdin") if stat.S_ISREG(found.st_mode) else None
