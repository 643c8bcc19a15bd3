"""Encoding of user and item ids, and reports on ids that may be wrong or personal."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import (
    is_text,
    pieces,
    reject_first,
    reject_missing,
    run_end_decoded,
    value_type,
)
from recveil.io.columns.repeated_rows import fold
from recveil.ratings.arrow_columns import holds_uuids, tidied, uuids_as_text
from recveil.ratings.rating_scale import Locate
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, listed, quoted, shortened

# Characters that no id contains: a NUL, and all line breaks of any program. The pattern means the
# same in Python, Arrow and Java.
NOT_IN_IDS = "[\\x00\\x0a-\\x0d\\x1c-\\x1e\\x85\u2028\u2029]"
_FOUND_IN_IDS = re.compile(NOT_IN_IDS)
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"

# Number of binary digits that are exact in a float of so many bits.
_EXACT_BITS = {16: 11, 32: 24, 64: 53}


def encode_ids(
    column: pa.ChunkedArray, role: str, locate: Locate
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Split a column of ids into its sorted distinct ids and each row's position among them.

    Ids become int64 if each is a whole number in its usual notation. Otherwise they stay text, so
    that "007" and "7" remain two ids. Sorting makes the result independent of the order of rows.
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
    if column.num_chunks:
        values = column.chunk(0).dictionary
        texts = values.cast(pa.large_string()) if is_text(values.type) else values
        if pc.count_distinct(texts, mode="all").as_py() < len(texts):
            column = tidied(column)
    reject_missing(column, f"the {role} is missing; drop the row", locate, code="id.missing")
    if not column.num_chunks:
        return np.array([], np.int64), np.array([], np.int32)
    ids = _id_array(column.chunk(0).dictionary)
    used = _used(column, 0, ids.size)
    for empty in np.flatnonzero(used & (ids == "")):
        codes = pa.chunked_array(chunk.indices for chunk in column.chunks)
        reject_first(
            pc.equal(codes, int(empty)),
            f"the {role} is empty; drop the row",
            locate,
            code="id.missing",
        )
    _require_plain_text(column, used, role, locate)
    in_order = np.flatnonzero(used)
    in_order = in_order[np.argsort(ids[in_order])]
    position = np.zeros(ids.size, np.int32)
    position[in_order] = np.arange(in_order.size, dtype=np.int32)
    return ids[in_order], _positions_of(column, 0, position)


def _require_plain_text(
    column: pa.ChunkedArray, used: NDArray[np.bool_], role: str, locate: Locate
) -> None:
    """Raise for an id with a NUL or a line break, usually a row that a stray quote swallowed."""
    ids = column.chunk(0).dictionary
    if not is_text(ids.type):
        return
    found = pc.match_substring_regex(ids.cast(pa.large_string()), NOT_IN_IDS)
    for code in np.flatnonzero(used & found.fill_null(False).to_numpy(zero_copy_only=False)):
        codes = pa.chunked_array(chunk.indices for chunk in column.chunks)
        problem = describe_break(ids[int(code)].as_py())
        problem = f"the {role} contains {problem}; correct it, or drop the row"
        reject_first(pc.equal(codes, int(code)), problem, locate, code="id.line-break")


def describe_break(text: str) -> str:
    r"""Name the first character of a text that no id contains; return "" for none.

    >>> describe_break("Heat\u2028"), describe_break("Heat\0"), describe_break("Heat 2")
    ('a line break (U+2028)', 'a NUL (U+0000)', '')
    """
    if (found := _FOUND_IN_IDS.search(text)) is None:
        return ""
    what = "a NUL" if found[0] == "\0" else "a line break"
    return f"{what} (U+{ord(found[0]):04X})"


def _usual(column: pa.ChunkedArray, role: str, locate: Locate) -> pa.ChunkedArray:
    """Convert ids of unusual types, or raise a RecveilError for values that are no ids."""
    column = run_end_decoded(column)
    kind = column.type
    if pa.types.is_uint64(kind) and (pc.max(column).as_py() or 0) >= 2**63:
        return column.cast(pa.string())  # as in text files, whose longest numbers stay text
    if pa.types.is_decimal(kind):  # whole numbers of a database, of any size as text
        _reject_fractions(column, role, locate)
        return column.cast(pa.decimal256(76, 0)).cast(pa.string())
    if pa.types.is_null(kind):
        reject_missing(column, f"the {role} is missing; drop the row", locate, code="id.missing")
    if holds_uuids(column):  # without their type, as Spark and older writers store them
        return pa.chunked_array([uuids_as_text(chunk) for chunk in column.chunks])
    value = value_type(kind)
    if not (pa.types.is_integer(value) or is_text(value) or pa.types.is_null(value)) and (
        not pa.types.is_floating(kind)
    ):
        is_bytes = "binary" in str(kind)  # has no cast to text
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
    return np.flatnonzero(used) + low, _positions_of(
        column, low, (np.cumsum(used) - 1).astype(np.int32)
    )


def _used(column: pa.ChunkedArray, low: int, n: int) -> NDArray[np.bool_]:
    """Return which of the n numbers from `low` on occur in a column, or as dictionary indices."""
    used = np.zeros(n, np.bool_)
    for _, numbers in _integers(column):
        _mark(numbers, low, used)
    return used


def _positions_of(
    column: pa.ChunkedArray, low: int, position: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return ``position[number - low]`` of each number."""
    codes = np.empty(len(column), np.int32)
    for first, numbers in _integers(column):
        _look_up(numbers, low, position, codes[first : first + numbers.size])
    return codes


