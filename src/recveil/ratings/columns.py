"""From the columns of a table to arrays: which column is which, ratings, days."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.errors import RecveilError, listed, quoted

# Says where the row with a given position stands, for a message: "ratings.csv line 812".
Locate = Callable[[int], str]

# The names under which tables out there carry each column, as `_plain` leaves them. Where a table
# has several, the first here wins: ids stand before what may be titles.
USUAL_NAMES = {
    "user": ("userid", "user", "uid", "u", "customerid", "customer", "reviewerid", "userno"),
    "item": (
        *("itemid", "movieid", "productid", "asin", "bookid", "isbn", "artistid", "trackid"),
        *("songid", "animeid", "jokeid", "businessid", "iid", "item", "i", "movie", "product"),
        *("book", "artist", "track", "song", "anime", "joke", "business"),
    ),
    "rating": ("rating", "ratings", "score", "stars", "weight", "value", "bookrating", "overall"),
    "time": ("timestamp", "time", "date", "datetime", "day", "unixreviewtime", "ratedat"),
}

# A table of so many columns, none of them known, is more likely a row for each user.
WIDE = 20
_SECONDS_A_DAY = 86_400
_ROWS_AT_ONCE = 1 << 20
# Unix times up to these magnitudes count seconds, milliseconds, microseconds, nanoseconds.
_UNITS = ((1e11, 1), (1e14, 10**3), (1e17, 10**6), (9.3e18, 10**9))


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that hold users, items, ratings and (if any) times."""

    user: str
    item: str
    rating: str
    time: str | None = None


def find_columns(names: Sequence[str], where: str = "the table", **given: str | None) -> Columns:
    """Find the user, item, rating and time columns among a table's column names.

    Parameters
    ----------
    names : sequence of str
        The table's column names.
    where : str
        What to call the table in an error.
    **given : str or None
        Columns named by the caller (`user`, `item`, `rating`, `time`); they win.

    Raises
    ------
    RecveilError
        If a column is missing, named but absent, or if two would fit.

    Examples
    --------
    >>> find_columns(["userId", "movieId", "rating", "timestamp"])
    Columns(user='userId', item='movieId', rating='rating', time='timestamp')
    """
    found = {role: _find(role, names, where, given.get(role)) for role in USUAL_NAMES}
    for role in ("user", "item", "rating"):
        if found[role] is None:
            raise RecveilError(
                f"{where}: no {role} column among {listed(names)}{_width(found, names)}; expected "
                f"a name such as {USUAL_NAMES[role][0]!r} or {USUAL_NAMES[role][1]!r}; "
                f"rename it, or name it with {role} (--{role})"
            )
    return Columns(**found)  # type: ignore[arg-type]  # the loop above leaves only time None


def _width(found: Mapping[str, str | None], names: Sequence[str]) -> str:
    """Say that a table may be a matrix, if it is as wide as one."""
    if len(names) < WIDE or sum(name is not None for name in found.values()) > 1:
        return ""
    return f" ({len(names):,} columns; a wide matrix? Write one rating a line)"


def _find(role: str, names: Sequence[str], where: str, given: str | None) -> str | None:
    if given is not None:
        if given not in names:
            raise RecveilError(
                f"{where}: no column {quoted(given)} for the {role}; it has {listed(names)}; "
                f"name one of them with {role} (--{role})"
            )
        return given
    usual = USUAL_NAMES[role]
    # The first usual name that fits wins: a table with "rating" and "value" means "rating".
    for name in usual:
        fitting = [n for n in names if _plain(n) == name]
        if len(fitting) > 1:
            raise RecveilError(
                f"{where}: {quoted(fitting[0])} and {quoted(fitting[1])} could both be the {role} "
                f"column; name one with {role} (--{role})"
            )
        if fitting:
            return fitting[0]
    return None


def _plain(name: str) -> str:
    """Strip what tables write differently: "User-ID", "user_id:token" and "userId" are one."""
    return name.partition(":")[0].replace("_", "").replace("-", "").replace(" ", "").lower()


