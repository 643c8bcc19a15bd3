"""compiled: numba's compiler, with the results kept on disk where there is a place for them.

Whoever only checks releases may leave numba out: then kernels run as plain Python, with the same
results, and slower where tables are large.
"""

import functools
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

try:
    from numba import config, njit
    from numba.core.bytecode import FunctionIdentity
    from numba.misc.appdirs import user_cache_dir
except ModuleNotFoundError as missing:
    if missing.name != "numba":  # it is there, and broken
        raise
    HAS_COMPILER = False
else:
    HAS_COMPILER = True

_ONE_AT_A_TIME = RLock()
# Numba tells helpers of one name apart, such as those that sort and those that only say in which
# order, by a count that begins anew in each process. So of two kernels that were kept by two
# processes, one was given the other's helper, and its results were silently wrong
# (github.com/numba/numba/issues/10486). A number by chance is nobody else's, forks included.
if HAS_COMPILER:
    FunctionIdentity._unique_ids = iter(functools.partial(secrets.randbits, 96), None)
# What was kept when helpers were still counted, or under a number, is not used again.
_NAMING = "helpers are named by chance, files by what they hold"


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a kernel at its first call, without the interpreter's lock.

    The result is kept on disk, so that later runs need not compile. In a container that can write
    neither beside the package nor in a home folder, or for a user without a home, every run
    compiles anew. Whatever the umask, nobody else can write what is kept: it is run.

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
        if not HAS_COMPILER:
            return _as_it_is(kernel)
        if _leads_to_the_current_folder():
            return njit(nogil=True, **options)(kernel)
        try:
            with _is_written_by_owner_only():  # it makes the folder
                found = njit(nogil=True, cache=True, **options)(kernel)
        except RuntimeError:  # numba found no place for its cache
            return njit(nogil=True, **options)(kernel)
        _keep_from_others(found)
        _forget_counted_helpers(found)
        _name_by_content(found)
        return found

    return decorate


def usual_threads() -> int:
    """Return how many threads share the work of a kernel, unless fewer are asked for.

    Examples
    --------
    >>> usual_threads() >= 1
    True
    """
    return int(config.NUMBA_NUM_THREADS) if HAS_COMPILER else 1


def _as_it_is(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as Python runs it; numbers that overflow begin anew, as compiled ones do."""

    @functools.wraps(kernel)
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return kernel(*arguments)

    return run


def _leads_to_the_current_folder() -> bool:
    """Say whether numba might take a cache from the folder in which we run, and run what is there.

    Without a home, ``~`` is a name like others; what one unpacks may hold a folder of that name.
    """
    return "NUMBA_CACHE_DIR" not in os.environ and not Path(user_cache_dir("numba")).is_absolute()


def _keep_from_others(kernel: Any) -> None:
    """Let numba save a kernel, once it is compiled, in files that nobody else can write."""
    cache = kernel._cache
    save = cache.save_overload

    def save_overload(*compiled: Any) -> None:
        with _is_written_by_owner_only():
            save(*compiled)

    cache.save_overload = save_overload


def _forget_counted_helpers(kernel: Any) -> None:
    """Let numba read only what was kept under names that no other kernel's helpers have."""
    file = kernel._cache._cache_file
    file._source_stamp = (file._source_stamp, _NAMING)


def _name_by_content(kernel: Any) -> None:
    """Save each variant of a kernel in a file of its own name, and only then list it.

    Numba numbers the files. Two processes that save variants for different types at the same moment
    choose the same number; the variant that is listed is then not the one in the file, and arrays
    are read with the wrong layout, without an error.
    """
    file = kernel._cache._cache_file

    def save(key: Any, data: Any) -> None:
        kept = sha256(repr((key, file._source_stamp)).encode()).hexdigest()[:16]
        name = file._data_name_pattern.replace("{number:d}", kept)
        file._save_data(name, data)
        file._save_index(file._load_index() | {key: name})

    file.save = save


@contextmanager
def _is_written_by_owner_only() -> Iterator[None]:
    """Take others' right to write from all files that are made inside the block.

    A file's permissions cannot be asked for without numba's help. Threads that make files in these
    milliseconds get fewer permissions, never more.
    """
    with _ONE_AT_A_TIME:
        before = os.umask(0o077)
        os.umask((before | 0o022) & 0o077)  # some take from the owner, too
        try:
            yield
        finally:
            os.umask(before)
