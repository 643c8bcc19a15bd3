"""Ids of people among those of items, which are published as they stand."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import is_text, pieces, reject_first, reject_missing
from recveil.ratings.arrow_columns import holds_uuids, tidied, uuids_as_text
from recveil.ratings.rating_scale import Locate
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, listed, quoted, shortened

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
    reject_missing(column, f"the {role} is missing; drop the row", locate, code="id.missing")
    if not column.num_chunks:
        return np.array([], np.int64), np.array([], np.int32)
    labels = _label_array(column.chunk(0).dictionary)
    used = _used(column, 0, labels.size)
    for empty in np.flatnonzero(used & (labels == "")):
        codes = pa.chunked_array(chunk.indices for chunk in column.chunks)
        reject_first(
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
        reject_first(pc.equal(codes, int(label)), problem, locate, code="id.line-break")


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
        _reject_fractions(column, role, locate)
        return column.cast(pa.decimal256(76, 0)).cast(pa.string())
    if pa.types.is_null(kind):
        reject_missing(column, f"the {role} is missing; drop the row", locate, code="id.missing")
    if holds_uuids(column):  # as Spark and older writers store them, without their type
        return pa.chunked_array([uuids_as_text(chunk) for chunk in column.chunks])
    label = kind.value_type if pa.types.is_dictionary(kind) else kind
    floating = pa.types.is_floating(label) and not pa.types.is_dictionary(kind)
    if not (pa.types.is_integer(label) or is_text(label) or floating or pa.types.is_null(label)):
        is_bytes = "binary" in str(kind)  # which no cast turns into text
        remedy = "convert it to text" + ", such as hexadecimal digits" * is_bytes
        raise RecveilError(
            f"{role} column: expected text or whole numbers, got {shortened(str(kind))}; {remedy}",
            code="id.type",
        )
    return column


def _reject_fractions(column: pa.ChunkedArray, role: str, locate: Locate) -> None:
    broken = pc.not_equal(column, pc.round(column))
    reject_first(broken, f"the {role} is no whole number; expected an id", locate, code="id.type")


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
    reject_first(
        pc.is_null(column, nan_is_null=True), f"the {role} is missing", locate, code="id.missing"
    )
    digits = _EXACT_BITS[column.type.bit_width]
    column = column.cast(pa.float64())
    broken = pc.not_equal(column, pc.round(column))
    reject_first(broken, f"the {role} is no whole number; expected an id", locate, code="id.type")
    # The first one that has two meanings is the power itself: the number behind it became it.
    problem = (
        f"the {role} is a number beyond what its column holds exactly, so that two may be one; "
        f"write ids as text, or as whole numbers, where they come from"
    )
    reject_first(pc.greater_equal(pc.abs(column), 2.0**digits), problem, locate, code="id.type")
    return column.cast(pa.int64())


# A whole number, however a program wrote it: 101, 101.0, 0101.
_NUMBER = r"^(-?)0*([0-9]+)([.]0+)?$"
# Cyrillic and Greek letters that look like Latin ones.
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408"
    "\u0405\u051a\u051c"
    "\u03b1\u03bf\u03bd\u03c1\u03c5\u03b9\u03c7\u03f3"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aeopcyxijshdqwABEKMHOPCTYXIJSQWaovpuixjABEZHIKMNOPTYX",
)
# How spreadsheets show long numbers.
_ROUNDED = r"^\s*-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{2,3}\s*$"
# How programs and people name the line below a table that sums it up.
_TOTAL = r"(?i)^\s*((grand|sub)[ -]?)?(totals?|sum|average|mean|total rows|summe|gesamt)\s*:?\s*$"
# What programs write where there is nothing.
_NOTHING = (
    *("na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", "undefined", "(null)", "[null]"),
    *("<null>", "\\n", "(blank)", "(none)", "-", "--", "?", "#ref!", "#value!", "#name?", "#null!"),
)


def describe_alike_ids(labels: NDArray[Any], role: str) -> list[str]:
    """Say how many users, or items, may be fewer, as some differ in how they are written alone.

    Nothing is put together: which ids are one, their owner knows.
    """
    if labels.dtype != object:
        return []
    texts = pa.array(labels, pa.large_string())
    visible = pc.replace_substring_regex(texts, r"\p{Cf}+", "")
    usual = pc.utf8_normalize(pc.utf8_trim_whitespace(visible), form="NFC")
    usual = pc.replace_substring_regex(usual, _NUMBER, r"\1\2")
    written = "zeros, blanks, invisible characters or the code of a letter"
    return [
        *_describe_equal(labels, usual, role, written),
        *_describe_look_alikes(labels, usual, role),
        *_describe_equal(labels, pc.utf8_lower(texts), role, "capital letters"),
    ]


def _describe_look_alikes(labels: NDArray[Any], usual: pa.Array, role: str) -> list[str]:
    """Report how many ids look like another one in letters of another script or width."""
    others = pc.invert(pc.string_is_ascii(usual))
    if not pc.any(others).as_py():
        return []
    folded = pc.utf8_normalize(usual.filter(others), form="NFKD").to_pylist()
    alike = pa.array([text.translate(_LOOK_ALIKE) for text in folded], usual.type)
    _, first = np.unique(usual.dictionary_encode().indices.to_numpy(), return_index=True)
    plain = pc.replace_with_mask(usual, others, alike).take(pa.array(first))
    return _describe_equal(labels[first], plain, role, "the script or width of letters", ascii)


def _describe_equal(
    labels: NDArray[Any],
    usual: pa.Array,
    role: str,
    differ: str,
    write: Callable[[Any], str] = repr,
) -> list[str]:
    """Report how many ids have the same usual form as another one."""
    usual = usual.dictionary_encode()
    n_usual = len(usual.dictionary)
    if n_usual == labels.size:
        return []
    codes = usual.indices.to_numpy()
    twice = int(np.argmax(np.bincount(codes) > 1))
    one, other = (shortened(write(labels[at]), 40) for at in np.flatnonzero(codes == twice)[:2])
    return [
        f"{labels.size:,} {role}s may be {n_usual:,}: {one} and {other} "
        f"differ by {differ} alone, and were taken for two; if they are one, correct the table."
    ]


def describe_blanks(labels: NDArray[Any], role: str) -> list[str]:
    """Say how many ids begin or end with a blank, which is kept.

    Examples
    --------
    >>> print(*describe_blanks(np.array([" i1", "i2"], object), "item"))
    1 of 2 items has a blank before or after its id, such as ' i1', which is kept as a part of it;
    if it is none, remove it from the table.
    """
    texts = pa.array(labels, pa.large_string())
    found = texts.filter(pc.not_equal(texts, pc.utf8_trim_whitespace(texts)))
    if not len(found):
        return []
    has = "has" if len(found) == 1 else "have"
    if (text := found[0].as_py()).strip()[0:1] == '"':
        return [
            f"{len(found):,} of {len(labels):,} {role}s {has} a blank beside a quote, such as "
            f"{quoted(text, 40)}, which makes both a part of the id; remove the blanks from the "
            f"table."
        ]
    return [
        f"{len(found):,} of {len(labels):,} {role}s {has} a blank before or after "
        f"{'its id' if len(found) == 1 else 'their ids'}, such as {quoted(found[0].as_py(), 40)}, "
        f"which is kept as a part of it; if it is none, remove it from the table."
    ]


def describe_totals(labels: NDArray[Any], role: str) -> list[str]:
    """Say which ids look like the line of totals below a table.

    Examples
    --------
    >>> print(*describe_totals(np.array(["ann", "Total"], object), "user"))
    'Total' among the users may be a line of totals, and was read as a user; if it is one, delete
    the line.
    """
    texts = pa.array(labels, pa.large_string())
    found = texts.filter(pc.match_substring_regex(texts, _TOTAL)).to_pylist()
    if not found:
        return []
    article = "an" if role == "item" else "a"
    return [
        f"{listed(found, 60)} among the {role}s may be a line of totals, and was read as {article} "
        f"{role}; if it is one, delete the line."
    ]


def describe_null_ids(labels: NDArray[Any] | Sequence[str], role: str) -> list[str]:
    """Say which of some texts programs write where there is nothing.

    Examples
    --------
    >>> print(*describe_null_ids(["ann", "NA"], "user"))
    'NA' among the users may stand for nothing, and was taken as it is; if it does, leave such rows
    out.
    """
    texts = pa.array(labels, pa.large_string())
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    found = texts.filter(pc.is_in(plain, pa.array(_NOTHING, pa.large_string()))).to_pylist()
    if not found:
        return []
    return [
        f"{listed(found, 60)} among the {role}s may stand for nothing, and was taken as it is; if "
        f"it does, leave such rows out."
    ]


def describe_rounded(labels: NDArray[Any], role: str) -> list[str]:
    """Say how many ids are numbers that a spreadsheet rounded, so that several may be one.

    Examples
    --------
    >>> print(*describe_rounded(np.array(["1.23457E+15", "i2"], object), "user"))
    1 of 2 users looks like a rounded number ('1.23457E+15'), so that several may have been merged;
    format the column as text where it comes from, and export it again.
    """
    texts = pa.array(labels, pa.large_string())
    found = texts.filter(pc.match_substring_regex(texts, _ROUNDED))
    if not len(found):
        return []
    looks = "looks like a rounded number" if len(found) == 1 else "look like rounded numbers"
    return [
        f"{len(found):,} of {len(labels):,} {role}s {looks} ({quoted(found[0].as_py(), 40)}), so "
        f"that several may have been merged; format the column as text where it comes from, and "
        f"export it again."
    ]


def describe_ids(users: NDArray[Any], items: NDArray[Any]) -> list[str]:
    """Say of all ids what their owner must look at, a sentence each.

    Examples
    --------
    >>> describe_ids(np.array([7, 12]), np.array(["heat"], object))
    []
    """
    told = []
    for role, labels in (("user", users), ("item", items)):
        told += describe_alike_ids(labels, role)
        if labels.dtype == object:
            told += describe_rounded(labels, role)
            told += describe_blanks(labels, role)
            told += describe_totals(labels, role)
            told += describe_null_ids(labels, role)
    return told


# What an id of a person looks like, and from which share of the items on it is no chance.
_KINDS = {
    "e-mail addresses": (r"^\s*[^@\s]+@[^@\s]+\.[A-Za-z]{2,}\s*$", 0.0),
    "telephone numbers": (r"^\s*\+\d[\d ()/.-]{6,18}\d\s*$", 0.5),
    "network (IP) addresses": (r"^\s*\d{1,3}(\.\d{1,3}){3}\s*$", 0.5),
}


def user_ids_among(items: Iterable[Any]) -> tuple[str, int] | None:
    """Say what ids of items look like, if like those of people, and how many.

    One e-mail address is enough; of other kinds, half of the ids.
    """
    array = items if isinstance(items, np.ndarray) else np.asarray(list(items), dtype=object)
    if array.dtype != object:
        return None
    texts = pa.array([item for item in array if isinstance(item, str)], pa.large_string())
    for kind, (pattern, share) in _KINDS.items():
        found = pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0
        if found and found >= share * array.size:
            return kind, int(found)
    return None


def reject_people(items: Iterable[Any], *, can_hide: bool = True) -> None:
    """Refuse to publish ids of items that look like those of people, or contain line breaks."""
    held = (describe_break(item) for item in items if isinstance(item, str))
    if first := next(filter(None, held), ""):
        raise RecveilError(
            f"an item id contains {first}; correct it, or drop its rows", code="id.line-break"
        )
    if (found := user_ids_among(items)) is not None:
        kind, times = found
        look = "id of items looks" if times == 1 else "ids of items look"
        hide = ", or publish pseudonyms (hide_items, --hide-items)" if can_hide else ""
        raise RecveilError(
            f"{times:,} {look} like {kind}, and such ids are published as they stand; if they are "
            f"people's, say which column is which with user and item (--user, --item); if not, "
            f"rename them{hide}",
            code="id.personal",
        )
