"""Arrow columns in a few plain types that all readers support."""

import itertools
from binascii import hexlify
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.memory import reject_beyond_limit

_AT_ONCE = 64


def tidied(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary column with one dictionary of distinct values that all occur."""
    if not column.num_chunks:
        return column
    # Chunk by chunk first: Arrow does not unify dictionaries that hold a null.
    column = pa.chunked_array([_each_once(chunk) for chunk in column.chunks]).unify_dictionaries()
    codes = pa.chunked_array([chunk.indices for chunk in column.chunks])
    used = codes.unique().drop_null().sort()
    values = column.chunk(0).dictionary.take(used)
    places = pc.index_in(codes, value_set=used)  # null stays null
    chunks = [pa.DictionaryArray.from_arrays(each, values) for each in places.chunks]
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), values.type))


def _each_once(column: pa.DictionaryArray) -> pa.DictionaryArray:
    once = column.dictionary.dictionary_encode()
    return pa.DictionaryArray.from_arrays(once.indices.take(column.indices), once.dictionary)


def cast_each(column: pa.ChunkedArray, kind: pa.DataType, *, safe: bool = True) -> pa.ChunkedArray:
    """Cast a column without blanks around text; a dictionary once per distinct value."""
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
    """Cast an array, ignoring blanks around text, as Python's ``float()`` does.

    >>> cast_stripped(pa.array([" 2", "3.5 "]), pa.float64()).to_pylist()
    [2.0, 3.5]
    """
    try:
        return values.cast(kind, safe=safe)
    except pa.ArrowInvalid:
        try:
            stripped = pc.utf8_trim_whitespace(values)
        except pa.ArrowNotImplementedError:  # the values are not text
            stripped = values
        return stripped.cast(kind, safe=safe)


def missing_rows(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which rows are null, directly or through a null in the dictionary.

    Arrow's own function is not used for dictionaries: up to version 23 it checks the codes alone,
    and version 26 crashes if the dictionary holds values of the type null.
    """
    if not pa.types.is_dictionary(column.type):
        return pc.is_null(column)
    chunks = [
        each.dictionary.is_null().take(each.indices).fill_null(True) for each in column.chunks
    ]
    return pa.chunked_array(chunks, pa.bool_())


def in_turn(column: pa.ChunkedArray) -> Iterator[Any]:
    """Yield the values of a column, holding only a few at a time."""
    for chunk in column.chunks:
        for start in range(0, len(chunk), _AT_ONCE):
            yield from chunk.slice(start, _AT_ONCE).to_pylist()


def written_out(column: pa.DictionaryArray, what: str) -> pa.Array:
    """Decode a dictionary column, if the memory limit allows it."""
    kind, rows = column.type.value_type, len(column)
    if _has_lengths(kind) and rows:
        lengths = pc.binary_length(column.dictionary).cast(pa.int64())
        times = np.bincount(column.indices.drop_null().to_numpy(), minlength=len(lengths))
        needed = int(times @ lengths.fill_null(0).to_numpy())
        reject_beyond_limit(f"{what}: its {describe_count(rows, 'row')}, written out,", needed)
    return column.dictionary_decode()


def _has_lengths(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


_UUID, _GROUPS_OF_DIGITS = "arrow.uuid", (8, 4, 4, 4, 12)
_ENCODED = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string)

_OF_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def plain_table(table: pa.Table) -> pa.Table:
    """Return the same table with all its columns in plain types; see `plain_column`."""
    columns = [plain_column(column) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the same values in a type that all Arrow functions support.

    UUIDs become text in the usual notation, times in an unknown zone times without a zone. Distinct
    values stay distinct.
    """
    kind: Any = column.type
    if _is_uuid(kind.value_type if pa.types.is_dictionary(kind) else kind):
        index = kind.index_type if pa.types.is_dictionary(kind) else pa.int32()
        return _each(column, uuids_as_text, pa.dictionary(index, pa.string()))
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
    if kind in _OF_VIEWS:
        return column.cast(_OF_VIEWS[kind])
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """Return Python values, or text if Python has no such values (dates of the year 20,000)."""
    if pa.types.is_dictionary(column.type) and len(column):
        # Each text is created once, however many rows have it.
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


def _is_uuid(kind: Any) -> bool:
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == _UUID


def uuids_as_text(part: Any) -> pa.DictionaryArray:
    """Return UUIDs, or their bytes, as dictionary-encoded text.

    >>> column = pa.array([bytes(range(16)), None], pa.uuid())
    >>> uuids_as_text(column).to_pylist()
    ['00010203-0405-0607-0809-0a0b0c0d0e0f', None]
    """
    is_encoded = pa.types.is_dictionary(part.type)
    encoded = part if is_encoded else _storage(part).dictionary_encode()
    values = _storage(encoded.dictionary)
    known = values.is_valid().to_numpy(zero_copy_only=False)
    digits = np.frombuffer(hexlify(b"".join(values.drop_null().to_pylist())), np.uint8)
    pieces = np.split(digits.reshape(-1, 32), np.cumsum(_GROUPS_OF_DIGITS)[:-1], axis=1)
    dashes = np.full((digits.size // 32, 1), ord("-"), np.uint8)
    rows = np.hstack([pieces[0], *(each for piece in pieces[1:] for each in (dashes, piece))])
    texts = np.full(len(values), None, object)
    texts[known] = [row.decode() for row in rows.view("S36").ravel().tolist()]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(texts, pa.string()))


def _storage(values: Any) -> Any:
    return values.storage if _is_uuid(values.type) else values


def holds_uuids(column: pa.ChunkedArray) -> bool:
    """Return whether a column of bytes holds nothing but UUIDs, of versions 1 to 8."""
    types = pa.types
    kind = column.type
    if not (
        types.is_fixed_size_binary(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    ):
        return False
    values = column.unique().drop_null()
    if not len(values) or pc.any(pc.not_equal(pc.binary_length(values), 16)).as_py():
        return False
    numbers = np.frombuffer(b"".join(values.to_pylist()), np.uint8).reshape(-1, 16)
    versions, variants = numbers[:, 6] >> 4, numbers[:, 8] >> 6
    return bool(((versions >= 1) & (versions <= 8) & (variants == 2)).all())


def _each(column: pa.ChunkedArray, change: Any, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([change(part) for part in column.chunks], kind)


def import_optional(package: str) -> Any:
    """Import a package of other data frames, or raise a RecveilError."""
    try:
        return import_module(package)
    except ImportError:
        raise RecveilError(
            f"{package} is not installed; install it (pip install {package}), or call to_arrow(), "
            f"which needs no other package",
            code="dependency.missing",
        ) from None
