"""Layout: what the owner of a file says of how it is written, and of which table in it is meant."""

from collections.abc import Mapping
from typing import NamedTuple

from recveil.io.databases import Wanted
from recveil.runtime.errors import RecveilError, quoted

_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "spaces": " "}
_NEVER = '"\r\n\0'


class Layout(NamedTuple):
    """What was said of how a file is written; nothing, as a rule, for it is found by looking.

    Attributes
    ----------
    delimiter : str or None
        What stands between columns: one character, or one twice, such as "::".
    decimal : {",", "."} or None
        What stands before the decimals of ratings.
    wide : bool
        Whether each row is a user and each column an item.
    null : str or None
        What stands in a wide table for "no rating", beside nothing at all.
    query, table : str or None
        What to read of a database: the rows of one SELECT, or of a table.
    sheet : str or None
        Which sheet of a workbook to read.
    """

    delimiter: str | None = None
    decimal: str | None = None
    wide: bool = False
    null: str | None = None
    query: str | None = None
    table: str | None = None
    sheet: str | None = None

    @property
    def wanted(self) -> Wanted:
        """What to read of a database."""
        return Wanted(self.query, self.table)

    def within(self, format: str) -> Mapping[str, str | None]:
        """Say which table of a file of this format is meant."""
        return {"sheet": self.sheet} if format == "workbook" else self.wanted._asdict()

    @property
    def is_specified(self) -> bool:
        """Whether anything was said."""
        return self != Layout()


def layout_of(
    delimiter: str | None = None,
    decimal: str | None = None,
    wide: bool = False,
    null: str | float | None = None,
    query: str | None = None,
    table: str | None = None,
    sheet: str | None = None,
) -> Layout:
    r"""Check what was said of how a text is written.

    Parameters
    ----------
    delimiter : str, optional
        "tab" and "space" stand for what they name.
    decimal : str, optional
    wide : bool
    null : str or float, optional
        Means nothing without `wide`.
    query, table, sheet : str, optional
        At most one of both, `query` and `table`.

    Raises
    ------
    RecveilError
        For what cannot be.

    Examples
    --------
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
            f"decimal (--decimal) is {quoted(decimal)}; expected what stands before the decimals "
            f"of ratings: ',' or '.'",
            code="option.value",
        )
    if null is not None and not wide:
        raise RecveilError(
            f"null (--null) is {quoted(null)}, but it says what stands for no rating in a wide "
            f"table; give wide (--wide), too, or leave null out",
            code="option.conflict",
        )
    if query is not None and table is not None:
        raise RecveilError(
            "query (--query) and table (--table) are both given; expected one of them: a table is "
            "read whole",
            code="option.conflict",
        )
    none = None if null is None else str(null)
    return Layout(mark, decimal, wide, none, query, table, sheet)


def can_split(mark: str) -> bool:
    """Say whether a text can be split at a mark: one ASCII character, or one twice."""
    once = mark[:1]
    return bool(once) and mark in (once, once * 2) and once.isascii() and once not in _NEVER


def reject_given(options: Mapping[str, object], what: str) -> None:
    """Raise a RecveilError for options of files that were given for what is none.

    Examples
    --------
    >>> reject_given({"format": None, "decimal": ","}, "a data frame")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: decimal: given for a data frame, where it means nothing; leave that
    out
    """
    if given := [name for name, value in options.items() if value is not None]:
        raise RecveilError(
            f"{', '.join(given)}: given for {what}, where it means nothing; leave that out",
            code="option.unsupported",
        )
