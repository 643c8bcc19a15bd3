"""Lifeline pipes, which end a child process when its parent ends for any reason."""

import os
import signal
import sys

# Other systems do not signal that the other end of a pipe was closed.
HAS_LIFELINES = sys.platform == "linux"


def lifeline_pipe() -> tuple[int, int]:
    """Return both ends of a pipe, with descriptors that no standard stream of a child replaces."""
    import fcntl

    low = os.pipe()
    try:
        first, second = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in low)
    finally:
        for end in low:
            os.close(end)
    return first, second


def hold_on(lifeline: int, *, group: bool = False) -> None:
    """Let the kernel kill this process, even a busy one, once the other end of a pipe is closed."""
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
