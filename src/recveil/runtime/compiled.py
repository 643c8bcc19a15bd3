"""Kernels compiled by numba, cached on disk where possible; without numba, plain Python."""

import functools
import importlib.util
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock, get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.runtime.progress import delayed_by

try:
    HAS_COMPILER = importlib.util.find_spec("numba") is not None
except ModuleNotFoundError:  # hidden by an import hook
    HAS_COMPILER = False
_ONE_AT_A_TIME = RLock()
# Cache entries made with counted helpers, or numbered files, are not used again.
_NAMING = "helpers are named by chance, files by what they hold"
# Plain Python takes some hundredths of a second for so many elements, loading numba a third of a
# second, and compiling a kernel several seconds.
_SMALL = 10_000


class Kernel:
    """A function that numba compiles when it is first needed."""

    def __init__(
        self, kernel: Callable[..., Any], options: dict[str, Any], plain_if_small: bool
    ) -> None:
        functools.update_wrapper(self, kernel)
        self._kernel, self._options = kernel, options
        self._plain_below = _SMALL if plain_if_small else 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the kernel, compiled where that pays."""
        if not HAS_COMPILER or (self._plain_below and not self._is_large(arguments, named)):
            # Integers wrap around, as in compiled kernels.
            with np.errstate(all="ignore"):
                return self._kernel(*arguments, **named)
        return self.dispatcher(*arguments, **named)

    def _is_large(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
        values = (*arguments, *named.values())
        sizes = (each.size for each in values if isinstance(each, np.ndarray))
        return sum(sizes) >= self._plain_below

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's object, which compiled kernels call."""
        with _ONE_AT_A_TIME:
            return _compile_later(self._kernel, self._options)


