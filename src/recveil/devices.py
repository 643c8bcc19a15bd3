"""Devices: pipes and devices in the place of a file: they may never end, and are not replaced."""

import stat
from pathlib import Path


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


def refuse_devices(*paths: Path) -> None:
    """Raise an OSError if one of some paths leads to a pipe or a device, which may never end.

    Examples
    --------
    >>> refuse_devices(Path("page.html"), Path("nowhere"))
    """
    for path in paths:
        if is_device(path):
            raise OSError(f"{path.name} is a pipe or a device, and no file")
