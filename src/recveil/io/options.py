"""Options of reading a table: all keywords, and the validated ones on a file's layout."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from recveil.io.databases import Wanted
from recveil.runtime.errors import RecveilError, quoted, shortened

if TYPE_CHECKING:
    from recveil.io.columns.feedback import Counts
    from recveil.ratings.rating_scale import ScaleLike
    from recveil.ratings.sorted_rows import Duplicates


class OtherReadingOptions(TypedDict, total=False):
    """Keywords of `read` but the column of users; see there."""

    format: str | None
    scale: "ScaleLike | None"
    duplicates: "Duplicates"
    drop_off_scale: bool
    drop_missing_ids: bool
    time_format: str | None
    item: str | int | None
    rating: str | int | None
    time: str | int | None
    delimiter: str | None
    decimal: str | None
    wide: bool
    null: str | float | None
    query: str | None
    table: str | None
    sheet: str | None
    likes: bool
    counts: "Counts | None"
    order: str | Iterable[str] | None
    words: str | Iterable[str] | None


class ReadingOptions(OtherReadingOptions, total=False):
    """Keywords of `read`; see there."""

    user: str | int | None


_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "spaces": " "}
_NO_DUPLICATES = ("duplicates", "error")
_NEVER = '"\r\n\0'


@contextmanager
def naming_two_tables(names: str) -> Iterator[None]:
    """Add to an error about a column what to do if two tables name it differently."""
    try:
        yield
    except RecveilError as error:
        if error.code != "column.missing":
            raise
        raise RecveilError(
            f"{shortened(str(error), 200)}; if {names} name columns differently, rename one, or "
            f"select it by place with user (--user 1)",
            code=error.code,
        ) from error


class Layout(NamedTuple):
    """Options on the layout of a file; usually all empty, since layouts are detected."""

    # Separator of columns: one character, or one doubled, such as "::"
    delimiter: str | None = None
    # Decimal separator of ratings
    decimal: str | None = None
    # Whether each row is a user and each column an item
    wide: bool = False
    # What marks a missing rating in a wide table, in addition to an empty cell
    null: str | None = None
    # What to read from a database: the rows of one SELECT, or of a table
    query: str | None = None
    table: str | None = None
    # Which sheet of a workbook to read
    sheet: str | None = None

    @property
    def wanted(self) -> Wanted:
        """The query or table to read from a database."""
        return Wanted(self.query, self.table)

    def within(self, format: str) -> Mapping[str, str | None]:
        """Return the options that select a table in a file of this format."""
        return {"sheet": self.sheet} if format == "workbook" else self.wanted._asdict()


def layout_of(
    delimiter: str | None = None,
    decimal: str | None = None,
    wide: bool = False,
    null: str | float | None = None,
    query: str | None = None,
    table: str | None = None,
    sheet: str | None = None,
    **_: object,
) -> Layout:
    r"""Validate the options on a file's layout, among those of reading.

    >>> layout_of("tab", ",")
    Layout(delimiter='\t', decimal=',', ...)
    """
    mark = None if delimiter is None else _WORDS.get(delimiter, delimiter)
    if mark is not None and not can_split(mark):
        raise RecveilError(
            f"delimiter (--delimiter) is {quoted(delimiter)}; expected one character, or one "
            f"twice, such as ';' or '::' (tab and space may be written as words)",
            code="option.value",
        )
    if decimal not in (None, ",", "."):
        raise RecveilError(
            f"decimal (--decimal) is {quoted(decimal)}; expected the decimal separator, ',' or '.'",
            code="option.value",
        )
    if null is not None and not wide:
        raise RecveilError(
            f"null (--null) is {quoted(null)}, but it is for missing ratings of wide tables; set "
            f"wide (--wide), too, or leave null out",
            code="option.conflict",
        )
    if query is not None and table is not None:
        raise RecveilError(
            "query (--query) and table (--table) are both given; expected one of them",
            code="option.conflict",
        )
    none = None if null is None else str(null)
    return Layout(mark, decimal, wide, none, query, table, sheet)


def format_command(verb: str, *arguments: str, options: Mapping[str, object] | None = None) -> str:
    """Return a command line that can be pasted into a shell.

    >>> print(format_command("inspect", "/Ann's.csv", options={"likes": True, "scale": "1:5:1"}))
    recveil inspect '/Ann'"'"'s.csv' --likes --scale 1:5:1
    """
    return shlex.join(["recveil", verb, *arguments, *option_words(options or {})])


def option_words(options: Mapping[str, object]) -> list[str]:
    r"""Return keywords as the words of a command line, without those at their defaults.

    >>> option_words({"user": 2, "scale": (1, 5, 0.5), "wide": False, "delimiter": "\t"})
    ['--user', '2', '--scale', '1:5:0.5', '--delimiter', 'tab']
    >>> option_words({"attribute": ["age", "sex"]})
    ['--attribute', 'age', '--attribute', 'sex']
    """
    words = []
    for name, value in options.items():
        if value is None or value is False or value == "" or (name, value) == _NO_DUPLICATES:
            continue
        option = "--" + name.replace("_", "-")
        if name == "attribute" and isinstance(value, list | tuple):  # repeated
            words += [word for each in value for word in (option, str(each))]
            continue
        words.append(option)
        if isinstance(value, list | tuple):
            value = (":" if name == "scale" else ",").join(map(str, value))
        words += [] if value is True else ["tab" if value == "\t" else str(value)]
    return words


def can_split(mark: str) -> bool:
    """Return whether a delimiter is one ASCII character, or one doubled."""
    once = mark[:1]
    return bool(once) and mark in (once, once * 2) and once.isascii() and once not in _NEVER


def reject_given(options: Mapping[str, object], what: str) -> None:
    """Raise a RecveilError for file options that were given for another kind of input."""
    if given := [name for name, value in options.items() if value is not None]:
        raise RecveilError(
            f"{', '.join(given)}: not supported for {what}; "
            f"{'call its melt' if 'wide' in given else 'leave that out'}",
            code="option.unsupported",
        )
