"""Threads: those that share a work, or none where one is enough.

Python waits forever for a thread that gets a stack, but no memory for its first steps. So no
thread is begun that is not needed, and none where there is little room.
"""

import mmap
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

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
    refuse_without_room(n_threads)
    with ThreadPoolExecutor(n_threads) as workers:
        yield workers


def refuse_without_room(n_threads: int = 1) -> None:
    """Raise a MemoryError if the system would not give so many threads what they begin with.

    Examples
    --------
    >>> refuse_without_room()
    """
    refuse_without_addresses(n_threads * _FOR_ONE)


def refuse_without_addresses(n_bytes: int) -> None:
    """Raise a MemoryError if the system would not give so many bytes in one piece.

    Nothing is written to them, so that this takes no memory.

    Examples
    --------
    >>> refuse_without_addresses(1 << 20)
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
