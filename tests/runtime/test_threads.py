import subprocess
import sys
import threading

import pytest

from recveil.runtime.threads import pool, require_address_space

resource = pytest.importorskip("resource")

# Every new thread gets a stack, and dies before its first step, as where memory is over: Python
# waits forever for the beginning of such a thread.
DYING = """
import _thread, threading
begin = _thread.start_new_thread
dying = lambda *_, **__: begin(lambda: None, ())
_thread.start_new_thread = threading._start_new_thread = dying
"""
LITTLE = """
import resource, recveil.runtime.linear_algebra, recveil.runtime.memory
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 12_000_000, -1))
"""


ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def ended(program):
    """What a program says that must come to an end."""
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=120, check=True,
        env={**ONE_THREAD, "PYTHONPATH": ":".join(sys.path)},
    ).stdout.strip()  # fmt: skip


def test_one_thread_is_the_one_that_asks():
    with pool(1) as workers:
        mapped = list(workers.map(lambda _: threading.get_ident(), range(3)))
        submitted = workers.submit(threading.get_ident).result()
    assert {*mapped, submitted} == {threading.get_ident()}


def test_several_threads_work_at_once():
    meeting = threading.Barrier(3)
    with pool(3) as workers:
        assert sorted(workers.map(lambda _: meeting.wait(timeout=60), range(3))) == [0, 1, 2]


def test_nobody_waits_for_a_thread_that_never_began():
    program = f"""
from recveil.runtime.threads import prefetch
from recveil.runtime.progress import show_progress
from recveil.runtime.threads import pool
{DYING}
with show_progress("Working"), pool(1) as workers:
    print(list(prefetch(workers.map(abs, [-1, 2]))))
"""
    assert ended(program) == "[1, 2]"


@pytest.mark.parametrize(
    "work",
    [
        "from recveil.runtime.threads import pool\nwith pool(2) as workers: pass",
        "from recveil.io.databases.postgresql import heard_meanwhile\nheard_meanwhile(lambda: 1)",
        "from recveil.runtime.threads import prefetch\nfrom numba import config\n"
        "config.NUMBA_NUM_THREADS = 2\nlist(prefetch([1]))",
        "from recveil.runtime.progress import bar\nfrom recveil.runtime.progress import Whole\n"
        "with bar(Whole('Working')): pass",
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is known on Linux")
def test_no_thread_is_begun_without_room(work):
    imports, _, rest = work.rpartition("\n")
    program = f"""
{imports}
{LITTLE}{DYING}
try:
    {rest}
except MemoryError:
    print("no room")
"""
    assert ended(program) == "no room"


def test_more_than_there_is():
    with pytest.raises(MemoryError):
        require_address_space(1 << 60)
