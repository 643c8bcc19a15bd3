"""Bit sets packed into 64-bit words, for kernels that intersect many sets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.runtime.compiled import compiled


@compiled()
def count_bits(word: Any) -> Any:
    """Count the ones of a uint64.

    Sums neighbouring bits in pairs, fours and bytes, which compilers vectorize in loops.

    Examples
    --------
    >>> count_bits(np.uint64(0b1011))
    3
    """
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    threes = np.uint64(0x3333333333333333)
    word = (word & threes) + ((word >> np.uint64(2)) & threes)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled()
def pack_rows(indptr: NDArray[Any], indices: NDArray[Any], n_columns: int) -> NDArray[Any]:
    """Set a bit for each entry of the rows; column c is bit ``c % 64`` of word ``c // 64``.

    Parameters
    ----------
    indptr : ndarray of int, shape (n_rows + 1,)
    indices : ndarray of int, shape (n_entries,)
        Columns, each below `n_columns`.
    n_columns : int

    Returns
    -------
    ndarray of uint64, shape (n_rows, ceil(n_columns / 64))

    Examples
    --------
    >>> pack_rows(np.array([0, 2, 3]), np.array([0, 65, 3]), 66)
    array([[1, 2],
           [8, 0]], dtype=uint64)
    """
    bits = np.zeros((indptr.size - 1, (n_columns + 63) // 64), np.uint64)
    for row in range(indptr.size - 1):
        for at in range(indptr[row], indptr[row + 1]):
            bits[row, indices[at] // 64] |= np.uint64(1) << np.uint64(indices[at] % 64)
    return bits
