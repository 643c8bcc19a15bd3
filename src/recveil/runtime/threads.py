"""Prepare the next step while this one is worked on."""

import mmap
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

from recveil.runtime.compiled import usual_threads

# A stack of the usual size, and what a thread asks for beside it.
_FOR_ONE = 16 << 20


@contextmanager
def pool(n_threads: int) -> Iterator[Executor]:
    """Give what does works in so many threads; of one, whoever asks does them.

    Parameters
    ----------
    n_threads : int

    Raises
    ------
    MemoryError
        If there is no room for the threads.

    Examples
    --------
    >>> with pool(2) as workers:
    ...     list(workers.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if n_threads == 1:
        yield _Asking()
        return
    reject_without_room(n_threads)
    with ThreadPoolExecutor(n_threads) as workers:
        yield workers


def reject_without_room(n_threads: int = 1) -> None:
    """Raise a MemoryError if the system would not give so many threads what they begin with.

    Examples
    --------
    >>> reject_without_room()
    """
    reject_without_addresses(n_threads * _FOR_ONE)


def reject_without_addresses(n_bytes: int) -> None:
    """Raise a MemoryError if the system would not give so many bytes in one piece.

    Nothing is written to them, so that this takes no memory.

    Examples
    --------
    >>> reject_without_addresses(1 << 20)
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows, where no such limit is known to us
        return
    try:
        mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError from error


class _Asking(Executor):
    """Whoever asks for a work does it, at once or when its result is asked for."""

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


def ahead(steps: Iterable[T]) -> Iterator[T]:
    """Yield the same steps, each made by a second thread while the caller uses the one before.

    It pays where both spend their time outside the interpreter's lock: hashing, compressing,
    compiled kernels. At most one step waits. An error comes out where its step would have come.
    Where kernels have one thread alone, there is no second one.

    Parameters
    ----------
    steps : iterable

    Examples
    --------
    >>> list(ahead(number**2 for number in range(4)))
    [0, 1, 4, 9]
    """
    if usual_threads() == 1:
        yield from steps
        return
    iterator = iter(steps)
    end: Any = object()
    # What the caller is in, such as a work that shows its progress, the second thread is in, too.
    here = copy_context()

    def make() -> Any:
        return here.run(next, iterator, end)

    reject_without_room()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(make)
        while (step := coming.result()) is not end:
            coming = pool.submit(make)
            yield step
