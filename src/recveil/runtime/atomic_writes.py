"""Atomic writes through a locked temporary file, which only the current user can read or write.

A temporary file whose lock is free was left by a killed run; the next run removes it.
"""

import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeAlias, TypeVar
from uuid import uuid4

from recveil.runtime.devices import reject_traps
from recveil.runtime.errors import RecveilError, shortened
from recveil.runtime.locks import FOR_OWNER, LOCK, abandoned, hold_lock


def make_folder(path: Path, mode: int = 0o700, *, exist_ok: bool = False) -> None:
    """Create a folder with full rights for the current user, whatever the umask."""
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        if not exist_ok:
            raise
        return
    made = stat.S_IMODE(path.stat().st_mode)
    if made & stat.S_IRWXU != stat.S_IRWXU:
        path.chmod(made | stat.S_IRWXU)


class Parent:
    """A folder kept open while files are written in it, where the system allows that."""

    def __init__(self, path: Path) -> None:
        self._path = path
        can_open = {os.stat, os.unlink} <= os.supports_dir_fd
        # Opening an entry does not require the right to list the folder.
        how = getattr(os, "O_PATH", os.O_RDONLY)
        self._descriptor = os.open(path, how) if can_open else None

    def __enter__(self) -> "Parent":
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def has_gone(self) -> bool:
        """Return whether the path now leads to another folder, or to none."""
        with suppress(OSError):
            found = self._path.stat()
            return self._descriptor is not None and not os.path.samestat(
                os.fstat(self._descriptor), found
            )
        return True

    def remove(self, name: str) -> None:
        """Remove an entry by name, even if the folder was moved; never call it on an only copy."""
        at = self._descriptor
        if at is None:
            return
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                shutil.rmtree(name, ignore_errors=True, dir_fd=at)
            else:
                os.unlink(name, dir_fd=at)


# The manifest that every release has, and how it begins; defined in `recveil.release.manifest`.
_SIGN, _SIGN_HOLDS, _SIGN_BYTES = "release.json", b"recveil-release-", 4096
_Result = TypeVar("_Result")
# Names of temporary files and of lock files. A user's own folder with such a name would be taken
# for the remains of a killed run.
_OUR_NAMES = re.compile(r"\..+\.((partial|layout)-([0-9a-f]{8}|lock)|[0-9a-f]{8}\.tmp)", re.DOTALL)
# Finishes or undoes the work begun in a folder, and returns whether it succeeded.
Settle: TypeAlias = Callable[[Path], bool]


def write_atomically(path: str | PathLike[str], write: Callable[[Path], object]) -> None:
    """Write a file next to its target and rename it into place; on failure, nothing changes.

    Only the current user can read the file, whatever the umask, as it may hold private data.
    """
    reject_traps(path)
    target = Path(path).resolve()
    reject_in_release(target)
    if target.exists() and not target.is_file():
        raise RecveilError(
            f"{target}: expected a plain file to replace; choose another place",
            code="output.not-writable",
        )
    try:
        with temporary_file_near(target) as temporary:
            write(temporary)
    except OSError as error:
        raise RecveilError(
            f"{target.name}: cannot be written in {target.parent} "
            f"({error.strerror or error}); choose another place",
            code="machine.disk" if error.errno == errno.ENOSPC else "output.not-writable",
        ) from None


def reject_in_release(path: str | PathLike[str]) -> None:
    """Raise for a path in a release, published as it is, and for names of temporary files."""
    target = Path(path).resolve()
    try:
        os.fspath(target).encode()
    except UnicodeEncodeError:
        raise RecveilError(
            f"output {target.name!a:.80}: it, or a folder above it, has a name that is no "
            f"UTF-8, which not all libraries can write to; choose another one",
            code="output.place",
        ) from None
    if _OUR_NAMES.fullmatch(target.name):
        raise RecveilError(
            f"{shortened(target.name, 80)}: so recveil calls what it works on, which other runs "
            f"wait for or remove; choose another output",
            code="output.place",
        )
    for folder in target.parents:
        # Farther up, a file of that name may be unrelated.
        if (folder / _SIGN).is_file() and (folder == target.parent or _is_release(folder)):
            raise RecveilError(
                f"{path}: {folder} is a release, to be published; choose an output outside",
                code="output.place",
            )


def _is_release(folder: Path) -> bool:
    with suppress(OSError), (folder / _SIGN).open("rb") as file:
        return _SIGN_HOLDS in file.read(_SIGN_BYTES)
    return False


