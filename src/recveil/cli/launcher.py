"""Start the command line with checks before libraries load, since some crash without memory."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from recveil.runtime.child_process import hold_on
from recveil.runtime.errors import lacks_files, too_few_files
from recveil.runtime.memory import address_space, data_size, lacks_memory, not_enough
from recveil.runtime.number_format import format_bytes

# Address space of the smallest verbs, in bytes; the others need up to 1.1 GB. With less, libraries
# abort or hang while they load.
LEAST_ADDRESSES = 770_000_000
# The same for data, without the files of libraries.
LEAST_DATA = 270_000_000
# One thread each and memory on demand minimize what libraries need.
_SPARING = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_BELOW_SPARING = 8 * 10**9
# Needed per thread: working space of two linear algebra libraries, a stack, and a heap.
_PER_THREAD = 250 * 10**6
# Signals by which libraries end a program without memory.
_FATAL_SIGNALS = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGKILL", "SIGILL", "SIGTRAP")
_EXITED_ITSELF = b"1"
_FORWARDED = (signal.SIGINT, signal.SIGTERM)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; under a ``ulimit``, in a child process.

    Some libraries abort without memory. The parent process then reports the reason.
    """
    # Outputs, compiled code included, are writable for their creator alone, and readable for the
    # creator in any case: some umasks remove that, too.
    os.umask((os.umask(0o077) | 0o022) & 0o077)
    _replace_closed_streams()
    addresses, data = address_space(), data_size()
    _fail_to_start(addresses, LEAST_ADDRESSES, "addresses (ulimit -v)")
    _fail_to_start(data, LEAST_DATA, "data (ulimit -d)")
    limits = [limit for limit in (addresses, data) if limit is not None]
    if limits and min(limits) < max(_BELOW_SPARING, _PER_THREAD * (os.cpu_count() or 1)):
        for name, value in _SPARING.items():
            os.environ.setdefault(name, value)
    try:
        if limits and arguments is None and hasattr(os, "fork"):
            _run_watched()
        _run(arguments)
    except SystemExit as stop:
        if arguments is None:
            _exit_at_once(stop)
        raise


def _exit_at_once(stop: SystemExit) -> None:
    """Exit without finalizing Python: a reading thread of Arrow that needs it then would abort."""
    if not isinstance(stop.code, int | None):
        return
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):  # what could not be written is reported already
            stream.flush()
    os._exit(stop.code or 0)


def _replace_closed_streams() -> None:
    """Open the descriptors of closed standard streams, as by ``<&-``, so that no file gets them.

    Otherwise the output of a library would go into that file. The replacement is a folder, to which
    nothing can be written.
    """
    for number in range(3) if os.name == "posix" else ():
        try:
            os.fstat(number)
        except OSError:  # the lowest free descriptor is this one
            if number:
                os.open("/", os.O_RDONLY)
            else:
                os.open(os.devnull, os.O_WRONLY)


def _fail_to_start(limit: int | None, least: int, what: str) -> None:
    """Exit with a message if the limit is too low to load libraries."""
    if limit is not None and limit < least:
        _report(
            f"not enough memory: this process may use {format_bytes(limit)} of {what}, and needs "
            f"{format_bytes(least)} to start; raise that limit"
        )
        sys.exit(2)


def _run(arguments: list[str] | None) -> NoReturn:
    try:
        from recveil.cli.entry import main as run

        if address_space() is not None or data_size() is not None:
            _take_working_space()
    except KeyboardInterrupt:  # while loading
        print("Interrupted; nothing was started.", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        if not (lacks_memory(error) or lacks_files(error)):
            raise
        _report(too_few_files() if lacks_files(error) else not_enough())
        sys.exit(2)
    run(arguments)


def _take_working_space() -> None:
    """Let libraries allocate now, since some would hang later."""
    from recveil.runtime.compiled import usual_threads
    from recveil.runtime.threads import take_working_space

    # Worker threads, and the main thread.
    n_threads = usual_threads()
    take_working_space(1 if n_threads == 1 else n_threads + 1)


def _run_watched() -> NoReturn:
    """Run the verb in a child process; wait, and report why it died."""
    # A library may also exit with a code that would mean that a claim does not hold. So the child
    # signals when recveil itself exits.
    reader, writer = os.pipe()
    lifeline, parent_end = os.pipe()
    with _blocked():
        child = os.fork()
        status = _wait(child) if child else 0
    if not child:
        os.close(reader)
        os.close(parent_end)
        hold_on(lifeline)  # a SIGKILL of the parent must end the child, too
        try:
            _run(None)
        finally:
            os.write(writer, _EXITED_ITSELF)
    os.close(writer)
    exited_itself = os.read(reader, 1) == _EXITED_ITSELF
    if exited_itself and os.WIFEXITED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    if os.WIFSIGNALED(status) and signal.Signals(os.WTERMSIG(status)).name not in _FATAL_SIGNALS:
        os._exit(128 + os.WTERMSIG(status))
    _report(not_enough())
    os._exit(2)


@contextmanager
def _blocked() -> Iterator[None]:
    """Block signals, so that none is lost between the two processes."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_FORWARDED, signal.SIGHUP, signal.SIGCHLD})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int) -> int:
    """Wait for a process to end, and forward signals to it."""
    # Signals of a terminal reach both processes anyway. They come from the kernel, which `si_code`
    # shows; the sender's number is 0 for processes outside a container, too.
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        received = signal.sigtimedwait({*_FORWARDED, signal.SIGHUP, signal.SIGCHLD}, 1.0)
        if received is None or received.si_signo == signal.SIGCHLD:
            continue
        if received.si_code <= 0:
            with suppress(ProcessLookupError):
                os.kill(child, received.si_signo)


def _report(message: str) -> None:
    with suppress(OSError, AttributeError):  # the stream may be closed
        print(f"error: {message}", file=sys.stderr, flush=True)
