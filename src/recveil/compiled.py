"""compiled: numba's compiler, with the results kept on disk where there is a place for them."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a kernel at its first call, without the interpreter's lock.

    The result is kept on disk, so that later runs need not compile. In a container that can write
    neither beside the package nor in a home folder, every run compiles anew.

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
            return njit(nogil=True, cache=True, **options)(kernel)
        except RuntimeError:  # numba found no place for its cache
            return njit(nogil=True, **options)(kernel)

    return decorate
