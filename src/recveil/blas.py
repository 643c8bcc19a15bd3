"""blas: linear algebra on one thread, and working space taken before there is little left.

OpenBLAS takes some for each thread that calls it, at the first call, and keeps it. Where it gets
none, some versions ask again forever: 0.3.30 does, which comes with SciPy 1.17, and whatever calls
it hangs.
"""

import ctypes
from contextlib import AbstractContextManager, suppress
from functools import cache

from threadpoolctl import ThreadpoolController

from recveil.threads import refuse_without_addresses

# What it takes at once, as its makers' builds do (128 MiB), and a little; those that come with
# NumPy and SciPy take 32 MiB.
_AT_ONCE = 136 << 20


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
    import scipy.linalg  # noqa: F401

    return ThreadpoolController().select(user_api="blas")


def take_working_space(n_callers: int) -> None:
    """Let each OpenBLAS that is loaded take its working space now.

    Of other libraries for the same, nothing is known to us, and nothing is done.

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
            refuse_without_addresses(_AT_ONCE)
            taken.append(take(0))
    finally:
        for each in taken:
            give_back(each)  # to the library, which keeps it for its next call
