"""Seen: the state of a table's files, so that a table that changed is not taken for what it was."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from glob import has_magic
from pathlib import Path

from recveil.databases import address_of, scheme_of
from recveil.errors import RecveilError, shortened
from recveil.workbench.entries import Input, Job
from recveil.workbench.project import Project

# Each page asks for them all; the Netflix Prize, the table of most files that we know, has 17,771.
_MOST_SEEN = 20_000


def state_of(place: str) -> str:
    """Return a digest of sizes and times of a table's files; empty where they cannot be looked at.

    It may take a second: whoever answers others meanwhile asks in another thread.

    Parameters
    ----------
    place : str
        A file, a folder or a pattern of part files, or the address of a database in a file.

    Raises
    ------
    RecveilError
        If that is more than a table has: each page looks at all of it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ratings.csv")
    ...     _ = file.write_text("ann,film,3")
    ...     before = state_of(str(file))
    ...     _ = file.write_text("ann,film,3.5")
    ...     state_of(str(file)) == before
    False
    >>> state_of("postgresql://host/shop")
    ''
    """
    try:
        states = [_state(file) for file in _files(place)]
    except RecveilError:
        raise
    except (OSError, ValueError, RecursionError):  # ValueError: such as a**b
        states = []
    return hashlib.sha256("\n".join(states).encode()).hexdigest()[:32] if states else ""


def state_of_table(table: Input) -> str:
    """Return the state of a table: of one that was dropped, its digest, however often it comes.

    Its copy may be a new file each time. Whoever changes the copy by hand changes its size; if it
    is gone, the state is empty.

    Parameters
    ----------
    table : Input

    Raises
    ------
    RecveilError
        As for `state_of`.
    """
    if not table.digest:
        return state_of(table.place)
    try:
        size = Path(table.place).stat().st_size
    except OSError:
        return ""
    return hashlib.sha256(f"{table.digest} {size}".encode()).hexdigest()[:32]


def looked_at(project: Project, table: Input) -> str:
    """Return the state in which a table was when it was looked at last; empty if nobody knows."""
    last = project.last_job("data", table.id)
    return "" if last is None else last.settings.get("seen", "")


def has_changed(project: Project, table: Input | None) -> bool:
    """Say whether a table's files are others than those that were looked at last."""
    seen = "" if table is None else looked_at(project, table)
    if table is None or not seen:
        return False
    try:
        return state_of_table(table) != seen
    except RecveilError:  # so much has come since
        return True


def is_of_it(project: Project, table: Input, job: Job) -> bool:
    """Say whether a job read a table as it was when it was looked at last."""
    return looked_at(project, table) in ("", job.settings.get("seen", ""))


def refuse_changed(project: Project, table: Input) -> None:
    """Refuse to work on a table that changed since it was looked at."""
    if has_changed(project, table):
        raise RecveilError(
            f"{shortened(table.name)}: has changed since it was looked at, or is gone; look at it "
            f"again on the page Data",
            code="input.changed",
        )


def _state(file: Path) -> str:
    told = file.stat()
    return f"{os.fsencode(file).hex()} {told.st_size} {told.st_mtime_ns} {told.st_ino}"


def _files(place: str) -> list[Path]:
    """Return all files that a table may be read from."""
    if scheme_of(place) is not None:
        found = address_of(place)
        if found is None or found.is_server:
            return []
        file = Path(found.place)  # what was written last may stand in a log beside it
        logs = [file.with_name(f"{file.name}{end}") for end in ("-wal", ".wal")]
        return [file, *(log for log in logs if log.is_file())]
    path = Path(place)
    if has_magic(place) and not path.exists():
        return sorted(_fitting(path))
    if path.is_dir():
        return sorted(_files_in(path, None))
    return [path]


def _fitting(pattern: Path) -> Iterator[Path]:
    """Yield the files that fit a pattern, after a look at how much must be looked at for that."""
    marked = [at for at, name in enumerate(pattern.parts) if has_magic(name)]
    base, names = Path(*pattern.parts[: marked[0]]), pattern.parts[marked[0] :]
    depth = None if "**" in names else marked[-1] - marked[0] + 1
    for _ in _files_in(base, depth):
        pass
    yield from base.glob("/".join(names))


def _files_in(folder: Path, depth: int | None) -> Iterator[Path]:
    """Yield the files in a folder and those below it, to a depth if one is given."""
    waiting, n_seen = [(folder, 1)], 0
    while waiting:
        place, level = waiting.pop()
        # What may not be looked into is not read either.
        with suppress(PermissionError), os.scandir(place) as entries:
            for entry in entries:
                n_seen += 1
                if n_seen > _MOST_SEEN:
                    raise RecveilError(
                        f"{shortened(str(folder))}: more than {_MOST_SEEN:,} files and folders lie "
                        f"there; name the folder of the table alone, or its files by a pattern "
                        f"such as ratings/*.csv",
                        code="input.too-large",
                    )
                # Only patterns that name each level lead through links.
                if entry.is_dir(follow_symlinks=depth is not None):
                    if level != depth:
                        waiting.append((Path(entry.path), level + 1))
                elif entry.is_file():
                    yield Path(entry.path)
