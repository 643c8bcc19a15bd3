"""Decompression of gzip, bzip2, xz, zstd, and zip archives with one table, as a stream."""

import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from gzip import BadGzipFile
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from recveil.runtime.memory import memory_limit, reject_for_memory

# Magic bytes. An id may be "BZh9", but no block of bzip2 follows it.
_STARTS = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17\x72\x45\x38\x50\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
    "zip": re.compile(rb"PK\x03\x04"),
}
PACKINGS = tuple(_STARTS)
_OF_PYARROW = {"gzip": "gzip", "bzip2": "bz2", "zstd": "zstd"}
_HEAD_BYTES = 16
_PIECE = 1 << 18
# Files in an archive that are not tables, added by macOS or a publisher.
_NO_TABLE = re.compile(
    r"(.*/)?(\.[^/]*|(readme|licen[cs]e|copying|citation|datapackage)[^/]*|thumbs\.db)|"
    r"__MACOSX/.*|.*(/|\.(md|html?|pdf))",
    re.IGNORECASE,
)
# Flags of a file in an archive: encrypted, patch data, strongly encrypted.
_UNUSUAL = 1 | 1 << 5 | 1 << 6
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
# Errors for truncated or damaged data; pyarrow raises an OSError of its own.
DAMAGED = (EOFError, zlib.error, BadGzipFile, lzma.LZMAError, zipfile.BadZipFile)


def packing_of(path: Path) -> str | None:
    r"""Return the packing, such as "xz" or "zip", by a file's first bytes; None for other files.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_bytes(lzma.compress(b"1,7,4\n"))
    ...     packing_of(path)
    'xz'
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return next((name for name, start in _STARTS.items() if start.match(head)), None)


def tables_in(names: Iterable[str]) -> list[str]:
    """Return the files of an archive that may be tables; licences and macOS metadata are excluded.

    >>> tables_in(["ml/", "ml/ratings.csv", "ml/README.txt", "__MACOSX/ml/._ratings.csv"])
    ['ml/ratings.csv']
    """
    return [name for name in names if not _NO_TABLE.fullmatch(name)]


@contextmanager
def opened_unpacked(path: Path) -> Iterator[IO[bytes]]:
    r"""Open a file for reading, decompressed as a stream.

    Truncated or damaged data, an archive of several tables, or one that cannot be unpacked, raises
    EOFError, zlib.error, LZMAError, BadZipFile or OSError, on opening or while reading.
    """
    packing = packing_of(path)
    with ExitStack() as stack:
        if packing in _OF_PYARROW:
            file = stack.enter_context(pa.OSFile(os.fsencode(path)))
            raw = stack.enter_context(pa.input_stream(file, compression=_OF_PYARROW[packing]))
            # For damaged data, pyarrow's `read` never frees the memory of a piece.
            yield io.BufferedReader(_Unpacked(raw.read_buffer), _PIECE)
            return
        plain = stack.enter_context(path.open("rb"))
        if packing == "xz":
            yield io.BufferedReader(_Unpacked(_XZ(plain, path.name).read), _PIECE)
        elif packing == "zip":
            archive = stack.enter_context(opened_archive(plain))
            yield stack.enter_context(_member(archive))
        else:
            yield plain


def opened_archive(file: Path | IO[bytes]) -> zipfile.ZipFile:
    """Open a zip archive, for a ``with`` statement; BadZipFile for any that Python cannot read."""
    try:
        return zipfile.ZipFile(file)
    except (UnicodeDecodeError, NotImplementedError) as error:
        raise zipfile.BadZipFile(f"its list of files cannot be read ({error})") from None


def _member(archive: zipfile.ZipFile) -> Any:
    """Open the one table of an archive."""
    tables = tables_in(archive.namelist())
    if len(tables) != 1:
        raise zipfile.BadZipFile(f"{len(tables)} tables, where one was expected")
    about = archive.getinfo(tables[0])
    if about.flag_bits & _UNUSUAL or about.compress_type not in _METHODS:
        raise zipfile.BadZipFile("it is encrypted, or packed in an unusual way")
    try:
        return archive.open(about)
    except (UnicodeDecodeError, NotImplementedError) as error:
        raise zipfile.BadZipFile(f"its table cannot be opened ({error})") from None


class _Unpacked(io.RawIOBase):
    """A raw stream over a function that returns up to as many bytes as requested."""

    def __init__(self, read: Any) -> None:
        self.read_some = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = memoryview(self.read_some(len(buffer))).cast("B")
        buffer[: len(piece)] = piece
        return len(piece)


class _XZ:
    """Decompresses xz data of one or more streams within the memory limit."""

    def __init__(self, packed: IO[bytes], name: str) -> None:
        self.packed, self.name = packed, name
        self.stream = self._new()

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory_limit())

    def read(self, most: int) -> bytes:
        piece = b""
        while not piece:
            more = self.stream.unused_data if self.stream.eof else b""
            if self.stream.eof or self.stream.needs_input:
                more = more or self.packed.read(_PIECE)
                if self.stream.eof:
                    more = more.lstrip(b"\0")  # zeros may separate streams
                if not more:
                    if self.stream.eof:
                        return b""
                    raise EOFError("the data end too early")
                if self.stream.eof:
                    self.stream = self._new()
            try:
                piece = self.stream.decompress(more, most)
            except lzma.LZMAError as error:
                if "Memory" in str(error):
                    reject_for_memory(f"{self.name}: its xz data", memory_limit(), at_least=True)
                raise
        return piece
