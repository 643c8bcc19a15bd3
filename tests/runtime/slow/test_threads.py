"""One thread is one thread; OpenBLAS of SciPy 1.17 asks forever for working space it gets not."""

import sys

import pytest

from shared.runtime_threads import LITTLE, said

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit is known on Linux")

# What numba calls SciPy's for, and NumPy its own.
SOLVING = """
import numpy as np
from recveil.evaluation.rating_predictors import regress
one = np.array([0, 1]), np.array([0]), np.ones(1), np.ones(1), np.ones((1, 10)), 1.0
work = lambda: round(11 * regress(*one).sum())
"""

# Compiled by a work that is given its space; then a new process, which loads it.
COMPILE = f"{SOLVING}\nwork()"


def test_with_its_working_space_it_needs_no_more():
    said(COMPILE)
    program = f"""
{SOLVING}{LITTLE}
from recveil.runtime.threads import take_working_space
take_working_space(1)
leave(24_000_000)
print(work(), np.linalg.solve(np.eye(200), np.ones(200)).sum())
"""
    assert said(program) == "10 200.0"


def test_without_room_for_it_there_is_an_error():
    program = f"""
{SOLVING}{LITTLE}
from recveil.runtime.threads import take_working_space
leave(24_000_000)
try:
    take_working_space(1)
except MemoryError:
    print("no room")
"""
    assert said(program) == "no room"


def test_several_callers_get_one_each():
    program = f"""
{SOLVING}
from recveil.runtime.threads import take_working_space
size = lambda: int(open("/proc/self/statm").read().split()[0]) * 4096
before = size()
take_working_space(3)
first = size() - before
take_working_space(3)
print(first >= 6 << 20, size() - before < 1.5 * first)
"""
    assert said(program) == "True True"
