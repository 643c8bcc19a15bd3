"""Beside: what is being written stands beside its target, locked for as long as its writer lives.

Nobody else can read it until it is whole, and nobody else can ever write it, whatever the umask. No
file is put into a release, which is to be published as it is.

What nobody holds the lock of any more was left by a killed run, and the next run removes it.
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
from recveil.runtime.locks import FOR_OWNER, LOCK, abandoned, held


def make_folder(path: Path, mode: int = 0o700, *, exist_ok: bool = False) -> None:
    """Make a folder in which its owner may do all, also under a umask that takes from the owner.

    Parameters
    ----------
    path : Path
    mode : int
        What others may do, as far as the umask lets them.
    exist_ok : bool
        Leave what stands there as it is.

    Raises
    ------
    OSError
        If it cannot be made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     make_folder(Path(folder, "own"))
    ...     print(oct(Path(folder, "own").stat().st_mode & 0o777))
    0o700
    """
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
    """A folder that is kept open while something is written in it.

    Where the system cannot keep folders open, it is found by its path alone.

    Parameters
    ----------
    path : Path

    Raises
    ------
    OSError
        If there is no such folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "sub").mkdir()
    ...     with Parent(Path(folder, "sub")) as parent:
    ...         _ = Path(folder, "sub").rename(Path(folder, "moved"))
    ...         parent.has_gone()
    True
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        can_open = {os.stat, os.unlink} <= os.supports_dir_fd
        # To reach what is in it, nobody needs the right to list it.
        how = getattr(os, "O_PATH", os.O_RDONLY)
        self._descriptor = os.open(path, how) if can_open else None

    def __enter__(self) -> "Parent":
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def has_gone(self) -> bool:
        """Say whether another folder, or none, stands at its path now."""
        with suppress(OSError):
            found = self._path.stat()
            return self._descriptor is not None and not os.path.samestat(
                os.fstat(self._descriptor), found
            )
        return True

    def remove(self, name: str) -> None:
        """Remove what has a name in it, wherever it stands now; that must be no only copy."""
        at = self._descriptor
        if at is None:
            return
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                shutil.rmtree(name, ignore_errors=True, dir_fd=at)
            else:
                os.unlink(name, dir_fd=at)


# What stands in every release, and what is written in it; its home is `recveil.release.manifest`.
_SIGN, _SIGN_HOLDS, _SIGN_BYTES = "release.json", b"recveil-release-", 4096
_Result = TypeVar("_Result")
# How what is being written is called, and the lock beside a target: a folder of somebody's own of
# such a name would be taken for what a killed run left.
_OUR_NAMES = re.compile(r"\..+\.((partial|layout)-([0-9a-f]{8}|lock)|[0-9a-f]{8}\.tmp)", re.DOTALL)
# Finishes or undoes what was begun in a folder, and says whether that is done.
Settle: TypeAlias = Callable[[Path], bool]


def write_atomically(path: str | PathLike[str], write: Callable[[Path], object]) -> None:
    """Let a file be written beside its target and put it there; if this fails, all is as it was.

    Its owner alone can read it, whatever the umask: what is written so tells of people.

    Parameters
    ----------
    path : str or path
        What stands there is replaced. A link stays a link, and its target is replaced.
    write : callable
        Writes the file whose path it gets.

    Raises
    ------
    RecveilError
        If the file cannot be written or renamed, would stand in a release, or if another user's
        link leads there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "page.html")
    ...     write_atomically(target, lambda file: file.write_text("all of it"))
    ...     target.read_text()
    'all of it'
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
        with temporary_file_near(target) as beside:
            write(beside)
    except OSError as error:
        raise RecveilError(
            f"{target.name}: cannot be written in {target.parent} "
            f"({error.strerror or error}); choose another place",
            code="machine.disk" if error.errno == errno.ENOSPC else "output.not-writable",
        ) from None


def reject_in_release(path: str | PathLike[str]) -> None:
    """Raise a RecveilError if a path leads into a release, which is to be published as it is.

    So it does for a name that no output can have, as what is being written is called so.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "release.json").write_text('{"format": "recveil-release-3"}')
    ...     try:
    ...         reject_in_release(Path(folder, "notes", "ratings.csv"))
    ...     except RecveilError as error:
    ...         print(str(error).partition(" is ")[2])
    a release, to be published; choose an output outside
    """
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
        # Far above, somebody else may have a file of that name.
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
    """Give a file to write to, and put it into the target's place if all went well.

    Its owner alone can read it. However it ends, by an error, Ctrl-C or a signal, nothing else is
    left. What killed runs left beside the same target is removed.

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
    ...     with temporary_file_near(target) as beside:
    ...         _ = beside.write_text("all of it")
    ...         target.exists()
    ...     target.read_text(), [file.name for file in Path(folder).iterdir()]
    False
    ('all of it', ['page.html'])
    """
    sweep_temporary(target)
    beside = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    with _removed_in_the_end([beside]), held(beside):
        yield beside
        beside.chmod(FOR_OWNER)  # whoever wrote it may have made it anew
        with placing(target, beside):
            beside.replace(target)


def sweep_temporary(target: Path) -> None:
    """Remove what killed runs left beside a target.

    Examples
    --------
    >>> sweep_temporary(Path("nowhere", "page.html"))
    """
    with suppress(OSError):
        sweep(target.parent, temporary_names(re.escape(target.name)))


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
    ...     write_atomically(Path(folder, "page.html"), lambda file: file.write_text("all"))
    >>> [path.name for path in placed_since(before)]
    ['page.html']
    """
    return _Placed.paths[first:]


