"""blas: linear algebra on one thread, and working space taken before there is little left.

OpenBLAS takes some for each thread that calls it, at the first call, and keeps it. Where it gets
none, some versions ask again forever: 0.3.30 does, which comes with SciPy 1.17, and whatever calls
it hangs.
"""

import ctypes
import sys
from contextlib import AbstractContextManager, suppress
from functools import cache

from threadpoolctl import ThreadpoolController

from recveil.runtime.threads import reject_without_addresses

# What it takes at once, as its makers' builds do (128 MiB), and a little; those that come with
# NumPy and SciPy take 32 MiB.
_AT_ONCE = 136 << 20
# The library itself, what else scipy.linalg brings, and then the same.
_TO_LOAD = (64 << 20) + _AT_ONCE


def one_thread() -> AbstractContextManager[object]:
    """Let linear algebra use one thread within: sums that are split over threads round differently.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    return _linear_algebra().limit(limits=1)


@cache
def _linear_algebra() -> ThreadpoolController:
    # To look for libraries takes milliseconds, often longer than what is computed: once. NumPy's
    # own is loaded by now, SciPy's by this; numba calls that one.
    _load_scipy_s()
    return ThreadpoolController().select(user_api="blas")


def _load_scipy_s() -> None:
    """Load SciPy's library, which takes working space for one thread as it is loaded."""
    if "scipy.linalg" not in sys.modules:
        reject_without_addresses(_TO_LOAD)
        import scipy.linalg  # noqa: F401


def take_working_space(n_callers: int) -> None:
    """Let each OpenBLAS take its working space now: NumPy's, and SciPy's, which is loaded for it.

    Who only checks releases needs no SciPy, and may have none. Of other libraries for the same,
    nothing is known to us, and nothing is done.

    Parameters
    ----------
    n_callers : int
        How many threads may call it at the same time.

    Raises
    ------
    MemoryError
        If there is no room.

    Examples
    --------
    >>> take_working_space(1)
    """
    with suppress(ImportError):
        _load_scipy_s()
    for library in ThreadpoolController().select(internal_api="openblas").lib_controllers:
        with suppress(AttributeError):  # a build that does not name these functions
            _take(ctypes.CDLL(library.filepath), n_callers)


def _take(library: ctypes.CDLL, n_callers: int) -> None:
    take, give_back = library.blas_memory_alloc, library.blas_memory_free
    take.argtypes, take.restype = [ctypes.c_int], ctypes.c_void_p
    give_back.argtypes, give_back.restype = [ctypes.c_void_p], None
    taken = []
    try:
        for _ in range(n_callers):
            reject_without_addresses(_AT_ONCE)
            taken.append(take(0))
    finally:
        for each in taken:
            give_back(each)  # to the library, which keeps it for its next call
