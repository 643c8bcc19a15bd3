"""Starting: what comes before any library is loaded, for some crash where memory is limited."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from recveil.runtime.child_process import hold_on
from recveil.runtime.errors import lacks_files, too_few_files
from recveil.runtime.memory import address_space, data_size, in_words, lacks_memory, not_enough

# The smallest verbs take so many addresses, and the others up to 1.1 GB; below, libraries abort or
# wait forever while they are loaded.
LEAST_ADDRESSES = 770_000_000
# The same of data, which are fewer: files of libraries do not count.
LEAST_DATA = 270_000_000
# With one thread each, and memory that is asked for as it is needed, they take least.
_SPARING = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_BELOW_SPARING = 8 * 10**9
# Where many threads are usual, so it is below what they all would take: working space of two
# libraries for linear algebra, a stack, and a heap.
_FOR_A_THREAD = 250 * 10**6
# Signals by which a library ends a program that gets no memory.
_DEATHS = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGKILL", "SIGILL", "SIGTRAP")
_ENDED_BY_US = b"1"
_FORWARDED = (signal.SIGINT, signal.SIGTERM)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; where ``ulimit`` limits the memory, in a process that may die of it.

    Libraries do not all say that they got no memory: some abort. Who watches over the process
    that runs the verb can.
    """
    # Nothing is written that others can write to, compiled code neither, or that its owner cannot
    # read again: some umasks take from them, too.
    os.umask((os.umask(0o077) | 0o022) & 0o077)
    _take_closed_streams()
    addresses, data = address_space(), data_size()
    _fail_to_start(addresses, LEAST_ADDRESSES, "addresses (ulimit -v)")
    _fail_to_start(data, LEAST_DATA, "data (ulimit -d)")
    limits = [limit for limit in (addresses, data) if limit is not None]
    if limits:
        if min(limits) < max(_BELOW_SPARING, _FOR_A_THREAD * (os.cpu_count() or 1)):
            for name, value in _SPARING.items():
                os.environ.setdefault(name, value)
        if arguments is None and hasattr(os, "fork"):
            _run_watched()
    _run(arguments)


def _take_closed_streams() -> None:
    """Take the numbers of closed standard streams, as by ``<&-``, so that no file gets one.

    What a library prints would go into that file, and what a child process is given in the stead
    of its own streams would be closed. Nothing can be written to what is put there, neither by
    number nor by a name such as /dev/stdout: it is a folder.
    """
    for number in range(3) if os.name == "posix" else ():
        try:
            os.fstat(number)
        except OSError:  # the lowest number that is free is given, which is this one
            if number:
                os.open("/", os.O_RDONLY)
            else:
                os.open(os.devnull, os.O_WRONLY)


def _fail_to_start(limit: int | None, least: int, what: str) -> None:
    """End with a sentence where libraries would not even be loaded."""
    if limit is not None and limit < least:
        _say(
            f"not enough memory: this process may take {in_words(limit)} of {what}, and needs "
            f"{in_words(least)} to start; raise that limit"
        )
        sys.exit(2)


def _run(arguments: list[str] | None) -> NoReturn:
    try:
        from recveil.cli.entry import main as run

        if address_space() is not None or data_size() is not None:
            _take_working_space()
    except KeyboardInterrupt:  # loading takes a moment, in which nothing is begun
        print("Interrupted; nothing was begun.", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        if not (lacks_memory(error) or lacks_files(error)):
            raise
        _say(too_few_files() if lacks_files(error) else not_enough())
        sys.exit(2)
    run(arguments)


def _take_working_space() -> None:
    """Let libraries take now what some of them would else wait for without end."""
    from recveil.runtime.compiled import usual_threads
    from recveil.runtime.linear_algebra import take_working_space

    # Threads that share a work, and who waits for them or makes the next step.
    n_threads = usual_threads()
    take_working_space(1 if n_threads == 1 else n_threads + 1)


def _run_watched() -> NoReturn:
    """Run the verb in a process of its own; this one waits, and says why it died if it does.

    A library may also end it by itself, with a code that would say that a claim does not hold. So
    the process says when it is us who end it.
    """
    told, tells = os.pipe()
    lifeline, held = os.pipe()
    with _blocked():
        child = os.fork()
        status = _wait(child) if child else 0
    if not child:
        os.close(told)
        os.close(held)
        hold_on(lifeline)  # a SIGKILL reaches this process alone: the other one is not to go on
        try:
            _run(None)
        finally:
            os.write(tells, _ENDED_BY_US)
    os.close(tells)
    is_ours = os.read(told, 1) == _ENDED_BY_US
    if is_ours and os.WIFEXITED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    if os.WIFSIGNALED(status) and signal.Signals(os.WTERMSIG(status)).name not in _DEATHS:
        os._exit(128 + os.WTERMSIG(status))
    _say(not_enough())
    os._exit(2)


@contextmanager
def _blocked() -> Iterator[None]:
    """Let signals wait, so that none is lost between the two processes."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_FORWARDED, signal.SIGHUP, signal.SIGCHLD})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int) -> int:
    """Wait for the end of a process, and hand on to it the signals that come meanwhile.

    What a terminal sends reaches both of them anyway. That comes from the system itself, which its
    code says: the number of who sent it is 0 for whoever is outside of our container, too.
    """
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        come = signal.sigtimedwait({*_FORWARDED, signal.SIGHUP, signal.SIGCHLD}, 1.0)
        if come is not None and come.si_signo != signal.SIGCHLD and come.si_code <= 0:
            with suppress(ProcessLookupError):
                os.kill(child, come.si_signo)


def _say(message: str) -> None:
    with suppress(OSError, AttributeError):  # nobody may listen
        print(f"error: {message}", file=sys.stderr, flush=True)
