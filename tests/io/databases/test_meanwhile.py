import os
import signal
import threading
import time

import pytest

from recveil.cli.interruptions import Terminated, orderly_signals
from recveil.io.databases.postgresql import heard_meanwhile


def test_what_is_done_is_returned_and_what_is_raised_is_raised():
    assert heard_meanwhile(lambda: 3) == 3
    with pytest.raises(TimeoutError, match="of the work itself"):
        heard_meanwhile(lambda: (_ for _ in ()).throw(TimeoutError("of the work itself")))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("restarts", [True, False])
def test_a_signal_is_heard_while_the_work_waits(number, restarts):
    stopped = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with orderly_signals():
            # As a driver may leave it: the system goes on with what the signal cut short.
            signal.siginterrupt(number, not restarts)
            threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt) as result:
                heard_meanwhile(lambda: stopped.wait(20), stopped.set)
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.is_set()
    assert time.monotonic() - start < 5
    assert isinstance(result.value, Terminated) == (number == signal.SIGTERM)


def test_work_that_cannot_be_stopped_is_left_to_itself():
    free = threading.Event()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    with orderly_signals(), pytest.raises(Terminated):
        heard_meanwhile(lambda: free.wait(20))
    free.set()
