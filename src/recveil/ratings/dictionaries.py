"""Dictionaries: columns that name each value once, and say by its number in which rows it stands.

A file of a few hundred bytes can say that a text of a megabyte stands in a million rows. Nothing
here writes a text once for each row, unless memory for all of them may be taken.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recveil.errors import describe_count
from recveil.memory import refuse_beyond_limit

_AT_ONCE = 64


def tidied(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary column with one dictionary: each value once, and none that no row has.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Of a dictionary type.

    Examples
    --------
    >>> twice = pa.DictionaryArray.from_arrays([0, 1, None], ["ann", "ann", "eve"])
    >>> tidied(pa.chunked_array([twice])).chunk(0).dictionary.to_pylist()
    ['ann']
    """
    if not column.num_chunks:
        return column
    # Each apart, first: Arrow unifies no dictionaries that hold a null.
    column = pa.chunked_array([_each_once(chunk) for chunk in column.chunks]).unify_dictionaries()
    codes = pa.chunked_array([chunk.indices for chunk in column.chunks])
    used = pa.array(np.sort(codes.unique().drop_null().to_numpy()), codes.type)
    values = column.chunk(0).dictionary.take(used)
    places = pc.index_in(codes, value_set=used)  # null stays null
    chunks = [pa.DictionaryArray.from_arrays(each, values) for each in places.chunks]
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), values.type))


def _each_once(column: pa.DictionaryArray) -> pa.DictionaryArray:
    once = column.dictionary.dictionary_encode()
    return pa.DictionaryArray.from_arrays(once.indices.take(column.indices), once.dictionary)


def cast_each(column: pa.ChunkedArray, kind: pa.DataType, *, safe: bool = True) -> pa.ChunkedArray:
    """Cast a column; of a dictionary, each value once, and not each row.

    Blanks around text are ignored, as in Python's ``float()``.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    kind : pyarrow.DataType
        Of numbers or times.
    safe : bool
        As for Arrow's cast.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a value that stands in a row cannot be cast.

    Examples
    --------
    >>> column = pa.chunked_array([pa.array(["4.5", "3", "4.5"]).dictionary_encode()])
    >>> cast_each(column, pa.float64()).to_pylist()
    [4.5, 3.0, 4.5]
    """
    if not pa.types.is_dictionary(column.type):
        return cast_stripped(column, kind, safe=safe)
    try:
        return _cast_values(column, kind, safe)
    except pa.ArrowInvalid:
        return _cast_values(tidied(column), kind, safe)


def _cast_values(column: pa.ChunkedArray, kind: pa.DataType, safe: bool) -> pa.ChunkedArray:
    cast = [
        cast_stripped(each.dictionary, kind, safe=safe).take(each.indices) for each in column.chunks
    ]
    return pa.chunked_array(cast, kind)


def cast_stripped(values: Any, kind: pa.DataType, *, safe: bool = True) -> Any:
    """Cast an array; blanks around text are ignored, as in Python's ``float()``.

    Examples
    --------
    >>> cast_stripped(pa.array([" 2", "3.5 "]), pa.float64()).to_pylist()
    [2.0, 3.5]
    """
    try:
        return values.cast(kind, safe=safe)
    except pa.ArrowInvalid:
        try:
            stripped = pc.utf8_trim_whitespace(values)
        except pa.ArrowNotImplementedError:  # the values are no text
            stripped = values
        return stripped.cast(kind, safe=safe)


def missing_rows(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Say which rows hold nothing, or a number that stands for nothing in the dictionary.

    Arrow is not asked for this of a dictionary: up to version 23 it looks at the numbers alone, and
    26 crashes where the dictionary holds values of the type null.

    Parameters
    ----------
    column : pyarrow.ChunkedArray

    Examples
    --------
    >>> gap = pa.DictionaryArray.from_arrays([0, 1, None], ["ann", None])
    >>> missing_rows(pa.chunked_array([gap])).to_pylist()
    [False, True, True]
    """
    if not pa.types.is_dictionary(column.type):
        return pc.is_null(column)
    chunks = [
        each.dictionary.is_null().take(each.indices).fill_null(True) for each in column.chunks
    ]
    return pa.chunked_array(chunks, pa.bool_())


def in_turn(column: pa.ChunkedArray) -> Iterator[Any]:
    """Yield a column's values, few of which are held at a time.

    Examples
    --------
    >>> list(in_turn(pa.chunked_array([["ann", None]])))
    ['ann', None]
    """
    for chunk in column.chunks:
        for start in range(0, len(chunk), _AT_ONCE):
            yield from chunk.slice(start, _AT_ONCE).to_pylist()


def written_out(column: pa.DictionaryArray, what: str) -> pa.Array:
    """Return a column with its values in all of its rows, if so much memory may be taken.

    Parameters
    ----------
    column : pyarrow.DictionaryArray
    what : str
        Whose values they are, as the start of a sentence.

    Raises
    ------
    MemoryLimitError
        If it may not.

    Examples
    --------
    >>> column = pa.array(["ann", "ben", "ann"]).dictionary_encode()
    >>> written_out(column, "user_id").to_pylist()
    ['ann', 'ben', 'ann']
    """
    kind, rows = column.type.value_type, len(column)
    if _has_lengths(kind) and rows:
        lengths = pc.binary_length(column.dictionary).cast(pa.int64())
        times = np.bincount(column.indices.drop_null().to_numpy(), minlength=len(lengths))
        needed = int(times @ lengths.fill_null(0).to_numpy())
        refuse_beyond_limit(f"{what}: its {describe_count(rows, 'row')}, written out,", needed)
    return column.dictionary_decode()


def _has_lengths(kind: pa.DataType) -> bool:
    """Say whether values of a type are as long as each likes."""
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )
