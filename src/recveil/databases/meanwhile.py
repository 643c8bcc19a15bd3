"""Meanwhile: what waits for a server waits in a thread of its own, so that signals are heard."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TypeVar

from recveil.threads import refuse_without_room

T = TypeVar("T")

# How long a signal may wait, at most.
_SECONDS_TO_HEAR = 0.1
# So long a server has to take note that nobody waits for its answer any more.
_SECONDS_TO_STOP = 10.0


def heard_meanwhile(work: Callable[[], T], stop: Callable[[], object] | None = None) -> T:
    """Do what waits outside Python; whatever a signal raises meanwhile is raised at once.

    Python runs what a signal asks for between two steps of its own. A driver that waits for a
    server takes none: SIGTERM would be heard after the answer.

    Parameters
    ----------
    work : callable
    stop : callable, optional
        Asks from this thread that the work end, if its result is not wanted any more. Without it
        the work is left to itself.

    Examples
    --------
    >>> heard_meanwhile(lambda: 1 + 2)
    3
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    refuse_without_room()
    # Of a thread that is left to itself, nobody waits for the end.
    thread = threading.Thread(target=run, name="recveil-database", daemon=True)
    thread.start()
    try:
        # Not one long wait: with some drivers the system goes on with it after a Ctrl-C.
        while not wait([done], _SECONDS_TO_HEAR).done:
            if not thread.is_alive() and not done.done():  # it had no memory to say how it ended
                raise MemoryError
        return done.result()
    except BaseException:
        if stop is not None and thread.is_alive():
            with suppress(Exception):  # what was raised is what matters
                stop()
            thread.join(_SECONDS_TO_STOP)
        raise