@contextmanager
def temporary_file_near(target: Path) -> Iterator[Path]:
    """Yield a temporary file, and rename it to the target if the block succeeds.

    Only the current user can read it. After an error, Ctrl-C or a signal, no temporary file is
    left. Files that killed runs left for the same target are removed.
    """
    sweep_temporary(target)
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    with _removed_in_the_end([temporary]), hold_lock(temporary):
        yield temporary
        temporary.chmod(FOR_OWNER)  # the block may have created the file again
        with placing(target, temporary):
            temporary.replace(target)


def sweep_temporary(target: Path) -> None:
    """Remove the temporary files that killed runs left for a target.

    >>> sweep_temporary(Path("nowhere", "page.html"))
    """
    with suppress(OSError):
        sweep(target.parent, temporary_names(re.escape(target.name)))


class _Placed:
    """Paths renamed into place, which an interrupted run reports."""

    paths: list[Path] = []  # noqa: RUF012


@contextmanager
def placing(target: Path, temporary: Path) -> Iterator[None]:
    """Record that a temporary file is renamed to its target, unless the renaming fails."""
    # Recorded first: a signal may arrive between the renaming and the next line.
    _Placed.paths.append(target)
    try:
        yield
    finally:
        if temporary.exists():
            _Placed.paths.remove(target)


def placed_since(first: int = 0) -> list[Path]:
    """Return the files and folders put into place, without the `first` ones."""
    return _Placed.paths[first:]


def temporary_names(target: str = ".*") -> str:
    """Return a regular expression for the names of the temporary files of a target."""
    return rf"\.{target}\.[0-9a-f]{{8}}\.tmp"


@contextmanager
def temporary_folder_near(
    parent: Path, prefix: str, settle: Settle | None = None
) -> Iterator[Path]:
    """Yield a folder that only the current user can read; it is removed when the block ends."""
    folder = parent / f"{prefix}{uuid4().hex[:8]}"
    left = [folder]
    with _removed_in_the_end(left, is_settled=settle is not None):
        make_folder(folder)
        with hold_lock(folder / LOCK), _settled(left, settle):
            yield folder


@contextmanager
def _removed_in_the_end(left: list[Path], *, is_settled: bool = False) -> Iterator[None]:
    """Remove files or folders at the end, even if their parent folder was renamed."""
    # Entries that must be settled first are settled by their path, and stay if the path has gone.
    with Parent(left[0].parent) as parent:
        try:
            yield
        finally:
            for path in left:
                _remove(path)
                if parent.has_gone() and not is_settled:
                    in_spite_of_signals(partial(parent.remove, path.name))


@contextmanager
def _settled(left: list[Path], settle: Settle | None) -> Iterator[None]:
    """Settle the work begun in the folders at the end; keep the folders where this fails."""
    try:
        yield
    finally:
        if settle is not None:
            folders, is_done = left.copy(), settle
            left.clear()

            def work() -> None:
                left[:] = filter(is_done, folders)

            in_spite_of_signals(work)


def sweep(parent: Path, names: str, settle: Settle | None = None) -> None:
    r"""Remove the files and folders that killed runs left; those still locked stay."""
    for path in list(parent.iterdir()):
        if re.fullmatch(names, path.name) and not path.is_symlink():
            with abandoned(path) as is_abandoned:
                if is_abandoned and (settle is None or settle(path)):
                    _remove(path)


def _remove(path: Path) -> None:
    """Remove a file or a folder tree, even if Ctrl-C is pressed again."""
    with suppress(OSError):
        in_spite_of_signals(lambda: _remove_once(path))


def in_spite_of_signals(work: Callable[[], _Result]) -> _Result:
    """Repeat idempotent work until it completes; a Ctrl-C meanwhile is raised at the end.

    >>> in_spite_of_signals(lambda: 7)
    7
    """
    pressed: KeyboardInterrupt | None = None
    while True:
        try:
            result = work()
            break
        except KeyboardInterrupt as again:
            pressed = again
    if pressed is not None:
        raise pressed
    return result


def _remove_once(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    # The lock goes last: a young folder without one is taken for one that was just created.
    for inner in [inner for inner in path.iterdir() if inner.name != LOCK]:
        if inner.is_symlink() or not inner.is_dir():
            inner.unlink(missing_ok=True)
        else:
            shutil.rmtree(inner, ignore_errors=True)  # does not follow links
    shutil.rmtree(path, ignore_errors=True)
