"""Alone: one run at a time looks at what stands at a target, and renames to it."""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from recveil.beside import in_spite_of_signals
from recveil.errors import RecveilError
from recveil.locks import FOR_OWNER, NOT_FOLLOWED, is_ours, lock

# So many seconds does a run wait for another one, which renames four folders; it looks so often.
_PATIENCE, _OFTEN = 10.0, 0.02


@contextmanager
def alone(file: Path, target: Path) -> Iterator[None]:
    """Let one run at a time work at a target; another one waits some seconds, and is refused then.

    Where the file system has no locks, all go on.

    Parameters
    ----------
    file : Path
        Its lock is held meanwhile. It is made, and removed in the end; what a killed run left,
        the next one removes.
    target : Path
        What a refusal names.

    Raises
    ------
    RecveilError
        If another run works there for longer, or the file is somebody else's, or holds something.
    OSError
        If the file cannot be made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with alone(Path(folder, ".out.lock"), Path(folder, "out")):
    ...         print([file.name for file in Path(folder).iterdir()])
    ...     print(list(Path(folder).iterdir()))
    ['.out.lock']
    []
    """
    if sys.platform == "win32":  # no such locks
        yield
        return
    try:
        with _taken(file, target):
            yield
    finally:
        # Also what an interruption left that came before we knew of the file.
        in_spite_of_signals(lambda: _remove_unless_held(file))


def _taken(file: Path, target: Path) -> BinaryIO:
    """Return the file that stands at a path, locked; whoever had it may have removed it."""
    end = time.monotonic() + _PATIENCE
    while True:
        opened = _opened(file, target)
        if lock(opened.fileno(), wait=False) is not False and _stands_at(opened, file):
            return opened
        opened.close()
        if time.monotonic() > end:
            raise RecveilError(
                f"{target}: another run is writing there; wait until it has ended, or choose "
                f"another output",
                code="output.locked",
            )
        time.sleep(_OFTEN)


def _opened(file: Path, target: Path) -> BinaryIO:
    """Open the file, or make it; refuse what is not ours."""
    try:
        _make_legible(file)
        opened = _open(file, os.O_CREAT)
    except PermissionError as error:
        if not os.path.lexists(file):
            raise
        raise RecveilError(
            f"{target}: another user's run writes there, or left {file.name}; once it has ended, "
            f"let them remove that file, or choose another output",
            code="output.locked",
        ) from error
    except OSError:
        if _is_plain(file):
            raise
        raise _taken_by_others(file, target) from None
    if _is_empty_file(opened):
        return opened
    opened.close()
    raise _taken_by_others(file, target)


def _taken_by_others(file: Path, target: Path) -> RecveilError:
    return RecveilError(
        f"{target}: {file.name} is to stand beside it while a run writes there, and something "
        f"else has that name; move it away",
        code="output.exists",
    )


def _make_legible(file: Path) -> None:
    """Let its owner open what they left: some umasks take from the owner, too."""
    with suppress(FileNotFoundError):
        found = file.lstat()
        is_our_lock = stat.S_ISREG(found.st_mode) and not found.st_size and is_ours(found)
        if is_our_lock and stat.S_IMODE(found.st_mode) & FOR_OWNER != FOR_OWNER:
            file.chmod(FOR_OWNER)


def _is_plain(file: Path) -> bool:
    """Say whether a file stands there, or nothing; a folder, a link or a socket is neither."""
    with suppress(OSError):
        return stat.S_ISREG(file.lstat().st_mode)
    return True


def _open(file: Path, how: int) -> BinaryIO:
    # A pipe of that name is not waited for.
    flags = os.O_RDWR | os.O_NONBLOCK | NOT_FOLLOWED | how
    opened = os.fdopen(os.open(file, flags, FOR_OWNER), "r+b", buffering=0)
    if _is_empty_file(opened) and is_ours(os.fstat(opened.fileno())):
        os.fchmod(opened.fileno(), FOR_OWNER)  # whatever the umask
    return opened


def _is_empty_file(opened: BinaryIO) -> bool:
    found = os.fstat(opened.fileno())
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def _stands_at(opened: BinaryIO, file: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(opened.fileno()), file.lstat())
    return False


def _remove_unless_held(file: Path) -> None:
    """Remove it while it is locked: whoever waits for it sees then that it stands there no more."""
    with suppress(OSError), _open(file, 0) as opened:
        is_free = lock(opened.fileno(), wait=False) is not False
        if is_free and _is_empty_file(opened) and _stands_at(opened, file):
            file.unlink()
