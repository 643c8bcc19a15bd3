"""The bytes and the lines of a file, packed or not, validated while they are read."""

import codecs
import gzip
import io
import re
import shlex
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import pyarrow as pa

from recveil.io.worker.packing import DAMAGED, opened_unpacked, packing_of
from recveil.runtime.errors import RecveilError, first_line_of, shortened, without_secrets
from recveil.runtime.memory import reject_beyond_limit

_GZIP_MAGIC = b"\x1f\x8b"
_LONGEST_IN_SHELL = 90
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


# The remedy for a field that seems to span lines, at the end of an error.
DOUBLE_QUOTE = "remove a stray quote, or double it within a quoted field"
STRAY_QUOTE = f"{DOUBLE_QUOTE}; write a text in one line, or remove its column from the file"


def name_in_shell(path: Path) -> str:
    """Return a file's path for a command that reads text; FILE if it is packed or the path long."""
    name = shlex.quote(str(path))
    is_packed = path.suffix == ".gz" or packing_of(path) is not None
    return "FILE" if is_packed or len(name) > _LONGEST_IN_SHELL else name


class Place(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"


class Spans(NamedTuple):
    """Number of multi-line quoted fields, in a file or in all parts of a table."""

    # How many are in columns other than the user, item, rating and time
    n_fields: int
    # Number of lines, without blank ones between rows, and of the rows and headers in them
    n_lines: int
    n_rows: int
    n_headers: int
    # Where the first of them opens and ends: the start of an error
    first: str = ""
    # Whether one of them has a delimiter where another row would have one
    has_marks: bool = False

    def __add__(self, other: "Spans") -> "Spans":  # type: ignore[override]
        fields, lines, rows, headers = map(int.__add__, self[:4], other[:4])
        has_marks = self.has_marks or other.has_marks
        return Spans(fields, lines, rows, headers, self.first or other.first, has_marks)

    def describe(self, name: str) -> list[str]:
        """Return the counts as a sentence, if there are multi-line fields.

        >>> print(*Spans(2, 7, 4, 1).describe("r.csv"))
        r.csv: 4 rows and a header take 7 lines, blank lines between rows not counted, because 2
        quoted fields of other columns contain line breaks.
        """
        if self.n_fields == 1 and self.has_marks:
            raise RecveilError(
                f"{self.first}, as no other field of the table does; {STRAY_QUOTE}",
                code="input.quote-spans-lines",
            )
        headers = " and a header" if self.n_headers == 1 else f" and {self.n_headers:,} headers"
        fields = f"{self.n_fields:,} quoted fields of other columns contain"
        if self.n_fields == 1:
            fields = "1 quoted field of another column contains"
        return [
            f"{name}: {self.n_rows:,} rows{headers if self.n_headers else ''} take "
            f"{self.n_lines:,} lines, blank lines between rows not counted, because {fields} line "
            f"breaks."
        ] * (self.n_fields > 0)


class Places:
    """Finds the file and line of each row of a table."""

    def __init__(self, walk: Callable[[], Iterator[tuple[str, int]]]) -> None:
        self._walk = walk

    def locate(self, row: int) -> str:
        """Return the place of the row at a position, counted from 0."""
        starts, places = self._runs
        run = bisect_right(starts, row) - 1
        file, line = places[run]
        return str(Place(file, line + int(row) - starts[run]))

    @cached_property
    def _runs(self) -> tuple[list[int], list[tuple[str, int]]]:
        """Return the rows that do not directly follow the previous row's line, and their places."""
        starts: list[int] = []
        places: list[tuple[str, int]] = []
        expected = ("", 0)
        for row, (file, line) in enumerate(self._walk()):
            if (file, line) != expected:
                starts.append(row)
                places.append((file, line))
            expected = (file, line + 1)
        return starts, places


LONGEST_LINE = 1 << 24
# Bytes of a row: ids, rating and time, and temporary data while rows are sorted.
_A_ROW = 36
# Blocks of text that are read ahead or being split.
_UNDER_WAY = 1 << 26
_END_BYTES = 1 << 13
_SPACES, _AT_ENDS = re.compile(rb"[ \t]+"), re.compile(rb" ?([\r\n]+) ?")


@contextmanager
def watched_text(
    path: Path,
    *,
    keeps_text: bool = False,
    a_row: int | None = None,
    deferred: bool = False,
    squeezed: bool = False,
    longest: int | None = LONGEST_LINE,
) -> Iterator[IO[bytes]]:
    r"""Open a text, unpacked if needed, and validate its bytes as they are read."""
    with (
        opened_text(path) as raw,
        _Watched(raw, path.name, int(keeps_text), _A_ROW if a_row is None else a_row) as watched,
        io.BufferedReader(watched) as text,
    ):
        watched.is_deferring = deferred
        watched.squeeze = _Squeeze() if squeezed else None
        watched.longest = longest
        try:
            yield text
        finally:
            if watched.problem is not None:
                raise watched.problem


class _Watched(io.RawIOBase):
    """A stream that validates each piece that is read."""

    def __init__(self, raw: Any, name: str, a_byte: int, a_row: int) -> None:
        self.raw = raw
        self.name = name
        self.a_byte, self.a_row = a_byte, a_row
        self.allocated = pa.total_allocated_bytes()
        self.lines = 0
        self.bytes = 0
        self.has_quotes = False
        self.end = b""  # of the bytes read
        self.of_line = 0  # bytes since the last line end
        self.is_deferring = False
        self.problem: RecveilError | None = None
        self.squeeze: _Squeeze | None = None
        self.longest: int | None = LONGEST_LINE

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = len(buffer) - (self.squeeze is not None)  # a space that was held back may precede it
        piece = self._next(room)
        while self.squeeze is not None and piece:
            if shorter := self.squeeze(piece):
                piece = shorter
                break
            piece = self._next(room)
        buffer[: len(piece)] = piece
        return len(piece)

    def _next(self, most: int) -> bytes:
        """Read a piece and validate it."""
        if self.problem is not None:
            return b""
        piece: bytes = self.raw.read(max(1, most))
        try:
            self._look_at(piece)
        except RecveilError as problem:
            if not self.is_deferring:
                raise
            self.problem = problem
            return b""
        return piece

    def _look_at(self, piece: bytes) -> None:
        if (at := piece.find(b"\0")) >= 0:
            raise RecveilError(
                f"{self._place(piece[:at])}: holds a NUL byte, which no text has; fix or drop "
                f"the line, or fetch the file again",
                code="input.line",
            )
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        self.of_line = self.of_line + len(piece) if end < 0 else len(piece) - end - 1
        if self.longest is not None and self.of_line > self.longest:
            raise RecveilError(
                f"{self._place(piece)}: has more than {self.longest:,} bytes; expected one rating "
                f"a line",
                code="input.line",
            )
        self.bytes += len(piece)
        self.lines += _count_lines(piece) - (self.end.endswith(b"\r") and piece.startswith(b"\n"))
        self.has_quotes = self.has_quotes or b'"' in piece
        self.end = (self.end + piece[-_END_BYTES:])[-_END_BYTES:]
        needed = self.lines * self.a_row + self.bytes * self.a_byte
        reject_beyond_limit(f"{self.name}: its rows", needed, at_least=True)
        # Memory for the parsed text: long ids, and times as text, take more than the estimate per
        # row.
        made = pa.total_allocated_bytes() - self.allocated - _UNDER_WAY
        reject_beyond_limit(f"{self.name}: its values", made, at_least=True)

    @property
    def last_line(self) -> str:
        """The last line, or its end if it is long, without blank lines after it."""
        text = self.end.decode(errors="replace").rstrip("\r\n")
        return re.split(r"[\r\n]", text)[-1]

    def _place(self, before: bytes) -> Place:
        """Return the line in which the next piece continues after these bytes."""
        return Place(self.name, self.lines + _count_lines(before) + 1)


class _Squeeze:
    """Removes redundant spaces, piece by piece."""

    def __init__(self) -> None:
        self.is_start = True  # of a line
        self.is_spaced = False  # a space is held back, as the line may end there

    def __call__(self, piece: bytes) -> bytes:
        text = _SPACES.sub(b" ", b" " * self.is_spaced + piece)
        text = _AT_ENDS.sub(rb"\1", text)
        if self.is_start:
            text = text.lstrip(b" ")
        self.is_spaced = bool(piece) and text.endswith(b" ")
        if self.is_spaced:
            text = text[:-1]
        if text:
            self.is_start = text.endswith((b"\n", b"\r"))
        return text


def _count_lines(piece: bytes) -> int:
    r"""Count line ends: \n, \r and \r\n.

    >>> _count_lines(b"1\n2\r3\r\n4")
    3
    """
    return piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n")
