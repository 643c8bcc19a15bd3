"""Parquet and Arrow files from any source: what is wrong ends in an error, not a crash."""

import signal
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.io import read_ratings
from recveil.io.worker import decoder
from recveil.runtime.errors import RecveilError, is_of_machine
from shared.io_worker_decoder import (
    afresh,  # noqa: F401 (fixtures)
    write,
)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGBUS", "SIGABRT"])
def test_a_crash_of_the_decoder_is_an_error_like_others(tmp_path, afresh, name):
    path = tmp_path / "ratings.parquet"
    write(path, "parquet")
    number = int(getattr(signal, name))
    with afresh.context() as patch:
        patch.setattr(
            decoder,
            "_START",
            "import sys; sys.path[:] = sys.argv[1:]; from recveil.io.worker import child; "
            f"import os; child.answer = lambda *_: os.kill(os.getpid(), {number}); child.serve()",
        )
        with pytest.raises(RecveilError) as result:
            read_ratings(path)
        assert name in str(result.value)
        # It has a limit of its own, near which libraries abort: what is kept is not kept then.
        may_lack_memory = name != "SIGBUS" and Path("/proc/self/statm").exists()
        assert is_of_machine(result.value) == may_lack_memory
        assert result.value.code == ("machine.killed" if may_lack_memory else "input.damaged")
        assert ("--max-memory" in str(result.value)) == may_lack_memory
    assert read_ratings(path).n_ratings == 3  # by another process


def test_what_is_refused_leaves_the_process_for_the_next_file(tmp_path, afresh):
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    write(good, "parquet")
    bad.write_bytes(good.read_bytes()[:9])
    assert read_ratings(good).n_ratings == 3
    (waiting,) = decoder._Child._idle
    with raises("input.damaged"):
        read_ratings(bad, format="parquet")
    with raises("column.missing"):
        read_ratings(good, user="town")
    assert decoder._Child._idle == [waiting]
    assert read_ratings(good).n_ratings == 3