def _integers(column: pa.ChunkedArray) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the numbers of a column, or its dictionary indices, piece by piece."""
    for first, piece in pieces(column):
        numbers = piece.indices if pa.types.is_dictionary(column.type) else piece
        # Two types only, since a kernel is compiled for each.
        is_narrow = pa.types.is_int32(numbers.type) or numbers.type.bit_width < 32
        yield first, numbers.cast(pa.int32() if is_narrow else pa.int64()).to_numpy()


# numpy would convert each piece to 64-bit numbers first.
@compiled(plain_if_small=True)
def _mark(numbers: NDArray[Any], low: int, used: NDArray[Any]) -> None:
    for number in numbers:
        used[number - low] = True


@compiled(plain_if_small=True)
def _look_up(numbers: NDArray[Any], low: int, position: NDArray[Any], codes: NDArray[Any]) -> None:
    for at in range(numbers.size):
        codes[at] = position[numbers[at] - low]


def _id_array(values: pa.Array) -> NDArray[Any]:
    if pa.types.is_integer(values.type):
        try:
            return values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            values = values.cast(pa.string())
    values = values.cast(pa.large_string())  # a string view has no regular expressions
    if len(values) and pc.all(pc.match_substring_regex(values, _INTEGER)).as_py():
        return values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return np.array(values.to_pylist(), dtype=object)


def _whole_numbers(column: pa.ChunkedArray, role: str, locate: Locate) -> pa.ChunkedArray:
    """Convert ids that a data frame holds as floats (1.0, 2.0) to integers."""
    reject_first(
        pc.is_null(column, nan_is_null=True), f"the {role} is missing", locate, code="id.missing"
    )
    digits = _EXACT_BITS[column.type.bit_width]
    column = column.cast(pa.float64())
    _reject_fractions(column, role, locate)
    # The first ambiguous number is the power itself: its successor is rounded to it.
    problem = (
        f"the {role} is larger than its column holds exactly, so that two may be one; write ids "
        f"as text, or as whole numbers, where they come from"
    )
    reject_first(pc.greater_equal(pc.abs(column), 2.0**digits), problem, locate, code="id.type")
    return column.cast(pa.int64())


# What programs write around an id, or instead of its signs, as patterns that replace it in turn.
# An international phone number: +49 30 1234567, 0049 (30) 123-4567.
_PHONE = r"^(\+|00)[1-9][0-9 ()./-]{6,}$"
_NOTATIONS = (
    (r"[\s\p{Z}]+", " "),
    ("[\u2010-\u2015\u2212]", "-"),
    ("[`\u00b4\u2018\u2019\u201b\u02bc\u2032]", "'"),
    ("[\u201c-\u201f\u2033]", '"'),
    # b'101', ="101" as spreadsheets keep digits, '101 and a stray quote.
    (r"""^b(['"].*['"])$""", r"\1"),
    (r"""^(=?["']|')+|["']+$""", ""),
    (r"^ +| +$|^(?i:mailto|tel|urn:uuid):", ""),
    (
        r"^\{?([0-9a-fA-F]{8})-?([0-9a-fA-F]{4})-?([0-9a-fA-F]{4})-?([0-9a-fA-F]{4})-?"
        r"([0-9a-fA-F]{12})\}?$",
        r"\1\2\3\4\5",
    ),
    # A whole number, however a program wrote it: 101, +101, 101.0, 0101.
    (r"^[+]?(-?)0*([0-9]+)([.]0+)?$", r"\1\2"),
)
# A number with decimals or an exponent.
_NUMBER = re.compile(r"-?[0-9]+([.,][0-9]+)?(e[+-]?[0-9]{1,2})?")
# A number with signs between thousands.
_THOUSANDS = r"^-?[0-9]{1,3}([., '_][0-9]{3})+$"
# Signs that HTML and addresses write as a code: &amp;, %40.
_CODED_SIGN = r"&#?[0-9A-Za-z]+;|%[0-9A-Fa-f]{2}"
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
# Long numbers are taken for rounded ones if so many of those looked at are, which by chance, with a
# few others among them, would be so rare; and if most are not round in a coarser unit, too.
_LONG_NUMBER, _LOOKED_AT = re.compile(r"[1-9]\d{15,19}"), 2_000
# Of smaller units, ids may have been given: in steps of two, for instance.
_LEAST_UNIT = 8
_FEWEST_ROUNDED, _MOST_ROUNDED, _OTHERS_COST, _CHANCE = 5, 0.95, 0.2, 1e-6
# More ids that begin with # are no comments.
_FEW_COMMENTS, _COMMENT_SHARE = 3, 0.01
# Names of the line of totals below a table.
_TOTAL = (
    r"(?i)^\s*((grand|sub)[ -]?)?(totals?|sum|average|mean|(total )?rows|summe|gesamt)\s*:?\s*$"
)
# What programs write for missing values.
_NOTHING = (
    *("na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", "undefined", "(null)", "[null]"),
    *("<null>", "\\n", "(blank)", "(none)", "-", "--", "?", "#ref!", "#value!", "#name?", "#null!"),
)


