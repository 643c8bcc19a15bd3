"""Alike ids: ids that may belong to one user, or to no user."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.errors import listed, quoted, shortened

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
_NOTHING = ("na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", "undefined", "(null)")


def tell_alike_ids(labels: NDArray[Any], role: str) -> list[str]:
    """Say how many users, or items, may be fewer, as some differ in how they are written alone.

    Nothing is put together: which ids are one, their owner knows.

    Parameters
    ----------
    labels : ndarray
        All different ids; whole numbers are as they are.
    role : {"user", "item"}

    Examples
    --------
    >>> print(*tell_alike_ids(np.array(["101", "101.0", "7a"], object), "user"))
    3 users may be 2: '101' and '101.0' differ by zeros, blanks, invisible characters or the code of
    a letter alone, and were taken for two; if they are one, correct the table.
    >>> print(*tell_alike_ids(np.array(["Ann", "ann"], object), "user"))
    2 users may be 1: 'Ann' and 'ann' differ by capital letters alone, and were taken for two; if
    they are one, correct the table.
    """
    if labels.dtype != object:
        return []
    texts = pa.array(labels, pa.large_string())
    visible = pc.replace_substring_regex(texts, r"\p{Cf}+", "")
    usual = pc.utf8_normalize(pc.utf8_trim_whitespace(visible), form="NFC")
    usual = pc.replace_substring_regex(usual, _NUMBER, r"\1\2")
    written = "zeros, blanks, invisible characters or the code of a letter"
    return [
        *_tell_equal(labels, usual, role, written),
        *_tell_look_alikes(labels, usual, role),
        *_tell_equal(labels, pc.utf8_lower(texts), role, "capital letters"),
    ]


def _tell_look_alikes(labels: NDArray[Any], usual: pa.Array, role: str) -> list[str]:
    """Report how many ids look like another one in letters of another script, or of another width.

    Examples
    --------
    >>> texts = ["ann", "\N{CYRILLIC SMALL LETTER A}nn"]
    >>> (told,) = _tell_look_alikes(np.array(texts, object), pa.array(texts), "user")
    >>> told.partition(" differ ")[2]
    'by the script or width of letters alone, and were taken for two; if they are one, correct the
    table.'
    """
    others = pc.invert(pc.string_is_ascii(usual))
    if not pc.any(others).as_py():
        return []
    folded = pc.utf8_normalize(usual.filter(others), form="NFKD").to_pylist()
    alike = pa.array([text.translate(_LOOK_ALIKE) for text in folded], usual.type)
    _, first = np.unique(usual.dictionary_encode().indices.to_numpy(), return_index=True)
    plain = pc.replace_with_mask(usual, others, alike).take(pa.array(first))
    return _tell_equal(labels[first], plain, role, "the script or width of letters", ascii)


def _tell_equal(
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


def tell_blanks(labels: NDArray[Any], role: str) -> list[str]:
    """Say how many ids begin or end with a blank, which is kept.

    Examples
    --------
    >>> print(*tell_blanks(np.array([" i1", "i2"], object), "item"))
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


def tell_totals(labels: NDArray[Any], role: str) -> list[str]:
    """Say which ids look like the line of totals below a table.

    Examples
    --------
    >>> print(*tell_totals(np.array(["ann", "Total"], object), "user"))
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


def tell_nothings(labels: NDArray[Any] | Sequence[str], role: str) -> list[str]:
    """Say which of some texts programs write where there is nothing.

    Examples
    --------
    >>> print(*tell_nothings(["ann", "NA"], "user"))
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


def tell_rounded(labels: NDArray[Any], role: str) -> list[str]:
    """Say how many ids are numbers that a spreadsheet rounded, so that several may be one.

    Examples
    --------
    >>> print(*tell_rounded(np.array(["1.23457E+15", "i2"], object), "user"))
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


def tell_ids(users: NDArray[Any], items: NDArray[Any]) -> list[str]:
    """Say of all ids what their owner must look at, a sentence each.

    Examples
    --------
    >>> tell_ids(np.array([7, 12]), np.array(["heat"], object))
    []
    """
    told = []
    for role, labels in (("user", users), ("item", items)):
        told += tell_alike_ids(labels, role)
        if labels.dtype == object:
            told += tell_rounded(labels, role)
            told += tell_blanks(labels, role)
            told += tell_totals(labels, role)
            told += tell_nothings(labels, role)
    return told
