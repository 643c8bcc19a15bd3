"""Data frames, sparse matrices and the data sets of other libraries as Arrow tables."""

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from pyarrow.interchange import from_dataframe

from recveil.io.columns.columns import (
    GROUP_SIZE,
    MUST_RATE,
    NOT_SAID,
    Columns,
    Feedback,
    find_columns,
    reject_groups,
)
from recveil.io.columns.feedback import reject_doubtful
from recveil.io.columns.time_columns import Look, look_for_times
from recveil.ratings.arrow_columns import plain_table
from recveil.ratings.rating_scale import Locate
from recveil.runtime.errors import RecveilError, describe_count, first_line_of, named_twice, quoted
from recveil.runtime.safe_repr import brief

# What the release classes of recveil alone have.
_OF_RELEASE = "to_arrow", "to_csr", "claim", "open_folder"
# The axes of a matrix, as values of `user` and `item`.
ROW, COLUMN = "row", "column"


def data_set_of(source: Any) -> "Frame | None":
    """Convert a sparse matrix, or another library's data set; None for other types."""
    take = _taker_of(source)
    return None if take is None else take(source)


def is_data_set(source: Any) -> bool:
    """Return whether `data_set_of` supports an object.

    >>> from scipy import sparse
    >>> is_data_set(sparse.eye_array(2)), is_data_set([1, 2])
    (True, False)
    """
    return _taker_of(source) is not None


def _taker_of(source: Any) -> Callable[[Any], "Frame"] | None:
    # A caller with a scipy matrix has imported it; others need not.
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(source):
        return _of_matrix
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.dtype.kind in "biuf":
        return _of_array
    for names, take in _TAKERS:
        if all(hasattr(source, name) for name in names):
            return take
    return None


def _of_matrix(matrix: Any) -> "Frame":
    """Read each stored number as the rating of a user (row) for an item (column)."""
    if matrix.ndim != 2:
        raise RecveilError(
            f"a sparse array of {matrix.ndim} dimension(s); expected two: a row for each user, "
            f"and a column for each item",
            code="argument.shape",
        )
    if matrix.dtype.kind not in "biuf":
        raise RecveilError(
            f"a sparse matrix of {matrix.dtype}; expected numbers; convert it", code="argument.type"
        )
    entries = matrix.tocoo()
    rows, columns = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    zeros = int(entries.nnz - np.count_nonzero(entries.data))
    if zeros:
        raise RecveilError(
            f"a sparse matrix that stores {zeros:,} zeros, which may be ratings or missing; if "
            f"missing, call its eliminate_zeros(); if ratings, pass rows, columns and values to "
            f"Ratings.from_columns",
            code="rating.zero",
        )
    is_plain = matrix.dtype.kind != "f"
    values = entries.data if is_plain else entries.data.astype(np.float64, copy=False)
    return Frame(
        _table({ROW: rows, COLUMN: columns, "rating": values}),
        "the matrix",
        {"user": ROW, "item": COLUMN, "rating": "rating"},
        lambda at: f"row {rows[at]}, column {columns[at]} of the matrix",
        note=f"{_AXES}{_empty_lines(matrix.shape, rows, columns)}",
    )


_AXES = (
    "The rows of the matrix were taken for users, and its columns for items. State so with "
    "user='row' and item='column', or swap them with user='column' and item='row'."
)


def _empty_lines(shape: tuple[int, int], *places: NDArray[Any]) -> str:
    empty = [n - np.unique(line).size for n, line in zip(shape, places, strict=True)]
    if not any(empty):
        return ""
    n_rows, n_columns = empty
    return (
        f" {describe_count(n_rows, 'row')} and {describe_count(n_columns, 'column')} of the matrix "
        f"have no rating, and are left out."
    )


# What arrays of so few columns may list
_LISTS = {
    2: "users and items",
    3: "users, items and ratings",
    4: "users, items, ratings and times",
}


def _of_array(array: NDArray[Any]) -> "Frame":
    """Read each number that is not nan as the rating of a user (row) for an item (column)."""
    n_columns = array.shape[1]
    is_full = n_columns != max(_LISTS) or not np.isnan(array).any()
    if n_columns in _LISTS and is_full:
        raise RecveilError(
            f"an array of {n_columns} columns may be a matrix of {n_columns} items, or columns of "
            f"{_LISTS[n_columns]}: for these pass a data frame that names them; for a matrix pass "
            f"scipy.sparse.csr_array(array)",
            code="argument.shape",
        )
    if zeros := int(np.count_nonzero(array == 0)):
        raise RecveilError(
            f"an array with {zeros:,} zeros, which may be ratings or missing; if missing, pass "
            f"scipy.sparse.csr_array(array); if ratings, pass rows, columns and values to "
            f"Ratings.from_columns",
            code="rating.zero",
        )
    from scipy.sparse import coo_array

    rows, columns = np.nonzero(~np.isnan(array))
    return _of_matrix(coo_array((array[rows, columns], (rows, columns)), shape=array.shape))