def describe_alike_ids(ids: NDArray[Any], role: str) -> list[str]:
    """Report how many ids may be fewer, as some differ only in notation; none are merged."""
    if ids.dtype != object:
        return []
    usual = _usual_notation(pa.array(ids, pa.large_string()))
    notation = "zeros, blanks, quotes, other signs, invisible characters or the code of a letter"
    found = _describe_equal(ids, usual, role, notation)
    coded = usual.dictionary_encode()
    first = np.unique(coded.indices.to_numpy(), return_index=True)[1]
    ids, usual = ids[first], coded.dictionary
    return [
        *found,
        *_describe_look_alikes(ids, usual, role),
        *_describe_equal(ids, pc.utf8_lower(usual), role, "capital letters or notation"),
    ]


def _usual_notation(texts: pa.Array) -> pa.Array:
    """Return ids as most programs write them.

    >>> _usual_notation(pa.array(['="007"', "1,001", "{0E-0", "a%40b"])).to_pylist()
    ['7', '1001', '{0E-0', 'a@b']
    """
    coded = pc.match_substring_regex(texts, _CODED_SIGN)
    if pc.any(coded).as_py():
        decoded = [unquote(unescape(text)) for text in texts.filter(coded).to_pylist()]
        texts = pc.replace_with_mask(texts, coded, pa.array(decoded, texts.type))
    usual = pc.utf8_normalize(pc.replace_substring_regex(texts, r"\p{Cf}+", ""), form="NFC")
    for pattern, plain in _NOTATIONS:
        usual = pc.replace_substring_regex(usual, pattern, plain)
    phones = pc.replace_substring_regex(usual, r"^(\+|00)|[^0-9]", "")
    usual = pc.if_else(pc.match_substring_regex(usual, _PHONE), phones, usual)
    digits = pc.replace_substring_regex(usual, "[., '_]", "")
    return pc.if_else(pc.match_substring_regex(usual, _THOUSANDS), digits, usual)


