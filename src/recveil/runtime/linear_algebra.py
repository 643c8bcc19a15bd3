"""Linear algebra on one thread, with working space allocated early.

OpenBLAS allocates memory for each thread at its first call, and keeps it. If the allocation fails,
some versions retry forever: 0.3.30, which comes with SciPy 1.17, does, and its caller hangs.
"""

import ctypes
import sys
from contextlib import AbstractContextManager, suppress
from functools import cache

from threadpoolctl import ThreadpoolController

from recveil.runtime.threads import require_address_space

# One allocation of a default build (128 MiB), and a margin; the builds of NumPy and SciPy take 32
# MiB.
_AT_ONCE = 136 << 20
# The library, the rest of scipy.linalg, and the first allocation.
_TO_LOAD = (64 << 20) + _AT_ONCE


def one_thread() -> AbstractContextManager[object]:
    """Limit linear algebra to one thread, since sums split over threads round differently.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    return _linear_algebra().limit(limits=1)


@cache
def _linear_algebra() -> ThreadpoolController:
    # Searching for libraries takes milliseconds, often longer than the computation: do it once.
    # NumPy's library is loaded by now, and this loads SciPy's, which numba calls.
    _load_scipy_s()
    return ThreadpoolController().select(user_api="blas")


def _load_scipy_s() -> None:
    """Load SciPy's library, which allocates working space for one thread."""
    if "scipy.linalg" not in sys.modules:
        require_address_space(_TO_LOAD)
        import scipy.linalg  # noqa: F401


def take_working_space(n_callers: int) -> None:
    """Let the OpenBLAS of NumPy and the one of SciPy allocate their working space now.

    SciPy is loaded for it; without SciPy, which checking releases does not need, only NumPy's is
    called. Other linear algebra libraries are left alone.

    Examples
    --------
    >>> take_working_space(1)
    """
    with suppress(ImportError):
        _load_scipy_s()
    for library in ThreadpoolController().select(internal_api="openblas").lib_controllers:
        with suppress(AttributeError):  # a build without these functions
            _take(ctypes.CDLL(library.filepath), n_callers)


def _take(library: ctypes.CDLL, n_callers: int) -> None:
    take, give_back = library.blas_memory_alloc, library.blas_memory_free
    take.argtypes, take.restype = [ctypes.c_int], ctypes.c_void_p
    give_back.argtypes, give_back.restype = [ctypes.c_void_p], None
    taken = []
    try:
        for _ in range(n_callers):
            require_address_space(_AT_ONCE)
            taken.append(take(0))
    finally:
        for each in taken:
            give_back(each)  # returned to the library, which keeps it for its next call
