"""Kernels compiled by numba, cached on disk where possible.

Checking releases does not require numba. Without it, kernels run as plain Python with the same
results, but slower on large tables.
"""

import functools
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from numba import config, njit
    from numba.core.bytecode import FunctionIdentity
    from numba.misc.appdirs import user_cache_dir
except ModuleNotFoundError as missing:
    if missing.name != "numba":  # installed, but broken
        raise
    HAS_COMPILER = False
else:
    HAS_COMPILER = True

_ONE_AT_A_TIME = RLock()
# Numba numbers helpers of the same name (such as those that sort and those that argsort) with a
# counter that restarts in each process. So of two kernels cached by two processes, one got the
# other's helper, and its results were silently wrong (github.com/numba/numba/issues/10486). A
# random number is unique, forks included.
if HAS_COMPILER:
    FunctionIdentity._unique_ids = iter(functools.partial(secrets.randbits, 96), None)
# Cache entries made with counted helpers, or numbered files, are not used again.
_NAMING = "helpers are named by chance, files by what they hold"


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a kernel at its first call, and run it without the interpreter's lock.

    The result is cached on disk for later runs. A container that can write neither next to the
    package nor in a home folder, or a user without a home folder, compiles again in every run. No
    other user can write to the cache, whatever the umask, since its content is executed.
    """

    def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
        if not HAS_COMPILER:
            return _as_it_is(kernel)
        if _leads_to_the_current_folder():
            return njit(nogil=True, **options)(kernel)
        try:
            with _is_written_by_owner_only():  # creates the folder
                found = njit(nogil=True, cache=True, **options)(kernel)
        except RuntimeError:  # numba found no place for its cache
            return njit(nogil=True, **options)(kernel)
        _keep_from_others(found)
        _forget_counted_helpers(found)
        _name_by_content(found)
        return found

    return decorate


def usual_threads() -> int:
    """Return the default number of threads that share a kernel's work.

    Examples
    --------
    >>> usual_threads() >= 1
    True
    """
    return int(config.NUMBA_NUM_THREADS) if HAS_COMPILER else 1


def _as_it_is(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as plain Python; integer overflow wraps around as in compiled kernels."""

    @functools.wraps(kernel)
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return kernel(*arguments)

    return run


def _leads_to_the_current_folder() -> bool:
    """Return whether numba might load and run a cache from the current folder.

    Without a home folder, ``~`` is an ordinary name, which an unpacked archive may contain.
    """
    return "NUMBA_CACHE_DIR" not in os.environ and not Path(user_cache_dir("numba")).is_absolute()


def _keep_from_others(kernel: Any) -> None:
    """Save a compiled kernel in files that no other user can write."""
    cache = kernel._cache
    save = cache.save_overload

    def save_overload(*compiled: Any) -> None:
        with _is_written_by_owner_only():
            save(*compiled)

    cache.save_overload = save_overload


def _forget_counted_helpers(kernel: Any) -> None:
    """Limit numba to cache entries whose helper names no other kernel shares."""
    file = kernel._cache._cache_file
    file._source_stamp = (file._source_stamp, _NAMING)


def _name_by_content(kernel: Any) -> None:
    """Save each variant of a kernel in a file of its own name, and list it only afterwards.

    Numba numbers the files. Two processes that save variants for different types at the same time
    choose the same number. The listed variant then differs from the one in the file, and arrays are
    read with the wrong layout, without an error.
    """
    file = kernel._cache._cache_file

    def save(key: Any, data: Any) -> None:
        kept = sha256(repr((key, file._source_stamp)).encode()).hexdigest()[:16]
        name = file._data_name_pattern.replace("{number:d}", kept)
        file._save_data(name, data)
        file._save_index(file._load_index() | {key: name})

    file.save = save


@contextmanager
def _is_written_by_owner_only() -> Iterator[None]:
    """Remove other users' write permission from all files created inside the block.

    File permissions can only be set through the umask, because numba creates the files. Files that
    other threads create in these milliseconds get fewer permissions, never more.
    """
    with _ONE_AT_A_TIME:
        before = os.umask(0o077)
        os.umask((before | 0o022) & 0o077)  # some umasks also restrict the current user
        try:
            yield
        finally:
            os.umask(before)


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
