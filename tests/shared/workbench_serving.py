"""What the fast and the slow tests of `test_serving.py` share."""

import re
import subprocess
import sys
from contextlib import contextmanager

import pytest


@contextmanager
def serving_in(folder):
    """A workbench in a process of its own; its address, and the process."""
    command = [sys.executable, "-m", "recveil", "workbench", "project", "--no-open-browser"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    address = re.search(r"http://\S+", line)
    assert address, line + process.stderr.read()
    yield address[0], process
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where one is that is only asked."""
    with serving_in(tmp_path_factory.mktemp("asked")) as (address, _):
        yield address
