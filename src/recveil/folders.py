"""Folders: made so that their owner can work in them, and found again once they were renamed."""

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path


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
