import pytest

from recveil.io.worker import decoder
from recveil.io.worker.decoder import CAN_LOOK, work_of
from recveil.runtime.errors import MachineError
from shared.io_worker_standstill import answers_of  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(not CAN_LOOK, reason="no /proc")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(decoder, "_LOOK", 0.1)
    monkeypatch.setattr(decoder, "_LOOKS", 5)


def test_who_neither_answers_nor_works_is_given_up(answers_of):
    answers = answers_of("import time; print('begun', flush=True); time.sleep(60)")
    assert answers.readline() == b"begun\n"
    with pytest.raises(MachineError, check=lambda error: error.code == "machine.standstill"):
        answers.readline()


def test_a_group_that_has_ended_did_nothing():
    assert work_of(2**22 + 1) == (0, False)
