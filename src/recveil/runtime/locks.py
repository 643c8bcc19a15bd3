"""Locks: what a process works on is locked for as long as it lives.

The system lets go of a lock when a process ends, however it ends. The number of a process tells
less: another one may have got it meanwhile, and in a container nearly every process is number 1.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# The file in a folder whose lock its writer holds.
LOCK = "lock"
# What its writer puts into it once it is locked.
_WORD = b"locked\n"
FOR_OWNER = 0o600
# Its writer creates a file and locks it next: for so many seconds, an empty one may be just made.
_YOUNG = 60.0
NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0)


def lock(descriptor: int, *, wait: bool) -> bool | None:
    """Lock an open file; False if somebody else holds it, None if the file system has no locks.

    Parameters
    ----------
    descriptor : int
        Of the open file; when it is closed, the lock goes.
    wait : bool
        Wait until nobody else holds it.

    Examples
    --------
    >>> from tempfile import TemporaryFile
    >>> with TemporaryFile() as file:
    ...     lock(file.fileno(), wait=False)
    True
    """
    if sys.platform == "win32":  # what is left by killed runs stays there
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (BlockingIOError, PermissionError):  # the latter from some network disks
        return False
    except OSError:
        return None
    return True


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Create a file for its owner alone, and hold its lock; the file must not exist.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with held(Path(folder, "work")), abandoned(Path(folder, "work")) as is_abandoned:
    ...         is_abandoned
    False
    """
    descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, FOR_OWNER)
    try:
        file.chmod(FOR_OWNER)  # some umasks take from the owner, too
        if lock(descriptor, wait=True):
            os.write(descriptor, _WORD)  # not just made any more
        yield
    finally:
        os.close(descriptor)


@contextmanager
def abandoned(path: Path) -> Iterator[bool]:
    """Say whether nobody works on a file or folder any more, and keep others off meanwhile.

    A folder that holds anything, but not the lock of a writer of ours, is somebody's own.

    Parameters
    ----------
    path : Path
        A file whose lock its writer holds, or a folder with such a file in it.

    Examples
    --------
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
    except FileNotFoundError:  # killed before it was made, or about to be made
        yield _is_old(path) and _is_empty(path)
        return
    except OSError:  # somebody else's
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
    """Say whether something belongs to whoever runs this: others may have put a trap there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     is_ours(Path(folder).stat())
    True
    """
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def _is_empty(folder: Path) -> bool:
    with suppress(OSError):
        return not any(folder.iterdir())
    return False


def _holds_other_text(descriptor: int) -> bool:
    """Say whether what is called like our lock holds anything but our word."""
    content = os.pread(descriptor, len(_WORD) + 1, 0)
    return content.strip() not in (b"", _WORD.strip())


def _is_old(path: Path) -> bool:
    with suppress(OSError):
        # What is of the future was written while the clock was wrong, and not just now either.
        return abs(time.time() - path.stat().st_mtime) > _YOUNG
    return False
