"""Unpacking: a zip that anybody made, opened as if they meant harm."""

import os
import shutil
import stat
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from recveil.brief import brief
from recveil.errors import RecveilError, quoted, reason_of
from recveil.folders import make_folder
from recveil.locks import FOR_OWNER, NOT_FOLLOWED
from recveil.memory import in_words
from recveil.release.manifest import MANIFEST
from recveil.workbench.zipping import DESCRIPTION

# A release has a handful of files; an index of millions takes memory before anything is unpacked.
_MOST_FILES = 1_000
# Rows that people share are packed small, but not beyond all measure: what grows more is a bomb.
_GROWTH, _ALWAYS = 200, 100 * 10**6
_AT_ONCE = 1 << 20
# Other ways make gigabytes of one small piece, before anybody can count them.
_WAYS = (ZIP_STORED, ZIP_DEFLATED)
_REMEDY = "unpack it yourself, look at it, and name the folder"


def holds_release(path: Path) -> bool:
    """Say whether a file is a zip with a release in it.

    Examples
    --------
    >>> holds_release(Path("nowhere.zip"))
    False
    """
    try:
        with ZipFile(path) as archive:
            return any(PurePosixPath(name).name == MANIFEST for name in archive.namelist())
    except (OSError, BadZipFile, ValueError, NotImplementedError):
        return False


@brief
class Unpacked(NamedTuple):
    """What a zip was found to hold.

    Attributes
    ----------
    within : str
        The folder in the zip that holds the files of the release; empty if there is none.
    beside : str
        The description that lies beside that folder, which is no part of the release; empty if
        there is none.
    """

    within: str
    beside: str


def unpack_release(path: Path, folder: Path) -> Unpacked:
    """Unpack the files of a release into a folder of their own, or nothing.

    Parameters
    ----------
    path : Path
        The zip: the files themselves, or one folder with them.
    folder : Path
        Is made, for its owner alone.

    Raises
    ------
    RecveilError
        If anything in it leads elsewhere, is no plain file, stands twice, is locked by a password,
        is packed in an unusual way, or grows beyond measure.
    """
    for each in (folder.parent, folder):
        make_folder(each, exist_ok=each is not folder)
    try:
        with ZipFile(path) as archive:
            entries, found = _entries(path, archive.infolist())
            room = min(_ALWAYS + _GROWTH * path.stat().st_size, _free(folder))
            for name, entry in entries.items():
                with archive.open(entry) as packed:
                    room -= _write(packed, folder / name, room, path.name)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        # What the library raises of a damaged or strange archive is of many kinds.
        if isinstance(error, RecveilError) or not isinstance(error, Exception):
            raise
        raise RecveilError(
            f"{path.name}: cannot be unpacked ({reason_of(error)}); pack it again",
            code="release.archive",
        ) from None
    return found


def _entries(path: Path, infos: list[ZipInfo]) -> tuple[dict[str, ZipInfo], Unpacked]:
    """Return the files by the names that they get, and the one folder that holds them."""
    if len(infos) > _MOST_FILES:
        raise RecveilError(
            f"{path.name}: holds more than {_MOST_FILES:,} files; {_REMEDY}",
            code="release.too-large",
        )
    files = [info for info in infos if not info.is_dir()]
    for info in files:
        _refuse_strange(path, info)
    # The workbench's own zips bring the description of a release beside it.
    described = [info for info in files if info.filename == DESCRIPTION]
    if any(PurePosixPath(info.filename).parts[1:] for info in files):
        files = [info for info in files if info not in described]
    else:
        described = []
    folders = {PurePosixPath(info.filename).parent for info in files}
    if len(folders) != 1 or len(next(iter(folders)).parts) > 1:
        raise RecveilError(
            f"{path.name}: holds {len(folders)} folders; expected the files of one release, or one "
            f"folder with them; {_REMEDY}",
            code="release.archive",
        )
    named = {PurePosixPath(info.filename).name: info for info in files}
    # Where the file system takes upper for lower case, one would replace the other.
    if len({name.casefold() for name in named}) != len(files):
        raise RecveilError(
            f"{path.name}: a file stands in it twice; pack it again", code="release.archive"
        )
    (folder,) = folders
    beside = DESCRIPTION if described else ""
    return named, Unpacked("/".join(folder.parts), beside)


def _refuse_strange(path: Path, info: ZipInfo) -> None:
    """Refuse what leads out of the folder, or is no plain file."""
    name, mode = info.filename, info.external_attr >> 16
    parts = PurePosixPath(name).parts
    leads_out = name.startswith("/") or ".." in parts or any(mark in name for mark in "\\:\0")
    if leads_out or not parts or not name.isprintable():
        raise RecveilError(
            f"{path.name}: {quoted(name)} would lead out of its folder; it is not unpacked",
            code="release.archive",
        )
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise RecveilError(
            f"{path.name}: {quoted(name)} is a link or device, and no file; it is not unpacked",
            code="release.archive",
        )
    if info.compress_type not in _WAYS:
        raise RecveilError(
            f"{path.name}: {quoted(name)} is packed in way {info.compress_type}; expected stored "
            f"or deflated, as usual in a zip; {_REMEDY}",
            code="release.archive",
        )
    if info.flag_bits & 1:
        raise RecveilError(
            f"{path.name}: {quoted(name)} is locked by a password; {_REMEDY}",
            code="release.archive",
        )


def _write(packed: IO[bytes], place: Path, room: int, name: str) -> int:
    """Write one file, and count what really comes; return how much it was."""
    size = 0
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | NOT_FOLLOWED
    with os.fdopen(os.open(place, flags, FOR_OWNER), "wb") as file:
        while piece := packed.read(_AT_ONCE):
            size += len(piece)
            if size > room:
                raise RecveilError(
                    f"{name}: becomes more than {in_words(max(room, 0))} when it is unpacked, and "
                    f"may be a bomb; {_REMEDY}",
                    code="release.too-large",
                )
            file.write(piece)
    return size


def _free(folder: Path) -> int:
    """Return how much of the disk may be filled."""
    return max(0, shutil.disk_usage(folder).free - 10**9)
