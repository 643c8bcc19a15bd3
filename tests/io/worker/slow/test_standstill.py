import time

import pytest

from recveil.io.worker import decoder
from recveil.io.worker import decoder as standstill
from recveil.io.worker.decoder import CAN_LOOK, _Child
from recveil.runtime.errors import MachineError
from shared.io_worker_standstill import answers_of  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(not CAN_LOOK, reason="no /proc")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(standstill, "_LOOK", 0.1)
    monkeypatch.setattr(standstill, "_LOOKS", 5)


def test_who_works_is_waited_for(answers_of):
    program = "import time\nend = time.time() + 3\nwhile time.time() < end: pass\nprint('done')"
    assert answers_of(program).readline() == b"done\n"


def test_work_of_a_copy_is_work_too(answers_of):
    program = (
        "import os, time\n"
        "if not os.fork():\n"
        "    end = time.time() + 3\n"
        "    while time.time() < end: pass\n"
        "    os.write(1, b'done'); os._exit(0)\n"
        "os.wait()"
    )
    assert answers_of(program).read() == b"done"


def test_a_decoder_that_stands_still_is_ended(monkeypatch, tmp_path):
    """As if it waited for a lock that nothing releases."""
    (tmp_path / "ratings.parquet").write_bytes(b"PAR1")
    _Child.end_all()
    monkeypatch.setattr(decoder, "_START", "import sys, time; sys.stdin.readline(); time.sleep(60)")
    start = time.monotonic()
    with (
        pytest.raises(MachineError, check=lambda error: error.code == "machine.standstill"),
        decoder.decoding(tmp_path / "ratings.parquet"),
    ):
        pass
    assert time.monotonic() - start < 20
    assert not _Child._idle
