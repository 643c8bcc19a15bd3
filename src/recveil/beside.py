"""Beside: what is being written stands beside its target, locked for as long as its writer lives.

The system lets go of a lock when a process ends, however it ends. So what nobody holds was left by
a killed run, and the next run removes it. The number of a process tells less: another one may have
got it meanwhile, and in a container nearly every process is number 1.
"""

import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from uuid import uuid4

from recveil.errors import RecveilError

_LOCK = "lock"
# Its writer creates a file and locks it next: for so many seconds, an empty one may be just made.
_YOUNG = 60.0


def write_beside(path: str | PathLike[str], write: Callable[[Path], object]) -> None:
    """Let a file be written beside its target and put it there; if this fails, all is as it was.

    Parameters
    ----------
    path : str or path
        What stands there is replaced. A link stays a link, and its target is replaced.
    write : callable
        Writes the file whose path it gets.

    Raises
    ------
    RecveilError
        If the file cannot be written or renamed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "page.html")
    ...     write_beside(target, lambda beside: beside.write_text("all of it"))
    ...     target.read_text()
    'all of it'
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise RecveilError(f"{target}: expected a plain file to replace; choose another place")
    try:
        with file_beside(target) as beside:
            write(beside)
    except OSError as error:
        raise RecveilError(
            f"{target.name}: cannot be written in {target.parent} "
            f"({error.strerror or error}); choose another place"
        ) from None


@contextmanager
def file_beside(target: Path) -> Iterator[Path]:
    """Give a file to write to, and put it into the target's place if all went well.

    However it ends, by an error, Ctrl-C or a signal, nothing else is left. What killed runs left
    beside the same target is removed.

    Parameters
    ----------
    target : Path
        What stands there is replaced.

    Raises
    ------
    OSError
        If the file cannot be written or renamed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "page.html")
    ...     with file_beside(target) as beside:
    ...         _ = beside.write_text("all of it")
    ...         target.exists()
    ...     target.read_text(), [file.name for file in Path(folder).iterdir()]
    False
    ('all of it', ['page.html'])
    """
    with suppress(OSError):
        sweep(target.parent, temporary_names(re.escape(target.name)))
    beside = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    try:
        with _held(beside):
            yield beside
            with placing(target, beside):
                beside.replace(target)
    finally:
        _remove(beside)


class _Placed:
    """What was put into place, so that whoever is interrupted later can say so."""

    paths: list[Path] = []  # noqa: RUF012


@contextmanager
def placing(target: Path, beside: Path) -> Iterator[None]:
    """Note that what stands beside a target is renamed to it, unless that fails."""
    # Noted first: a signal may come between the renaming and the next line.
    _Placed.paths.append(target)
    try:
        yield
    finally:
        if beside.exists():
            _Placed.paths.remove(target)


def placed_since(first: int = 0) -> list[Path]:
    """Return what was put into place, files and folders, but for the first so many.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> before = len(placed_since())
    >>> with TemporaryDirectory() as folder:
    ...     write_beside(Path(folder, "page.html"), lambda beside: beside.write_text("all of it"))
    >>> [path.name for path in placed_since(before)]
    ['page.html']
    """
    return _Placed.paths[first:]


def is_device(path: Path) -> bool:
    """Say whether a path leads to a pipe or a device, to be written to and never replaced.

    Examples
    --------
    >>> is_device(Path("/dev/stdout")), is_device(Path("page.html"))
    (True, False)
    """
    if path.is_absolute() and path.parts[1] in ("dev", "proc"):
        return path.exists()
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def temporary_names(target: str = ".*") -> str:
    """Return a regular expression for the names of what `file_beside` gives for a target.

    Parameters
    ----------
    target : str
        A regular expression for the name of the target.

    Examples
    --------
    >>> bool(re.fullmatch(temporary_names(), ".page.html.0123abcd.tmp"))
    True
    """
    return rf"\.{target}\.[0-9a-f]{{8}}\.tmp"


@contextmanager
def folder_beside(parent: Path, prefix: str) -> Iterator[Path]:
    """Give a folder that its owner alone can read; it is gone when the block ends, however it ends.

    Parameters
    ----------
    parent : Path
        Where it stands.
    prefix : str
        What its name begins with; see `sweep`.

    Raises
    ------
    OSError
        If the folder cannot be made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as parent:
    ...     with folder_beside(Path(parent), ".work-") as folder:
    ...         folder.is_dir()
    ...     folder.exists()
    True
    False
    """
    folder = parent / f"{prefix}{uuid4().hex[:8]}"
    try:
        folder.mkdir(mode=0o700)
        with _held(folder / _LOCK):
            yield folder
    finally:
        _remove(folder)


def sweep(parent: Path, names: str, settle: Callable[[Path], None] | None = None) -> None:
    r"""Remove what killed runs left in a folder; what somebody still works on stays.

    Parameters
    ----------
    parent : Path
    names : str
        A regular expression that the whole names of such files and folders match.
    settle : callable, optional
        Called with the path of each before it is removed, to finish what was begun.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as parent:
    ...     _ = Path(parent, ".work-0").write_text("what a killed run left")
    ...     with folder_beside(Path(parent), ".work-") as folder:
    ...         sweep(Path(parent), r"\.work-\w+")
    ...         [path == folder for path in Path(parent).iterdir()]
    [True]
    """
    for path in list(parent.iterdir()):
        if re.fullmatch(names, path.name) and not path.is_symlink():
            with _abandoned(path) as is_abandoned:
                if not is_abandoned:
                    continue
                if settle is not None:
                    settle(path)
                _remove(path)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file; False if somebody else holds it, or the file system has no locks."""
    if sys.platform == "win32":  # no such locks: what is left by killed runs stays there
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


@contextmanager
def _held(file: Path) -> Iterator[None]:
    """Create a file, and hold its lock; the file must not exist."""
    descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    try:
        if _lock(descriptor, wait=True):
            os.write(descriptor, b"locked\n")  # not just made any more
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _abandoned(path: Path) -> Iterator[bool]:
    """Say whether nobody works on a file or folder any more, and keep others off meanwhile."""
    lock = path / _LOCK if path.is_dir() else path
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except FileNotFoundError:  # killed before it was made, or about to be made
        yield _is_old(path)
        return
    except OSError:  # somebody else's
        yield False
        return
    try:
        yield _lock(descriptor, wait=False) and (os.fstat(descriptor).st_size > 0 or _is_old(path))
    finally:
        os.close(descriptor)


def _is_old(path: Path) -> bool:
    with suppress(OSError):
        return time.time() - path.stat().st_mtime > _YOUNG
    return False


def _remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, also if somebody presses Ctrl-C again."""
    pressed: KeyboardInterrupt | None = None
    while True:
        try:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            break
        except KeyboardInterrupt as again:
            pressed = again
        except OSError:
            break
    if pressed is not None:
        raise pressed
