"""Watched: the bytes of a text as they are read, refused where they are no table of ratings."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from recveil.errors import RecveilError
from recveil.io.files import is_gzipped
from recveil.io.lines import Place
from recveil.memory import refuse_beyond_limit

LONGEST_LINE = 1 << 24
# What a row becomes: ids, rating and time, and what stands beside them while they are put in order.
_A_ROW = 36
# Blocks of text that are read ahead, and being split.
_UNDER_WAY = 1 << 26
_NEWLINE = 10


@contextmanager
def watched_text(
    path: Path, *, keeps_text: bool = False, a_row: int = _A_ROW, deferred: bool = False
) -> Iterator[IO[bytes]]:
    r"""Open a text, gunzipped if need be, whose bytes are looked at as they are read.

    Parameters
    ----------
    path : Path
    keeps_text : bool
        Whether whoever reads keeps all of its text, and not only what ratings need.
    a_row : int
        How many bytes each line becomes beside its text; as many as a rating's, if not given.
    deferred : bool
        Whether a text seems to end where it is refused, and the error comes at the end of the
        block: threads of pyarrow that wait for more would wait for ever.

    Raises
    ------
    MemoryLimitError
        While it is read, once its rows take more memory than they may.
    RecveilError
        For a byte that no text has, and for a line without end.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_bytes(b"user,item,rating\n7,1\x002,4\n")
    ...     with watched_text(path) as text:
    ...         text.read()
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: ratings.csv line 2: holds a NUL byte, which no text has; mend ...
    """
    packing = "gzip" if is_gzipped(path) else None
    with (
        pa.OSFile(os.fsencode(path)) as file,  # whatever bytes its name is made of
        pa.input_stream(file, compression=packing) as raw,
        _Watched(raw, path.name, int(keeps_text), a_row) as watched,
        io.BufferedReader(watched) as text,
    ):
        watched.is_deferring = deferred
        try:
            yield text
        finally:
            if watched.problem is not None:
                raise watched.problem


class _Watched(io.RawIOBase):
    """Looks at each piece that is read."""

    def __init__(self, raw: Any, name: str, a_byte: int, a_row: int) -> None:
        self.raw = raw
        self.name = name
        self.a_byte, self.a_row = a_byte, a_row
        self.allocated = pa.total_allocated_bytes()
        self.lines = 0
        self.bytes = 0
        self.of_line = 0  # bytes since the last end of a line
        self.is_deferring = False
        self.problem: RecveilError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.problem is not None:
            return 0
        piece = self.raw.read(len(buffer))
        try:
            self._look_at(piece)
        except RecveilError as problem:
            if not self.is_deferring:
                raise
            self.problem = problem
            return 0
        buffer[: len(piece)] = piece
        return len(piece)

    def _look_at(self, piece: bytes) -> None:
        if (at := piece.find(b"\0")) >= 0:
            raise RecveilError(
                f"{self._place(piece[:at])}: holds a NUL byte, which no text has; mend or drop "
                f"the line, or fetch the file again"
            )
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        self.of_line = self.of_line + len(piece) if end < 0 else len(piece) - end - 1
        if self.of_line > LONGEST_LINE:
            raise RecveilError(
                f"{self._place(piece)}: has more than {LONGEST_LINE:,} bytes; expected one rating "
                f"a line"
            )
        self.bytes += len(piece)
        self.lines += _count_lines(piece)
        needed = self.lines * self.a_row + self.bytes * self.a_byte
        refuse_beyond_limit(f"{self.name}: its rows", needed, at_least=True)
        # What has been made of it: of long ids, and of times as text, more than what rows take.
        made = pa.total_allocated_bytes() - self.allocated - _UNDER_WAY
        refuse_beyond_limit(f"{self.name}: its values", made, at_least=True)

    def _place(self, before: bytes) -> Place:
        """Return the line in which the next piece goes on after so many bytes."""
        return Place(self.name, self.lines + _count_lines(before) + 1)


def _count_lines(piece: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(piece, np.uint8) == _NEWLINE))
