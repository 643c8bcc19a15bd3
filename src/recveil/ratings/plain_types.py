"""Plain types: few enough that whoever reads a column knows them all."""

import itertools
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recveil.ratings.dictionaries import tidied, written_out

_ENCODED = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string)


def plain_table(table: pa.Table) -> pa.Table:
    """Return the same table with all its columns in plain types; see `plain_column`."""
    columns = [plain_column(column) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the same values in a type that all of Arrow's functions take.

    There are many types that hardly any of them takes: views of text, short decimals, types of
    somebody's own, which have a plain one beneath, and dictionaries of all these. And times in a
    zone that this machine does not know cannot be written; what they count is the same in all
    zones. No two values that differ become equal.

    Parameters
    ----------
    column : pyarrow.ChunkedArray

    Returns
    -------
    pyarrow.ChunkedArray
        Itself, if its type is plain.

    Examples
    --------
    >>> plain_column(pa.chunked_array([pa.array(["ann"], pa.string_view())])).type
    DataType(string)
    >>> times = pa.chunked_array([pa.array([0], pa.timestamp("s", "Europe/Rome"))])
    >>> plain_column(times).type
    TimestampType(timestamp[s])
    """
    kind: Any = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain_column(_each(column, lambda part: part.storage, kind.storage_type))
    if pa.types.is_run_end_encoded(kind):
        return plain_column(_each(column, pc.run_end_decode, kind.value_type))
    if pa.types.is_dictionary(kind):
        if any(is_one(kind.value_type) for is_one in _ENCODED):
            return column
        values = plain_column(_each(column, lambda part: part.dictionary, kind.value_type))
        pairs = zip(column.chunks, values.chunks, strict=True)
        coded = [pa.DictionaryArray.from_arrays(each.indices, part) for each, part in pairs]
        if any(is_one(values.type) for is_one in _ENCODED):
            return pa.chunked_array(coded, pa.dictionary(kind.index_type, values.type))
        return pa.chunked_array([written_out(each, "a column") for each in coded], values.type)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        without = pa.timestamp(kind.unit)
        return _each(column, lambda part: part.view(without), without)
    if pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if pa.types.is_binary_view(kind):
        return column.cast(pa.binary())
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """Return values as Python's, or all as text if Python has no such: dates of the year 20,000.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Of a plain type.

    Examples
    --------
    >>> python_values(pa.chunked_array([pa.array([0], pa.date32())]))
    [datetime.date(1970, 1, 1)]
    >>> python_values(pa.chunked_array([pa.array([9_999_999], pa.date32())]))
    ['29349-01-25']
    """
    if pa.types.is_dictionary(column.type) and len(column):
        # Each text is made once, however many rows have it.
        column = tidied(
            pa.chunked_array([column] if isinstance(column, pa.Array) else column.chunks)
        )
        each: list[Any] = python_values(pa.chunked_array([column.chunk(0).dictionary]))
        codes = itertools.chain.from_iterable(part.indices.to_pylist() for part in column.chunks)
        return [None if code is None else each[code] for code in codes]
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        values = column.cast(pa.string()).to_pylist()
    return values


def _each(column: pa.ChunkedArray, change: Any, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([change(part) for part in column.chunks], kind)
