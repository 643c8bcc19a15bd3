"""The first line: whether it names columns, or is a row that would be lost as one."""

import re
from collections.abc import Collection

import pyarrow as pa

from recveil.errors import RecveilError, quoted
from recveil.io.formats import is_number, target_among
from recveil.io.recognizing import Recognized
from recveil.ratings.columns import COUNTED, GROUP_SIZE, USUAL_NAMES, plain_name

_LOOKED_AT = 100
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")
# What says so, by what stands between columns: without names, with names.
_SAYING = {"\t": ("movielens-tab", "tsv"), ",": ("csv-plain", "csv")}


def refuse_doubtful_header(
    rows: pa.Table, found: Recognized, given: Collection[str | None], where: str
) -> None:
    """Refuse a first line that may be a row: nothing in it is a known name, all is like the rows.

    Parameters
    ----------
    rows : pyarrow.Table
        The first rows, under what stands in the first line.
    found : Recognized
        What the file was taken for.
    given : collection of (str or None)
        Names of columns that the caller knows, or their places.
    where : str
        What to call the table.

    Raises
    ------
    RecveilError
        With what says that the line is a row, and what says that it holds names.

    Examples
    --------
    >>> people = pa.table({"who": ["ann", "ben"], "seen": ["2020-01-01", "2020-01-02"]})
    >>> refuse_doubtful_header(people, Recognized("csv"), [], "likes.csv")
    >>> people = pa.table({"ann7": ["ben1", "eve2"], "2020-01-01": ["2020-01-03", "2020-01-02"]})
    >>> refuse_doubtful_header(people, Recognized("csv"), [], "likes.csv")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: likes.csv: its first line ('ann7', ...) may be a row or names of...
    """
    names = rows.column_names
    if any(_is_known(name) or name in given for name in names) or target_among(names):
        return
    if not rows.num_rows or any(
        _kind(name) not in {_kind(value) for value in values if value}
        for name, values in rows.slice(0, _LOOKED_AT).to_pydict().items()
    ):
        return
    raise RecveilError(
        f"{where}: its first line ({quoted(names[0], 30)}, ...) may be a row or names of columns; "
        + _remedy(found, names[0]),
        code="input.header",
    )


def _remedy(found: Recognized, name: str) -> str:
    if found.dialect is None:
        return (
            f"if it is a row, write a row of names above it; if it holds names, say which is which "
            f"by name with user (--user {quoted(name, 30)})"
        )
    mark = found.dialect.delimiter
    plain, named = _SAYING.get(mark, _SAYING[","])
    also = "" if mark in _SAYING else f" and delimiter (--delimiter {mark!r})"
    return (
        f"if it is a row, say so with format (--format {plain}){also}; if it holds names, with "
        f"format (--format {named}){also}"
    )


def _is_known(name: str) -> bool:
    """Say whether tables call a column so, whatever it holds."""
    plain = plain_name(name.strip('" '))
    known = (*USUAL_NAMES.values(), COUNTED, (plain_name(GROUP_SIZE),))
    return any(plain in names for names in known)


def _kind(field: object) -> str:
    """Say what a field looks like: a number, a date, text with figures in it or without."""
    text = str(field).strip()
    if is_number(text):
        return "number"
    if _DATE.fullmatch(text):
        return "date"
    return "figures" if any(map(str.isdigit, text)) else "letters"
