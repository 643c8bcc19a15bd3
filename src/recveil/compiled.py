"""compiled: numba's compiler, with the results kept on disk where there is a place for them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from numba import njit

_ONE_AT_A_TIME = RLock()


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a kernel at its first call, without the interpreter's lock.

    The result is kept on disk, so that later runs need not compile. In a container that can write
    neither beside the package nor in a home folder, every run compiles anew. Whatever the umask,
    nobody else can write what is kept: it is run.

    Parameters
    ----------
    **options
        Passed to `numba.njit`.

    Examples
    --------
    >>> @compiled()
    ... def twice(number):
    ...     return 2 * number
    >>> twice(4)
    8
    """

    def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
        try:
            with _written_by_nobody_else():  # it makes the folder
                found = njit(nogil=True, cache=True, **options)(kernel)
        except RuntimeError:  # numba found no place for its cache
            return njit(nogil=True, **options)(kernel)
        _keep_from_others(found)
        return found

    return decorate


def _keep_from_others(kernel: Any) -> None:
    """Let numba save a kernel, once it is compiled, in files that nobody else can write."""
    cache = kernel._cache
    save = cache.save_overload

    def save_overload(*compiled: Any) -> None:
        with _written_by_nobody_else():
            save(*compiled)

    cache.save_overload = save_overload


@contextmanager
def _written_by_nobody_else() -> Iterator[None]:
    """Take others' right to write from all files that are made inside the block.

    A file's permissions cannot be asked for without numba's help. Threads that make files in these
    milliseconds get fewer permissions, never more.
    """
    with _ONE_AT_A_TIME:
        before = os.umask(0o077)
        os.umask(before | 0o022)
        try:
            yield
        finally:
            os.umask(before)
