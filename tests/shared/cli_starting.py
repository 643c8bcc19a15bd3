"""What the fast and the slow tests of `test_launcher.py` share."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

resource = pytest.importorskip("resource")

START = "from recveil.cli import entry, launcher; entry.main = lambda _: {}; launcher.main()"

PLENTY = 64 * 10**9


def run(command, addresses):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))

    return subprocess.run(
        [sys.executable, *command], preexec_fn=limit, capture_output=True, text=True, timeout=60
    )


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def with_limits(command, **limits):
    def limit():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return subprocess.run(
        [sys.executable, "-m", "recveil", *command],
        preexec_fn=limit, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
