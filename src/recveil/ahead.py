"""Prepare the next step while this one is worked on."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from recveil.compiled import usual_threads
from recveil.threads import refuse_without_room

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

    refuse_without_room()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(make)
        while (step := coming.result()) is not end:
            coming = pool.submit(make)
            yield step
