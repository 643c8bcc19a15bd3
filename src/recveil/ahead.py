"""Prepare the next step while this one is worked on."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def ahead(steps: Iterable[T]) -> Iterator[T]:
    """Yield the same steps, each made by a second thread while the caller uses the one before.

    It pays where both spend their time outside the interpreter's lock: hashing, compressing,
    compiled kernels. At most one step waits. An error comes out where its step would have come.

    Parameters
    ----------
    steps : iterable

    Examples
    --------
    >>> list(ahead(number**2 for number in range(4)))
    [0, 1, 4, 9]
    """
    iterator = iter(steps)
    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, iterator, end)
        while (step := coming.result()) is not end:
            coming = pool.submit(next, iterator, end)
            yield step
