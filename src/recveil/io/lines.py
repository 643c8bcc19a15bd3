"""Slow passes over text, line by line, made only to say where something stands."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from recveil.errors import RecveilError

# What to do about a field that seems to span lines, the end of an error.
DOUBLE_QUOTE = "remove a stray quote, or double it within a quoted field"
STRAY_QUOTE = f"{DOUBLE_QUOTE}; write a text in one line, or leave its column out"


class Place(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"


class Spans(NamedTuple):
    """How many quoted fields span lines, in a file or in all parts of a table.

    Attributes
    ----------
    n_fields : int
        How many of them are in columns other than the user, item, rating and time.
    n_lines, n_rows, n_headers : int
        How many lines, without blank ones between rows, hold how many rows and headers.
    first : str
        Where the first of them opens and ends: the start of an error.
    """

    n_fields: int
    n_lines: int
    n_rows: int
    n_headers: int
    first: str = ""

    def __add__(self, other: "Spans") -> "Spans":  # type: ignore[override]
        fields, lines, rows, headers = map(int.__add__, self[:4], other[:4])
        return Spans(fields, lines, rows, headers, self.first or other.first)

    def describe(self, name: str) -> list[str]:
        """Return the counts of a table as a sentence, if fields span lines.

        Raises
        ------
        RecveilError
            If only one field does: then a stray quote may have opened it.

        Examples
        --------
        >>> print(*Spans(2, 7, 4, 1).describe("r.csv"))
        r.csv: 2 quoted fields of other columns span lines: 7 lines, not counting blank lines
        between rows, hold 4 rows and a header.
        """
        if self.n_fields == 1:
            raise RecveilError(
                f"{self.first}, as no other field of the table does; {STRAY_QUOTE}",
                code="input.quote-spans-lines",
            )
        headers = " and a header" if self.n_headers == 1 else f" and {self.n_headers:,} headers"
        return [
            f"{name}: {self.n_fields:,} quoted fields of other columns span lines: "
            f"{self.n_lines:,} lines, not counting blank lines between rows, hold "
            f"{self.n_rows:,} rows{headers if self.n_headers else ''}."
        ] * (self.n_fields > 0)


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
