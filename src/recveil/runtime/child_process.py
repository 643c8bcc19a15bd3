"""Lifeline pipes, which end a child process when its parent ends for any reason."""

import os
import signal
import sys

# Other systems do not signal that the other end of a pipe was closed.
HAS_LIFELINES = sys.platform == "linux"


def lifeline_pipe() -> tuple[int, int]:
    """Return both ends of a pipe, with descriptors above those of the standard streams.

    If a standard stream is closed, its descriptor is the next to be assigned. The streams of a
    child process would then replace the lifeline.

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
    """Let the system kill this process once the other end of a pipe is closed.

    The kernel does so even if the process is busy, so a child process ends with a killed run.

    Parameters
    ----------
    lifeline : int
        The read end of a pipe to which nothing is written.
    group : bool
        Whether to kill the whole process group, with the processes started by this one.

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
        return  # the other end is open
    os.kill(os.getpid(), signal.SIGKILL)
