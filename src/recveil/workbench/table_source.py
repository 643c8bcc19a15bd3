"""Where a table is, and whether its files have changed since it was inspected."""

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
from recveil.workbench.project import Input, Job, Project, Settings

# Names of secrets among the settings in an address, as sslpassword and X-Amz-Signature.
_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|pwd|secret|token|credential|signature|^sig$|key$", re.I
)
_MOST_CHARACTERS = 4_000


@brief
class NamedPlace(NamedTuple):
    """The place of a table, with a short name for it."""

    # A short name
    name: str
    # The absolute path, or the address
    path: str


def place_of(text: str, *, is_release: bool = False) -> NamedPlace:
    """Parse a path, a pattern of part files, or an address."""
    text = text.strip()
    if not text or len(text) > _MOST_CHARACTERS or "\0" in text or text == "-":
        raise RecveilError(
            "expected the path of a file or folder, or the address of a database",
            code="option.value",
        )
    if "://" in text and holds_password(text):
        raise RecveilError(
            "the address holds a password, which the project would store; leave it out, and "
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
    if scheme == "file":  # a path, so that changes are noticed
        return _path(str(local_path(text)))
    return _path(text) if scheme is None else _address(text)


def holds_password(address: str) -> bool:
    """Check whether an address holds a secret, or may hold one."""
    rest = unquote(address.partition("://")[2])
    # A password may hold slashes and question marks: any text before an @ may be one.
    if ":" in rest.rpartition("@")[0]:
        return True
    settings = re.split(r"[?&;#]", rest)[1:]
    names = (each.partition("=")[0].strip() for each in settings if "=" in each)
    return any(_SECRET.search(setting) for setting in names)


def _address(text: str) -> NamedPlace:
    database = address_of(text)
    if database is not None and not database.is_server:
        path = Path(database.place).absolute()
        return NamedPlace(path.name, f"{database.kind}:///{quoted_path(path)}")
    return NamedPlace(shortened(text), text)


def _path(text: str) -> NamedPlace:
    name = shortened(text)
    try:
        path = Path(text).expanduser().absolute()
        if has_magic(text) and not path.exists():
            return NamedPlace(path.name, str(path))
        if not path.exists():
            raise RecveilError(
                f"{name}: no such file or folder; give an absolute path",
                code="input.not-found",
            )
        if not (path.is_file() or path.is_dir()):
            raise RecveilError(
                f"{name}: is neither a file nor a folder; name one of these",
                code="input.unreadable",
            )
        if not os.access(path, os.R_OK):
            raise RecveilError(
                f"{name}: is not readable; change its permissions, or name another",
                code="input.unreadable",
            )
    except RuntimeError:  # ~ of an unknown user
        raise RecveilError(
            f"{name}: no such user's folder; give an absolute path", code="input.not-found"
        ) from None
    except OSError as error:
        raise RecveilError(
            f"{name}: cannot be read ({error.strerror}); name another",
            code="input.unreadable",
        ) from None
    return NamedPlace(path.name or str(path), str(path))


# Each page lists them all; the Netflix Prize data has 17,771 files.
_MOST_ENTRIES = 20_000


def state_of(place: str) -> str:
    """Return a digest of the sizes and times of a table's files; empty if they cannot be read.

    It may take a second, so a server calls it in a thread.
    """
    try:
        states = [_file_state(file) for file in _files(place)]
    except RecveilError:
        raise
    except (OSError, ValueError, RecursionError):  # ValueError: such as a**b
        states = []
    return hashlib.sha256("\n".join(states).encode()).hexdigest()[:32] if states else ""


def state_of_table(table: Input) -> str:
    """Return the state of a table; that of an upload is its digest and size.

    Each upload of the same bytes may be a new file. If the copy is gone, the state is empty.
    """
    if not table.digest:
        return state_of(table.place)
    try:
        size = Path(table.place).stat().st_size
    except OSError:
        return ""
    return hashlib.sha256(f"{table.digest} {size}".encode()).hexdigest()[:32]


def source_settings(table: Input) -> Settings:
    """Return the settings of a job that reads a table: source, reading options and state."""
    return {"source": table.place, "reading": table.reading, "state": state_of_table(table)}


def _inspected_state(project: Project, table: Input) -> str:
    """Return the state in which a table was inspected last; empty if there is none."""
    last = project.last_job("data", table.id)
    return "" if last is None else last.settings.get("state", "")


def has_changed(project: Project, table: Input | None) -> bool:
    """Check whether a table's files differ from those that were inspected last."""
    state = "" if table is None else _inspected_state(project, table)
    if table is None or not state:
        return False
    try:
        return state_of_table(table) != state
    except RecveilError:  # too many files by now
        return True


def is_current(project: Project, table: Input, job: Job) -> bool:
    """Check whether a job read a table in the state in which it was inspected last."""
    return _inspected_state(project, table) in ("", job.settings.get("state", ""))


def reject_changed(project: Project, table: Input) -> None:
    """Raise if a table has changed since it was inspected."""
    if has_changed(project, table):
        raise RecveilError(
            f"{shortened(table.name)}: has changed since it was inspected, or is gone; inspect it "
            f"again on the page Data",
            code="input.changed",
        )


def _file_state(file: Path) -> str:
    status = file.stat()
    return f"{os.fsencode(file).hex()} {status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _files(place: str) -> list[Path]:
    """Return all files that a table may be read from."""
    if scheme_of(place) is not None:
        database = address_of(place)
        if database is None or database.is_server:
            return []
        file = Path(database.place)  # the last changes may be in a log next to it
        logs = [file.with_name(f"{file.name}{end}") for end in ("-wal", ".wal")]
        return [file, *(log for log in logs if log.is_file())]
    path = Path(place)
    if has_magic(place) and not path.exists():
        return sorted(_matching_files(path))
    if path.is_dir():
        return sorted(_files_in(path, None))
    return [path]


def _matching_files(pattern: Path) -> Iterator[Path]:
    """Yield the files that match a pattern; raise first if there are too many to list."""
    marked = [at for at, name in enumerate(pattern.parts) if has_magic(name)]
    base, names = Path(*pattern.parts[: marked[0]]), pattern.parts[marked[0] :]
    depth = None if "**" in names else marked[-1] - marked[0] + 1
    for _ in _files_in(base, depth):
        pass
    yield from base.glob("/".join(names))


def _files_in(folder: Path, depth: int | None) -> Iterator[Path]:
    """Yield the files in a folder and below it, to this depth; None for any."""
    waiting, n_entries = [(folder, 1)], 0
    while waiting:
        place, level = waiting.pop()
        with suppress(PermissionError), os.scandir(place) as entries:
            for entry in entries:
                n_entries += 1
                if n_entries > _MOST_ENTRIES:
                    raise RecveilError(
                        f"{shortened(str(folder))}: more than {_MOST_ENTRIES:,} files and folders "
                        f"there; name the folder of the table alone, or its files by a pattern, "
                        f"such as ratings/*.csv",
                        code="input.too-large",
                    )
                # Only patterns that name each level follow links.
                if entry.is_dir(follow_symlinks=depth is not None):
                    if level != depth:
                        waiting.append((Path(entry.path), level + 1))
                elif entry.is_file():
                    yield Path(entry.path)