def compiled(
    plain_if_small: bool = False, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a kernel by numba at its first call, and run it without the interpreter's lock.

    No other user can write to its cache, whatever the umask, since the content is executed. If
    `plain_if_small`, it runs as plain Python while its arrays are small: only for kernels of
    integers, whose results are then equal to the bit.
    """
    return lambda kernel: Kernel(kernel, options, plain_if_small)


@functools.cache
def _numba() -> Any:
    """Import numba, and prepare it for kernels that several processes cache."""
    import numba
    from numba.core.bytecode import FunctionIdentity
    from numba.core.types import Dispatcher
    from numba.extending import typeof_impl

    # Numba numbers helpers of the same name (such as those that sort and those that argsort) with a
    # counter that restarts in each process. So of two kernels cached by two processes, one got the
    # other's helper, and its results were silently wrong (github.com/numba/numba/issues/10486). A
    # random number is unique, forks included.
    FunctionIdentity._unique_ids = iter(functools.partial(secrets.randbits, 96), None)

    @typeof_impl.register(Kernel)  # type: ignore[untyped-decorator, unused-ignore]
    def type_of_kernel(kernel: Kernel, _: Any) -> Any:
        return Dispatcher(kernel.dispatcher)

    _show_compiling()
    return numba


def _show_compiling() -> None:
    """Let the progress of a task say when it waits for the compiler, not when it loads a kernel."""
    from numba.core.event import Listener, register

    shown: dict[int, list[ExitStack]] = {}

    class Compiling(Listener):  # type: ignore[misc, unused-ignore]
        def on_start(self, _: Any) -> None:
            stack = ExitStack()
            stack.enter_context(delayed_by("compiling, once on this machine"))
            shown.setdefault(get_ident(), []).append(stack)

        def on_end(self, _: Any) -> None:
            shown[get_ident()].pop().close()

    register("numba:compile", Compiling())


def _compile_later(kernel: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return numba's dispatcher of a kernel, with a cache on disk where there is a place for it."""
    njit = _numba().njit
    if _leads_to_the_current_folder():
        return njit(nogil=True, **options)(kernel)
    try:
        with _is_written_by_owner_only():  # creates the folder
            found = njit(nogil=True, cache=True, **options)(kernel)
    except RuntimeError:  # numba found no place for its cache
        return njit(nogil=True, **options)(kernel)
    _keep_from_others(found)
    _forget_counted_helpers(found)
    _name_by_content(found)
    return found


def is_kept(kernel: Any) -> bool:
    """Return whether the compiled code of a kernel is kept on disk."""
    return hasattr(kernel.dispatcher._cache, "_cache_file")


def usual_threads() -> int:
    """Return the default number of threads that share a kernel's work.

    >>> usual_threads() >= 1
    True
    """
    if not HAS_COMPILER:
        return 1
    if "numba" in sys.modules or "NUMBA_NUM_THREADS" in os.environ:
        return int(_numba().config.NUMBA_NUM_THREADS)
    # As numba would count them; it need not be loaded for that.
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _leads_to_the_current_folder() -> bool:
    """Return whether numba might load and run a cache from the current folder."""
    # Without a home folder, ``~`` is an ordinary name, which an unpacked archive may contain.
    from numba.misc.appdirs import user_cache_dir

    return "NUMBA_CACHE_DIR" not in os.environ and not Path(user_cache_dir("numba")).is_absolute()


def _keep_from_others(kernel: Any) -> None:
    """Save a compiled kernel in files that no other user can write."""
    cache = kernel._cache
    save = cache.save_overload

    def save_overload(*compiled: Any) -> None:
        with _is_written_by_owner_only():
            save(*compiled)

    cache.save_overload = save_overload


def _forget_counted_helpers(kernel: Any) -> None:
    """Limit numba to cache entries whose helper names no other kernel shares."""
    file = kernel._cache._cache_file
    file._source_stamp = (file._source_stamp, _NAMING)


def _name_by_content(kernel: Any) -> None:
    """Save each variant of a kernel in a file of its own name, and list it only afterwards."""
    # Numba numbers the files, and two processes choose the same number: silently wrong results.
    file = kernel._cache._cache_file

    def save(key: Any, data: Any) -> None:
        kept = sha256(repr((key, file._source_stamp)).encode()).hexdigest()[:16]
        name = file._data_name_pattern.replace("{number:d}", kept)
        file._save_data(name, data)
        file._save_index(file._load_index() | {key: name})

    file.save = save


@contextmanager
def _is_written_by_owner_only() -> Iterator[None]:
    """Remove other users' write permission from all files created inside the block.

    File permissions can only be set through the umask, because numba creates the files. Files that
    other threads create in these milliseconds get fewer permissions, never more.
    """
    with _ONE_AT_A_TIME:
        before = os.umask(0o077)
        os.umask((before | 0o022) & 0o077)  # some umasks also restrict the current user
        try:
            yield
        finally:
            os.umask(before)


@compiled()
def count_bits(word: Any) -> Any:
    """Count the ones of a uint64 by sums of pairs, fours and bytes, which compilers vectorize."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    threes = np.uint64(0x3333333333333333)
    word = (word & threes) + ((word >> np.uint64(2)) & threes)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled()
def pack_rows(indptr: NDArray[Any], indices: NDArray[Any], n_columns: int) -> NDArray[Any]:
    """Set a bit for each entry of the rows; column c is bit ``c % 64`` of word ``c // 64``."""
    bits = np.zeros((indptr.size - 1, (n_columns + 63) // 64), np.uint64)
    for row in range(indptr.size - 1):
        for at in range(indptr[row], indptr[row + 1]):
            bits[row, indices[at] // 64] |= np.uint64(1) << np.uint64(indices[at] % 64)
    return bits


# Side of a tile that is mirrored: both fit a core's cache.
_SIDE = 64


@compiled()
def mirror(square: NDArray[Any]) -> None:
    """Copy what is above the diagonal below it."""
    n = len(square)
    for top in range(0, n, _SIDE):
        for left in range(top, n, _SIDE):
            for row in range(top, min(top + _SIDE, n)):
                for column in range(max(left, row + 1), min(left + _SIDE, n)):
                    square[column, row] = square[row, column]