def normal_ids(ids: Iterable[Any]) -> list[str]:
    """Return ids in one notation, in which equal ones may be one user.

    >>> normal_ids([155, "0155", " 155.0", "1.55E+2", "Ann@x.org"])
    ['155', '155', '155', '155', 'ann@x.org']
    """
    texts = pa.array([fold(str(each)) for each in ids], pa.large_string())
    return [plain_number(text) for text in _usual_notation(texts).to_pylist()]


def plain_number(text: str) -> str:
    """Return a number without exponent and trailing decimal zeros, and other text as it is.

    >>> [plain_number(text) for text in ("1.50e+1", "1,0", "007", "x1")]
    ['15', '1', '007', 'x1']
    """
    if text.isdecimal() or not _NUMBER.fullmatch(text):
        return text
    plain = f"{Decimal(text.replace(',', '.')):f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _describe_look_alikes(ids: NDArray[Any], usual: pa.Array, role: str) -> list[str]:
    """Report how many ids look like another one in letters or digits of another script or width."""
    others = pc.invert(pc.string_is_ascii(usual))
    if not pc.any(others).as_py():
        return []
    folded = pc.utf8_normalize(usual.filter(others), form="NFKD").to_pylist()
    alike = [re.sub(r"\d", _digit, text.translate(_LOOK_ALIKE)) for text in folded]
    plain = pc.replace_with_mask(usual, others, pa.array(alike, usual.type))
    return _describe_equal(ids, plain, role, "the script or width of letters and digits", ascii)


def _digit(digit: re.Match[str]) -> str:
    return str(int(digit[0]))


def _describe_equal(
    ids: NDArray[Any],
    usual: pa.Array,
    role: str,
    differ: str,
    write: Callable[[Any], str] = repr,
) -> list[str]:
    """Report how many ids have the same usual form as another one."""
    usual = usual.dictionary_encode()
    n_usual = len(usual.dictionary)
    if n_usual == ids.size:
        return []
    codes = usual.indices.to_numpy()
    twice = int(np.argmax(np.bincount(codes) > 1))
    one, other = (shortened(write(ids[at]), 40) for at in np.flatnonzero(codes == twice)[:2])
    counted = " Until then, k and epsilon count each as a user." * (role == "user")
    return [
        f"{ids.size:,} {role}s may be {n_usual:,}: {one} and {other} differ only in {differ}, and "
        f"were read as two; if they are one, correct the table.{counted}"
    ]


def _describe_some(
    found: list[str], ids: NDArray[Any], role: str, problem: tuple[str, str], remedy: str
) -> list[str]:
    """Report how many ids have a problem, which is given for one and for several."""
    if not found:
        return []
    return [
        f"{len(found):,} of {len(ids):,} {role}s {problem[len(found) > 1]}, such as "
        f"{quoted(found[0], 40)}{remedy}."
    ]


def describe_blanks(ids: NDArray[Any], role: str) -> list[str]:
    """Report how many ids begin or end with a blank, which is kept.

    >>> print(*describe_blanks(np.array([" i1", "i2"], object), "item"))
    1 of 2 items begins or ends with a blank, such as ' i1', which is kept; if it is no part of the
    id, remove it from the table.
    """
    texts = pa.array(ids, pa.large_string())
    found = texts.filter(pc.not_equal(texts, pc.utf8_trim_whitespace(texts))).to_pylist()
    if found and found[0].strip().startswith('"'):
        problem = "has a blank next to a quote", "have a blank next to a quote"
        remedy = ", so that both are parts of the id; remove the blanks from the table"
    else:
        problem = "begins or ends with a blank", "begin or end with a blank"
        remedy = ", which is kept; if it is no part of the id, remove it from the table"
    return _describe_some(found, ids, role, problem, remedy)


