"""What the fast and the slow tests of `test_threads.py` share."""

import subprocess
import sys

LITTLE = """
import ctypes, resource
def leave(n_bytes):
    ctypes.CDLL(None).malloc_trim(0)  # else it may find room in what was given back
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + n_bytes, -1))
"""

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def said(program):
    """What a program says that must come to an end; what hangs is killed, and an error."""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=120, check=True,
        env={**ONE_THREAD, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    return ended.stdout.strip()
