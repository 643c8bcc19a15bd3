"""Pipes and devices in place of files: they may never end, or be put there by another user."""

import os
import stat
from os import PathLike
from pathlib import Path

from recveil.runtime.errors import RecveilError, shortened

# Files such as release.json have a few thousand bytes.
MOST_BYTES = 1_000_000
# Linux follows as many links in one path.
_MOST_LINKS = 40


def is_device(path: Path) -> bool:
    """Return whether a path leads to a pipe or a device, which is written to but never replaced."""
    # Also if standard output is redirected to a file, which is then written to, not replaced.
    if _is_open_file(path):
        return path.exists()
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _is_open_file(path: Path) -> bool:
    """Return whether a path names an open file of a process, such as /dev/stdout."""
    # A link such as /proc/self/cwd leads to an ordinary folder.
    folder = Path(os.path.realpath(path.parent)).parts[1:]
    if folder[:1] == ("dev",):  # /dev/shm holds ordinary files, kept in memory
        return folder[1:2] != ("shm",)
    return folder[:1] == ("proc",) and folder[-1] == "fd"


def reject_traps(path: str | PathLike[str]) -> None:
    """Reject an output path that another user redirects, in a folder shared by several users.

    A user who can write to a folder can place a link there, named like the output, to a file that
    they cannot write themselves, or a pipe from which they read.
    """
    if _is_open_file(Path(path)) or not hasattr(os, "geteuid"):
        return
    at = Path() if Path(path).is_absolute() else Path.cwd()
    names_left, links = [*reversed(Path(path).parts)], 0
    while names_left:
        name = names_left.pop()
        at = at.parent if name == ".." else at / name
        try:
            found = at.lstat()
        except (OSError, ValueError):
            return  # does not exist yet
        if stat.S_ISLNK(found.st_mode):
            if is_anothers(found) and _can_be_written_by_others(at.parent):
                raise _trap(path, at, "link")
            names_left += reversed(at.readlink().parts)
            at, links = at.parent, links + 1
            if links > _MOST_LINKS:
                return  # a cycle of links, which opening the path reports
        elif stat.S_ISFIFO(found.st_mode) and is_anothers(found):
            raise _trap(path, at, "pipe")


def _trap(path: str | PathLike[str], at: Path, kind: str) -> RecveilError:
    return RecveilError(
        f"{shortened(str(path), 80)}: {shortened(at.name, 60)} is a {kind} that belongs to another "
        f"user, who may lead what is written elsewhere; name another file, or one in a folder that "
        f"only you can write to",
        code="output.not-writable",
    )


def is_anothers(found: os.stat_result) -> bool:
    """Return whether a file belongs to neither the current user nor the administrator."""
    return hasattr(os, "geteuid") and found.st_uid not in (os.geteuid(), 0)


def is_written_by_others(found: os.stat_result) -> bool:
    """Return whether other users can write to a file.

    Members of the file owner's primary group do not count as others, since many systems give each
    user a group with the same number and write permission.
    """
    if stat.S_ISLNK(found.st_mode) or not hasattr(os, "geteuid"):
        return False
    by_group = found.st_mode & stat.S_IWGRP and found.st_gid != found.st_uid
    return bool(by_group or found.st_mode & stat.S_IWOTH)


def owner_name(found: os.stat_result) -> str:
    """Return the name of the user to whom a file belongs, or their number without a name.

    >>> owner_name(Path("/dev/null").stat()) in ("root", "65534", "nobody")
    True
    """
    try:
        import pwd

        return pwd.getpwuid(found.st_uid).pw_name
    except (ImportError, KeyError):
        return str(found.st_uid)


def _can_be_written_by_others(folder: Path) -> bool:
    found = folder.stat()
    return is_anothers(found) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def write_to_device(path: Path, text: str) -> None:
    """Write text to a pipe or a device.

    >>> write_to_device(Path("/dev/null"), "all of it")
    """
    reject_traps(path)
    try:
        path.write_text(text, "utf-8", "replace")
    except BrokenPipeError:  # the reader of a pipe may exit early
        raise
    except OSError as error:
        raise RecveilError(
            f"{path}: cannot be written ({error.strerror or error}); name a plain file, or another "
            f"device",
            code="output.not-writable",
        ) from None


def reject_devices(*paths: Path) -> None:
    """Raise an OSError if any path leads to a pipe or a device, which may never end.

    >>> reject_devices(Path("page.html"), Path("nowhere"))
    """
    for path in paths:
        if is_device(path):
            raise OSError(f"{path.name} is a pipe or a device, and no file")


class IsTooLargeError(OSError):
    """Raised for a file with more bytes than its kind allows."""


def read_whole(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a small file, which may come from an untrusted source."""
    # Without waiting for the writer of a pipe.
    extra = getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | extra)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path.name} is a pipe or a device, and no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise IsTooLargeError(
            f"{path.name} has more than {most:,} bytes, the most that it may have"
        )
    return content