def _of_cornac(data: Any) -> "Frame":
    if hasattr(data, "num_baskets") or hasattr(data, "num_sessions"):
        raise RecveilError(
            f"{type(data).__name__}: a data set of baskets or sessions, which are no ratings; "
            f"expected cornac.data.Dataset",
            code="argument.type",
        )
    users, items, ratings = data.uir_tuple
    columns: dict[str, ArrayLike] = {
        "user": _ids_by_code(data.uid_map)[users],
        "item": _ids_by_code(data.iid_map)[items],
        "rating": np.asarray(ratings, dtype=np.float64),
    }
    return _of_columns("the cornac data set", columns, data.timestamps)


def _of_trainset(data: Any) -> "Frame":
    triples = list(data.all_ratings())
    columns: dict[str, ArrayLike] = {
        "user": [data.to_raw_uid(user) for user, _, _ in triples],
        "item": [data.to_raw_iid(item) for _, item, _ in triples],
        "rating": [float(rating) for _, _, rating in triples],
    }
    return _of_columns("the surprise training set", columns)


def _of_surprise(data: Any) -> "Frame":
    rows = data.raw_ratings
    columns: dict[str, ArrayLike] = {
        name: [row[at] for row in rows] for at, name in enumerate(("user", "item"))
    }
    columns["rating"] = [float(row[2]) for row in rows]
    return _of_columns("the surprise data set", columns, [row[3] for row in rows])


def _of_columns(
    name: str, columns: dict[str, ArrayLike], times: Iterable[Any] | None = None
) -> "Frame":
    """Return a data set as a frame, with the times if there are any."""
    known = [] if times is None else list(times)
    if any(time is not None for time in known):
        columns["time"] = known
    return Frame(_table(columns), name, {role: role for role in columns})


def _table(columns: Mapping[str, ArrayLike]) -> pa.Table:
    return plain_table(pa.table({name: _arrow(name, each) for name, each in columns.items()}))


def _ids_by_code(codes: Mapping[Any, int]) -> NDArray[Any]:
    ids = np.empty(max(codes.values(), default=-1) + 1, dtype=object)
    for each, code in codes.items():
        ids[code] = each
    return ids


_TAKERS: tuple[tuple[tuple[str, ...], Callable[[Any], "Frame"]], ...] = (
    (("uir_tuple", "uid_map", "iid_map"), _of_cornac),
    (("all_ratings", "to_raw_uid", "to_raw_iid"), _of_trainset),
    (("raw_ratings", "reader"), _of_surprise),
)


# Interchange protocols, in order of preference.
_WAYS = ("arrow_c_stream", "arrow_c_array", "dataframe")

# Errors of the conversion to Arrow, raised directly or through pandas and numpy.
_FAILURES = (pa.ArrowException, TypeError, ValueError, OverflowError)
# Kinds of values; the first match counts, since a bool is also an int.
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
    """A table in memory, converted to Arrow."""

    # All columns, except unneeded ones that Arrow does not support
    table: pa.Table
    # Its name in messages
    name: str = "the data frame"
    # Default column of each role, used if neither the caller nor the column names decide
    roles: Mapping[str, str] = {}
    # Returns the place of the row at a position
    locate: Locate = "row {}".format
    # Whether all columns are in the table
    is_whole: bool = True
    # A warning about the roles
    note: str = ""

    def find(self, feedback: Feedback | None = MUST_RATE, **given: str | None) -> Columns:
        """Find the columns, some of which the caller may name; see `find_columns`."""
        named = {role: name for role, name in given.items() if name is not None}
        known = {**self.roles, **named}
        return find_columns(self.table.column_names, self.name, feedback=feedback, **known)


def is_frame(source: object) -> bool:
    """Return whether an object may be a table in memory that `frame_of` supports.

    >>> is_frame(pa.table({"user": [1]})), is_frame([1, 2])
    (True, False)
    """
    speaks_arrow = any(hasattr(source, f"__{way}__") for way in _WAYS)
    return speaks_arrow or _is_lazy(source) or is_data_set(source)


def frame_of(source: Any, feedback: Feedback | None = MUST_RATE, **given: str | None) -> Frame:
    """Convert any table in memory to an Arrow table."""
    if _is_lazy(source):
        source = _collected(source)
    if not any(hasattr(source, f"__{way}__") for way in _WAYS):
        return _frame_of_data_set(source, given)
    if all(hasattr(type(source), name) for name in _OF_RELEASE):
        raise RecveilError(
            "this is a recveil release; expected the original ratings. To audit it: "
            "audit(ratings, release=release). To read what it publishes: read(release.to_arrow())",
            code="input.not-a-table",
        )
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
        table = plain_table(_arrow_table(source))
        unnamed = [name for name in table.column_names if name.startswith("__index_level_")]
        return Frame(table.drop_columns([*{*unnamed} - {*names}] if is_pandas else []))
    except MemoryError:
        raise
    except Exception as error:  # a lazy database query raises errors of its own
        if not is_pandas:  # only pandas holds values that Arrow does not support
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
    """Convert column by column, without unneeded columns that Arrow does not support."""
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
    """Convert a table by the best protocol that it supports."""
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if hasattr(source, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(source)])
    return from_dataframe(source)