def describe_rounded(ids: NDArray[Any], role: str) -> list[str]:
    """Report how many ids are numbers that a spreadsheet rounded, so that several may be one."""
    remedy = ", so that several may have been merged; format the column as text where it comes from"
    return _describe_some(
        _matching(ids, _ROUNDED),
        ids,
        role,
        ("looks like a rounded number", "look like rounded numbers"),
        f"{remedy}, and export it again",
    )


def _matching(ids: NDArray[Any] | Sequence[str], pattern: str) -> list[str]:
    texts = pa.array(ids, pa.large_string())
    return list(texts.filter(pc.match_substring_regex(texts, pattern)).to_pylist())


def describe_totals(ids: NDArray[Any], role: str) -> list[str]:
    """Report ids that look like the line of totals below a table.

    >>> print(*describe_totals(np.array(["ann", "Total"], object), "user"))
    'Total' among the users may be a line of totals; if it is, delete the line.
    """
    found = _matching(ids, _TOTAL)
    named = f"{listed(found, 60)} among the {role}s"
    return [f"{named} may be a line of totals; if it is, delete the line."] if found else []


def describe_null_ids(ids: NDArray[Any] | Sequence[str], role: str) -> list[str]:
    """Report texts that programs write for missing values."""
    texts = pa.array(ids, pa.large_string())
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    found = texts.filter(pc.is_in(plain, pa.array(_NOTHING, pa.large_string()))).to_pylist()
    named = f"{listed(found, 60)} among the {role}s"
    remedy = (
        "if it does, delete such rows from the table, as drop_missing_ids (--drop-missing-ids) "
        "drops rows without any text there"
    )
    return [f"{named} may mean a missing value; {remedy}."] if found else []


