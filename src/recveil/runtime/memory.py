"""Memory limits, and the errors for too little memory."""

import errno
import mmap
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from recveil.runtime.errors import MachineError, RecveilError, chain_of, shortened
from recveil.runtime.number_format import format_bytes

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([kmgt]?)b?\s*", re.IGNORECASE)
_LEAST = 10**7
# The limit of a container in versions 2 and 1 of Linux's control groups.
_OF_CONTAINER = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
# Messages of libraries that a system limit keeps from being loaded.
_NOT_LOADED = re.compile(r"failed to map segment|cannot allocate memory|llvmlite", re.IGNORECASE)

# Messages of libraries that get no memory for a value or a thread's stack.
_NO_MEMORY = re.compile(
    r"bad_alloc|start new thread|launch worker thread|Resource temporarily unavailable|"
    r"without (setting an exception|exception set)"
)


class MemoryLimitError(MachineError):
    """Raised if an input or a task needs more memory than there is, or than is allowed."""


class _CallerLimit:
    """The limit named by the caller, in bytes; None without one."""

    limit: int | None = None


def parse_memory(size: str | int) -> int:
    """Parse an amount of memory, in bytes or with KB, MB, GB or TB (powers of 1000)."""
    found = _SIZE.fullmatch(str(size))
    n_bytes = int(float(found[1]) * _UNITS[found[2].lower()]) if found else 0
    if n_bytes < _LEAST:
        raise RecveilError(
            f"max_memory (--max-memory) is {shortened(str(size), 30)}; expected at least 10MB, "
            f"such as 4GB",
            code="option.value",
        )
    return n_bytes


@contextmanager
def memory_limited(size: str | int | None) -> Iterator[None]:
    """Limit the memory that inputs may take inside the block.

    Examples
    --------
    >>> with memory_limited("4GB"):
    ...     memory_limit()
    4000000000
    """
    before = _CallerLimit.limit
    _CallerLimit.limit = before if size is None else parse_memory(size)
    try:
        yield
    finally:
        _CallerLimit.limit = before


def memory_limit() -> int:
    """Return how many bytes inputs may take, by default half of what this process may use."""
    return _CallerLimit.limit or machine_memory() // 2


def machine_memory() -> int:
    """Return how many bytes of memory this process may use, as far as the system reports it."""
    known = [address_space(), data_size()]
    with suppress(ValueError, OSError, AttributeError):  # not available on Windows
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in _OF_CONTAINER:
        with suppress(ValueError, OSError):  # no container, or "max"
            known.append(int(file.read_text()))
    return min([size for size in known if size], default=8 * 10**9)


def address_space() -> int | None:
    """Return the limit of ``ulimit -v`` in bytes; None if there is none."""
    return _limit_of("RLIMIT_AS")


def data_size() -> int | None:
    """Return the limit of ``ulimit -d`` in bytes; None if there is none."""
    return _limit_of("RLIMIT_DATA")


def _limit_of(name: str) -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(getattr(resource, name))
    return None if soft == resource.RLIM_INFINITY else soft


def reject_beyond_limit(what: str, needed: int, *, at_least: bool = False) -> None:
    """Raise a MemoryLimitError if something takes more memory than allowed."""
    if needed > _LEAST and needed > memory_limit():
        reject_for_memory(what, needed, at_least=at_least)


def reject_for_memory(what: str, needed: int, *, at_least: bool = False) -> NoReturn:
    """Raise the MemoryLimitError of `reject_beyond_limit`."""
    more = "at least " if at_least else ""
    enough = max(1, -(-needed * 4 // (3 * 10**9)))
    raise MemoryLimitError(
        f"{what} take {more}{format_bytes(needed)} of memory, but {format_bytes(memory_limit())} "
        f"may be taken; allow more with max_memory (--max-memory {enough}GB), or read a part of "
        f"them",
        code="machine.memory",
    )


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error, or one that led to it, is a lack of memory.

    Libraries that ``ulimit`` keeps from being loaded raise errors of their own.
    """
    little = address_space() is not None or data_size() is not None
    return any(
        isinstance(each, MemoryError)
        or getattr(each, "errno", None) == errno.ENOMEM
        or (little and _mentions_memory(each))
        for each in chain_of(error)
    )


def _mentions_memory(error: BaseException) -> bool:
    if _NO_MEMORY.search(str(error)):
        return True
    return isinstance(error, ImportError | OSError) and bool(_NOT_LOADED.search(str(error)))


def not_enough() -> str:
    """Return the message for too little memory, with its remedy."""
    limits = {"addresses (ulimit -v)": address_space(), "data (ulimit -d)": data_size()}
    caps = [
        f"{format_bytes(limit)} of {what}" for what, limit in limits.items() if limit is not None
    ]
    if caps:
        return (
            f"not enough memory: this process may use {' and '.join(caps)}; raise that limit, or "
            f"leave it out, and run again"
        )
    return (
        "not enough memory: close other programs, take a larger machine or a part of the ratings, "
        "and run again"
    )


# A default stack, and the rest that a thread allocates.
_FOR_ONE = 16 << 20


def require_thread_room(n_threads: int = 1) -> None:
    """Raise a MemoryError if the system cannot provide memory for `n_threads` threads.

    >>> require_thread_room()
    """
    require_address_space(n_threads * _FOR_ONE)


def require_address_space(n_bytes: int) -> None:
    """Raise a MemoryError if the system cannot provide `n_bytes` contiguous bytes.

    The bytes are not written to, so this uses no memory.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows, where no such limit is known
        return
    try:
        mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError from error
