"""Slow passes over text, line by line, made only to say where something stands."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple


class Place(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"


class Places:
    """Says in which line of which file each row of a table stands.

    Parameters
    ----------
    walk : callable
        Starts a new pass over the files and yields the file and the line of each row in turn.

    Examples
    --------
    >>> places = Places(lambda: iter([("a.csv", 2), ("a.csv", 3), ("a.csv", 7)]))
    >>> places.locate(1), places.locate(2)
    ('a.csv line 3', 'a.csv line 7')
    """

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
        """The rows that do not stand in the line after the row before, and their places."""
        starts: list[int] = []
        places: list[tuple[str, int]] = []
        expected = ("", 0)
        for row, (file, line) in enumerate(self._walk()):
            if (file, line) != expected:
                starts.append(row)
                places.append((file, line))
            expected = (file, line + 1)
        return starts, places
