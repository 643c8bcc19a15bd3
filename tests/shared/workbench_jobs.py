"""What the fast and the slow tests of `test_jobs.py` share."""

import time

import pytest


def until(what, seconds=60):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
    return found


@pytest.fixture
def long_work(bench, tmp_path):
    """An audit that takes minutes, of more users than an audit of the tests has."""
    from recveil.datasets import generate

    generate(tmp_path / "ratings.csv", users=6_000, items=900, ratings=300_000, seed=1)
    settings = {"source": str(tmp_path / "ratings.csv"), "reading": {}, "curves": True}
    return bench.jobs.start("risk", "audit", settings, command="recveil audit")