def pieces(column: pa.ChunkedArray) -> Iterator[tuple[int, pa.Array]]:
    """Yield short pieces of a column, each with its first row, so that little is held twice."""
    first = 0
    for chunk in column.chunks:
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            piece = chunk.slice(start, _ROWS_AT_ONCE)
            yield first, piece
            first += len(piece)


def parse_ratings(column: pa.ChunkedArray, locate: Locate) -> NDArray[np.float32]:
    """Read a column of numbers, or of numbers as text, as finite ratings, shape (n_rows,)."""
    if pa.types.is_boolean(column.type):
        raise RecveilError("rating column: expected numbers, got bool; convert it to 0 and 1")
    refuse_missing(column, "the rating is missing; drop the row or fill it in", locate)
    if pa.types.is_dictionary(column.type):
        column = _decoded_numbers(column)
    ratings = np.empty(len(column), np.float32)
    for first, piece in pieces(column):
        numbers = numbers_of(
            pa.chunked_array([piece]), "rating", _shifted(locate, first)
        ).to_numpy()
        too_large = ~(np.abs(numbers) <= np.finfo(np.float32).max)
        if too_large.any():
            row = int(np.argmax(too_large))
            raise RecveilError(
                f"{locate(first + row)}: rating {numbers[row]:g} is not a finite number; "
                f"drop the row"
            )
        ratings[first : first + numbers.size] = numbers
    return ratings


