import sys
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from recveil.runtime.memory import require_address_space
from recveil.runtime.progress import track
from recveil.runtime.threads import in_second_thread, invert_upper, one_thread, pool
from shared.runtime_threads import LITTLE, said

resource = pytest.importorskip("resource")

# Every new thread gets a stack, and dies before its first step, as where memory is over: Python
# waits forever for the beginning of such a thread.
DYING = """
import _thread, threading
begin = _thread.start_new_thread
dying = lambda *_, **__: begin(lambda: None, ())
_thread.start_new_thread = threading._start_new_thread = dying
"""
NO_ROOM = """
import resource, recveil.runtime.threads, recveil.runtime.memory
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 12_000_000, -1))
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit is known on Linux")


def test_one_thread_is_the_one_that_asks():
    with pool(1) as workers:
        mapped = list(workers.map(lambda _: threading.get_ident(), range(3)))
        submitted = workers.submit(threading.get_ident).result()
    assert {*mapped, submitted} == {threading.get_ident()}


def test_several_threads_work_at_once():
    meeting = threading.Barrier(3)
    with pool(3) as workers:
        assert sorted(workers.map(lambda _: meeting.wait(timeout=60), range(3))) == [0, 1, 2]


def test_a_thread_that_never_began_is_not_waited_for():
    program = f"""
from recveil.runtime.threads import prefetch
from recveil.runtime.progress import show_progress
from recveil.runtime.threads import pool
{DYING}
with show_progress("Working"), pool(1) as workers:
    print(list(prefetch(workers.map(abs, [-1, 2]))))
"""
    assert said(program) == "[1, 2]"


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
@on_linux
def test_no_thread_is_begun_without_room(work):
    imports, _, rest = work.rpartition("\n")
    program = f"""
{imports}
{NO_ROOM}{DYING}
try:
    {rest}
except MemoryError:
    print("no room")
"""
    assert said(program) == "no room"


def test_more_than_there_is():
    with pytest.raises(MemoryError):
        require_address_space(1 << 60)


@on_linux
def test_a_library_that_is_loaded_later_does_not_ask_forever():
    """SciPy's takes its space as it is loaded, which verbs do once they need it."""
    program = f"""
import numpy, sys
{LITTLE}
from recveil.runtime.threads import one_thread, take_working_space
leave(100_000_000)
for ask in (one_thread, lambda: take_working_space(1)):
    try:
        ask()
    except MemoryError:
        print("no memory", "scipy.linalg" in sys.modules)
"""
    assert said(program) == "no memory False\nno memory False"


@on_linux
def test_working_space_is_taken_by_what_verbs_will_load():
    program = """
import sys
from recveil.runtime.threads import take_working_space
take_working_space(1)
print("scipy.linalg" in sys.modules)
"""
    assert said(program) == "True"


@on_linux
def test_every_library_uses_one_thread_within():
    def threads():
        found = ThreadpoolController().select(user_api="blas")
        return {each.filepath: each.num_threads for each in found.lib_controllers}

    with threadpool_limits(2):
        before = threads()
        with one_thread():
            within = threads()
        after = threads()
    assert len(within) >= 2  # NumPy's and SciPy's
    assert set(within.values()) == {1}
    assert before == after
    assert set(after.values()) == {2}


@on_linux
def test_libraries_are_looked_for_once(monkeypatch):
    with one_thread():
        pass
    monkeypatch.setattr(ThreadpoolController, "_load_libraries", lambda _: 1 / 0)
    with one_thread():
        pass


class TestInSecondThread:
    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_both_are_done_at_the_end(self, monkeypatch, n_threads):
        monkeypatch.setattr("recveil.runtime.threads.usual_threads", lambda: n_threads)
        done, threads = [], []

        def work():
            threads.append(threading.get_ident())
            done.append("work")

        with in_second_thread(work):
            done.append("block")
        assert sorted(done) == ["block", "work"]
        assert (threads == [threading.get_ident()]) == (n_threads == 1)

    def test_an_error_of_the_work_is_raised_at_the_end(self, monkeypatch):
        monkeypatch.setattr("recveil.runtime.threads.usual_threads", lambda: 2)
        done = []
        with pytest.raises(ZeroDivisionError), in_second_thread(lambda: 1 / 0):
            done.append("block")
        assert done == ["block"]

    def test_an_error_of_the_block_ends_the_work_at_its_next_report(self, monkeypatch):
        monkeypatch.setattr("recveil.runtime.threads.usual_threads", lambda: 2)
        begun, steps = threading.Event(), []

        def work():
            for step in track(range(10**9), "Working"):
                steps.append(step)
                begun.set()

        def interrupt():
            begun.wait(60)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), in_second_thread(work):
            interrupt()
        assert 0 < len(steps) < 10**9


@pytest.mark.parametrize(("kind", "near"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_an_inverse_is_that_of_numpy(kind, near):
    rows = np.random.default_rng(1).random((40, 9))
    products = rows.T @ rows + np.eye(9)
    inverted = products.astype(kind)
    invert_upper(inverted)
    assert np.allclose(np.triu(inverted), np.triu(np.linalg.inv(products)), atol=near)
    with pytest.raises(ArithmeticError):
        invert_upper(-np.eye(3, dtype=kind))
