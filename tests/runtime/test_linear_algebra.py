"""One thread is one thread; OpenBLAS of SciPy 1.17 asks forever for working space it gets not."""

import sys

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from recveil.runtime.linear_algebra import one_thread
from shared.runtime_linear_algebra import LITTLE, said

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit is known on Linux")


def test_a_library_that_is_loaded_later_does_not_ask_forever():
    """SciPy's takes its space as it is loaded, which verbs do once they need it."""
    program = f"""
import numpy, sys
{LITTLE}
from recveil.runtime.linear_algebra import one_thread, take_working_space
leave(100_000_000)
for ask in (one_thread, lambda: take_working_space(1)):
    try:
        ask()
    except MemoryError:
        print("no memory", "scipy.linalg" in sys.modules)
"""
    assert said(program) == "no memory False\nno memory False"


def test_working_space_is_taken_by_what_verbs_will_load():
    program = """
import sys
from recveil.runtime.linear_algebra import take_working_space
take_working_space(1)
print("scipy.linalg" in sys.modules)
"""
    assert said(program) == "True"


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


def test_libraries_are_looked_for_once(monkeypatch):
    with one_thread():
        pass
    monkeypatch.setattr(ThreadpoolController, "_load_libraries", lambda _: 1 / 0)
    with one_thread():
        pass
