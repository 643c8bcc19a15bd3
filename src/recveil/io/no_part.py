"""No part: what lies among the files of a table, and must not be read as one of them."""

import errno
import stat
from pathlib import Path

from recveil.errors import RecveilError, shortened


def is_passed_over(name: str) -> bool:
    """Say whether a name is of what writers of parts leave beside them, such as _temporary.

    Examples
    --------
    >>> is_passed_over("_temporary")
    True
    """
    return name.startswith((".", "_")) and name != ".."


def is_part(file: Path, base: Path) -> bool:
    """Say whether something is a part; what is neither that nor a folder is refused by name.

    Parameters
    ----------
    file : Path
    base : Path
        The folder of the table, in which it lies.

    Examples
    --------
    >>> is_part(Path("parts", "_temporary", "0.csv"), Path("parts"))
    False
    """
    if any(map(is_passed_over, file.relative_to(base).parts)):
        return False
    try:
        found = file.stat()
    except (FileNotFoundError, RuntimeError):
        raise _no_part(file, base, "a link that leads nowhere") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _no_part(file, base, "a link that leads to itself") from None
    if stat.S_ISDIR(found.st_mode):
        return False
    if not stat.S_ISREG(found.st_mode):
        raise _no_part(file, base, "a pipe, socket or device")
    return found.st_size > 0


def refuse_no_files(files: list[Path], base: Path) -> None:
    """Refuse what would be waited for or read twice: pipes, and two names of one file.

    Parameters
    ----------
    files : list of Path
        All that is to be read as one table.
    base : Path
        The folder in which they lie.

    Raises
    ------
    RecveilError
        For the first that is a pipe, a device or a link that leads nowhere, and for a file that
        has two names.

    Examples
    --------
    >>> refuse_no_files([], Path("netflix"))
    """
    for file in files:
        is_part(file, base)
    refuse_same(files)


def _no_part(file: Path, base: Path, what: str) -> RecveilError:
    return RecveilError(
        f"{shortened(file.relative_to(base).as_posix(), 100)}: {what}, where a part of a table was "
        f"expected; remove it, or name a pattern that leaves it out",
        code="input.parts",
    )


def refuse_folder_links(file: Path, base: Path) -> None:
    """Refuse a file behind a link to a folder: its rows may stand elsewhere among the parts.

    Examples
    --------
    >>> refuse_folder_links(Path("parts", "0.csv"), Path("parts"))
    """
    for folder in file.relative_to(base).parents:
        if (base / folder).is_symlink() and folder.parts:
            raise RecveilError(
                f"{shortened(folder.as_posix(), 100)}: a link to a folder among the parts, which "
                f"may be read twice; put the folder itself there, or remove the link",
                code="input.parts",
            )


def refuse_same(files: list[Path]) -> list[Path]:
    """Refuse two parts that are one file by links: its rows would be read twice.

    Examples
    --------
    >>> refuse_same([])
    []
    """
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        found = file.stat()
        other = seen.setdefault((found.st_dev, found.st_ino), file)
        if other is not file:
            raise RecveilError(
                f"{shortened(file.name, 80)} and {shortened(other.name, 80)}: two parts that are "
                f"one file by a link, whose rows would be read twice; remove the link",
                code="input.parts",
            )
    return files
