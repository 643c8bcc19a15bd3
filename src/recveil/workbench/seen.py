"""Seen: the state of a table's files, so that a table that changed is not taken for what it was."""

import hashlib
import os
from glob import glob, has_magic
from pathlib import Path

from recveil.databases import address_of, scheme_of
from recveil.errors import RecveilError, shortened
from recveil.workbench.entries import Input, Job
from recveil.workbench.project import Project


def state_of(place: str) -> str:
    """Return a digest of sizes and times of a table's files; empty where they cannot be looked at.

    Parameters
    ----------
    place : str
        A file, a folder or a pattern of part files, or the address of a database in a file.

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
    except OSError:
        states = []
    return hashlib.sha256("\n".join(states).encode()).hexdigest()[:32] if states else ""


def looked_at(project: Project, table: Input) -> str:
    """Return the state in which a table was when it was looked at last; empty if nobody knows."""
    last = project.last_job("data", table.id)
    return "" if last is None else last.settings.get("seen", "")


def has_changed(project: Project, table: Input | None) -> bool:
    """Say whether a table's files are others than those that were looked at last."""
    seen = "" if table is None else looked_at(project, table)
    return table is not None and seen != "" and state_of(table.place) != seen


def is_of_it(project: Project, table: Input, job: Job) -> bool:
    """Say whether a job read a table as it was when it was looked at last."""
    return looked_at(project, table) in ("", job.settings.get("seen", ""))


def refuse_changed(project: Project, table: Input) -> None:
    """Refuse to work on a table that changed since it was looked at."""
    if has_changed(project, table):
        raise RecveilError(
            f"{shortened(table.name)}: has changed since it was looked at, or is gone; look at it "
            f"again on the page Data"
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
        return sorted(map(Path, glob(place, recursive=True)))  # noqa: PTH207
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file())
    return [path]