def _decoded_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read each different text once, if all are numbers."""
    column = column.unify_dictionaries()
    try:
        chunks = [
            pa.DictionaryArray.from_arrays(
                chunk.indices, chunk.dictionary.cast(pa.float64(), safe=False)
            )
            for chunk in column.chunks
        ]
    except pa.ArrowInvalid:
        return column  # whoever reads row by row can say where the culprit stands
    return pa.chunked_array(chunks, pa.dictionary(column.type.index_type, pa.float64()))


def _shifted(locate: Locate, first: int) -> Locate:
    return lambda row: locate(first + row)


def parse_days(column: pa.ChunkedArray, locate: Locate) -> NDArray[np.int32] | None:
    """Read times as whole days since 1970-01-01 UTC (floor), shape (n_rows,); None if all null.

    Numbers are Unix seconds, milliseconds, microseconds or nanoseconds, told apart by their
    size, or dates such as 20051231; text is ISO 8601 or such a number.
    """
    if column.null_count == len(column):
        return None
    refuse_missing(column, "the time is missing; fill it in, or leave the times out", locate)
    if pa.types.is_signed_integer(column.type) and (a_second := _plain_unit(column)):
        whole = np.empty(len(column), np.int32)
        for first, piece in pieces(column):
            seconds = piece.cast(pa.int64()).to_numpy()
            whole[first : first + len(piece)] = seconds // (_SECONDS_A_DAY * a_second)
        return whole
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        column = times_from_text(column, locate)
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        microseconds = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy()
        days = microseconds // (_SECONDS_A_DAY * 10**6)
    elif pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        raise RecveilError(f"time column: expected times or dates, got {column.type}; convert it")
    else:
        days = _days_from_numbers(numbers_of(column, "time", locate).to_numpy(), locate)
    return days.astype(np.int32)


def _plain_unit(column: pa.ChunkedArray) -> int | None:
    """Return how many units a second has, if the times are Unix times beyond doubt."""
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    for limit, a_second in _UNITS:
        if max(abs(low), abs(high)) < limit:
            # Small numbers may be of another unit, and eight digits may be a date.
            beyond_doubt = low > max(limit / 1e4, 21_001_231)
            return a_second if beyond_doubt else None
    return None


def _days_from_numbers(times: NDArray[np.float64], locate: Locate) -> NDArray[np.float64]:
    sizes = np.abs(times)
    beyond = ~(sizes < _UNITS[-1][0])
    if beyond.any():
        row = int(np.argmax(beyond))
        raise RecveilError(f"{locate(row)}: time {times[row]:g} is no Unix time; give ISO dates")
    if (dates := _days_from_dates(times)) is not None:
        return dates
    largest = sizes.max()
    for limit, a_second in _UNITS:
        if largest < limit:
            # Ten years after 1970 as seconds are four days as milliseconds.
            mixed = (sizes > 0) & (sizes < limit / 1e4) & (a_second > 1)
            if mixed.any():
                row, other = int(np.argmax(mixed)), int(np.argmax(sizes))
                raise RecveilError(
                    f"{locate(row)}: time {times[row]:.0f} and {locate(other)}: time "
                    f"{times[other]:.0f} do not count in the same unit; convert one of them"
                )
            break
    return np.floor(times / (_SECONDS_A_DAY * a_second))


def _days_from_dates(times: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Read numbers such as 20051231 as dates, if every one of them is a date."""
    if not ((times >= 19_000_101) & (times <= 21_001_231) & (times % 1 == 0)).all():
        return None
    text = pa.array(times.astype(np.int64)).cast(pa.string())
    dates = pc.strptime(text, format="%Y%m%d", unit="s", error_is_null=True)
    if dates.null_count:
        return None
    return np.asarray(dates.cast(pa.int64()).to_numpy() // _SECONDS_A_DAY, dtype=np.float64)


def times_from_text(column: pa.ChunkedArray, locate: Locate) -> pa.ChunkedArray:
    """Read text as Unix times or as ISO dates, with or without a time zone."""
    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    for row, text in enumerate(column.to_pylist()):
        if not any(_casts(text, kind) for kind in (pa.float64(), pa.timestamp("us"))):
            raise RecveilError(
                f"{locate(row)}: time {quoted(text)} is neither a Unix time nor an ISO date "
                f"such as 2005-12-31"
            )
    raise RecveilError(
        "time column: some times carry a time zone or count seconds and others do not; "
        "write all of them the same way"
    )


def numbers_of(column: pa.ChunkedArray, role: str, locate: Locate) -> pa.ChunkedArray:
    """Read numbers, or text of numbers, as float64; raise for the first that is none."""
    try:
        return column.cast(pa.float64(), safe=False)
    except pa.ArrowInvalid:
        for row, text in enumerate(column.to_pylist()):
            if not _casts(text, pa.float64()):
                raise RecveilError(f"{locate(row)}: {role} {quoted(text)} {_why(text)}") from None
        raise
    except pa.ArrowNotImplementedError:
        raise RecveilError(
            f"{role} column: expected numbers, got {column.type}; convert it"
        ) from None


def _why(text: object) -> str:
    """Say why text is no number."""
    if isinstance(text, str) and re.fullmatch(r"\s*-?[0-9]+,[0-9]+\s*", text):
        return f"has a decimal comma; write {text.strip().replace(',', '.')}"
    return "is not a number; mend or drop the row"


def _casts(value: object, kind: pa.DataType) -> bool:
    try:
        pa.scalar(value).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def is_text(kind: pa.DataType) -> bool:
    """Say whether a column of this type holds text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def refuse_missing(column: pa.ChunkedArray, problem: str, locate: Locate) -> None:
    """Raise for the first row that is null, or stands for a null in the dictionary."""
    parts = [*column.chunks]
    if pa.types.is_dictionary(column.type):
        parts += [chunk.dictionary for chunk in column.chunks]
    if any(part.null_count for part in parts):  # else there is nothing to look for, row by row
        refuse_first(pc.is_null(column), problem, locate)


def refuse_first(refused: pa.Array | pa.ChunkedArray, problem: str, locate: Locate) -> None:
    """Raise for the first row of a boolean array that is true."""
    row = pc.index(refused, True).as_py()
    if row >= 0:
        raise RecveilError(f"{locate(row)}: {problem}")
