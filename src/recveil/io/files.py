"""The bytes of a file, packed or not, with errors that name the file."""

import codecs
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from recveil.io.worker.packing import DAMAGED, opened_unpacked, packing_of
from recveil.runtime.errors import RecveilError, first_line_of, shortened, without_secrets

_GZIP_MAGIC = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Convert errors of Python and pyarrow while reading a file to a RecveilError with its name."""
    name = path.name or str(path)  # a point has none
    try:
        yield
    except (RecveilError, MemoryError):  # a lack of memory is not a fault of the file
        raise
    except FileNotFoundError:
        raise RecveilError(
            f"{name}: no such file in {shortened(without_secrets(str(path.parent)))}; check "
            f"the path",
            code="input.not-found",
        ) from None
    except PermissionError:
        raise RecveilError(
            f"{name}: you may not read it; change its permissions or take a copy",
            code="input.unreadable",
        ) from None
    except IsADirectoryError:
        raise RecveilError(
            f"{name}: a folder, where a file was expected; name the file in it", code="input.folder"
        ) from None
    except DAMAGED as error:
        raise RecveilError(_cut_short(path, error), code="input.damaged") from None
    except (OSError, pa.ArrowException) as error:
        # pyarrow has no class of its own for gzip's errors.
        if "compress" in str(error) or "zlib" in str(error):
            raise RecveilError(_cut_short(path, error), code="input.damaged") from None
        if "Invalid UTF8" in str(error):
            raise RecveilError(
                f"{name}: it holds text that is no UTF-8; write it as UTF-8 where it comes from",
                code="input.encoding",
            ) from None
        raise RecveilError(
            f"{name}: cannot be read ({first_line_of(error)}); check that the file is complete",
            code="input.unreadable"
            if isinstance(error, OSError) and error.errno
            else "input.damaged",
        ) from None


def is_gzipped(path: Path) -> bool:
    """Return whether a file is gzipped, by its first bytes rather than its name."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP_MAGIC


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file in binary mode, decompressed if it is gzipped."""
    return cast(IO[bytes], gzip.open(path)) if is_gzipped(path) else path.open("rb")


@contextmanager
def opened_text(path: Path) -> Iterator[IO[bytes]]:
    """Open a text in any supported packing; UTF-16 with a byte order mark is converted to UTF-8."""
    with opened_unpacked(path) as file:
        head = file.read(len(codecs.BOM_UTF32_LE))
        rest = io.BufferedReader(_Joined(head, file), 1 << 18)
        is_utf_16 = head.startswith(_UTF_16) and not head.startswith(codecs.BOM_UTF32_LE)
        yield io.BufferedReader(_FromUTF16(rest, path.name)) if is_utf_16 else rest


class _Joined(io.RawIOBase):
    """The bytes already read, followed by the rest of the stream."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self.head, self.rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.head[: len(buffer)] or self.rest.read(len(buffer))
        self.head = self.head[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


class _FromUTF16(io.RawIOBase):
    """A stream of UTF-8 bytes from UTF-16 text."""

    def __init__(self, text: IO[bytes], name: str) -> None:
        self.text, self.name = text, name
        self.decoder = codecs.getincrementaldecoder("utf-16")()
        self.left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        is_end = False
        while not self.left and not is_end:
            piece = self.text.read(1 << 16)
            is_end = not piece
            try:
                self.left = self.decoder.decode(piece, final=is_end).encode()
            except UnicodeError:
                raise RecveilError(
                    f"{self.name}: it begins as UTF-16 text, but is cut short or damaged; save it "
                    f"as UTF-8 text, or fetch the file again",
                    code="input.damaged",
                ) from None
        piece, self.left = self.left[: len(buffer)], self.left[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)


def _cut_short(path: Path, error: Exception) -> str:
    return (
        f"{path.name}: its {_packing(path)} data is cut short or damaged ({first_line_of(error)}); "
        f"fetch the file again"
    )


def _packing(path: Path) -> str:
    """Return the packing of a file; gzip if it no longer exists, or was a pipe."""
    with suppress(OSError):
        return packing_of(path) or "gzip"
    return "gzip"
