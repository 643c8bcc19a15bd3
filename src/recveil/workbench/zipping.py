"""Zipping: the published folder of a release as a zip that is made while it is sent."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from recveil.brief import brief
from recveil.devices import refuse_devices
from recveil.errors import RecveilError, reason_of
from recveil.release.form import known_manifest
from recveil.release.manifest import MANIFEST, FileEntry

# Lies in the zip beside the folder of the release: it describes that for data portals.
DESCRIPTION = "croissant.json"
_AT_ONCE = 1 << 18
# A zip can tell when files were written, by whom and where; a release tells nothing of that.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_READABLE = 0o100644 << 16
_PACKED_ALREADY = (".parquet",)


@brief
class Zipped(NamedTuple):
    """A file that is to be sent.

    Attributes
    ----------
    name : str
        What it is called in the zip.
    path : Path
    """

    name: str
    path: Path


def published_files(folder: Path, sha256: str) -> list[Zipped]:
    """Return the files of a release as they were verified, and nothing that lies beside them.

    Parameters
    ----------
    folder : Path
        The published folder.
    sha256 : str
        Of its release.json, when it was verified.

    Raises
    ------
    RecveilError
        If anything was changed since.
    """
    changed = RecveilError(
        f"{folder.name}: was changed after it was verified; make it again, or check it on the page "
        f"Check",
        code="release.changed",
    )
    try:
        if FileEntry.of(folder / MANIFEST).sha256 != sha256:
            raise changed
        told = known_manifest(folder).files
        for name, entry in told.items():
            refuse_devices(folder / name)
            if (folder / name).is_symlink() or FileEntry.of(folder / name).sha256 != entry.sha256:
                raise changed
    except OSError as error:
        raise RecveilError(
            f"{folder.name}: cannot be read ({reason_of(error)}); make it again",
            code="input.unreadable",
        ) from error
    return [Zipped(f"{folder.name}/{name}", folder / name) for name in (*told, MANIFEST)]


def zipped(files: Iterable[Zipped]) -> Iterator[bytes]:
    """Yield a zip piece by piece; it is never whole, in memory or on the disk.

    Parameters
    ----------
    files : iterable of Zipped

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "README.md").write_text("A release.")
    ...     content = b"".join(zipped([Zipped("out/README.md", Path(folder, "README.md"))]))
    >>> ZipFile(io.BytesIO(content)).read("out/README.md")
    b'A release.'
    """
    sent = _Sent()
    with ZipFile(sent, "w") as archive:
        for name, path in files:
            info = ZipInfo(name, _NO_TIME)
            info.create_system, info.external_attr = 3, _READABLE
            info.compress_type = ZIP_STORED if name.endswith(_PACKED_ALREADY) else ZIP_DEFLATED
            with path.open("rb") as source:
                info.file_size = path.stat().st_size  # beyond 4 GB the format differs
                with archive.open(info, "w") as target:
                    while piece := source.read(_AT_ONCE):
                        target.write(piece)
                        yield sent.taken()
    yield sent.taken()


class _Sent(io.RawIOBase):
    """A stream that keeps what is written until it is taken, and cannot go back."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        content = bytes(piece)  # type: ignore[call-overload]
        self._kept += content
        return len(content)

    def taken(self) -> bytes:
        content = bytes(self._kept)
        self._kept.clear()
        return content