def _is_lazy(source: object) -> bool:
    """Return whether an object is a lazy frame, of polars or with the same interface."""
    return type(source).__name__ == "LazyFrame" and hasattr(source, "collect")


def _collected(lazy: Any) -> Any:
    """Collect a lazy frame; polars can stream it, without holding all of its input."""
    try:
        if type(lazy).__module__.startswith("polars."):
            return lazy.collect(engine="streaming")
        return lazy.collect()
    except MemoryError:
        raise
    except (
        Exception
    ) as error:  # a lazy frame can fail in any way that its sources and functions can
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
            f"pyarrow, duckdb), a matrix of scipy or numpy, or a data set of surprise or cornac, "
            f"got {what}; use Ratings.from_columns for plain arrays",
            code="argument.type",
        )
    return (
        found._replace(note=found.note.removeprefix(_AXES).strip())
        if any(given.values())
        else found
    )


def table_from_columns(columns: Mapping[str, ArrayLike], days: ArrayLike | None) -> pa.Table:
    """Convert parallel arrays to a table with the columns user, item, rating and, if given, time.

    >>> table_from_columns({"users": ["ann"], "items": [7], "ratings": [4.5]}, None).to_pylist()
    [{'user': 'ann', 'item': 7, 'rating': 4.5}]
    """
    arrays = {name.removesuffix("s"): _arrow(name, column) for name, column in columns.items()}
    if days is not None:
        arrays["time"] = _dates(days)
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        sizes = ", ".join(f"{len(array)} of {name}" for name, array in arrays.items())
        raise RecveilError(
            f"expected columns of one length, one value a rating; got {sizes}",
            code="argument.shape",
        )
    return pa.table(arrays)


def _arrow(name: str, column: ArrayLike) -> pa.Array:
    try:
        if not isinstance(column, np.ndarray):
            # Through numpy, text would lose its trailing null characters.
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
    """Describe which kinds of values a column mixes, with the first of each."""
    found: dict[str, str] = {}
    for row, value in enumerate(itertools.islice(values, 10**6)):
        if kind := _kind(value):
            found.setdefault(kind, f"{kind} (row {row}: {quoted(value, 20)})")
    if len(found) < 2:
        return f"cannot be read ({first_line_of(error)}); convert it to text or numbers"
    first, second, *_ = found.values()
    return f"mixes {first} and {second}; make them all one kind, such as text: {remedy}"


def _kind(value: Any) -> str | None:
    """Return the kind of a value; None for one that is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and value != value:
        return None
    kind = next((words for types, words in _KINDS if isinstance(value, types)), None)
    return kind or type(value).__name__


# First rows searched for dates if no column has a usual name for times.
_LOOKED_AT = 1_000


@brief
class Framed(NamedTuple):
    """The user, item, rating and time columns of a data frame, where present."""

    columns: dict[str, pa.ChunkedArray]
    # Their names in the frame
    names: dict[str, str]
    # Result of the search for times, if no column named so holds any
    look: Look
    # Name of the frame in messages
    name: str
    # Returns the place of a row, for an error
    locate: Locate
    # A warning about the roles of the columns
    note: str
    # Names of the columns that are not read
    unread: tuple[str, ...]


def frame_columns(
    frame: Any, *, is_written: bool = False, feedback: Feedback = NOT_SAID, **given: str | None
) -> Framed:
    """Return the user, item, rating and time columns of a data frame, where present.

    >>> frame_columns(pa.table({"uid": [1], "iid": [5], "score": [3.5]})).names
    {'user': 'uid', 'item': 'iid', 'rating': 'score'}
    """
    taken = frame_of(frame, feedback, **given)
    table, names = taken.table, taken.find(feedback, **given)
    found = names.by_role()
    time_is_known = given.get("time") is not None or (is_written and names.time is not None)
    look = Look() if time_is_known else look_for_times(table.slice(0, _LOOKED_AT), found)
    if look.name is not None:
        found["time"] = look.name
    if GROUP_SIZE in table.column_names:
        reject_groups(taken.name)
    columns = {role: table[name] for role, name in found.items()}
    reject_doubtful(columns, feedback, found.get("time"), taken.name)
    unread = tuple(name for name in table.column_names if name not in {*found.values()})
    return Framed(columns, found, look, taken.name, taken.locate, taken.note, unread)
