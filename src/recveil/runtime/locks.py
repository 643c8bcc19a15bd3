"""Locks held by a process for as long as it works on a file or folder.

The system releases them when the process ends; process numbers are reused, and often 1 in
containers.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Name of the lock file in a folder, held by the folder's writer.
LOCK = "lock"
# Content of a lock file once it is locked.
_WORD = b"locked\n"
FOR_OWNER = 0o600
# A writer creates the file and then locks it: for so many seconds, an empty one may be new.
_YOUNG = 60.0
NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0)


def lock(descriptor: int, *, wait: bool) -> bool | None:
    """Lock an open file; False if another process holds it, None without support for locks."""
    if sys.platform == "win32":  # files of killed runs are not removed there
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (BlockingIOError, PermissionError):  # some network disks raise the latter
        return False
    except OSError:
        return None
    return True


@contextmanager
def hold_lock(file: Path) -> Iterator[None]:
    """Create a new file for the current user alone, and hold its lock."""
    descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, FOR_OWNER)
    try:
        file.chmod(FOR_OWNER)  # some umasks also restrict the current user
        if lock(descriptor, wait=True):
            os.write(descriptor, _WORD)  # marks the file as no longer new
        yield
    finally:
        os.close(descriptor)


@contextmanager
def abandoned(path: Path) -> Iterator[bool]:
    """Yield whether a file or folder of recveil has no writer left, and lock out others meanwhile.

    >>> with abandoned(Path("nowhere")) as is_abandoned:
    ...     is_abandoned
    False
    """
    is_folder = path.is_dir()
    file = path / LOCK if is_folder else path
    try:
        if not is_ours(path.lstat()):
            yield False
            return
        descriptor = os.open(file, os.O_RDWR | NOT_FOLLOWED)
    except FileNotFoundError:  # killed before it was created, or about to be created
        yield _is_old(path) and _is_empty(path)
        return
    except OSError:  # belongs to another user
        yield False
        return
    try:
        yield (
            is_ours(os.fstat(descriptor))
            and bool(lock(descriptor, wait=False))
            and (os.fstat(descriptor).st_size > 0 or _is_old(path))
            and not (is_folder and _holds_other_text(descriptor))
        )
    finally:
        os.close(descriptor)


def is_ours(found: os.stat_result) -> bool:
    """Return whether a file belongs to the current user; others may have planted it."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def _is_empty(folder: Path) -> bool:
    with suppress(OSError):
        return not any(folder.iterdir())
    return False


def _holds_other_text(descriptor: int) -> bool:
    """Return whether a file with the lock's name has any other content than the lock's."""
    content = os.pread(descriptor, len(_WORD) + 1, 0)
    return content.strip() not in (b"", _WORD.strip())


def _is_old(path: Path) -> bool:
    with suppress(OSError):
        # A time in the future was set by a wrong clock, so the file is not new either.
        return abs(time.time() - path.stat().st_mtime) > _YOUNG
    return False
