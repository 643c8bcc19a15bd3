"""Which of some rows is the last one in time, finer than the days that ratings keep."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.ratings.columns import Locate, is_text, numbers_of, refuse_missing
from recveil.ratings.dictionaries import cast_each
from recveil.ratings.times import times_from_format, times_from_text


def sort_keys(
    times: pa.ChunkedArray, places: NDArray[np.int64], locate: Locate, format: str | None = None
) -> NDArray[Any]:
    """Return numbers that order some rows of a column of times, shape (n_places,).

    Only these rows are read, since only a rating that stands twice asks which came last.

    Parameters
    ----------
    times : pyarrow.ChunkedArray
        Unix times, dates, or text of either.
    places : ndarray of int64, shape (n_places,)
        Positions of rows.
    locate : callable
        Turns a row's position into the place that an error names.
    format : str, optional
        How the times are written, for `times_from_format`.

    Raises
    ------
    RecveilError
        If one of these rows has no time, or one that cannot be read.

    Examples
    --------
    >>> times = pa.chunked_array([["2005-12-31 10:00:00", "2005-12-31 09:00:00", None]])
    >>> first, second = sort_keys(times, np.array([0, 1]), str)
    >>> bool(first > second)
    True
    """
    chosen = times.take(pa.array(places))

    def where(row: int) -> str:
        return locate(int(places[row]))

    refuse_missing(
        chosen,
        "the time is missing, so that nobody can tell the last rating",
        where,
        code="time.missing",
    )
    if format is not None:
        chosen = times_from_format(chosen, format, where)
    elif is_text(chosen.type) or pa.types.is_dictionary(chosen.type):
        chosen = _whole_numbers(chosen) or times_from_text(chosen, where)
    if pa.types.is_timestamp(chosen.type):
        return chosen.cast(pa.int64()).to_numpy()  # in its own unit, which may be nanoseconds
    if pa.types.is_temporal(chosen.type):
        return chosen.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy()
    if pa.types.is_integer(chosen.type):
        return chosen.to_numpy()
    return numbers_of(chosen, "time", where).to_numpy()


def _whole_numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Read text of whole numbers: as float64, nanoseconds less than 256 apart would be equal."""
    try:
        return cast_each(texts, pa.int64())
    except pa.ArrowInvalid:
        return None
