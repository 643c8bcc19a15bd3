"""Labels: a column of ids as its sorted distinct labels and each row's position among them."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.compiled import compiled
from recveil.errors import RecveilError, shortened
from recveil.ratings.columns import Locate, is_text, pieces, refuse_first, refuse_missing
from recveil.ratings.dictionaries import tidied

# No id contains these: a NUL, and what some program takes for a line break. Python, Arrow and Java
# read this alike.
NOT_IN_IDS = "[\\x00\\x0a-\\x0d\\x1c-\\x1e\\x85\u2028\u2029]"
_FOUND_IN_IDS = re.compile(NOT_IN_IDS)
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"

# So many binary digits of a whole number are exact in a float of so many bits.
_EXACT_BITS = {16: 11, 32: 24, 64: 53}


def encode_labels(
    column: pa.ChunkedArray, role: str, locate: Locate
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Split a column of ids into its sorted distinct labels and each row's position among them.

    Ids become int64 if every one is a whole number written the usual way, else they stay text,
    so that "007" and "7" remain two people. Sorted labels make the result independent of the
    order of the rows.

    Returns
    -------
    labels : ndarray of int64 or of str objects, shape (n_labels,)
    codes : ndarray of int32, shape (n_rows,)

    Raises
    ------
    RecveilError
        For the first row without an id, or whose id contains a line break or a NUL; and for a
        column of another type.

    Examples
    --------
    >>> encode_labels(pa.chunked_array([["10", "9", "10"]]), "user", str)
    (array([ 9, 10]), array([1, 0, 1], dtype=int32))
    """
    column = _usual(column, role, locate)
    if pa.types.is_floating(column.type):
        column = _whole_numbers(column, role, locate)
    if pa.types.is_integer(column.type) and len(column) and not column.null_count:
        encoded = _encode_numbers(column)
        if encoded is not None:
            return encoded
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks and _holds_twice(column.chunk(0).dictionary):
        column = tidied(column)
    refuse_missing(column, f"the {role} is missing; drop the row", locate, code="id.missing")
    if not column.num_chunks:
        return np.array([], np.int64), np.array([], np.int32)
    labels = _label_array(column.chunk(0).dictionary)
    used = _used(column, 0, labels.size)
    for empty in np.flatnonzero(used & (labels == "")):
        codes = pa.chunked_array(chunk.indices for chunk in column.chunks)
        refuse_first(
            pc.equal(codes, int(empty)),
            f"the {role} is empty; drop the row",
            locate,
            code="id.missing",
        )
    _require_plain_text(column, used, role, locate)
    in_order = np.flatnonzero(used)
    in_order = in_order[np.argsort(labels[in_order])]
    position = np.zeros(labels.size, np.int32)
    position[in_order] = np.arange(in_order.size, dtype=np.int32)
    return labels[in_order], _relabel(column, 0, position)


def _require_plain_text(
    column: pa.ChunkedArray, used: NDArray[np.bool_], role: str, locate: Locate
) -> None:
    """Raise for an id with a NUL or a line break.

    A line break in an id is most often a row of another user, swallowed by a stray quote.
    """
    labels = column.chunk(0).dictionary
    if not is_text(labels.type):
        return
    found = pc.match_substring_regex(labels.cast(pa.large_string()), NOT_IN_IDS)
    for label in np.flatnonzero(used & found.fill_null(False).to_numpy(zero_copy_only=False)):
        codes = pa.chunked_array(chunk.indices for chunk in column.chunks)
        held = describe_break(labels[int(label)].as_py())
        problem = f"the {role} contains {held}; correct it, or drop the row"
        refuse_first(pc.equal(codes, int(label)), problem, locate, code="id.line-break")


def describe_break(text: str) -> str:
    r"""Name the first character of a text that no id contains; return "" for none.

    Examples
    --------
    >>> describe_break("Heat\u2028"), describe_break("Heat\0"), describe_break("Heat 2")
    ('a line break (U+2028)', 'a NUL (U+0000)', '')
    """
    if (found := _FOUND_IN_IDS.search(text)) is None:
        return ""
    what = "a NUL" if found[0] == "\0" else "a line break"
    return f"{what} (U+{ord(found[0]):04X})"


