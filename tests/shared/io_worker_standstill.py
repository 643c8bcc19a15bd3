"""What the fast and the slow tests of `test_standstill.py` share."""

import io
import subprocess
import sys

import pytest

from recveil.io.worker.decoder import WatchedAnswers


@pytest.fixture
def answers_of():
    """Start a program in a group of its own, and return what it answers."""
    started = []

    def start(program):
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True
        )
        started.append(process)
        return io.BufferedReader(WatchedAnswers(process.stdout, process.pid, lambda: "shop.db"))

    yield start
    for process in started:
        process.kill()
        process.wait()