def describe_lost_digits(ids: NDArray[Any], role: str) -> list[str]:
    """Report how many long numbers lost their last digits, so that several ids may be one.

    Spreadsheets keep 15 digits, and JavaScript, pandas and others the 53 bits of a float. If ids
    merely end in zeros, most of them are round in a coarser unit, too: they get no note.
    """
    looked_at = ids[:: max(1, ids.size // _LOOKED_AT)].tolist()
    texts = [text for text in map(str, looked_at) if _LONG_NUMBER.fullmatch(text)]
    numbers = [int(text) for text in texts]
    for keeps, round_to in _ROUNDINGS.items():
        rounded = [found for found in map(round_to, numbers) if found.is_rounded]
        if len(rounded) < max(_FEWEST_ROUNDED, _MOST_ROUNDED * len(numbers)):
            continue
        n_coarser = sum(found.is_coarser for found in rounded)
        most_coarser = sum((1 + found.chance) / 2 for found in rounded)
        units = [found.unit for found in rounded if found.unit >= _LEAST_UNIT]
        evidence = sum(map(math.log, units)) - _OTHERS_COST * len(numbers)
        if n_coarser <= most_coarser and evidence > -math.log(_CHANCE):
            return [
                f"{len(rounded):,} of {len(numbers):,} {role}s with 16 digits or more ({texts[0]}) "
                f"are rounded to the digits that {keeps} keeps, so that several may have been "
                f"merged; write them as text where they come from, and export them again."
            ]
    return []


class _Rounding(NamedTuple):
    """Whether a number is round in a unit, and in the next coarser one."""

    unit: int
    is_rounded: bool
    is_coarser: bool
    chance: float
    """Of rounded numbers, the share that is round in the coarser unit, too."""


def _to_15_digits(number: int) -> _Rounding:
    unit = 10 ** (len(str(number)) - 15)
    return _Rounding(unit, number % unit == 0, number % (10 * unit) == 0, 0.1)


def _to_float(number: int) -> _Rounding:
    unit = _spacing(number)
    return _Rounding(unit, number % unit == 0, number % (2 * unit) == 0, 0.5)


def _to_shortest_digits(number: int) -> _Rounding:
    """As JavaScript writes a float: with the fewest digits that distinguish it, and zeros."""
    unit = _spacing(number)
    digits = int(Decimal(repr(float(number))))
    coarser = 10 ** len(str(unit))
    return _Rounding(unit, digits == number, number % coarser == 0, unit / coarser)


def _spacing(number: int) -> int:
    return max(1, int(math.ulp(float(number))))


_ROUNDINGS = {
    "a spreadsheet": _to_15_digits,
    "a float": _to_float,
    "a float, written in JavaScript,": _to_shortest_digits,
}


def describe_comments(column: pa.ChunkedArray, role: str, locate: Locate) -> list[str]:
    """Describe a few ids that may be comments: another id, or a number, after a #.

    >>> column = pa.chunked_array([["1001", "# 1001", "1002"]])
    >>> print(*describe_comments(column, "user", lambda row: f"line {row + 2}"))
    1 user id begins with #, as comments do (line 3: '# 1001'), and no line was left out; delete
    comments.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not is_text(kind):
        return []
    if not any(map(_has_comment, column.chunks)):
        return []
    texts = column.cast(pa.large_string())
    found = pc.starts_with(texts, "#").fill_null(False)
    if pc.sum(found).as_py() > max(_FEW_COMMENTS, _COMMENT_SHARE * len(column)):
        return []
    rows = np.flatnonzero(found.to_numpy())
    bare = pc.utf8_trim_whitespace(pc.utf8_ltrim(texts.take(rows), "#"))
    others = texts.filter(pc.invert(found))
    are_numbers = bool(pc.all(pc.utf8_is_decimal(others.slice(0, _LOOKED_AT))).as_py())
    is_id = pc.is_in(bare, others.unique())
    is_number = pc.and_(pa.scalar(are_numbers), pc.utf8_is_decimal(bare))
    rows = rows[pc.or_(is_id, is_number).to_numpy()]
    if not rows.size:
        return []
    begin = "id begins" if rows.size == 1 else "ids begin"
    first = int(rows[0])
    return [
        f"{rows.size:,} {role} {begin} with #, as comments do ({locate(first)}: "
        f"{quoted(texts[first].as_py(), 40)}), and no line was left out; delete comments."
    ]


def _has_comment(chunk: pa.Array) -> bool:
    values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
    return bool(pc.any(pc.starts_with(values.cast(pa.large_string()), "#")).as_py())


def describe_ids(users: NDArray[Any], items: NDArray[Any]) -> list[str]:
    """Report ids that the publisher should check, a sentence each; alike ones of items alone.

    >>> describe_ids(np.array([7, 12]), np.array(["heat"], object))
    []
    """
    checks = describe_rounded, describe_blanks, describe_totals, describe_null_ids
    lost = [
        note
        for role, ids in (("user", users), ("item", items))
        for note in describe_lost_digits(ids, role)
    ]
    return [*describe_alike_ids(items, "item"), *lost] + [
        note
        for role, ids in (("user", users), ("item", items))
        if ids.dtype == object
        for describe in checks
        for note in describe(ids, role)
    ]


# Patterns of personal ids, and the share of items from which such ids are no chance.
_KINDS = {
    "e-mail addresses": (r"^\s*[^@\s]+@[^@\s]+\.[A-Za-z]{2,}\s*$", 0.0),
    "telephone numbers": (r"^\s*\+\d[\d ()/.-]{6,18}\d\s*$", 0.5),
    "network (IP) addresses": (r"^\s*\d{1,3}(\.\d{1,3}){3}\s*$", 0.5),
}


def user_ids_among(items: Iterable[Any]) -> tuple[str, int] | None:
    """Return the kind of personal ids among the ids of items, and their number; None without any.

    One e-mail address is enough; of the other kinds, half of the ids.
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


def reject_personal_ids(items: Iterable[Any], *, can_hide: bool = True) -> None:
    """Raise a RecveilError for ids of items that look personal, or contain line breaks."""
    breaks = (describe_break(item) for item in items if isinstance(item, str))
    if first := next(filter(None, breaks), ""):
        raise RecveilError(
            f"an item id contains {first}; correct it, or drop its rows", code="id.line-break"
        )
    if (found := user_ids_among(items)) is not None:
        kind, times = found
        look = "id of items looks" if times == 1 else "ids of items look"
        hide = ", or publish pseudonyms (hide_items, --hide-items)" if can_hide else ""
        raise RecveilError(
            f"{times:,} {look} like {kind}, and are published unchanged; if they are users, name "
            f"the columns with user and item (--user, --item); else rename them{hide}",
            code="id.personal",
        )