def _usual(column: pa.ChunkedArray, role: str, locate: Locate) -> pa.ChunkedArray:
    """Bring ids that are stored unusually into a usual type, or say that they are no ids."""
    kind = column.type
    if isinstance(kind, pa.RunEndEncodedType):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        column, kind = pa.chunked_array(chunks, kind.value_type), kind.value_type
    if pa.types.is_uint64(kind) and (pc.max(column).as_py() or 0) >= 2**63:
        return column.cast(pa.string())  # as in a text file, whose longest numbers are text
    if pa.types.is_decimal(kind):
        # As databases write whole numbers; as text, those of any size stay what they are.
        _refuse_fractions(column, role, locate)
        return column.cast(pa.decimal256(76, 0)).cast(pa.string())
    if pa.types.is_null(kind):
        refuse_missing(column, f"the {role} is missing; drop the row", locate, code="id.missing")
    label = kind.value_type if pa.types.is_dictionary(kind) else kind
    floating = pa.types.is_floating(label) and not pa.types.is_dictionary(kind)
    if not (pa.types.is_integer(label) or is_text(label) or floating or pa.types.is_null(label)):
        raise RecveilError(
            f"{role} column: expected text or whole numbers, got {shortened(str(kind))}; "
            f"convert it to text",
            code="id.type",
        )
    return column


def _refuse_fractions(column: pa.ChunkedArray, role: str, locate: Locate) -> None:
    broken = pc.not_equal(column, pc.round(column))
    refuse_first(broken, f"the {role} is no whole number; expected an id", locate, code="id.type")


def _encode_numbers(
    column: pa.ChunkedArray,
) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
    """Encode whole numbers by a table of all between the ends; None if that would be too large."""
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if high - low >= max(2**20, len(column)):
        return None
    used = _used(column, low, high - low + 1)
    return np.flatnonzero(used) + low, _relabel(column, low, (np.cumsum(used) - 1).astype(np.int32))


def _used(column: pa.ChunkedArray, low: int, n: int) -> NDArray[np.bool_]:
    """Say which of the n numbers from `low` on stand in a column, or in its dictionary's place."""
    used = np.zeros(n, np.bool_)
    for _, numbers in _integers(column):
        _mark(numbers, low, used)
    return used


def _relabel(column: pa.ChunkedArray, low: int, position: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return ``position[number - low]`` of each number."""
    codes = np.empty(len(column), np.int32)
    for first, numbers in _integers(column):
        _look_up(numbers, low, position, codes[first : first + numbers.size])
    return codes


def _integers(column: pa.ChunkedArray) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the numbers of a column, or its places in the dictionary, piece by piece."""
    for first, piece in pieces(column):
        numbers = piece.indices if pa.types.is_dictionary(column.type) else piece
        # Two types only, since a kernel is compiled for each.
        is_narrow = pa.types.is_int32(numbers.type) or numbers.type.bit_width < 32
        yield first, numbers.cast(pa.int32() if is_narrow else pa.int64()).to_numpy()


# numpy would turn each piece into 64-bit numbers before it looks anything up.
@compiled()
def _mark(numbers: NDArray[Any], low: int, used: NDArray[Any]) -> None:
    for number in numbers:
        used[number - low] = True


@compiled()
def _look_up(numbers: NDArray[Any], low: int, position: NDArray[Any], codes: NDArray[Any]) -> None:
    for at in range(numbers.size):
        codes[at] = position[numbers[at] - low]


def _holds_twice(labels: pa.Array) -> bool:
    labels = labels.cast(pa.large_string()) if is_text(labels.type) else labels
    return bool(pc.count_distinct(labels, mode="all").as_py() < len(labels))


def _label_array(labels: pa.Array) -> NDArray[Any]:
    if pa.types.is_integer(labels.type):
        try:
            return labels.cast(pa.int64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            labels = labels.cast(pa.string())
    labels = labels.cast(pa.large_string())  # a string view has no regular expressions
    if len(labels) and pc.all(pc.match_substring_regex(labels, _INTEGER)).as_py():
        return labels.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return np.array(labels.to_pylist(), dtype=object)


def _whole_numbers(column: pa.ChunkedArray, role: str, locate: Locate) -> pa.ChunkedArray:
    """Turn ids that a data frame keeps as floats (1.0, 2.0) back into integers."""
    refuse_first(
        pc.is_null(column, nan_is_null=True), f"the {role} is missing", locate, code="id.missing"
    )
    digits = _EXACT_BITS[column.type.bit_width]
    column = column.cast(pa.float64())
    broken = pc.not_equal(column, pc.round(column))
    refuse_first(broken, f"the {role} is no whole number; expected an id", locate, code="id.type")
    # The first one that has two meanings is the power itself: the number behind it became it.
    problem = (
        f"the {role} is a number beyond what its column holds exactly, so that two may be one; "
        f"write ids as text, or as whole numbers, where they come from"
    )
    refuse_first(pc.greater_equal(pc.abs(column), 2.0**digits), problem, locate, code="id.type")
    return column.cast(pa.int64())
