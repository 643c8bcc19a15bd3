"""Own folder: the folder of a project, which nobody else may have put anything into.

Whatever stands in a project is believed: files in it are read, written and removed. So a folder
that somebody else prepared must not lead out of itself, and nothing that its database says is
taken for a path to remove.
"""

import os
import stat
from pathlib import Path

from recveil.errors import RecveilError, reason_of
from recveil.locks import FOR_OWNER, NOT_FOLLOWED, is_ours, lock

DATABASE, _LOCK = "project.sqlite", "lock"
ONLY_OWNER = 0o700
_WRITABLE_BY_OTHERS = 0o022


def make_folder(folder: Path) -> None:
    """Make the folder of a project, or refuse one that is somebody else's or holds other things.

    Parameters
    ----------
    folder : Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     make_folder(Path(folder, "project"))
    ...     print(oct(Path(folder, "project").stat().st_mode & 0o777))
    0o700
    """
    try:
        folder.mkdir(mode=ONLY_OWNER, parents=True, exist_ok=True)
        if not is_ours(folder.stat()):
            raise RecveilError(
                f"{folder}: is another user's folder; work as that user, or name a folder of your "
                f"own",
                code="workbench.folder",
            )
        is_project = (folder / DATABASE).is_file() or not any(folder.iterdir())
        if is_project:
            folder.chmod(ONLY_OWNER)
    except OSError as error:
        raise RecveilError(
            f"{folder}: cannot be the folder of a project ({reason_of(error)}); name another",
            code="workbench.folder",
        ) from None
    if not is_project:
        raise RecveilError(
            f"{folder}: holds other things, and no project (no {DATABASE}); name a new folder",
            code="workbench.folder",
        )


def take(folder: Path) -> int:
    """Lock a project's folder, and refuse what others put there; the lock goes with this process.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    int
        The descriptor that holds the lock.
    """
    try:
        descriptor = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | NOT_FOLLOWED, FOR_OWNER)
    except OSError as error:
        raise RecveilError(
            f"{folder / _LOCK}: cannot be locked ({reason_of(error)}); name another folder",
            code="workbench.folder",
        ) from None
    try:
        if lock(descriptor, wait=False) is False:
            raise RecveilError(
                f"{folder}: is open in another workbench; look for its page, end it, or name "
                f"another folder",
                code="output.locked",
            )
        _refuse_planted(folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def within(folder: Path, *names: str) -> Path:
    """Return a path within a project, or refuse one that leads elsewhere.

    Parameters
    ----------
    folder : Path
        Of the project, its real path.
    *names : str
        Of a folder in it, a folder in that, and so on.

    Examples
    --------
    >>> within(Path("/project"), "jobs", "7").as_posix()
    '/project/jobs/7'
    >>> within(Path("/project"), "jobs", "..", "..", "letters")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: /project/jobs/../../letters: leads out of the project; remove ...
    """
    path = folder.joinpath(*names)
    are_names = all(name not in ("", "..") and Path(name).name == name for name in names)
    if not are_names or os.path.realpath(path) != str(path):
        raise RecveilError(
            f"{path}: leads out of the project; remove this link, or name another folder",
            code="workbench.folder",
        )
    return path


def _refuse_planted(folder: Path) -> None:
    """Refuse a project in which anything is a link, or not of whoever works with it."""

    def fail(error: OSError) -> None:
        raise RecveilError(
            f"{error.filename}: cannot be looked at ({reason_of(error)}); name another folder",
            code="workbench.folder",
        ) from None

    for place, folders, files in os.walk(folder, onerror=fail):
        for name in (*folders, *files):
            path = Path(place, name)
            found = path.lstat()
            if stat.S_ISLNK(found.st_mode):
                what = "a link"
            elif not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                what = "neither a file nor a folder"
            elif not is_ours(found):
                what = "another user's"
            elif stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                what = "a file that has another name, too (a hard link)"
            else:
                # Whoever has it open already could put something there later.
                if stat.S_ISDIR(found.st_mode) and found.st_mode & _WRITABLE_BY_OTHERS:
                    path.chmod(stat.S_IMODE(found.st_mode) & ~_WRITABLE_BY_OTHERS)
                continue
            raise RecveilError(
                f"{path}: is {what}, which no workbench puts into a project; remove it, or name "
                f"another folder",
                code="workbench.folder",
            )
