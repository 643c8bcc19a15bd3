"""Lifelines: a process that ends with the one that it works for, however that one ends."""

import os
import signal
import sys

# Elsewhere, the system does not tell a process that somebody has let go of a pipe.
HAS_LIFELINES = sys.platform == "linux"


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
    ...     "import os, signal; from recveil.lifeline import hold_on; "
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