def temporary_names(target: str = ".*") -> str:
    """Return a regular expression for the names of what `temporary_file_near` gives for a target.

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
def temporary_folder_near(
    parent: Path, prefix: str, settle: Settle | None = None
) -> Iterator[Path]:
    """Give a folder that its owner alone can read; it is gone when the block ends, however it ends.

    Parameters
    ----------
    parent : Path
        Where it stands.
    prefix : str
        What its name begins with; see `sweep`.
    settle : callable, optional
        Called with the folder before it is removed, which it is only if this returns True.

    Raises
    ------
    OSError
        If the folder cannot be made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as parent:
    ...     with temporary_folder_near(Path(parent), ".work-") as folder:
    ...         folder.is_dir()
    ...     folder.exists()
    True
    False
    """
    folder = parent / f"{prefix}{uuid4().hex[:8]}"
    left = [folder]
    with _removed_in_the_end(left, is_settled=settle is not None):
        make_folder(folder)
        with held(folder / LOCK), _settled(left, settle):
            yield folder


@contextmanager
def _removed_in_the_end(left: list[Path], *, is_settled: bool = False) -> Iterator[None]:
    """Remove some files or folders, also where somebody has renamed the folder that they stand in.

    What had to be settled first was settled by its path, and stays if it is not there any more.
    """
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
    """Finish or undo in the end what was begun in the folders; keep those where this fails."""
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
    r"""Remove what killed runs left in a folder; what somebody still works on stays.

    Parameters
    ----------
    parent : Path
    names : str
        A regular expression that the whole names of such files and folders match.
    settle : callable, optional
        Called with the path of each before it is removed, to finish what was begun; what it does
        not return True for stays.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as parent:
    ...     _ = Path(parent, ".work-0").write_text("what a killed run left")
    ...     with temporary_folder_near(Path(parent), ".work-") as folder:
    ...         sweep(Path(parent), r"\.work-\w+")
    ...         [path == folder for path in Path(parent).iterdir()]
    [True]
    """
    for path in list(parent.iterdir()):
        if re.fullmatch(names, path.name) and not path.is_symlink():
            with abandoned(path) as is_abandoned:
                if is_abandoned and (settle is None or settle(path)):
                    _remove(path)


def _remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, also if somebody presses Ctrl-C again."""
    with suppress(OSError):
        in_spite_of_signals(lambda: _remove_once(path))


def in_spite_of_signals(work: Callable[[], _Result]) -> _Result:
    """Do what can be done again until it is done; a Ctrl-C meanwhile is raised in the end.

    Examples
    --------
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
    # The lock goes last: what has none, and is young, is taken for something that was just made.
    for inner in [inner for inner in path.iterdir() if inner.name != LOCK]:
        if inner.is_symlink() or not inner.is_dir():
            inner.unlink(missing_ok=True)
        else:
            shutil.rmtree(inner, ignore_errors=True)  # it never follows a link
    shutil.rmtree(path, ignore_errors=True)
