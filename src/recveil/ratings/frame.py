"""From data frames and plain arrays to Arrow columns, or to words that say which one cannot be."""

import itertools
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from pyarrow.interchange import from_dataframe

from recveil.brief import brief
from recveil.errors import RecveilError, first_line_of, named_twice, quoted
from recveil.ratings.columns import MUST_RATE, Columns, Feedback, Locate, find_columns
from recveil.ratings.data_sets import data_set_of, is_data_set
from recveil.ratings.plain_types import plain_table

# How a table hands itself over, the best way first.
_WAYS = ("arrow_c_stream", "arrow_c_array", "dataframe")

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


@brief
class Frame(NamedTuple):
    """A table in memory, whatever it was.

    Attributes
    ----------
    table : pyarrow.Table
        All columns; those that Arrow cannot hold are left out, unless they are needed.
    name : str
        What to call it in messages.
    roles : mapping of str to str
        Which column is taken for what, where the caller names none and its name does not tell.
    locate : callable
        Says where the row with a given position stands.
    is_whole : bool
        Whether all columns are in the table.
    note : str
        What somebody must know who relies on the roles.
    """

    table: pa.Table
    name: str = "the data frame"
    roles: Mapping[str, str] = {}
    locate: Locate = "row {}".format
    is_whole: bool = True
    note: str = ""

    def find(self, feedback: Feedback | None = MUST_RATE, **given: str | None) -> Columns:
        """Find the columns, of which the caller may name some; see `find_columns`."""
        named = {role: name for role, name in given.items() if name is not None}
        known = {**self.roles, **named}
        return find_columns(self.table.column_names, self.name, feedback=feedback, **known)


def is_frame(source: object) -> bool:
    """Say whether something may be a table in memory that `frame_of` takes.

    Examples
    --------
    >>> is_frame(pa.table({"user": [1]})), is_frame([1, 2])
    (True, False)
    """
    speaks_arrow = any(hasattr(source, f"__{way}__") for way in _WAYS)
    return speaks_arrow or _is_lazy(source) or is_data_set(source)


def frame_of(source: Any, feedback: Feedback | None = MUST_RATE, **given: str | None) -> Frame:
    """Turn any table in memory into an Arrow table.

    Parameters
    ----------
    source : object
        What has the Arrow capsule, as tables of pandas, polars, pyarrow and duckdb do, or the older
        interchange protocol; a lazy frame of polars, which is collected; and what `data_set_of`
        takes: a sparse matrix of scipy, or a data set of surprise or cornac.
    feedback : Feedback, optional
        As for `find_columns`.
    **given : str or None
        Columns named by the caller, as for `find_columns`.

    Raises
    ------
    RecveilError
        For any other object, and for a column that is needed and mixes kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"user": [1, "ann"], "item": [7, 7], "rating": [4, 5]})
    >>> frame_of(frame)
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: column 'user' mixes whole numbers (row 0: 1) and text (row 1:
    'ann'); make them all one kind, such as text: frame['user'].astype('string')
    """
    if _is_lazy(source):
        source = _collected(source)
    if not any(hasattr(source, f"__{way}__") for way in _WAYS):
        return _frame_of_data_set(source, given)
    is_pandas = hasattr(source, "iloc")
    if is_pandas and not hasattr(source, "columns"):
        raise RecveilError(
            f"a {type(source).__name__} is one column; expected a table with users, items and "
            f"ratings, such as a DataFrame; put the columns into one",
            code="argument.type",
        )
    names = [str(name) for name in source.columns] if is_pandas else []
    if twice := named_twice(names):
        raise RecveilError(
            f"two columns are called {quoted(twice[0])}; rename one", code="column.duplicate"
        )
    try:
        return Frame(plain_table(_arrow_table(source)))
    except MemoryError:
        raise
    except Exception as error:  # what asks a database when it is read fails in ways of its own
        if not is_pandas:  # which alone holds what Arrow cannot
            raise RecveilError(
                f"the data frame cannot be read ({first_line_of(error)}); convert its columns, or "
                f"see whether it can be read by itself",
                code="input.unreadable",
            ) from None
        if not isinstance(error, _FAILURES):
            raise
    return _frame_of_pandas(source, names, feedback, given)


def _frame_of_pandas(
    source: Any, names: list[str], feedback: Feedback | None, given: Mapping[str, str | None]
) -> Frame:
    """Take the columns one by one, without those that Arrow cannot hold and nobody needs."""
    found = find_columns(names, "the data frame", feedback=feedback, **given)
    needed = set(found.by_role().values())
    columns = {}
    for at, name in enumerate(names):
        try:
            columns[name] = pa.chunked_array(pa.table(source.iloc[:, [at]]).column(0))
        except _FAILURES as error:
            if name in needed:
                remedy = f"frame[{quoted(name, 30)}].astype('string')"
                problem = _problem(source.iloc[:, at], error, remedy)
                raise RecveilError(f"column {quoted(name)} {problem}", code="column.type") from None
    return Frame(plain_table(pa.table(columns)), is_whole=len(columns) == len(names))


def _arrow_table(source: Any) -> pa.Table:
    """Take a table by the best way that it offers."""
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if hasattr(source, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(source)])
    return from_dataframe(source)


def _is_lazy(source: object) -> bool:
    """Say whether something is a plan for a frame, of polars or of who copies it."""
    return type(source).__name__ == "LazyFrame" and hasattr(source, "collect")


def _collected(lazy: Any) -> Any:
    """Carry a plan out; polars can do so bit by bit, without holding all that it starts from."""
    try:
        if type(lazy).__module__.startswith("polars."):
            return lazy.collect(engine="streaming")
        return lazy.collect()
    except MemoryError:
        raise
    except Exception as error:  # a plan can fail in as many ways as there are files and functions
        raise RecveilError(
            f"the lazy frame cannot be collected ({first_line_of(error)}); see whether its "
            f"collect() works by itself",
            code="input.unreadable",
        ) from None


def _frame_of_data_set(source: Any, given: Mapping[str, str | None]) -> Frame:
    found = data_set_of(source)
    if found is None:
        kind = type(source).__name__
        what = f"{kind} of {source.ndim} dimensions" if isinstance(source, np.ndarray) else kind
        raise RecveilError(
            f"expected a path, Ratings, a data frame with the Arrow capsule (pandas, polars, "
            f"pyarrow, duckdb), a sparse matrix of scipy, or a data set of surprise or cornac, got "
            f"{what}; use Ratings.from_columns for plain arrays",
            code="argument.type",
        )
    table = pa.table({name: _arrow(name, column) for name, column in found.columns.items()})
    note = "" if any(given.values()) else found.note
    return Frame(plain_table(table), found.name, found.roles, found.locate, note=note)


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
        raise RecveilError(
            f"expected columns of one length, one value a rating; got {told}", code="argument.shape"
        )
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
        raise RecveilError(f"{name}: {problem}", code="column.type") from None


def _dates(days: ArrayLike) -> pa.Array:
    try:
        numbers = np.asarray(days)
        whole = numbers.astype(np.int32)
        if numbers.ndim == 1 and (whole == numbers).all():
            return pa.array(whole).cast(pa.date32())
    except _FAILURES:
        pass
    raise RecveilError(
        "days: expected one dimension of whole numbers, days since 1970-01-01; convert them",
        code="argument.value",
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
