"""Operations: counts what a process does to files, and strikes before the one of a given number.

Python reports of them by audit hooks. What has no such event is wrapped: what a file holds at first
(nothing), what is written to a lock, and what Arrow's writers do, which open files by themselves.
"""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_EVENTS = {
    "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link",
    "os.symlink", "os.truncate", "os.utime", "fcntl.flock",
}  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Operations:
    """Counts, and strikes once.

    Parameters
    ----------
    folder : Path
        Files elsewhere do not count.
    strikes : dict of {int: callable}
        What to do before the operation of that number, from 1 on.
    reads : tuple of str, callable or None
        A file, and what to do, given how often it was opened to be read; none if None.
    """

    def __init__(
        self,
        folder: Path,
        strikes: dict[int, Callable[[], object]] | None = None,
        reads: tuple[str, Callable[[int], object]] | None = None,
    ) -> None:
        self.folder = str(folder)
        self.strikes = strikes or {}
        self.reads = reads
        self.count = 0
        self.n_read = 0

    def install(self) -> None:
        """Count from now on, until the process ends: a hook cannot be taken away."""
        import pyarrow.csv
        import pyarrow.parquet as pq

        sys.addaudithook(self._hear)
        self._wrap(os, "write")
        self._wrap(pq.ParquetWriter, "write_table")
        self._wrap(pq.ParquetWriter, "close")
        # Its methods cannot be wrapped; so what comes next counts.
        self._wrap(pyarrow.csv, "CSVWriter", after=True)
        opened = io.open

        def open_and_tick(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            stream = opened(file, mode, *arguments, **options)
            if set(mode) & set("wax+") and self._is_ours(file):
                self.tick()  # it stands there, and is empty
            return stream

        io.open = open_and_tick

    def tick(self) -> None:
        """Count one operation, which is about to be done."""
        self.count += 1
        strike = self.strikes.pop(self.count, None)
        if strike is not None:
            strike()

    def _wrap(self, owner: Any, name: str, *, after: bool = False) -> None:
        wrapped = getattr(owner, name)

        def ticking(*arguments: Any, **options: Any) -> Any:
            self.tick()
            result = wrapped(*arguments, **options)
            if after:
                self.tick()
            return result

        setattr(owner, name, ticking)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int) or not self._is_ours(path):
                return
            if isinstance(flags, int) and flags & _WRITES:
                self.tick()
            elif self.reads is not None and os.fsdecode(path).endswith(self.reads[0]):
                self.n_read += 1
                self.reads[1](self.n_read)
        elif event in _EVENTS and self._is_ours(arguments[0]):
            self.tick()

    def _is_ours(self, path: Any) -> bool:
        """Say whether a path lies in the folder; relative ones do, as the process stands there."""
        if not isinstance(path, str | bytes | os.PathLike):
            return isinstance(path, int)
        named = os.fsdecode(path)
        return not named.startswith("/") or named.startswith(self.folder)
