"""Lifelines: a process that ends with the one that it works for, however that one ends."""

import os
import signal
import sys

# Elsewhere, the system does not tell a process that somebody has let go of a pipe.
HAS_LIFELINES = sys.platform == "linux"


def lifeline_pipe() -> tuple[int, int]:
    """Return both ends of a pipe; neither has the number of a standard stream.

    Where one of these is closed, its number is the next to be given. In a child process, its own
    streams would then take the lifeline's place.

    Examples
    --------
    >>> ours, theirs = lifeline_pipe()
    >>> min(ours, theirs) > 2
    True
    >>> os.close(ours), os.close(theirs)
    (None, None)
    """
    import fcntl

    low = os.pipe()
    try:
        first, second = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in low)
    finally:
        for end in low:
            os.close(end)
    return first, second


def hold_on(lifeline: int, *, group: bool = False) -> None:
    """Let the system kill this process as soon as nobody holds the other end of a pipe.

    The system does so itself, whatever the process is busy with. What works for a run that was
    killed is killed with it.

    Parameters
    ----------
    lifeline : int
        The end of a pipe that is read, to which nobody ever writes.
    group : bool
        Whether all of its group is killed: what it starts, too.

    Examples
    --------
    >>> import subprocess
    >>> program = (
    ...     "import os, signal; from recveil.runtime.child_process import hold_on; "
    ...     "ours, theirs = os.pipe(); hold_on(ours); os.close(theirs); signal.pause()"
    ... )
    >>> subprocess.run([sys.executable, "-c", program]).returncode if HAS_LIFELINES else -9
    -9
    """
    if not HAS_LIFELINES:
        return
    import fcntl

    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp() if group else os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC | os.O_NONBLOCK)
    try:
        os.read(lifeline, 1)
    except BlockingIOError:
        return  # somebody holds it
    os.kill(os.getpid(), signal.SIGKILL)
