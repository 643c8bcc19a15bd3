"""From data frames and plain arrays to Arrow columns, or to words that say which one cannot be."""

import itertools
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from recveil.errors import RecveilError, first_line_of, quoted
from recveil.ratings.columns import MUST_RATE, Feedback, find_columns
from recveil.ratings.plain_types import plain_table

# What conversion to Arrow raises, by itself or through pandas and numpy.
_FAILURES = (pa.ArrowException, TypeError, ValueError, OverflowError)
# Kinds of values; the first that fits counts, for a truth value is a whole number, too.
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "truth values"),
    (Integral, "whole numbers"),
    ((Real, Decimal), "numbers with a fraction"),
    (str, "text"),
    (bytes, "bytes"),
    ((datetime, np.datetime64), "times"),
    (date, "dates"),
    ((list, tuple, set, dict, np.ndarray), "collections"),
)


def table_of(frame: Any, feedback: Feedback | None = MUST_RATE, **given: str | None) -> pa.Table:
    """Turn any data frame with the Arrow capsule into a table.

    Parameters
    ----------
    frame : object with ``__arrow_c_stream__``
        A pandas, polars, pyarrow or duckdb table.
    feedback : Feedback, optional
        As for `find_columns`.
    **given : str or None
        Columns named by the caller, as for `find_columns`.

    Returns
    -------
    pyarrow.Table
        All columns; those that Arrow cannot hold are left out, unless they are users, items,
        ratings or times.

    Raises
    ------
    RecveilError
        For an object that is no data frame, and for a column that is needed and mixes kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"user": [1, "ann"], "item": [7, 7], "rating": [4, 5]})
    >>> table_of(frame)
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: column 'user' mixes whole numbers (row 0: 1) and text (row 1:
    'ann'); make them all one kind, such as text: frame['user'].astype('string')
    """
    if not hasattr(frame, "__arrow_c_stream__"):
        raise RecveilError(
            f"expected a data frame with the Arrow capsule (pandas, polars, pyarrow, duckdb), "
            f"got {type(frame).__name__}; use Ratings.from_columns for plain arrays"
        )
    is_pandas = hasattr(frame, "iloc")
    names = [str(name) for name in frame.columns] if is_pandas else []
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RecveilError(f"two columns are called {quoted(twice)}; rename one")
    try:
        return plain_table(pa.table(frame))
    except _FAILURES as error:
        if not is_pandas:  # which alone holds what Arrow cannot
            raise RecveilError(
                f"the data frame cannot be read ({first_line_of(error)}); convert its columns"
            ) from None
    found = find_columns(names, "the data frame", feedback=feedback, **given)
    needed = set(found.by_role().values())
    columns = {}
    for at, name in enumerate(names):
        try:
            columns[name] = pa.chunked_array(pa.table(frame.iloc[:, [at]]).column(0))
        except _FAILURES as error:
            if name in needed:
                remedy = f"frame[{quoted(name, 30)}].astype('string')"
                problem = _problem(frame.iloc[:, at], error, remedy)
                raise RecveilError(f"column {quoted(name)} {problem}") from None
    return plain_table(pa.table(columns))


def table_from_columns(columns: Mapping[str, ArrayLike], days: ArrayLike | None) -> pa.Table:
    """Turn parallel arrays into a table with the columns user, item, rating and, if given, time.

    Parameters
    ----------
    columns : mapping
        `users`, `items` and, unless they are likes, `ratings`.
    days : array-like of int, or None
        Days since 1970-01-01, UTC.

    Raises
    ------
    RecveilError
        For an array that is not of one dimension or mixes kinds, for arrays of different lengths,
        and for days that are no whole numbers.

    Examples
    --------
    >>> table_from_columns({"users": ["ann"], "items": [7], "ratings": [4.5]}, None).to_pylist()
    [{'user': 'ann', 'item': 7, 'rating': 4.5}]
    """
    arrays = {name.removesuffix("s"): _arrow(name, column) for name, column in columns.items()}
    if days is not None:
        arrays["time"] = _dates(days)
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        told = ", ".join(f"{len(array)} of {name}" for name, array in arrays.items())
        raise RecveilError(f"expected columns of one length, one value a rating; got {told}")
    return pa.table(arrays)


def _arrow(name: str, column: ArrayLike) -> pa.Array:
    try:
        if not isinstance(column, np.ndarray):
            # By way of numpy, text would lose its trailing null characters.
            return pa.array(column)
        return pa.array(column.astype(object) if column.dtype.kind in "UT" else column)
    except _FAILURES as error:
        values = column if isinstance(column, Iterable) else [column]
        problem = _problem(values, error, f"[str(value) for value in {name}]")
        raise RecveilError(f"{name}: {problem}") from None


def _dates(days: ArrayLike) -> pa.Array:
    try:
        numbers = np.asarray(days)
        whole = numbers.astype(np.int32)
        if numbers.ndim == 1 and (whole == numbers).all():
            return pa.array(whole).cast(pa.date32())
    except _FAILURES:
        pass
    raise RecveilError(
        "days: expected one dimension of whole numbers, days since 1970-01-01; convert them"
    )


def _problem(values: Iterable[Any], error: Exception, remedy: str) -> str:
    """Say which kinds of values a column mixes, with the first of each."""
    found: dict[str, str] = {}
    for row, value in enumerate(itertools.islice(values, 10**6)):
        if kind := _kind(value):
            found.setdefault(kind, f"{kind} (row {row}: {quoted(value, 20)})")
    if len(found) < 2:
        return f"cannot be read ({first_line_of(error)}); convert it to text or numbers"
    first, second, *_ = found.values()
    return f"mixes {first} and {second}; make them all one kind, such as text: {remedy}"


def _kind(value: Any) -> str | None:
    """Name the kind of a value; None for one that is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and value != value:
        return None
    kind = next((words for types, words in _KINDS if isinstance(value, types)), None)
    return kind or type(value).__name__
