"""Seen: the state of a table's files, so that a table that changed is not taken for what it was."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from glob import has_magic
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from recveil.io.databases import address_of, scheme_of
from recveil.io.databases.address import quoted_path
from recveil.io.remote import local_path
from recveil.runtime.errors import RecveilError, shortened
from recveil.runtime.safe_repr import brief
from recveil.workbench.project import Input, Job, Project

# Names of what is secret among the settings behind an address, as sslpassword and X-Amz-Signature.
_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|pwd|secret|token|credential|signature|^sig$|key$", re.I
)
_MOST_CHARACTERS = 4_000


@brief
class NamedPlace(NamedTuple):
    """Where a table lies."""

    # What to call it
    name: str
    # Its path from the root on, or its address
    path: str


def place_of(text: str, *, is_release: bool = False) -> NamedPlace:
    """Return the place that somebody names: a path, a pattern of part files, or an address."""
    text = text.strip()
    if not text or len(text) > _MOST_CHARACTERS or "\0" in text or text == "-":
        raise RecveilError(
            "expected the path of a file or folder, or the address of a database",
            code="option.value",
        )
    if "://" in text and holds_password(text):
        raise RecveilError(
            "the address holds a password, which would be kept in the project; leave it out, and "
            "give it in the environment (PGPASSWORD) or in the service's own file",
            code="settings.secret",
        )
    scheme = scheme_of(text)
    if scheme is not None and is_release:
        raise RecveilError(
            f"{shortened(text)}: is an address ({shortened(scheme, 20)}), where the folder of a "
            f"release or a file was expected; copy it to this machine, and name the copy",
            code="input.remote",
        )
    if scheme == "file":  # so that it is seen when it changes
        return _path(str(local_path(text)))
    return _path(text) if scheme is None else _address(text)


def holds_password(address: str) -> bool:
    """Say whether an address holds something secret, or may: rather once too often."""
    behind = unquote(address.partition("://")[2])
    # A password may hold slashes and question marks: all before an @ may be one.
    if ":" in behind.rpartition("@")[0]:
        return True
    settings = re.split(r"[?&;#]", behind)[1:]
    names = (each.partition("=")[0].strip() for each in settings if "=" in each)
    return any(_SECRET.search(name) for name in names)


def _address(text: str) -> NamedPlace:
    found = address_of(text)
    if found is not None and not found.is_server:
        path = Path(found.place).absolute()
        return NamedPlace(path.name, f"{found.kind}:///{quoted_path(path)}")
    return NamedPlace(shortened(text), text)


def _path(text: str) -> NamedPlace:
    where = shortened(text)
    try:
        path = Path(text).expanduser().absolute()
        if has_magic(text) and not path.exists():
            return NamedPlace(path.name, str(path))
        if not path.exists():
            raise RecveilError(
                f"{where}: no such file or folder; name one from the root on",
                code="input.not-found",
            )
        if not (path.is_file() or path.is_dir()):
            raise RecveilError(
                f"{where}: is neither a file nor a folder; name one", code="input.unreadable"
            )
        if not os.access(path, os.R_OK):
            raise RecveilError(
                f"{where}: may not be read; ask its owner, or name another", code="input.unreadable"
            )
    except RuntimeError:  # ~ of somebody who is not here
        raise RecveilError(
            f"{where}: no such user's folder; name a path from the root on", code="input.not-found"
        ) from None
    except OSError as error:
        raise RecveilError(
            f"{where}: cannot be looked at ({error.strerror}); name another",
            code="input.unreadable",
        ) from None
    return NamedPlace(path.name or str(path), str(path))


# Each page asks for them all; the Netflix Prize, the table of most files that we know, has 17,771.
_MOST_SEEN = 20_000


def state_of(place: str) -> str:
    """Return a digest of sizes and times of a table's files; empty where they cannot be looked at.

    It may take a second: whoever answers others meanwhile asks in another thread.
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


def reject_changed(project: Project, table: Input) -> None:
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
