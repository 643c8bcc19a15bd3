"""Devices: pipes and devices in the place of a file: they may never end, and are not replaced."""

import os
import stat
from pathlib import Path

from recveil.errors import RecveilError

# What recveil writes beside ratings, such as release.json, has some thousand bytes.
MOST_BYTES = 1_000_000


def is_device(path: Path) -> bool:
    """Say whether a path leads to a pipe or a device, to be written to and never replaced.

    Examples
    --------
    >>> is_device(Path("/dev/stdout")), is_device(Path("page.html"))
    (True, False)
    """
    # In /dev/shm stand files like others, which are held in memory.
    top = path.parts[1:3] if path.is_absolute() else ()
    if top[:1] in (("dev",), ("proc",)) and top != ("dev", "shm"):
        return path.exists()
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def write_to_device(path: Path, text: str) -> None:
    """Write text to a pipe or a device.

    Raises
    ------
    RecveilError
        If it takes no more, as ``/dev/full``, or cannot be written.

    Examples
    --------
    >>> write_to_device(Path("/dev/null"), "all of it")
    """
    try:
        path.write_text(text, "utf-8", "replace")
    except BrokenPipeError:  # whoever reads a pipe may go
        raise
    except OSError as error:
        raise RecveilError(
            f"{path}: cannot be written ({error.strerror or error}); name a plain file, or another "
            f"device"
        ) from None


def refuse_devices(*paths: Path) -> None:
    """Raise an OSError if one of some paths leads to a pipe or a device, which may never end.

    Examples
    --------
    >>> refuse_devices(Path("page.html"), Path("nowhere"))
    """
    for path in paths:
        if is_device(path):
            raise OSError(f"{path.name} is a pipe or a device, and no file")


def read_whole(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file that is known to be small, whoever wrote it.

    Parameters
    ----------
    path : Path
    most : int
        So many bytes it has at most.

    Raises
    ------
    OSError
        If it cannot be read, has more bytes, or is a pipe or a device, which may never end.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "release.json")
    ...     _ = file.write_text("{}")
    ...     read_whole(file), read_whole(file, most=1)
    Traceback (most recent call last):
    ...
    OSError: release.json has more than 1 bytes, the most that it may have
    """
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path.name} is a pipe or a device, and no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(f"{path.name} has more than {most:,} bytes, the most that it may have")
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe, too, but do not wait for somebody who writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
