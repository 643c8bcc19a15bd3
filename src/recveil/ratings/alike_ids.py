"""Alike ids: those that may be one person, or nobody, though the table writes them as people."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.errors import listed, quoted

# A whole number, however a program wrote it: 101, 101.0, 0101.
_NUMBER = r"^(-?)0*([0-9]+)([.]0+)?$"
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
    3 users may be 2: '101' and '101.0' differ by zeros, blanks or the code of a letter alone, and
    were taken for two; if they are one, mend the table.
    """
    if labels.dtype != object:
        return []
    texts = pa.array(labels, pa.large_string())
    usual = pc.utf8_normalize(pc.utf8_trim_whitespace(texts), form="NFC")
    usual = pc.replace_substring_regex(usual, _NUMBER, r"\1\2").dictionary_encode()
    n_usual = len(usual.dictionary)
    if n_usual == labels.size:
        return []
    codes = usual.indices.to_numpy()
    twice = int(np.argmax(np.bincount(codes) > 1))
    one, other = labels[np.flatnonzero(codes == twice)[:2]]
    return [
        f"{labels.size:,} {role}s may be {n_usual:,}: {quoted(one, 40)} and {quoted(other, 40)} "
        f"differ by zeros, blanks or the code of a letter alone, and were taken for two; if they "
        f"are one, mend the table."
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
            told += tell_nothings(labels, role)
    return told
