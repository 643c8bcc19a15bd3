"""Thread pools, a second thread that prepares the next step, and linear algebra on one thread.

If OpenBLAS fails to allocate memory for a thread at its first call, some versions retry forever:
0.3.30, which comes with SciPy 1.17, does. So its working space is allocated early.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import copy_context
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from recveil.runtime.compiled import usual_threads
from recveil.runtime.memory import require_address_space, require_thread_room
from recveil.runtime.progress import Cancelled, HowFar, listening

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from threadpoolctl import ThreadpoolController


@contextmanager
def pool(n_threads: int) -> Iterator[Executor]:
    """Yield an executor with `n_threads` threads; with one, the caller does the work."""
    if n_threads == 1:
        yield _CallerExecutor()
        return
    require_thread_room(n_threads)
    with ThreadPoolExecutor(n_threads) as workers:
        yield workers


class _CallerExecutor(Executor):
    """An executor whose tasks run in the calling thread."""

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        done.set_result(work(*args, **kwargs))
        return done

    def map(
        self,
        work: Callable[..., Any],
        *of: Any,
        timeout: float | None = None,  # noqa: ARG002  # there is no other thread to wait for
        chunksize: int = 1,  # noqa: ARG002
    ) -> Iterator[Any]:
        return map(work, *of)


T = TypeVar("T")


def prefetch(steps: Iterable[T]) -> Iterator[T]:
    """Yield the same steps, each prepared by a second thread while the caller uses the last one.

    An error is raised in place of its step. With kernels of one thread, no second one is started.
    """
    if usual_threads() == 1:
        yield from steps
        return
    iterator = iter(steps)
    end: Any = object()
    # The second thread inherits the caller's context, such as a task that shows its progress.
    here = copy_context()

    def make() -> Any:
        return here.run(next, iterator, end)

    require_thread_room()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(make)
        while (step := coming.result()) is not end:
            coming = pool.submit(make)
            yield step


@contextmanager
def in_second_thread(work: Callable[[], object]) -> Iterator[None]:
    """Do work in a second thread during the block; an error there ends it at its next report.

    If kernels are limited to one thread, the work follows the block.
    """
    if usual_threads() == 1:
        yield
        work()
        return
    is_over = threading.Event()

    def hear(_: HowFar) -> None:
        if is_over.is_set():
            raise Cancelled

    def do() -> None:
        with listening(hear):
            work()

    require_thread_room()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(do)
        try:
            yield
        except BaseException:
            is_over.set()
            raise
        done.result()


# One allocation of a default build (128 MiB), and a margin; the builds of NumPy and SciPy take 32
# MiB.
_AT_ONCE = 136 << 20
# The library, the rest of scipy.linalg, and the first allocation.
_TO_LOAD = (64 << 20) + _AT_ONCE


def one_thread() -> AbstractContextManager[object]:
    """Limit linear algebra to one thread, since sums split over threads round differently."""
    return _linear_algebra().limit(limits=1)


@cache
def _linear_algebra() -> "ThreadpoolController":
    from threadpoolctl import ThreadpoolController  # verifying a release does not need it

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
    """Let the OpenBLAS of NumPy, and of SciPy if installed, allocate their working space now.

    >>> take_working_space(1)
    """
    from threadpoolctl import ThreadpoolController

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


def invert_upper(matrix: "NDArray[Any]") -> None:
    """Invert a symmetric positive definite matrix in place, above its diagonal.

    SciPy's own functions would keep the interpreter's lock, and a second thread waiting.
    """
    from numba.extending import get_cython_function_address

    size, failed = ctypes.c_int(len(matrix)), ctypes.c_int(0)
    given = ctypes.byref(size), ctypes.c_void_p(matrix.ctypes.data), ctypes.byref(size)
    # LAPACK's lower triangle is the upper one of a transposed array, which is the same memory.
    for routine in ("potrf", "potri"):
        name = {4: "s", 8: "d"}[matrix.itemsize] + routine
        address = get_cython_function_address("scipy.linalg.cython_lapack", name)
        call = ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_void_p] * 4)(address)
        call(b"L", *given, ctypes.byref(failed))
        if failed.value:
            raise ArithmeticError("a matrix to invert is not positive definite")
